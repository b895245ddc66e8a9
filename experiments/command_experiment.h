// `swapadvisor experiment`.
#pragma once

#include <CLI/CLI.hpp>

namespace swapadvisor {

void add_experiment_command(CLI::App& app);

}  // namespace swapadvisor
