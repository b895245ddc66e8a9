#include <gmock/gmock.h>
#include <golden_file.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <idx_files.h>
#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/text_dataset.h>
#include <swapadvisor/train/tokenizer.h>
#include <swapadvisor/train/trainer.h>
#include <temporary_folder.h>

#include <cmath>
#include <map>
#include <set>

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DatasetOptions causal(std::int64_t length, const std::string& target) {
  DatasetOptions options;
  options.task = Task::language_modelling;
  options.seq_len = length;
  options.inputs = {{.name = "ids", .shape = {length}, .dtype = DType::i32, .below = 256}};
  options.targets = {{.name = target, .shape = {length}, .dtype = DType::i32, .below = 256}};
  return options;
}

std::string bert_vocab() {
  return (std::filesystem::path(SWAPADVISOR_TEST_DATA).parent_path() / "golden/tokenizers/uncased/vocab.txt")
      .string();
}

DatasetOptions masked(std::int64_t length, bool pairs = true) {
  DatasetOptions options;
  options.task = Task::masked_language_modelling;
  options.seq_len = length;
  options.vocab_file = bert_vocab();
  options.inputs = {
      {.name = "input_ids", .shape = {length}, .dtype = DType::i32, .below = 6000},
      {.name = "token_type_ids", .shape = {length}, .dtype = DType::i32, .below = 2},
      {.name = "attention_mask", .shape = {length}, .dtype = DType::i32, .below = 2, .otherwise = 1}};
  options.targets = {{.name = "labels", .shape = {length}, .dtype = DType::i32, .below = 6000}};
  if (pairs)
    options.targets.push_back({.name = "next_sentence_label", .shape = {}, .dtype = DType::i32, .below = 2});
  return options;
}

/// `lines` of eleven bytes: "line 00017\n".
std::string numbered(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += fmt::format("line {:05}\n", i);
  return text;
}

using Ids = std::vector<std::int32_t>;

Ids field(const Dataset& data, std::int64_t index, std::size_t which, const SampleDraw& draw = {}) {
  std::vector<std::vector<std::byte>> bytes;
  for (const Field& f : data.fields()) bytes.emplace_back(static_cast<std::size_t>(f.bytes()));
  std::vector<std::span<std::byte>> out(bytes.begin(), bytes.end());
  data.read(index, draw, out);
  const auto* ids = reinterpret_cast<const std::int32_t*>(bytes[which].data());
  return {ids, ids + bytes[which].size() / sizeof(std::int32_t)};
}

std::string as_text(const Ids& ids) {
  return {ids.begin(), ids.end()};
}

TEST(TextDataset, WindowsOfBytesWithTheBytesThatFollow) {
  const TemporaryFolder folder;
  const std::string text = numbered(200);
  const auto data = open_text(folder.write("t.txt", text), Split::train, causal(30, "next"));
  // 190 lines, less one window to start elsewhere in.
  EXPECT_EQ(data->size(), (190 * 11 - 1) / 30 - 1);
  EXPECT_EQ(data->sizes().vocab, 256);
  std::set<std::size_t> starts;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const SampleDraw draw{1, epoch};
    const std::string first = as_text(field(*data, 0, 0, draw)), second = as_text(field(*data, 1, 0, draw));
    const std::size_t start = text.find(first);
    ASSERT_LT(start, 30u);
    starts.insert(start);
    EXPECT_EQ(text.substr(start + 30, 30), second);
    EXPECT_EQ(as_text(field(*data, 0, 1, draw)), text.substr(start + 1, 30));
    const std::string last = as_text(field(*data, data->size() - 1, 1, draw));
    EXPECT_EQ(last, text.substr(start + static_cast<std::size_t>(data->size() - 1) * 30 + 1, 30));
  }
  EXPECT_GT(starts.size(), 25u);
}

TEST(TextDataset, TheTestSplitIsTheRestAndEveryTokenOfItCounts) {
  const TemporaryFolder folder;
  const std::string text = numbered(400);
  const std::string path = folder.write("t.txt.gz", gzip(text));
  const auto next = open_text(path, Split::test, causal(33, "next"));
  const auto same = open_text(path, Split::test, causal(33, "labels"));
  const std::string held_out = text.substr(380 * 11);
  std::string inputs, targets, labels;
  for (std::int64_t i = 0; i < next->size(); ++i) {
    for (std::int32_t id : field(*next, i, 0)) inputs += static_cast<char>(id);
    for (std::int32_t id : field(*next, i, 1))
      if (id != ignored_label) targets += static_cast<char>(id);
  }
  EXPECT_EQ(targets, held_out.substr(1));
  EXPECT_EQ(inputs.substr(0, held_out.size() - 1), held_out.substr(0, held_out.size() - 1));
  for (std::int64_t i = 0; i < same->size(); ++i) {
    EXPECT_EQ(as_text(field(*same, i, 0)).substr(0, 20), as_text(field(*same, i, 1)).substr(0, 20));
    for (std::int32_t id : field(*same, i, 1))
      if (id != ignored_label) labels += static_cast<char>(id);
  }
  EXPECT_EQ(labels, held_out);
  EXPECT_EQ(next->bytes_per_label(), 1);
}

TEST(TextDataset, WithoutLinesTheSplitIsBetweenCharacters) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 490; ++i) text += "ä€";
  const auto test = open_text(folder.write("t.txt", text), Split::test, causal(10, "labels"));
  EXPECT_EQ(as_text(field(*test, 0, 0)).substr(0, 5), "ä€");
}

/// Logits of every token from a bias alone: it learns how often each byte occurs.
Model unigrams(std::int64_t length) {
  Model model;
  model.info = {.name = "unigrams", .task = Task::language_modelling, .seq_len = length, .vocab = 256};
  const DatasetOptions options = causal(length, "next");
  model.inputs = options.inputs;
  model.targets = options.targets;
  model.predict = [=](const Scope& scope, const ModelTensors& in) {
    const std::int64_t rows = in.at("ids").spec().numel();
    const Tensor zeros = fill(scope.graph(), TensorSpec::dense(scope.dtype(), {rows, 256}), 0);
    const Tensor bias = scope.parameter("bias", {256}, Initializer::zeros());
    return std::vector<ModelPrediction>{{.logits = bias_add(zeros, bias), .target = "next"}};
  };
  return model;
}

TEST(TextDataset, BitsPerByteOfAUnigramModelAreItsCrossEntropy) {
  const TemporaryFolder folder;
  const std::string text = numbered(1000);
  const std::string path = folder.write("t.txt", text);
  const auto train = open_text(path, Split::train, causal(20, "next")),
             test = open_text(path, Split::test, causal(20, "next"));
  Runtime runtime({.device = {.threads = 1}});
  TrainerOptions options;
  options.step.batch_size = options.loader.batch_size = 50;
  options.step.optimizer.name = "adam";
  options.session.profile_repeats = 1;
  options.steps = 300;
  options.learning_rate = [](std::int64_t step) { return step < 200 ? 0.1 : 0.01; };
  options.on_step = [](const StepMetrics& m) { EXPECT_EQ(m.rows, 1000); };
  Trainer trainer(unigrams(20), *train, test.get(), runtime, options);
  const Evaluation before = trainer.evaluate(), after = *trainer.run().test;
  EXPECT_NEAR(*before.bits_per_byte, 8, 1e-5);
  EXPECT_EQ(after.rows, 50 * 11 - 1);
  std::map<char, double> counts;
  for (char c : text.substr(0, 950 * 11)) ++counts[c];
  double bits = 0;
  for (char c : text.substr(950 * 11 + 1)) bits -= std::log2(counts[c] / (950 * 11));
  EXPECT_NEAR(*after.bits_per_byte, bits / (50 * 11 - 1), 0.02);
  EXPECT_NEAR(after.loss / std::log(2.0), *after.bits_per_byte, 1e-9);
  EXPECT_THAT(describe(after), HasSubstr(" bits per byte"));
}

std::string bible() {
  return (std::filesystem::path(SWAPADVISOR_TEST_DATA).parent_path().parent_path() / "data/text/kjv.txt.gz")
      .string();
}

TEST(TextDataset, MasksFifteenPercentInTheStatedShares) {
  const DatasetOptions options = masked(64);
  const auto data = open_text(bible(), Split::test, options);
  const auto tokenizer = open_tokenizer(bert_vocab(), "");
  const std::int32_t mask = tokenizer->find("[MASK]"), first = tokenizer->find("[CLS]"),
                     end = tokenizer->find("[SEP]");
  EXPECT_EQ(data->sizes().vocab, 6000);
  double text = 0, hidden = 0, masks = 0, kept = 0, elsewhere = 0, samples = 0;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(600, data->size()); ++i) {
    const Ids ids = field(*data, i, 0), types = field(*data, i, 1), labels = field(*data, i, 3);
    EXPECT_THAT(field(*data, i, 2), testing::Each(1));
    ASSERT_EQ(ids[0], first);
    ASSERT_EQ(ids[63], end);
    const auto second = static_cast<std::size_t>(std::find(types.begin(), types.end(), 1) - types.begin());
    ASSERT_EQ(ids[second - 1], end);
    EXPECT_THAT(Ids(types.begin() + static_cast<std::ptrdiff_t>(second), types.end()), testing::Each(1));
    int own = 0;
    for (std::size_t t = 0; t < 64; ++t) {
      const bool marks = t == 0 || t == 63 || t == second - 1;
      if (marks)
        EXPECT_EQ(labels[t], ignored_label);
      else
        ++text;
      if (labels[t] == ignored_label) continue;
      ++own;
      masks += ids[t] == mask;
      kept += ids[t] == labels[t];
    }
    EXPECT_GE(own, 1);
    hidden += own;
    elsewhere += field(*data, i, 4)[0];
    ++samples;
  }
  EXPECT_NEAR(hidden / text, 0.15, 0.01);
  EXPECT_NEAR(masks / hidden, 0.8, 0.02);
  EXPECT_NEAR(kept / hidden, 0.1, 0.02);
  EXPECT_NEAR(elsewhere / samples, 0.5, 0.07);
}

/// The tokens of a sample before masking.
Ids whole(const Dataset& data, std::int64_t index, const SampleDraw& draw = {}) {
  Ids ids = field(data, index, 0, draw);
  const Ids labels = field(data, index, 3, draw);
  for (std::size_t t = 0; t < ids.size(); ++t)
    if (labels[t] != ignored_label) ids[t] = labels[t];
  return ids;
}

TEST(TextDataset, PairsFollowEachOtherOrComeFromElsewhere) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.txt", numbered(2000));
  DatasetOptions options = masked(40);
  options.vocab_file = folder.write(
      "v.txt", "[UNK]\n[CLS]\n[SEP]\n[MASK]\nline\n0\n##0\n##1\n##2\n##3\n##4\n##5\n##6\n##7\n##8\n##9\n");
  const auto data = open_text(path, Split::train, options);
  const Ids stream = open_tokenizer(options.vocab_file, "")->encode(numbered(2000));  // six tokens a line
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const Ids ids = whole(*data, i), types = field(*data, i, 1);
    const auto second = std::find(types.begin(), types.end(), 1) - types.begin();
    const Ids a(ids.begin() + 1, ids.begin() + second - 1), b(ids.begin() + second, ids.end() - 1);
    ASSERT_EQ(a.size() + b.size(), 37u);
    EXPECT_EQ(b[0], 4) << "the second one starts with a line";
    Ids both = a;
    both.insert(both.end(), b.begin(), b.end());
    const bool found = std::search(stream.begin(), stream.end(), both.begin(), both.end()) != stream.end();
    const bool follows = field(*data, i, 4)[0] == 0;
    // Whole lines say where both are from; a few digits may be from many places.
    if (follows || (a.size() >= 6 && b.size() >= 6)) {
      EXPECT_EQ(found, follows) << i;
    }
    EXPECT_NE(std::search(stream.begin(), stream.end(), a.begin(), a.end()), stream.end());
    EXPECT_NE(std::search(stream.begin(), stream.end(), b.begin(), b.end()), stream.end());
  }
}

TEST(TextDataset, WithoutPairsASampleIsOneRun) {
  const auto data = open_text(bible(), Split::test, masked(32, false));
  const auto tokenizer = open_tokenizer(bert_vocab(), "");
  for (std::int64_t i = 0; i < 20; ++i) {
    const Ids ids = whole(*data, i);
    EXPECT_EQ(ids.front(), tokenizer->find("[CLS]"));
    EXPECT_EQ(ids.back(), tokenizer->find("[SEP]"));
    EXPECT_THAT(field(*data, i, 1), testing::Each(0));
  }
}

TEST(TextDataset, BytesAreMaskedByATokenBehindThem) {
  const TemporaryFolder folder;
  const std::string text = numbered(400);
  DatasetOptions options = masked(50, false);
  options.vocab_file = "";
  const auto data = open_text(folder.write("t.txt", text), Split::test, options);
  EXPECT_EQ(data->sizes().vocab, 259);
  std::string held_out;
  std::int64_t masks = 0;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const Ids ids = whole(*data, i), shown = field(*data, i, 0);
    EXPECT_EQ(ids.front(), 256);
    EXPECT_EQ(ids.back(), 257);
    held_out += as_text({ids.begin() + 1, ids.end() - 1});
    masks += std::count(shown.begin(), shown.end(), 258);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 258), 0) << "a mask is never to be predicted";
  }
  EXPECT_EQ(held_out, text.substr(380 * 11, held_out.size())) << "with the ends of lines";
  EXPECT_GT(masks, 0);
  // Lines are where second sentences begin, for bytes too.
  options = masked(50);
  options.vocab_file = "";
  const auto pairs = open_text(folder.path("t.txt"), Split::train, options);
  for (std::int64_t i = 0; i < pairs->size(); ++i) {
    const Ids ids = whole(*pairs, i), types = field(*pairs, i, 1);
    const auto second = std::find(types.begin(), types.end(), 1) - types.begin();
    const auto end = std::find(ids.begin() + second, std::min(ids.begin() + second + 4, ids.end()), 257);
    const std::string begins = as_text({ids.begin() + second, end});
    EXPECT_EQ(begins, std::string("line").substr(0, begins.size())) << "the window may cut it";
  }
}

TEST(TextDataset, DrawsDependOnSeedEpochAndSampleOnly) {
  const auto data = open_text(bible(), Split::train, masked(48));
  const auto labels = [&](std::uint64_t seed, std::int64_t epoch, std::int64_t i) {
    return field(*data, i, 3, {seed, epoch});
  };
  EXPECT_EQ(labels(1, 0, 5), labels(1, 0, 5));
  EXPECT_NE(labels(1, 0, 5), labels(2, 0, 5));
  EXPECT_NE(labels(1, 0, 5), labels(1, 1, 5));
  EXPECT_NE(labels(1, 0, 5), labels(1, 0, 6));
  LoaderOptions options;
  options.batch_size = 16;
  const auto batches = [&](int threads) {
    options.threads = threads;
    Loader loader(*data, options, 0, 20);
    std::vector<Batch> all;
    for (Batch batch; loader.next(batch);) all.push_back(batch);
    return all;
  };
  EXPECT_TRUE(batches(1) == batches(3));
}

TEST(TextDataset, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.txt", numbered(20));
  const auto error = [&](const DatasetOptions& options, Split split = Split::train) {
    return message_of<Error>([&] { open_text(path, split, options); });
  };
  EXPECT_EQ(
      error(causal(500, "next")),
      "'" + path + "': the train split has 209 tokens, too few for one sample with a sequence length of 500");
  DatasetOptions options = masked(16);
  options.vocab_file = folder.write("v.txt", "[UNK]\n[CLS]\n[SEP]\nline\n");
  EXPECT_EQ(error(options), "masked language modelling needs a vocabulary with [MASK]: '" +
                                options.vocab_file + "' has no such token");
  options = masked(4);
  EXPECT_THAT(error(options), HasSubstr("a sequence length of 4 has no room"));
  options = causal(8, "next");
  options.inputs.push_back({.name = "weather", .shape = {8}, .dtype = DType::i32, .below = 3});
  EXPECT_THAT(error(options), HasSubstr("the text data have no 'weather'"));
  options = causal(8, "next");
  options.task = Task::sequence_classification;
  EXPECT_THAT(error(options), HasSubstr("plain text has no classes"));
  folder.write("t.txt", "");
  EXPECT_THAT(error(causal(8, "next")), HasSubstr("has 0 tokens"));
  folder.write("t.txt", gzip(numbered(20)).substr(0, 60));
  EXPECT_THAT(error(causal(8, "next")), AllOf(HasSubstr(path), HasSubstr("truncated")));
}

TEST(TextDataset, ModelsOfImagesRefuseIt) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.txt", numbered(20));
  std::vector<const char*> argv{"swapadvisor", "train", "mlp", "--dataset", "text", "--data", path.c_str()};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command_line(static_cast<int>(argv.size()), argv.data()), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the text data are text, which is not what image classification needs"));
  argv = {"swapadvisor", "train", "mlp", "--vocab-file", "v.txt"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command_line(static_cast<int>(argv.size()), argv.data()), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("are for --dataset text, not synthetic"));
}

}  // namespace
}  // namespace swapadvisor
