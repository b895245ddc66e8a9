#include <fmt/format.h>
#include <swapadvisor/train/loss_plot.h>
#include <swapadvisor/train/plot_axis.h>
#include <swapadvisor/train/report_json.h>

#include <cmath>

namespace swapadvisor {
namespace {

constexpr std::size_t most_points = 1024;  // as fine as a screen shows
constexpr double width = 900, left = 70, right = 20, panel = 260, top = 40, gap = 50;
constexpr const char* train_colour = "#2f6fb3";
constexpr const char* test_colour = "#c8542b";

}  // namespace

/// The drawing of one plot, panel below panel.
class LossPlotDrawing {
 public:
  explicit LossPlotDrawing(const LossPlot& plot) : plot_(plot) {
    for (const auto* points : {&plot.train_, &plot.test_})
      for (const auto& p : *points) steps_.include(p.step);
    steps_.settle();
  }

  std::string draw() {
    const double height = top + 2 * panel + 2 * gap;
    body_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:g} {:g}" font-family="sans-serif" font-size="12">)"
        "\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        R"(<text x="{:g}" y="20" font-size="15">{}</text>)"
        "\n",
        width, height, left, report::html_text(plot_.title_));
    legend();
    add_panel(top, "loss", [](const LossPlot::Point& p) { return p.loss; });
    add_panel(top + panel + gap, "accuracy, %", [](const LossPlot::Point& p) { return 100 * p.accuracy; });
    return body_ + "</svg>\n";
  }

 private:
  void legend() {
    double x = width - right - 130;
    for (const auto& [name, colour] : {std::pair("train", train_colour), std::pair("test", test_colour)}) {
      body_ += fmt::format(R"(<rect x="{:g}" y="12" width="18" height="3" fill="{}"/>)", x, colour);
      body_ += fmt::format("<text x=\"{:g}\" y=\"18\">{}</text>\n", x + 24, name);
      x += 70;
    }
  }

  template <class F>
  void add_panel(double y, const char* label, F value) {
    AxisRange range;
    for (const auto* points : {&plot_.train_, &plot_.test_})
      for (const auto& p : *points) range.include(value(p));
    range.settle();
    const auto place_x = [&](double step) { return left + (width - left - right) * steps_.share(step); };
    const auto place_y = [&](double v) { return y + panel * (1 - range.share(v)); };
    body_ += fmt::format("<text x=\"{:g}\" y=\"{:g}\">{}</text>\n", left, y - 6, label);
    for (double v : ticks(range, 5))
      body_ += fmt::format(
          "<path d=\"M{:g} {:.1f}H{:g}\" stroke=\"#e2e2e2\"/><text x=\"{:g}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{:.6g}</text>\n",
          left, place_y(v), width - right, left - 6, place_y(v) + 4, v);
    for (double s : ticks(steps_, 8, 1))
      body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:g}\" text-anchor=\"middle\">{:.10g}</text>\n",
                           place_x(s), y + panel + 16, s);
    body_ += fmt::format("<path d=\"M{:g} {:g}V{:g}H{:g}\" fill=\"none\" stroke=\"#606060\"/>\n", left, y,
                         y + panel, width - right);
    add_line(plot_.train_, train_colour, value, place_x, place_y);
    add_line(plot_.test_, test_colour, value, place_x, place_y);
    for (const auto& p : plot_.test_)
      if (std::isfinite(value(p)))
        body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", place_x(p.step),
                             place_y(value(p)), test_colour);
  }

  template <class F, class X, class Y>
  void add_line(const std::vector<LossPlot::Point>& points, const char* colour, F value, X place_x,
                Y place_y) {
    std::string path;
    for (const auto& p : points)
      if (std::isfinite(value(p)))
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", place_x(p.step), place_y(value(p)));
    if (!path.empty())
      body_ +=
          fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path, colour);
  }

  const LossPlot& plot_;
  AxisRange steps_;
  std::string body_;
};

void LossPlot::train(std::int64_t step, double loss, double accuracy) {
  if (train_.empty() || train_.back().steps == steps_per_point_) {
    if (train_.size() == most_points) {
      for (std::size_t i = 0; i < most_points / 2; ++i) {
        const Point &a = train_[2 * i], &b = train_[2 * i + 1];
        train_[i] = {(a.step + b.step) / 2, (a.loss + b.loss) / 2, (a.accuracy + b.accuracy) / 2,
                     a.steps + b.steps};
      }
      train_.resize(most_points / 2);
      steps_per_point_ *= 2;
    }
    train_.push_back({});
  }
  Point& p = train_.back();
  const auto join = [&](double& mean, double value) {
    mean += (value - mean) / static_cast<double>(p.steps + 1);
  };
  join(p.step, static_cast<double>(step));
  join(p.loss, loss);
  join(p.accuracy, accuracy);
  ++p.steps;
}

void LossPlot::test(std::int64_t step, double loss, double accuracy) {
  test_.push_back({static_cast<double>(step), loss, accuracy, 1});
}

std::string LossPlot::svg() const {
  return LossPlotDrawing(*this).draw();
}

}  // namespace swapadvisor
