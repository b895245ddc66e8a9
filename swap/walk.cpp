#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/walk.h>

#include <algorithm>
#include <numeric>

namespace swapadvisor {

Walker::Walker(const OpTable& table, const DeviceSpec& device)
    : table_(&table),
      limit_(device.memory_bytes),
      link_h2d_(device.h2d_bytes_per_second),
      link_d2h_(device.d2h_bytes_per_second),
      latency_(device.copy_latency_seconds),
      fixed_(table.buffer_count(), -1),
      states_(table.buffer_count()) {
  // More than everything at once is never used; a finite arena keeps arithmetic on addresses safe.
  std::int64_t everything = 0, workspace = 0;
  for (std::size_t b = 0; b < table.buffer_count(); ++b)
    everything += table.bytes(static_cast<std::int32_t>(b));
  for (std::size_t i = 0; i < table.op_count(); ++i)
    workspace = std::max(workspace, table.workspace(static_cast<std::int32_t>(i)));
  limit_ = std::min(limit_, everything + workspace) / arena_alignment * arena_alignment;
  fixed_candidates_.resize(table.buffer_count());
  std::iota(fixed_candidates_.begin(), fixed_candidates_.end(), 0);
  std::stable_sort(fixed_candidates_.begin(), fixed_candidates_.end(),
                   [&](std::int32_t a, std::int32_t b) { return table.bytes(a) < table.bytes(b); });
}

// --- what the order says
// ---------------------------------------------------------------------------------------

std::int64_t Walker::op_need(std::int32_t step) const {
  const std::int32_t op = op_at(step);
  std::int64_t need = table_->workspace(op);
  for (const OpTable::Operand& operand : table_->operands(op))
    if (!fixed(operand.buffer)) need += table_->bytes(operand.buffer);
  const OrderUses::Pair& pair = uses_.pair(step);
  return pair.taker < 0 ? need : need - table_->bytes(pair.taker);
}

// Fixing must not take from any op what it needs: without pairs, so that the choice is the same for any
// order.
void Walker::choose_fixed() {
  std::fill(fixed_.begin(), fixed_.end(), -1);
  fixed_bytes_ = 0;
  const auto allowed = static_cast<std::int64_t>(static_cast<double>(limit_) * policy_.fixed_fraction);
  const auto largest = static_cast<std::int64_t>(static_cast<double>(limit_) * policy_.fixed_largest);
  for (std::int32_t b : fixed_candidates_) {
    if (table_->bytes(b) > largest || fixed_bytes_ + table_->bytes(b) > allowed) break;
    fixed_[static_cast<std::size_t>(b)] = fixed_bytes_;
    fixed_bytes_ += table_->bytes(b);
  }
  for (std::size_t i = 0; i < table_->op_count() && fixed_bytes_ > 0; ++i) {
    const auto op = static_cast<std::int32_t>(i);
    std::int64_t need = table_->workspace(op) + fixed_bytes_;
    for (const OpTable::Operand& operand : table_->operands(op))
      if (!fixed(operand.buffer)) need += table_->bytes(operand.buffer);
    if (need <= limit_) continue;
    std::fill(fixed_.begin(), fixed_.end(), -1);
    fixed_bytes_ = 0;
  }
}

void Walker::check_needs() {
  std::int64_t largest = 0;
  std::size_t neediest = 0;
  for (std::size_t s = 0; s < order_.size(); ++s) {
    const std::int64_t need = op_need(static_cast<std::int32_t>(s));
    if (need > largest) largest = need, neediest = s;
  }
  if (largest + fixed_bytes_ <= limit_) return;
  const PlanOp& op = table_->graph().ops[static_cast<std::size_t>(order_[neediest])];
  order_.clear();  // not to be taken for checked
  fail("op '{}' ({}) {}", op.name, op.type, format_need(largest, limit_, "device memory"));
}

void Walker::prepare(const WalkRequest& request) {
  const bool new_order =
      !std::equal(order_.begin(), order_.end(), request.order.begin(), request.order.end());
  const bool new_fixed = run_end_.empty() || policy_.fixed_fraction != request.policy.fixed_fraction ||
                         policy_.fixed_largest != request.policy.fixed_largest;
  policy_ = request.policy;
  h2d_ = link_h2d_ * policy_.link_share;
  d2h_ = link_d2h_ * policy_.link_share;
  if (new_order) order_.assign(request.order.begin(), request.order.end());
  if (new_fixed) choose_fixed();
  if (new_order || new_fixed) {
    uses_.find(*table_, order_);
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(order_.size()); ++s)
      if (const OrderUses::Pair& p = uses_.pair(s); p.taker >= 0 && (fixed(p.donor) || fixed(p.taker)))
        uses_.drop_pair(s);
    check_needs();
    // Ops without a measured time still separate uses in time.
    const std::size_t n = order_.size();
    const std::vector<PlanOp>& ops = table_->graph().ops;
    double seconds = 0;
    for (std::int32_t op : order_) seconds += ops[static_cast<std::size_t>(op)].seconds;
    const double base = std::max(seconds / static_cast<double>(n + 1) * 0.01, 1e-9);
    ideal_start_.resize(2 * n + 1);
    ideal_start_[0] = 0;
    for (std::size_t s = 0; s < 2 * n; ++s)
      ideal_start_[s + 1] = ideal_start_[s] + ops[static_cast<std::size_t>(order_[s % n])].seconds + base;
  }
  run_end_.assign(order_.size(), 0);
  copies_.clear();
  run_offsets_.clear();
  run_offsets_begin_.clear();
  in_step_ = -1;
  in_ready_ = out_ready_ = 0;
  ins_.clear();
  outs_.clear();
}

void Walker::load_start() {
  std::fill(states_.begin(), states_.end(), State{});
  arena_.reset(fixed_bytes_, limit_);
  rover_ = 0;
}

// --- moving buffers
// ----------------------------------------------------------------------------------------------

inline std::size_t Walker::place(std::int32_t buffer, const Room& room) {
  const std::size_t index = arena_.occupy(room.offset, table_->bytes(buffer), buffer, room.segment);
  ArenaSegment& segment = arena_[index];
  segment.since = room.since;
  segment.since_seconds = room.since_seconds;
  state(buffer).offset = room.offset;
  state(buffer).segment = static_cast<std::int32_t>(index);
  return index;
}

inline void Walker::touch_segment(std::int32_t buffer, std::int32_t next, double since_seconds) {
  const std::size_t index = segment_of(state(buffer));
  ArenaSegment& segment = arena_[index];
  const State& s = state(buffer);
  const std::int64_t bytes = table_->bytes(buffer);
  segment.since = s.last_access;
  segment.since_seconds = since_seconds;
  const bool copied = s.dirty || copied_when_clean(buffer);
  segment.dirty_seconds = copied ? end_of(s.dirty ? s.last_write : s.last_access) : -1;
  double evict = copy_seconds(bytes, h2d_) + (copied ? copy_seconds(bytes, d2h_) : 0);
  if (!bias_.empty()) evict *= static_cast<double>(bias_[static_cast<std::size_t>(buffer)]);
  arena_.set_eviction(index, evict, ideal_start_[static_cast<std::size_t>(next)]);
}

void Walker::swap_out(std::int32_t buffer, std::int32_t step) {
  State& s = state(buffer);
  const std::int64_t offset = fixed(buffer) ? fixed_[static_cast<std::size_t>(buffer)] : s.offset;
  const double seconds = copy_seconds(table_->bytes(buffer), d2h_);
  if (policy_.fit_copies) {
    const CopyTimeline::Slot slot = outs_.find(step, end_of(step), seconds);
    outs_.add(slot, seconds);
    step = slot.step;
    s.swapped_out_seconds = slot.start + seconds;
  } else {
    s.swapped_out_seconds = out_ready_ = std::max(out_ready_, end_of(step)) + seconds;
  }
  copies_.push_back({InstructionKind::swap_out, buffer, offset, step});
  s.swapped_out = step;
  s.dirty = false;
}

void Walker::swap_in(std::int32_t buffer, const Room& room, std::int32_t step) {
  State& s = state(buffer);
  const double seconds = copy_seconds(table_->bytes(buffer), h2d_);
  std::int32_t after = std::max({room.since, s.swapped_out, s.not_before});
  double start = std::max({room.since_seconds, s.swapped_out_seconds, end_of(s.not_before)});
  if (policy_.fit_copies) {
    const CopyTimeline::Slot slot = ins_.find(after, start, seconds);
    ins_.add(slot, seconds);
    start = slot.start;
    after = slot.step;
  } else {
    after = policy_.on_demand ? step - 1 : std::max(in_step_, after);
    start = std::max({start, in_ready_, policy_.on_demand ? end_of(step - 1) : 0.0});
  }
  SWAPADVISOR_ASSERT(after < step, "a swap-in of buffer {} comes after step {} that needs it", buffer, step);
  in_step_ = std::max(in_step_, after);
  in_ready_ = std::max(in_ready_, start + seconds);
  copies_.push_back({InstructionKind::swap_in, buffer, room.offset, after, s.not_before, s.in_by});
  if (s.forced) forced_bytes_ += table_->graph().buffers[static_cast<std::size_t>(buffer)].bytes;
  s.forced = false;
  s.swapped_in = after;
  s.ready_seconds = start + seconds;
  s.dirty = false;
  if (fixed(buffer)) return;
  arena_[place(buffer, room)].since = after;
}

// Only what has been used since it came: there is a step behind which to list the swap-out.
bool Walker::copied_when_clean(std::int32_t buffer) const {
  if (policy_.clean_eviction || state(buffer).last_access <= state(buffer).swapped_in) return false;
  return is_persistent(table_->kind(buffer)) || table_->kind(buffer) == BufferKind::temporary;
}

// The range is free after the last use; the swap-out, if it needs one, starts already after the last write.
ArenaMap::Position Walker::evict(ArenaMap::Position segment, std::int32_t step) {
  const std::int32_t buffer = arena_[segment].buffer;
  const State& s = state(buffer);
  std::int32_t since = std::max(s.last_access, arena_[segment].since);
  double free_seconds = end_of(s.last_access);
  if (s.dirty || copied_when_clean(buffer)) {
    swap_out(buffer, policy_.on_demand ? step - 1 : s.dirty ? s.last_write : s.last_access);
    free_seconds = std::max(free_seconds, s.swapped_out_seconds);
    since = std::max(since, s.swapped_out);
  }
  if (policy_.on_demand) since = step - 1;
  return free_segment(segment, since, free_seconds);
}

Walker::Room Walker::clear_range(std::int64_t offset, std::int64_t bytes, std::int32_t step,
                                 std::size_t guess) {
  ArenaMap::Position index = arena_.find(offset, guess);
  Room room{offset, -1, 0, index};
  for (std::int64_t at = offset; at < offset + bytes; index = arena_.next(index)) {
    if (!arena_[index].is_free()) {
      index = evict(index, step);  // may be joined with the one before
      if (at == offset) room.segment = index;
    }
    const ArenaSegment& segment = arena_[index];
    room.since = std::max(room.since, segment.since);
    room.since_seconds = std::max(room.since_seconds, segment.since_seconds);
    at = segment.end();
  }
  return room;
}

// --- one step
// ----------------------------------------------------------------------------------------------------

bool Walker::find_room(std::int64_t bytes, std::int32_t step, bool copy_in, Room& room) {
  const ArenaWindow window = policy_.eviction == WalkPolicy::Eviction::lru
                                 ? least_recent_window(bytes)
                                 : cheapest_window(bytes, step, copy_in);
  if (!window.found()) return false;
  room = clear_range(align_in_window(window, bytes), bytes, step, window.first);
  return true;
}

void Walker::run_step(std::int32_t step) {
  const std::int32_t op = op_at(step);
  const auto operands = table_->operands(op);
  const OrderUses::Pair pair = uses_.pair(step);
  const std::size_t first_copy = copies_.size();
  for (const OpTable::Operand& operand : operands) {
    State& s = state(operand.buffer);
    if (!fixed(operand.buffer) && s.offset >= 0) arena_.pin(segment_of(s));
    if (fixed(operand.buffer) && table_->kind(operand.buffer) == BufferKind::input && s.last_access < 0)
      swap_in(operand.buffer, {fixed_[static_cast<std::size_t>(operand.buffer)], -1, 0}, step);
  }
  bool fits = true;
  double start = std::max(end_of(step - 1), awaited_seconds_);
  Room room;
  for (std::size_t k = 0; k < operands.size() && fits; ++k) {  // operands only read come first
    const std::int32_t b = operands[k].buffer;
    if (fixed(b) || state(b).offset >= 0 || b == pair.taker) continue;
    fits = find_room(table_->bytes(b), step, operands[k].read, room);
    if (!fits) break;
    if (operands[k].read)
      swap_in(b, room, step);
    else
      place(b, room);
    start = std::max(start, room.since_seconds);
  }
  if (fits && pair.taker >= 0 && state(pair.taker).offset < 0) {
    ArenaSegment& segment = arena_[arena_.find(state(pair.donor).offset)];
    state(pair.taker).offset = segment.offset;
    state(pair.donor).offset = -1;
    segment.buffer = pair.taker;
  }
  if (fits && table_->workspace(op) > 0) {
    fits = find_room(table_->workspace(op), step, false, room);
    if (fits) start = std::max(start, room.since_seconds);
    workspace_offset_ = room.offset;
  }
  if (!fits) {
    const auto superseded = [&](const Copy& copy) {
      return copy.kind == InstructionKind::swap_in && !fixed(copy.buffer);
    };
    copies_.erase(
        std::remove_if(copies_.begin() + static_cast<std::ptrdiff_t>(first_copy), copies_.end(), superseded),
        copies_.end());
    pack(step);
  }
  fetches(step);
  finish_run(step, start);
  force_outs(step);
}

// No window without operands of the op: they are in each other's way. Packs them side by side at the bottom.
void Walker::pack(std::int32_t step) {
  const std::int32_t op = op_at(step);
  const OrderUses::Pair pair = uses_.pair(step);
  if (pair.taker >= 0 && state(pair.taker).offset >= 0 && state(pair.donor).offset < 0) {  // undo the taking
    ArenaSegment& segment = arena_[arena_.find(state(pair.taker).offset)];
    state(pair.donor).offset = segment.offset;
    state(pair.taker).offset = -1;
    segment.buffer = pair.donor;
  }
  for (const OpTable::Operand& operand : table_->operands(op)) {
    if (fixed(operand.buffer) || state(operand.buffer).offset < 0) continue;
    const std::size_t segment = arena_.find(state(operand.buffer).offset);
    if (operand.read)
      evict(segment, step);
    else
      free_segment(segment, arena_[segment].since, arena_[segment].since_seconds);
  }
  std::int64_t offset = fixed_bytes_;
  for (const OpTable::Operand& operand : table_->operands(op)) {
    const std::int32_t b = operand.buffer;
    if (fixed(b) || b == pair.taker) continue;
    const Room room = clear_range(offset, table_->bytes(b), step);
    if (operand.read)
      swap_in(b, room, step);
    else
      place(b, room);
    offset += table_->bytes(b);
  }
  if (pair.taker >= 0) {
    ArenaSegment& segment = arena_[arena_.find(state(pair.donor).offset)];
    state(pair.taker).offset = segment.offset;
    state(pair.donor).offset = -1;
    segment.buffer = pair.taker;
  }
  if (table_->workspace(op) > 0) {
    clear_range(offset, table_->workspace(op), step);
    workspace_offset_ = offset;
  }
}

void Walker::finish_run(std::int32_t step, double start) {
  const std::int32_t op = op_at(step);
  const auto operands = table_->operands(op);
  const OrderUses::Pair pair = uses_.pair(step);
  for (const OpTable::Operand& operand : operands)
    if (operand.read) start = std::max(start, state(operand.buffer).ready_seconds);
  const double end = start + table_->graph().ops[static_cast<std::size_t>(op)].seconds;
  run_end_[static_cast<std::size_t>(step)] = end;

  run_offsets_begin_.push_back(static_cast<std::int32_t>(run_offsets_.size()));
  const bool taken = pair.taker >= 0 && state(pair.donor).offset < 0;
  for (std::int32_t b : table_->slots(op))
    run_offsets_.push_back(fixed(b)                   ? fixed_[static_cast<std::size_t>(b)]
                           : taken && b == pair.donor ? state(pair.taker).offset
                                                      : state(b).offset);
  if (table_->workspace(op) > 0) {
    run_offsets_.push_back(workspace_offset_);
    const std::size_t segment = arena_.occupy(workspace_offset_, table_->workspace(op), 0);
    arena_.release(segment, step, end, in_step_);
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::int32_t b = operands[k].buffer;
    const OrderUses::Use& use = uses_.uses(step)[k];
    State& s = state(b);
    s.last_access = step;
    if (operands[k].write) {
      s.last_write = step;
      s.dirty = true;
      if (use.completes) swap_out(b, step);
    }
    if (fixed(b) || s.offset < 0) continue;
    if (use.dies)
      free_segment(segment_of(s), step, s.swapped_out == step ? s.swapped_out_seconds : end);
    else
      touch_segment(b, use.next, end);
  }
}

void Walker::walk(const WalkRequest& request) {
  prepare(request);
  bias_ = request.bias;
  load_start();
  for (const Resident& resident : request.start) {
    if (fixed(resident.buffer) || uses_.first_use(resident.buffer) == OrderUses::never) continue;
    place(resident.buffer, {resident.offset, -1, 0});
    state(resident.buffer).dirty = resident.dirty;
    state(resident.buffer).home = true;
    touch_segment(resident.buffer, uses_.first_use(resident.buffer), 0);
  }
  load_forced(request.forced);
  const auto n = static_cast<std::int32_t>(order_.size());
  for (std::int32_t step = 0; step < n; ++step) run_step(step);
  collect_at_last_op();
  if (!request.close) return;
  close(request);
  build_list();
}

}  // namespace swapadvisor
