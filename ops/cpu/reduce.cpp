// sum and mean. What the operand's memory has innermost decides: sums along contiguous runs, or rows added to
// rows. Sums are split into parts by the shape alone, so that their bits do not depend on threads.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/strided.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/cpu/workspace.h>
#include <swapadvisor/ops/reduce.h>

#include <algorithm>

namespace swapadvisor {
namespace {

/// Columns that are summed together, and elements of a run summed at a time.
constexpr std::int64_t column_tile = 256, run_length = 4096;

/// Steps in the operand and in the result.
using Dim = StridedDim<2>;

/// The sums as tasks: for each index of `kept` (and tile of the inner dimension, if it is kept), in `parts`
/// parts, all rows: each index of `reduced` (and piece of the inner dimension, if it is reduced).
struct Plan {
  std::vector<Dim> kept, reduced;
  Dim inner{1, {1, 0}};
  bool inner_kept = false;
  std::int64_t pieces = 1;   ///< of the inner dimension: tiles, or runs
  std::int64_t outputs = 1;  ///< indexes of kept, times tiles
  std::int64_t rows = 1;     ///< indexes of reduced, times runs
  std::int64_t parts = 1;
  double factor = 1;

  std::int64_t piece_length() const { return inner_kept ? column_tile : run_length; }
  std::int64_t width() const { return inner_kept ? std::min(column_tile, inner.extent) : 1; }
  std::int64_t partial_bytes() const {
    return parts > 1 ? outputs * parts * width() * static_cast<std::int64_t>(sizeof(double)) : 0;
  }
};

/// Steps of the result along the operand's dimensions, 0 where they are reduced.
Shape result_strides(const TensorSpec& x, const TensorSpec& y, const std::vector<int>& dimensions) {
  Shape strides = x.shape;
  int at = 0;
  const bool keep = x.rank() == y.rank();
  for (int d = 0; d < x.rank(); ++d) {
    const bool reduced = std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
    strides[d] = reduced ? 0 : y.strides[keep ? d : at];
    if (!reduced) ++at;
  }
  return strides;
}

Plan make_plan(const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  const auto& op = request.as<ReduceOp>();
  auto dims = strided_dims<2>(x.shape, {x.strides, result_strides(x, y, op.dimensions())});
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return a.strides[0] > b.strides[0]; });
  dims = merged(dims);
  Plan plan;
  if (!dims.empty()) {
    plan.inner = dims.back();
    dims.pop_back();
  }
  for (const Dim& dim : dims) (dim.strides[1] == 0 ? plan.reduced : plan.kept).push_back(dim);
  plan.inner_kept = plan.inner.strides[1] != 0;
  plan.pieces = (plan.inner.extent + plan.piece_length() - 1) / plan.piece_length();
  plan.outputs = count_of(std::span<const Dim>(plan.kept)) * (plan.inner_kept ? plan.pieces : 1);
  plan.rows = count_of(std::span<const Dim>(plan.reduced)) * (plan.inner_kept ? 1 : plan.pieces);
  // A part is worth a thread; many results are tasks enough.
  const std::int64_t row_work = std::min(plan.inner.extent, plan.piece_length());
  if (plan.outputs < 32)
    plan.parts = std::clamp<std::int64_t>(plan.rows * row_work / elementwise_grain, 1, 32);
  plan.parts = std::min(plan.parts, plan.rows);
  if (op.kind() == ReduceKind::mean)
    plan.factor = static_cast<double>(y.numel()) / static_cast<double>(x.numel());
  return plan;
}

template <class T>
SWAPADVISOR_MULTIVERSION double sum_run(const T* x, std::int64_t n) {
  double lanes[reduction_lanes] = {};
  std::int64_t i = 0;
  for (; i + reduction_lanes <= n; i += reduction_lanes)
    for (int k = 0; k < reduction_lanes; ++k) lanes[k] += static_cast<double>(x[i + k]);
  for (int k = 0; i < n; ++i, ++k) lanes[k] += static_cast<double>(x[i]);
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

template <class T>
SWAPADVISOR_MULTIVERSION void add_row(const T* x, double* sums, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(x[i]);
}

/// Rows [first, last) of the result with index `output`, into width() sums.
template <class T>
void sum_rows(const Plan& plan, const T* x, std::int64_t output, std::int64_t first, std::int64_t last,
              double* sums) {
  const std::int64_t step = plan.inner.strides[0], length = plan.piece_length();
  const std::int64_t tile = plan.inner_kept ? output % plan.pieces : 0;
  const StridedCursor<2> start(plan.kept, plan.inner_kept ? output / plan.pieces : output);
  const std::int64_t runs = plan.inner_kept ? 1 : plan.pieces;
  StridedCursor<2> row(plan.reduced, first / runs);
  std::fill_n(sums, plan.width(), 0.0);
  for (std::int64_t i = first, run = first % runs; i < last; ++i) {
    const std::int64_t begin = (plan.inner_kept ? tile : run) * length;
    const std::int64_t n = std::min(length, plan.inner.extent - begin);
    const T* from = x + start[0] + row[0] + begin * step;
    if (step != 1) {
      for (std::int64_t k = 0; k < n; ++k)
        sums[plan.inner_kept ? k : 0] += static_cast<double>(from[k * step]);
    } else if (plan.inner_kept) {
      add_row(from, sums, n);
    } else {
      *sums += sum_run(from, n);
    }
    if (++run < runs) continue;
    run = 0;
    row.next();
  }
}

template <class T>
void store(const Plan& plan, std::int64_t output, const double* sums, T* y) {
  const std::int64_t tile = plan.inner_kept ? output % plan.pieces : 0, step = plan.inner.strides[1];
  const StridedCursor<2> start(plan.kept, plan.inner_kept ? output / plan.pieces : output);
  const std::int64_t first = tile * column_tile;
  const std::int64_t n = plan.inner_kept ? std::min(column_tile, plan.inner.extent - first) : 1;
  for (std::int64_t k = 0; k < n; ++k)
    y[start[1] + (first + k) * step] = static_cast<T>(sums[k] * plan.factor);
}

template <class T>
void reduce(const Plan& plan, const T* x, T* y, double* partial) {
  const std::int64_t work = plan.rows / plan.parts * std::min(plan.inner.extent, plan.piece_length());
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(1, work));
  if (plan.parts == 1) {
    parallel_for(plan.outputs, grain, [&](std::int64_t begin, std::int64_t end) {
      double sums[column_tile];
      for (std::int64_t o = begin; o < end; ++o) {
        sum_rows(plan, x, o, 0, plan.rows, sums);
        store(plan, o, sums, y);
      }
    });
    return;
  }
  const std::int64_t width = plan.width();
  parallel_for(plan.outputs * plan.parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t part = i % plan.parts;
      sum_rows(plan, x, i / plan.parts, plan.rows * part / plan.parts, plan.rows * (part + 1) / plan.parts,
               partial + i * width);
    }
  });
  for (std::int64_t o = 0; o < plan.outputs; ++o) {
    double* sums = partial + o * plan.parts * width;
    for (std::int64_t part = 1; part < plan.parts; ++part)
      for (std::int64_t k = 0; k < width; ++k) sums[k] += sums[part * width + k];
    store(plan, o, sums, y);
  }
}

std::unique_ptr<Kernel> make_reduce(const KernelRequest& request) {
  Plan plan = make_plan(request);
  const std::int64_t bytes = plan.partial_bytes();
  return visit_floating(request.inputs[0].dtype, [&]<class T>() {
    return make_kernel(
        [fixed = std::move(plan)](const KernelArgs& args) {
          reduce(fixed, args.in<T>(0), args.out<T>(0), static_cast<double*>(args.workspace));
        },
        bytes);
  });
}

}  // namespace

void add_reduce_kernels(KernelSet& set) {
  set.add("sum", make_reduce);
  set.add("mean", make_reduce);
}

}  // namespace swapadvisor
