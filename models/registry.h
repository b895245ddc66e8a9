// The models by name, as the command line offers them.
#pragma once

#include <swapadvisor/models/model.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// All models with their defaults, in the order to show them.
std::vector<ModelInfo> model_list();

/// Throws `Error` for an unknown name (naming all models, the most similar one first), for an option that the
/// model does not take, and for one out of range.
Model find_model(std::string_view name, const ModelOptions& options = {});

/// Elements of all parameters (states not counted).
std::int64_t parameter_count(const Graph& graph);

}  // namespace swapadvisor
