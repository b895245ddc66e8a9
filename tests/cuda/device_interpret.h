// The reference executor on a CUDA device: a graph op by op, every buffer in its own device memory.
#pragma once

#include <swapadvisor/core/backend.h>

#include "interpret.h"

namespace swapadvisor::test {

/// The device's kernels with their operands declared to the stand-in, and for ops that it lacks (those of the
/// tests) kernels that run on the host in the stream's order.
KernelSet device_kernels(const KernelSet& kernels, const KernelSet& host_kernels);

/// Runs every node of `graph` once, in builder order. `buffers` as for `Interpreter::step`; `options.threads`
/// is not used. Throws `Error` when a kernel wrote outside its outputs and workspace, or took a pointer that
/// its operands do not cover.
void interpret_on_device(Device& device, const Graph& graph, const KernelSet& kernels, HostBuffers& buffers,
                         const InterpretOptions& options = {});

}  // namespace swapadvisor::test
