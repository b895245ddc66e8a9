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
/// shown; other processes may write theirs between two calls of `add`.
class ResultFolder {
 public:
  /// Makes the folder, with a manifest of nothing. Throws `Error` when it has files but no manifest of ours,
  /// when something that the manifest names is missing, or when files cannot be written there.
  explicit ResultFolder(std::string path);
  /// Without a result, what the constructor made goes again.
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  /// Writes the experiment's files, then page and manifest. `run`: how it was made, for the manifest.
  void add(const Experiment& experiment, const ExperimentResult& result, const nlohmann::ordered_json& run);

 private:
  std::string manifest_path() const { return path_ + "/manifest.json"; }
  void read_manifest();
  void write_manifest() const;
  void write_page() const;

  std::string path_;
  std::vector<std::string> made_;  ///< by the constructor, outermost last
  nlohmann::ordered_json manifest_;
};

/// Replaces what stands between the lines `<!-- experiment:TABLE -->` and `<!-- end -->` of a Markdown file
/// by that table, wherever there are such lines. Throws `Error` when the file has no end to such a line.
void update_document(const std::string& path, const ExperimentResult& result);

/// Throws `Error` unless `update_document` will have something to replace for one of `experiments` at least,
/// and can: the lines have their ends and name tables that there are, the file can be written.
void check_document(const std::string& path, const std::vector<Experiment>& experiments);

}  // namespace swapadvisor
