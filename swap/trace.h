// Timelines as Chrome trace JSON, for Perfetto (ui.perfetto.dev) or chrome://tracing.
#pragma once

#include <swapadvisor/core/program.h>
#include <swapadvisor/swap/simulate.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swapadvisor {

/// Every instruction of every iteration of `timeline`.
std::vector<InstructionSpan> spans_of(const Timeline& timeline);

/// A JSON object with `traceEvents`: one track per stream; one complete event per span, named after the op
/// ("op") or the buffer ("swap-in w"), with type, bytes, addresses and iteration as arguments. Times in
/// microseconds.
std::string chrome_trace(const Program& program, std::span<const InstructionSpan> spans);

/// The same in a file, atomically.
void write_chrome_trace(const std::string& path, const Program& program,
                        std::span<const InstructionSpan> spans);

}  // namespace swapadvisor
