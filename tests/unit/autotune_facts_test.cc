// What estimates are made from: tiles at the end of an axis, what threads share, the cores that a target means.
#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/model/nest_facts.h"

namespace tw::autotune {
namespace {

namespace S = schedule;

Machine machine_of_target(const char* text, int threads) {
  const Target target = Target::parse(text).value_or_throw();
  return S::describe_machine(target, {.hardware = S::usual_hardware(target), .threads = threads});
}

// A product by tiles of so many rows and columns, whose sums stand in the code.
S::Schedule product(int64_t rows, int64_t columns, int64_t terms, int64_t tile_rows, int64_t tile_columns) {
  const te::Tensor A = te::placeholder({rows, terms}, "float32", "A"),
                   B = te::placeholder({terms, columns}, "float32", "B");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  S::Schedule s(
      {te::compute({rows, columns}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * B(k, j), {k}); }, "C")});
  s.apply(S::Split{"C", "i", tile_rows, {}});
  s.apply(S::Split{"C", "j", tile_columns, {}});
  s.apply(S::Reorder{"C", {"i.o", "j.o", "k", "i.i", "j.i"}});
  s.apply(S::Unroll{"C", "i.i"});
  s.apply(S::Vectorize{"C", "j.i"});
  return s;
}

StageFacts facts(const S::Schedule& s, const Machine& machine) {
  return facts_of(s, S::view_stages(s.nest()), machine).stages.back();
}

TEST(Facts, OfACutTileCountWhatIsThere) {
  const Machine machine = machine_of_target("llvm -mcpu=x86-64-v4", 1);
  const double whole = facts(product(56, 64, 100, 8, 64), machine).arithmetic;
  EXPECT_EQ(whole, 56 * 4 * 100);
  // Nine tiles and 2 rows, which wait as long as 4.
  EXPECT_DOUBLE_EQ(facts(product(56, 64, 100, 6, 64), machine).arithmetic / whole, 58.0 / 56);
  // Of 80 columns the last 16 are one vector of a tile of four.
  const double loads = facts(product(48, 80, 100, 6, 64), machine).accesses[0].instructions;
  EXPECT_DOUBLE_EQ(loads, 48 * 2 * 100) << "elements of A are read for each tile of columns, cut or not";
}

TEST(Facts, WithoutMasksTheEndOfAVectorIsThoseOfPowersOfTwo) {
  const auto arithmetic = [](const char* cpu, int64_t columns, int64_t tile) {
    return facts(product(8, columns, 100, 8, tile), machine_of_target(cpu, 1)).arithmetic / (8 * 100);
  };
  EXPECT_EQ(arithmetic("llvm -mcpu=x86-64-v3", 14, 14), 3) << "8, 4 and 2 lanes";
  EXPECT_EQ(arithmetic("llvm -mcpu=x86-64-v4", 14, 14), 1) << "14 of 16";
  EXPECT_EQ(arithmetic("llvm -mcpu=x86-64-v3", 13, 8), 3) << "8, then 4 and 1";
  EXPECT_EQ(arithmetic("llvm -mcpu=x86-64-v4", 29, 16), 2);
}

TEST(Facts, OfAPaddedStageVectorsAreWhole) {
  const te::Tensor A = te::placeholder({8, 14}, "float32", "A");
  const te::Tensor P = te::compute({8, 14}, [&](te::Var i, te::Var j) { return A(i, j) + A(i, j); }, "P");
  S::Schedule s({te::compute({8, 14}, [&](te::Var i, te::Var j) { return P(i, j) + P(i, j); }, "C")});
  s.apply(S::Split{"P", "j", 8, {}, ir::Tail::kPad});
  s.apply(S::Vectorize{"P", "j.i"});
  const Machine machine = machine_of_target("llvm -mcpu=x86-64-v3", 1);
  EXPECT_EQ(facts_of(s, S::view_stages(s.nest()), machine).stages.front().arithmetic, 8 * 2);
}

// Windows of 3x3 that slide over eight columns of channels, all taps in the code.
TEST(Facts, VectorsOfAWindowWaitForItsNextTap) {
  const te::Tensor X = te::placeholder({10, 10, 48}, "float32", "X"), W = te::placeholder({3, 3, 48}, "float32", "W");
  const te::IterVar kh = te::reduce_axis(0, 3, "kh"), kw = te::reduce_axis(0, 3, "kw");
  S::Schedule s({te::compute(
      {8, 8, 48},
      [&](te::Var i, te::Var j, te::Var k) { return te::sum(X(i + kh, j + kw, k) * W(kh, kw, k), {kh, kw}); }, "Y")});
  s.apply(S::Reorder{"Y", {"i", "kh", "kw", "j", "k"}});
  s.apply(S::Vectorize{"Y", "k"});
  for (const char* loop : {"j", "kw"}) s.apply(S::Unroll{"Y", loop});
  const Machine machine = machine_of_target("llvm -mcpu=x86-64-v4", 1);
  const StageFacts one = facts(s, machine);
  EXPECT_EQ(one.registers, 8 * 3 + 3 + 3) << "sums, a vector of X, one of W";
  EXPECT_EQ(one.waiting, 7 * 3);
  EXPECT_EQ(one.windows, 1);
  s.apply(S::Unroll{"Y", "kh"});
  const StageFacts three = facts(s, machine);
  EXPECT_EQ(three.waiting, 7 * 3);
  EXPECT_EQ(three.windows, 3);
}

TEST(Facts, ThreadsShareWhatEachOfThemReads) {
  const Machine machine = machine_of_target("llvm -mcpu=x86-64-v4", 2);
  const auto shared = [&](const std::vector<std::string>& tasks) {
    S::Schedule s = product(1024, 128, 64, 8, 64);
    s.apply(S::Reorder{"C", tasks});
    s.apply(S::Fuse{"C", tasks});
    s.apply(S::Parallel{"C", tasks[0] + "*" + tasks[1]});
    return facts(s, machine).shared;
  };
  EXPECT_EQ(shared({"i.o", "j.o"}), 4 * 64 * 128) << "all of B";
  EXPECT_EQ(shared({"j.o", "i.o"}), 4 * 1024 * 64) << "all of A";
}

TEST(Facts, MemoryComesAgainForEachOuterPartOfTheTasks) {
  const Machine machine = machine_of_target("llvm -mcpu=x86-64-v3", 1);  // a last cache of 4 MiB
  const auto from_memory = [&](const std::vector<std::string>& tasks) {
    S::Schedule s = product(12, 4096, 1024, 6, 16);
    s.apply(S::Reorder{"C", tasks});
    s.apply(S::Fuse{"C", tasks});
    s.apply(S::Parallel{"C", tasks[0] + "*" + tasks[1]});
    return facts(s, machine).moved[2];
  };
  constexpr double kB = 4.0 * 1024 * 4096, kOthers = 4.0 * 12 * (1024 + 4096);
  EXPECT_LE(from_memory({"j.o", "i.o"}), kB + 2 * kOthers);
  EXPECT_GE(from_memory({"i.o", "j.o"}), 2 * kB) << "both rows of tiles go over B";
}

TEST(Facts, CoresReadAheadInFewLines) {
  const Machine machine = machine_of_target("llvm -mcpu=x86-64-v3", 1);
  constexpr double kLinesOfB = 4.0 * 1024 * 4096 / 64;
  const auto asked = [&](int64_t terms) {
    S::Schedule s = product(6, 4096, 1024, 6, 16);
    s.apply(S::Split{"C", "k", terms, {}});
    s.apply(S::Reorder{"C", {"k.o", "j.o", "i.o", "k.i", "i.i", "j.i"}});
    return facts(s, machine).asked / kLinesOfB;
  };
  EXPECT_GT(asked(1024), 0.95) << "a column of vectors";
  EXPECT_GT(asked(64), 0.95);
  EXPECT_LT(asked(8), 0.1) << "eight lines, each as long as B's";
}

TEST(Facts, CoresThatMultiplyTilesHaveTheirCaches) {
  const Machine machine = machine_of_target("llvm -mcpu=sapphirerapids", 1);
  EXPECT_EQ(machine.l1_bytes, 48 << 10);
  EXPECT_EQ(machine.l2_bytes, 2 << 20);
  EXPECT_EQ(machine.rates.source, "those of a Xeon with AMX");
  EXPECT_EQ(machine.known.source, Rates{}.source);
}

// Of what comes into L2 when 16 loops of columns meet a block of rows, 4096 elements apart: 1 where the block comes
// anew each time.
double share_of_anew(int64_t rows, const Machine& machine) {
  constexpr int64_t kTerms = 4096, kColumns = 256, kTile = 16;
  S::Schedule s = product(rows, kColumns, kTerms, 6, kTile);
  s.apply(S::Split{"C", "k", 256, {}});
  s.apply(S::Reorder{"C", {"k.o", "j.o", "i.o", "k.i", "i.i", "j.i"}});
  const double block = 4.0 * static_cast<double>(rows * kTerms), columns = 4.0 * kTerms * kColumns;
  return facts(s, machine).moved[1] / (block * kColumns / kTile + columns);
}

TEST(Facts, OfRowsAPowerOfTwoApartAShareStaysInL2) {
  const Machine machine = machine_of_target("llvm -mcpu=znver3", 1);  // L2 of 1 MiB: each eighth row has the same sets
  EXPECT_LT(share_of_anew(48, machine), 0.4);                         // six lines in each
  EXPECT_GT(share_of_anew(96, machine), 0.5);
  EXPECT_LT(share_of_anew(96, machine), 0.7);
  EXPECT_GT(share_of_anew(240, machine), 0.8);
}

// What comes into L1 of the rows of a tile, which are copied once for all columns: 1 where they come for each panel.
double share_that_comes_again(int64_t terms) {
  constexpr int64_t kRows = 6, kColumns = 1024, kTile = 64;
  S::Schedule s = product(kRows, kColumns, terms, kRows, kTile);
  s.apply(S::CacheRead{"A", ir::Scope::kGlobal, {"C"}});
  s.apply(S::ComputeAt{"A.global", "C", "i.o"});
  const double rows = 4.0 * static_cast<double>(kRows * terms), panels = kColumns / kTile;
  const double columns = 4.0 * static_cast<double>(terms * kColumns), sums = 4.0 * kRows * kColumns;
  return (facts(s, machine_of_target("llvm -mcpu=x86-64-v4", 1)).moved[0] - columns - sums) / (rows * panels);
}

TEST(Facts, WhatStreamsByTakesTheRoomOfAPartThatIsKept) {
  EXPECT_LT(share_that_comes_again(64), 0.1);   // 16 KiB of columns beside 1.5 KiB of rows
  EXPECT_GT(share_that_comes_again(512), 0.9);  // 128 KiB beside 12 KiB
}

TEST(Facts, RowsOfTilesLieInOneLineWhereTheKernelHasLaidThem) {
  const te::Tensor A = te::placeholder({32, 64}, "bfloat16", "A");
  const te::Tensor B = te::placeholder({64, 32}, "bfloat16", "B", te::Placeholder{.param = true});
  const te::IterVar k = te::reduce_axis(0, 64, "k");
  const ir::Type sum = ir::Type::f(32);
  const auto product = [&](te::Var i, te::Var j) {
    return te::sum(ir::cast(sum, A(i, k)) * ir::cast(sum, B(k, j)), {k});
  };
  const te::Tensor C = te::compute({32, 32}, product, "C");
  const auto crossing = [&](bool copied) {
    S::Schedule s({C});
    s.apply(S::TransformLayout{"B", {"ax0 // 2", "ax1", "ax0 % 2"}, ""});
    s.apply(S::CacheWrite{"C", ir::Scope::kLocal});
    if (copied) s.apply(S::CacheRead{"A", ir::Scope::kGlobal, {"C.local"}});
    for (const char* axis : {"i", "j"}) s.apply(S::Split{"C.local", axis, 16, {}});
    s.apply(S::Split{"C.local", "k", 32, {}});
    s.apply(S::Split{"C.local", "k.i", 2, {}});
    s.apply(S::Reorder{"C.local", {"k.o", "i.o", "j.o", "i.i", "j.i", "k.i.o", "k.i.i"}});
    s.apply(S::Tensorize{"C.local", "i.i", "amx.bf16"});
    const NestFacts nest = facts_of(s, S::view_stages(s.nest()), machine_of_target("llvm -mcpu=sapphirerapids", 1));
    const StageFacts& sums = nest.stages[nest.stages.size() - 2];
    EXPECT_EQ(sums.latency, 0) << "rows of a tile take their terms one by one";
    return std::ranges::count_if(sums.accesses, [](const AccessFacts& a) { return a.crosses; });
  };
  EXPECT_EQ(crossing(false), 1) << "A, not B, which is packed ahead";
  EXPECT_EQ(crossing(true), 0);
}

}  // namespace
}  // namespace tw::autotune
