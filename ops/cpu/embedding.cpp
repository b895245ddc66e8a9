// embedding, embedding_grad, shift_labels.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/cpu/workspace.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <algorithm>
#include <limits>

namespace swapadvisor {
namespace {

struct Table {
  std::int64_t places, rows, features, padding_row;
  bool has(std::int32_t id) const { return id >= 0 && id < rows; }
  std::int64_t grain() const { return std::max<std::int64_t>(1, elementwise_grain / features); }
};

template <class T>
void look_up(const Table& t, const std::int32_t* ids, const T* weight, T* y) {
  parallel_for(t.places, t.grain(), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = y + i * t.features;
      if (t.has(ids[i]))
        std::copy_n(weight + ids[i] * t.features, t.features, row);
      else
        std::fill_n(row, t.features, std::numeric_limits<T>::quiet_NaN());
    }
  });
}

/// The places of each id, by counting: those of id v are places[first[v]] … places[first[v + 1] − 1], in
/// order.
void sort_places(const Table& t, const std::int32_t* ids, std::int64_t* first, std::int64_t* places) {
  std::fill_n(first, t.rows + 2, 0);
  std::int64_t* next = first + 1;  // while places are handed out; afterwards next[v] is the end of v
  for (std::int64_t i = 0; i < t.places; ++i)
    if (t.has(ids[i])) ++next[ids[i] + 1];
  for (std::int64_t v = 0; v < t.rows; ++v) next[v + 1] += next[v];
  for (std::int64_t i = 0; i < t.places; ++i)
    if (t.has(ids[i])) places[next[ids[i]]++] = i;
}

constexpr std::int64_t block = 64;  // of features, whose sums stay in the first-level cache

template <class T>
SWAPADVISOR_MULTIVERSION void add_row(const T* dy, double* sums, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) sums[i] += dy[i];
}

template <class T>
void sum_places(const Table& t, const T* dy, const std::int64_t* begin, const std::int64_t* end, T* row) {
  for (std::int64_t from = 0; from < t.features; from += block) {
    const std::int64_t n = std::min(block, t.features - from);
    double sums[block] = {};
    for (const std::int64_t* place = begin; place != end; ++place)
      add_row(dy + *place * t.features + from, sums, n);
    for (std::int64_t i = 0; i < n; ++i) row[from + i] = static_cast<T>(sums[i]);
  }
}

template <class T>
void scatter(const Table& t, const T* dy, const std::int32_t* ids, std::int64_t* first, std::int64_t* places,
             T* dweight) {
  sort_places(t, ids, first, places);
  // Threads own rows, in pieces of equal numbers of rows and places.
  parallel_for(t.rows + t.places, t.grain(), [=](std::int64_t begin, std::int64_t end) {
    const auto piece_start = [=](std::int64_t work) {
      std::int64_t low = 0, high = t.rows;  // the first row v with v + first[v] ≥ work
      while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        if (middle + first[middle] < work)
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    };
    const std::int64_t last = end == t.rows + t.places ? t.rows : piece_start(end);
    for (std::int64_t v = piece_start(begin); v < last; ++v) {
      T* row = dweight + v * t.features;
      if (v == t.padding_row || first[v] == first[v + 1])
        std::fill_n(row, t.features, T(0));
      else
        sum_places(t, dy, places + first[v], places + first[v + 1], row);
    }
  });
}

void shift(const std::int32_t* labels, std::int32_t* shifted, std::int64_t samples, std::int64_t length) {
  for (std::int64_t n = 0; n < samples; ++n) {
    std::copy_n(labels + n * length + 1, length - 1, shifted + n * length);
    shifted[n * length + length - 1] = ignored_label;
  }
}

}  // namespace

void add_embedding_kernels(KernelSet& set) {
  set.add("embedding", [](const KernelRequest& request) {
    const TensorSpec& weight = request.inputs[1];
    const Table t{request.inputs[0].numel(), weight.shape[0], weight.shape[1], no_padding_row};
    return visit_floating(weight.dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        look_up(t, args.in<std::int32_t>(0), args.in<T>(1), args.out<T>(0));
      });
    });
  });
  set.add("embedding_grad", [](const KernelRequest& request) {
    const TensorSpec& dweight = request.outputs[0];
    const Table t{request.inputs[1].numel(), dweight.shape[0], dweight.shape[1],
                  request.as<EmbeddingGradOp>().padding_row()};
    WorkspaceLayout layout;
    const std::int64_t first = layout.add((t.rows + 2) * size_of(DType::i64));
    const std::int64_t places = layout.add(t.places * size_of(DType::i64));
    return visit_floating(dweight.dtype, [=]<class T>() {
      return make_kernel(
          [=](const KernelArgs& args) {
            scatter(t, args.in<T>(0), args.in<std::int32_t>(1),
                    workspace_at<std::int64_t>(args.workspace, first),
                    workspace_at<std::int64_t>(args.workspace, places), args.out<T>(0));
          },
          layout.bytes());
    });
  });
  set.add("shift_labels", [](const KernelRequest& request) {
    const Shape shape = request.inputs[0].shape;
    return make_kernel([=](const KernelArgs& args) {
      shift(args.in<std::int32_t>(0), args.out<std::int32_t>(0), shape[0], shape[1]);
    });
  });
}

}  // namespace swapadvisor
