#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "program_builder.h"

namespace swapadvisor {
namespace {

using nlohmann::json;

const char* const graph_text = R"({"format":"swapadvisor.graph","version":1,"name":"g","extra":{"a":[1]},
"buffers":[{"name":"x","bytes":100,"kind":"input","color":"red"},{"name":"w","bytes":4e3,"kind":"parameter"},
           {"name":"m","bytes":8,"kind":"state"},{"name":"t","bytes":1,"kind":"temporary"},
           {"name":"loss","bytes":4,"kind":"output"}],
"ops":[{"name":"f","type":"matmul","inputs":[0,1],"outputs":[3],"workspace_bytes":64,"seconds":0.0012,
        "recomputable":true,"inplace":true,"algorithm":"cuDNN forward 1 fma"},
       {"name":"g","type":"sum","inputs":[3],"outputs":[4],"seconds":1}]})";

template <class Parse>
std::string error_of(Parse parse, const std::string& text) {
  try {
    parse(text, "some.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Changes the JSON of a valid file, expects the reader to refuse it and to say why.
void refuses(const std::string& valid, const std::function<void(json&)>& change, const std::string& part) {
  json value = json::parse(valid);
  change(value);
  const std::string text = value.dump();
  const std::string error =
      valid.find("swapadvisor.plan") != std::string::npos    ? error_of(plan_from_json, text)
      : valid.find("swapadvisor.graph") != std::string::npos ? error_of(graph_from_json, text)
                                                             : error_of(device_from_json, text);
  EXPECT_EQ(error.find("some.json"), 0u) << error;
  EXPECT_NE(error.find(part), std::string::npos) << "'" << error << "' lacks '" << part << "'";
}

TEST(PlanFile, ReadsAGraph) {
  const PlanGraph graph = graph_from_json(graph_text, "g.json");
  EXPECT_EQ(graph.name, "g");
  ASSERT_EQ(graph.buffers.size(), 5u);
  EXPECT_EQ(graph.buffers[1].bytes, 4000);
  EXPECT_EQ(graph.buffers[2].kind, BufferKind::state);
  ASSERT_EQ(graph.ops.size(), 2u);
  EXPECT_EQ(graph.ops[0].inputs, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(graph.ops[0].workspace_bytes, 64);
  EXPECT_EQ(graph.ops[0].seconds, 0.0012);
  EXPECT_TRUE(graph.ops[0].recomputable && graph.ops[0].inplace);
  EXPECT_EQ(graph.ops[0].algorithm, "cuDNN forward 1 fma");
  EXPECT_EQ(graph.ops[1].algorithm, "");
  EXPECT_EQ(graph.ops[1].workspace_bytes, 0);
  EXPECT_FALSE(graph.ops[1].recomputable || graph.ops[1].inplace);
}

TEST(PlanFile, AlgorithmsAreWrittenWhereThereAreAny) {
  const json written = json::parse(graph_to_json(graph_from_json(graph_text, "g.json")));
  EXPECT_EQ(written["ops"][0]["algorithm"], "cuDNN forward 1 fma");
  EXPECT_FALSE(written["ops"][1].contains("algorithm"));
}

TEST(PlanFile, RefusesBadGraphs) {
  const auto bad = [](const std::function<void(json&)>& change, const std::string& part) {
    refuses(graph_text, change, part);
  };
  bad([](json& g) { g["format"] = "swapadvisor.plan"; },
      "has format 'swapadvisor.plan': expected 'swapadvisor.graph'");
  bad([](json& g) { g.erase("format"); }, "has no 'format'");
  bad([](json& g) { g["version"] = 2; }, "has version 2");
  bad([](json& g) { g = json::array(); }, "is not a JSON object");
  bad([](json& g) { g.erase("ops"); }, "has no 'ops'");
  bad([](json& g) { g["buffers"] = 3; }, "'buffers' is not an array");
  bad([](json& g) { g["buffers"][1] = 3; }, "buffer 1 is not a JSON object");
  bad([](json& g) { g["buffers"][1]["bytes"] = -5; }, "buffer 1 'w': 'bytes' is -5");
  bad([](json& g) { g["buffers"][1]["bytes"] = 0; }, "'bytes' is 0");
  bad([](json& g) { g["buffers"][1]["bytes"] = 1.5; }, "'bytes' is 1.5");
  bad([](json& g) { g["buffers"][1]["bytes"] = 1e300; }, "'bytes' is 1e+300");
  bad([](json& g) { g["buffers"][1]["bytes"] = std::numeric_limits<std::uint64_t>::max(); },
      "18446744073709551615");
  bad([](json& g) { g["buffers"][1]["bytes"] = "many"; }, "'bytes' is not a number");
  bad([](json& g) { g["buffers"][1]["bytes"] = nullptr; }, "'bytes' is not a number");
  bad([](json& g) { g["buffers"][1].erase("bytes"); }, "buffer 1 'w' has no 'bytes'");
  bad([](json& g) { g["buffers"][1]["kind"] = "weight"; }, "buffer 1 'w' has kind 'weight'");
  bad([](json& g) { g["buffers"][1]["name"] = "x"; }, "buffer 1 has the name of buffer 0, 'x'");
  bad([](json& g) { g["buffers"][1]["name"] = 7; }, "'name' is not a string");
  bad([](json& g) { g["ops"][1]["inputs"] = {5}; }, "op 1 'g' reads buffer 5, but there are 5 buffers");
  bad([](json& g) { g["ops"][1]["inputs"] = {-1}; }, "element 0 of 'inputs' is -1");
  bad([](json& g) { g["ops"][1]["inputs"] = {4294967296}; }, "is 4294967296");
  bad([](json& g) { g["ops"][1].erase("outputs"); }, "op 1 'g' has no 'outputs'");
  bad([](json& g) { g["ops"][1]["seconds"] = -1; }, "'seconds' is -1");
  bad([](json& g) { g["ops"][1]["seconds"] = nullptr; },
      "'seconds' is not a number");  // what NaN is written as
  bad([](json& g) { g["ops"][1].erase("seconds"); }, "has no 'seconds'");
  bad([](json& g) { g["ops"][1]["workspace_bytes"] = -1; }, "'workspace_bytes' is -1");
  bad([](json& g) { g["ops"][1]["inplace"] = 1; }, "'inplace' is not true or false");
  bad([](json& g) { std::swap(g["ops"][0], g["ops"][1]); }, "reads buffer 3 't' before any op writes it");
  bad([](json& g) { g["ops"][0]["outputs"] = {0}; }, "writes input buffer 'x'");
}

TEST(PlanFile, UnnamedBuffersMayRepeat) {
  json graph = json::parse(graph_text);
  for (json& buffer : graph["buffers"]) buffer.erase("name");
  EXPECT_EQ(graph_from_json(graph.dump(), "g").buffers[4].name, "");
}

TEST(PlanFile, RefusesWhatIsNotJson) {
  for (const std::string text :
       {"", "{", "nonsense", "{\"format\":\"\xff\xfe\"}", "{\"a\":[1e999]}", "{\"a\":NaN}", "{}{}", "\"",
        "\\\"[", "{\"format\":\"swapadvisor.graph\",}"}) {
    const std::string error = error_of(graph_from_json, text);
    EXPECT_EQ(error.find("some.json: not valid JSON"), 0u) << text << ": " << error;
  }
  std::string cut = graph_text;
  cut.resize(cut.size() / 2);
  EXPECT_NE(error_of(graph_from_json, cut).find("not valid JSON at byte"), std::string::npos);
  EXPECT_NE(error_of(graph_from_json, std::string("{\0}", 3)).find("not valid JSON"), std::string::npos);
}

TEST(PlanFile, SyntaxErrorsNameTheEntry) {
  const std::string text = graph_text;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return error_of(graph_from_json, changed);
  };
  EXPECT_EQ(with("0.0012", "NaN"),
            fmt::format("some.json: op 0 'f': not valid JSON at byte {}: NaN is no number",
                        text.find("0.0012") + 1));
  EXPECT_NE(with("0.0012", "-Infinity").find("Infinity is no number"), std::string::npos);
  EXPECT_NE(with("0.0012", "1e999").find("op 0 'f': not valid JSON: a number is out of range"),
            std::string::npos);
  EXPECT_EQ(with("\"sum\"", "\"\xc3\""),
            fmt::format("some.json: op 1 'g': not valid JSON at byte {}: text that is not UTF-8",
                        text.find("\"sum\"") + 3));
  EXPECT_NE(with("100,", "100;").find("some.json: buffer 0 'x': not valid JSON at byte"), std::string::npos);
}

TEST(PlanFile, FieldsGivenTwiceAreRefused) {
  const auto with = [&](const std::string& extra) {
    return error_of(graph_from_json, std::string(graph_text).insert(1, extra));
  };
  EXPECT_EQ(with(R"("version":1,)"), "some.json has 'version' twice");
  EXPECT_EQ(with(R"("ops":[],)"), "some.json has 'ops' twice");
  EXPECT_EQ(with(R"("more":1,"more":2,)"), "");  // of fields that nobody reads
  std::string text = graph_text;
  text.insert(text.find("\"kind\""), "\"bytes\":7,");
  EXPECT_EQ(error_of(graph_from_json, text), "some.json: buffer 0 'x' has 'bytes' twice");
}

// What comes first may name what comes later.
TEST(PlanFile, FieldsMayComeInAnyOrder) {
  const Program program = test::streamed_step();
  const json plan = json::parse(plan_to_json(program));
  nlohmann::ordered_json turned;
  for (const char* field : {"instructions", "resident", "graph", "device", "search", "predicted",
                            "host_bytes", "arena_bytes", "seed", "planner", "version", "format"})
    turned[field] = plan[field];
  EXPECT_EQ(plan_to_json(plan_from_json(turned.dump(), "plan.json")), plan_to_json(program));
}

TEST(PlanFile, DeepNestingIsRefused) {
  for (const char* open : {"{\"a\":", "{\"buffers\":[{\"name\":", "{\"name\":["}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += open;
    EXPECT_NE(error_of(graph_from_json, text).find("nested deeper than 64"), std::string::npos);
  }
  EXPECT_EQ(error_of(graph_from_json, std::string(1000000, '[')), "some.json is not a JSON object");
  std::string hidden = R"({"format":"swapadvisor.graph","version":1,"x":"\"",)" + std::string("\"y\":");
  hidden += std::string(1000000, '[') + std::string(1000000, ']') + "}";
  EXPECT_NE(error_of(graph_from_json, hidden).find("nested deeper than 64"), std::string::npos);
  // Brackets in strings are no nesting, and those of unknown fields are closed again.
  json graph = json::parse(graph_text);
  graph["name"] = std::string(1000, '[') + "\"" + std::string(1000, '{');
  for (int i = 0; i < 100; ++i) graph["unknown"].push_back(json::parse(R"({"a":[[1],{"b":{}}]})"));
  EXPECT_EQ(graph_from_json(graph.dump(), "g").name.size(), 2001u);
}

TEST(PlanFile, WhatWouldTakeMuchMemoryIsRefused) {
  const std::string begin = R"({"format":"swapadvisor.graph","version":1,"x":)", long_text(2 << 20, '7');
  for (const std::string& token : {long_text, "\"" + long_text + "\"", "[1,\"\\\"" + long_text + "\"]"})
    EXPECT_NE(error_of(graph_from_json, begin + token + "}").find("is longer than 1048576 bytes"),
              std::string::npos);
  EXPECT_NE(error_of(graph_from_json, begin + "1,\"" + long_text + "\":2}").find("is longer than"),
            std::string::npos);
  std::string zeros = "0";
  for (int i = 0; i < 1100000; ++i) zeros += ",0";
  const std::string ops =
      R"({"format":"swapadvisor.graph","version":1,"buffers":[],"ops":[{"name":"wide","inputs":[)";
  EXPECT_EQ(error_of(graph_from_json, ops + zeros + "]}]}"),
            "some.json: op 0 'wide' has more than 1048576 parts");
  // Unknown fields may be of any size: they are not kept.
  json graph = json::parse(graph_text);
  std::string text = graph.dump();
  text.insert(1, "\"unknown\":[" + zeros + "],");
  EXPECT_EQ(graph_from_json(text, "g").ops.size(), 2u);
}

TEST(PlanFile, OneHugeOpIsCheckedQuickly) {
  PlanGraph graph;
  PlanOp op;
  for (std::int32_t b = 0; b < 200000; ++b) {
    graph.buffers.push_back({"", 1, BufferKind::parameter});
    op.inputs.push_back(b);
    op.outputs.push_back(b);
  }
  graph.ops = {op};
  EXPECT_TRUE(same_structure(graph_from_json(graph_to_json(graph), "g"), graph));
  graph.ops[0].outputs.back() = 5;
  EXPECT_EQ(error_of(graph_from_json, graph_to_json(graph)), "some.json: op 0 '' writes buffer 5 twice");
}

TEST(PlanFile, GraphsSurviveARoundTrip) {
  PlanGraph graph = graph_from_json(graph_text, "g.json");
  graph.name = "with \"quotes\", \\ and µ\n";
  const double awkward[] = {0.1, 1.0 / 3, 5e-324, 0.0};
  for (double seconds : awkward) {
    graph.ops[0].seconds = seconds;
    const PlanGraph read = graph_from_json(graph_to_json(graph), "again");
    EXPECT_TRUE(same_structure(graph, read));
    EXPECT_EQ(read.name, graph.name);
    EXPECT_EQ(read.ops[0].seconds, seconds);  // bit for bit
    EXPECT_EQ(graph_to_json(read), graph_to_json(graph));
  }
}

TEST(PlanFile, WritingRefusesWhatCannotBeRead) {
  PlanGraph graph = graph_from_json(graph_text, "g.json");
  graph.ops[0].seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(graph_to_json(graph), Error);
  graph.ops[0].seconds = 1;
  graph.ops[0].name = "\xff";
  EXPECT_THROW(graph_to_json(graph), Error);
}

TEST(PlanFile, DeviceDefaults) {
  const DeviceSpec device = device_from_json(
      R"({"format":"swapadvisor.device","version":1,"h2d_bytes_per_second":3e9,"d2h_bytes_per_second":2e9})",
      "d.json");
  EXPECT_EQ(device.name, "");
  EXPECT_EQ(device.memory_bytes, DeviceSpec::unbounded);
  EXPECT_EQ(device.host_bytes, DeviceSpec::unbounded);
  EXPECT_EQ(device.duplex_bytes_per_second, 5e9);
  EXPECT_EQ(device.copy_latency_seconds, 0);
  EXPECT_EQ(device.compute_slowdown_while_copying, 1);
  const json written = json::parse(device_to_json(device));
  EXPECT_FALSE(written.contains("memory_bytes"));
  EXPECT_FALSE(written.contains("host_bytes"));
  EXPECT_EQ(device_from_json(device_to_json(device), "d").memory_bytes, DeviceSpec::unbounded);
}

TEST(PlanFile, RefusesBadDevices) {
  const std::string valid = device_to_json(find_device("v100-16g"));
  const auto bad = [&](const std::function<void(json&)>& change, const std::string& part) {
    refuses(valid, change, part);
  };
  bad([](json& d) { d["memory_bytes"] = -1; }, "'memory_bytes' is -1");
  bad([](json& d) { d["host_bytes"] = 0.5; }, "'host_bytes' is 0.5");
  bad([](json& d) { d["h2d_bytes_per_second"] = 0; },
      "a link of 0 and 12000000000 bytes per second: expected 1 to 1e+18");
  bad([](json& d) { d["d2h_bytes_per_second"] = 5e-324; }, "expected 1 to 1e+18");
  bad([](json& d) { d["h2d_bytes_per_second"] = 1e300; }, "expected 1 to 1e+18");
  bad([](json& d) { d["duplex_bytes_per_second"] = 1e-300; }, "a duplex cap of 1e-300 bytes per second");
  bad([](json& d) { d["d2h_bytes_per_second"] = -2e9; }, "'d2h_bytes_per_second' is -2000000000");
  bad([](json& d) { d.erase("d2h_bytes_per_second"); }, "has no 'd2h_bytes_per_second'");
  bad([](json& d) { d["duplex_bytes_per_second"] = "fast"; }, "is not a number");
  bad([](json& d) { d["copy_latency_seconds"] = -1e-6; }, "'copy_latency_seconds' is -1e-06");
  bad([](json& d) { d["compute_slowdown_while_copying"] = 0.5; }, "is 0.5: expected 1");
  bad([](json& d) { d["format"] = "swapadvisor.graph"; }, "expected 'swapadvisor.device'");
}

TEST(PlanFile, PlansSurviveARoundTrip) {
  for (Program program : {test::streamed_step(), test::resident_step(true), test::resident_step(false)}) {
    program.predicted = simulate(program);
    program.predicted.fallback_bytes = 77;
    program.seed = std::numeric_limits<std::uint64_t>::max();
    program.search = {1.0 / 3, 1234, {{0.1, 5.5}, {0.7, 1.0 / 3}}};
    const std::string text = plan_to_json(program);
    const Program read = plan_from_json(text, "plan.json");
    EXPECT_EQ(plan_to_json(read), text);
    EXPECT_TRUE(same_structure(read.graph, program.graph));
    EXPECT_EQ(read.planner, "hand");
    EXPECT_EQ(read.seed, program.seed);
    EXPECT_EQ(read.arena_bytes, program.arena_bytes);
    EXPECT_EQ(read.host_bytes, program.host_bytes);
    ASSERT_EQ(read.instructions.size(), program.instructions.size());
    for (std::size_t i = 0; i < read.instructions.size(); ++i) {
      EXPECT_EQ(read.instructions[i].kind, program.instructions[i].kind);
      EXPECT_EQ(read.instructions[i].target, program.instructions[i].target);
      EXPECT_EQ(read.instructions[i].offsets, program.instructions[i].offsets);
      EXPECT_EQ(read.instructions[i].wait, program.instructions[i].wait);
      EXPECT_EQ(read.instructions[i].wait_previous, program.instructions[i].wait_previous);
    }
    EXPECT_EQ(read.predicted.iteration_seconds, program.predicted.iteration_seconds);
    EXPECT_EQ(read.predicted.fallback_bytes, 77);
    EXPECT_EQ(read.search.history, program.search.history);
    EXPECT_TRUE(verify(read).valid);
  }
}

TEST(PlanFile, PlanMayLackPredictionAndSearch) {
  json plan = json::parse(plan_to_json(test::streamed_step()));
  plan.erase("predicted");
  plan.erase("search");
  plan.erase("host_bytes");
  plan.erase("resident");
  const Program read = plan_from_json(plan.dump(), "plan.json");
  EXPECT_EQ(read.predicted.iteration_seconds, 0);
  EXPECT_TRUE(verify(read).valid);  // host_bytes: as many as needed
}

TEST(PlanFile, RefusesBadPlans) {
  const std::string valid = plan_to_json(test::resident_step(true));
  const auto bad = [&](const std::function<void(json&)>& change, const std::string& part) {
    refuses(valid, change, part);
  };
  bad([](json& p) { p["version"] = 0; }, "has version 0");
  bad([](json& p) { p.erase("graph"); }, "has no 'graph'");
  bad([](json& p) { p["graph"]["buffers"][2]["bytes"] = -1; },
      "some.json: graph: buffer 2 'h': 'bytes' is -1");
  bad([](json& p) { p["device"]["h2d_bytes_per_second"] = -1; },
      "some.json: device: 'h2d_bytes_per_second' is -1");
  bad([](json& p) { p["seed"] = -1; }, "'seed' is not a whole number");
  bad([](json& p) { p["arena_bytes"] = -1; }, "'arena_bytes' is -1");
  bad([](json& p) { p.erase("arena_bytes"); }, "has no 'arena_bytes'");
  bad([](json& p) { p["instructions"][0]["do"] = "free"; }, "instruction 0 has do 'free'");
  bad([](json& p) { p["instructions"][0]["stream"] = "out"; },
      "instruction 0 has stream 'out': a swap_in is on 'in'");
  bad([](json& p) { p["instructions"][0]["buffer"] = 6; },
      "instruction 0 names buffer 6, but there are 6 buffers");
  bad([](json& p) { p["instructions"][0].erase("offset"); }, "instruction 0 has no 'offset'");
  bad([](json& p) { p["instructions"][1]["op"] = 5; }, "instruction 1 names op 5, but there are 5 ops");
  bad(
      [](json& p) {
        p["instructions"][1]["offsets"] = {0, 256};
      },
      "instruction 1 (run of op 0 'forward') has 2 offsets");
  bad([](json& p) { p["instructions"][1]["offsets"][0] = -256; }, "element 0 of 'offsets' is -256");
  bad([](json& p) { p["instructions"][1]["wait"] = {1}; }, "waits for instruction 1, which is not earlier");
  bad([](json& p) { p["instructions"][1]["wait"] = {100}; },
      "waits for instruction 100, which is not earlier");
  bad([](json& p) { p["instructions"][1]["wait_previous"] = {8}; },
      "waits for instruction 8 of the previous iteration, but there are 8");
  bad([](json& p) { p["instructions"][1]["wait"] = 0; }, "'wait' is not an array");
  bad([](json& p) { p["resident"][0]["buffer"] = 99; }, "resident 0 is buffer 99, but there are 6 buffers");
  bad([](json& p) { p["resident"][0]["dirty"] = "no"; }, "'dirty' is not true or false");
  bad([](json& p) { p["predicted"]["efficiency"] = "high"; }, "predicted: 'efficiency' is not a number");
  bad([](json& p) { p["search"]["history"] = {1}; }, "search: entry 0 of 'history' is not a pair");
}

TEST(PlanFile, FilesAreWrittenWholeAndErrorsNameThem) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "swapadvisor-plan-file";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "plan.json").string();
  const Program program = test::streamed_step();
  write_plan(path, program);
  EXPECT_EQ(plan_to_json(read_plan(path)), plan_to_json(program));
  write_graph(path, program.graph);
  EXPECT_TRUE(same_structure(read_graph(path), program.graph));
  try {
    read_plan(path);
    FAIL() << "a graph was read as a plan";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  write_device(path, program.device);
  EXPECT_EQ(find_device(path).memory_bytes, program.device.memory_bytes);
  std::filesystem::remove_all(folder);
  EXPECT_THROW(read_graph(path), Error);
}

TEST(PlanFile, NamedDevicesAreValidAndListed) {
  EXPECT_EQ(find_device("v100-16g").memory_bytes, 15200000000);
  EXPECT_EQ(find_device("v100-16g").duplex_bytes_per_second, 20e9);
  EXPECT_EQ(find_device("v100-16g").copy_latency_seconds, 10e-6);
  for (const DeviceSpec& device : named_devices()) {
    EXPECT_NO_THROW(check(device)) << device.name;
    EXPECT_EQ(find_device(device.name).memory_bytes, device.memory_bytes);
  }
  try {
    find_device("tpu");
    FAIL();
  } catch (const Error& error) {
    for (const DeviceSpec& device : named_devices())
      EXPECT_NE(std::string(error.what()).find(device.name), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace swapadvisor
