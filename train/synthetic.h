// Made-up images of any shape: for measurements and tests that need no files.
#pragma once

#include <swapadvisor/train/dataset.h>

namespace swapadvisor {

/// Nothing is stored: image and label are pure functions of (seed, split, index). Labels are uniform. An
/// image is the mean of a fixed pattern of its class, the same in both splits, and noise of its own, so a
/// model can learn the labels and be tested on samples it has not seen. Throws `Error` for options out of
/// range.
std::unique_ptr<Dataset> make_synthetic(Split split, const DatasetOptions& options);

}  // namespace swapadvisor
