// Other CPUs than this one, by emulation: CPUID and the instructions are those of the CPU that qemu-x86_64 is told.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "src/support/temporary_folder.h"
#include "tensorwright/target.h"
#include "tests/folders.h"

namespace tw {
namespace {

struct Outcome {
  int code = -1;  // 128 + the signal that ended it
  std::string output;
};

Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return outcome;
  char text[4096];
  for (size_t n; (n = fread(text, 1, sizeof text, pipe)) > 0;) outcome.output.append(text, n);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

const std::string kProbe = TW_BINARY_DIR "/tests/tw-probe ";

class Emulated : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "skipped: the probe is emulated as a program of x86-64";
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "skipped: sanitizers need more address space than the emulator gives";
#endif
    if (std::system("command -v qemu-x86_64 >/dev/null") != 0)
      GTEST_SKIP() << "skipped: qemu-x86_64 is not installed (Debian: qemu-user)";
    if (Target::host().kind != "llvm") GTEST_SKIP() << "skipped: built without LLVM";
  }

  // Of qemu's own words that TCG lacks a feature that the CPU's name stands for nothing is kept.
  static Outcome on(const std::string& cpu, const std::string& arguments) {
    Outcome outcome = run("qemu-x86_64 -cpu " + cpu + " " + kProbe + arguments);
    std::istringstream lines(outcome.output);
    std::string kept;
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("qemu-x86_64: warning:")) kept += line + "\n";
    outcome.output = kept;
    return outcome;
  }

  static void expect_right(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.output, "right\n");
  }
};

TEST_F(Emulated, NativeIsWhatTheEmulatorIsTold) {
  EXPECT_EQ(on("Nehalem", "native").output, "llvm -mcpu=nehalem\n");
  EXPECT_EQ(on("Haswell", "native").output, "llvm -mcpu=haswell\n");
  EXPECT_EQ(on("qemu64", "native").output, "llvm -mcpu=x86-64 -mattr=+sse3\n");
  // What QEMU can do, and the number of an Athlon.
  EXPECT_TRUE(on("max", "native").output.starts_with("llvm -mcpu=x86-64-v"));
}

TEST_F(Emulated, TheDoctorSaysIt) {
  const Outcome doctor = run("qemu-x86_64 -cpu Nehalem " TW_BINARY_DIR "/package/tensorwright/tw doctor");
  EXPECT_NE(doctor.output.find("llvm -mcpu=nehalem, vectors of 128 bits"), std::string::npos) << doctor.output;
}

TEST_F(Emulated, TheDemosKernelRuns) {
  for (const char* cpu : {"Nehalem", "Haswell", "max"}) {
    SCOPED_TRACE(cpu);
    expect_right(on(cpu, "run 'llvm -mcpu=native' 257 513 1025"));
  }
}

TEST_F(Emulated, KernelsForTheCpuRunOnIt) {
  expect_right(on("qemu64", "run 'llvm -mcpu=native' 33 65 17"));
  expect_right(on("Nehalem", "run 'c -mcpu=native' 33 65 17"));
  expect_right(on("Haswell", "run 'c -mcpu=native' 33 65 17"));
  expect_right(on("Nehalem", "run 'llvm -mcpu=nehalem' 33 65 17"));
  expect_right(on("Haswell", "run 'llvm -mcpu=haswell' 33 65 17"));
  expect_right(on("max", "run 'llvm -mcpu=x86-64-v3' 33 65 17"));
}

TEST_F(Emulated, MoreThanTheCpuHasIsRefusedByName) {
  const std::string lacks = "avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe";
  const Outcome built = on("Nehalem", "run 'llvm -mcpu=x86-64-v3' 9 17 33");
  EXPECT_EQ(built.code, 2) << built.output;
  EXPECT_NE(built.output.find("this machine cannot run code for llvm -mcpu=x86-64-v3"), std::string::npos)
      << built.output;
  EXPECT_NE(built.output.find("it lacks " + lacks), std::string::npos) << built.output;
  const Outcome wide = on("Haswell", "run 'llvm -mcpu=x86-64-v4' 9 17 33");
  EXPECT_EQ(wide.code, 2) << wide.output;
  EXPECT_NE(wide.output.find("it lacks avx512bw"), std::string::npos) << wide.output;
}

TEST_F(Emulated, ASavedKernelIsLoadedOrRefusedByName) {
  const support::TemporaryFolder folder("tensorwright-emulated");
  const std::string file = folder / "dense.so";
  ASSERT_EQ(run(kProbe + "save 'llvm -mcpu=x86-64-v3' " + file).code, 0);
  expect_right(on("Haswell", "load " + file));
  const Outcome refused = on("Nehalem", "load " + file);
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_NE(refused.output.find("was built for llvm -mcpu=x86-64-v3"), std::string::npos) << refused.output;
  EXPECT_NE(refused.output.find("this CPU does not have avx, avx2, bmi"), std::string::npos) << refused.output;
}

// The bytes of a library are those of what it is made of: not of the machine, the folder, the user or his settings.
TEST_F(Emulated, LibrariesAreTheSameBytesWhereverTheyAreMade) {
  const std::string targets = " 'llvm -mcpu=x86-64-v2' 'llvm -mcpu=x86-64-v3' 'llvm -mcpu=x86-64-v4'";
  const support::TemporaryFolder first("tensorwright-emulated"), other("another folder \xc3\xa9");
  const auto digests = [](const std::string& folder) { return run("cd '" + folder + "' && sha256sum *").output; };
  ASSERT_EQ(run(kProbe + "library '" + first.path() + "'" + targets).code, 0);
  const std::string expected = digests(first.path());
  EXPECT_NE(expected.find("  libdense.a\n"), std::string::npos) << expected;
  std::vector<std::string> ways = {"TZ=Asia/Tokyo LC_ALL=C.UTF-8 HOME=/nowhere USER=somebody SOURCE_DATE_EPOCH=1 ",
                                   "env -i ",
                                   "cd / && TW_NUM_THREADS=1 taskset -c 0 ",
                                   "setarch -R ",
                                   "qemu-x86_64 -cpu Nehalem ",
                                   "qemu-x86_64 -cpu Haswell "};
  if (geteuid() == 0) {
    ways.push_back("unshare --uts sh -c 'hostname another-machine && exec \"$@\"' - ");
    ASSERT_EQ(chmod(other.path().c_str(), 0777), 0);
    ways.push_back("setpriv --reuid 65534 --regid 65534 --clear-groups ");
  }
  for (const std::string& way : ways) {
    SCOPED_TRACE(way);
    run("rm -f '" + other.path() + "'/*");
    EXPECT_EQ(run(way + kProbe + "library '" + other.path() + "'" + targets).code, 0);
    EXPECT_EQ(digests(other.path()), expected);
  }
  for (const std::string& word : {std::string(TW_SOURCE_DIR), first.path()})
    EXPECT_EQ(run("grep -Fl -- '" + word + "' '" + first.path() + "'/*").output, "") << word;
}

struct Foreign {
  const char *system, *emulator, *packages;
  std::vector<std::pair<std::string, std::string>> targets;  // of the triple of the system, and the CPU that it runs on
};

void PrintTo(const Foreign& foreign, std::ostream* out) { *out << foreign.system; }

// Objects for other architectures, linked by the cross compiler with the header that stands beside them.
class EmulatedForeign : public Emulated, public testing::WithParamInterface<Foreign> {
 protected:
  void SetUp() override {
    Emulated::SetUp();
    if (IsSkipped()) return;
    for (const std::string& program : {std::string(GetParam().emulator), cross()})
      if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0)
        GTEST_SKIP() << "skipped: " << program << " is not installed (Debian: " << GetParam().packages << ")";
  }
  static std::string cross() { return std::string(GetParam().system) + "-gcc"; }

  void link_for(const std::string& target) {
    const std::string object = folder_ / "dense.o";
    const std::string whole = target.substr(0, target.find(' ')) + " -mtriple=" + GetParam().system +
                              (target.find(' ') == target.npos ? "" : target.substr(target.find(' ')));
    const Outcome saved = run(kProbe + "save '" + whole + "' " + object);
    ASSERT_EQ(saved.code, 0) << saved.output;
    const Outcome linked = run(cross() + " -static -std=c99 -pedantic -Wall -Wextra -Werror -I" + folder_.path() +
                               " -o " + program_ + " " TW_SOURCE_DIR "/tests/emulated/dense_main.c " + object);
    ASSERT_EQ(linked.code, 0) << linked.output;
  }
  Outcome on(const std::string& cpu) const {
    return run(std::string(GetParam().emulator) + " -cpu " + cpu + " " + program_);
  }

 private:
  const support::TemporaryFolder folder_{"tensorwright-emulated"};
  const std::string program_ = folder_ / "dense";
};

TEST_P(EmulatedForeign, KernelsRunThere) {
  for (const auto& [target, cpu] : GetParam().targets) {
    SCOPED_TRACE(target);
    link_for(target);
    expect_right(on(cpu));
  }
}

// Lanes behind the end of the vectors would not be computed.
TEST_P(EmulatedForeign, VectorsOfAnotherLengthAreRefused) {
  if (GetParam().system != std::string("aarch64-linux-gnu")) GTEST_SKIP() << "skipped: vectors have one length there";
  link_for("llvm -mattr=+sve -msve-vector-bits=512");
  expect_right(on("max,sve-max-vq=4"));
  for (const char* cpu : {"max,sve-max-vq=2", "max,sve-max-vq=1", "max,sve=off", "neoverse-n1"}) {
    const Outcome refused = on(cpu);
    EXPECT_EQ(refused.output, "code 3\n") << cpu;
    EXPECT_EQ(refused.code, 1) << cpu;
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, EmulatedForeign,
                         testing::Values(Foreign{"aarch64-linux-gnu",
                                                 "qemu-aarch64",
                                                 "qemu-user, g++-aarch64-linux-gnu",
                                                 {{"llvm -mcpu=cortex-a72", "cortex-a72"},
                                                  {"llvm -mcpu=neoverse-n1", "neoverse-n1"},
                                                  {"llvm -mcpu=neoverse-v1 -mattr=-sve", "max"},
                                                  {"llvm -mcpu=neoverse-v1", "max,sve-max-vq=2"},
                                                  {"llvm -mcpu=a64fx", "a64fx"},
                                                  {"llvm -mattr=+sve -msve-vector-bits=128", "max,sve-max-vq=1"},
                                                  {"llvm -mattr=+sve -msve-vector-bits=256", "max,sve-max-vq=2"},
                                                  {"llvm -mattr=+sve -msve-vector-bits=512", "max,sve-max-vq=4"},
                                                  {"c", "cortex-a72"},
                                                  {"c -mcpu=neoverse-n1", "neoverse-n1"},
                                                  {"c -mcpu=ampere1", "max,sve=off"}}},
                                         Foreign{"arm-linux-gnueabihf",
                                                 "qemu-arm",
                                                 "qemu-user, gcc-arm-linux-gnueabihf, libc6-dev-armhf-cross",
                                                 {{"c", "cortex-a15"}}},
                                         Foreign{"riscv64-linux-gnu",
                                                 "qemu-riscv64",
                                                 "qemu-user, gcc-riscv64-linux-gnu, libc6-dev-riscv64-cross",
                                                 {{"c", "rv64"}}}),
                         [](const testing::TestParamInfo<Foreign>& info) {
                           std::string name = info.param.system;
                           return name.substr(0, name.find('-'));
                         });

}  // namespace
}  // namespace tw
