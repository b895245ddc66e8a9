// contiguous, broadcast_to, to_layout, concat, slice_backward: strided copies.
#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/cuda/strided_copy.h>
#include <swapadvisor/ops/slice.h>

namespace swapadvisor::cuda {
namespace {

std::unique_ptr<Kernel> copy_kernel(StridedCopy copy) {
  return device_kernel([copy = std::move(copy)](cudaStream_t stream, const KernelArgs& args) {
    copy.run(stream, args.inputs[0], args.outputs[0]);
  });
}

/// Pieces of one form, which are copied together.
struct Batch {
  StridedCopy copy;
  std::vector<std::size_t> inputs;    ///< none: zeros
  std::vector<std::int64_t> offsets;  ///< of the pieces in the output, in elements
};

/// The outputs of these ops are cut along one dimension into pieces.
class PieceList {
 public:
  PieceList(const TensorSpec& output, int dimension) : output_(output), dimension_(dimension) {}

  void add_input(std::size_t index, const TensorSpec& input) {
    StridedCopy copy(input.shape, input.strides, output_.strides, size_of(output_.dtype));
    constexpr auto most = static_cast<std::size_t>(PointerList<const void>::most);
    const bool joins = !batches_.empty() && !batches_.back().inputs.empty() &&
                       batches_.back().inputs.size() < most && batches_.back().copy == copy;
    if (!joins) batches_.push_back({std::move(copy), {}, {}});
    batches_.back().inputs.push_back(index);
    batches_.back().offsets.push_back(at_ * output_.strides[dimension_]);
    at_ += input.shape[dimension_];
  }
  /// Zeros up to element `end` of the dimension.
  void add_zeros(std::int64_t end) {
    if (end <= at_) return;
    Shape shape = output_.shape;
    shape[dimension_] = end - at_;
    StridedCopy copy(shape, output_.strides, output_.strides, size_of(output_.dtype));
    batches_.push_back({std::move(copy), {}, {at_ * output_.strides[dimension_]}});
    at_ = end;
  }
  std::int64_t extent() const { return output_.shape[dimension_]; }

  std::unique_ptr<Kernel> kernel() {
    return device_kernel([batches = std::move(batches_), bytes = size_of(output_.dtype)](
                             cudaStream_t stream, const KernelArgs& args) {
      for (const Batch& batch : batches) {
        if (batch.inputs.empty()) {
          batch.copy.clear(stream, args.out<std::byte>(0) + batch.offsets[0] * bytes);
          continue;
        }
        std::vector<const void*> from;
        for (std::size_t input : batch.inputs) from.push_back(args.inputs[input]);
        batch.copy.run(stream, from, args.outputs[0], batch.offsets);
      }
    });
  }

 private:
  TensorSpec output_;
  int dimension_;
  std::int64_t at_ = 0;
  std::vector<Batch> batches_;
};

std::unique_ptr<Kernel> make_copy(const KernelRequest& r) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  return copy_kernel(StridedCopy(x.shape, x.strides, y.strides, size_of(x.dtype)));
}

std::unique_ptr<Kernel> make_broadcast_to(const KernelRequest& r) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  return copy_kernel(StridedCopy(y.shape, broadcast_strides(x, y.shape), y.strides, size_of(x.dtype)));
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& r) {
  PieceList pieces(r.outputs[0], r.as<ConcatOp>().dimension());
  for (std::size_t i = 0; i < r.inputs.size(); ++i) pieces.add_input(i, r.inputs[i]);
  return pieces.kernel();
}

std::unique_ptr<Kernel> make_slice_backward(const KernelRequest& r) {
  const auto& op = r.as<SliceBackwardOp>();
  PieceList pieces(r.outputs[0], op.dimension());
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    pieces.add_zeros(op.starts()[i]);
    pieces.add_input(i, r.inputs[i]);
  }
  pieces.add_zeros(pieces.extent());
  return pieces.kernel();
}

}  // namespace

void add_copy_kernels(KernelSet& set) {
  set.add("contiguous", make_copy);
  set.add("to_layout", make_copy);
  set.add("broadcast_to", make_broadcast_to);
  set.add("concat", make_concat);
  set.add("slice_backward", make_slice_backward);
}

}  // namespace swapadvisor::cuda
