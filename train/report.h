// The report: a plan, or several for the same graph, as one HTML page that needs nothing but a browser.
#pragma once

#include <swapadvisor/core/program.h>

#include <span>
#include <string>

namespace swapadvisor {

/// What a planner made of a graph: a row of the report's table of planners.
struct ReportPlan {
  std::string planner;
  Program program;      ///< nothing is read of it when there is a `refusal`
  std::string refusal;  ///< why there is no plan; empty when there is one
  std::string invalid;  ///< what the verifier found; empty when the plan is valid
  double planning_seconds = 0;
  bool cached = false;  ///< the plan came from the cache
};

/// The page for one plan, with indices in range (`program.predicted` filled): key figures, timeline of a
/// steady iteration, device memory by time and by address, stalls, swaps, recomputed ops, and the search if
/// there was one. Self-contained; names in the graph may be any bytes. Throws `Error` when the device has no
/// link speed. Pure.
std::string report_page(const Program& program);

/// The same for several plans of one graph, with a table of them. The page opens with the fastest valid plan
/// besides `none`, and has the details of as many others, fastest first, as keep the file small.
std::string report_page(std::span<const ReportPlan> plans);

/// The page in a file, atomically. Throws `Error` naming the file.
void write_report(const std::string& path, const Program& program);
/// The page of several plans in a file, atomically. Throws `Error` naming the file.
void write_report(const std::string& path, std::span<const ReportPlan> plans);

}  // namespace swapadvisor
