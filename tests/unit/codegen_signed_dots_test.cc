// Sums of dot products of signed bytes, for an instruction whose left factors have no sign.
#include <random>

#include "src/ir/walk.h"
#include "tests/unit/run_program.h"

#if TW_LLVM

#include "codegen/llvm/signed_dots.h"

namespace tw::codegen {
namespace {

// The first loop of the program, as it becomes; "" where it stays.
std::string corrected(const std::string& body) {
  const std::string text =
      "kernel k(A: int8[64], B: int8[4096], C: out int32[64]):\n  alloc S: int32[64] local\n" + body;
  const ir::Program program = parse(text);
  std::string out;
  ir::walk(program.body, [&](const ir::Stmt& s) {
    const auto* loop = ir::as<ir::For>(s);
    if (loop == nullptr) return true;
    const std::optional<ir::Stmt> without = with_other_signs(*loop, {ir::Fn::kDotI8I8, ir::Fn::kDotU8I8, 16});
    if (without) out = ir::to_string(*without);
    return false;
  });
  return out;
}

TEST(CodegenSignedDots, RowsOfTheSameFactorsShareWhatIsTooMuch) {
  EXPECT_EQ(corrected(R"(  for k in 0..8:
    S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 : 4], B[k * 64 : 64])
    S[16 : 16] = dot_i8i8(S[16 : 16], A[k * 4 + 32 : 4], B[k * 64 : 64])
    S[32 : 16] = dot_i8i8(S[32 : 16], A[k * 4 : 4], B[k * 64 + 1024 : 64])
)"),
            R"(alloc excess: int32[32] local
excess[0 : 16] = 0i32
excess[16 : 16] = 0i32
for k in 0..8:
  excess[0 : 16] = dot_u8i8(excess[0 : 16], 128u8, B[k * 64 : 64])
  S[0 : 16] = dot_u8i8(S[0 : 16], reinterpret(uint8, A[k * 4 : 4]) ^ 128u8, B[k * 64 : 64])
  S[16 : 16] = dot_u8i8(S[16 : 16], reinterpret(uint8, A[k * 4 + 32 : 4]) ^ 128u8, B[k * 64 : 64])
  excess[16 : 16] = dot_u8i8(excess[16 : 16], 128u8, B[k * 64 + 1024 : 64])
  S[32 : 16] = dot_u8i8(S[32 : 16], reinterpret(uint8, A[k * 4 : 4]) ^ 128u8, B[k * 64 + 1024 : 64])
S[0 : 16] = S[0 : 16] - excess[0 : 16]
S[16 : 16] = S[16 : 16] - excess[0 : 16]
S[32 : 16] = S[32 : 16] - excess[16 : 16]
)");
}

// The other way round: the only product is of signed bytes.
TEST(CodegenSignedDots, OfLeftFactorsWithoutASign) {
  const ir::Program program = parse(R"(kernel k(A: uint8[64], B: int8[4096], C: out int32[64]):
  alloc S: int32[64] local
  for k in 0..8:
    S[0 : 4] = dot_u8i8(S[0 : 4], A[k * 4 : 4], B[k * 64 : 16])
)");
  std::string out;
  ir::walk(program.body, [&](const ir::Stmt& s) {
    if (const auto* loop = ir::as<ir::For>(s))
      out = ir::to_string(*with_other_signs(*loop, {ir::Fn::kDotU8I8, ir::Fn::kDotI8I8, 4}));
    return true;
  });
  EXPECT_EQ(out, R"(alloc excess: int32[4] local
excess[0 : 4] = 0i32
for k in 0..8:
  excess[0 : 4] = dot_i8i8(excess[0 : 4], -128i8, B[k * 64 : 16])
  S[0 : 4] = dot_i8i8(S[0 : 4], reinterpret(int8, A[k * 4 : 4]) ^ -128i8, B[k * 64 : 16])
S[0 : 4] = S[0 : 4] - excess[0 : 4]
)");
}

// Each sum is corrected once, behind all loops that add to it.
TEST(CodegenSignedDots, OutermostLoop) {
  EXPECT_EQ(corrected(R"(  for h in 0..3:
    for k in 0..8:
      let x = h * 512
      S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 : 4], B[x + k * 64 : 64])
      S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 + 32 : 4], B[x + k * 64 + 64 : 64])
)"),
            R"(alloc excess: int32[16] local
excess[0 : 16] = 0i32
for h in 0..3:
  for k in 0..8:
    let x = h * 512
    excess[0 : 16] = dot_u8i8(excess[0 : 16], 128u8, B[x + k * 64 : 64])
    S[0 : 16] = dot_u8i8(S[0 : 16], reinterpret(uint8, A[k * 4 : 4]) ^ 128u8, B[x + k * 64 : 64])
    excess[0 : 16] = dot_u8i8(excess[0 : 16], 128u8, B[x + k * 64 + 64 : 64])
    S[0 : 16] = dot_u8i8(S[0 : 16], reinterpret(uint8, A[k * 4 + 32 : 4]) ^ 128u8, B[x + k * 64 + 64 : 64])
S[0 : 16] = S[0 : 16] - excess[0 : 16]
)");
}

TEST(CodegenSignedDots, WhatStays) {
  const auto loop = [](const std::string& statements) { return corrected("  for k in 0..8:\n" + statements); };
  const std::string sum = "    S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 : 4], B[k * 64 : 64])\n";
  EXPECT_NE(loop(sum), "");
  EXPECT_EQ(loop(sum + "    C[0 : 16] = S[0 : 16]\n"), "") << "sums that the loop reads";
  EXPECT_EQ(loop(sum + "    S[k] = 0i32\n"), "") << "or stores";
  EXPECT_EQ(loop(sum + "    S[8 : 16] = dot_i8i8(S[8 : 16], A[k * 4 : 4], B[k * 64 : 64])\n"), "") << "that overlap";
  EXPECT_EQ(loop("    C[0 : 16] = dot_i8i8(C[0 : 16], A[k * 4 : 4], B[k * 64 : 64])\n"), "") << "memory of the caller";
  EXPECT_EQ(loop("    S[k : 16] = dot_i8i8(S[k : 16], A[k * 4 : 4], B[k * 64 : 64])\n"), "") << "places that move";
  EXPECT_EQ(loop("    S[0 : 8] = dot_i8i8(S[0 : 8], A[k * 4 : 4], B[k * 64 : 32])\n"), "") << "of another instruction";
  EXPECT_EQ(loop("    if k < 3:\n  " + sum), "") << "terms under a condition";
  EXPECT_EQ(corrected("  alloc P: int8[64] local\n  for k in 0..8:\n"
                      "    P[0 : 64] = B[k * 64 : 64]\n"
                      "    S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 : 4], P[0 : 64])\n"),
            "")
      << "factors that change between two rows";
  EXPECT_NE(corrected("  alloc P: int8[64] local\n  for k in 0..8:\n"
                      "    P[0 : 64] = B[k * 64 : 64]\n"
                      "    for j in 0..2:\n"
                      "      S[0 : 16] = dot_i8i8(S[0 : 16], A[j * 4 : 4], P[0 : 64])\n"),
            "")
      << "factors that were copied before";
}

// Whatever the instructions of this machine; a loop that does not run corrects nothing.
TEST(CodegenSignedDots, TheSameBits) {
  const ir::Program p = parse(R"(kernel k(A: int8[64], B: int8[1024], C: out int32[96]):
  alloc S: int32[96] local
  S[0 : 16] = broadcast(7i32, 16)
  S[16 : 16] = broadcast(2147483647i32, 16)
  S[32 : 16] = broadcast(0i32, 16)
  S[48 : 16] = broadcast(1i32, 16)
  S[64 : 16] = broadcast(-5i32, 16)
  for h in 0..2:
    for k in 0..4:
      S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 : 4], B[h * 256 + k * 64 : 64])
      S[16 : 16] = dot_i8i8(S[16 : 16], A[k * 4 + h * 16 : 4], B[h * 256 + k * 64 : 64])
      S[32 : 16] = dot_i8i8(S[32 : 16], A[k * 4 : 4], B[k * 64 + 512 : 64])
      S[0 : 16] = dot_i8i8(S[0 : 16], A[k * 4 + 32 : 4], B[k * 64 + 768 : 64])
      S[16 : 16] = dot_i8i8(S[16 : 16], A[60 : 4], B[k * 64 + 768 : 64])
  for k in 0..min(index(A[0]), 0):
    S[48 : 16] = dot_i8i8(S[48 : 16], A[0 : 4], B[0 : 64])
  for k in 0..4:
    S[64 : 8] = dot_i8i8(S[64 : 8], A[k * 4 : 4], B[k * 64 : 32])
    S[72 : 8] = dot_i8i8(S[72 : 8], B[k * 32 + 512 : 32], B[k * 64 : 32])
  C[0 : 64] = S[0 : 64]
  C[64 : 16] = S[64 : 16]
)");
  std::mt19937_64 random(3);
  std::vector<Bytes> data = {Bytes(64), Bytes(1024), Bytes(96 * 4)};
  for (int round = 0; round < 4; ++round) {
    for (Bytes& bytes : data)
      for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    expect_all_agree(p, data);
  }
}

}  // namespace
}  // namespace tw::codegen

#endif
