// The reference executor on a CUDA device: a graph op by op, every buffer in its own device memory.
#pragma once

#include <swapadvisor/core/backend.h>

#include "interpret.h"

namespace swapadvisor::test {

/// Runs every node of `graph` once, in builder order, on the device; ops that it has no kernel for run on the
/// host with `host_kernels`. `buffers` as for `Interpreter::step`; `options.threads` is not used. Throws
/// `Error` when a kernel wrote outside its outputs and workspace, or took a pointer outside of its operands.
void interpret_on_device(const Backend& backend, const Graph& graph, const KernelSet& host_kernels,
                         HostBuffers& buffers, const InterpretOptions& options = {});

}  // namespace swapadvisor::test
