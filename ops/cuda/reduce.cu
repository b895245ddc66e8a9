// sum, mean, bias_grad. What the operand's memory has innermost decides: threads along runs that are summed,
// or threads side by side on results, each summing down. Sums are split into parts by the shape alone.
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/cuda/walk.h>
#include <swapadvisor/ops/reduce.h>

#include <algorithm>

namespace swapadvisor::cuda {
namespace {

/// Results side by side, and threads that share one, in a block that sums down.
constexpr int column_width = 32, column_rows = 8;

/// Steps in the operand and in the result.
using Dim = StridedDim<2>;

struct Plan {
  std::vector<Dim> kept, reduced;
  bool runs = false;         ///< the innermost dimension is summed
  std::int64_t results = 1;  ///< numbers of the result
  std::int64_t terms = 1;    ///< of one result
  std::int64_t parts = 1;    ///< that the terms are split into
  double factor = 1;

  std::int64_t partial_bytes(std::int64_t size) const { return parts > 1 ? parts * results * size : 0; }
};

/// Terms [first, last) of a part.
struct Span {
  std::int64_t first, last;
};
__device__ inline Span span_of(std::int64_t terms, std::int64_t part, std::int64_t parts) {
  return {terms * part / parts, terms * (part + 1) / parts};
}

/// Where a part's sum goes: beside the other parts, or scaled to the result.
template <class T>
__device__ inline void store_sum(const Walk<2>& kept, std::int64_t result, std::int64_t part,
                                 std::int64_t parts, std::int64_t results, double factor, Acc<T> sum,
                                 Acc<T>* partial, T* y) {
  if (parts > 1) {
    partial[part * results + result] = sum;
    return;
  }
  std::int64_t at[2] = {};
  kept.locate(result, at);
  y[at[1]] = static_cast<T>(sum * static_cast<Acc<T>>(factor));
}

template <int row_threads, class T>
__global__ void __launch_bounds__(rows_block_threads)
    sum_runs(Walk<2> kept, Walk<2> reduced, std::int64_t results, std::int64_t terms, std::int64_t parts,
             double factor, T* y, Acc<T>* partial, const T* x) {
  const std::int64_t task = row_of_block<row_threads>(), result = task / parts, part = task % parts;
  Acc<T> sum = 0;
  if (result < results) {
    std::int64_t base[2] = {};
    kept.locate(result, base);
    const Span span = span_of(terms, part, parts);
    for (std::int64_t i = span.first + threadIdx.x % row_threads; i < span.last; i += row_threads) {
      std::int64_t at[2] = {base[0], 0};
      reduced.locate(i, at);
      sum += widen(x[at[0]]);
    }
  }
  sum = row_reduce<row_threads>(sum, Plus());
  if (result < results && threadIdx.x % row_threads == 0)
    store_sum(kept, result, part, parts, results, factor, sum, partial, y);
}

template <class T>
__global__ void __launch_bounds__(column_width* column_rows)
    sum_columns(Walk<2> kept, Walk<2> reduced, std::int64_t results, std::int64_t terms, std::int64_t parts,
                double factor, T* y, Acc<T>* partial, const T* x) {
  __shared__ Acc<T> sums[column_rows][column_width];
  const int column = static_cast<int>(threadIdx.x) % column_width,
            row = static_cast<int>(threadIdx.x) / column_width;
  const std::int64_t result = std::int64_t{blockIdx.x} * column_width + column, part = blockIdx.y;
  Acc<T> sum = 0;
  if (result < results) {
    std::int64_t base[2] = {};
    kept.locate(result, base);
    const Span span = span_of(terms, part, parts);
    for (std::int64_t i = span.first + row; i < span.last; i += column_rows) {
      std::int64_t at[2] = {base[0], 0};
      reduced.locate(i, at);
      sum += widen(x[at[0]]);
    }
  }
  sums[row][column] = sum;
  __syncthreads();
  if (row != 0 || result >= results) return;
  for (int r = 1; r < column_rows; ++r) sum += sums[r][column];
  store_sum(kept, result, part, parts, results, factor, sum, partial, y);
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    add_parts(Walk<2> kept, std::int64_t results, std::int64_t parts, double factor, T* y,
              const Acc<T>* partial) {
  for (std::int64_t result = thread_index(); result < results; result += thread_count()) {
    Acc<T> sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partial[part * results + result];
    std::int64_t at[2] = {};
    kept.locate(result, at);
    y[at[1]] = static_cast<T>(sum * static_cast<Acc<T>>(factor));
  }
}

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

Plan make_plan(const TensorSpec& x, const TensorSpec& y, const std::vector<int>& dimensions) {
  auto dims = strided_dims<2>(x.shape, {x.strides, result_strides(x, y, dimensions)});
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return a.strides[0] > b.strides[0]; });
  dims = merged(dims);
  Plan plan;
  for (const Dim& dim : dims) (dim.strides[1] == 0 ? plan.reduced : plan.kept).push_back(dim);
  plan.runs = dims.empty() || dims.back().strides[1] == 0;
  plan.results = count_of(std::span<const Dim>(plan.kept));
  plan.terms = count_of(std::span<const Dim>(plan.reduced));
  // Parts until there are some hundred blocks, each with some work per thread.
  const std::int64_t blocks = plan.runs ? plan.results : (plan.results + column_width - 1) / column_width;
  const std::int64_t least_terms = plan.runs ? 8 * rows_block_threads : 8 * column_rows;
  plan.parts = std::clamp<std::int64_t>(std::min(512 / blocks, plan.terms / least_terms), 1, 512);
  return plan;
}

template <class T>
void run_plan(cudaStream_t stream, const Plan& plan, const T* x, T* y, Acc<T>* partial) {
  const Walk<2> kept(plan.kept), reduced(plan.reduced);
  if (!plan.runs) {
    const dim3 grid(static_cast<unsigned>((plan.results + column_width - 1) / column_width),
                    static_cast<unsigned>(plan.parts));
    launch(sum_columns<T>, grid, column_width * column_rows, 0, stream, kept, reduced, plan.results,
           plan.terms, plan.parts, plan.factor, y, partial, x);
  } else if (plan.terms <= 32 * warp_threads) {
    launch(sum_runs<warp_threads, T>, row_blocks(plan.results * plan.parts, warp_threads), rows_block_threads,
           0, stream, kept, reduced, plan.results, plan.terms, plan.parts, plan.factor, y, partial, x);
  } else {
    launch(sum_runs<rows_block_threads, T>, row_blocks(plan.results * plan.parts, rows_block_threads),
           rows_block_threads, 0, stream, kept, reduced, plan.results, plan.terms, plan.parts, plan.factor, y,
           partial, x);
  }
  if (plan.parts > 1)
    launch(add_parts<T>, element_blocks(plan.results), element_threads, 0, stream, kept, plan.results,
           plan.parts, plan.factor, y, partial);
}

std::unique_ptr<Kernel> plan_kernel(const Plan& plan, DType dtype) {
  return visit_elements(dtype, [&]<class T>() {
    return device_kernel(
        [plan](cudaStream_t stream, const KernelArgs& args) {
          run_plan(stream, plan, args.in<T>(0), args.out<T>(0), static_cast<Acc<T>*>(args.workspace));
        },
        plan.partial_bytes(sizeof(Acc<T>)));
  });
}

std::unique_ptr<Kernel> make_reduce(const KernelRequest& request) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  const auto& op = request.as<ReduceOp>();
  Plan plan = make_plan(x, y, op.dimensions());
  if (op.kind() == ReduceKind::mean)
    plan.factor = static_cast<double>(y.numel()) / static_cast<double>(x.numel());
  return plan_kernel(plan, x.dtype);
}

std::unique_ptr<Kernel> make_bias_grad(const KernelRequest& request) {
  const TensorSpec& dy = request.inputs[0];
  std::vector<int> dimensions{0};
  for (int d = 2; d < dy.rank(); ++d) dimensions.push_back(d);
  return plan_kernel(make_plan(dy, request.outputs[0], dimensions), dy.dtype);
}

}  // namespace

void add_reduce_kernels(KernelSet& set) {
  set.add("sum", make_reduce);
  set.add("mean", make_reduce);
  set.add("bias_grad", make_bias_grad);
}

}  // namespace swapadvisor::cuda
