// lstm_cell, gru_cell and their backward ops. Rows are cut into pieces of at most `piece_width` columns, and
// each piece is one loop over all gates, so that a piece's operands are read once and may be overwritten in
// place.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/functions.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/gru_cell.h>
#include <swapadvisor/ops/lstm_cell.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr std::int64_t piece_width = 256;

/// Fewest elements of a state that are worth a thread: each takes some hundred operations.
constexpr std::int64_t cell_grain = 1024;

/// What absent operands read as.
template <class T>
constexpr T zeros[piece_width]{};

struct StateSize {
  std::int64_t rows, columns;
};

StateSize size_of_state(const TensorSpec& state) {
  return {state.shape[0], state.shape[1]};
}

/// Some columns of one row.
struct Piece {
  std::int64_t row, column, columns;

  /// In a state [rows, columns]; null reads as zeros.
  template <class T>
  const T* of(const T* state, const StateSize& size) const {
    return state ? state + row * size.columns + column : zeros<T>;
  }
  template <class T>
  T* of(T* state, const StateSize& size) const {
    return state + row * size.columns + column;
  }
  /// Gate `i` in a matrix of `gates` gates side by side.
  template <class T>
  T* gate(T* matrix, const StateSize& size, int gates, int i) const {
    return matrix + (row * gates + i) * size.columns + column;
  }
};

template <class F>
void for_each_piece(const StateSize& size, F f) {
  const std::int64_t per_row = (size.columns + piece_width - 1) / piece_width;
  const std::int64_t grain = std::max<std::int64_t>(1, cell_grain / std::min(size.columns, piece_width));
  parallel_for(size.rows * per_row, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i % per_row * piece_width;
      f(Piece{i / per_row, column, std::min(piece_width, size.columns - column)});
    }
  });
}

template <class T>
struct LstmForward {
  const T *i, *f, *g, *o, *c;
  T *h, *new_c;
};

template <class T>
SWAPADVISOR_INLINE void lstm_forward_loop(const LstmForward<T>& p, std::int64_t n) {
  const T *gate_i = p.i, *gate_f = p.f, *gate_g = p.g, *gate_o = p.o, *c = p.c;
  T *h = p.h, *new_c = p.new_c;
  SWAPADVISOR_VECTORISE
  for (std::int64_t j = 0; j < n; ++j) {
    const T kept = logistic(gate_f[j]) * c[j];
    const T state = kept + logistic(gate_i[j]) * hyperbolic_tangent(gate_g[j]);
    const T output = logistic(gate_o[j]) * hyperbolic_tangent(state);
    new_c[j] = state;
    h[j] = output;
  }
}

template <class T>
struct LstmBackward {
  const T *i, *f, *g, *o, *c, *new_c, *dh, *d_new_c;
  T *di, *df, *dg, *d_o, *dc;
};

template <class T>
SWAPADVISOR_INLINE void lstm_backward_loop(const LstmBackward<T>& p, std::int64_t n) {
  const T *gate_i = p.i, *gate_f = p.f, *gate_g = p.g, *gate_o = p.o;
  const T *c = p.c, *new_c = p.new_c, *dh = p.dh, *d_new_c = p.d_new_c;
  T *di = p.di, *df = p.df, *dg = p.dg, *d_o = p.d_o, *dc = p.dc;
  SWAPADVISOR_VECTORISE
  for (std::int64_t j = 0; j < n; ++j) {
    const T i = logistic(gate_i[j]), f = logistic(gate_f[j]), o = logistic(gate_o[j]);
    const T g = hyperbolic_tangent(gate_g[j]), squashed = hyperbolic_tangent(new_c[j]);
    const T from_h = dh[j], before = c[j];
    const T slope = d_new_c[j] + from_h * o * (T(1) - squashed * squashed);
    di[j] = slope * g * i * (T(1) - i);
    df[j] = slope * before * f * (T(1) - f);
    dg[j] = slope * i * (T(1) - g * g);
    d_o[j] = from_h * squashed * o * (T(1) - o);
    dc[j] = slope * f;
  }
}

template <class T>
struct GruForward {
  const T *xr, *xz, *xn, *hr, *hz, *hn, *h;
  T* new_h;
};

template <class T>
SWAPADVISOR_INLINE void gru_forward_loop(const GruForward<T>& p, std::int64_t n) {
  const T *xr = p.xr, *xz = p.xz, *xn = p.xn, *hr = p.hr, *hz = p.hz, *hn = p.hn, *h = p.h;
  T* new_h = p.new_h;
  SWAPADVISOR_VECTORISE
  for (std::int64_t j = 0; j < n; ++j) {
    const T r = logistic(xr[j] + hr[j]), z = logistic(xz[j] + hz[j]);
    const T candidate = hyperbolic_tangent(xn[j] + r * hn[j]);
    new_h[j] = candidate + z * (h[j] - candidate);
  }
}

template <class T>
struct GruBackward {
  GruForward<T> forward;  ///< its new_h is not used
  const T* d_new_h;
  T *dxr, *dxz, *dxn, *dhr, *dhz, *dhn, *dh;
};

template <class T>
SWAPADVISOR_INLINE void gru_backward_loop(const GruBackward<T>& p, std::int64_t n) {
  const T *xr = p.forward.xr, *xz = p.forward.xz, *xn = p.forward.xn;
  const T *hr = p.forward.hr, *hz = p.forward.hz, *hn = p.forward.hn, *h = p.forward.h, *d_new_h = p.d_new_h;
  T *dxr = p.dxr, *dxz = p.dxz, *dxn = p.dxn, *dhr = p.dhr, *dhz = p.dhz, *dhn = p.dhn, *dh = p.dh;
  SWAPADVISOR_VECTORISE
  for (std::int64_t j = 0; j < n; ++j) {
    const T r = logistic(xr[j] + hr[j]), z = logistic(xz[j] + hz[j]), gated = hn[j];
    const T candidate = hyperbolic_tangent(xn[j] + r * gated);
    const T slope = d_new_h[j];
    const T dn = slope * (T(1) - z) * (T(1) - candidate * candidate);
    const T dz = slope * (h[j] - candidate) * z * (T(1) - z);
    const T dr = dn * gated * r * (T(1) - r);
    dxr[j] = dr;
    dhr[j] = dr;
    dxz[j] = dz;
    dhz[j] = dz;
    dxn[j] = dn;
    dhn[j] = dn * r;
    dh[j] = slope * z;
  }
}

SWAPADVISOR_MULTIVERSION void run_piece(const LstmForward<float>& p, std::int64_t n) {
  lstm_forward_loop(p, n);
}
SWAPADVISOR_MULTIVERSION void run_piece(const LstmBackward<float>& p, std::int64_t n) {
  lstm_backward_loop(p, n);
}
SWAPADVISOR_MULTIVERSION void run_piece(const GruForward<float>& p, std::int64_t n) {
  gru_forward_loop(p, n);
}
SWAPADVISOR_MULTIVERSION void run_piece(const GruBackward<float>& p, std::int64_t n) {
  gru_backward_loop(p, n);
}
void run_piece(const LstmForward<double>& p, std::int64_t n) {
  lstm_forward_loop(p, n);
}
void run_piece(const LstmBackward<double>& p, std::int64_t n) {
  lstm_backward_loop(p, n);
}
void run_piece(const GruForward<double>& p, std::int64_t n) {
  gru_forward_loop(p, n);
}
void run_piece(const GruBackward<double>& p, std::int64_t n) {
  gru_backward_loop(p, n);
}

template <class T>
void lstm_forward(const StateSize& size, const KernelArgs& args) {
  const T *gates = args.in<T>(0), *c = args.inputs.size() > 1 ? args.in<T>(1) : nullptr;
  T *h = args.out<T>(0), *new_c = args.out<T>(1);
  for_each_piece(size, [&](const Piece& piece) {
    const auto gate = [&](int i) { return piece.gate(gates, size, 4, i); };
    run_piece(LstmForward<T>{gate(0), gate(1), gate(2), gate(3), piece.of(c, size), piece.of(h, size),
                             piece.of(new_c, size)},
              piece.columns);
  });
}

template <class T>
void lstm_backward(const StateSize& size, const LstmBackwardOperands& operands, const KernelArgs& args) {
  int next = 1;
  const auto operand = [&](bool present) { return present ? args.in<T>(next++) : nullptr; };
  const T* gates = args.in<T>(0);
  const T *c = operand(operands.c), *new_c = operand(true), *dh = operand(operands.dh),
          *d_new_c = operand(operands.dc);
  T *dgates = args.out<T>(0), *dc = operands.c ? args.out<T>(1) : nullptr;
  for_each_piece(size, [&](const Piece& piece) {
    const auto gate = [&](int i) { return piece.gate(gates, size, 4, i); };
    const auto dgate = [&](int i) { return piece.gate(dgates, size, 4, i); };
    T unused[piece_width];
    run_piece(LstmBackward<T>{gate(0), gate(1), gate(2), gate(3), piece.of(c, size), piece.of(new_c, size),
                              piece.of(dh, size), piece.of(d_new_c, size), dgate(0), dgate(1), dgate(2),
                              dgate(3), dc ? piece.of(dc, size) : unused},
              piece.columns);
  });
}

template <class T>
GruForward<T> gru_operands(const Piece& piece, const StateSize& size, const T* x_gates, const T* h_gates,
                           const T* h) {
  const auto x = [&](int i) { return piece.gate(x_gates, size, 3, i); };
  const auto of_h = [&](int i) { return piece.gate(h_gates, size, 3, i); };
  return {x(0), x(1), x(2), of_h(0), of_h(1), of_h(2), piece.of(h, size), nullptr};
}

template <class T>
void gru_forward(const StateSize& size, const KernelArgs& args) {
  const T *x_gates = args.in<T>(0), *h_gates = args.in<T>(1),
          *h = args.inputs.size() > 2 ? args.in<T>(2) : nullptr;
  T* new_h = args.out<T>(0);
  for_each_piece(size, [&](const Piece& piece) {
    GruForward<T> operands = gru_operands(piece, size, x_gates, h_gates, h);
    operands.new_h = piece.of(new_h, size);
    run_piece(operands, piece.columns);
  });
}

template <class T>
void gru_backward(const StateSize& size, bool has_h, const KernelArgs& args) {
  const T *x_gates = args.in<T>(0), *h_gates = args.in<T>(1), *h = has_h ? args.in<T>(2) : nullptr;
  const T* d_new_h = args.in<T>(has_h ? 3 : 2);
  T *dx_gates = args.out<T>(0), *dh_gates = args.out<T>(1), *dh = has_h ? args.out<T>(2) : nullptr;
  for_each_piece(size, [&](const Piece& piece) {
    const auto dx = [&](int i) { return piece.gate(dx_gates, size, 3, i); };
    const auto of_dh = [&](int i) { return piece.gate(dh_gates, size, 3, i); };
    T unused[piece_width];
    run_piece(GruBackward<T>{gru_operands(piece, size, x_gates, h_gates, h), piece.of(d_new_h, size), dx(0),
                             dx(1), dx(2), of_dh(0), of_dh(1), of_dh(2), dh ? piece.of(dh, size) : unused},
              piece.columns);
  });
}

}  // namespace

void add_recurrent_cell_kernels(KernelSet& set) {
  set.add("lstm_cell", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.outputs[0]);
    return visit_floating(request.outputs[0].dtype, [size]<class T>() {
      return make_kernel([size](const KernelArgs& args) { lstm_forward<T>(size, args); });
    });
  });
  set.add("lstm_cell_backward", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.inputs[1]);
    const LstmBackwardOperands operands = request.as<LstmCellBackwardOp>().operands();
    return visit_floating(request.outputs[0].dtype, [size, operands]<class T>() {
      return make_kernel(
          [size, operands](const KernelArgs& args) { lstm_backward<T>(size, operands, args); });
    });
  });
  set.add("gru_cell", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.outputs[0]);
    return visit_floating(request.outputs[0].dtype, [size]<class T>() {
      return make_kernel([size](const KernelArgs& args) { gru_forward<T>(size, args); });
    });
  });
  set.add("gru_cell_backward", [](const KernelRequest& request) {
    const StateSize size = size_of_state(request.inputs.back());
    const bool has_h = request.as<GruCellBackwardOp>().has_h();
    return visit_floating(request.outputs[0].dtype, [size, has_h]<class T>() {
      return make_kernel([size, has_h](const KernelArgs& args) { gru_backward<T>(size, has_h, args); });
    });
  });
}

}  // namespace swapadvisor
