#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/training_graph.h>
#include <swapadvisor/train/weights.h>

namespace swapadvisor {

void save_weights(const std::string& file, const Graph& graph, HostStore& host) {
  std::vector<StoredTensor> tensors;
  for (const Buffer& buffer : graph.buffers())
    if (is_model_buffer(buffer)) tensors.push_back({buffer.name, stored_type(buffer.spec.dtype), buffer.spec.shape});
  SafetensorsWriter writer(file, std::move(tensors));
  for (const StoredTensor& tensor : writer.tensors()) writer.write(tensor.name, host.find(tensor.name));
  writer.commit();
}

namespace {

/// The tensor of the buffer's name or, where weights are tied, of another name of it.
const StoredTensor* find_stored(const SafetensorsFile& file, const Buffer& buffer) {
  const StoredTensor* tensor = file.find(buffer.name);
  for (const std::string& alias : buffer.aliases)
    if (!tensor) tensor = file.find(alias);
  return tensor;
}

}  // namespace

void load_weights(const std::string& file_name, const Graph& graph, HostStore& host, std::string_view path) {
  const SafetensorsFile file(file_name);
  std::vector<const Buffer*> buffers;
  for (const Buffer& buffer : graph.buffers())
    if (is_model_buffer(buffer) && in_scope(buffer.name, path)) buffers.push_back(&buffer);
  if (buffers.empty() && !path.empty())
    fail("model '{}' has no parameter '{}' to load, and none below it", graph.name(), path);
  std::string mismatches;
  int count = 0;
  const auto complain = [&](const std::string& text) {
    if (++count <= 10) mismatches += (count > 1 ? "; " : "") + text;
  };
  for (const Buffer* b : buffers) {
    const Buffer& buffer = *b;
    const StoredTensor* tensor = find_stored(file, buffer);
    if (!tensor) complain(fmt::format("'{}' is missing", buffer.name));
    else if (tensor->shape != buffer.spec.shape)
      complain(fmt::format("'{}' has shape {}, the model {}", buffer.name, to_string(tensor->shape),
                           to_string(buffer.spec.shape)));
    else if (!is_convertible(tensor->type, buffer.spec.dtype))
      complain(fmt::format("'{}' has type {}, the model {}", buffer.name, name_of(tensor->type),
                           name_of(buffer.spec.dtype)));
  }
  if (count > 10) mismatches += fmt::format("; and {} more", count - 10);
  if (count > 0) fail("{}: the weights do not fit model '{}': {}", file_name, graph.name(), mismatches);
  // A value that does not fit is found while converting: convert all before the first is stored.
  std::vector<std::vector<std::byte>> values;
  for (const Buffer* buffer : buffers) {
    values.emplace_back(static_cast<std::size_t>(buffer->spec.bytes()));
    file.read_as(*find_stored(file, *buffer), buffer->spec.dtype, values.back());
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto slot = host.reserve(buffers[i]->name, buffers[i]->spec.bytes());
    std::copy(values[i].begin(), values[i].end(), slot.begin());
  }
}

}  // namespace swapadvisor
