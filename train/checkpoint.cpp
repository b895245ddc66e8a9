#include <swapadvisor/core/error.h>
#include <swapadvisor/train/checkpoint.h>
#include <swapadvisor/train/crc32c.h>
#include <swapadvisor/train/mismatches.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace swapadvisor {
namespace {

constexpr const char* version_key = "swapadvisor.checkpoint";
constexpr const char* version = "1";
constexpr const char* checksum_key = "swapadvisor.crc32c";
constexpr const char* option_prefix = "option.";

std::string hex(double value) {
  return fmt::format("{:a}", value);
}

SafetensorsMetadata encode(const CheckpointState& state) {
  SafetensorsMetadata metadata{{"format", "pt"},
                               {version_key, version},
                               {"model", state.model},
                               {"steps", std::to_string(state.steps)},
                               {"epoch", std::to_string(state.epoch)},
                               {"seed", std::to_string(state.seed)},
                               {"threads", std::to_string(state.threads)},
                               {"loss", hex(state.loss)}};
  for (const auto& [name, value] : state.options) metadata[option_prefix + name] = value;
  return metadata;
}

template <class T>
T number(const std::string& path, const SafetensorsMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) fail("{}: the checkpoint does not say its '{}'", path, key);
  const std::string& text = found->second;
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{}: '{}' of the checkpoint is '{}', which is no number", path, key, text);
  return value;
}

CheckpointState decode(const std::string& path, const SafetensorsMetadata& metadata) {
  const auto found = metadata.find(version_key);
  if (found == metadata.end())
    fail("{}: the file holds tensors but is no checkpoint of a training run", path);
  if (found->second != version)
    fail("{}: the checkpoint has version {}, expected {}", path, found->second, version);
  CheckpointState state;
  state.steps = number<std::int64_t>(path, metadata, "steps");
  state.epoch = number<std::int64_t>(path, metadata, "epoch");
  state.seed = number<std::uint64_t>(path, metadata, "seed");
  state.threads = number<int>(path, metadata, "threads");
  if (state.steps < 0 || state.epoch < 0) fail("{}: the checkpoint counts {} steps", path, state.steps);
  const auto text = [&](const char* key) {
    const auto at = metadata.find(key);
    return at == metadata.end() ? std::string() : at->second;
  };
  state.model = text("model");
  state.loss = std::strtod(text("loss").c_str(), nullptr);
  const std::string_view prefix = option_prefix;
  for (const auto& [key, value] : metadata)
    if (key.starts_with(prefix)) state.options[key.substr(prefix.size())] = value;
  return state;
}

/// Over everything but itself. Lengths keep neighbours apart.
std::uint32_t checksum(const SafetensorsMetadata& metadata) {
  std::uint32_t crc = 0;
  for (const auto& [key, value] : metadata)
    if (key != checksum_key)
      crc = crc32c(fmt::format("{}:{}={}:{};", key.size(), key, value.size(), value), crc);
  return crc;
}

std::uint32_t checksum(const StoredTensor& tensor, std::span<const std::byte> data, std::uint32_t crc) {
  return crc32c(data, crc32c(fmt::format("{}:{}{}{};", tensor.name.size(), tensor.name, name_of(tensor.type),
                                         to_string(tensor.shape)),
                             crc));
}

std::string format_checksum(std::uint32_t crc) {
  return fmt::format("{:08x}", crc);
}

}  // namespace

void write_checkpoint(const std::string& path, const Graph& graph, HostStore& host,
                      const CheckpointState& state) {
  std::vector<StoredTensor> tensors;
  for (const Buffer& b : graph.buffers())
    if (is_persistent(b.kind)) tensors.push_back({b.name, stored_type(b.spec.dtype), b.spec.shape});
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  SafetensorsMetadata metadata = encode(state);
  std::uint32_t crc = checksum(metadata);
  for (const StoredTensor& tensor : tensors) crc = checksum(tensor, host.find(tensor.name), crc);
  metadata[checksum_key] = format_checksum(crc);
  SafetensorsWriter writer(path, std::move(tensors), metadata);
  for (const StoredTensor& tensor : writer.tensors()) writer.write(tensor.name, host.find(tensor.name));
  writer.commit();
}

CheckpointState read_checkpoint(const std::string& path) {
  const SafetensorsFile file(path);
  const CheckpointState state = decode(path, file.metadata());
  std::uint32_t crc = checksum(file.metadata());
  std::vector<std::byte> data;
  for (const StoredTensor& tensor : file.tensors()) {  // sorted by name
    data.resize(static_cast<std::size_t>(tensor.bytes()));
    file.read(tensor, data);
    crc = checksum(tensor, data, crc);
  }
  const auto expected = file.metadata().find(checksum_key);
  if (expected == file.metadata().end() || expected->second != format_checksum(crc))
    fail("{}: the checkpoint is damaged: its checksum is not that of its content", path);
  return state;
}

void load_checkpoint(const std::string& path, const Graph& graph, HostStore& host) {
  const SafetensorsFile file(path);
  Mismatches mismatches;
  for (const Buffer& buffer : graph.buffers()) {
    if (!is_persistent(buffer.kind)) continue;
    const StoredTensor* tensor = file.find(buffer.name);
    if (!tensor)
      mismatches.add(fmt::format("'{}' is missing", buffer.name));
    else if (tensor->shape != buffer.spec.shape)
      mismatches.add(fmt::format("'{}' has shape {}, the model {}", buffer.name, to_string(tensor->shape),
                                 to_string(buffer.spec.shape)));
    else if (tensor->type != stored_type(buffer.spec.dtype))
      mismatches.add(fmt::format("'{}' has type {}, the model {}", buffer.name, name_of(tensor->type),
                                 name_of(stored_type(buffer.spec.dtype))));
  }
  for (const StoredTensor& tensor : file.tensors()) {
    const int id = graph.find_buffer(tensor.name);
    if (id < 0 || !is_persistent(graph.buffers()[static_cast<std::size_t>(id)].kind))
      mismatches.add(fmt::format("'{}' is not part of this run", tensor.name));
  }
  if (mismatches.any())
    fail("{}: the checkpoint does not fit '{}': {}", path, graph.name(), mismatches.text());
  for (const StoredTensor& tensor : file.tensors())
    file.read(tensor, host.reserve(tensor.name, tensor.bytes()));
}

void require_same_run(const std::string& path, const CheckpointState& there, const CheckpointState& here) {
  Mismatches mismatches;
  const auto compare = [&](const std::string& name, const std::string& a, const std::string& b) {
    if (a != b) mismatches.add(fmt::format("{} is {} there, {} here", name, a, b));
  };
  compare("model", there.model, here.model);
  compare("seed", std::to_string(there.seed), std::to_string(here.seed));
  std::map<std::string, std::pair<std::string, std::string>> options;
  for (const auto& [name, value] : there.options) options[name] = {value, "not set"};
  for (const auto& [name, value] : here.options) {
    const auto [at, is_new] = options.try_emplace(name, "not set", value);
    if (!is_new) at->second.second = value;
  }
  for (const auto& [name, values] : options) compare(name, values.first, values.second);
  if (mismatches.any()) fail("{}: the checkpoint is of another run: {}", path, mismatches.text());
}

int export_checkpoint(const std::string& path, const std::string& out, bool averages) {
  read_checkpoint(path);
  const SafetensorsFile file(path);
  std::vector<StoredTensor> tensors;
  bool any_average = false;
  for (const StoredTensor& tensor : file.tensors()) {
    any_average = any_average || tensor.name.starts_with(names::ema_prefix);
    if (!tensor.name.starts_with(names::optimizer_prefix))
      tensors.push_back({tensor.name, tensor.type, tensor.shape});
  }
  if (averages && !any_average) fail("{}: the run kept no moving averages of its parameters", path);
  SafetensorsWriter writer(out, std::move(tensors));
  std::vector<std::byte> data;
  for (const StoredTensor& tensor : writer.tensors()) {
    const StoredTensor* source = averages ? file.find(names::ema_prefix + tensor.name) : nullptr;
    if (!source) source = file.find(tensor.name);  // states, and parameters that are frozen
    data.resize(static_cast<std::size_t>(source->bytes()));
    file.read(*source, data);
    writer.write(tensor.name, data);
  }
  writer.commit();
  return static_cast<int>(writer.tensors().size());
}

}  // namespace swapadvisor
