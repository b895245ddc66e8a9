#include <swapadvisor/core/cuda/launch.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/fill.h>

namespace swapadvisor::cuda {
namespace {

template <class T>
__global__ void fill_elements(T* y, std::int64_t n, double value) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    y[i] = static_cast<T>(value);
}

template <class T>
class Fill final : public Kernel {
 public:
  Fill(std::int64_t n, double value) : n_(n), value_(value) {}
  void run(NativeStream stream, const KernelArgs& args) const override {
    launch(fill_elements<T>, element_blocks(n_), element_threads, 0, static_cast<cudaStream_t>(stream),
           args.out<T>(0), n_, value_);
  }

 private:
  std::int64_t n_;
  double value_;
};

std::unique_ptr<Kernel> make_fill(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const double value = request.as<FillOp>().value();
  if (request.outputs[0].dtype == DType::bf16) return std::make_unique<Fill<BFloat16>>(n, value);
  return visit_floating(request.outputs[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<Fill<T>>(n, value);
  });
}

}  // namespace

void add_fill_kernels(KernelSet& set) {
  set.add("fill", make_fill);
}

}  // namespace swapadvisor::cuda
