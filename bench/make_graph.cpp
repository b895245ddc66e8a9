// swapadvisor_make_graph NETWORK OPS FILE: writes a large training graph to plan.
#include <fmt/format.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/plan_file.h>

#include <charconv>
#include <string_view>

#include "training_graphs.h"

int main(int argc, char** argv) try {
  const std::string_view count = argc == 4 ? argv[2] : "";
  std::int64_t ops = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), ops);
  if (count.empty() || error != std::errc{} || end != count.data() + count.size() || ops < 1 ||
      ops > 4'000'000)
    swapadvisor::fail(
        "usage: swapadvisor_make_graph resnet|transformer|lstm OPS FILE, with 1 to 4000000 ops");
  const swapadvisor::PlanGraph graph = swapadvisor::bench::training_graph(argv[1], ops);
  swapadvisor::write_graph(argv[3], graph);
  fmt::print("{}: {} ops, {} buffers\n", argv[3], graph.ops.size(), graph.buffers.size());
  return 0;
} catch (const swapadvisor::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
