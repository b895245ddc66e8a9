#include <swapadvisor/models/model_entry.h>
#include <swapadvisor/models/registry.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace swapadvisor {
namespace {

std::vector<ModelEntry> entries() {
  std::vector<ModelEntry> all;
  for (auto family : {mlp_entries, resnet_entries, vision_entries, rnn_entries, bert_entries, gpt2_entries})
    for (ModelEntry& entry : family()) all.push_back(std::move(entry));
  return all;
}

/// Levenshtein distance.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i) + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<ModelInfo> all = model_list();
  // Distances are quadratic in the lengths; of a very long name the start says enough.
  const std::string_view start = name.substr(0, 100);
  std::stable_sort(all.begin(), all.end(), [&](const ModelInfo& a, const ModelInfo& b) {
    return edit_distance(start, a.name) < edit_distance(start, b.name);
  });
  std::string names;
  for (const ModelInfo& info : all) names += (names.empty() ? "" : ", ") + info.name;
  fail("there is no model '{}': the models are {}", name, names);
}

using Option = std::optional<std::int64_t>;

void expect_range(std::string_view model, std::string_view option, const Option& value, std::int64_t least,
                  std::int64_t most) {
  if (value && (*value < least || *value > most))
    fail("the {} of {} must be from {} to {}, got {}", option, model, least, most, *value);
}

/// Options that the task decides on, and those of `info.options`.
void expect_taken(const ModelInfo& info, const ModelOptions& options) {
  const bool images = info.takes_images();
  const bool classifies = images || info.task == Task::sequence_classification;
  const auto listed = [&](std::string_view option) {
    return std::find(info.options.begin(), info.options.end(), option) != info.options.end();
  };
  const std::tuple<std::string_view, bool, bool> all[] = {
      {"image-size", options.image_size.has_value(), images},
      {"channels", options.channels.has_value(), images},
      {"classes", options.classes.has_value(), classifies},
      {"seq-len", options.seq_len.has_value(), !images},
      {"vocab", options.vocab.has_value(), !images},
      {"width", options.width.has_value(), listed("width")},
      {"hidden", options.hidden.has_value(), listed("hidden")},
      {"layers", options.layers.has_value(), listed("layers")},
      {"dropout", options.dropout.has_value(), listed("dropout")},
      {"depth", options.depth.has_value(), listed("depth")},
      {"heads", options.heads.has_value(), listed("heads")},
      {"cells", options.cells.has_value(), listed("cells")},
      {"cell", options.cell.has_value(), listed("cell")},
      {"drop-path", options.drop_path.has_value(), listed("drop-path")},
      {"drop-path-steps", options.drop_path_steps.has_value(), listed("drop-path-steps")},
      {"auxiliary-weight", options.auxiliary_weight.has_value(), listed("auxiliary-weight")}};
  for (const auto& [option, given, taken] : all)
    if (given && !taken) fail("{} takes no option '{}'", info.name, option);
}

/// Upper ends are beyond any use and keep products of dimensions far from overflow.
void check_options(const ModelInfo& info, const ModelOptions& options) {
  expect_taken(info, options);
  expect_range(info.name, "image size", options.image_size, 1, 1 << 16);
  expect_range(info.name, "number of image channels", options.channels, 1, 1 << 16);
  expect_range(info.name, "number of classes", options.classes, 1, 1 << 24);
  expect_range(info.name, "width", options.width, 1, 1 << 16);
  expect_range(info.name, "hidden size", options.hidden, 1, 1 << 24);
  expect_range(info.name, "number of hidden layers", options.layers, 0, 10000);
  expect_range(info.name, "depth", options.depth, 1, 10000);
  expect_range(info.name, "sequence length", options.seq_len, 1, 1 << 20);
  expect_range(info.name, "vocabulary size", options.vocab, 1, 1 << 24);
  expect_range(info.name, "number of attention heads", options.heads, 1, 1 << 16);
  expect_range(info.name, "number of cells", options.cells, 1, 10000);
  expect_range(info.name, "number of steps of drop path", options.drop_path_steps, 0, std::int64_t{1} << 40);
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1))
    fail("the dropout of {} must be at least 0 and below 1, got {}", info.name, *options.dropout);
  if (options.drop_path && !(*options.drop_path >= 0 && *options.drop_path < 1))
    fail("the drop-path probability of {} must be at least 0 and below 1, got {}", info.name,
         *options.drop_path);
  if (options.auxiliary_weight && !(*options.auxiliary_weight >= 0 && *options.auxiliary_weight <= 1e6))
    fail("the auxiliary weight of {} must be from 0 to 1e6, got {}", info.name, *options.auxiliary_weight);
}

}  // namespace

std::vector<ModelInfo> model_list() {
  std::vector<ModelInfo> infos;
  for (ModelEntry& entry : entries()) infos.push_back(std::move(entry.info));
  return infos;
}

Model find_model(std::string_view name, const ModelOptions& options) {
  std::vector<ModelEntry> all = entries();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ModelEntry& e) { return e.info.name == name; });
  if (found == all.end()) fail_unknown(name);
  ModelInfo& info = found->info;
  check_options(info, options);
  info.channels = options.channels.value_or(info.channels);
  info.image_size = options.image_size.value_or(info.image_size);
  info.classes = options.classes.value_or(info.classes);
  info.seq_len = options.seq_len.value_or(info.seq_len);
  info.vocab = options.vocab.value_or(info.vocab);
  return found->make(info, options);
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Buffer& buffer : graph.buffers())
    if (buffer.kind == BufferKind::parameter) count += buffer.spec.numel();
  return count;
}

}  // namespace swapadvisor
