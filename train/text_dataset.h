// Plain text as a data set: windows of tokens for models of language.
#pragma once

#include <swapadvisor/train/dataset.h>

namespace swapadvisor {

/// Opens a text file, plain or gzipped, with the vocabulary that `options` name. The last 5 % of its bytes,
/// from the next start of a line on, are the test split, all before are the training split. `options` say
/// what the samples are:
///
/// Language modelling: windows of `seq_len` tokens, one after the other. The model's first input has them. A
/// target named "labels" has them too (the model shifts them, as in Transformers), a target of any other name
/// those that follow. What the last window of the test split lacks is padded and does not count.
///
/// Masked language modelling: "[CLS] A [SEP] B [SEP]" with consecutive tokens, A ending where a line does, if
/// the model has a target of one element (next sentence: 0 where B follows A, 1 where, in half of the
/// samples, B is from a random place), else "[CLS] A [SEP]". "token_type_ids" tell A from B. Of the tokens
/// other than these marks 15 % are to be predicted (at least one): 80 % of those become [MASK], 10 % a random
/// token, 10 % stay; all others have `ignored_label` (Devlin et al. 2019, "BERT", section 3.1). Without a
/// vocabulary file tokens are bytes and these three marks, see `make_byte_tokenizer`.
///
/// In training the first window of an epoch starts at a random place. That, pairs and masks are drawn from
/// (seed, epoch, sample). Other inputs of the model than these get their `otherwise`. Throws `Error` for
/// files that cannot be believed, for a vocabulary that lacks [CLS], [SEP] or [MASK] where they are needed,
/// and for too little text.
std::unique_ptr<Dataset> open_text(const std::string& path, Split split, const DatasetOptions& options);

}  // namespace swapadvisor
