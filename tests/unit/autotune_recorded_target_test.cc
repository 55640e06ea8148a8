// Lines that earlier releases wrote are of the same machine.
#include <gtest/gtest.h>

#include "autotune/log/history.h"
#include "autotune/log/record.h"
#include "autotune/log/recorded_target.h"
#include "tests/unit/cpuid_records.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

#if TW_LLVM

// What a release that took LLVM's whole list wrote on the machine whose model number contradicts its features.
constexpr const char* kRocketLakeWithTiles =
    "llvm -mcpu=rocketlake -mattr=+amx-bf16,+amx-fp16,+amx-int8,+amx-tile,+avx10.1-256,+avx10.1-512,+avx512bf16,"
    "+avx512fp16,+avxvnni,+cldemote,+movdir64b,+movdiri,+prefetchi,+serialize,+tsxldtrk,+waitpkg,+wbnoinvd,-pku";

Target native(const target::CpuidRecord& cpuid) {
  return target::parse_on(target::cpu_of(cpuid), "llvm -mcpu=native").value_or_throw();
}

TEST(RecordedTarget, LeavesOutWhatCodeHasNoneOf) {
  const Target* elsewhere = nullptr;
  EXPECT_EQ(target_today("llvm -mcpu=znver4 -mattr=-mwaitx,-pku,-rdpru,-wbnoinvd", elsewhere), "llvm -mcpu=znver4");
  EXPECT_EQ(target_today("llvm -mcpu=sapphirerapids -mattr=+rtm,-avx512fp16,-cldemote", elsewhere),
            "llvm -mcpu=sapphirerapids -mattr=-avx512fp16");
}

TEST(RecordedTarget, ANameThatTheFeaturesContradictIsThisMachinesWhereItWasMeasuredHere) {
  const Target here = native(target::testing::with_signature(target::testing::granite_rapids(), 0x000a0671));
  EXPECT_EQ(target_today(kRocketLakeWithTiles, &here), here.to_string());
  EXPECT_NE(target_today(kRocketLakeWithTiles, nullptr), here.to_string());
  const Target other = native(target::testing::zen5());
  EXPECT_NE(target_today(kRocketLakeWithTiles, &other), other.to_string());
}

TEST(RecordedTarget, WhatIsWrittenTodayAndWhatNobodyCanReadStay) {
  const Target here = Target::host();
  for (const char* text : {"llvm -mcpu=znver4", "llvm -mcpu=haswell -mattr=-avx2", "interp", "llvm -keys=cpu ", "",
                           "llvm -mcpu=cpu-of-next-year"})
    EXPECT_EQ(target_today(text, &here), text);
}

TEST(RecordedTarget, NamesTheArchitectureInOneWay) {
  const Target* elsewhere = nullptr;
  constexpr const char* kN1 = "llvm -mcpu=neoverse-n1 -mtriple=aarch64-unknown-linux-gnu";
  for (const char* text : {"llvm -mcpu=neoverse-n1", "llvm -mcpu=neoverse-n1 -mtriple=aarch64-linux-gnu", kN1})
    EXPECT_EQ(target_today(text, elsewhere), kN1);
  EXPECT_EQ(target_today("llvm -mcpu=znver4 -mtriple=x86_64-linux-gnu", elsewhere), "llvm -mcpu=znver4");
  // Other programs' lines go out as they came.
  for (const char* text : {"llvm", "llvm -keys=arm_cpu,cpu -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"})
    EXPECT_EQ(target_today(text, elsewhere), text);
}

// Whether a log with one line, whose key says `written`, is one for a task of today's target.
void expect_found(const std::string& target, const std::string& written) {
  const te::Tensor x = te::placeholder({8}, "float32", "x");
  const te::Tensor y = te::compute({8}, [&](te::Var i) { return x(i) * te::constant(2, "float32"); }, "y");
  const Task task({x, y}, Target::parse(target).value_or_throw());
  const test::Folder folder;
  Record r;
  r.key = RecordKey{task.hash(), written, 4, "its machine"};
  r.name = task.name();
  r.args = task.args();
  r.trial.knobs = "{}";
  r.trial.status = "ok";
  r.trial.seconds = 0.5;
  Journal(folder / "log.jsonl").append(r);
  EXPECT_EQ(best(task, folder / "log.jsonl").seconds, 0.5);
}

TEST(RecordedTarget, ALogOfAnArmHostIsBuiltFromOnAnother) {
  expect_found("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "llvm -mcpu=cortex-a72");
}

TEST(RecordedTarget, ALogOfAnEarlierReleaseIsBuiltFrom) {
  expect_found("llvm -mcpu=znver4", "llvm -mcpu=znver4 -mattr=+cldemote,-mwaitx,-pku,-rdpru");
}

TEST(RecordedTarget, LinesAreReadWithIt) {
  Record r;
  r.key = RecordKey{"0123", "llvm -mcpu=znver4 -mattr=-mwaitx,-pku", 2, "a CPU"};
  r.trial.knobs = "{}";
  r.trial.status = "ok";
  r.trial.seconds = 1;
  const std::string line = to_line(r);
  const Record back = parse_line(std::string_view(line).substr(0, line.size() - 1)).value_or_throw();
  EXPECT_EQ(back.key.target, "llvm -mcpu=znver4");
}

#else
TEST(RecordedTarget, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw::autotune
