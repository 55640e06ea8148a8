// AArch64 at O0, where LLVM would take another instruction selector, which loses the offset of a load that is
// broadcast. Modules with huge blocks come that way too.
#include <gtest/gtest.h>

#include "src/ir/parse.h"
#include "tests/emulated/agreement.h"

namespace tw {
namespace {

constexpr const char* kPrograms[] = {
    R"(kernel k(A: uint8[8], B: uint8[2], C: out uint8[8]):
  C[0 : 8] = A[0 : 8] * broadcast(B[1], 8)
)",
    R"(kernel k(A: float32[8], B: float32[4], C: out float32[8]):
  C[0 : 8] = A[0 : 8] * broadcast(B[0], 8) + broadcast(B[3], 8)
)",
    R"(kernel k(A: int16[16], B: int32[4], C: out int32[4]):
  C[0 : 4] = int32(A[ramp(1, 3, 4)]) + B[0 : 4] * broadcast(B[2], 4)
)"};

TEST(EmulatedLevels, WithoutOptimizationIsTheInterpreter) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  std::vector<ir::Program> programs;
  for (const char* text : kPrograms) programs.push_back(ir::parse_program(text).value_or_throw());
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    for (const int level : {0, 3}) expect_agreement(cpu, programs, 16, level);
  }
}

}  // namespace
}  // namespace tw
