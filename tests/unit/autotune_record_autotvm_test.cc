// Logs of AutoTVM 0.2: lines that its releases wrote come in, ours go out and back.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "autotune/log/autotvm.h"
#include "autotune/log/winner.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

using Json = nlohmann::ordered_json;

// As TVM 0.10 and 0.8 wrote them.
constexpr const char* kConv =
    R"({"input": ["llvm -keys=cpu ", "conv2d_NCHWc.x86", [["TENSOR", [1, 3, 224, 224], "float32"], ["TENSOR", [64, 3, 7, 7], "float32"], [2, 2], [3, 3, 3, 3], [1, 1], "NCHW", "NCHW", "float32"], {}], "config": {"index": 172, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 1]], ["tile_oc", "sp", [-1, 4]], ["tile_ow", "sp", [-1, 1]], ["unroll_kw", "ot", false]]}, "result": [[0.0045656413], 0, 0.5309267044067383, 1676344759.520081], "version": 0.2, "tvm_version": "0.10.0"})";
constexpr const char* kFaster =
    R"({"input": ["llvm -keys=cpu ", "conv2d_NCHWc.x86", [["TENSOR", [1, 3, 224, 224], "float32"], ["TENSOR", [64, 3, 7, 7], "float32"], [2, 2], [3, 3, 3, 3], [1, 1], "NCHW", "NCHW", "float32"], {}], "config": {"index": 47, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 3]], ["tile_oc", "sp", [-1, 4]], ["tile_ow", "sp", [-1, 64]], ["unroll_kw", "ot", true]]}, "result": [[0.0036, 0.0035, 0.0039], 0, 0.53, 1676344760.1], "version": 0.2, "tvm_version": "0.10.0"})";
constexpr const char* kFailed =
    R"({"input": ["llvm -keys=cpu ", "dense_nopack.x86", [["TENSOR", [1, 512], "float32"], ["TENSOR", [1000, 512], "float32"], null, "float32"], {}], "config": {"index": 3, "code_hash": null, "entity": [["tile_y", "sp", [-1, 1]], ["order", "re", [0, 2, 1]], ["ann", "an", ["unroll", "vec"]]]}, "result": [[1000000000.0], 4, 1.2, 1676344759.5], "version": 0.2, "tvm_version": "0.8.dev0"})";

TEST(AutoTvm, TheirLinesComeIn) {
  const auto r = from_autotvm(kConv);
  ASSERT_TRUE(r.ok()) << r.error().what;
  EXPECT_EQ(r->name, "conv2d_NCHWc.x86");
  EXPECT_EQ(r->key.target, "llvm -keys=cpu ");
  EXPECT_EQ(r->trial.knobs, R"({"tile_ic":[-1,1],"tile_oc":[-1,4],"tile_ow":[-1,1],"unroll_kw":false})");
  EXPECT_EQ(r->trial.seconds, 0.0045656413);
  EXPECT_TRUE(r->trial.ok());
  EXPECT_EQ(r->trial.index, 172u);
  EXPECT_EQ(r->time, "2023-02-14T03:19:19Z");

  const auto failed = from_autotvm(kFailed);
  ASSERT_TRUE(failed.ok()) << failed.error().what;
  EXPECT_EQ(failed->trial.status, "crashed");
  EXPECT_EQ(failed->trial.knobs, R"({"tile_y":[-1,1],"order":[0,2,1],"ann":["unroll","vectorize"]})");
}

TEST(AutoTvm, TheirFilesBecomeLogsAndGoOutAsTheyCame) {
  const test::Folder folder;
  std::ofstream(folder / "tvm.log") << kConv << "\n" << kFaster << "\nnonsense\n" << kFailed << "\n";
  const LogEdit in = import_autotvm(folder / "tvm.log", folder / "ours.jsonl");
  EXPECT_EQ(in.kept, 3u);
  ASSERT_EQ(in.dropped.size(), 1u);
  EXPECT_EQ(in.dropped[0].line.line, 3u);
  const Log log = load_log(folder / "ours.jsonl");
  const std::vector<LogGroup> groups = summarise(log);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].trials, 2);
  ASSERT_TRUE(groups[0].best.has_value());
  EXPECT_EQ(groups[0].best->trial.seconds, 0.0036);  // the median of its times
  export_autotvm(folder / "ours.jsonl", folder / "again.log");
  std::ifstream again(folder / "again.log");
  for (const char* line : {kConv, kFaster, kFailed}) {
    std::string text;
    ASSERT_TRUE(std::getline(again, text));
    Json out = Json::parse(text), expected = Json::parse(line);
    EXPECT_EQ(out["input"], expected["input"]);
    EXPECT_EQ(out["config"]["entity"], expected["config"]["entity"]);
    EXPECT_EQ(out["result"][1], expected["result"][1]);
    EXPECT_EQ(out["version"], 0.2);
  }
}

TEST(AutoTvm, OursGoOutAndComeBackAsTheyWere) {
  const Task task = testing::dense_task(37, 65, 50);
  for (const uint64_t index : {uint64_t{0}, task.space().size() / 2, task.space().size() - 1}) {
    Record r;
    r.key = RecordKey{task.hash(), "llvm", 2, "a CPU"};
    r.name = task.name();
    r.args = task.args();
    r.trial.index = index;
    r.trial.knobs = task.space().describe(index);
    if (const auto steps = task.steps(index)) r.trial.steps = *steps;
    r.trial.status = "ok";
    r.trial.seconds = 1e-3;
    r.time = "2026-01-02T03:04:05Z";
    std::string line = to_autotvm(r);
    line.pop_back();
    const auto back = from_autotvm(line);
    ASSERT_TRUE(back.ok()) << back.error().what;
    EXPECT_EQ(to_line(*back), to_line(r));
    const Json json = Json::parse(line);
    EXPECT_EQ(json["input"][1], "dense");
    EXPECT_EQ(json["config"]["entity"][0][1], "sp");
    EXPECT_EQ(json["config"]["entity"][0][2][0], -1);
  }
}

// Lines of theirs for a template that has the same knobs here are measurements that tuning goes on from.
TEST(AutoTvm, WithATaskTheirLinesAreMeasurementsOfIt) {
  const Task task(
      "rows", "[]",
      [](Config& cfg) {
        const testing::Dense d = testing::declare_dense(12, 16, 5);
        schedule::Schedule s({d.D});
        cfg.define_split("tile_y", 12, {.outputs = 2});
        cfg.apply_split("tile_y", s, "D", "i");
        cfg.define_knob("unroll", {0, 1});
        return Scheduled{s, {d.A, d.B, d.bias, d.D}};
      },
      Target::host());
  const std::string line =
      R"({"input": ["llvm", "rows", [], {}], "config": {"index": 1, "code_hash": null, "entity": [["tile_y", "sp", [-1, 4]], ["unroll", "ot", 1]]}, "result": [[0.002], 0, 0.1, 1676344759.5], "version": 0.2, "tvm_version": "0.10.0"})";
  const auto r = from_autotvm(line, task, {.hardware = {}, .threads = 3, .name = "a board"});
  ASSERT_TRUE(r.ok()) << r.error().what;
  EXPECT_EQ(r->trial.knobs, R"({"tile_y":[3,4],"unroll":1})");
  EXPECT_EQ(r->key.hash, task.hash());
  EXPECT_EQ(r->key.hardware, "a board");
  EXPECT_EQ(r->key.threads, 3);
  EXPECT_EQ(r->trial.steps, *task.steps(r->trial.index));
  EXPECT_FALSE(from_autotvm(kConv, task, {}).ok());
}

TEST(AutoTvm, MalformedLinesAreRefused) {
  const Json good = Json::parse(kConv);
  for (const char* member : {"input", "config", "result"}) {
    Json bad = good;
    bad.erase(member);
    EXPECT_FALSE(from_autotvm(bad.dump()).ok()) << member;
    for (const Json& other : {Json(nullptr), Json(3), Json("text"), Json::array(), Json::object()}) {
      bad = good;
      bad[member] = other;
      EXPECT_FALSE(from_autotvm(bad.dump()).ok()) << bad.dump();
    }
  }
  Json bad = good;
  bad["version"] = 0.1;
  EXPECT_FALSE(from_autotvm(bad.dump()).ok());
  bad = good;
  bad["result"] = {Json::array(), 0, 0, 0};
  EXPECT_FALSE(from_autotvm(bad.dump()).ok());
  for (const double when : {-1.0, 1e18, 1e300}) {
    bad = good;
    bad["result"][3] = when;
    EXPECT_FALSE(from_autotvm(bad.dump()).ok()) << when;
  }
  const std::string text = kConv;
  for (size_t size = 0; size < text.size(); size += 3) EXPECT_FALSE(from_autotvm(text.substr(0, size)).ok());
}

}  // namespace
}  // namespace tw::autotune
