// Graph, device and plan files: JSON, version 1. Sizes in bytes, times in seconds, bandwidths
// in bytes per second. Files come from anywhere: everything is checked before it is believed. Unknown fields
// are ignored.
#pragma once

#include <swapadvisor/core/program.h>

#include <string>
#include <string_view>

namespace swapadvisor {

/// Parses, checks and returns. `source` names the text in messages: a file name. Throws `Error` naming
/// source, entry and numbers: bad JSON, wrong format or version, missing or mistyped fields, numbers out of
/// range, repeated buffer names, buffers that do not exist; graphs pass `check`, devices `check`, programs
/// `check_indices`.
PlanGraph graph_from_json(std::string_view text, const std::string& source);
/// The same for a device file.
DeviceSpec device_from_json(std::string_view text, const std::string& source);
/// The same for a plan file.
Program plan_from_json(std::string_view text, const std::string& source);

/// One line per buffer, op and instruction. Doubles are written so that they read back bit for bit; unbounded
/// sizes and default values of waits are left out. Throws `Error` when a name is not UTF-8 or a number not
/// finite.
std::string graph_to_json(const PlanGraph& graph);
/// The text of a device file.
std::string device_to_json(const DeviceSpec& device);
/// The text of a plan file.
std::string plan_to_json(const Program& program);

/// `graph_from_json` of a file. Writes of files are atomic (`AtomicFile`).
PlanGraph read_graph(const std::string& path);
/// `device_from_json` of a file.
DeviceSpec read_device(const std::string& path);
/// `plan_from_json` of a file.
Program read_plan(const std::string& path);
/// `graph_to_json` to a file.
void write_graph(const std::string& path, const PlanGraph& graph);
/// `device_to_json` to a file.
void write_device(const std::string& path, const DeviceSpec& device);
/// `plan_to_json` to a file.
void write_plan(const std::string& path, const Program& program);

}  // namespace swapadvisor
