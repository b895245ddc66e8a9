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

// Calls `visit(offset, bytes, write)` for every device range that an instruction uses; reads come first.
template <class Visit>
void visit_ranges(const OpTable& table, const InstructionList& list, std::size_t index, const Visit& visit) {
  const InstructionList::Entry& entry = list.entries[index];
  const std::int64_t* offsets = list.offsets.data() + entry.first_offset;
  if (entry.kind != InstructionKind::run) {
    visit(offsets[0], table.bytes(entry.target), entry.kind == InstructionKind::swap_in);
    return;
  }
  for (const OpTable::Operand& operand : table.operands(entry.target))
    visit(offsets[operand.slot], table.bytes(operand.buffer), operand.write);
  const std::int64_t workspace = table.workspace(entry.target);
  if (workspace > 0) visit(offsets[table.slots(entry.target).size()], workspace, true);
}

}  // namespace

// A cell is the space between two neighbouring edges of ranges. Edges are collected in a hash table, since
// few are different, and sorted once.
void WaitInference::number_cells(const InstructionList& list) {
  std::size_t capacity = hash_keys_.size();
  const std::size_t wanted = std::bit_ceil(list.offsets.size() * 4 + 16);
  if (capacity < wanted) capacity = wanted;
  hash_keys_.assign(capacity, no_key);
  hash_values_.resize(capacity);
  edges_.clear();
  const std::size_t mask = capacity - 1;
  const auto add = [&](std::int64_t edge) {
    std::size_t slot = slot_of(edge, mask);
    while (hash_keys_[slot] != no_key) {
      if (hash_keys_[slot] == edge) return;
      slot = (slot + 1) & mask;
    }
    hash_keys_[slot] = edge;
    edges_.push_back(edge);
  };
  add(0);
  for (std::size_t i = 0; i < list.entries.size(); ++i)
    visit_ranges(*table_, list, i, [&](std::int64_t offset, std::int64_t bytes, bool) {
      add(offset);
      add(offset + bytes);
    });
  std::sort(edges_.begin(), edges_.end());
  for (std::size_t cell = 0; cell < edges_.size(); ++cell) {
    std::size_t slot = slot_of(edges_[cell], mask);
    while (hash_keys_[slot] != edges_[cell]) slot = (slot + 1) & mask;
    hash_values_[slot] = static_cast<std::int32_t>(cell);
  }
}

void WaitInference::list_accesses(const InstructionList& list) {
  accesses_.clear();
  accesses_end_.clear();
  const std::size_t mask = hash_keys_.size() - 1;
  const auto cell = [&](std::int64_t edge) {
    std::size_t slot = slot_of(edge, mask);
    while (hash_keys_[slot] != edge) slot = (slot + 1) & mask;
    return hash_values_[slot];
  };
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    visit_ranges(*table_, list, i, [&](std::int64_t offset, std::int64_t bytes, bool write) {
      accesses_.push_back({cell(offset), cell(offset + bytes), write});
    });
    accesses_end_.push_back(static_cast<std::int32_t>(accesses_.size()));
  }
}

void WaitInference::set_boundary(std::int32_t cell) {
  auto bit = static_cast<std::size_t>(cell);
  for (auto& level : boundary_levels_) {
    std::uint64_t& word = level[bit / 64];
    const bool was_empty = word == 0;
    word |= std::uint64_t{1} << (bit % 64);
    if (!was_empty) return;
    bit /= 64;
  }
}

void WaitInference::clear_boundary(std::int32_t cell) {
  auto bit = static_cast<std::size_t>(cell);
  for (auto& level : boundary_levels_) {
    std::uint64_t& word = level[bit / 64];
    word &= ~(std::uint64_t{1} << (bit % 64));
    if (word != 0) return;
    bit /= 64;
  }
}

// Cell 0 is always a boundary.
std::int32_t WaitInference::last_boundary_up_to(std::int32_t cell) const {
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

// Makes `cell` a boundary between nodes.
void WaitInference::split(std::int32_t cell) {
  const std::int32_t left = last_boundary_up_to(cell);
  if (left == cell) return;
  nodes_[static_cast<std::size_t>(cell)] = nodes_[static_cast<std::size_t>(left)];
  nodes_[static_cast<std::size_t>(left)].next = cell;
  set_boundary(cell);
}

// Adds to `needed` what the access conflicts with, then records it. `reader` is -1 in the second iteration:
// there, only what is left of the first one matters, and a write leaves nothing of it.
void WaitInference::collect(const Access& access, std::int32_t index, Clock& needed) {
  const bool first_iteration = index >= 0;
  split(access.begin);
  std::int32_t cell = access.begin;
  while (cell < access.end) {
    Node& node = nodes_[static_cast<std::size_t>(cell)];
    if (node.next > access.end) split(access.end);
    need(node.writer, needed);
    if (access.write)
      for (std::int32_t reader : node.readers) need(reader, needed);
    else if (first_iteration)
      node.readers[streams_[static_cast<std::size_t>(index)]] = index;
    const std::int32_t next = node.next;
    if (access.write && cell != access.begin) clear_boundary(cell);
    cell = next;
  }
  if (access.write) nodes_[static_cast<std::size_t>(access.begin)] = {access.end, index, {-1, -1, -1}};
}

void WaitInference::collect_host(const InstructionList::Entry& entry, std::int32_t index, Clock& needed) {
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
    for (int left = stream_count - 1; left > 0; --left) {  // the latest first: it may imply the others
      const auto latest = std::max_element(needed.begin(), needed.end());
      if (*latest < 0) break;
      if (known[static_cast<std::size_t>(latest - needed.begin())] < *latest) wait(*latest);
      *latest = -1;
    }
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
    for (int left = stream_count - 1; left > 0; --left) {
      const auto latest = std::max_element(needed.begin(), needed.end());
      if (*latest < 0) break;
      if (known[static_cast<std::size_t>(latest - needed.begin())] < *latest) wait_previous(*latest);
      *latest = -1;
    }
    flat.waits_previous_end[i] = static_cast<std::int32_t>(flat.waits_previous.size());
    done_before_previous_[i] = known;
    known_of_stream[stream] = known;
  }
}

void WaitInference::infer(const InstructionList& list, FlatProgram& flat) {
  const std::size_t count = list.entries.size();
  flat.clear();
  streams_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const InstructionList::Entry& entry = list.entries[i];
    const auto target = static_cast<std::size_t>(entry.target);
    const PlanGraph& graph = table_->graph();
    streams_[i] = static_cast<std::uint8_t>(stream_of(entry.kind));
    flat.add(stream_of(entry.kind), entry.kind == InstructionKind::run
                                        ? graph.ops[target].seconds
                                        : static_cast<double>(graph.buffers[target].bytes));
  }
  number_cells(list);
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
  nodes_[0] = {static_cast<std::int32_t>(edges_.size()), -1, {-1, -1, -1}};
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
