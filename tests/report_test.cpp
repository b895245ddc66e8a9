#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <program_builder.h>
#include <swapadvisor/train/report.h>
#include <swapadvisor/train/report_json.h>
#include <temporary_folder.h>

#include <map>
#include <nlohmann/json.hpp>

namespace swapadvisor {
namespace {

using report::Analysis;
using report::Occupant;
using report::Reference;
using report::StallCause;

const auto none = std::optional<Reference>();

Reference ref(std::int32_t instruction, std::int32_t iteration = 0) {
  return {instruction, iteration};
}

// Bytes in use right after `seconds`.
report::MemoryStep memory_at(const Analysis& analysis, double seconds) {
  report::MemoryStep last;
  for (const report::MemoryStep& step : analysis.memory)
    if (step.seconds <= seconds + 1e-9) last = step;
  return last;
}

std::int64_t bytes_of(const report::MemoryStep& step, Occupant occupant) {
  return step.bytes[static_cast<std::size_t>(occupant)];
}

// The link moves 10 bytes per second each way. Of each iteration only x comes in (25.6 s, as soon as forward
// has read the x before) and loss goes out, so forward is 28.6 s after the one before; the ops after it take
// 8 s. From the end of sgd: x arrives at 17.6, forward is done at 20.6, act at 21.6, lossop at 22.6, backward
// at 26.6, sgd at 28.6; loss travels until 48.2.
TEST(Report, ShowsTheSteadyIterationOnTheClock) {
  const Analysis analysis = report::analyse(test::resident_step(false));
  EXPECT_NEAR(analysis.seconds, 28.6, 1e-9);
  EXPECT_NEAR(analysis.first, -8, 1e-9);  // x of this iteration leaves the host
  EXPECT_NEAR(analysis.last, 48.2, 1e-9);
  std::map<std::int32_t, report::Span> own;
  for (const auto& stream : analysis.spans)
    for (const report::Span& span : stream)
      if (span.iteration == 0) own[span.instruction] = span;
  ASSERT_EQ(own.size(), 7u);
  const double ends[] = {17.6, 20.6, 21.6, 22.6, 48.2, 26.6, 28.6};
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(own[i].end, ends[i], 1e-9) << i;
  EXPECT_EQ(own[0].blocker, ref(1, -1));  // forward of the iteration before
  EXPECT_EQ(own[1].blocker, ref(0));
  EXPECT_EQ(own[2].blocker, none);
  EXPECT_EQ(own[4].blocker, ref(3));
}

TEST(Report, AStallBehindNoOtherCopyIsALateStart) {
  const Analysis analysis = report::analyse(test::resident_step(false));
  ASSERT_EQ(analysis.stalls.size(), 1u);
  const report::Stall& stall = analysis.stalls[0];
  EXPECT_EQ(stall.instruction, 1);
  EXPECT_NEAR(stall.begin, 0, 1e-9);
  EXPECT_NEAR(stall.end, 17.6, 1e-9);
  EXPECT_EQ(stall.blocker, ref(0));
  EXPECT_EQ(stall.cause, StallCause::dependency);
  EXPECT_EQ(stall.queued, 0);
  EXPECT_NEAR(stall.queue_begin, -8, 1e-9);
  EXPECT_EQ(stall.root, ref(1, -1));
}

// a (10 s) and b (20 s) follow each other without a pause, once the op before has read the old ones.
TEST(Report, AStallBehindOtherCopiesIsABusyLink) {
  test::ProgramBuilder b;
  b.buffer("a", 100, BufferKind::parameter);
  b.buffer("b", 200, BufferKind::parameter);
  b.buffer("c", 50, BufferKind::temporary);
  b.op("f", {0, 1}, {2});
  b.in(0, 0, {}, {2});
  b.in(1, 256, {}, {2});
  b.run(0, {0, 256, 512}, {1});
  const Analysis analysis = report::analyse(b.take());
  EXPECT_NEAR(analysis.seconds, 31, 1e-9);
  ASSERT_EQ(analysis.stalls.size(), 1u);
  const report::Stall& stall = analysis.stalls[0];
  EXPECT_NEAR(stall.end - stall.begin, 30, 1e-9);
  EXPECT_EQ(stall.blocker, ref(1));
  EXPECT_EQ(stall.cause, StallCause::link);
  EXPECT_EQ(stall.queued, 1);
  EXPECT_NEAR(stall.queue_begin, 0, 1e-9);
  EXPECT_EQ(stall.root, ref(2, -1));
}

TEST(Report, MemoryInUseFollowsFirstAndLastAccesses) {
  const Analysis analysis = report::analyse(test::resident_step(false));
  // x 256, w 512, h 1024, y 512, loss 256, gw 512, workspace of act 256
  EXPECT_EQ(memory_at(analysis, 17.6).total(), 256 + 512 + 1024 + 256);  // loss of the iteration before
  EXPECT_EQ(memory_at(analysis, 19.6).total(), 256 + 512 + 1024);        // is out
  EXPECT_EQ(memory_at(analysis, 20.6).total(),
            256 + 512 + 1024 + 512 + 256);  // the next x moves in behind the last
  EXPECT_EQ(memory_at(analysis, 21.6).total(),
            256 + 512 + 1024 + 512 + 256);  // the workspace went, loss came
  EXPECT_EQ(memory_at(analysis, 22.6).total(), 256 + 512 + 1024 + 512 + 256 + 512);
  EXPECT_EQ(memory_at(analysis, 26.6).total(), 256 + 512 + 256 + 512);
  EXPECT_EQ(memory_at(analysis, 28.6).total(), 256 + 512 + 256);
  const report::MemoryStep act = memory_at(analysis, 20.7);
  EXPECT_EQ(bytes_of(act, Occupant::workspace), 256);
  EXPECT_EQ(bytes_of(act, Occupant::parameter), 512);
  EXPECT_EQ(bytes_of(act, Occupant::temporary), 1024 + 512);
  EXPECT_EQ(bytes_of(act, Occupant::input), 256);
  EXPECT_EQ(bytes_of(act, Occupant::output), 0);
  EXPECT_EQ(analysis.memory.back().total(),
            0);  // all that came went: the last step is the end of what is told
}

TEST(Report, WhatIsMadeAgainCountsAsRecomputed) {
  const Analysis analysis = report::analyse(test::streamed_step());
  std::vector<Occupant> stays_of_y;
  for (const report::Stay& stay : analysis.stays)
    if (stay.occupant != Occupant::workspace && stay.target == 3 && stay.placed_by &&
        stay.placed_by->iteration == 0)
      stays_of_y.push_back(stay.occupant);
  EXPECT_THAT(stays_of_y, testing::ElementsAre(Occupant::temporary, Occupant::recomputed));
  for (std::size_t i = 0; i < analysis.purposes.size(); ++i)
    EXPECT_EQ(analysis.purposes[i].again, i == 8) << i;
}

TEST(Report, AnOutputInItsInputsPlaceCountsOnce) {
  test::ProgramBuilder b;
  b.buffer("a", 1000, BufferKind::temporary);
  b.buffer("b", 1000, BufferKind::temporary);
  b.buffer("c", 100, BufferKind::temporary);
  b.op("make", {}, {0}, 1);
  b.op("relu", {0}, {1}, 2);
  b.op("use", {1}, {2}, 4);
  b.program.graph.ops[1].inplace = true;
  b.run(0, {0});
  b.run(1, {0, 0});
  b.run(2, {0, 1024});
  const Analysis analysis = report::analyse(b.take());
  EXPECT_NEAR(analysis.seconds, 7, 1e-9);
  for (double t : {0.5, 1.5, 2.5}) EXPECT_EQ(memory_at(analysis, t).total(), 1000) << t;
  EXPECT_EQ(memory_at(analysis, 3.5).total(), 1100);
}

TEST(Report, AResidentThatNothingNamesStays) {
  test::ProgramBuilder b = test::training_step();
  const std::int32_t extra = b.buffer("frozen", 300, BufferKind::parameter);
  b.program.instructions = test::resident_step(false).instructions;
  b.program.resident = {{1, 256, true}, {extra, 4096, false}};
  const Analysis analysis = report::analyse(b.take());
  for (double t : {-5.0, 0.0, 20.0, 40.0})
    EXPECT_EQ(bytes_of(memory_at(analysis, t), Occupant::parameter), 512 + 300) << t;
}

TEST(Report, SaysWhoTakesThePlaceOfWhatIsSwappedOutAndWhoReadsItNext) {
  const Analysis streamed = report::analyse(test::streamed_step());
  EXPECT_EQ(streamed.purposes[4].taken_by, ref(5));     // h makes room for loss, which lossop writes
  EXPECT_EQ(streamed.purposes[4].next_reader, ref(8));  // act again
  EXPECT_EQ(streamed.purposes[7].next_reader, ref(8));  // that is what h comes back for
  EXPECT_EQ(streamed.purposes[7].taken_by, ref(2, 1));  // the next iteration's h
  EXPECT_EQ(streamed.purposes[8].next_reader, ref(9));  // y was made again for backward
  EXPECT_EQ(streamed.purposes[3].next_reader, ref(5));
  EXPECT_EQ(streamed.purposes[11].taken_by, ref(1, 1));  // w comes back to where it was
  EXPECT_EQ(streamed.purposes[11].next_reader, ref(2, 1));
  EXPECT_EQ(streamed.purposes[6].next_reader, none);  // loss is for the host
  const Analysis resident = report::analyse(test::resident_step(true));
  EXPECT_EQ(resident.purposes[7].taken_by, none);  // w is copied out and stays
  EXPECT_EQ(resident.purposes[7].next_reader, ref(1, 1));
}

TEST(Report, AProgramOfNothingIsAReport) {
  Program empty;
  empty.device = {"tiny", 100, 100, 1, 1, 2, 0, 1};
  EXPECT_EQ(report::analyse(empty).seconds, 0);
  EXPECT_THAT(report_page(empty), testing::HasSubstr("swapadvisor.report"));
  test::ProgramBuilder timeless;
  timeless.buffer("t", 1, BufferKind::temporary);
  timeless.op("f", {}, {0}, 0);
  timeless.run(0, {0});
  EXPECT_EQ(report::analyse(timeless.take()).seconds, 0);
  Program no_link;
  expect_error([&] { report_page(no_link); }, "bytes per second");
}

ReportPlan plan_of(const std::string& planner, Program program, double iteration_seconds) {
  ReportPlan plan;
  plan.planner = planner;
  plan.program = std::move(program);
  plan.program.predicted.iteration_seconds = iteration_seconds;
  return plan;
}

TEST(Report, DataAreFlatNumbersInNanoseconds) {
  const ReportPlan plan = plan_of("hand", test::resident_step(false), 28.6);
  const auto json = report::report_json({&plan, 1}, false);
  ASSERT_EQ(json["plans"].size(), 1u);
  EXPECT_FALSE(json.contains("planners"));
  const auto& data = json["plans"][0];
  EXPECT_EQ(data["tick"], 1e-9);
  EXPECT_EQ(data["seconds"], 28'600'000'000);
  // A reference is (iteration + 4) × 7 + instruction: 28 the x of this iteration, 22 forward of the one
  // before.
  EXPECT_EQ(data["stalls"], nlohmann::json({1, 0, 17'600'000'000, 28, 1, 0, -8'000'000'000, 22}));
  EXPECT_EQ(data["instructions"].size(), 5 * 7u);
  EXPECT_EQ(std::vector<std::int64_t>(data["instructions"].begin(), data["instructions"].begin() + 5),
            (std::vector<std::int64_t>{1, 0, 35, 29, 0}));
  std::int64_t time = 0, bytes = 0, most = 0;
  for (std::size_t m = 0; m < data["memory"].size(); m += 3) {
    time += data["memory"][m].get<std::int64_t>();
    bytes += data["memory"][m + 2].get<std::int64_t>();
    if (m + 3 == data["memory"].size() || data["memory"][m + 3] != 0) most = std::max(most, bytes);
  }
  EXPECT_EQ(time, 48'200'000'000);
  EXPECT_EQ(bytes, 0);
  EXPECT_EQ(most, 3072);
  EXPECT_EQ(json["graph"]["ops"]["name"][3], "backward");
  EXPECT_EQ(json["graph"]["ops"]["types"], nlohmann::json({"test"}));
  EXPECT_EQ(json["graph"]["buffers"]["bytes"][2], 1024);
}

TEST(Report, OpensWithTheFastestValidPlanBesidesNone) {
  std::vector<ReportPlan> plans;
  plans.push_back(plan_of("none", test::resident_step(false), 10));
  plans.push_back(plan_of("slow", test::streamed_step(), 90));
  plans.push_back(plan_of("fast", test::resident_step(false), 30));
  plans.push_back(plan_of("wrong", test::resident_step(false), 20));
  plans.back().invalid = "op 3 never runs";
  plans.push_back({"unable", {}, "op f alone does not fit", {}, 0});
  const auto json = report::report_json(plans, true);
  ASSERT_EQ(json["plans"].size(), 3u);
  EXPECT_EQ(json["plans"][0]["planner"], "fast");
  EXPECT_EQ(json["plans"][1]["planner"], "slow");
  EXPECT_EQ(json["plans"][2]["planner"], "none");
  ASSERT_EQ(json["planners"].size(), 5u);
  const std::int64_t details[] = {2, 1, 0, -1, -1};
  for (std::size_t p = 0; p < 5; ++p) EXPECT_EQ(json["planners"][p]["details"], details[p]) << p;
  EXPECT_EQ(json["planners"][3]["invalid"], "op 3 never runs");
  EXPECT_EQ(json["planners"][4]["refusal"], "op f alone does not fit");
  EXPECT_FALSE(json["planners"][4].contains("predicted"));
}

TEST(Report, LeavesOutDetailsOfPlansThatWouldMakeTheFileLarge) {
  const auto large = [] {
    test::ProgramBuilder b;
    b.buffer("t", 1, BufferKind::temporary);
    for (int i = 0; i < 20'000; ++i) b.run(b.op("f", {}, {0}), {0});
    return b.take();
  };
  std::vector<ReportPlan> plans;
  for (const char* name : {"a", "b", "c"}) plans.push_back(plan_of(name, large(), 1));
  const auto json = report::report_json(plans, true);
  EXPECT_EQ(json["plans"].size(), 2u);  // the first whatever its size, and one that is small enough
  EXPECT_EQ(json["planners"][2]["details"], -1);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// What the script reads.
nlohmann::json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Report, LoadsNothing) {
  std::string page = report_page(test::streamed_step());
  const std::string name_of_svg =
      "http://www.w3.org/2000/svg";  // names a vocabulary; nothing is there to load
  for (std::size_t at; (at = page.find(name_of_svg)) != std::string::npos;)
    page.erase(at, name_of_svg.size());
  for (const char* loads : {"http:", "https:", "//www", " src=", "href=", "<link", "<iframe", "@import",
                            "url(", "import(", "fetch(", "XMLHttpRequest", "WebSocket", "{{"})
    EXPECT_EQ(count_of(page, loads), 0u) << loads;
  EXPECT_THAT(page, testing::HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
}

TEST(Report, NamesAreTextWhateverTheyAre) {
  const std::string names[] = {"</script><script>alert(1)</script>",
                               "<!--<script>",
                               "a\"b'c\\d`${1}",
                               "\xff\xfe broken",
                               "line\xe2\x80\xa8"
                               "end\xe2\x80\xa9",
                               std::string("nul\0\x01\x7f", 6),
                               "&lt;&amp;",
                               "]]>",
                               "{{data}}{{script}}",
                               "größer ✓ 𝄞"};
  for (const std::string& name : names) {
    Program program = test::streamed_step();
    const std::string plain = report_page(program);
    program.planner = program.device.name = program.graph.name = name;
    for (PlanOp& op : program.graph.ops) op.name = op.type = name;
    for (PlanBuffer& buffer : program.graph.buffers) buffer.name = name;
    const std::string page = report_page(program);
    for (const char* mark : {"<script", "</script", "<!--", "</title", "<style", "<body"})
      EXPECT_EQ(count_of(page, mark), count_of(plain, mark)) << mark << " in " << name;
    const nlohmann::json data = data_of(page);
    const std::string expected = name.front() == '\xff' ? "\xef\xbf\xbd\xef\xbf\xbd broken" : name;
    EXPECT_EQ(data["graph"]["name"], expected);
    EXPECT_EQ(data["graph"]["ops"]["name"][4], expected);
    EXPECT_EQ(data["graph"]["ops"]["types"][0], expected);
    EXPECT_EQ(data["graph"]["buffers"]["name"][0], expected);
    EXPECT_EQ(data["plans"][0]["device"]["name"], expected);
    EXPECT_EQ(count_of(page, std::string("\0", 1)), 0u);
    const std::size_t begin = page.find("id=\"data\"");
    EXPECT_EQ(page.substr(begin, page.find("</script>", begin) - begin).find("\xe2\x80\xa8"),
              std::string::npos);
  }
  EXPECT_EQ(report::html_text("<a href=\"x\">&\x02\xff"), "&lt;a href=&quot;x&quot;&gt;&amp; \xef\xbf\xbd");
}

TEST(Report, IsWrittenWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const Program program = test::streamed_step();
  write_report(folder.path("r.html"), program);
  EXPECT_EQ(folder.read("r.html"), report_page(program));
  EXPECT_EQ(folder.file_count(), 1);
  expect_error([&] { write_report("/nowhere/r.html", program); }, "/nowhere/r.html");
}

}  // namespace
}  // namespace swapadvisor
