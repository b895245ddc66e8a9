#include <swapadvisor/train/safetensors.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace swapadvisor {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t prefix_bytes = 8;
constexpr std::uint64_t largest_header = 100'000'000;  // the limit of the reference implementation
constexpr std::string_view metadata_key = "__metadata__";

bool by_name(const StoredTensor& a, const StoredTensor& b) {
  return a.name < b.name;
}

// Parses the header; refuses names given twice (JSON libraries keep one silently) and deep nesting.
Json parse_header(const std::string& path, const std::string& text) {
  constexpr int deepest = 8;
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (depth > deepest) fail("'{}': the safetensors header is nested deeper than {} levels", path, deepest);
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second)
      fail("'{}': the safetensors header has the name '{}' twice", path, value.get<std::string>());
    return true;
  };
  if (text.empty() || text.front() != '{')
    fail("'{}': the safetensors header does not start with '{{'", path);
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& e) {
    fail("'{}': the safetensors header is not valid JSON at byte {}", path, e.byte);
  } catch (const Json::exception&) {
    fail("'{}': the safetensors header has a number that is out of range", path);
  }
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > std::uint64_t{INT64_MAX}) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// The array `field` of whole numbers.
std::vector<std::int64_t> whole_numbers(const std::string& where, const Json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end() || !found->is_array()) fail("{} has no list '{}'", where, field);
  std::vector<std::int64_t> numbers;
  for (const Json& value : *found) {
    const std::optional<std::int64_t> number = whole_number(value);
    if (!number)
      fail("{}: '{}' has {}, expected a whole number from 0 to 2^63 - 1", where, field, value.dump());
    numbers.push_back(*number);
  }
  return numbers;
}

StoredType parse_type(const std::string& where, const Json& entry) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) fail("{} has no 'dtype'", where);
  const auto& name = found->get_ref<const std::string&>();
  if (const std::optional<StoredType> type = find_stored_type(name)) return *type;
  fail("{} has the unknown element type '{}'", where, name);
}

// Bytes of a dense tensor; absent on overflow. A zero dimension makes it 0 whatever the others are.
std::optional<std::int64_t> dense_bytes(StoredType type, const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t bytes = size_of(type);
  for (std::int64_t d : shape)
    if (__builtin_mul_overflow(bytes, d, &bytes)) return std::nullopt;
  return bytes;
}

StoredTensor parse_tensor(const std::string& path, const std::string& name, const Json& entry) {
  const std::string where = fmt::format("'{}': tensor '{}'", path, name);
  if (!entry.is_object()) fail("{} is not described by an object", where);
  StoredTensor tensor;
  tensor.name = name;
  tensor.type = parse_type(where, entry);
  const std::vector<std::int64_t> dims = whole_numbers(where, entry, "shape");
  if (dims.size() > Shape::max_rank)
    fail("{} has {} dimensions, more than {}", where, dims.size(), Shape::max_rank);
  tensor.shape = Shape(dims);
  const std::vector<std::int64_t> range = whole_numbers(where, entry, "data_offsets");
  if (range.size() != 2) fail("{} has {} data offsets, expected 2", where, range.size());
  tensor.begin = range[0];
  tensor.end = range[1];
  if (tensor.begin > tensor.end) fail("{} begins at {}, after its end {}", where, tensor.begin, tensor.end);
  const std::optional<std::int64_t> bytes = dense_bytes(tensor.type, tensor.shape);
  if (!bytes) fail("{}: the size of {}{} overflows", where, name_of(tensor.type), to_string(tensor.shape));
  if (*bytes != tensor.bytes())
    fail("{} is {}{}, which takes {} bytes, but its data has {}", where, name_of(tensor.type),
         to_string(tensor.shape), *bytes, tensor.bytes());
  return tensor;
}

SafetensorsMetadata parse_metadata(const std::string& path, const Json& entry) {
  SafetensorsMetadata metadata;
  if (!entry.is_object()) fail("'{}': the safetensors metadata is not an object", path);
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) fail("'{}': the safetensors metadata '{}' is not a string", path, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// The format wants the data section covered exactly: no overlap, no hole, nothing after it.
void check_tiling(const std::string& path, const std::vector<StoredTensor>& tensors,
                  std::int64_t data_bytes) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::int64_t covered = 0;
  for (const StoredTensor* tensor : order) {
    if (tensor->end > data_bytes)
      fail("'{}' is truncated: tensor '{}' ends at byte {} of the data, the file has {}", path, tensor->name,
           tensor->end, data_bytes);
    if (tensor->begin < covered)
      fail("'{}': tensor '{}' begins at byte {} of the data and overlaps the one before it, which ends at {}",
           path, tensor->name, tensor->begin, covered);
    if (tensor->begin > covered)
      fail("'{}': bytes {} to {} of the data, before tensor '{}', belong to no tensor", path, covered,
           tensor->begin, tensor->name);
    covered = tensor->end;
  }
  if (covered != data_bytes) fail("'{}': {} bytes follow the last tensor", path, data_bytes - covered);
}

// Padded with spaces so that the data begins at a multiple of 8.
std::string encode_header(const std::string& path, const std::vector<StoredTensor>& tensors,
                          const SafetensorsMetadata& metadata) {
  std::string text;
  const auto append = [&](const std::string& entry) { text.append(text.empty() ? "{" : ",").append(entry); };
  try {
    if (!metadata.empty()) append(fmt::format("\"{}\":{}", metadata_key, Json(metadata).dump()));
    for (const StoredTensor& tensor : tensors) {
      const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
      append(fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", Json(tensor.name).dump(),
                         name_of(tensor.type), Json(shape).dump(), tensor.begin, tensor.end));
    }
  } catch (const Json::exception&) {
    fail("cannot write '{}': a tensor name or a metadata entry is not valid UTF-8", path);
  }
  text += text.empty() ? "{}" : "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const std::int64_t size = file_.bytes();
  if (size < prefix_bytes) fail("'{}' is not a safetensors file: it has {} bytes", path, size);
  std::uint64_t header_bytes = 0;
  file_.read_at(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  if (header_bytes > static_cast<std::uint64_t>(size - prefix_bytes))
    fail("'{}' is not a safetensors file: it promises a header of {} bytes, the file has {}", path,
         header_bytes, size);
  if (header_bytes > largest_header)
    fail("'{}': a safetensors header of {} bytes exceeds the largest, {}", path, header_bytes,
         largest_header);
  std::string text(static_cast<std::size_t>(header_bytes), '\0');
  file_.read_at(prefix_bytes, std::as_writable_bytes(std::span(text)));

  data_offset_ = prefix_bytes + static_cast<std::int64_t>(header_bytes);
  const Json header = parse_header(path, text);
  for (const auto& [name, entry] : header.items()) {
    if (name == metadata_key) {
      metadata_ = parse_metadata(path, entry);
    } else {
      tensors_.push_back(parse_tensor(path, name, entry));
    }
  }
  std::sort(tensors_.begin(), tensors_.end(), by_name);
  check_tiling(path, tensors_, size - data_offset_);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const StoredTensor& tensor, std::string_view n) { return tensor.name < n; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

void SafetensorsFile::read(const StoredTensor& tensor, std::span<std::byte> out) const {
  SWAPADVISOR_ASSERT(std::ssize(out) == tensor.bytes(), "{} bytes for '{}', which has {}", out.size(),
                     tensor.name, tensor.bytes());
  file_.read_at(data_offset_ + tensor.begin, out);
}

void SafetensorsFile::read_as(const StoredTensor& tensor, DType dtype, std::span<std::byte> out) const {
  if (!is_convertible(tensor.type, dtype))
    fail("'{}': tensor '{}' has type {}, which cannot be read as {}", path(), tensor.name,
         name_of(tensor.type), name_of(dtype));
  if (tensor.type == stored_type(dtype)) return read(tensor, out);
  const std::int64_t elements = tensor.bytes() / size_of(tensor.type);
  SWAPADVISOR_ASSERT(std::ssize(out) == elements * size_of(dtype), "{} bytes for {} {} elements of '{}'",
                     out.size(), elements, name_of(dtype), tensor.name);
  constexpr std::int64_t piece = std::int64_t{1} << 16;  // elements converted at a time
  std::vector<std::byte> raw;
  for (std::int64_t i = 0; i < elements; i += piece) {
    raw.resize(static_cast<std::size_t>(std::min(piece, elements - i) * size_of(tensor.type)));
    file_.read_at(data_offset_ + tensor.begin + i * size_of(tensor.type), raw);
    if (const auto misfit = convert_stored(tensor.type, raw, dtype, out.data() + i * size_of(dtype)))
      fail("'{}': tensor '{}' holds {}, which does not fit {}", path(), tensor.name, *misfit, name_of(dtype));
  }
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<StoredTensor> tensors,
                                     const SafetensorsMetadata& metadata)
    : file_(path), tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(), by_name);
  const auto twice =
      std::adjacent_find(tensors_.begin(), tensors_.end(),
                         [](const StoredTensor& a, const StoredTensor& b) { return a.name == b.name; });
  if (twice != tensors_.end()) fail("cannot write '{}': two tensors are named '{}'", path, twice->name);
  std::stable_sort(tensors_.begin(), tensors_.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return size_of(a.type) > size_of(b.type);
  });
  std::int64_t end = 0;
  for (StoredTensor& tensor : tensors_) {
    if (tensor.name == metadata_key)
      fail("cannot write '{}': '{}' is no name for a tensor", path, metadata_key);
    const std::optional<std::int64_t> bytes = dense_bytes(tensor.type, tensor.shape);
    tensor.begin = end;
    if (!bytes || __builtin_add_overflow(end, *bytes, &end))
      fail("cannot write '{}': with tensor '{}' of shape {} its size overflows", path, tensor.name,
           to_string(tensor.shape));
    tensor.end = end;
  }
  const std::string header = encode_header(path, tensors_, metadata);
  const std::uint64_t header_bytes = header.size();
  file_.write(&header_bytes, sizeof header_bytes);
  file_.write(header);
  skip_complete();
}

void SafetensorsWriter::skip_complete() {
  while (current_ < tensors_.size() && written_ == tensors_[current_].bytes()) {
    ++current_;
    written_ = 0;
  }
}

void SafetensorsWriter::write(std::string_view name, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  SWAPADVISOR_ASSERT(current_ < tensors_.size() && tensors_[current_].name == name,
                     "'{}' is not the next tensor", name);
  written_ += std::ssize(bytes);
  SWAPADVISOR_ASSERT(written_ <= tensors_[current_].bytes(), "{} bytes for '{}', which has {}", written_,
                     name, tensors_[current_].bytes());
  file_.write(bytes.data(), bytes.size());
  skip_complete();
}

void SafetensorsWriter::commit() {
  SWAPADVISOR_ASSERT(current_ == tensors_.size(), "tensor '{}' is not complete", tensors_[current_].name);
  file_.commit();
}

}  // namespace swapadvisor
