// The MNIST database of handwritten digits (LeCun, Cortes, Burges), and data sets in the same files.
#pragma once

#include <swapadvisor/train/dataset.h>

namespace swapadvisor {

/// Reads `{train,t10k}-{images-idx3,labels-idx1}-ubyte` (also with "." for the second "-", and with ".gz") in
/// the folder `path`: grey images, labels 0 to 9. Throws `Error` naming file and sample for what is missing
/// or does not fit.
std::unique_ptr<ImageDataset> open_mnist(const std::string& path, Split split);

}  // namespace swapadvisor
