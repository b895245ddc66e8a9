// Safetensors files (the format of Hugging Face's `safetensors` library): an 8-byte little-endian header
// length, a JSON header that gives name, element type, shape and byte range of every tensor, then the data,
// little-endian, row major.
#pragma once

#include <swapadvisor/core/file.h>
#include <swapadvisor/core/shape.h>
#include <swapadvisor/train/stored_type.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// One tensor of a file. Dimensions of 0 are possible, and then there are no bytes.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  std::int64_t begin = 0;  ///< byte range in the data section; a writer fills it in
  std::int64_t end = 0;

  std::int64_t bytes() const { return end - begin; }
};

/// The free-form entries of a file's header.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// A file opened for reading. The constructor checks the whole header (lengths, JSON, names, types, shapes,
/// and that the ranges tile the data exactly) before any of it is believed; data is read when asked for.
/// Const use is thread-safe. Every failure throws `Error` naming file and tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  ///< sorted by name
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const StoredTensor* find(std::string_view name) const;  ///< null if there is none

  /// The bytes as stored; `out` has `tensor.bytes()` of them.
  void read(const StoredTensor& tensor, std::span<std::byte> out) const;

  /// The elements as `dtype`: any floating-point type to f32 or f64 (to nearest), any integer or boolean to
  /// u8, i32 or i64 if every value fits. `out` has numel × size_of(dtype) bytes. Throws `Error` for other
  /// conversions.
  void read_as(const StoredTensor& tensor, DType dtype, std::span<std::byte> out) const;

 private:
  RegularFile file_;
  std::int64_t data_offset_ = 0;
  std::vector<StoredTensor> tensors_;
  SafetensorsMetadata metadata_;
};

/// Writes a file piece by piece, under a temporary name until `commit`. Any failure, such as a full disk,
/// throws `Error` and leaves no file, or the old one.
class SafetensorsWriter {
 public:
  /// Throws `Error` when a name is used twice or is the reserved "__metadata__".
  SafetensorsWriter(const std::string& path, std::vector<StoredTensor> tensors,
                    const SafetensorsMetadata& metadata = {{"format", "pt"}});

  /// In file order, in which `write` takes them: by element size, largest first, then by name. So every
  /// tensor is aligned to its elements, which readers that map the file rely on.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

  /// Appends bytes of the current tensor, whose name must be `name`. Tensors may come in several pieces;
  /// those without bytes are skipped.
  void write(std::string_view name, std::span<const std::byte> bytes);
  void commit();

 private:
  void skip_complete();

  AtomicFile file_;
  std::vector<StoredTensor> tensors_;
  std::size_t current_ = 0;
  std::int64_t written_ = 0;  // of the current tensor
};

}  // namespace swapadvisor
