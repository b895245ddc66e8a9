// Figures: line charts and bar charts, drawn by cairo as SVG and PNG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace swapadvisor {

/// One line of a chart, or one bar per category.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;    ///< x (of bars: index of the category), y; NaN: no point
  std::vector<std::pair<double, double>> spread{};  ///< per point: lowest and highest y; empty: none
  bool dashed = false;  ///< bounds and what others report, rather than plans of ours
};

/// Axes and what is drawn in them.
struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false;
  bool from_zero = true;                  ///< the y axis starts at 0
  std::vector<std::string> categories{};  ///< not empty: bars, side by side in each category
  std::vector<Series> series;
};

/// One picture: charts in rows, one legend for all; series of the same name have the same colour.
struct Figure {
  std::string name;  ///< stem of the files
  std::string title;
  std::vector<Chart> charts;
};

/// The picture as a file's bytes. Throws `Error` when cairo cannot draw. Thread-safe.
std::string figure_svg(const Figure& figure);
std::string figure_png(const Figure& figure);

}  // namespace swapadvisor
