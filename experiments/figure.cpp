#include <cairo-svg.h>
#include <cairo.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/figure.h>
#include <swapadvisor/train/plot_axis.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>

namespace swapadvisor {
namespace {

constexpr double narrow_panel = 420, wide_panel = 840, panel_height = 300, left = 62, right = 16, top = 34,
                 bottom = 48;
constexpr double title_height = 40, legend_row = 20, legend_column = 200;

struct Colour {
  double red, green, blue;
};

// Told apart by most eyes, on white (after Okabe and Ito), and some more.
constexpr std::array<Colour, 12> colours{{{0.00, 0.45, 0.70},
                                          {0.84, 0.37, 0.00},
                                          {0.00, 0.62, 0.45},
                                          {0.80, 0.47, 0.65},
                                          {0.34, 0.71, 0.91},
                                          {0.90, 0.62, 0.00},
                                          {0.35, 0.35, 0.35},
                                          {0.55, 0.34, 0.29},
                                          {0.58, 0.40, 0.74},
                                          {0.74, 0.74, 0.13},
                                          {0.09, 0.75, 0.81},
                                          {0.65, 0.12, 0.22}}};

enum class Align : std::uint8_t { start, middle, end };

class Drawing {
 public:
  Drawing(cairo_t* cairo, const Figure& figure) : cairo_(cairo), figure_(figure) {
    for (const Chart& chart : figure.charts)
      for (const Series& series : chart.series)
        if (std::find(names_.begin(), names_.end(), series.name) == names_.end()) {
          names_.push_back(series.name);
          dashed_.push_back(series.dashed);
        }
  }

  static int columns(const Figure& figure) {
    return std::clamp(static_cast<int>(figure.charts.size()), 1, 3);
  }
  /// A chart alone has the room of two.
  static double panel_width(const Figure& figure) { return columns(figure) == 1 ? wide_panel : narrow_panel; }
  static double width(const Figure& figure) { return columns(figure) * panel_width(figure); }
  static double height(const Figure& figure) {
    const auto rows = (static_cast<int>(figure.charts.size()) + columns(figure) - 1) / columns(figure);
    return title_height + rows * panel_height + legend_height(figure);
  }

  void draw() {
    cairo_select_font_face(cairo_, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_source_rgb(cairo_, 1, 1, 1);
    cairo_paint(cairo_);
    text(width(figure_) / 2, 26, figure_.title, 16, Align::middle);
    const int across = columns(figure_);
    for (std::size_t i = 0; i < figure_.charts.size(); ++i)
      chart(figure_.charts[i], static_cast<double>(static_cast<int>(i) % across) * panel_width(figure_),
            title_height + static_cast<double>(static_cast<int>(i) / across) * panel_height);
    legend();
  }

 private:
  static double legend_height(const Figure& figure) {
    std::vector<std::string> names;
    for (const Chart& chart : figure.charts)
      for (const Series& series : chart.series)
        if (std::find(names.begin(), names.end(), series.name) == names.end()) names.push_back(series.name);
    const auto per_row = static_cast<std::size_t>(width(figure) / legend_column);
    return 16 + legend_row * static_cast<double>((names.size() + per_row - 1) / per_row);
  }

  std::size_t index_of(const std::string& name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

  void use(const std::string& name) {
    const Colour c = colours[index_of(name) % colours.size()];
    cairo_set_source_rgb(cairo_, c.red, c.green, c.blue);
  }

  void text(double x, double y, const std::string& words, double size, Align align, bool upright = false) {
    cairo_set_source_rgb(cairo_, 0.13, 0.13, 0.13);
    cairo_set_font_size(cairo_, size);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, words.c_str(), &extents);
    const double shift = align == Align::start    ? 0
                         : align == Align::middle ? extents.x_advance / 2
                                                  : extents.x_advance;
    cairo_save(cairo_);
    cairo_translate(cairo_, x, y);
    if (upright) cairo_rotate(cairo_, -std::acos(-1.0) / 2);
    cairo_move_to(cairo_, -shift, 0);
    cairo_show_text(cairo_, words.c_str());
    cairo_restore(cairo_);
  }

  void line(double x0, double y0, double x1, double y1, double grey, double thickness) {
    cairo_set_source_rgb(cairo_, grey, grey, grey);
    cairo_set_line_width(cairo_, thickness);
    cairo_move_to(cairo_, x0, y0);
    cairo_line_to(cairo_, x1, y1);
    cairo_stroke(cairo_);
  }

  void chart(const Chart& chart, double x, double y) {
    AxisRange xs, ys;
    if (chart.from_zero) ys.include(0);
    for (const Series& series : chart.series)
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        if (!std::isfinite(series.points[i].second)) continue;
        xs.include(chart.log_x ? std::log2(series.points[i].first) : series.points[i].first);
        ys.include(series.points[i].second);
        if (!series.spread.empty()) ys.include(series.spread[i].first), ys.include(series.spread[i].second);
      }
    if (!chart.categories.empty()) xs = {-0.5, static_cast<double>(chart.categories.size()) - 0.5};
    xs.settle();
    ys.settle();
    ys.high += 0.05 * (ys.high - ys.low);
    const double x0 = x + left, x1 = x + panel_width(figure_) - right, y0 = y + panel_height - bottom,
                 y1 = y + top;
    to_x_ = [=](double value) { return x0 + xs.share(value) * (x1 - x0); };
    to_y_ = [=](double value) { return y0 - ys.share(value) * (y0 - y1); };
    text((x0 + x1) / 2, y + 22, chart.title, 13, Align::middle);
    text((x0 + x1) / 2, y + panel_height - 10, chart.x_label, 11, Align::middle);
    text(x + 14, (y0 + y1) / 2, chart.y_label, 11, Align::middle, true);
    y_axis(ys, x0, x1);
    x_axis(chart, xs, y0);
    cairo_save(cairo_);
    cairo_rectangle(cairo_, x0 - 6, y1 - 6, x1 - x0 + 12, y0 - y1 + 7);
    cairo_clip(cairo_);
    for (const Series& series : chart.series)
      chart.categories.empty() ? lines(chart, series) : bars(chart, series, y0);
    cairo_restore(cairo_);
    line(x0, y0, x1, y0, 0.3, 1);
    line(x0, y0, x0, y1, 0.3, 1);
  }

  void y_axis(const AxisRange& ys, double x0, double x1) {
    for (double value : ticks(ys, 5)) {
      line(x0, to_y_(value), x1, to_y_(value), 0.88, 1);
      text(x0 - 6, to_y_(value) + 4, fmt::format("{:g}", value), 11, Align::end);
    }
  }

  void x_axis(const Chart& chart, const AxisRange& xs, double y0) {
    if (!chart.categories.empty()) {
      for (std::size_t i = 0; i < chart.categories.size(); ++i)
        text(to_x_(static_cast<double>(i)), y0 + 16, chart.categories[i], 10, Align::middle);
      return;
    }
    if (chart.log_x) {
      // The values themselves: they are few, and powers would hide them.
      std::vector<double> values;
      for (const Series& series : chart.series)
        for (const auto& point : series.points) values.push_back(point.first);
      std::sort(values.begin(), values.end());
      double last = -1e9;
      for (double value : values) {
        const double at = to_x_(std::log2(value));
        if (at - last < 34) continue;
        text(at, y0 + 16, fmt::format("{:.4g}", value), 11, Align::middle);
        last = at;
      }
      return;
    }
    for (double value : ticks(xs, 6))
      text(to_x_(value), y0 + 16, fmt::format("{:g}", value), 11, Align::middle);
  }

  void lines(const Chart& chart, const Series& series) {
    use(series.name);
    cairo_set_line_width(cairo_, series.dashed ? 1.3 : 1.8);
    constexpr std::array<double, 2> dashes{6, 4};
    cairo_set_dash(cairo_, dashes.data(), series.dashed ? 2 : 0, 0);
    const auto at = [&](const std::pair<double, double>& point) {
      return std::pair(to_x_(chart.log_x ? std::log2(point.first) : point.first), to_y_(point.second));
    };
    bool begun = false;
    for (const auto& point : series.points) {
      if (!std::isfinite(point.second)) {
        begun = false;
        continue;
      }
      const auto [x, y] = at(point);
      begun ? cairo_line_to(cairo_, x, y) : cairo_move_to(cairo_, x, y);
      begun = true;
    }
    cairo_stroke(cairo_);
    cairo_set_dash(cairo_, nullptr, 0, 0);
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (!std::isfinite(series.points[i].second)) continue;
      const auto [x, y] = at(series.points[i]);
      if (!series.spread.empty()) {
        cairo_set_line_width(cairo_, 1);
        cairo_move_to(cairo_, x, to_y_(series.spread[i].first));
        cairo_line_to(cairo_, x, to_y_(series.spread[i].second));
        cairo_stroke(cairo_);
      }
      if (series.dashed) continue;
      cairo_arc(cairo_, x, y, 2.6, 0, 7);
      cairo_fill(cairo_);
    }
  }

  void bars(const Chart& chart, const Series& series, double y0) {
    const auto count = static_cast<double>(chart.series.size());
    const double room = to_x_(1) - to_x_(0), wide = 0.8 * room / count;
    const auto own = static_cast<double>(&series - chart.series.data());
    use(series.name);
    for (const auto& point : series.points) {
      if (!std::isfinite(point.second)) continue;
      const double x = to_x_(point.first) - 0.4 * room + own * wide;
      cairo_rectangle(cairo_, x, to_y_(point.second), std::max(1.0, wide - 1), y0 - to_y_(point.second));
      cairo_fill(cairo_);
    }
  }

  void legend() {
    const double first = height(figure_) - legend_height(figure_) + 16;
    const auto per_row = static_cast<std::size_t>(width(figure_) / legend_column);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const double x = 24 + legend_column * static_cast<double>(i % per_row);
      const double y = first + legend_row * static_cast<double>(i / per_row);
      use(names_[i]);
      cairo_set_line_width(cairo_, 3);
      constexpr std::array<double, 2> dashes{5, 3};
      cairo_set_dash(cairo_, dashes.data(), dashed_[i] ? 2 : 0, 0);
      cairo_move_to(cairo_, x, y - 4);
      cairo_line_to(cairo_, x + 22, y - 4);
      cairo_stroke(cairo_);
      cairo_set_dash(cairo_, nullptr, 0, 0);
      text(x + 28, y, names_[i], 11, Align::start);
    }
  }

  cairo_t* cairo_;
  const Figure& figure_;
  std::vector<std::string> names_;
  std::vector<bool> dashed_;
  std::function<double(double)> to_x_, to_y_;
};

cairo_status_t append(void* closure, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;

void draw_on(cairo_surface_t* surface, const Figure& figure, double scale) {
  const std::unique_ptr<cairo_t, void (*)(cairo_t*)> cairo(cairo_create(surface), cairo_destroy);
  cairo_scale(cairo.get(), scale, scale);
  Drawing(cairo.get(), figure).draw();
  if (const cairo_status_t status = cairo_status(cairo.get()); status != CAIRO_STATUS_SUCCESS)
    fail("figure '{}' cannot be drawn: {}", figure.name, cairo_status_to_string(status));
}

}  // namespace

std::string figure_svg(const Figure& figure) {
  std::string bytes;
  const Surface surface(
      cairo_svg_surface_create_for_stream(append, &bytes, Drawing::width(figure), Drawing::height(figure)),
      cairo_surface_destroy);
  draw_on(surface.get(), figure, 1);
  cairo_surface_finish(surface.get());
  // cairo counts the surfaces of the process there; the same figure is the same file.
  const std::string counted = " id=\"surface";
  if (const std::size_t at = bytes.find(counted); at != std::string::npos)
    bytes.erase(at, bytes.find('"', at + counted.size()) + 1 - at);
  return bytes;
}

std::string figure_png(const Figure& figure) {
  constexpr double scale = 1.5;
  std::string bytes;
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(scale * Drawing::width(figure)),
                                 static_cast<int>(scale * Drawing::height(figure))),
      cairo_surface_destroy);
  draw_on(surface.get(), figure, scale);
  if (cairo_surface_write_to_png_stream(surface.get(), append, &bytes) != CAIRO_STATUS_SUCCESS)
    fail("figure '{}' cannot be written as PNG", figure.name);
  return bytes;
}

}  // namespace swapadvisor
