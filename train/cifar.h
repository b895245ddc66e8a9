// CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009), binary
// version.
#pragma once

#include <swapadvisor/train/dataset.h>

namespace swapadvisor {

/// Which of the two data sets.
enum class Cifar : std::uint8_t {
  cifar10,   ///< 10 classes
  cifar100,  ///< 100 classes: the fine labels
};

/// Reads the 3 × 32 × 32 images of `data_batch_1.bin` to `data_batch_5.bin` or `test_batch.bin` (CIFAR-10),
/// or of `train.bin` or `test.bin` (CIFAR-100), in the folder `path` or in its subfolder
/// `cifar-10-batches-bin` or `cifar-100-binary`, as the archives unpack. A file holds records of 1 (CIFAR-10)
/// or 2 (CIFAR-100: coarse, fine) label bytes and the 3072 bytes of a red, a green and a blue plane; any
/// number of them, but `doubt` names the files whose number is not that of the published ones. Throws `Error`
/// naming file and record for what is missing or does not fit.
std::unique_ptr<ImageDataset> open_cifar(Cifar kind, const std::string& path, Split split);

}  // namespace swapadvisor
