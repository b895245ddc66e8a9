// Made-up samples of any shape: for measurements and tests that need no files.
#pragma once

#include <swapadvisor/train/dataset.h>

namespace swapadvisor {

/// Nothing is stored: image and label are pure functions of (seed, split, index). Labels are uniform. An
/// image is the mean of a fixed pattern of its class, the same in both splits, and noise of its own, so a
/// model can learn the labels and be tested on samples it has not seen. Throws `Error` for options out of
/// range.
std::unique_ptr<ImageDataset> make_synthetic(Split split, const DatasetOptions& options);

/// Sequences for a model of text, with the inputs and targets that `options` declare; pure functions of
/// (seed, split, index). The first input is the sequence: each token follows from the one before it by a
/// fixed rule of the sample's class, except for one token in eight, which is random; so a model can learn to
/// predict it. A target of the sequence's shape is, for language modelling, the sequence itself where it is
/// named "labels" (the model shifts it), else the tokens that follow; for masked language modelling the
/// tokens that are hidden in the first input, 15 % of them, and `ignored_label` elsewhere. Any other target
/// is the sample's class, any other input `otherwise`. Throws `Error` for options out of range.
std::unique_ptr<Dataset> make_synthetic_text(Split split, const DatasetOptions& options);

}  // namespace swapadvisor
