// `swapadvisor step`: what it reads from its file of inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/safetensors.h>
#include <temporary_folder.h>

namespace swapadvisor {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code = 0;
  std::string out, error;
};

Outcome run(const std::vector<std::string>& words) {
  std::vector<const char*> argv{"swapadvisor"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_command_line(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.error = testing::internal::GetCapturedStderr();
  return outcome;
}

/// Weights of a small network of 6×6 images, and files of inputs for it.
class Step : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome trained = run({"train", "mlp", "--image-size", "6", "--hidden", "5", "--layers", "1",
                                 "--batch-size", "4", "--steps", "1", "--quiet", "--out", weights_});
    ASSERT_EQ(trained.code, 0) << trained.error;
  }

  /// Images of zeros; no labels: no target.
  std::string inputs(const Shape& images, const std::vector<std::int32_t>& labels) const {
    const std::string path = folder_.path("inputs.safetensors");
    std::vector<StoredTensor> tensors{{"input", StoredType::f32, images}};
    if (!labels.empty())
      tensors.push_back({"target", StoredType::i32, {static_cast<std::int64_t>(labels.size())}});
    SafetensorsWriter writer(path, tensors);
    const std::vector<float> pixels(static_cast<std::size_t>(images.numel()));
    for (const StoredTensor& tensor : writer.tensors())
      writer.write(tensor.name, tensor.name == "input" ? std::as_bytes(std::span(pixels))
                                                       : std::as_bytes(std::span(labels)));
    writer.commit();
    return path;
  }

  Outcome step(const std::string& file, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"step",     "mlp", "--hidden",  "5",
                                   "--layers", "1",   "--weights", weights_,
                                   "--inputs", file,  "--out",     folder_.path("out.safetensors"),
                                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  TemporaryFolder folder_;
  std::string weights_ = folder_.path("weights.safetensors");
};

TEST_F(Step, TakesBatchAndImageSizeFromTheFile) {
  const Outcome done = step(inputs({3, 1, 6, 6}, {1, -100, 9}));
  ASSERT_EQ(done.code, 0) << done.error;
  const SafetensorsFile result(folder_.path("out.safetensors"));
  for (const char* name : {"loss", "grad.fc1.weight", "fc2.bias"})
    EXPECT_NE(result.find(name), nullptr) << name;
  EXPECT_EQ(step(inputs({3, 1, 6, 6}, {1, -100, 9}), {"--dtype", "f64"}).code, 0);
}

TEST_F(Step, NamesWhatIsWrongWithTheFile) {
  const auto error = [&](const Shape& images, const std::vector<std::int32_t>& labels,
                         std::vector<std::string> more = {}) {
    const Outcome outcome = step(inputs(images, labels), std::move(more));
    EXPECT_EQ(outcome.code, 1);
    return outcome.error;
  };
  EXPECT_THAT(error({3, 1, 6, 6}, {}),
              HasSubstr("the inputs of mlp are needed, and these are missing: 'target'"));
  EXPECT_THAT(error({3, 36}, {1, 2, 3}),
              HasSubstr("'input' has shape [3, 36], expected 4 dimensions, the samples first"));
  EXPECT_THAT(error({3, 1, 6, 5}, {1, 2, 3}), HasSubstr("'mlp' takes square images"));
  EXPECT_THAT(error({3, 1, 6, 6}, {1, 2}), HasSubstr("'target' has shape [2], expected [3]"));
  EXPECT_THAT(error({3, 1, 6, 6}, {1, 2, 10}),
              HasSubstr("element 2 of 'target' is 10, expected 0 to 9 or -100"));
  EXPECT_THAT(error({3, 1, 6, 6}, {1, 2, 3}, {"--image-size", "7"}),
              HasSubstr("which is not the image size asked for"));
}

}  // namespace
}  // namespace swapadvisor
