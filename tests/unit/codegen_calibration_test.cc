// Rates of a machine: measured, kept in a file, and what becomes of files that are damaged or another machine's.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autotune/model/bound.h"
#include "codegen/calibration.h"
#include "schedule/machine.h"
#include "schedule/rates_json.h"
#include "src/runtime/local_runner.h"
#include "tests/unit/folder.h"
#include "tests/unit/setting.h"

namespace tw::codegen {
namespace {

using Json = nlohmann::ordered_json;

#if TW_LLVM
Target host() { return Target::host(); }
#else
Target host() { return Target::parse("c -mcpu=native").value_or_throw(); }
#endif

int bits() { return host().abilities.vector_bits; }

// A machine that nobody is: each has a key of its own, so that tests do not meet in this process.
MachineDescription machine(const std::string& name) {
  MachineDescription m = runtime::this_machine();
  m.hardware.cpu_model = name;
  m.threads = 1;
  return m;
}

class Calibration : public testing::Test {
 protected:
  std::string path() const { return folder_ / "rates.json"; }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  Json kept() const {
    std::ifstream file(path());
    return Json::parse(file);
  }

  test::Folder folder_;
  test::Setting cache_{"TW_CACHE_DIR", folder_ / ""};
};

TEST_F(Calibration, IsMeasuredOnceAndKept) {
  const MachineDescription here = machine("A");
  EXPECT_TRUE(with_kept_rates(here, host()).rates.empty());
  const Rates measured = calibrated(here, host()).rates.at(bits());
  EXPECT_EQ(measured.source, "measured on this machine");
  const Json kept = schedule::to_json(measured);
  for (const char* member : {"issue", "l1_loads", "l2_bytes", "l3_bytes", "core_dram", "all_dram", "tile_rows"})
    EXPECT_GT(kept[member].get<double>(), 0) << member;
  EXPECT_GE(measured.all_dram, measured.core_dram);
  ASSERT_EQ(this->kept()["machines"].size(), 1u);
  EXPECT_EQ(this->kept()["machines"].front(), kept);
  EXPECT_EQ(schedule::to_json(calibrated(here, host()).rates.at(bits())), kept);
}

Json file_for(const MachineDescription& m, double issue) {
  Rates rates;
  rates.source = "a test";
  rates.issue = issue;
  const std::string key = m.hardware.to_string() + ", 1 threads, vectors of " + std::to_string(bits()) + " bits";
  return {{"schema", 1}, {"machines", {{key, schedule::to_json(rates)}}}};
}

TEST_F(Calibration, WhatIsKeptCounts) {
  write(file_for(machine("B"), 1.25).dump());
  EXPECT_EQ(calibrated(machine("B"), host()).rates.at(bits()).issue, 1.25);
  EXPECT_EQ(with_kept_rates(machine("B"), host()).rates.at(bits()).source, "a test");
}

TEST_F(Calibration, WhatWasKeptBeforeTilesWereMeasuredCounts) {
  Json file = file_for(machine("I"), 1.25);
  file["machines"].front().erase("tile_rows");
  write(file.dump());
  const Rates rates = calibrated(machine("I"), host()).rates.at(bits());
  EXPECT_EQ(rates.issue, 1.25);
  EXPECT_EQ(rates.tile_rows, 1);
}

TEST_F(Calibration, AnotherMachinesStayAndDoNotCount) {
  write(file_for(machine("C"), 1.25).dump());
  EXPECT_TRUE(with_kept_rates(machine("D"), host()).rates.empty());
  EXPECT_EQ(calibrated(machine("D"), host()).rates.at(bits()).source, "measured on this machine");
  EXPECT_EQ(kept()["machines"].size(), 2u);
}

TEST_F(Calibration, DamagedFilesAreMeasuredAgain) {
  const std::string whole = file_for(machine("E"), 1.25).dump();
  Json negative = file_for(machine("E"), -1), words = file_for(machine("E"), 1);
  words["machines"].front()["issue"] = "fast";
  int number = 0;
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), std::string("[1, 2]"),
                                  std::string(R"({"schema": 99, "machines": {}})"), negative.dump(), words.dump()}) {
    write(text);
    EXPECT_TRUE(with_kept_rates(machine("E"), host()).rates.empty()) << text;
    const MachineDescription fresh = machine("E" + std::to_string(number++));
    EXPECT_EQ(calibrated(fresh, host()).rates.at(bits()).source, "measured on this machine") << text;
    EXPECT_EQ(kept()["schema"], 1) << text;
  }
}

TEST_F(Calibration, AFolderThatCannotBeWrittenIsDoneWithout) {
  const test::Setting nowhere("TW_CACHE_DIR", "/dev/null/nowhere");
  EXPECT_EQ(calibrated(machine("F"), host()).rates.size(), 1u);
  EXPECT_EQ(with_kept_rates(machine("F"), host()).rates.size(), 1u);
}

// A limit on the size of files cuts it as a full disk does.
TEST_F(Calibration, AFileThatCannotBeWrittenWholeLeavesTheOneThatIsKept) {
#if !TW_LLVM
  GTEST_SKIP() << "skipped: the C compiler would write under the same limit";
#endif
  write(file_for(machine("J"), 1.25).dump());
  const MachineDescription fresh = machine("K" + std::string(8000, '-'));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {4096, before.rlim_max};
  const auto standard = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const Rates measured = calibrate(fresh, host());
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, standard);
  EXPECT_EQ(measured.source, "measured on this machine");
  EXPECT_EQ(with_kept_rates(machine("J"), host()).rates.at(bits()).issue, 1.25);
  EXPECT_EQ(folder_.files().size(), 1u) << "no draft is left";
}

TEST_F(Calibration, MeasuringThatIsForbiddenIsNotDone) {
  const test::Setting forbid("TW_MEASURE", "forbid");
  EXPECT_TRUE(calibrated(machine("G"), host()).rates.empty());
  EXPECT_THROW(calibrate(machine("G"), host()), Error);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Calibration, ForeignTargetsAndTheInterpreterHaveNone) {
  const bool x86 = host().triple.starts_with("x86_64");
  const std::string elsewhere = x86 ? "c -mtriple=aarch64-linux-gnu" : "c -mtriple=x86_64-linux-gnu";
  for (const std::string& text : {elsewhere, std::string("interp")})
    EXPECT_TRUE(calibrated(machine("H"), Target::parse(text).value_or_throw()).rates.empty()) << text;
}

TEST(MachineRates, MeasuredOnesLeaveTheBoundAlone) {
  MachineDescription here = runtime::this_machine();
  const schedule::Machine plain = schedule::describe_machine(host(), here);
  here.rates[bits()].issue = 100;
  const schedule::Machine measured = schedule::describe_machine(host(), here);
  EXPECT_EQ(measured.rates.issue, 100);
  EXPECT_EQ(measured.known.issue, plain.rates.issue);
  const te::Tensor a = te::placeholder({64, 64}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 64, "k");
  const te::Tensor c = te::compute(
      {64, 64}, [&](te::Var i, te::Var j) { return te::sum(a(i, ir::Expr(k)) * a(ir::Expr(k), j), {k}); }, "C");
  const schedule::Schedule s({c});
  EXPECT_EQ(autotune::lower_bound_seconds(s, measured), autotune::lower_bound_seconds(s, plain));
}

}  // namespace
}  // namespace tw::codegen
