// IDX files, the format of the MNIST database: big-endian 00 00 TYPE RANK, RANK 32-bit dimensions, then the
// elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swapadvisor {

/// The content of an IDX file.
struct IdxArray {
  std::vector<std::int64_t> dims;   ///< outermost first, each at least 1
  std::vector<std::uint8_t> bytes;  ///< row major
};

/// Reads an IDX file of unsigned bytes, plain or gzipped (the content tells which). Throws `Error` naming the
/// file when it is not one, has another rank, is truncated or corrupt, has bytes left over, or has no
/// elements. Memory grows with the bytes found, not with what the header claims.
IdxArray read_idx(const std::string& path, int rank);

}  // namespace swapadvisor
