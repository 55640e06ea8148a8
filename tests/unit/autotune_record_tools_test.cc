// Logs as wholes: what they hold, what merging and pruning keep, and what they say about the rest.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "autotune/log/log_tools.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

class LogTools : public testing::Test {
 protected:
  static Record record(const std::string& name, int64_t factor, double seconds, const std::string& kind = "trial") {
    Record r;
    r.kind = kind;
    r.key = RecordKey{name + "-hash", "llvm -mcpu=znver4", 2, "a CPU"};
    r.name = name;
    r.args = "[64]";
    r.flops = 1e6;
    r.bytes = 4e3;
    r.trial.knobs = "{\"tile\":" + std::to_string(factor) + "}";
    r.trial.steps = {schedule::Split{"C", "i", schedule::Factor(factor), std::nullopt, ir::Tail::kMask}};
    r.trial.status = seconds > 0 ? "ok" : "crashed";
    r.trial.seconds = seconds;
    r.time = "2026-01-02T03:04:05Z";
    return r;
  }
  std::string log(const std::string& name, const std::vector<Record>& records, const std::string& more = "") {
    const std::string path = folder_ / name;
    std::ofstream out(path, std::ios::binary);
    for (const Record& r : records) out << to_line(r);
    out << more;
    return path;
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  test::Folder folder_;
  const std::vector<Record> dense_ = {record("dense", 4, 3e-3), record("dense", 8, 1e-3), record("dense", 16, 0),
                                      record("dense", 4, 2e-3, "confirm"), record("dense", 8, 5e-3, "confirm")};
};

TEST_F(LogTools, ASummaryHasOneGroupForEachKey) {
  std::vector<Record> records = dense_;
  records.push_back(record("conv", 2, 7e-3));
  records.push_back(record("dense", 32, 9e-3));
  records.back().key.threads = 1;
  records.push_back(record("dense", 4, 9e-3));  // measured twice
  const std::vector<LogGroup> groups = summarise(load_log(log("a", records)));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].name, "dense");
  EXPECT_EQ(groups[0].trials, 3);
  EXPECT_EQ(groups[0].confirmations, 2);
  EXPECT_EQ(groups[0].statuses, (std::map<std::string, int>{{"ok", 2}, {"crashed", 1}}));
  EXPECT_EQ(groups[0].flops, 1e6);
  EXPECT_EQ(groups[0].best->trial.knobs, "{\"tile\":4}");  // confirmed
  EXPECT_EQ(groups[1].name, "conv");
  EXPECT_EQ(groups[2].key.threads, 1);
}

TEST_F(LogTools, TheBestOfEachKeyMakesALogOfItsOwn) {
  std::vector<Record> records = dense_;
  records.push_back(record("conv", 2, 0));
  records.push_back(record("pool", 2, 1));
  const std::string path = log("a", records);
  EXPECT_EQ(pick_best(path, folder_ / "best"), 2u);
  const Log best = load_log(folder_ / "best");
  ASSERT_EQ(best.records.size(), 2u);
  EXPECT_EQ(best.records[0].trial.knobs, "{\"tile\":4}");
  EXPECT_EQ(best.records[1].name, "pool");
}

TEST_F(LogTools, ACheckNamesDamagedLines) {
  std::string damaged = to_line(record("dense", 64, 1));
  damaged[60] ^= 1;
  const LogCheck check = check_log(log("a", dense_, damaged + "garbage\n" + to_line(dense_[0])));
  EXPECT_FALSE(check.ok());
  EXPECT_EQ(check.lines, 8u);
  EXPECT_EQ(check.trials, 4u);
  EXPECT_EQ(check.confirmations, 2u);
  EXPECT_EQ(check.repeated, 1u);
  ASSERT_EQ(check.damaged.size(), 2u);
  EXPECT_EQ(check.damaged[0].line, 6u);
  EXPECT_NE(check.damaged[0].why.find("checksum"), std::string::npos);
  EXPECT_NE(check.damaged[1].why.find("not a line of a tuning log"), std::string::npos);
}

TEST_F(LogTools, MergingKeepsEveryValidLineOnceAndNamesTheOthers) {
  const std::string a = log("a", dense_), b = log("b", {dense_[1], record("conv", 2, 1)}, "{\"tensorwright\":1,\"ki");
  const LogEdit edit = merge_logs({a, b}, folder_ / "c");
  EXPECT_EQ(edit.kept, 6u);
  EXPECT_EQ(edit.repeated, 1u);
  ASSERT_EQ(edit.dropped.size(), 1u);
  EXPECT_EQ(edit.dropped[0].path, b);
  EXPECT_EQ(edit.dropped[0].line.line, 3u);
  EXPECT_EQ(edit.dropped[0].line.why, "cut off");
  EXPECT_EQ(text(folder_ / "c"), text(a) + to_line(record("conv", 2, 1)));
  EXPECT_EQ(folder_.files(), (std::vector<std::string>{"a", "b", "c"}));  // nothing else is left behind
}

TEST_F(LogTools, MergingIntoOneOfTheLogs) {
  const std::string a = log("a", {dense_[0]}), b = log("b", {dense_[1]});
  merge_logs({a, b}, a);
  EXPECT_EQ(load_log(a).records.size(), 2u);
}

TEST_F(LogTools, NothingIsOverwrittenThatWasNotRead) {
  const std::string a = log("a", dense_), b = log("b", {dense_[1]});
  for (const auto& f : std::vector<std::function<void()>>{[&] { merge_logs({a}, b); }, [&] { prune_log(a, b); },
                                                          [&] { pick_best(a, b); }}) {
    EXPECT_THROW(f(), Error);
    EXPECT_EQ(load_log(b).records.size(), 1u);
  }
}

TEST_F(LogTools, AMergeThatFailsLeavesEverythingAsItWas) {
  const std::string a = log("a", dense_), other = folder_ / "other";
  std::ofstream(other) << "hello\n";
  const std::string before = text(a);
  EXPECT_THROW(merge_logs({a, other}, a), Error);
  EXPECT_THROW(merge_logs({a, folder_ / "missing"}, a), Error);
  EXPECT_EQ(text(a), before);
  EXPECT_EQ(folder_.files(), (std::vector<std::string>{"a", "other"}));
}

TEST_F(LogTools, PruningKeepsTheBestWithTheirConfirmations) {
  const std::string a = log("a", dense_, "garbage\n");
  LogEdit edit = prune_log(a, folder_ / "one", 1);
  EXPECT_EQ(edit.kept, 2u);
  EXPECT_EQ(edit.worse, 3u);
  EXPECT_EQ(edit.dropped.size(), 1u);
  for (const Record& r : load_log(folder_ / "one").records) EXPECT_EQ(r.trial.knobs, "{\"tile\":4}");
  edit = prune_log(a, a, 5);
  EXPECT_EQ(edit.kept, 4u);
  EXPECT_EQ(load_log(a).damaged, 0);
}

// A tuner that runs on goes on in the log that is there now.
TEST_F(LogTools, AJournalFollowsALogThatIsReplacedOrRemoved) {
  const std::string a = log("a", dense_);
  Journal journal(a);
  prune_log(a, a);
  journal.append(dense_[1]);
  EXPECT_EQ(load_log(a).records.size(), 3u);
  std::filesystem::remove(a);
  journal.append(dense_[1]);
  EXPECT_EQ(load_log(a).records.size(), 1u);
}

TEST_F(LogTools, ALinkStaysALink) {
  const std::string a = log("a", dense_);
  std::filesystem::create_symlink(a, folder_ / "link");
  prune_log(folder_ / "link", folder_ / "link");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(load_log(a).records.size(), 2u);
}

}  // namespace
}  // namespace tw::autotune
