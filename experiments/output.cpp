#include <fmt/format.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/experiments/output.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/report_json.h>

#include <algorithm>
#include <filesystem>

namespace swapadvisor {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
constexpr const char* format_name = "swapadvisor.experiments";

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (char c : cell) quoted.append(c == '"' ? 2 : 1, c);
  quoted += '"';
  return quoted;
}

std::string html_table(const nlohmann::ordered_json& table) {
  std::string html = "<table><thead><tr>";
  for (const auto& column : table.at("columns"))
    html += fmt::format("<th>{}</th>", report::html_text(column.get<std::string>()));
  html += "</tr></thead><tbody>";
  for (const auto& row : table.at("rows")) {
    html += "<tr>";
    for (const auto& cell : row)
      html += fmt::format("<td>{}</td>", report::html_text(cell.get<std::string>()));
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

bool has_strings(const nlohmann::ordered_json& list) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [](const auto& item) { return item.is_string(); });
}

/// What `write_page` reads of a manifest is there.
bool is_entry(const nlohmann::ordered_json& entry) {
  if (!entry.is_object() || !entry.contains("notes") || !entry.contains("tables") ||
      !entry.contains("figures"))
    return false;
  const auto& tables = entry.at("tables");
  const auto is_table = [](const nlohmann::ordered_json& table) {
    return table.is_object() && table.contains("name") && table.at("name").is_string() &&
           table.contains("columns") && has_strings(table.at("columns")) && table.contains("rows") &&
           table.at("rows").is_array() &&
           std::all_of(table.at("rows").begin(), table.at("rows").end(), has_strings);
  };
  if (entry.contains("headline") && !entry.at("headline").is_string()) return false;
  return has_strings(entry.at("notes")) && has_strings(entry.at("figures")) && tables.is_array() &&
         std::all_of(tables.begin(), tables.end(), is_table);
}

bool is_manifest(const nlohmann::ordered_json& manifest) {
  if (!manifest.is_object() || !manifest.contains("format") || manifest.at("format") != format_name ||
      !manifest.contains("experiments") || !manifest.at("experiments").is_object())
    return false;
  const auto& entries = manifest.at("experiments");
  return std::all_of(entries.begin(), entries.end(), is_entry);
}

constexpr const char* page_head = R"(<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>SwapAdvisor: experiments</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:1280px;margin:2em auto;padding:0 1em;color:#222}
nav a{margin-right:1em} h2{border-top:1px solid #ccc;padding-top:1em} p.note{color:#555;max-width:80ch}
table{border-collapse:collapse;font-size:13px} td,th{border:1px solid #ddd;padding:3px 8px;text-align:right}
td:first-child,th:first-child{text-align:left} th{background:#f4f4f4} tr:hover td{background:#f8fbff}
figure{margin:1em 0;overflow-x:auto} svg{max-width:100%;height:auto} details{margin:1em 0}
</style></head><body><h1>SwapAdvisor: experiments</h1>
)";

/// A place for a table in a document.
struct Mark {
  std::string table;
  std::size_t begin, end;  ///< of what is between the lines
  std::string line_end;
};

/// Lines of their own; elsewhere such words are only text.
std::vector<Mark> find_marks(const std::string& path, const std::string& text) {
  constexpr std::string_view opening = "<!-- experiment:", closing = " -->", end_mark = "<!-- end -->";
  std::vector<Mark> marks;
  bool open = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = std::min(text.find('\n', at), text.size()),
                      next = std::min(newline + 1, text.size());
    std::string_view line(text.data() + at, newline - at);
    const bool carriage = line.ends_with('\r');
    if (carriage) line.remove_suffix(1);
    if (line.starts_with(opening) && line.ends_with(closing) &&
        line.size() > opening.size() + closing.size()) {
      if (open) break;
      line.remove_prefix(opening.size());
      line.remove_suffix(closing.size());
      marks.push_back({std::string(line), next, next, carriage ? "\r\n" : "\n"});
      open = true;
    } else if (open && line == end_mark) {
      marks.back().end = at;
      open = false;
    }
    at = next;
  }
  if (open)
    fail("{}: there is no line '{}' after '{}{}{}'", path, end_mark, opening, marks.back().table, closing);
  return marks;
}

std::string with_line_ends(const std::string& text, const std::string& line_end) {
  if (line_end == "\n") return text;
  std::string result;
  for (char c : text) c == '\n' ? result += line_end : result += c;
  return result;
}

}  // namespace

std::string csv_text(const ResultTable& table) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_cell(row[i]);
    }
    text += "\r\n";
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return text;
}

std::string markdown_text(const ResultTable& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += fmt::format(" {} |", cell);
    return text + "\n";
  };
  std::string text = line(table.columns) + "|---|";
  for (std::size_t i = 1; i < table.columns.size(); ++i) text += "---:|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  return text;
}

ResultFolder::ResultFolder(std::string path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  std::error_code error, ignored;
  for (fs::path folder = fs::absolute(path_, ignored).lexically_normal(); !fs::exists(folder, ignored);
       folder = folder.parent_path()) {
    if (folder.has_filename()) made_.push_back(folder.string());
    if (folder == folder.parent_path()) break;
  }
  fs::create_directories(path_, error);
  if (!fs::is_directory(path_, ignored))
    fail("--out {}: the folder cannot be made: {}", path_,
         error ? error.message() : "there is something else of that name");
  const bool is_new = !fs::exists(manifest_path(), ignored);
  if (is_new && !fs::is_empty(path_, error))
    fail("--out {}: {}", path_,
         error ? error.message()
               : "the folder has files that are not of `swapadvisor experiment`: give another one");
  read_manifest();
  for (const auto& [name, entry] : manifest_.at("experiments").items())
    for (const auto& figure : entry.at("figures"))
      if (const auto file = fmt::format("{}/{}.svg", path_, figure.get<std::string>());
          !fs::exists(file, ignored))
        fail("{}: the manifest names it, but it is missing: give another folder", file);
  if (is_new) {
    // From here on the folder is ours, even if this process ends before there is anything in it.
    write_manifest();
    made_.insert(made_.begin(), manifest_path());
  } else {
    check_writable({manifest_path()});
  }
}

ResultFolder::~ResultFolder() {
  std::error_code ignored;  // of folders that others have put something in
  for (const std::string& path : made_) std::filesystem::remove(path, ignored);
}

void ResultFolder::read_manifest() {
  std::error_code ignored;
  if (!std::filesystem::exists(manifest_path(), ignored)) {
    manifest_ = {{"format", format_name}, {"version", 1}, {"experiments", nlohmann::ordered_json::object()}};
    return;
  }
  auto manifest = nlohmann::ordered_json::parse(read_file(manifest_path(), most_bytes), nullptr, false);
  if (!is_manifest(manifest)) fail("{}: not a manifest of `swapadvisor experiment`", manifest_path());
  manifest_ = std::move(manifest);
}

void ResultFolder::write_manifest() const {
  write_file_atomic(manifest_path(), manifest_.dump(1) + "\n");
}

void ResultFolder::add(const Experiment& experiment, const ExperimentResult& result,
                       const nlohmann::ordered_json& run) {
  made_.clear();
  std::filesystem::create_directories(path_);  // removed meanwhile, maybe
  nlohmann::ordered_json entry = run;
  entry["summary"] = experiment.summary;
  if (!result.headline.empty()) entry["headline"] = result.headline;
  entry["notes"] = result.notes;
  entry["tables"] = nlohmann::ordered_json::array();
  entry["figures"] = nlohmann::ordered_json::array();
  for (const ResultTable& table : result.tables) {
    write_file_atomic(fmt::format("{}/{}.csv", path_, table.name), csv_text(table));
    entry["tables"].push_back({{"name", table.name}, {"columns", table.columns}, {"rows", table.rows}});
  }
  for (const Figure& figure : result.figures) {
    write_file_atomic(fmt::format("{}/{}.svg", path_, figure.name), figure_svg(figure));
    write_file_atomic(fmt::format("{}/{}.png", path_, figure.name), figure_png(figure));
    entry["figures"].push_back(figure.name);
  }
  read_manifest();  // another process may have added something
  manifest_["experiments"][experiment.name] = std::move(entry);
  write_manifest();
  write_page();
}

void ResultFolder::write_page() const {
  std::string html = page_head;
  html += "<nav>";
  const auto& experiments = manifest_.at("experiments");
  for (const Experiment& experiment : experiment_list())
    if (experiments.contains(experiment.name))
      html += fmt::format("<a href=\"#{0}\">{0}</a>", experiment.name);
  html += "</nav>\n";
  for (const Experiment& experiment : experiment_list()) {
    if (!experiments.contains(experiment.name)) continue;
    const auto& entry = experiments.at(experiment.name);
    html +=
        fmt::format("<h2 id=\"{0}\">{0}: {1}</h2>\n", experiment.name, report::html_text(experiment.summary));
    if (entry.contains("headline"))
      html += fmt::format("<p><b>{}</b></p>\n", report::html_text(entry.at("headline").get<std::string>()));
    for (const auto& note : entry.at("notes"))
      html += fmt::format("<p class=\"note\">{}</p>\n", report::html_text(note.get<std::string>()));
    for (const auto& figure : entry.at("figures")) {
      std::string svg = read_file(fmt::format("{}/{}.svg", path_, figure.get<std::string>()), most_bytes);
      if (const std::size_t begin = svg.find("<svg"); begin != std::string::npos) svg.erase(0, begin);
      // Names inside a picture are its own; on one page they would meet those of the others.
      const std::string own = figure.get<std::string>() + "-";
      for (const char* reference : {"id=\"", "href=\"#", "url(#"})
        for (std::size_t at = 0; (at = svg.find(reference, at)) != std::string::npos;) {
          at += std::string_view(reference).size();
          svg.insert(at, own);
        }
      html += fmt::format("<figure>{}</figure>\n", svg);
    }
    for (const auto& table : entry.at("tables"))
      html += fmt::format("<details{}><summary>{}.csv</summary>{}</details>\n",
                          table.at("rows").size() <= 20 ? " open" : "",
                          report::html_text(table.at("name").get<std::string>()), html_table(table));
  }
  write_file_atomic(path_ + "/index.html", html + "</body></html>\n");
}

void update_document(const std::string& path, const ExperimentResult& result) {
  std::string text = read_file(path, most_bytes);
  const std::vector<Mark> marks = find_marks(path, text);
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark)
    for (const ResultTable& table : result.tables)
      if (table.name == mark->table)
        text.replace(mark->begin, mark->end - mark->begin,
                     with_line_ends(markdown_text(table), mark->line_end));
  write_file_atomic(path, text);
}

void check_document(const std::string& path, const std::vector<Experiment>& experiments) {
  const auto names = [](const std::vector<Experiment>& list) {
    std::vector<std::string> tables;
    for (const Experiment& experiment : list)
      tables.insert(tables.end(), experiment.tables.begin(), experiment.tables.end());
    return tables;
  };
  const std::vector<std::string> all = names(experiment_list()), chosen = names(experiments);
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  bool any = false;
  for (const Mark& mark : find_marks(path, read_file(path, most_bytes))) {
    if (!has(all, mark.table))
      fail("{}: no experiment has a table '{}': expected one of {}", path, mark.table, fmt::join(all, ", "));
    any = any || has(chosen, mark.table);
  }
  if (!any)
    fail("{}: there is nothing to update: no line '<!-- experiment:TABLE -->' with TABLE one of {}", path,
         fmt::join(chosen, ", "));
  check_writable({path});
}

}  // namespace swapadvisor
