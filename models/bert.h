// BERT (Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
// Understanding").
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// Sizes; the defaults are BERT-base's, uncased.
struct BertOptions {
  std::int64_t vocab = 30522;
  std::int64_t hidden = 768;  ///< features; the inner layer of a feed-forward block has 4 times as many
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t positions = 512;  ///< rows of the position table: the longest sequence
  double dropout = 0.1;  ///< of embeddings, sublayers, attention probabilities and the classifier's input
};

/// What BERT reads, each i32 [N, T].
struct BertInputs {
  Tensor ids;
  Tensor mask;      ///< 0 where a position is padding, else 1
  Tensor segments;  ///< 0 for the first sentence, 1 for the second
};

/// The two heads of pre-training.
struct BertPretraining {
  Tensor prediction_logits;        ///< [N·T, vocab]: the token at each position
  Tensor seq_relationship_logits;  ///< [N, 2]: do the sentences follow each other (0) or not (1)?
};

/// Transformers' BertForPreTraining. The decoder of the first head is the table of word embeddings.
BertPretraining bert_for_pretraining(const Scope& scope, const BertInputs& inputs,
                                     const BertOptions& options);

/// Transformers' BertForSequenceClassification: logits [N, classes].
Tensor bert_for_sequence_classification(const Scope& scope, const BertInputs& inputs, std::int64_t classes,
                                        const BertOptions& options);

}  // namespace swapadvisor
