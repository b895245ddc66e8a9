// What BERT and GPT-2 have in common. Parameters are named and start as in Hugging Face Transformers.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// Of the normal distribution that weights start from ("initializer_range").
inline constexpr double transformer_deviation = 0.02;

/// x [..., in] → [..., out_features]. Parameters "weight" [out, in], normal, and "bias" [out], zeros.
Tensor dense(const Scope& scope, Tensor x, std::int64_t out_features);

/// Rows of a parameter [V, D] by ids, in the type that the scope computes in. The table itself stays as it is: the rows
/// are few.
Tensor look_up(const Scope& scope, Tensor ids, Tensor table, std::int64_t padding_row, std::string_view name);

/// Layer normalisation over the last dimension. Parameters "weight", ones, and "bias", zeros.
Tensor layer_norm(const Scope& scope, Tensor x, double epsilon);

/// Dropout while training; its draws depend on the node's name, which is the scope's path.
Tensor drop(const Scope& scope, Tensor x, double probability);

/// Attributes of `attention`.
struct AttentionOptions {
  std::int64_t heads = 1;
  bool causal = false;  ///< a position sees itself and what comes before it
  double dropout = 0;   ///< of the probabilities
};

/// Multi-head attention (Vaswani et al. 2017, section 3.2) of query, key and value [N, T, hidden], each
/// divided evenly among the heads: softmax(q·kᵀ/√d)·v per head, joined again to [N, T, hidden]. `key_mask`:
/// i32 [N, T], 0 where a position is padding; absent: there is none.
Tensor attention(const Scope& scope, Tensor query, Tensor key, Tensor value, Tensor key_mask,
                 const AttentionOptions& options);

}  // namespace swapadvisor
