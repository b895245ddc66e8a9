// lstm_cell, gru_cell and their backward ops: a thread computes all gates of one element of the state, and
// reads all its operands before it writes, so that results may take the operands' memory.
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/functions.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/gru_cell.h>
#include <swapadvisor/ops/lstm_cell.h>

namespace swapadvisor::cuda {
namespace {

struct StateSize {
  std::int64_t columns, elements;
};

StateSize size_of_state(const TensorSpec& state) {
  return {state.shape[1], state.numel()};
}

/// Of gate 0 of element i in a matrix of `gates` gates side by side.
__device__ inline std::int64_t gate_offset(const StateSize& size, int gates, std::int64_t i) {
  const std::int64_t row = i / size.columns;
  return row * (gates - 1) * size.columns + i;
}

/// Absent operands read as 0.
template <class T>
__device__ inline Acc<T> optional(const T* operand, std::int64_t i) {
  return operand == nullptr ? Acc<T>(0) : widen(operand[i]);
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    lstm_forward(StateSize size, T* h, T* new_c, const T* gates, const T* c) {
  using A = Acc<T>;
  for (std::int64_t j = thread_index(); j < size.elements; j += thread_count()) {
    const T* gate = gates + gate_offset(size, 4, j);
    const A i = widen(gate[0]), f = widen(gate[size.columns]), g = widen(gate[2 * size.columns]),
            o = widen(gate[3 * size.columns]);
    const A state = logistic(f) * optional(c, j) + logistic(i) * hyperbolic_tangent(g);
    const A output = logistic(o) * hyperbolic_tangent(state);
    new_c[j] = static_cast<T>(state);
    h[j] = static_cast<T>(output);
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    lstm_backward(StateSize size, T* dgates, T* dc, const T* gates, const T* c, const T* new_c, const T* dh,
                  const T* d_new_c) {
  using A = Acc<T>;
  for (std::int64_t j = thread_index(); j < size.elements; j += thread_count()) {
    const std::int64_t at = gate_offset(size, 4, j);
    const T* gate = gates + at;
    T* dgate = dgates + at;
    const A i = logistic(widen(gate[0])), f = logistic(widen(gate[size.columns]));
    const A g = hyperbolic_tangent(widen(gate[2 * size.columns])),
            o = logistic(widen(gate[3 * size.columns]));
    const A squashed = hyperbolic_tangent(widen(new_c[j])), from_h = optional(dh, j), before = optional(c, j);
    const A slope = optional(d_new_c, j) + from_h * o * (A(1) - squashed * squashed);
    dgate[0] = static_cast<T>(slope * g * i * (A(1) - i));
    dgate[size.columns] = static_cast<T>(slope * before * f * (A(1) - f));
    dgate[2 * size.columns] = static_cast<T>(slope * i * (A(1) - g * g));
    dgate[3 * size.columns] = static_cast<T>(from_h * squashed * o * (A(1) - o));
    if (dc != nullptr) dc[j] = static_cast<T>(slope * f);
  }
}

/// What the gates of a GRU make of one element.
template <class A>
struct GruGates {
  A r, z, gated, candidate;
};

template <class T>
__device__ inline GruGates<Acc<T>> gru_gates(const StateSize& size, const T* x, const T* h) {
  using A = Acc<T>;
  const A r = logistic(widen(x[0]) + widen(h[0]));
  const A z = logistic(widen(x[size.columns]) + widen(h[size.columns]));
  const A gated = widen(h[2 * size.columns]);
  return {r, z, gated, hyperbolic_tangent(widen(x[2 * size.columns]) + r * gated)};
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    gru_forward(StateSize size, T* new_h, const T* x_gates, const T* h_gates, const T* h) {
  for (std::int64_t j = thread_index(); j < size.elements; j += thread_count()) {
    const std::int64_t at = gate_offset(size, 3, j);
    const auto gates = gru_gates(size, x_gates + at, h_gates + at);
    new_h[j] = static_cast<T>(gates.candidate + gates.z * (optional(h, j) - gates.candidate));
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    gru_backward(StateSize size, T* dx_gates, T* dh_gates, T* dh, const T* x_gates, const T* h_gates,
                 const T* h, const T* d_new_h) {
  using A = Acc<T>;
  for (std::int64_t j = thread_index(); j < size.elements; j += thread_count()) {
    const std::int64_t at = gate_offset(size, 3, j);
    const auto [r, z, gated, candidate] = gru_gates(size, x_gates + at, h_gates + at);
    const A slope = widen(d_new_h[j]), before = optional(h, j);
    const A dn = slope * (A(1) - z) * (A(1) - candidate * candidate);
    const A dz = slope * (before - candidate) * z * (A(1) - z), dr = dn * gated * r * (A(1) - r);
    T *dx = dx_gates + at, *of_h = dh_gates + at;
    dx[0] = of_h[0] = static_cast<T>(dr);
    dx[size.columns] = of_h[size.columns] = static_cast<T>(dz);
    dx[2 * size.columns] = static_cast<T>(dn);
    of_h[2 * size.columns] = static_cast<T>(dn * r);
    if (dh != nullptr) dh[j] = static_cast<T>(slope * z);
  }
}

template <class T>
std::unique_ptr<Kernel> lstm_backward_kernel(const StateSize& size, const LstmBackwardOperands& operands) {
  return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
    int next = 1;
    const auto operand = [&](bool present) { return present ? args.in<T>(next++) : nullptr; };
    const T* c = operand(operands.c);
    const T* new_c = operand(true);
    const T* dh = operand(operands.dh);
    const T* d_new_c = operand(operands.dc);
    T* dc = operands.c ? args.out<T>(1) : nullptr;
    launch(lstm_backward<T>, element_blocks(size.elements), element_threads, 0, stream, size, args.out<T>(0),
           dc, args.in<T>(0), c, new_c, dh, d_new_c);
  });
}

}  // namespace

void add_recurrent_cell_kernels(KernelSet& set) {
  set.add("lstm_cell", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.outputs[0]);
    return visit_elements(request.outputs[0].dtype, [size]<class T>() {
      return device_kernel([size](cudaStream_t stream, const KernelArgs& args) {
        const T* c = args.inputs.size() > 1 ? args.in<T>(1) : nullptr;
        launch(lstm_forward<T>, element_blocks(size.elements), element_threads, 0, stream, size,
               args.out<T>(0), args.out<T>(1), args.in<T>(0), c);
      });
    });
  });
  set.add("lstm_cell_backward", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.inputs[1]);
    const LstmBackwardOperands operands = request.as<LstmCellBackwardOp>().operands();
    return visit_elements(request.outputs[0].dtype,
                          [=]<class T>() { return lstm_backward_kernel<T>(size, operands); });
  });
  set.add("gru_cell", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.outputs[0]);
    return visit_elements(request.outputs[0].dtype, [size]<class T>() {
      return device_kernel([size](cudaStream_t stream, const KernelArgs& args) {
        const T* h = args.inputs.size() > 2 ? args.in<T>(2) : nullptr;
        launch(gru_forward<T>, element_blocks(size.elements), element_threads, 0, stream, size,
               args.out<T>(0), args.in<T>(0), args.in<T>(1), h);
      });
    });
  });
  set.add("gru_cell_backward", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.inputs.back());
    const bool has_h = request.as<GruCellBackwardOp>().has_h();
    return visit_elements(request.outputs[0].dtype, [=]<class T>() {
      return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
        const T* h = has_h ? args.in<T>(2) : nullptr;
        launch(gru_backward<T>, element_blocks(size.elements), element_threads, 0, stream, size,
               args.out<T>(0), args.out<T>(1), has_h ? args.out<T>(2) : nullptr, args.in<T>(0), args.in<T>(1),
               h, args.in<T>(has_h ? 3 : 2));
      });
    });
  });
}

}  // namespace swapadvisor::cuda
