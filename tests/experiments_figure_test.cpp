// Figures, looked at as a reader would: the SVG's text and the PNG's pixels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <swapadvisor/experiments/figure.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace swapadvisor {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Pixel = std::array<unsigned char, 3>;

// The first two colours of a figure: blue, vermilion.
constexpr Pixel first_colour{0, 115, 179}, second_colour{214, 94, 0};

struct Picture {
  std::uint32_t width = 0, height = 0;
  std::vector<Pixel> pixels;

  const Pixel& at(std::uint32_t x, std::uint32_t y) const { return pixels[std::size_t{y} * width + x]; }
  static bool near(const Pixel& a, const Pixel& b) {
    for (std::size_t c = 0; c < 3; ++c)
      if (std::abs(a[c] - b[c]) > 2) return false;
    return true;
  }
  std::int64_t count(const Pixel& colour) const {
    return std::count_if(pixels.begin(), pixels.end(), [&](const Pixel& p) { return near(p, colour); });
  }
  /// Rows from the highest to the lowest pixel of a colour above the legend.
  std::pair<std::uint32_t, std::uint32_t> rows(const Pixel& colour, std::uint32_t below) const {
    std::pair<std::uint32_t, std::uint32_t> found{below, 0};
    for (std::uint32_t y = 0; y < below; ++y)
      for (std::uint32_t x = 0; x < width; ++x)
        if (near(at(x, y), colour)) {
          found.first = std::min(found.first, y);
          found.second = y;
        }
    return found;
  }
};

Picture decode(const std::string& bytes) {
  Picture picture;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return picture;
  image.format = PNG_FORMAT_RGB;
  picture.pixels.resize(std::size_t{image.width} * image.height);
  if (png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) == 0) return {};
  picture.width = image.width;
  picture.height = image.height;
  return picture;
}

Figure bars(double first, double second) {
  Chart chart{"", "", "%", false, true, {"only"}, {{"a", {{0, first}}}, {"b", {{0, second}}}}};
  return {"bars", "Bars", {chart}};
}

/// Tags open and close in pairs: what a browser's XML reader would insist on.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  ASSERT_THAT(svg, testing::HasSubstr("<svg"));
  for (std::size_t at = svg.find("<svg"); (at = svg.find('<', at)) != std::string::npos;) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    at = end;
    if (tag.front() == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  EXPECT_THAT(open, testing::IsEmpty());
  for (const char* number : {"\"nan", "\"inf", " nan", " inf", "\"-nan", " -nan"})
    EXPECT_EQ(svg.find(number), std::string::npos) << number;
}

TEST(Figure, PngIsHalfAsLargeAgainAsTheSvg) {
  const Figure figure = bars(50, 100);
  const std::string svg = figure_svg(figure), png = figure_png(figure);
  expect_well_formed(svg);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const Picture picture = decode(png);
  ASSERT_GT(picture.width, 0u);
  double width = 0, height = 0;
  const std::size_t box = svg.find("viewBox=\"0 0 ");
  ASSERT_NE(box, std::string::npos);
  ASSERT_EQ(std::sscanf(svg.c_str() + box, "viewBox=\"0 0 %lf %lf\"", &width, &height), 2);
  EXPECT_NEAR(picture.width, 1.5 * width, 1);
  EXPECT_NEAR(picture.height, 1.5 * height, 1);
}

TEST(Figure, BarsAreAsHighAsTheirValues) {
  const Picture picture = decode(figure_png(bars(25, 100)));
  ASSERT_GT(picture.width, 0u);
  // The legend is at the bottom.
  const std::uint32_t above_legend = picture.height - 60;
  const auto low = picture.rows(first_colour, above_legend), high = picture.rows(second_colour, above_legend);
  EXPECT_NEAR(low.second, high.second, 1) << "both stand on the axis";
  EXPECT_NEAR((high.second - high.first) / double(low.second - low.first), 4, 0.2);
}

TEST(Figure, LinesRiseWithTheirValuesAndBreakAtHoles) {
  Series rising{"a", {{1, 10}, {2, 20}, {4, 40}}};
  const Chart chart{"", "x", "y", true, true, {}, {rising}};
  const Picture whole = decode(figure_png({"f", "", {chart}}));
  Chart holed = chart;
  holed.series[0].points[1].second = nan;
  const Picture broken = decode(figure_png({"f", "", {holed}}));
  ASSERT_GT(whole.width, 0u);
  ASSERT_GT(broken.width, 0u);
  EXPECT_LT(broken.count(first_colour), whole.count(first_colour) / 2)
      << "two points and the legend are left";
  // On a logarithmic axis the middle point is in the middle, where y is half of the highest.
  const auto rows = whole.rows(first_colour, whole.height - 60);
  std::uint32_t left = whole.width, right = 0;
  for (std::uint32_t x = 0; x < whole.width; ++x)
    for (std::uint32_t y = rows.first; y <= rows.second; ++y)
      if (Picture::near(whole.at(x, y), first_colour)) left = std::min(left, x), right = x;
  const std::uint32_t middle = (left + right) / 2, height = rows.second - rows.first;
  bool there = false;
  for (int off = -6; off <= 6; ++off)  // a third of the way up: from 10 through 20 to 40
    there =
        there || Picture::near(whole.at(middle, static_cast<std::uint32_t>(rows.second - height / 3 + off)),
                               first_colour);
  EXPECT_TRUE(there);
}

TEST(Figure, SeriesOfOneNameHaveOneColourInAllCharts) {
  Chart one{"", "", "", false, true, {}, {{"a", {{0, 1}, {1, 1}}}, {"b", {{0, 2}, {1, 2}}}}};
  Chart other = one;
  std::swap(other.series[0], other.series[1]);
  // Three charts each, of the same size: with one that has the series, and with two.
  const Chart empty{"", "", "", false, true, {}, {}};
  const Picture single = decode(figure_png({"f", "", {one, empty, empty}}));
  const Picture both = decode(figure_png({"f", "", {one, other, empty}}));
  for (const Pixel& colour : {first_colour, second_colour})
    EXPECT_GT(both.count(colour), 1.5 * static_cast<double>(single.count(colour)));
}

TEST(Figure, OddNumbersAndNothingAtAll) {
  const double huge = 1e300, inf = std::numeric_limits<double>::infinity();
  const std::vector<Series> sets[] = {{},
                                      {{"no points", {}}},
                                      {{"no values", {{4, nan}, {8, nan}}}},
                                      {{"one", {{3, 7}}}},
                                      {{"flat", {{1, 5}, {2, 5}}}},
                                      {{"zero", {{1, 0}, {2, 0}}}},
                                      {{"negative", {{1, -5}, {2, 5}}}},
                                      {{"infinite", {{1, inf}, {2, 1}}}},
                                      {{"huge", {{1, huge}, {2, 0}}}},
                                      {{"spread", {{1, 5}, {2, 6}}, {{4, 6}, {nan, nan}}}}};
  const std::vector<std::string> none, three{"a", "b", "c"};
  for (const auto& series : sets)
    for (const Chart& chart :
         {Chart{"t", "x", "y", true, false, none, series}, Chart{"t", "x", "y", false, true, none, series},
          Chart{"t", "x", "y", false, true, three, series}}) {
      const Figure figure{"odd", "", {chart}};
      expect_well_formed(figure_svg(figure));
      EXPECT_GT(decode(figure_png(figure)).width, 0u);
    }
  const Figure empty{"empty", "No charts", {}};
  expect_well_formed(figure_svg(empty));
  EXPECT_GT(decode(figure_png(empty)).width, 0u);
}

TEST(Figure, ManyChartsTakeMoreRows) {
  Chart chart{"c", "x", "y", false, true, {}, {{"a", {{0, 1}, {1, 2}}}}};
  const Picture three = decode(figure_png({"f", "", std::vector<Chart>(3, chart)}));
  const Picture seven = decode(figure_png({"f", "", std::vector<Chart>(7, chart)}));
  EXPECT_EQ(three.width, seven.width);
  EXPECT_GT(seven.height, 2 * three.height - 200);
  EXPECT_GT(seven.count(first_colour), 2 * three.count(first_colour) - 400);
}

TEST(Figure, TheSameFigureIsTheSameBytes) {
  EXPECT_EQ(figure_svg(bars(3, 4)), figure_svg(bars(3, 4)));
  EXPECT_EQ(figure_png(bars(3, 4)), figure_png(bars(3, 4)));
  EXPECT_NE(figure_png(bars(3, 4)), figure_png(bars(3, 5)));
}

}  // namespace
}  // namespace swapadvisor
