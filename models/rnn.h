// Recurrent networks for sequences of tokens.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>
#include <string_view>

namespace swapadvisor {

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), or gated recurrent
/// unit (Cho et al. 2014).
enum class RecurrentCell : std::uint8_t { lstm, gru };

/// "lstm" or "gru". Throws `Error` for any other.
RecurrentCell parse_recurrent_cell(std::string_view name);

/// Sizes of a recurrent network.
struct RnnOptions {
  std::int64_t vocab = 256;  ///< different tokens
  std::int64_t hidden = 512;  ///< features of an embedded token, and of each direction's state
  std::int64_t layers = 2;
  RecurrentCell cell = RecurrentCell::lstm;
  bool bidirectional = false;  ///< each layer also runs backwards in time, and the next one reads both states
  double dropout = 0;          ///< probability between layers, while training
};

/// ids i32 [N, T] → logits [N·T, vocab], row n·T + t predicting from step t of sample n: an embedding, a stack of
/// recurrent layers unrolled over T, and a linear layer at every step. The states are 0 before the first step. The
/// stack is PyTorch's nn.LSTM or nn.GRU, bidirectional ones included, names of parameters and first values too:
/// "embedding.weight", "rnn.weight_ih_l0", …, "linear.weight". All time steps of a layer read the same weights.
Tensor rnn(const Scope& scope, Tensor ids, const RnnOptions& options);

}  // namespace swapadvisor
