// The log: what is written comes back, and damage costs one line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "autotune/log/winner.h"

namespace tw::autotune {
namespace {

class Record_ : public testing::Test {
 protected:
  Record_() : path_(testing::TempDir() + "record_" + std::to_string(getpid()) + ".jsonl") {
    std::filesystem::remove(path_);
  }
  ~Record_() override { std::filesystem::remove(path_); }

  static Record sample(double seconds, const std::string& kind = "trial", int64_t factor = 8) {
    Record r;
    r.kind = kind;
    r.key = RecordKey{"0123", "llvm -mcpu=znver4", 2, "a CPU"};
    r.name = "dense";
    r.args = "[257,513,1025]";
    r.trial.knobs = "{\"tile\":[33," + std::to_string(factor) + "]}";
    r.trial.steps = {schedule::Split{"C", "i", schedule::Factor(factor), std::nullopt, ir::Tail::kMask}};
    r.trial.status = "ok";
    r.trial.seconds = seconds;
    r.trial.runs = 7;
    r.trial.detail = "quote \" and \xff and\nnewline";
    return r;
  }
  void write(const std::string& text) { std::ofstream(path_, std::ios::app | std::ios::binary) << text; }

  std::string path_;
};

TEST_F(Record_, RoundTrips) {
  const Record r = sample(1.25e-3);
  const std::string line = to_line(r);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto back = parse_line(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(back->key, r.key);
  EXPECT_EQ(back->args, r.args);
  EXPECT_EQ(back->trial.seconds, r.trial.seconds);
  EXPECT_EQ(back->trial.knobs, r.trial.knobs);
  EXPECT_TRUE(back->trial.steps == r.trial.steps);
}

TEST_F(Record_, OneFlippedByteLosesOneLine) {
  {
    Journal journal(path_);
    for (int i = 1; i <= 3; ++i) journal.append(sample(i));
  }
  std::string text;
  {
    std::ifstream in(path_, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const size_t second = text.find('\n') + 1;
  for (size_t at = second + 20; at < text.find('\n', second); at += 13) {
    std::string damaged = text;
    damaged[at] ^= 1;
    if (damaged[at] == '\n') continue;
    std::filesystem::remove(path_);
    write(damaged);
    const Log log = load_log(path_);
    EXPECT_EQ(log.records.size(), 2u);
    EXPECT_EQ(log.damaged, 1);
  }
}

TEST_F(Record_, ATruncatedTailIsSkippedAndTheNextLineIsWhole) {
  {
    Journal journal(path_);
    journal.append(sample(1));
    journal.append(sample(2));
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 40);
  EXPECT_EQ(load_log(path_).records.size(), 1u);
  {
    Journal journal(path_);
    journal.append(sample(3));
  }
  const Log log = load_log(path_);
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.records[1].trial.seconds, 3);
}

TEST_F(Record_, AFirstLineThatWasCutOffIsStillOurs) {
  write(to_line(sample(1)).substr(0, 50));
  EXPECT_EQ(load_log(path_).damaged, 1);
}

TEST_F(Record_, LinesThatAnEditorOrACheckoutEndsInAnotherWayCount) {
  std::string text = to_line(sample(1)) + to_line(sample(2));
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  write("\xef\xbb\xbf" + text);
  Journal(path_).append(sample(3));
  const Log log = load_log(path_);
  EXPECT_EQ(log.damaged, 0);
  EXPECT_EQ(log.records.size(), 3u);
}

TEST_F(Record_, WhatIsNotOursIsRefusedAndLeftAlone) {
  EXPECT_THROW(load_log(path_), Error);  // missing
  EXPECT_THROW(load_log(testing::TempDir()), Error);
  write("{\"hello\": 1}\n");
  EXPECT_THROW(load_log(path_), Error);
  EXPECT_THROW(Journal{path_}, Error);
  EXPECT_EQ(std::filesystem::file_size(path_), 13u);
}

TEST_F(Record_, ANewerSchemaIsRefused) {
  {
    Journal journal(path_);
    journal.append(sample(1));
  }
  write("{\"tensorwright\":2,\"kind\":\"trial\"}\n");
  try {
    load_log(path_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kLog);
    EXPECT_NE(std::string(e.what()).find("newer"), std::string::npos);
  }
}

TEST_F(Record_, OfOneComputationOnlyItsLinesAreRead) {
  Record other = sample(2);
  other.key.hash = "4567";
  Record namesake = sample(1);
  namesake.name = other.key.hash;
  write(to_line(namesake) + to_line(other) + "garbage\n");
  EXPECT_EQ(load_log(path_, "4567").records.size(), 1u);
  EXPECT_EQ(load_log(path_, "4567").damaged, 0);
  EXPECT_EQ(load_log(path_).damaged, 1);
}

TEST_F(Record_, AnEmptyFileIsAnEmptyLog) {
  write("");
  EXPECT_TRUE(load_log(path_).records.empty());
}

TEST_F(Record_, ConfirmationsCountInsteadOfTheFirstTime) {
  std::vector<Record> all = {sample(1.0, "trial", 8), sample(1.1, "trial", 16), sample(1.5, "confirm", 8),
                             sample(1.4, "confirm", 8), sample(1.2, "confirm", 16)};
  all.push_back(sample(0.1, "trial", 32));
  all.back().trial.status = "wrong_answer";
  std::vector<const Record*> records;
  for (const Record& r : all) records.push_back(&r);
  EXPECT_EQ(best_record(records)->trial.knobs, "{\"tile\":[33,16]}");
  EXPECT_EQ(best_record({}), nullptr);
}

TEST_F(Record_, SeveralWritersKeepLinesWhole) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&] {
      Journal journal(path_);
      for (int i = 0; i < 50; ++i) journal.append(sample(i + 1));
    });
  }
  for (auto& w : writers) w.join();
  const Log log = load_log(path_);
  EXPECT_EQ(log.records.size(), 200u);
  EXPECT_EQ(log.damaged, 0);
}

}  // namespace
}  // namespace tw::autotune
