// Vectors of a polynomial, four or two at a time where registers are few, and one after the other where one reads what
// the other has stored.
#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

// Of the second of two vectors, how many steps stand before the store of the first one.
int steps_taken_in_turns(const std::string& program, const std::string& target) {
  const std::string text = build(parse(program), parse_target(target))->source("llvm");
  const size_t store = text.find("store <8 x float>", text.find("fadd"));
  int before = 0, behind = 0;
  for (size_t at = text.find("fadd"); at != std::string::npos; at = text.find("fadd", at + 1))
    (at < store ? before : behind) += 1;
  return (before - behind) / 2;
}

// C[at : 8] = ((x * x + 1) * x + 1) * x + ...
std::string polynomial(const std::string& at, const std::string& x, int degree = 6) {
  std::string value = x;
  for (int i = 0; i < degree; ++i) value = "(" + value + " * " + x + " + 0.5)";
  return "  C[" + at + " : 8] = " + value + "\n";
}

TEST(CodegenTakeTurns, VectorsOfAPolynomial) {
  const std::string kernel = "kernel k(A: float32[16], C: out float32[16]):\n",
                    two = kernel + polynomial("0", "A[0 : 8]") + polynomial("8", "A[8 : 8]"),
                    in_place =
                        "kernel k(C: out float32[16]):\n" + polynomial("0", "C[0 : 8]") + polynomial("8", "C[8 : 8]"),
                    short_ones = kernel + polynomial("0", "A[0 : 8]", 3) + polynomial("8", "A[8 : 8]", 3);
  EXPECT_GE(steps_taken_in_turns(two, "llvm -mcpu=haswell"), 4);
  EXPECT_GE(steps_taken_in_turns(in_place, "llvm -mcpu=haswell"), 4);
  EXPECT_EQ(steps_taken_in_turns(short_ones, "llvm -mcpu=haswell"), 0);
  EXPECT_EQ(steps_taken_in_turns(two, "llvm -mcpu=znver4"), 0) << "32 registers keep the constants";
  expect_all_agree(parse(two), {bytes_of(counting(16)), Bytes(64, 1)});
}

TEST(CodegenTakeTurns, FourAtATimeWhereTheyAreShort) {
  const auto steps_before_a_store = [](int degree) {
    std::string program = "kernel k(A: float32[32], C: out float32[32]):\n";
    for (const char* at : {"0", "8", "16", "24"}) program += polynomial(at, "A[" + std::string(at) + " : 8]", degree);
    expect_all_agree(parse(program), {bytes_of(counting(32)), Bytes(128, 1)});
    const std::string text = build(parse(program), parse_target("llvm -mcpu=haswell"))->source("llvm");
    const size_t store = text.find("store <8 x float>", text.find("fadd"));
    int steps = 0;
    for (size_t at = text.find("fadd"); at < store; at = text.find("fadd", at + 1)) ++steps;
    return steps;
  };
  EXPECT_GT(steps_before_a_store(8), 3 * 8);
  EXPECT_GT(steps_before_a_store(40), 40);
  EXPECT_LE(steps_before_a_store(40), 2 * 40) << "a long one keeps more values";
}

TEST(CodegenTakeTurns, NotWhereOneReadsWhatTheOtherHasStored) {
  for (const char* from : {"C[4 : 8]", "C[index(n[0]) : 8]"}) {
    const std::string program = "kernel k(A: float32[16], n: int64[1], C: out float32[16]):\n  C[8 : 8] = A[8 : 8]\n" +
                                polynomial("0", "A[0 : 8]") + polynomial("8", from);
    EXPECT_EQ(steps_taken_in_turns(program, "llvm -mcpu=haswell"), 0) << from;
    expect_all_agree(parse(program), {bytes_of(counting(16)), Bytes(8, 0), Bytes(64, 1)});
  }
}

#endif

}  // namespace
}  // namespace tw
