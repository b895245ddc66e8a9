// What the runtime, the libraries and the control of the stand-in share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "streams.h"

namespace standin {

/// Keeps a failure for cudaGetLastError and returns it.
cudaError_t result(cudaError_t status);
/// Null for what is no stream of ours, the default stream among them.
StreamState* stream_state(cudaStream_t stream);

void set_thread_order(int order, std::uint32_t seed);
void set_driver(bool present);
void name_next_operands(const char* name);
/// What launches and library calls on the stream may touch until `stream.operands` is reset.
void declare_operands(StreamState& stream, std::vector<Touched> ranges);

}  // namespace standin
