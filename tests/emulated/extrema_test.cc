// min and max on AArch64, whose fminnm makes a quiet NaN of a signalling one: a NaN on the left gives the right
// operand.
#include <gtest/gtest.h>

#include "src/ir/parse.h"
#include "tests/emulated/agreement.h"

namespace tw {
namespace {

constexpr const char* kPrograms[] = {
    R"(kernel k(A: float32[32], B: float32[32], C: out float32[32], D: out float32[32]):
  for i in 0..32:
    C[i] = min(A[i], 1.0) + max(-2.0, B[i])
    D[i] = max(A[i], B[i])
)",
    R"(kernel k(A: float32[32], B: float32[32], C: out float32[32], D: out float32[32]):
  C[0 : 32] = min(A[0 : 32], broadcast(1.0, 32))
  D[0 : 32] = max(max(broadcast(1.0, 32), A[0 : 32]), B[0 : 32])
)",
    R"(kernel k(A: float32[32], C: out float32[32], D: out float32[32]):
  C[0 : 32] = max(A[0 : 32] + broadcast(1.0, 32), broadcast(0.0, 32))
  D[0 : 32] = min(select(A[0 : 32] < broadcast(0.0, 32), A[0 : 32] * broadcast(2.0, 32), A[0 : 32]), broadcast(9.0, 32))
)",
    R"(kernel k(A: float64[32], C: out float64[32], D: out float64[32]):
  C[0 : 32] = max(A[0 : 32], broadcast(0.0f64, 32))
  for i in 0..32:
    D[i] = min(A[i], 5.0f64)
)",
    R"(kernel k(A: float32[32], C: out float32[32], D: out float32[32]):
  for i in 0..32:
    C[i] = select(A[i] < 1.0, A[i], 1.0)
    D[i] = select(A[i] <= 2.0, 2.0, A[i])
)"};

TEST(EmulatedExtrema, AreThoseOfTheInterpreter) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  std::vector<ir::Program> programs;
  for (const char* text : kPrograms) programs.push_back(ir::parse_program(text).value_or_throw());
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    expect_agreement(cpu, programs, 64);
  }
}

}  // namespace
}  // namespace tw
