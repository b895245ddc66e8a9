#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/conv2d_gemm.h>
#include <swapadvisor/ops/cpu/im2col.h>
#include <swapadvisor/ops/cpu/workspace.h>

#include <algorithm>

namespace swapadvisor {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Runs task(i, slot) for i in [0, tasks) on `slots` slots, in order within a slot.
template <class F>
void run_tasks(std::int64_t tasks, std::int64_t slots, F&& task) {
  parallel_for(slots, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t slot = first; slot < last; ++slot)
      for (std::int64_t i = tasks * slot / slots; i < tasks * (slot + 1) / slots; ++i) task(i, slot);
  });
}

/// What the three kernels share: geometry, operands as matrices, chunks of rows.
template <class T>
class Conv2dGemm : public Kernel {
 public:
  Conv2dGemm(const TensorSpec& x, const TensorSpec& weight, const TensorSpec& y, const Conv2dOptions& options,
             int threads, Gemm<T> gemm)
      : g_(conv2d_geometry(x, weight, options)),
        channels_last_(x.is_channels_last() && y.is_channels_last()),
        pointwise_(g_.pointwise()),
        threads_(std::max(1, threads)),
        gemm_(gemm),
        patches_(g_, channels_last_) {}

  std::int64_t workspace_bytes() const override { return layout_.bytes(); }

 protected:
  /// Rows (of n · OH + oh) per chunk for products with `columns` columns of P: enough of them to keep the
  /// product fast, few enough for the cache, evenly divided. A chunk of a row-major image does not leave it.
  void plan_chunks(std::int64_t columns, std::int64_t multiple) {
    const std::int64_t positions = std::clamp<std::int64_t>((std::int64_t{1} << 17) / columns, 256, 4096);
    const std::int64_t wanted = std::max<std::int64_t>(1, positions / g_.out_width);
    const std::int64_t rows = channels_last_ ? g_.batch * g_.out_height : g_.out_height;
    const std::int64_t chunks = ceil_divide(ceil_divide(rows, wanted), multiple) * multiple;
    chunk_rows_ = ceil_divide(rows, std::min(chunks, rows));
    chunks_per_part_ = ceil_divide(rows, chunk_rows_);
    chunks_ = channels_last_ ? chunks_per_part_ : chunks_per_part_ * g_.batch;
  }
  Range chunk(std::int64_t i) const {
    const std::int64_t rows = channels_last_ ? g_.batch * g_.out_height : g_.out_height;
    const std::int64_t part = i / chunks_per_part_, begin = i % chunks_per_part_ * chunk_rows_;
    return {part * rows + begin, part * rows + std::min(rows, begin + chunk_rows_)};
  }

  /// The channels of one group over some rows of an image tensor with the height and width of y.
  template <class U>
  MatrixView<U> positions(U* data, std::int64_t channels, std::int64_t group, Range rows) const {
    const std::int64_t group_channels = channels / g_.options.groups, width = g_.out_width;
    const std::int64_t count = rows.size() * width, first = group * group_channels;
    if (channels_last_)
      return {data + rows.begin * width * channels + first, count, group_channels, channels};
    const std::int64_t n = rows.begin / g_.out_height, oh = rows.begin % g_.out_height,
                       plane = g_.out_height * width;
    return {data + (n * channels + first) * plane + oh * width, count, group_channels, plane, true};
  }

  /// [rows · OW, columns] of P: x itself where the convolution is pointwise, else gathered into `buffer`.
  MatrixView<const T> patches(const T* x, std::int64_t group, Range rows, Range columns, T* buffer) const {
    if (pointwise_) return positions(x, g_.in_channels, group, rows).col_range(columns.begin, columns.end);
    patches_.gather(x, group, rows, columns, buffer);
    return {buffer, rows.size() * g_.out_width, columns.size(), columns.size()};
  }

  /// One slot's patches.
  std::int64_t add_slots(std::int64_t slots, std::int64_t columns) {
    slot_elements_ = ceil_divide(chunk_rows_ * g_.out_width * columns, 16) * 16;
    return pointwise_ ? 0 : layout_.add(slots * slot_elements_ * static_cast<std::int64_t>(sizeof(T)));
  }
  T* slot(void* workspace, std::int64_t offset, std::int64_t i) const {
    return pointwise_ ? nullptr : workspace_at<T>(workspace, offset) + i * slot_elements_;
  }

  bool weight_is_packed() const { return g_.taps() > 1 && g_.group_in() > 1; }
  std::int64_t add_packed_weight() {
    return weight_is_packed()
               ? layout_.add(g_.out_channels * g_.patch() * static_cast<std::int64_t>(sizeof(T)))
               : 0;
  }
  /// OIHW → O(HW)I, the column order of P.
  const T* pack_weight(const T* weight, void* workspace, std::int64_t offset) const {
    if (!weight_is_packed()) return weight;
    T* packed = workspace_at<T>(workspace, offset);
    transpose_filters(weight, packed, g_.group_in(), g_.taps());
    return packed;
  }
  /// Every filter from [a, b] to [b, a].
  void transpose_filters(const T* from, T* to, std::int64_t a, std::int64_t b) const {
    parallel_for(g_.out_channels, 8, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t o = first; o < last; ++o)
        for (std::int64_t j = 0; j < b; ++j)
          for (std::int64_t i = 0; i < a; ++i) to[(o * b + j) * a + i] = from[(o * a + i) * b + j];
    });
  }
  MatrixView<const T> filters(const T* packed, std::int64_t group) const {
    return {packed + group * g_.group_out() * g_.patch(), g_.group_out(), g_.patch(), g_.patch()};
  }

  Conv2dGeometry g_;
  bool channels_last_, pointwise_;
  std::int64_t threads_;
  Gemm<T> gemm_;
  PatchMatrix<T> patches_;
  WorkspaceLayout layout_;
  std::int64_t chunk_rows_ = 0, chunks_per_part_ = 0, chunks_ = 0, slot_elements_ = 0;
};

template <class T>
class ForwardKernel final : public Conv2dGemm<T> {
 public:
  ForwardKernel(const KernelRequest& r, Gemm<T> gemm)
      : Conv2dGemm<T>(r.inputs[0], r.inputs[1], r.outputs[0], r.as<Conv2dOp>().options(), r.context.threads,
                      gemm) {
    this->plan_chunks(this->g_.patch(), this->channels_last_ ? this->threads_ : 1);
    slots_ = std::min(this->threads_, this->chunks_);
    weight_ = this->add_packed_weight();
    buffer_ = this->add_slots(slots_, this->g_.patch());
  }

  void run(NativeStream, const KernelArgs& args) const override {
    const Conv2dGeometry& g = this->g_;
    const T* weight = this->pack_weight(args.in<T>(1), args.workspace, weight_);
    run_tasks(this->chunks_, slots_, [&](std::int64_t i, std::int64_t slot) {
      const Range rows = this->chunk(i);
      T* buffer = this->slot(args.workspace, buffer_, slot);
      for (std::int64_t group = 0; group < g.options.groups; ++group) {
        const auto p = this->patches(args.in<T>(0), group, rows, {0, g.patch()}, buffer);
        const auto y = this->positions(args.out<T>(0), g.out_channels, group, rows);
        this->gemm_(p, this->filters(weight, group).transposed(), y, false);
      }
    });
  }

 private:
  std::int64_t slots_, weight_, buffer_;
};

template <class T>
class BackwardDataKernel final : public Conv2dGemm<T> {
 public:
  BackwardDataKernel(const KernelRequest& r, Gemm<T> gemm)
      : Conv2dGemm<T>(r.outputs[0], r.inputs[1], r.inputs[0], r.as<Conv2dBackwardDataOp>().options(),
                      r.context.threads, gemm) {
    this->plan_chunks(this->g_.patch(), this->channels_last_ ? this->threads_ : 1);
    // Patches overlap, so one task adds up a whole image of one group.
    tasks_ = this->pointwise_ ? this->chunks_ : this->g_.batch * this->g_.options.groups;
    if (!this->pointwise_) this->chunk_rows_ = std::min(this->chunk_rows_, this->g_.out_height);
    slots_ = std::min(this->threads_, tasks_);
    weight_ = this->add_packed_weight();
    buffer_ = this->add_slots(slots_, this->g_.patch());
  }

  void run(NativeStream, const KernelArgs& args) const override {
    const T* weight = this->pack_weight(args.in<T>(1), args.workspace, weight_);
    run_tasks(tasks_, slots_, [&](std::int64_t i, std::int64_t slot) {
      if (this->pointwise_) {
        pointwise(args, this->chunk(i));
      } else {
        image(args, weight, i, this->slot(args.workspace, buffer_, slot));
      }
    });
  }

 private:
  void pointwise(const KernelArgs& args, Range rows) const {
    const Conv2dGeometry& g = this->g_;
    for (std::int64_t group = 0; group < g.options.groups; ++group)
      this->gemm_(this->positions(args.in<T>(0), g.out_channels, group, rows),
                  this->filters(args.in<T>(1), group),
                  this->positions(args.out<T>(0), g.in_channels, group, rows), false);
  }

  void image(const KernelArgs& args, const T* weight, std::int64_t task, T* buffer) const {
    const Conv2dGeometry& g = this->g_;
    const std::int64_t n = task / g.options.groups, group = task % g.options.groups;
    clear(args.out<T>(0), n, group);
    const std::int64_t end = (n + 1) * g.out_height;
    for (std::int64_t row = n * g.out_height; row < end; row += this->chunk_rows_) {
      const Range rows{row, std::min(end, row + this->chunk_rows_)};
      const MatrixView<T> p{buffer, rows.size() * g.out_width, g.patch(), g.patch()};
      this->gemm_(this->positions(args.in<T>(0), g.out_channels, group, rows), this->filters(weight, group),
                  p, false);
      this->patches_.scatter_add(buffer, group, rows, args.out<T>(0));
    }
  }

  void clear(T* dx, std::int64_t n, std::int64_t group) const {
    const Conv2dGeometry& g = this->g_;
    const std::int64_t plane = g.height * g.width, channels = g.group_in();
    T* base = dx + n * g.in_channels * plane;
    if (!this->channels_last_) {
      std::fill_n(base + group * channels * plane, channels * plane, T(0));
    } else {
      for (std::int64_t i = 0; i < plane; ++i)
        std::fill_n(base + i * g.in_channels + group * channels, channels, T(0));
    }
  }

  std::int64_t tasks_, slots_, weight_, buffer_;
};

template <class T>
class BackwardWeightKernel final : public Conv2dGemm<T> {
 public:
  BackwardWeightKernel(const KernelRequest& r, Gemm<T> gemm, bool threaded)
      : Conv2dGemm<T>(r.inputs[0], r.outputs[0], r.inputs[1], r.as<Conv2dBackwardWeightOp>().options(),
                      r.context.threads, gemm) {
    const Conv2dGeometry& g = this->g_;
    const bool rows_of_x = this->pointwise_ && this->channels_last_;
    // Tasks own slices of the columns of dW, or of its rows where there are more of them and patches cost
    // nothing.
    by_rows_ = this->pointwise_ && g.group_out() > g.patch();
    const std::int64_t extent = by_rows_ ? g.group_out() : g.patch();
    const std::int64_t wanted = ceil_divide(this->threads_, g.options.groups);
    slices_ = rows_of_x && threaded ? 1 : std::clamp<std::int64_t>(extent / 16, 1, wanted);
    slots_ = std::min(this->threads_, slices_ * g.options.groups);
    const std::int64_t columns = by_rows_ ? g.patch() : ceil_divide(extent, slices_);
    // Transposing dy with rows a multiple of a page apart halves the speed of products with few columns.
    pad_gradient_ =
        rows_of_x && slices_ * g.options.groups == 1 && g.out_channels % 1024 == 0 && columns < 512;
    if (rows_of_x && !pad_gradient_) {
      this->chunk_rows_ = g.batch * g.out_height;
      this->chunks_per_part_ = this->chunks_ = 1;
    } else {
      this->plan_chunks(columns, 1);
    }
    weight_ = this->add_packed_weight();
    buffer_ = this->add_slots(slots_, columns);
    if (pad_gradient_)
      padded_ = this->layout_.add(this->chunk_rows_ * g.out_width * padded_stride() *
                                  static_cast<std::int64_t>(sizeof(T)));
  }

  void run(NativeStream, const KernelArgs& args) const override {
    const Conv2dGeometry& g = this->g_;
    T* gradient = this->weight_is_packed() ? workspace_at<T>(args.workspace, weight_) : args.out<T>(0);
    run_tasks(slices_ * g.options.groups, slots_, [&](std::int64_t i, std::int64_t slot) {
      slice(args, gradient, i / slices_, i % slices_, this->slot(args.workspace, buffer_, slot));
    });
    if (this->weight_is_packed()) this->transpose_filters(gradient, args.out<T>(0), g.taps(), g.group_in());
  }

 private:
  void slice(const KernelArgs& args, T* gradient, std::int64_t group, std::int64_t i, T* buffer) const {
    const Conv2dGeometry& g = this->g_;
    const std::int64_t extent = by_rows_ ? g.group_out() : g.patch();
    const Range part{extent * i / slices_, extent * (i + 1) / slices_};
    const Range outputs = by_rows_ ? part : Range{0, g.group_out()};
    const Range columns = by_rows_ ? Range{0, g.patch()} : part;
    const MatrixView<T> all{gradient + group * g.group_out() * g.patch(), g.group_out(), g.patch(),
                            g.patch()};
    const auto target = all.row_range(outputs.begin, outputs.end).col_range(columns.begin, columns.end);
    for (std::int64_t c = 0; c < this->chunks_; ++c) {
      const Range rows = this->chunk(c);
      auto dy = this->positions(args.in<T>(1), g.out_channels, group, rows);
      if (pad_gradient_) dy = padded(dy, workspace_at<T>(args.workspace, padded_));
      const auto p = this->patches(args.in<T>(0), group, rows, columns, buffer);
      this->gemm_(dy.col_range(outputs.begin, outputs.end).transposed(), p, target, c > 0);
    }
  }

  std::int64_t padded_stride() const { return this->g_.out_channels + 16; }
  MatrixView<const T> padded(const MatrixView<const T>& m, T* buffer) const {
    const std::int64_t stride = padded_stride();
    parallel_for(m.rows, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        std::copy_n(m.data + i * m.stride, m.cols, buffer + i * stride);
    });
    return {buffer, m.rows, m.cols, stride};
  }

  bool by_rows_, pad_gradient_;
  std::int64_t slices_, slots_, weight_, buffer_, padded_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Kernel> conv2d_gemm_forward(const KernelRequest& request, Gemm<T> gemm) {
  return std::make_unique<ForwardKernel<T>>(request, gemm);
}

template <class T>
std::unique_ptr<Kernel> conv2d_gemm_backward_data(const KernelRequest& request, Gemm<T> gemm) {
  return std::make_unique<BackwardDataKernel<T>>(request, gemm);
}

template <class T>
std::unique_ptr<Kernel> conv2d_gemm_backward_weight(const KernelRequest& request, Gemm<T> gemm,
                                                    bool threaded) {
  return std::make_unique<BackwardWeightKernel<T>>(request, gemm, threaded);
}

template std::unique_ptr<Kernel> conv2d_gemm_forward(const KernelRequest&, Gemm<float>);
template std::unique_ptr<Kernel> conv2d_gemm_forward(const KernelRequest&, Gemm<double>);
template std::unique_ptr<Kernel> conv2d_gemm_backward_data(const KernelRequest&, Gemm<float>);
template std::unique_ptr<Kernel> conv2d_gemm_backward_data(const KernelRequest&, Gemm<double>);
template std::unique_ptr<Kernel> conv2d_gemm_backward_weight(const KernelRequest&, Gemm<float>, bool);
template std::unique_ptr<Kernel> conv2d_gemm_backward_weight(const KernelRequest&, Gemm<double>, bool);

}  // namespace swapadvisor
