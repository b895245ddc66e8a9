// The data of a report page. Internal: the page is who reads it.
#pragma once

#include <swapadvisor/train/report.h>
#include <swapadvisor/train/report_analysis.h>

#include <nlohmann/json_fwd.hpp>

namespace swapadvisor::report {

/// Everything the page shows. `table`: the plans are rows of a table of planners. Times are whole ticks from
/// the begin of the shown iteration; lists of numbers are flat, times in them sorted and each as the
/// difference to the one before:
///   `instructions`: kind (0 run, 1 swap-in, 2 swap-out), target, taken_by, next_reader, 1 for a run again
///   `spans`, per stream: instruction, iteration (0: the shown one), gap after the span before, duration,
///   blocker `stalls`: instruction, begin (absolute), duration, blocker, cause (0 link, 1 dependency), copies
///   queued, begin of
///     their queue (absolute), its root
///   `stays`: target, occupant, offset / 256, begin, duration, placed_by, taken_by
///   `memory`: begin, occupant, change in bytes
/// A reference is (iteration + 4) × instructions + instruction, or −1 for none.
nlohmann::ordered_json report_json(std::span<const ReportPlan> plans, bool table);

/// JSON that can stand in an HTML script element, whatever bytes its strings have.
std::string script_json(const nlohmann::ordered_json& json);

/// Text that can stand in an HTML element, whatever bytes it has.
std::string html_text(const std::string& text);

}  // namespace swapadvisor::report
