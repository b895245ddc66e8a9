// Folders of JPEG and PNG images, a folder a class.
#pragma once

#include <swapadvisor/train/dataset.h>

namespace swapadvisor {

/// Opens `folder`/train/CLASS/… and, for the test split, `folder`/val/CLASS/… or `folder`/test/CLASS/…, with
/// images .jpg, .jpeg and .png at any depth; or `folder`/CLASS/…, of which one image in twenty of every
/// class, and at least one of two, is in the test split, chosen by its name. Classes are numbered in the
/// order of their names.
///
/// Images are decoded when they are asked for and get the size of `options.image_shape`, one channel (grey)
/// or three. `resized_crop` takes a random part of the whole image; otherwise the shorter side becomes 8/7 of
/// the size and the middle is taken. Mean and deviation are ImageNet's.
///
/// Throws `Error` naming folder or file where there are no images or other classes than in training, when the
/// folders are opened; for a file that cannot be decoded, when it is read.
std::unique_ptr<ImageDataset> open_image_folder(const std::string& folder, Split split,
                                                const DatasetOptions& options);

/// Whether the folder has a test split. False for what is no such folder.
bool has_test_images(const std::string& folder);

}  // namespace swapadvisor
