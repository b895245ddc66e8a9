#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/loss_plot.h>

#include <limits>
#include <regex>

namespace swapadvisor {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

/// Points of the train lines, panel by panel.
std::vector<std::vector<std::pair<double, double>>> train_lines(const std::string& svg) {
  std::vector<std::vector<std::pair<double, double>>> lines;
  const std::regex line(R"re(<path d="([^"]*)" fill="none" stroke="#2f6fb3")re"),
      point(R"([ML]([0-9.]+) ([0-9.]+))");
  for (std::sregex_iterator at(svg.begin(), svg.end(), line), end; at != end; ++at) {
    const std::string path = (*at)[1];
    lines.emplace_back();
    for (std::sregex_iterator p(path.begin(), path.end(), point); p != end; ++p)
      lines.back().emplace_back(std::stod((*p)[1]), std::stod((*p)[2]));
  }
  return lines;
}

TEST(LossPlot, ShowsLossAndAccuracyOfBothSplits) {
  LossPlot plot("resnet20 <on> mnist & co");
  for (int i = 0; i <= 10; ++i) plot.train(i, 2.0 - 0.1 * i, 0.05 * i);
  plot.test(5, 1.8, 0.2);
  plot.test(10, 1.4, 0.4);
  const std::string svg = plot.svg();
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, testing::HasSubstr("resnet20 &lt;on&gt; mnist &amp; co"));
  EXPECT_EQ(count(svg, "<circle"), 4u);
  const auto lines = train_lines(svg);
  ASSERT_EQ(lines.size(), 2u);
  for (const auto& line : lines) ASSERT_EQ(line.size(), 11u);
  for (std::size_t i = 1; i <= 10; ++i) {
    EXPECT_GT(lines[0][i].first, lines[0][i - 1].first);
    EXPECT_GT(lines[0][i].second, lines[0][i - 1].second) << "the loss falls: its line goes down";
    EXPECT_LT(lines[1][i].second, lines[1][i - 1].second) << "the accuracy rises";
  }
  for (const char* outside : {"href", "url(", "<script", "<style"})
    EXPECT_EQ(count(svg, outside), 0u) << outside;
}

TEST(LossPlot, ManyStepsAreAveraged) {
  LossPlot plot("long");
  constexpr int steps = 100'000;
  for (int i = 0; i < steps; ++i) plot.train(i, i % 2 == 0 ? 1 : 3, 0);
  const std::string svg = plot.svg();
  EXPECT_LT(svg.size(), 60'000u);
  const auto lines = train_lines(svg);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_GT(lines[0].size(), 400u);
  EXPECT_NEAR(lines[0].front().first, 70, 2);
  EXPECT_NEAR(lines[0].back().first, 880, 2);
}

TEST(LossPlot, NothingOneStepAndNumbersThatAreNone) {
  LossPlot plot("empty");
  EXPECT_THAT(plot.svg(), testing::HasSubstr("</svg>"));
  plot.train(0, 1, 0.5);
  EXPECT_EQ(train_lines(plot.svg()).at(0).size(), 1u);
  plot.train(1, std::numeric_limits<double>::quiet_NaN(), 0.5);
  plot.test(1, std::numeric_limits<double>::infinity(), 0.5);
  const std::string svg = plot.svg();
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(svg, "inf"), 0u);
  EXPECT_EQ(train_lines(svg).at(0).size(), 1u);
}

}  // namespace
}  // namespace swapadvisor
