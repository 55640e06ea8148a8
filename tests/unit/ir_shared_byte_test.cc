// What is proved to share no byte does not: the interpreter, which watches bytes, finds no race.

#include <gtest/gtest.h>

#include <string>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/ir/shared_byte.h"

namespace tw::ir {
namespace {

struct Verdict {
  bool proved, races;
};

Verdict judge(const std::string& loops, int64_t rows, int64_t columns) {
  const std::string text =
      "kernel f(C: out int4[" + std::to_string(rows) + ", " + std::to_string(columns) + "]):\n" + loops;
  const Result<Program> p = parse_program(text);
  EXPECT_TRUE(p.ok()) << text << (p.ok() ? "" : p.error().render());
  std::vector<char> bytes(static_cast<size_t>((rows * columns + 1) / 2));
  const InterpBuffer buffer{bytes.data(), bytes.size()};
  const Status ran = interpret(*p, {&buffer, 1});
  const bool races = !ran.ok() && ran.error().what.find("data race") != std::string::npos;
  EXPECT_TRUE(ran.ok() || races) << text << ran.error().render();
  return {!shared_byte(*p), races};
}

std::string s(int64_t n) { return std::to_string(n); }

TEST(SharedByte, NothingThatIsProvedRaces) {
  int proved = 0, all = 0;
  const auto expect = [&](const std::string& loops, int64_t rows, int64_t columns) {
    const Verdict v = judge(loops, rows, columns);
    EXPECT_FALSE(v.proved && v.races) << loops << " of " << rows << " x " << columns;
    proved += v.proved;
    ++all;
  };
  for (int64_t rows : {1, 2, 3, 4})
    for (int64_t columns = 1; columns <= 9; ++columns) {
      expect(
          "  for i in 0.." + s(rows) + " parallel:\n    for j in 0.." + s(columns) + ":\n      C[i, j] = int4(1i8)\n",
          rows, columns);
      expect(
          "  for j in 0.." + s(columns) + " parallel:\n    for i in 0.." + s(rows) + ":\n      C[i, j] = int4(1i8)\n",
          rows, columns);
      for (int64_t factor = 1; factor <= 6; ++factor) {
        const int64_t outer = (columns + factor - 1) / factor;
        const std::string at = " * " + s(factor) + " + ji";
        const std::string rest =
            "        if jo" + at + " < " + s(columns) + ":\n          C[i, jo" + at + "] = int4(1i8)\n";
        const std::string inner = "      for ji in 0.." + s(factor) + ":\n";
        expect("  for i in 0.." + s(rows) + ":\n    for jo in 0.." + s(outer) + " parallel:\n" + inner + rest, rows,
               columns);
        expect("  for jo in 0.." + s(outer) + " parallel:\n    for i in 0.." + s(rows) + ":\n" + inner + rest, rows,
               columns);
        if (columns % factor == 0)
          expect("  for p in 0.." + s(rows * outer) + " parallel:\n    for ji in 0.." + s(factor) + ":\n      C[p // " +
                     s(outer) + ", (p * " + s(factor) + " + ji) % " + s(columns) + "] = int4(1i8)\n",
                 rows, columns);
        const std::string fused = "p % " + s(outer) + at;
        expect("  for p in 0.." + s(rows * outer) + " parallel:\n    for ji in 0.." + s(factor) + ":\n      if " +
                   fused + " < " + s(columns) + ":\n        C[p // " + s(outer) + ", " + fused + "] = int4(1i8)\n",
               rows, columns);
      }
    }
  EXPECT_GT(proved, all / 4);
}

TEST(SharedByte, ARowIsAsEvenAsItsLength) {
  const auto of = [](int64_t columns, int64_t factor) {
    return judge("  for p in 0.." + s(3 * columns / factor) + " parallel:\n    for ji in 0.." + s(factor) +
                     ":\n      C[p // " + s(columns / factor) + ", (p * " + s(factor) + " + ji) % " + s(columns) +
                     "] = int4(1i8)\n",
                 3, columns);
  };
  EXPECT_TRUE(of(88, 8).proved);
  EXPECT_TRUE(of(6, 2).proved);
  EXPECT_FALSE(of(15, 5).proved);
}

TEST(SharedByte, ScratchOfAnIterationIsFree) {
  EXPECT_TRUE(
      judge("  for i in 0..3 parallel:\n    alloc T: int4[3] local\n    for j in 0..3:\n      T[j] = int4(1i8)\n"
            "  C[0, 0] = int4(1i8)\n",
            1, 1)
          .proved);
}

TEST(SharedByte, IsEven) {
  const Expr i = Var("i"), j = Var("j");
  EXPECT_TRUE(is_even(i * 4 + floormod(i * 2, 6)));
  EXPECT_TRUE(is_even(min(i * 8, Expr(10))));
  EXPECT_TRUE(is_even((i * 2 + 1) * (j * 2 + 1) - 1));
  EXPECT_FALSE(is_even(i * 4 + 1));
  EXPECT_FALSE(is_even(i));
  EXPECT_FALSE(is_even(floordiv(i * 4, 2)));
  EXPECT_FALSE(is_even(floormod(i * 2, 3)));
}

}  // namespace
}  // namespace tw::ir
