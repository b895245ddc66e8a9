// SHA-256 (FIPS 180-4): names of things by their content.
#pragma once

#include <string>
#include <string_view>

namespace swapadvisor {

/// The SHA-256 of `bytes` as 64 lower-case hex digits. Thread-safe.
std::string sha256_hex(std::string_view bytes);

}  // namespace swapadvisor
