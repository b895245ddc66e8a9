// The hazard checker: whether stream order, event waits and host waits put every two conflicting accesses in
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace standin {

/// Memory that one piece of work reads or writes.
struct Touched {
  const void* address;
  std::int64_t bytes;
  bool written;
};

/// How much of each stream's work (by number) is known to be done; missing entries are 0.
using Clock = std::vector<std::uint64_t>;

/// Follows happens-before with vector clocks. What is ordered before what is decided when work is queued and
/// not by when it runs, so one run finds every hazard of that run's calls, whatever the schedule. The host is
/// number 0.
class HazardChecker {
 public:
  HazardChecker() : clocks_(1), free_{} {}

  int open_stream();
  void close_stream(int stream);

  /// Queues one piece of work that touches `ranges`; `what` names it in faults.
  void work(int stream, std::span<const Touched> ranges, const std::string& what);
  /// Of an event that is recorded now, and of one that is waited for.
  const Clock& clock(int stream) const { return clocks_[static_cast<std::size_t>(stream)]; }
  void wait(int stream, const Clock& event) { join(clocks_[static_cast<std::size_t>(stream)], event); }
  /// The host has waited for an event, a stream, everything.
  void host_waited(const Clock& event) { join(clocks_[0], event); }
  void host_waited_for_all();
  /// Memory that was given back.
  void forget(const void* address, std::size_t bytes);

  void report(std::string sentence);
  std::int64_t count() const { return count_; }
  const std::vector<std::string>& sentences() const { return sentences_; }  ///< the first thousand
  void clear();

 private:
  using Address = std::uintptr_t;
  /// The latest access of one stream.
  struct Access {
    int stream = -1;
    std::uint64_t number = 0;
    std::uint32_t what = 0;
  };
  struct Range {
    Address end = 0;
    Access writer;
    std::vector<Access> readers;  // one per stream at most
  };
  using Ranges = std::map<Address, Range>;

  static void join(Clock& clock, const Clock& other);
  void split(Address at);
  void touch(const Touched& range, const Access& access);
  void compare(const Access& earlier, bool earlier_wrote, const Access& now, bool writes, Address begin,
               Address end);
  std::string name(const Access& access) const;
  std::uint32_t intern(const std::string& what);

  std::vector<Clock> clocks_;  // per stream
  std::vector<int> free_;      // numbers of closed streams
  Ranges ranges_;              // by first address
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_numbers_;
  std::set<std::pair<int, std::uint64_t>> reported_;  // work that the work being queued conflicts with
  std::vector<std::string> sentences_;
  std::int64_t count_ = 0;
};

}  // namespace standin
