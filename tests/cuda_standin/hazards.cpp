#include "hazards.h"

#include <algorithm>
#include <cstdio>

namespace standin {

int HazardChecker::open_stream() {
  if (!free_.empty()) {  // its numbers go on, so that nothing of the old stream looks undone
    const int stream = free_.back();
    free_.pop_back();
    return stream;
  }
  clocks_.emplace_back();
  return static_cast<int>(clocks_.size()) - 1;
}

void HazardChecker::close_stream(int stream) {
  free_.push_back(stream);
}

void HazardChecker::join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t s = 0; s < other.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

void HazardChecker::host_waited_for_all() {
  for (std::size_t s = 1; s < clocks_.size(); ++s) join(clocks_[0], clocks_[s]);
}

void HazardChecker::work(int stream, std::span<const Touched> ranges, const std::string& what) {
  const auto s = static_cast<std::size_t>(stream);
  if (s != 0) join(clocks_[s], clocks_[0]);
  if (clocks_[s].size() <= s) clocks_[s].resize(s + 1);
  const Access access{stream, ++clocks_[s][s], intern(what)};
  reported_.clear();
  for (const Touched& range : ranges)
    if (range.bytes > 0) touch(range, access);
}

// Makes `at` the begin of a range, if it is inside of one.
void HazardChecker::split(Address at) {
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return;
  auto& [begin, range] = *std::prev(after);
  if (begin == at || range.end <= at) return;
  Range right = range;
  range.end = at;
  ranges_.emplace_hint(after, at, std::move(right));
}

void HazardChecker::touch(const Touched& touched, const Access& access) {
  const auto begin = reinterpret_cast<Address>(touched.address);
  const Address end = begin + static_cast<Address>(touched.bytes);
  split(begin);
  split(end);
  auto at = ranges_.lower_bound(begin);
  for (Address next = begin; next < end;) {
    if (at == ranges_.end() || at->first > next) {  // nobody was here yet
      const Address limit = at == ranges_.end() ? end : std::min(end, at->first);
      at = ranges_.emplace_hint(at, next, Range{limit, {}, {}});
    }
    Range& range = at->second;
    compare(range.writer, true, access, touched.written, next, range.end);
    if (touched.written) {
      for (const Access& reader : range.readers) compare(reader, false, access, true, next, range.end);
    } else {
      const auto same = std::find_if(range.readers.begin(), range.readers.end(),
                                     [&](const Access& reader) { return reader.stream == access.stream; });
      if (same == range.readers.end())
        range.readers.push_back(access);
      else
        *same = access;
    }
    next = range.end;
    ++at;
  }
  if (!touched.written) return;
  ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
  ranges_.emplace(begin, Range{end, access, {}});
}

void HazardChecker::compare(const Access& earlier, bool earlier_wrote, const Access& now, bool writes,
                            Address begin, Address end) {
  if (earlier.stream < 0 || earlier.stream == now.stream) return;
  const Clock& known = clocks_[static_cast<std::size_t>(now.stream)];
  const auto s = static_cast<std::size_t>(earlier.stream);
  if (s < known.size() && known[s] >= earlier.number) return;
  if (!reported_.emplace(earlier.stream, earlier.number).second) return;
  char where[96];
  std::snprintf(where, sizeof where, "%zu bytes at %#zx", static_cast<std::size_t>(end - begin),
                static_cast<std::size_t>(begin));
  report(name(now) + (writes ? " writes " : " reads ") + where + ", but nothing orders it after " +
         name(earlier) + ", which " + (earlier_wrote ? "writes" : "reads") + " there");
}

std::string HazardChecker::name(const Access& access) const {
  return "'" + names_[access.what] + "' (work " + std::to_string(access.number) + " of " +
         (access.stream == 0 ? std::string("the host") : "stream " + std::to_string(access.stream)) + ")";
}

std::uint32_t HazardChecker::intern(const std::string& what) {
  const auto [found, added] = name_numbers_.try_emplace(what, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(what);
  return found->second;
}

void HazardChecker::forget(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<Address>(address);
  split(begin);
  split(begin + bytes);
  ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(begin + bytes));
}

void HazardChecker::report(std::string sentence) {
  constexpr std::size_t most = 1000;
  ++count_;
  if (sentences_.size() < most) sentences_.push_back(std::move(sentence));
}

void HazardChecker::clear() {
  count_ = 0;
  sentences_.clear();
}

}  // namespace standin
