// Parts of a plan as JSON, for the command line.
#pragma once

#include <swapadvisor/core/program.h>

#include <nlohmann/json_fwd.hpp>

namespace swapadvisor {

/// The `predicted` and `search` objects of a plan.
nlohmann::ordered_json predicted_json(const Prediction& prediction);
nlohmann::ordered_json search_json(const SearchReport& search);

}  // namespace swapadvisor
