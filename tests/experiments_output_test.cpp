// What experiments leave behind: CSV, Markdown, the folder with its page and manifest.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/experiments/output.h>
#include <temporary_folder.h>

#include <filesystem>
#include <regex>
#include <set>

namespace swapadvisor {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// RFC 4180, read strictly: every line ends with CRLF, a quote is doubled within quotes and nowhere else.
Rows parse_csv(const std::string& text) {
  Rows rows(1);
  std::string cell;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      for (++at; text.at(at) != '"' || (at + 1 < text.size() && text[at + 1] == '"'); ++at) {
        if (text[at] == '"') ++at;
        cell += text[at];
      }
      ++at;
    } else {
      for (; at < text.size() && text[at] != ',' && text[at] != '\r'; ++at) {
        EXPECT_TRUE(text[at] != '"' && text[at] != '\n') << "bare at byte " << at;
        cell += text[at];
      }
    }
    rows.back().push_back(std::exchange(cell, {}));
    if (text.at(at) == ',') {
      ++at;
      continue;
    }
    EXPECT_EQ(text.substr(at, 2), "\r\n");
    at += 2;
    if (at < text.size()) rows.emplace_back();
  }
  return rows;
}

ResultTable table_named(const std::string& name, const Rows& rows) {
  return {name, {"workload", "batch, samples"}, rows};
}

Figure figure_named(const std::string& name) {
  Chart chart{"a < b & c", "x", "y", false, true, {}, {{"line", {{1, 2}, {2, 3}}}}};
  return {name, "Title of " + name, {chart}};
}

ExperimentResult result_named(const std::string& name, const std::string& cell) {
  return {{table_named(name, {{"RNN", cell}})}, {figure_named(name)}, {"A note with <tags> & more."}};
}

const Experiment& experiment_named(const std::string& name) {
  static const std::vector<Experiment> all = experiment_list();
  return *std::find_if(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; });
}

const nlohmann::ordered_json how{{"seed", 7}, {"commit", "abc"}};

TEST(ExperimentOutput, CsvReadsBackWhateverIsInTheCells) {
  const Rows rows{{"plain", "1.50"}, {"a, b", "say \"yes\""}, {"two\nlines", ""}, {"\"", "\r"}};
  Rows expected{{"workload", "batch, samples"}};
  expected.insert(expected.end(), rows.begin(), rows.end());
  EXPECT_EQ(parse_csv(csv_text(table_named("t", rows))), expected);
  EXPECT_EQ(csv_text({"t", {"a", "b"}, {{"1", "2"}}}), "a,b\r\n1,2\r\n");
}

TEST(ExperimentOutput, MarkdownHasARuleAndAlignsNumbers) {
  EXPECT_EQ(markdown_text({"t", {"name", "a", "b"}, {{"x", "1", "2"}, {"y", "3", "4"}}}),
            "| name | a | b |\n|---|---:|---:|\n| x | 1 | 2 |\n| y | 3 | 4 |\n");
}

TEST(ExperimentOutput, DocumentChangesBetweenItsMarksOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.write("d.md",
                                        "# Top\n<!-- experiment:models -->\nold\nrows\n<!-- end -->\nmiddle\n"
                                        "<!-- experiment:limit -->\nkept\n<!-- end -->\nlast\n");
  ExperimentResult result;
  result.tables = {table_named("models", {{"RNN", "810"}}), table_named("not in the document", {{"a", "b"}})};
  update_document(path, result);
  const std::string expected =
      "# Top\n<!-- experiment:models -->\n| workload | batch, samples |\n|---|---:|\n| RNN | 810 |\n"
      "<!-- end -->\nmiddle\n<!-- experiment:limit -->\nkept\n<!-- end -->\nlast\n";
  EXPECT_EQ(folder.read("d.md"), expected);
  update_document(path, result);
  EXPECT_EQ(folder.read("d.md"), expected) << "a second time changes nothing";
}

TEST(ExperimentOutput, DocumentWithoutAnEndIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const std::string text = "<!-- experiment:models -->\nold\n";
  const std::string path = folder.write("d.md", text);
  ExperimentResult result;
  result.tables = {table_named("models", {{"RNN", "810"}})};
  expect_error([&] { update_document(path, result); }, "<!-- end -->");
  EXPECT_EQ(folder.read("d.md"), text);
  expect_error([&] { update_document(folder.path("none.md"), result); }, "none.md");
}

// The next block's end is not this one's: what is between would be lost.
TEST(ExperimentOutput, DocumentsBlocksDoNotRunIntoEachOther) {
  const TemporaryFolder folder;
  const std::string text =
      "<!-- experiment:models -->\nold\n\nprose\n<!-- experiment:limit -->\nx\n<!-- end -->\n";
  const std::string path = folder.write("d.md", text);
  ExperimentResult result;
  result.tables = {table_named("models", {{"RNN", "810"}})};
  expect_error([&] { update_document(path, result); }, "<!-- end -->");
  EXPECT_EQ(folder.read("d.md"), text);
}

TEST(ExperimentOutput, DocumentsKeepTheirLineEndsAndHaveATableAsOftenAsTheyLike) {
  const TemporaryFolder folder;
  const std::string block = "<!-- experiment:models -->\r\nold\r\n<!-- end -->\r\n";
  const std::string path =
      folder.write("d.md", block + "prose about <!-- experiment:models --> marks\r\n" + block);
  ExperimentResult result;
  result.tables = {{"models", {"a", "b"}, {{"1", "2"}}}};
  update_document(path, result);
  const std::string table =
      "<!-- experiment:models -->\r\n| a | b |\r\n|---|---:|\r\n| 1 | 2 |\r\n<!-- end -->\r\n";
  EXPECT_EQ(folder.read("d.md"), table + "prose about <!-- experiment:models --> marks\r\n" + table);
}

TEST(ExperimentOutput, CheckedDocumentsCanBeUpdated) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("d.md", "<!-- experiment:throughput_summary -->\n<!-- end -->\n<!-- end -->\n");
  EXPECT_NO_THROW(check_document(path, experiment_list()));
  EXPECT_NO_THROW(check_document(path, {experiment_named("throughput")}));
  expect_error([&] { check_document(path, {experiment_named("models")}); }, "nothing to update");
  const std::string missing = folder.path("none.md");
  expect_error([&] { check_document(missing, experiment_list()); }, "none.md");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(ExperimentOutput, FolderHasEveryFileAndNoOther) {
  const TemporaryFolder folder;
  const std::string path = folder.path("new/results");
  ResultFolder results(path);
  results.add(experiment_named("models"), result_named("models", "810"), how);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    files.insert(entry.path().filename().string());
  EXPECT_EQ(files,
            (std::set<std::string>{"index.html", "manifest.json", "models.csv", "models.png", "models.svg"}));
  EXPECT_EQ(folder.read("new/results/models.csv"), "workload,\"batch, samples\"\r\nRNN,810\r\n");
  EXPECT_EQ(folder.read("new/results/models.svg"), figure_svg(figure_named("models")));
  EXPECT_EQ(folder.read("new/results/models.png"), figure_png(figure_named("models")));
}

TEST(ExperimentOutput, ManifestSaysHowEachWasMade) {
  const TemporaryFolder folder;
  ResultFolder(folder.path("r")).add(experiment_named("limit"), result_named("limit", "5"), how);
  const auto manifest = nlohmann::json::parse(folder.read("r/manifest.json"));
  EXPECT_EQ(manifest.at("format"), "swapadvisor.experiments");
  const auto& entry = manifest.at("experiments").at("limit");
  EXPECT_EQ(entry.at("seed"), 7);
  EXPECT_EQ(entry.at("commit"), "abc");
  EXPECT_EQ(entry.at("notes").at(0), "A note with <tags> & more.");
  EXPECT_EQ(entry.at("tables").at(0).at("rows").at(0).at(1), "5");
}

TEST(ExperimentOutput, LaterRunsKeepEarlierResultsAndReplaceTheirOwn) {
  const TemporaryFolder folder;
  const std::string path = folder.path("r");
  ResultFolder(path).add(experiment_named("limit"), result_named("limit", "from the first"), how);
  ResultFolder(path).add(experiment_named("models"), result_named("models", "from the second"), how);
  const std::string both = folder.read("r/index.html");
  EXPECT_THAT(both, testing::HasSubstr("from the first"));
  EXPECT_THAT(both, testing::HasSubstr("from the second"));
  EXPECT_LT(both.find("id=\"models\""), both.find("id=\"limit\"")) << "in the order of the list";
  ResultFolder(path).add(experiment_named("limit"), result_named("limit", "from the third"), how);
  const std::string third = folder.read("r/index.html");
  EXPECT_THAT(third, testing::Not(testing::HasSubstr("from the first")));
  EXPECT_THAT(third, testing::HasSubstr("from the second"));
  EXPECT_THAT(third, testing::HasSubstr("from the third"));
}

TEST(ExperimentOutput, PageNeedsNothingElseAndItsNamesDoNotMeet) {
  const TemporaryFolder folder;
  ResultFolder results(folder.path("r"));
  for (const char* name : {"models", "limit", "link"})
    results.add(experiment_named(name), result_named(name, "1 < 2 & 3"), how);
  const std::string page = folder.read("r/index.html");
  EXPECT_THAT(page, testing::HasSubstr("1 &lt; 2 &amp; 3"));
  EXPECT_THAT(page, testing::HasSubstr("A note with &lt;tags&gt; &amp; more."));
  for (const char* outside : {"<script", "<link", "<img", "@import", "src=", "<?xml"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  std::set<std::string> ids;
  const std::regex id(R"re( id="([^"]*)")re"), reference(R"re((?:href="#|url\(#)([^")]*)[")])re"),
      away(R"re((?:href="|url\()(?!#))re");
  for (std::sregex_iterator at(page.begin(), page.end(), id), end; at != end; ++at)
    EXPECT_TRUE(ids.insert((*at)[1]).second) << "twice: " << (*at)[1];
  std::size_t references = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), reference), end; at != end; ++at, ++references)
    EXPECT_TRUE(ids.contains((*at)[1])) << "nowhere: " << (*at)[1];
  EXPECT_GT(references, 3u);
  EXPECT_FALSE(std::regex_search(page, away));
}

TEST(ExperimentOutput, WithoutAResultNothingStays) {
  const TemporaryFolder folder;
  { const ResultFolder results(folder.path("a/b/c")); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
  {
    const ResultFolder results(folder.path("a/b/"));
    folder.write("a/theirs.txt", "put there meanwhile");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("a/b")));
  EXPECT_EQ(folder.read("a/theirs.txt"), "put there meanwhile");
  std::filesystem::create_directory(folder.path("empty"));
  { const ResultFolder results(folder.path("empty")); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("empty"))) << "it was there before";
  ResultFolder(folder.path("r")).add(experiment_named("limit"), result_named("limit", "5"), how);
  const std::string before = folder.read("r/manifest.json");
  { const ResultFolder results(folder.path("r")); }
  EXPECT_EQ(folder.read("r/manifest.json"), before);
}

TEST(ExperimentOutput, RelativePathsWithSpacesAndOddLettersAreFolders) {
  const TemporaryFolder folder;
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const char* path : {"with spaces/in it", "./dot/../plain", "ünïcode", "'quoted' & <more>"})
    ResultFolder(path).add(experiment_named("limit"), result_named("limit", "5"), how);
  std::filesystem::current_path(here);
  for (const char* path : {"with spaces/in it", "plain", "ünïcode", "'quoted' & <more>"})
    EXPECT_EQ(folder.read(std::string(path) + "/limit.csv"), "workload,\"batch, samples\"\r\nRNN,5\r\n")
        << path;
}

// Two processes, one folder.
TEST(ExperimentOutput, ResultsAddedMeanwhileStay) {
  const TemporaryFolder folder;
  ResultFolder one(folder.path("r")), other(folder.path("r"));
  one.add(experiment_named("limit"), result_named("limit", "of one"), how);
  other.add(experiment_named("models"), result_named("models", "of the other"), how);
  const std::string page = folder.read("r/index.html");
  EXPECT_THAT(page, testing::HasSubstr("of one"));
  EXPECT_THAT(page, testing::HasSubstr("of the other"));
}

TEST(ExperimentOutput, AFolderThatWasRemovedMeanwhileIsMadeAgain) {
  const TemporaryFolder folder;
  ResultFolder results(folder.path("r"));
  results.add(experiment_named("limit"), result_named("limit", "1"), how);
  std::filesystem::remove_all(folder.path("r"));
  results.add(experiment_named("models"), result_named("models", "2"), how);
  EXPECT_THAT(folder.read("r/index.html"), testing::HasSubstr("models"));
}

TEST(ExperimentOutput, HeadlinesAreOnThePage) {
  const TemporaryFolder folder;
  ExperimentResult result = result_named("limit", "5");
  result.headline = "worst <all>";
  ResultFolder(folder.path("r")).add(experiment_named("limit"), result, how);
  EXPECT_THAT(folder.read("r/index.html"), testing::HasSubstr("<b>worst &lt;all&gt;</b>"));
  EXPECT_EQ(nlohmann::json::parse(folder.read("r/manifest.json"))["experiments"]["limit"]["headline"],
            "worst <all>");
}

// Before hours of work, not after.
TEST(ExperimentOutput, AMissingPictureIsFoundAtTheBeginning) {
  const TemporaryFolder folder;
  ResultFolder(folder.path("r")).add(experiment_named("limit"), result_named("limit", "1"), how);
  std::filesystem::remove(folder.path("r/limit.svg"));
  expect_error([&] { ResultFolder results(folder.path("r")); }, "limit.svg");
}

TEST(ExperimentOutput, FoldersOfOthersAreRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  folder.write("precious.txt", "mine");
  expect_error([&] { ResultFolder results(folder.path()); }, "give another one");
  EXPECT_EQ(folder.file_count(), 1);
  expect_error([&] { ResultFolder results(folder.path("precious.txt")); }, "precious.txt");
  EXPECT_EQ(folder.read("precious.txt"), "mine");
  const std::filesystem::path empty = folder.path("empty");
  std::filesystem::create_directory(empty);
  EXPECT_NO_THROW(ResultFolder{empty.string()});
}

TEST(ExperimentOutput, ManifestsThatAreNotOursAreRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"format": 3})", R"({"format": "swapadvisor.plan", "experiments": {}})",
        R"({"format": "swapadvisor.experiments"})",
        R"({"format": "swapadvisor.experiments", "experiments": []})"}) {
    const TemporaryFolder folder;
    folder.write("manifest.json", text);
    expect_error([&] { ResultFolder results(folder.path()); }, "manifest.json");
    EXPECT_EQ(folder.read("manifest.json"), text);
  }
}

// Somebody edited it, or removed a picture: still one sentence.
TEST(ExperimentOutput, DamagedFoldersAreRefusedWithASentence) {
  for (const char* entry : {R"({})", R"([])", R"({"notes": 1, "tables": [], "figures": []})",
                            R"({"notes": [], "tables": [{}], "figures": []})",
                            R"({"notes": [], "tables": [], "figures": [], "headline": 3})",
                            R"({"notes": [], "tables": [], "figures": [2]})",
                            R"({"notes": [], "tables": [], "figures": ["missing"]})"}) {
    const TemporaryFolder folder;
    folder.write(
        "manifest.json",
        fmt::format(R"({{"format": "swapadvisor.experiments", "experiments": {{"limit": {}}}}})", entry));
    const auto add = [&] {
      ResultFolder(folder.path()).add(experiment_named("models"), result_named("models", "1"), how);
    };
    EXPECT_THROW(add(), Error) << entry;
  }
}

}  // namespace
}  // namespace swapadvisor
