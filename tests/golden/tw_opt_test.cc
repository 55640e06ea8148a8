// The command tw-opt as people call it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/folders.h"

namespace tw {
namespace {

const std::string kTool = TW_BINARY_DIR "/package/tensorwright/tw-opt";
constexpr const char* kText =
    "kernel f(C: out float32[8]):\n"
    "  for i in 0..8 vectorized:\n"
    "    C[i] = 1.0\n";

struct Ran {
  int code;
  std::string output;
};

Ran run(const std::string& arguments, const std::string& input) {
  const std::string file = testing::TempDir() + "tw_opt_input_" + std::to_string(getpid()) + ".ir";
  std::ofstream(file) << input;
  FILE* pipe = popen(("'" + kTool + "' " + arguments + " < '" + file + "' 2>&1").c_str(), "r");
  Ran ran{0, {}};
  std::array<char, 4096> chunk;
  for (size_t n; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) ran.output.append(chunk.data(), n);
  ran.code = WEXITSTATUS(pclose(pipe));
  std::filesystem::remove(file);
  return ran;
}

TEST(TwOpt, RunsPassesInTheOrderGiven) {
#ifndef TW_LLVM
  GTEST_SKIP() << "built without LLVM";
#endif
  const Ran ran = run("--pass vectorize,flatten --target 'llvm -mcpu=x86-64-v3' --verify -", kText);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output, "kernel f(C: out float32[8]):\n  C[0 : 8] = 1.0\n");
}

TEST(TwOpt, WithoutPassesPrintsWhatItRead) { EXPECT_EQ(run("", kText).output, kText); }

TEST(TwOpt, ListsThePassesWithTheirReasons) {
  const Ran ran = run("--list", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.output.find("vectorize  "), std::string::npos) << ran.output;
}

TEST(TwOpt, ErrorsAreOneOrTwoLinesAndAnExitCode) {
  const Ran unknown = run("--pass vectorise", kText);
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.output, "tw-opt: no pass vectorise\n    did you mean vectorize? --list shows all\n");
  EXPECT_NE(run("/nowhere.ir", "").output.find("a file that can be read expected, not /nowhere.ir"), std::string::npos);
  EXPECT_NE(run("", "kernel").output.find("line 1, column 7: a name expected"), std::string::npos);
}

}  // namespace
}  // namespace tw
