#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/report.h>
#include <swapadvisor/train/report_json.h>
#include <swapadvisor/train/report_page.h>

#include <nlohmann/json.hpp>

namespace swapadvisor {
namespace {

std::string title_of(std::span<const ReportPlan> plans, bool table) {
  std::string graph;
  for (const ReportPlan& plan : plans)
    if (plan.refusal.empty()) graph = plan.program.graph.name;
  if (table) return fmt::format("{} – planners compared – SwapAdvisor", graph);
  return fmt::format("{} – {} – SwapAdvisor", graph, plans.front().planner);
}

// Replaces each {{name}} of the page; what is put in is not looked at again.
std::string fill(std::string_view page, const std::string& title, const std::string& data) {
  const std::pair<std::string_view, std::string_view> parts[] = {{"{{title}}", title},
                                                                 {"{{style}}", report::page_style},
                                                                 {"{{data}}", data},
                                                                 {"{{script}}", report::page_script}};
  std::string text;
  for (const auto& [name, part] : parts) {
    const std::size_t at = page.find(name);
    SWAPADVISOR_ASSERT(at != std::string_view::npos, "the report's page has no {}", name);
    text += page.substr(0, at);
    text += part;
    page.remove_prefix(at + name.size());
  }
  text += page;
  return text;
}

std::string page_of(std::span<const ReportPlan> plans, bool table) {
  return fill(report::page_html, report::html_text(title_of(plans, table)),
              report::script_json(report::report_json(plans, table)));
}

ReportPlan only(const Program& program) {
  ReportPlan plan;
  plan.planner = program.planner;
  plan.program = program;
  return plan;
}

}  // namespace

std::string report_page(const Program& program) {
  const ReportPlan plan = only(program);
  return page_of({&plan, 1}, false);
}

std::string report_page(std::span<const ReportPlan> plans) {
  return page_of(plans, true);
}

void write_report(const std::string& path, const Program& program) {
  write_file_atomic(path, report_page(program));
}

void write_report(const std::string& path, std::span<const ReportPlan> plans) {
  write_file_atomic(path, report_page(plans));
}

}  // namespace swapadvisor
