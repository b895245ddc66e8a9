#include <swapadvisor/core/error.h>
#include <swapadvisor/train/averaged_parameters.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <string_view>

namespace swapadvisor {

AveragedParameters::AveragedParameters(const Graph& graph, HostStore& host) : graph_(graph), host_(host) {
  exchange();
}

AveragedParameters::~AveragedParameters() {
  exchange();
}

void AveragedParameters::exchange() {
  const std::string_view prefix = names::ema_prefix;
  for (const Buffer& buffer : graph_.buffers()) {
    if (!is_persistent(buffer.kind) || !buffer.name.starts_with(prefix)) continue;
    const auto average = host_.find(buffer.name), parameter = host_.find(buffer.name.substr(prefix.size()));
    SWAPADVISOR_ASSERT(average.size() == parameter.size(), "'{}' has {} bytes, its parameter {}", buffer.name,
                       average.size(), parameter.size());
    std::swap_ranges(average.begin(), average.end(), parameter.begin());
  }
}

}  // namespace swapadvisor
