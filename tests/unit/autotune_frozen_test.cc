// Frozen kernels: which record, what text, and what is refused of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "autotune/frozen/file_set.h"
#include "autotune/log/record.h"
#include "src/ir/equal.h"
#include "tensorwright/aot.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/folder.h"

namespace tw::aot {
namespace {

using autotune::Record;
using autotune::Task;

#if TW_LLVM

Task dense_task(const std::string& target = "x86-64-v3") {
  const auto d = autotune::testing::declare_dense(9, 17, 33);
  return Task({d.A, d.B, d.bias, d.D}, target_named(target).value_or_throw(), "dense");
}

class Freezing : public testing::Test {
 protected:
  // A record of the first candidate at or behind `index` that is legal.
  Record record(const Task& task, uint64_t index, double seconds, const std::string& hardware = "a CPU",
                int threads = 2) {
    while (!task.candidate(index).ok()) ++index;
    Record r;
    r.key = {task.hash(), task.target().to_string(), threads, hardware};
    r.name = task.name();
    r.args = task.args();
    r.trial.index = index;
    r.trial.knobs = task.space().describe(index);
    r.trial.steps = task.steps(index).value_or_throw();
    r.trial.status = "ok";
    r.trial.seconds = seconds;
    r.time = "2026-01-02T03:04:05Z";
    return r;
  }
  std::string log(const std::vector<Record>& records) {
    std::ofstream out(folder_ / "log.jsonl", std::ios::binary);
    for (const Record& r : records) out << to_line(r);
    return folder_ / "log.jsonl";
  }
  template <class F>
  static std::string refused(const F& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.diagnostic().render();
    }
    return "it was done";
  }
  static std::string read_text(const std::string& text) {
    return refused([&] { from_text(text, "dense.twk"); });
  }
  static std::string edited(const std::string& text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.substr(0, at) + to + text.substr(at + from.size());
  }
  static std::string without_checksum(const std::string& text) {
    return std::regex_replace(text, std::regex("checksum: \"[0-9a-f]*\"\n"), "",
                              std::regex_constants::format_first_only);
  }

  test::Folder folder_;
};

TEST_F(Freezing, TheTextGivesBackWhatWasFrozen) {
  const Task task = dense_task();
  const Frozen f = freeze(task, {.log = log({record(task, 0, 2e-3), record(task, 40, 1e-3)}), .source = "ops.py"});
  EXPECT_EQ(file_name(f), "dense.x86-64-v3.twk");
  const std::string text = to_text(f);
  const Frozen again = from_text(text, "x");
  EXPECT_TRUE(ir::equal(again.program, f.program));
  EXPECT_EQ(again.record, f.record);
  EXPECT_EQ(again.record->seconds, 1e-3);
  EXPECT_EQ(again.steps, record(task, 40, 1e-3).trial.steps);
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(read_text(without_checksum(text)), "it was done") << "it is proved to be safe";
}

TEST_F(Freezing, TheRecordFollowsFromTheLogAlone) {
  const Task task = dense_task();
  const auto seconds = [&](const std::vector<Record>& records, const FreezeOptions& options = {}) {
    FreezeOptions with_log = options;
    with_log.log = log(records);
    return refused([&] { freeze(task, with_log); });
  };
  const std::vector<Record> two = {record(task, 0, 2e-3, "a CPU", 1), record(task, 0, 3e-3, "a CPU", 4),
                                   record(task, 0, 1e-3, "another CPU", 8)};
  const auto chosen = [&](const FreezeOptions& options) {
    FreezeOptions with_log = options;
    with_log.log = log(two);
    return freeze(task, with_log).record->seconds;
  };
  EXPECT_EQ(seconds(two),
            "freeze dense(): " + (folder_ / "log.jsonl") +
                " has records of 2 classes of hardware; --hardware says which\n    a CPU\n    another CPU");
  EXPECT_EQ(chosen({.hardware = "a CPU"}), 3e-3) << "the most threads";
  EXPECT_EQ(chosen({.hardware = "a CPU", .threads = 1}), 2e-3);
  EXPECT_EQ(chosen({.hardware = "another CPU"}), 1e-3);
  EXPECT_NE(seconds(two, {.hardware = "a GPU"}).find("no records of the hardware \"a GPU\""), std::string::npos);
  EXPECT_NE(seconds(two, {.hardware = "a CPU", .threads = 2}).find("no records of 2 threads, but of 1, 4"),
            std::string::npos);
  EXPECT_NE(seconds({}).find("no tuning record for dense() on llvm -mcpu=x86-64-v3"), std::string::npos);
  EXPECT_FALSE(freeze(task, {.log = log({}), .allow_default = true}).record);
}

TEST_F(Freezing, ATargetIsKnownByWhatItsCodeMayUse) {
  const Task task = dense_task();
  Record r = record(task, 0, 2e-3);
  const auto found = [&](const std::string& recorded) {
    r.key.target = recorded;
    return refused([&] { freeze(task, {.log = log({r})}); }) == "it was done";
  };
  EXPECT_TRUE(found("llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu"));
  EXPECT_TRUE(found("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -mattr=-pku"));
  EXPECT_FALSE(found("llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu"));
  EXPECT_FALSE(found("llvm -mcpu=haswell")) << "as today's releases write it";
  EXPECT_FALSE(found("llvm -mcpu=of-tomorrow"));
}

TEST_F(Freezing, ALogSaysWhatIsStale) {
  const Task task = dense_task();
  const Record slow = record(task, 0, 2e-3), fast = record(task, 40, 1e-3);
  const Frozen f = freeze(task, {.log = log({slow}), .source = "ops.py"});
  EXPECT_EQ(stale(f, log({slow})), std::nullopt);
  EXPECT_EQ(stale(f, log({slow, record(task, 40, 1e-3, "a CPU", 4), record(task, 40, 1e-3, "another CPU")})),
            std::nullopt)
      << "of other threads and hardware";
  const std::string path = log({slow, fast});
  EXPECT_EQ(
      stale(f, path),
      "dense(A: float32[9, 33], B: float32[33, 17], bias: float32[17], D: out float32[9, 17]), for x86-64-v3: the "
      "best record of " +
          path +
          " takes 1 ms and is another than the frozen one of 2 ms; freeze it again: tw "
          "freeze ops.py --targets x86-64-v3 --log " +
          path + " --hardware 'a CPU' --threads 2");
  EXPECT_NE(stale(f, log({}))->find("has no record of it"), std::string::npos);
  EXPECT_NE(stale(f, log({record(task, 0, 2e-3, "b")}))->find("has no records of the hardware"), std::string::npos);
  const Frozen untuned = freeze(task, {});
  EXPECT_EQ(stale(untuned, log({})), std::nullopt);
  EXPECT_EQ(stale(untuned, ""), std::nullopt);
  EXPECT_NE(stale(untuned, "", true), std::nullopt);
  EXPECT_NE(stale(untuned, log({}), true), std::nullopt);
  EXPECT_NE(stale(untuned, log({slow})), std::nullopt);
  EXPECT_EQ(stale_source(f, task.hash()), std::nullopt);
  EXPECT_NE(stale_source(f, "0"), std::nullopt);
}

TEST_F(Freezing, TextsThatAreNoneAreRefused) {
  const std::string text = to_text(freeze(dense_task(), {.source = "ops.py"}));
  EXPECT_NE(read_text("").find("it is no frozen kernel of Tensorwright"), std::string::npos);
  EXPECT_EQ(read_text(edited(text, "ops.py", "ops\xff")),
            "dense.twk: it is no text, in UTF-8, and so no frozen kernel of Tensorwright");
  EXPECT_NE(read_text(edited(text, "kernel 1", "kernel 7")).find("its format is 7, and Tensorwright 0.1.0 reads 1"),
            std::string::npos);
  EXPECT_NE(read_text(edited(text, "name: \"dense\"", "name: \"other\"")).find("its program must be called"),
            std::string::npos);
  EXPECT_NE(read_text(edited(text, "release: ", "releas: ")).find("one of them is missing"), std::string::npos);
  EXPECT_NE(read_text(edited(text, "x86-64-v3", "x86-64-v9")).find("unknown CPU \"x86-64-v9\""), std::string::npos);
  EXPECT_NE(read_text(edited(text, "\"ops.py\"", "\"oops.py\"")).find("it is damaged or was edited"),
            std::string::npos);
  for (size_t length = 0; length < text.size() - 1; length += 97) {
    SCOPED_TRACE(length);
    EXPECT_NE(read_text(text.substr(0, length)), "it was done");
  }
}

constexpr const char* kScaled = R"(tensorwright kernel 1
name: "scaled"
target: "llvm -mcpu=x86-64-v3"
task: {"name":"scaled","args":[64],"hash":"0"}
record: null
source: "ops.py"
release: "0.1.0"

kernel scaled(A: float32[64], C: out float32[64]):
  for i in 0..64 parallel:
    C[i] = A[i] * 2.0
)";

TEST_F(Freezing, WhatWasEditedMustBeSafe) {
  EXPECT_EQ(read_text(kScaled), "it was done");
  EXPECT_EQ(read_text(edited(kScaled, "A[i]", "A[i + 1]")),
            "dense.twk: a program that was edited must be seen to be safe: A[i + 1]: not seen to stay inside of A: "
            "float32[64]\n    C[i] = A[i + 1] * 2.0\n    freeze it again: tw freeze ops.py --targets x86-64-v3");
  EXPECT_NE(read_text(edited(kScaled, "C[i]", "C[i // 2]")).find("parallel loop i"), std::string::npos);
  EXPECT_EQ(read_text(edited(kScaled, "A[i] * 2.0", "A[i] * * 2.0")).find("dense.twk: IR text, line 11, column 19"), 0u)
      << read_text(edited(kScaled, "A[i] * 2.0", "A[i] * * 2.0"));
}

TEST_F(Freezing, LibrariesAreBuiltOfWhatHasChanged) {
  std::vector<Frozen> all = {freeze(dense_task("x86-64-v2")), freeze(dense_task("x86-64-v3"))};
  const std::vector<std::string> paths = write(all, folder_ / "twk");
  const BuildOptions options{.folder = folder_ / "out", .prefix = "acme_", .shared = true};
  EXPECT_EQ(build(paths, options).compiled,
            (std::vector<std::string>{"acme_dense.x86-64-v2.o", "acme_dense.x86-64-v3.o"}));
  const std::string before = bytes_of(folder_ / "out/kernels.h");
  EXPECT_EQ(build(paths, options).unchanged.size(), 2u);
  std::ofstream(paths[1]) << to_text(freeze(dense_task("x86-64-v3"), {.log = log({record(dense_task(), 40, 1e-3)})}));
  const Built third = build(paths, options);
  EXPECT_EQ(third.compiled, std::vector<std::string>{"acme_dense.x86-64-v3.o"});
  EXPECT_NE(bytes_of(folder_ / "out/kernels.h"), before) << "it names the record";
  EXPECT_EQ(third.files, (std::vector<std::string>{folder_ / "out/kernels.h", folder_ / "out/libkernels.a",
                                                   folder_ / "out/libkernels.so"}));
}

TEST_F(Freezing, WhatIsRefusedWritesNothing) {
  const std::vector<std::string> paths = write({freeze(dense_task())}, folder_ / "twk");
  std::ofstream(folder_ / "bad.twk") << edited(kScaled, "A[i]", "A[i + 1]");
  const std::vector<std::string> before = folder_.files();
  EXPECT_NE(refused([&] { build({paths[0], folder_ / "bad.twk"}, {.folder = folder_ / "out"}); }), "it was done");
  EXPECT_NE(refused([&] { build({paths[0], folder_ / "none.twk"}, {.folder = folder_ / "out"}); }), "it was done");
  EXPECT_NE(refused([&] { write({freeze(dense_task()), freeze(dense_task())}, folder_ / "out"); }), "it was done");
  std::string other = bytes_of(paths[0]);
  other = std::regex_replace(without_checksum(other), std::regex("\"hash\":\"[0-9a-f]*\""), "\"hash\":\"1\"");
  std::ofstream(folder_ / "other.twk") << std::regex_replace(other, std::regex("x86-64-v3"), "x86-64-v2");
  EXPECT_NE(refused([&] {
              build({paths[0], folder_ / "other.twk"}, {.folder = folder_ / "out"});
            }).find("two kernels are named dense"),
            std::string::npos);
  std::filesystem::remove(folder_ / "other.twk");
  EXPECT_EQ(folder_.files(), before);
}

#endif

}  // namespace
}  // namespace tw::aot
