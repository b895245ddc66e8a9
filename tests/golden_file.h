// Golden values in tests/golden/, made by scripts/golden_*.py.
#pragma once

#include <swapadvisor/core/file.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace swapadvisor {

inline nlohmann::json golden_file(const std::string& name) {
  const auto path = std::filesystem::path(SWAPADVISOR_TEST_DATA).parent_path() / "golden" / name;
  return nlohmann::json::parse(read_file(path.string(), 1 << 24));
}

}  // namespace swapadvisor
