#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/waits.h>

#include <algorithm>
#include <bit>

namespace swapadvisor {
namespace {

constexpr std::int64_t no_key = -1;

std::size_t slot_of(std::int64_t key, std::size_t mask) {
  return static_cast<std::size_t>((static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15u) >> 32u) & mask;
}

template <class Clock>
void advance(Clock& clock, const Clock& other) {
  for (std::size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

// Waits for what is needed and not known to be done. The latest first: it may imply the others.
template <class Clock, class Wait>
void wait_for_latest(Clock& needed, const Clock& known, const Wait& wait) {
  for (;;) {
    std::int32_t latest = -1;
    for (std::size_t s = 0; s < needed.size(); ++s)
      if (needed[s] > known[s]) latest = std::max(latest, needed[s]);
    if (latest < 0) return;
    wait(latest);  // from here on known
  }
}

constexpr std::int32_t no_buffer = -1;

// Calls `visit(buffer, offset, bytes, write)` for every device range that an instruction uses; reads come
// first, a workspace is no buffer.
template <class Visit>
void visit_ranges(const OpTable& table, const InstructionList& list, std::size_t index, const Visit& visit) {
  const InstructionList::Entry& entry = list.entries[index];
  const std::int64_t* offsets = list.offsets.data() + entry.first_offset;
  if (entry.kind != InstructionKind::run) {
    visit(entry.target, offsets[0], table.bytes(entry.target), entry.kind == InstructionKind::swap_in);
    return;
  }
  for (const OpTable::Operand& operand : table.operands(entry.target))
    visit(operand.buffer, offsets[operand.slot], table.bytes(operand.buffer), operand.write);
  const std::int64_t workspace = table.workspace(entry.target);
  if (workspace > 0) visit(no_buffer, offsets[table.slots(entry.target).size()], workspace, true);
}

}  // namespace

// The number of an edge, in order of first appearance.
inline std::int32_t WaitInference::edge_id(std::int64_t edge) {
  if (edges_.size() * 2 >= hash_.size()) {
    hash_.assign(std::max<std::size_t>(1024, hash_.size() * 2), {no_key, 0});
    for (std::size_t id = 0; id < edges_.size(); ++id)
      hash_[hash_slot(edges_[id])] = {edges_[id], static_cast<std::int32_t>(id)};
  }
  HashSlot& slot = hash_[hash_slot(edge)];
  if (slot.key == no_key) {
    slot = {edge, static_cast<std::int32_t>(edges_.size())};
    edges_.push_back(edge);
  }
  return slot.id;
}

// Where the edge is in the hash table, or belongs.
inline std::size_t WaitInference::hash_slot(std::int64_t edge) const {
  const std::size_t mask = hash_.size() - 1;
  std::size_t slot = slot_of(edge, mask);
  while (hash_[slot].key != edge && hash_[slot].key != no_key) slot = (slot + 1) & mask;
  return slot;
}

// A cell is the space between two neighbouring edges of ranges. Edges are collected in a hash table, since
// few are different, and sorted once. A buffer that is where it was seen last has the same edges.
void WaitInference::list_accesses(const InstructionList& list) {
  edges_.clear();
  std::fill(hash_.begin(), hash_.end(), HashSlot{no_key, 0});
  accesses_.clear();
  accesses_end_.clear();
  last_seen_.assign(table_->buffer_count(), {});
  edge_id(0);
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    visit_ranges(*table_, list, i,
                 [&](std::int32_t buffer, std::int64_t offset, std::int64_t bytes, bool write) {
                   if (buffer == no_buffer) {
                     const std::int32_t begin = edge_id(offset);
                     accesses_.push_back({begin, edge_id(offset + bytes), write});
                     return;
                   }
                   Placement& seen = last_seen_[static_cast<std::size_t>(buffer)];
                   if (seen.offset != offset) {
                     const std::int32_t begin = edge_id(offset);
                     seen = {offset, begin, edge_id(offset + bytes)};
                   }
                   accesses_.push_back({seen.begin, seen.end, write});
                 });
    accesses_end_.push_back(static_cast<std::int32_t>(accesses_.size()));
  }
  std::sort(edges_.begin(), edges_.end());
  cells_.resize(edges_.size());
  for (std::size_t cell = 0; cell < edges_.size(); ++cell)
    cells_[static_cast<std::size_t>(hash_[hash_slot(edges_[cell])].id)] = static_cast<std::int32_t>(cell);
  for (Access& access : accesses_) {
    access.begin = cells_[static_cast<std::size_t>(access.begin)];
    access.end = cells_[static_cast<std::size_t>(access.end)];
  }
}

inline void WaitInference::set_boundary(std::int32_t cell) {
  auto bit = static_cast<std::size_t>(cell);
  for (auto& level : boundary_levels_) {
    std::uint64_t& word = level[bit / 64];
    const bool was_empty = word == 0;
    word |= std::uint64_t{1} << (bit % 64);
    if (!was_empty) return;
    bit /= 64;
  }
}

inline void WaitInference::clear_boundary(std::int32_t cell) {
  auto bit = static_cast<std::size_t>(cell);
  for (auto& level : boundary_levels_) {
    std::uint64_t& word = level[bit / 64];
    word &= ~(std::uint64_t{1} << (bit % 64));
    if (word != 0) return;
    bit /= 64;
  }
}

// Cell 0 is always a boundary.
inline std::int32_t WaitInference::last_boundary_up_to(std::int32_t cell) const {
  auto bit = static_cast<std::size_t>(cell);
  std::size_t level = 0;
  std::uint64_t word = boundary_levels_[0][bit / 64] & (~std::uint64_t{0} >> (63 - bit % 64));
  while (word == 0) {  // up, to a word on the left that is not empty
    bit /= 64;
    ++level;
    word = boundary_levels_[level][bit / 64] & ((std::uint64_t{1} << (bit % 64)) - 1);
  }
  bit = bit / 64 * 64 + static_cast<std::size_t>(63 - std::countl_zero(word));
  while (level > 0) {  // and down along the rightmost ones
    --level;
    bit = bit * 64 + static_cast<std::size_t>(63 - std::countl_zero(boundary_levels_[level][bit]));
  }
  return static_cast<std::int32_t>(bit);
}

// Makes `cell` a boundary within the node that begins at `left`.
inline void WaitInference::split(std::int32_t left, std::int32_t cell) {
  nodes_[static_cast<std::size_t>(cell)] = nodes_[static_cast<std::size_t>(left)];
  nodes_[static_cast<std::size_t>(left)].next = cell;
  set_boundary(cell);
}

// Adds to `needed` what the access conflicts with, then records it. `reader` is -1 in the second iteration:
// there, only what is left of the first one matters, and a write leaves nothing of it.
inline void WaitInference::collect(const Access& access, std::int32_t index, Clock& needed) {
  const bool first_iteration = index >= 0;
  const std::int32_t left = last_boundary_up_to(access.begin);
  if (left != access.begin) split(left, access.begin);
  std::int32_t cell = access.begin;
  while (cell < access.end) {
    Node& node = nodes_[static_cast<std::size_t>(cell)];
    if (node.next > access.end) split(cell, access.end);
    advance(needed, node.writer);
    if (access.write)
      advance(needed, node.readers);
    else if (first_iteration)
      node.readers[streams_[static_cast<std::size_t>(index)]] = index;
    const std::int32_t next = node.next;
    if (access.write && cell != access.begin) clear_boundary(cell);
    cell = next;
  }
  if (!access.write) return;
  Node& written = nodes_[static_cast<std::size_t>(access.begin)];
  written = {access.end, nothing, nothing};
  if (first_iteration) written.writer[streams_[static_cast<std::size_t>(index)]] = index;
}

inline void WaitInference::collect_host(const InstructionList::Entry& entry, std::int32_t index,
                                        Clock& needed) {
  if (entry.kind == InstructionKind::run) return;
  HostSlot& slot = host_[static_cast<std::size_t>(entry.target)];
  need(slot.writer, needed);
  if (entry.kind == InstructionKind::swap_out) {
    need(slot.reader, needed);
    slot = {index, -1};
  } else if (index >= 0) {
    slot.reader = index;
  }
}

void WaitInference::find_waits(const InstructionList& list, FlatProgram& flat) {
  Clock last_of_stream{-1, -1, -1};
  std::size_t access = 0, extra = 0;
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const std::size_t stream = streams_[i];
    Clock known{-1, -1, -1};
    const auto learn = [&](std::int32_t done) {  // `done` is over, and so is all that was over before it
      advance(known, done_before_[static_cast<std::size_t>(done)]);
      std::int32_t& latest = known[streams_[static_cast<std::size_t>(done)]];
      latest = std::max(latest, done);
    };
    const auto wait = [&](std::int32_t awaited) {
      flat.waits.push_back(awaited);
      learn(awaited);
    };
    if (last_of_stream[stream] >= 0) learn(last_of_stream[stream]);
    const auto first_wait = static_cast<std::ptrdiff_t>(flat.waits.size());
    for (; extra < list.extra_waits.size() && list.extra_waits[extra].instruction == index; ++extra)
      if (!list.extra_waits[extra].previous && std::find(flat.waits.begin() + first_wait, flat.waits.end(),
                                                         list.extra_waits[extra].awaited) == flat.waits.end())
        wait(list.extra_waits[extra].awaited);

    Clock needed{-1, -1, -1};
    for (; access < static_cast<std::size_t>(accesses_end_[i]); ++access)
      collect(accesses_[access], index, needed);
    collect_host(list.entries[i], index, needed);
    needed[stream] = -1;
    wait_for_latest(needed, known, wait);
    flat.waits_end[i] = static_cast<std::int32_t>(flat.waits.size());
    done_before_[i] = known;
    last_of_stream[stream] = index;
  }
}

void WaitInference::find_waits_previous(const InstructionList& list, FlatProgram& flat) {
  Clock last_of_stream{-1, -1, -1};
  for (std::size_t i = 0; i < list.entries.size(); ++i)
    last_of_stream[streams_[i]] = static_cast<std::int32_t>(i);
  std::array<Clock, stream_count> known_of_stream;
  for (std::size_t s = 0; s < stream_count; ++s) {
    known_of_stream[s] = {-1, -1, -1};
    if (last_of_stream[s] < 0) continue;
    known_of_stream[s] = done_before_[static_cast<std::size_t>(last_of_stream[s])];
    known_of_stream[s][s] = last_of_stream[s];
  }
  std::size_t access = 0, extra = 0, wait = 0;
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    const std::size_t stream = streams_[i];
    Clock known = known_of_stream[stream];
    for (; wait < static_cast<std::size_t>(flat.waits_end[i]); ++wait)
      advance(known, done_before_previous_[static_cast<std::size_t>(flat.waits[wait])]);
    const auto wait_previous = [&](std::int32_t awaited) {
      flat.waits_previous.push_back(awaited);
      advance(known, done_before_[static_cast<std::size_t>(awaited)]);
      std::int32_t& latest = known[streams_[static_cast<std::size_t>(awaited)]];
      latest = std::max(latest, awaited);
    };
    const auto index = static_cast<std::int32_t>(i);
    const auto first_wait = static_cast<std::ptrdiff_t>(flat.waits_previous.size());
    for (; extra < list.extra_waits.size() && list.extra_waits[extra].instruction == index; ++extra)
      if (list.extra_waits[extra].previous &&
          std::find(flat.waits_previous.begin() + first_wait, flat.waits_previous.end(),
                    list.extra_waits[extra].awaited) == flat.waits_previous.end())
        wait_previous(list.extra_waits[extra].awaited);

    Clock needed{-1, -1, -1};
    for (; access < static_cast<std::size_t>(accesses_end_[i]); ++access)
      collect(accesses_[access], -1, needed);
    collect_host(list.entries[i], -1, needed);
    needed[stream] = -1;
    wait_for_latest(needed, known, wait_previous);
    flat.waits_previous_end[i] = static_cast<std::int32_t>(flat.waits_previous.size());
    done_before_previous_[i] = known;
    known_of_stream[stream] = known;
  }
}

void WaitInference::infer(const InstructionList& list, FlatProgram& flat) {
  const std::size_t count = list.entries.size();
  flat.clear();
  streams_.resize(count);
  flat.stream.resize(count);
  flat.work.resize(count);
  flat.waits_end.resize(count);
  flat.waits_previous_end.resize(count);
  const PlanGraph& graph = table_->graph();
  for (std::size_t i = 0; i < count; ++i) {
    const InstructionList::Entry& entry = list.entries[i];
    const auto target = static_cast<std::size_t>(entry.target);
    flat.stream[i] = stream_of(entry.kind);
    streams_[i] = static_cast<std::uint8_t>(flat.stream[i]);
    flat.work[i] = entry.kind == InstructionKind::run ? graph.ops[target].seconds
                                                      : static_cast<double>(graph.buffers[target].bytes);
  }
  list_accesses(list);

  done_before_.resize(count);
  done_before_previous_.resize(count);
  nodes_.resize(edges_.size());
  std::size_t bits = edges_.size(), levels = 0;
  do {
    bits = (bits + 63) / 64;
    if (boundary_levels_.size() == levels) boundary_levels_.emplace_back();
    boundary_levels_[levels++].assign(bits, 0);
  } while (bits > 1);
  boundary_levels_.resize(levels);
  nodes_[0] = {static_cast<std::int32_t>(edges_.size()), nothing, nothing};
  set_boundary(0);
  host_.assign(table_->buffer_count(), {});

  find_waits(list, flat);
  for (std::size_t b = 0; b < host_.size(); ++b)
    if (table_->two_slots(static_cast<std::int32_t>(b))) host_[b] = {};
  find_waits_previous(list, flat);
}

void infer_waits(Program& program) {
  const OpTable table(program.graph);
  InstructionList list;
  flatten(program, list);
  FlatProgram flat;
  WaitInference(table).infer(list, flat);
  expand(list, flat, program);
}

}  // namespace swapadvisor
