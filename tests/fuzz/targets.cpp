#include "targets.h"

#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/cifar.h>
#include <swapadvisor/train/idx.h>
#include <swapadvisor/train/image_file.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/tokenizer.h>
#include <swapadvisor/train/unicode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../temporary_folder.h"

namespace swapadvisor::fuzz {
namespace {

constexpr const char* source = "fuzzed file";

// Runs a reader on a source of that name. A refusal says which file it is about.
template <class Read>
bool accepts(const std::string& name, Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    SWAPADVISOR_ASSERT(std::string_view(error.what()).find(name) != std::string_view::npos,
                       "an error does not name the file: {}", error.what());
    return false;
  }
}

// What was read must come back from what is written of it.
bool graph(std::string_view bytes) {
  return accepts(source, [&] {
    const PlanGraph graph = graph_from_json(bytes, source);
    const std::string text = graph_to_json(graph);
    SWAPADVISOR_ASSERT(same_structure(graph_from_json(text, source), graph), "another graph: {}", text);
  });
}

bool device(std::string_view bytes) {
  return accepts(source, [&] {
    const std::string text = device_to_json(device_from_json(bytes, source));
    SWAPADVISOR_ASSERT(device_to_json(device_from_json(text, source)) == text, "another device: {}", text);
  });
}

// A plan that is read may still be wrong: the verifier says so, and what it approves of can be simulated.
bool plan(std::string_view bytes) {
  return accepts(source, [&] {
    const Program program = plan_from_json(bytes, source);
    const std::string text = plan_to_json(program);
    SWAPADVISOR_ASSERT(plan_to_json(plan_from_json(text, source)) == text, "another plan: {}", text);
    const Verdict verdict = verify(program);
    if (!verdict.valid) fail("{}: not valid: {}", source, verdict.error);
    const Prediction prediction = simulate(program);
    SWAPADVISOR_ASSERT(prediction.iteration_seconds >= 0 && std::isfinite(prediction.efficiency),
                       "iteration seconds {}, efficiency {}", prediction.iteration_seconds,
                       prediction.efficiency);
  });
}

// Every planner plans what it accepts, at a tight limit and an ample one.
bool planners(std::string_view bytes) {
  return accepts(source, [&] {
    const PlanGraph graph = graph_from_json(bytes, source);
    if (graph.ops.size() > 30) fail("{} is too large to fuzz", source);
    const std::int64_t needed = device_bytes_needed(graph);
    for (const std::int64_t percent : {100, 60, 30})
      for (const PlannerInfo& info : planner_list()) {
        PlanRequest request;
        request.graph = &graph;
        request.device = find_device("v100-16g");
        request.device.memory_bytes = percent == 100 ? needed : needed / 100 * percent;
        request.search_evaluations = 20;
        try {
          const Verdict verdict = verify(make_planner(info.name)->plan(request));
          SWAPADVISOR_ASSERT(verdict.valid, "{} at {} %: {}", info.name, percent, verdict.error);
        } catch (const Error& error) {
          SWAPADVISOR_ASSERT(percent < 100, "{} at {} %: {}", info.name, percent, error.what());
        }
      }
  });
}

const TemporaryFolder& folder() {
  static const TemporaryFolder one;
  return one;
}

bool safetensors(std::string_view bytes) {
  const std::string path = folder().write("weights.safetensors", bytes);
  return accepts(path, [&] {
    const SafetensorsFile file(path);
    for (const StoredTensor& tensor : file.tensors()) {
      std::vector<std::byte> data(static_cast<std::size_t>(tensor.bytes()));
      file.read(tensor, data);
      SWAPADVISOR_ASSERT(file.find(tensor.name) == &tensor, "'{}' is not found", tensor.name);
    }
  });
}

bool idx(std::string_view bytes) {
  const std::string path = folder().write("array-idx-ubyte", bytes);
  bool accepted = false;
  for (int rank : {1, 3})
    accepted |= accepts(path, [&] {
      const IdxArray array = read_idx(path, rank);
      std::int64_t count = 1;
      for (std::int64_t d : array.dims) count *= d;
      SWAPADVISOR_ASSERT(std::ssize(array.bytes) == count, "{} bytes of {}", array.bytes.size(), count);
    });
  return accepted;
}

bool cifar(std::string_view bytes) {
  bool accepted = false;
  for (const auto& [kind, name] :
       {std::pair{Cifar::cifar10, "test_batch.bin"}, {Cifar::cifar100, "test.bin"}}) {
    const std::string path = folder().write(name, bytes);
    accepted |= accepts(path, [&, kind = kind] {
      const auto images = open_cifar(kind, folder().path(), Split::test);
      std::vector<std::uint8_t> pixels(static_cast<std::size_t>(images->image_bytes()));
      for (std::int64_t i = 0; i < images->size(); ++i) {
        images->image(i, pixels);
        SWAPADVISOR_ASSERT(images->label(i) >= 0 && images->label(i) < images->classes(), "label {}",
                           images->label(i));
      }
    });
  }
  return accepted;
}

constexpr std::string_view sample_text = "The light, it's 12 naïve\n\tÉtudes 漢字 \xff\xe2\x82!";

// Whatever a vocabulary holds, the ids of a text lie within it.
void encode_with(const Tokenizer& tokenizer) {
  for (std::int32_t id : tokenizer.encode(sample_text))
    SWAPADVISOR_ASSERT(id >= 0 && id < tokenizer.vocab(), "id {} of {}", id, tokenizer.vocab());
}

bool wordpiece(std::string_view bytes) {
  const std::string path = folder().write("vocab.txt", bytes);
  return accepts(path, [&] { encode_with(*open_wordpiece(path)); });
}

/// GPT-2's names of the bytes, ids by name, and two longer tokens.
std::string byte_vocab() {
  nlohmann::json ids;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    std::string name;
    const bool prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    unicode::append(name, prints ? byte : next++);
    ids[name] = static_cast<int>(byte);
  }
  ids["th"] = 256;
  ids["the"] = 257;
  return ids.dump();
}

bool vocab(std::string_view bytes) {
  const std::string path = folder().write("vocab.json", bytes), merges = folder().write("no-merges.txt", "");
  return accepts(path, [&] { encode_with(*open_byte_pair(path, merges)); });
}

bool merges(std::string_view bytes) {
  static const std::string known = folder().write("bytes.json", byte_vocab());
  const std::string path = folder().write("merges.txt", bytes);
  return accepts(path, [&] { encode_with(*open_byte_pair(known, path)); });
}

bool image(std::string_view bytes) {
  return accepts(source, [&] {
    const RgbImage decoded = decode_image(bytes, source);
    SWAPADVISOR_ASSERT(std::ssize(decoded.pixels) == 3 * decoded.width * decoded.height, "{} bytes of {}×{}",
                       decoded.pixels.size(), decoded.width, decoded.height);
  });
}

}  // namespace

std::span<const Target> targets() {
  static constexpr Target all[] = {{"graph", graph},
                                   {"device", device},
                                   {"plan", plan},
                                   {"planners", planners},
                                   {"safetensors", safetensors},
                                   {"idx", idx},
                                   {"cifar", cifar},
                                   {"wordpiece", wordpiece},
                                   {"vocab", vocab},
                                   {"merges", merges},
                                   {"image", image}};
  return all;
}

}  // namespace swapadvisor::fuzz
