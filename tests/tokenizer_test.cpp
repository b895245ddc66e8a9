#include <gmock/gmock.h>
#include <golden_file.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/tokenizer.h>
#include <swapadvisor/train/unicode.h>
#include <temporary_folder.h>

namespace swapadvisor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

std::string golden_path(const std::string& name) {
  return (std::filesystem::path(SWAPADVISOR_TEST_DATA).parent_path() / "golden" / "tokenizers" / name)
      .string();
}

std::unique_ptr<Tokenizer> golden_tokenizer(const std::string& name) {
  return name == "bpe" ? open_tokenizer(golden_path("bpe/vocab.json"), "")
                       : open_tokenizer(golden_path(name + "/vocab.txt"), "");
}

class GoldenTokenizer : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

// What Hugging Face's tokenizers make of the same text with the same files.
TEST_P(GoldenTokenizer, EncodesTrickyTextAsHuggingFaceDoes) {
  const auto [name, column] = GetParam();
  const auto tokenizer = golden_tokenizer(name);
  const auto golden = golden_file("tokenizers/encodings.json");
  ASSERT_EQ(golden["columns"][column], name);
  for (const auto& row : golden["rows"]) {
    const std::string text = row[0];
    EXPECT_EQ(tokenizer->encode(text), row[column].get<Ids>()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, GoldenTokenizer,
                         testing::Values(std::pair{"uncased", 1}, std::pair{"cased", 2}, std::pair{"bpe", 3}),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(TokenizerTest, BytesAreTokens) {
  const auto tokenizer = open_tokenizer("", "");
  EXPECT_EQ(tokenizer->vocab(), 256);
  EXPECT_THAT(tokenizer->encode(std::string_view("a\xff\0", 3)), ElementsAre(97, 255, 0));
  EXPECT_EQ(tokenizer->find("a"), 97);
  EXPECT_EQ(tokenizer->find("[MASK]"), -1);
}

// Whatever the bytes, BPE loses none: the spellings of the tokens join to the spelling of the text.
TEST(TokenizerTest, BytePairsKeepEveryByte) {
  const auto tokenizer = golden_tokenizer("bpe");
  const auto vocab = nlohmann::json::parse(read_file(golden_path("bpe/vocab.json"), 1 << 20));
  std::vector<std::string> spellings(static_cast<std::size_t>(tokenizer->vocab()));
  for (const auto& [token, id] : vocab.items()) spellings[id.get<std::size_t>()] = token;
  const RandomStream random{1};
  for (std::uint64_t i = 0; i < 300; ++i) {
    std::string text, expected, joined;
    for (std::uint64_t j = 0; j < 40; ++j) {
      const std::uint32_t kind = random.below(80 * i + 2 * j, 4);
      text += static_cast<char>(kind == 0 ? random.below(80 * i + 2 * j + 1, 256)
                                          : " aehnot'sA1\n"[random.below(80 * i + 2 * j + 1, 12)]);
    }
    for (std::int32_t id : tokenizer->encode(text)) joined += spellings[static_cast<std::size_t>(id)];
    for (char c : text)
      expected += spellings[static_cast<std::size_t>(tokenizer->encode(std::string(1, c))[0])];
    EXPECT_EQ(joined, expected) << i;
  }
}

// A line without a space is one word: joining its pairs must not take quadratic time.
TEST(TokenizerTest, LongWordsAreNoTrouble) {
  const std::string word(300'000, 'e');
  EXPECT_GT(golden_tokenizer("bpe")->encode(word).size(), 1000u);
  EXPECT_EQ(golden_tokenizer("uncased")->encode(word).size(), 1u);  // [UNK]
}

TEST(TokenizerTest, TextThatIsNotUtf8) {
  const auto tokenizer = golden_tokenizer("uncased");
  EXPECT_EQ(tokenizer->encode("th\xff"
                              "e\xc3 \xe2\x82 light"),
            tokenizer->encode("the light"));
}

std::string error_of(const std::string& vocab, const std::string& merges = {}) {
  return message_of<Error>([&] { open_tokenizer(vocab, merges); });
}

TEST(TokenizerTest, NamesWhatIsWrongWithAVocabulary) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of("/nowhere/vocab.txt"), HasSubstr("/nowhere/vocab.txt"));
  const std::string no_unknown = folder.write("a.txt", "the\n##s\n");
  EXPECT_EQ(error_of(no_unknown),
            "'" + no_unknown + "' is not a WordPiece vocabulary: none of its 2 lines is [UNK]");
  EXPECT_THAT(error_of(folder.write("b.txt", "[UNK]\nthe\n\xff\n")),
              HasSubstr("line 3 is not text in UTF-8"));
  EXPECT_THAT(error_of(no_unknown, "merges.txt"), HasSubstr("need a byte-level BPE vocabulary"));
}

TEST(TokenizerTest, LinesOfDosAreFine) {
  const TemporaryFolder folder;
  const auto tokenizer = open_wordpiece(folder.write("v.txt", "[UNK]\r\nthe\r\n##s"));
  EXPECT_EQ(tokenizer->vocab(), 3);
  EXPECT_THAT(tokenizer->encode("thes The a"), ElementsAre(1, 2, 1, 0));
}

TEST(TokenizerTest, NamesWhatIsWrongWithBytePairs) {
  const TemporaryFolder folder;
  const std::string vocab = read_file(golden_path("bpe/vocab.json"), 1 << 20);
  const std::string merges = folder.write("merges.txt", "#version: 0.2\nt h\n");
  const auto with = [&](const std::string& json) { return error_of(folder.write("v.json", json), merges); };
  EXPECT_EQ(with(vocab), "");
  EXPECT_THAT(with("[1]"), HasSubstr("it is a list, expected an object of ids by token"));
  EXPECT_THAT(with("{\"a\":1"), HasSubstr("bad JSON at byte"));
  EXPECT_THAT(with("{\"a\":-1}"), HasSubstr("token 'a' has a number out of range"));
  EXPECT_THAT(with("{\"a\":16777216}"), HasSubstr("token 'a' has a number out of range"));
  EXPECT_THAT(with("{\"a\":1.5}"), HasSubstr("token 'a' has a fraction"));
  EXPECT_THAT(with("{\"a\":{}}"), HasSubstr("token 'a' has an object"));
  EXPECT_THAT(with("{\"a\":1,\"a\":2}"), HasSubstr("token 'a' is there twice"));
  EXPECT_THAT(with("{\"a\":1,\"b\":1}"), HasSubstr("have the same id 1"));
  EXPECT_THAT(with("{}"), HasSubstr("it has no tokens"));
  EXPECT_THAT(with("{\"a\":1}"), HasSubstr("byte 0 ('Ā') is no token"));
  const std::string good = folder.write("good.json", vocab);
  const auto merging = [&](const std::string& lines) { return error_of(good, folder.write("m.txt", lines)); };
  EXPECT_THAT(merging("t h\nth\n"), HasSubstr("line 2 is not a pair of tokens"));
  EXPECT_THAT(merging("t  h\n"), HasSubstr("line 1 is not a pair of tokens"));
  EXPECT_THAT(merging("#version: 0.2\nQ zq\n"),
              HasSubstr("line 2 has token 'zq', which the vocabulary has not"));
  EXPECT_THAT(merging("Q Q\n"), HasSubstr("line 1 has token 'QQ', which the vocabulary has not"));
  EXPECT_EQ(error_of(good), "");  // merges.txt beside it
}

TEST(UnicodeTest, CharactersComeBackAndWhatIsNotUtf8DoesNot) {
  for (char32_t c = 1; c <= 0x10ffff; c += c < 0x3000 ? 1 : 977) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    unicode::append(text, c);
    const unicode::Character character = unicode::character_at(text, 0);
    ASSERT_EQ(character.code, c);
    ASSERT_EQ(character.bytes, text.size());
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xc3("}) {
    const unicode::Character character = unicode::character_at(bad, 0);
    EXPECT_EQ(character.code, unicode::replacement) << bad;
    EXPECT_EQ(character.bytes, 1u);
  }
}

}  // namespace
}  // namespace swapadvisor
