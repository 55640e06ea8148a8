// The unit tests of what runs kernels (support, target, runtime, the loader, the worker), as programs of AArch64.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "src/support/temporary_folder.h"
#include "tests/aarch64.h"
#include "tests/diff/emulated.h"

namespace tw {
namespace {

struct Units {
  const char* program;
  const char* left_out;  // a filter of gtest
  const char* why;
};
void PrintTo(const Units& units, std::ostream* out) { *out << units.program; }

constexpr const char* kEmulator = TW_AARCH64_QEMU " -L " TW_AARCH64_SYSROOT " -cpu neoverse-n1 ";

// What a program said, without the words by which ctest takes a failed test for a skipped one.
std::string quoted(std::string text) {
  constexpr std::string_view kSkipped = "[  SKIPPED ]";
  for (size_t at = text.find(kSkipped); at != std::string::npos; at = text.find(kSkipped, at))
    text.replace(at, kSkipped.size(), "[  skipped ]");
  return text;
}

class EmulatedUnits : public testing::TestWithParam<Units> {};

TEST_P(EmulatedUnits, PassOnAArch64) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  const support::TemporaryFolder folder("tensorwright-units");
  const std::string worker = folder / "tw-worker";  // the system starts no program of another CPU
  std::ofstream(worker) << "#!/bin/sh\nexec " << kEmulator
                        << TW_AARCH64_PROGRAMS "/package/tensorwright/tw-worker \"$@\"\n";
  chmod(worker.c_str(), 0755);
  const std::string left_out = *GetParam().left_out ? " --gtest_filter=-" + std::string(GetParam().left_out) : "";
  if (!left_out.empty()) std::printf("%s skipped: %s\n", GetParam().left_out, GetParam().why);
  const std::string command = "TW_WORKER=" + worker + " " + kEmulator + TW_AARCH64_PROGRAMS "/tests/" +
                              GetParam().program + " --gtest_brief=1" + left_out + " >" + (folder / "log") + " 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream log(folder / "log");
  const std::string text = quoted({std::istreambuf_iterator<char>(log), {}});
  EXPECT_EQ(status, 0) << command << "\n" << text;
  EXPECT_NE(text.find("[  PASSED  ]"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Programs, EmulatedUnits,
    testing::Values(
        Units{"test_support", "Subprocess.LimitsHold:Subprocess.HasTheCoresOfWhoSaidSoBefore",
              "limits are those of the emulator, and forks with threads are its own"},
        Units{"test_target", "", ""},
        Units{
            "test_runtime",
            "Building.*:ThreadPool.GoesOnWithTheThreadsThatItGets:Frames.TimeForWhichThisProcessIsStoppedDoesNotCount:"
            "GuardedBuffer.LeavesNothingMappedWhereItCannotBeMade",
            "the emulator starts no second program of AArch64, and limits and stops are its own"},
        Units{"test_worker",
              "RunnerFaults.ForkBomb:RunnerFaults.EightGigabytes:RunnerFaults.AWorkerKilled*:RunnerFaults.Cancelled:"
              "RunnerFaults.NoWorkerOutlivesItsParent",
              "the emulator has neither seccomp nor limits, and processes have its name"}),
    [](const testing::TestParamInfo<Units>& info) { return std::string(info.param.program); });

}  // namespace
}  // namespace tw
