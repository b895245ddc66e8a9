// Graph, device and plan files: JSON, version 1. Sizes in bytes, times in seconds, bandwidths
// in bytes per second. Files come from anywhere: everything is checked before it is believed. Unknown fields
// are ignored.
#pragma once

#include <swapadvisor/core/program.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace swapadvisor {

/// Parses, checks and returns. `source` names the text in messages: a file name. Throws `Error` naming
/// source, entry and numbers: bad JSON, wrong format or version, missing or mistyped fields, numbers out of
/// range, repeated buffer names, buffers that do not exist; graphs pass `check`, devices `check`, programs
/// `check_indices`.
PlanGraph graph_from_json(std::string_view text, const std::string& source);
DeviceSpec device_from_json(std::string_view text, const std::string& source);
Program plan_from_json(std::string_view text, const std::string& source);

/// One line per buffer, op and instruction. Doubles are written so that they read back bit for bit; unbounded
/// sizes and default values of waits are left out. Throws `Error` when a name is not UTF-8 or a number not
/// finite.
std::string graph_to_json(const PlanGraph& graph);
std::string device_to_json(const DeviceSpec& device);
std::string plan_to_json(const Program& program);

/// The same from and to files. Writes are atomic (`AtomicFile`).
PlanGraph read_graph(const std::string& path);
DeviceSpec read_device(const std::string& path);
Program read_plan(const std::string& path);
void write_graph(const std::string& path, const PlanGraph& graph);
void write_device(const std::string& path, const DeviceSpec& device);
void write_plan(const std::string& path, const Program& program);

/// The `predicted` and `search` objects of a plan, for the command line's JSON.
nlohmann::ordered_json predicted_json(const Prediction& prediction);
nlohmann::ordered_json search_json(const SearchReport& search);

}  // namespace swapadvisor
