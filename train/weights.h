// Model weights between safetensors files and the host store.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/host_store.h>

#include <string>
#include <string_view>

namespace swapadvisor {

/// Writes the model's parameters and states (not the optimizer's) under their names, atomically. Sessions must have
/// been drained.
void save_weights(const std::string& file, const Graph& graph, HostStore& host);

/// Reads the model's parameters and states into the host store; floating types are converted, tensors that the model
/// does not have are ignored. Tied weights are found under any of their names. `path`: only those in that scope (see `in_scope`), such as the backbone of a model with a
/// new head. Throws `Error` listing up to ten tensors that are missing or have another shape or type;
/// then nothing has changed.
void load_weights(const std::string& file, const Graph& graph, HostStore& host, std::string_view path = {});

}  // namespace swapadvisor
