// Dot products on AArch64: the bits of the interpreter, by the instruction and without.
#include <gtest/gtest.h>

#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tensorwright/build.h"
#include "tensorwright/schedule.h"
#include "tests/emulated/agreement.h"

namespace tw {
namespace {

constexpr const char* kPrograms[] = {
    R"(kernel k(A: uint8[32], B: int8[32], C: out int32[8], D: out int32[8]):
  C[0 : 8] = dot_u8i8(broadcast(-7i32, 8), A[0 : 32], B[0 : 32])
  D[0 : 8] = dot_u8i8(C[0 : 8], A[8 : 4], B[0 : 32])
)",
    R"(kernel k(A: int8[32], B: int8[32], C: out int32[8], D: out int32[8]):
  C[0 : 8] = dot_i8i8(broadcast(-7i32, 8), A[0 : 32], B[0 : 32])
  D[0 : 8] = dot_i8i8(C[0 : 8], A[8 : 4], B[0 : 32])
)",
    R"(kernel k(A: uint8[32], B: uint8[32], C: out int32[8], D: out int32[8]):
  C[0 : 8] = dot_u8u8(broadcast(-7i32, 8), A[0 : 32], B[0 : 32])
  D[0 : 8] = dot_u8u8(C[0 : 8], A[8 : 4], B[0 : 32])
)",
    R"(kernel k(A: bfloat16[16], B: bfloat16[16], S: float32[8], C: out float32[8], D: out float32[8]):
  C[0 : 8] = dot_bf16_odd(S[0 : 8], A[0 : 16], B[0 : 16])
  D[0 : 8] = dot_bf16_odd(C[0 : 8], A[4 : 2], B[0 : 16])
)",
    R"(kernel k(A: int8[16], B: int8[16], S: int32[4], C: out int32[4]):
  C[0 : 4] = mat_i8i8(S[0 : 4], A[0 : 16], B[0 : 16])
)",
    R"(kernel k(A: bfloat16[8], B: bfloat16[8], S: float32[4], C: out float32[4]):
  C[0 : 4] = mat_bf16_odd(S[0 : 4], A[0 : 8], B[0 : 8])
)"};

TEST(EmulatedDots, AreThoseOfTheInterpreter) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  std::vector<ir::Program> programs;
  for (const char* text : kPrograms) programs.push_back(ir::parse_program(text).value_or_throw());
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    expect_agreement(cpu, programs, 256);
  }
}

// As many rows as matrices take, and one less.
ir::Program product(const Target& target, const char* left, const char* right, const char* sum, int64_t rows) {
  const te::Tensor A = te::placeholder({rows, 32}, left, "A"), B = te::placeholder({32, 48}, right, "B");
  const te::IterVar k = te::reduce_axis(0, 32, "k");
  const te::Tensor C = te::compute(
      {rows, 48},
      [&](te::Var i, te::Var j) { return te::sum(te::astype(A(i, k), sum) * te::astype(B(k, j), sum), {k}); }, "C");
  const ir::Program loops = schedule::to_ir(default_schedule({C}, target), {A, B, C}).value_or_throw();
  return lower::run_pipeline(lower::cpu_passes(), loops, target);
}

TEST(EmulatedDots, OfAutomaticSchedulesAreThoseOfTheInterpreter) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    const Target target = Target::parse(cpu.target).value_or_throw();
    std::vector<ir::Program> programs;
    for (const int64_t rows : {20, 19}) {
      programs.push_back(product(target, "int8", "int8", "int32", rows));
      programs.push_back(product(target, "uint8", "uint8", "int32", rows));
      programs.push_back(product(target, "uint8", "int8", "int32", rows));
      programs.push_back(product(target, "bfloat16", "bfloat16", "float32", rows));
    }
    expect_agreement(cpu, programs, 4);
  }
}

}  // namespace
}  // namespace tw
