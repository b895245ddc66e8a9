// contiguous, concat, slice_backward: strided copies.
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/strided_copy.h>
#include <swapadvisor/ops/slice.h>

namespace swapadvisor {
namespace {

/// Where a piece of the output begins, and what goes there: an input, or zeros.
struct Piece {
  int input;  ///< −1: zeros
  std::int64_t offset;
  StridedCopy copy;
};

/// The outputs of these ops are cut along one dimension into pieces.
class PieceList {
 public:
  PieceList(const TensorSpec& output, int dimension) : output_(output), dimension_(dimension) {}

  void add_input(int index, const TensorSpec& input) {
    add(index, input.shape[dimension_], StridedCopy(input.shape, input.strides, output_.strides));
  }
  /// Zeros up to element `end` of the dimension.
  void add_zeros(std::int64_t end) {
    if (end <= at_) return;
    Shape shape = output_.shape;
    shape[dimension_] = end - at_;
    add(-1, end - at_, StridedCopy(shape, output_.strides, output_.strides));
  }
  std::int64_t extent() const { return output_.shape[dimension_]; }

  std::unique_ptr<Kernel> kernel() {
    return make_kernel([pieces = std::move(pieces_), bytes = size_of(output_.dtype)](const KernelArgs& args) {
      for (const Piece& piece : pieces) {
        std::byte* to = args.out<std::byte>(0) + piece.offset * bytes;
        if (piece.input < 0) {
          piece.copy.clear(to, bytes);
        } else {
          piece.copy.run(args.in<std::byte>(piece.input), to, bytes);
        }
      }
    });
  }

 private:
  void add(int input, std::int64_t length, StridedCopy copy) {
    pieces_.push_back({input, at_ * output_.strides[dimension_], std::move(copy)});
    at_ += length;
  }

  TensorSpec output_;
  int dimension_;
  std::int64_t at_ = 0;
  std::vector<Piece> pieces_;
};

std::unique_ptr<Kernel> make_contiguous(const KernelRequest& r) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  return make_kernel([copy = StridedCopy(x.shape, x.strides, y.strides), bytes = size_of(x.dtype)](
                         const KernelArgs& args) { copy.run(args.inputs[0], args.outputs[0], bytes); });
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& r) {
  PieceList pieces(r.outputs[0], r.as<ConcatOp>().dimension());
  for (std::size_t i = 0; i < r.inputs.size(); ++i) pieces.add_input(static_cast<int>(i), r.inputs[i]);
  return pieces.kernel();
}

std::unique_ptr<Kernel> make_slice_backward(const KernelRequest& r) {
  const auto& op = r.as<SliceBackwardOp>();
  PieceList pieces(r.outputs[0], op.dimension());
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    pieces.add_zeros(op.starts()[i]);
    pieces.add_input(static_cast<int>(i), r.inputs[i]);
  }
  pieces.add_zeros(pieces.extent());
  return pieces.kernel();
}

}  // namespace

void add_copy_kernels(KernelSet& set) {
  set.add("contiguous", make_contiguous);
  set.add("concat", make_concat);
  set.add("slice_backward", make_slice_backward);
}

}  // namespace swapadvisor
