// What an experiment leaves in its folder.
#pragma once

#include <swapadvisor/experiments/experiment.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace swapadvisor {

/// RFC 4180.
std::string csv_text(const ResultTable& table);
/// A table of GitHub's Markdown.
std::string markdown_text(const ResultTable& table);

/// A folder of results: NAME.csv, NAME.svg and NAME.png per experiment, index.html of all, manifest.json.
/// Every file is written atomically. Results that are there already, of other experiments, stay and are
/// shown.
class ResultFolder {
 public:
  /// Makes the folder. Throws `Error` when it has files but no manifest of ours, or cannot be written.
  explicit ResultFolder(std::string path);

  /// Writes the experiment's files, then page and manifest. `run`: how it was made, for the manifest.
  void add(const Experiment& experiment, const ExperimentResult& result, const nlohmann::ordered_json& run);

 private:
  void write_page() const;

  std::string path_;
  nlohmann::ordered_json manifest_;
};

/// Replaces what stands between the lines `<!-- experiment:TABLE -->` and `<!-- end -->` of a Markdown file
/// by that table. Throws `Error` when the file has no end to such a line.
void update_document(const std::string& path, const ExperimentResult& result);

}  // namespace swapadvisor
