// Which source the program was made from.
#pragma once

#include <string_view>

namespace swapadvisor {

/// The commit, with "-dirty" after it when files differed from it; "unknown" when the source was not a git
/// checkout.
extern const std::string_view source_commit;

}  // namespace swapadvisor
