// GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners").
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// Sizes; the defaults are those of the smallest of the four, with 124 million parameters.
struct Gpt2Options {
  std::int64_t vocab = 50257;
  std::int64_t hidden = 768;  ///< features; the inner layer of a feed-forward block has 4 times as many
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t positions = 1024;  ///< rows of the position table: the longest sequence
  double dropout = 0.1;           ///< of embeddings, sublayers and attention probabilities
};

/// Transformers' GPT2LMHeadModel: ids i32 [N, T] → logits [N·T, vocab] of the next token at each position.
/// The head is the table of word embeddings.
Tensor gpt2_lm_head_model(const Scope& scope, Tensor ids, const Gpt2Options& options);

}  // namespace swapadvisor
