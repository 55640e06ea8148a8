// Padding conditions leave the inside of the image: how many elements are computed under one, and how much code that
// costs.
#include <gtest/gtest.h>

#include "src/ir/parse.h"
#include "src/ir/walk.h"
#include "src/lower/partition.h"
#include "src/lower/simplify.h"
#include "src/lower/tails.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"

namespace tw::lower {
namespace {

using namespace ir;

// Of the stores of a program: how many run with a Select, how many in all, and how many the code has.
struct Stores {
  int64_t conditional = 0, all = 0, written = 0;
};

void count(const Stmt& s, int64_t times, Stores& out) {
  match(
      s,
      [&](const Store& st) {
        bool chooses = false;
        walk(st.value, [&](const Expr& e) {
          chooses = chooses || as<Select>(e);
          return !chooses;
        });
        out.conditional += chooses ? times : 0;
        out.all += times;
        ++out.written;
      },
      [&](const For& f) { count(f.body, times * as_int(f.extent).value(), out); },
      [&](const If& i) {
        count(i.then, times, out);
        if (i.otherwise) count(i.otherwise, times, out);
      },
      [&](const Seq& all) {
        for (const Stmt& child : all.stmts) count(child, times, out);
      },
      [&](const Allocate& a) { count(a.body, times, out); }, [&](const LetStmt& l) { count(l.body, times, out); },
      [](const Evaluate&) {}, [](const Sync&) {});
}

Stores partitioned(const std::string& text) {
  const Program before = parse_program(text).value_or_throw();
  const Program after = simplify(partition(before, avx2_target()), avx2_target());
  for (uint32_t seed = 0; seed < 3; ++seed) expect_same(before, after, seed);
  Stores stores;
  count(after.body, 1, stores);
  return stores;
}

const char* const kConvolution = R"(kernel f(A: float32[14, 14, 4], K: float32[3, 3, 4, 8], C: out float32[14, 14, 8]):
  for y in 0..14 KIND:
    for x in 0..14:
      for o in 0..8 vectorized:
        C[y, x, o] = 0.0
      for r in 0..3:
        for q in 0..3:
          for c in 0..4:
            for o in 0..8 vectorized:
              C[y, x, o] = C[y, x, o] + select(y + r >= 1 and y + r < 15 and x + q >= 1 and x + q < 15, A[y + r - 1, x + q - 1, c], 0.0) * K[r, q, c, o]
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Partition, InsideOfAnImageThereIsNoCondition) {
  const Stores stores = partitioned(with(kConvolution, " KIND", ""));
  const int64_t each = 3 * 3 * 4 * 8, border = 2 * 14 + 2 * 12;
  EXPECT_LE(stores.conditional, border * each);
  EXPECT_EQ(stores.all, 14 * 14 * (each + 8));
  EXPECT_LE(stores.written, 2 * kMaxCopies);
}

TEST(Partition, RowsInParallelKeepOneLoop) {
  const Program p = parse_program(with(kConvolution, "KIND", "parallel")).value_or_throw();
  const Program after = simplify(partition(p, avx2_target()), avx2_target());
  expect_same(p, after, 1);
  ASSERT_NE(as<For>(after.body), nullptr) << to_string(after);
  EXPECT_EQ(as<For>(after.body)->kind, ForKind::kParallel);
  Stores stores;
  count(after.body, 1, stores);
  EXPECT_LE(stores.written, 2 * kMaxCopies);
}

// Three dimensions make six cuts; the fourth has no copies left and keeps its condition.
TEST(Partition, TheCodeGrowsByALimitedNumberOfCopies) {
  const Stores three = partitioned(R"(kernel f(A: float32[6, 6, 6], B: out float32[6, 6, 6]):
  for i in 0..6:
    for j in 0..6:
      for k in 0..6:
        B[i, j, k] = select(1 <= i and i < 5 and 1 <= j and j < 5 and 1 <= k and k < 5, A[i - 1, j - 1, k - 1], 0.0) + A[i, j, k]
)");
  EXPECT_LE(three.conditional, 6 * 6 * 6 - 4 * 4 * 4);
  EXPECT_EQ(three.written, 7);
  const Stores four = partitioned(R"(kernel f(A: float32[6, 6, 6, 6], B: out float32[6, 6, 6, 6]):
  for i in 0..6:
    for j in 0..6:
      for k in 0..6:
        for l in 0..6:
          B[i, j, k, l] = select(1 <= i and i < 5 and 1 <= j and j < 5 and 1 <= k and k < 5 and 1 <= l and l < 5, A[i - 1, j - 1, k - 1, l - 1], 0.0)
)");
  EXPECT_LE(four.written, kMaxCopies);
}

TEST(Partition, AConditionHoldsInsideTheArmThatItGuards) {
  const Program p = parse_program(R"(kernel f(A: float32[16], B: out float32[16], n: index):
  for i in 0..16:
    B[i] = select(i < n, select(i < n + 1, A[i], 1.0), select(i < n, 2.0, 3.0))
)")
                        .value_or_throw();
  const Program after = simplify(p, avx2_target());
  EXPECT_NE(to_string(after).find("B[i] = select(i < n, A[i], 3.0)"), std::string::npos) << to_string(after);
}

}  // namespace
}  // namespace tw::lower
