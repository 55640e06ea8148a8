// Programs that a person may have edited: those that are safe and those that are not.
#include <gtest/gtest.h>

#include "src/ir/parse.h"
#include "src/lower/safety.h"

namespace tw::lower {
namespace {

std::string found(const std::string& text) {
  std::string all;
  for (const SafetyFinding& f : safety_check(ir::parse_program(text).value_or_throw()))
    all += (all.empty() ? "" : "\n") + f.what;
  return all;
}

TEST(Safety, SubscriptsThatStayInside) {
  EXPECT_EQ(
      found("kernel k(A: float32[70], C: out float32[70]):\n"
            "  for io in 0..5 parallel:\n"
            "    C[io * 16 : 16] = A[io * 16 : 16 where lanes(16) < 70 - io * 16] where lanes(16) < 70 - io * 16\n"),
      "");
  EXPECT_EQ(found("kernel k(A: float32[9, 33], C: out float32[9, 33]):\n"
                  "  for i in 0..297:\n"
                  "    C@[i] = A[i // 33, i % 33]\n"),
            "");
  EXPECT_EQ(found("kernel k(I: int32[8], A: float32[10], C: out float32[8]):\n"
                  "  for i in 0..8:\n"
                  "    let at = min(max(index(I[i]), 0), 9)\n"
                  "    C[i] = A[at]\n"),
            "");
  EXPECT_EQ(found("kernel k(A: float32[n], C: out float32[n], n: size):\n"
                  "  for i in 0..n parallel:\n"
                  "    if i > 0:\n"
                  "      C[i] = A[i - 1]\n"
                  "    else:\n"
                  "      C[i] = 0.0\n"),
            "");
}

TEST(Safety, SubscriptsThatLeave) {
  EXPECT_EQ(found("kernel k(A: float32[70], C: out float32[70]):\n"
                  "  for i in 0..71:\n"
                  "    C[i] = 1.0\n"),
            "C[i]: not seen to stay inside of C: float32[70]");
  EXPECT_EQ(found("kernel k(A: float32[70], C: out float32[70]):\n"
                  "  for i in 0..70:\n"
                  "    C[i] = A[i - 1]\n"),
            "A[i - 1]: not seen to stay inside of A: float32[70]");
  EXPECT_EQ(found("kernel k(A: float32[70] strides [2], C: out float32[70]):\n"
                  "  for i in 0..70:\n"
                  "    C[i] = A[i * 2]\n"),
            "A[i * 2]: not seen to stay inside of A: float32[70]");
  EXPECT_EQ(
      found("kernel k(A: float32[70], C: out float32[70]):\n"
            "  for io in 0..5:\n"
            "    C[io * 16 : 16] = A[io * 16 : 16 where lanes(16) < 71 - io * 16] where lanes(16) < 70 - io * 16\n"),
      "A[io * 16 : 16]: not seen to stay inside of A: float32[70]");
  EXPECT_EQ(found("kernel k(I: int32[8], A: float32[10], C: out float32[8]):\n"
                  "  for i in 0..8:\n"
                  "    C[i] = A[index(I[i])]\n"),
            "A[index(I[i])]: not seen to stay inside of A: float32[10]");
  EXPECT_EQ(found("kernel k(A: float32[8, 8], C: out float32[8, 8]):\n"
                  "  for i in 0..8:\n"
                  "    for j in 0..9:\n"
                  "      C@[i * 8 + j] = A@[i * 8]\n"),
            "C[i * 8 + j]: not seen to stay inside of C: float32[8, 8]");
}

TEST(Safety, IterationsThatMeet) {
  const std::string meet = "C: iterations of the parallel loop i are not seen to touch different elements";
  EXPECT_EQ(found("kernel k(C: out float32[70]):\n  for i in 0..70 parallel:\n    C[i // 2] = 1.0\n"), meet);
  EXPECT_EQ(found("kernel k(C: out float32[70]):\n"
                  "  for i in 0..69 parallel:\n"
                  "    C[i] = C[i + 1]\n"),
            meet);
  EXPECT_EQ(found("kernel k(C: out float32[70]):\n"
                  "  for o in 0..10:\n"
                  "    for i in 0..7 parallel:\n"
                  "      C[o * 7 + i] = 1.0\n"),
            "");
  // Scratch of all iterations, and of each.
  EXPECT_EQ(found("kernel k(C: out float32[70]):\n"
                  "  alloc t: float32[1] global\n"
                  "  for i in 0..70 parallel:\n"
                  "    t[0] = 1.0\n"
                  "    C[i] = t[0]\n"),
            "t: iterations of the parallel loop i are not seen to touch different elements");
  EXPECT_EQ(found("kernel k(C: out float32[70]):\n"
                  "  for i in 0..70 parallel:\n"
                  "    alloc t: float32[1] global\n"
                  "    t[0] = 1.0\n"
                  "    C[i] = t[0]\n"),
            "");
}

}  // namespace
}  // namespace tw::lower
