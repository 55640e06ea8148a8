// Programs that a person may have edited: those that are safe and those that are not.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <unordered_set>

#include "src/ir/externs.h"
#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "src/lower/pipeline.h"
#include "src/lower/safety.h"
#include "src/support/rng.h"
#include "tests/folders.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"

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

// Whatever they are: by rows that follow from each other.
TEST(Safety, SizesThatVary) {
  const auto vectors = [](const std::string& times) {
    return found("kernel k(A: float32[n], C: out float32[n], n: size):\n  for io in 0.." + times +
                 " parallel:\n    C[io * 8 : 8] = A[io * 8 : 8]\n");
  };
  EXPECT_EQ(vectors("n // 8"), "");
  for (const char* times : {"n // 8 + 1", "(n + 7) // 8", "n"})
    EXPECT_NE(vectors(times).find("A[io * 8 : 8]: not seen to stay inside of A: float32[n]"), std::string::npos);
  const auto tiles = [](const std::string& rows, const std::string& columns) {
    return found(
        "kernel k(A: float32[n, 24], C: out float32[n, 24], n: size):\n"
        "  for io in 0..(n + 5) // 6 parallel:\n"
        "    for ii in 0.." +
        rows + ":\n      if io * 6 + ii < n:\n        for j in 0.." + columns +
        ":\n          C@[io * 144 + ii * 24 + j] = A@[io * 144 + ii * 24 + j]\n");
  };
  EXPECT_EQ(tiles("6", "24"), "");
  EXPECT_NE(tiles("6", "25").find("not seen to stay inside of A: float32[n, 24]"), std::string::npos);
  EXPECT_EQ(tiles("7", "24"), "C: iterations of the parallel loop io are not seen to touch different elements");
}

TEST(Safety, ProductsOfSizes) {
  const auto rows = [](const std::string& i, const std::string& j, const std::string& at) {
    return found("kernel k(A: float32[n, m], C: out float32[n, m], n: size, m: size):\n  for i in 0.." + i +
                 " parallel:\n    for j in 0.." + j + ":\n      C@[" + at + "] = A@[" + at + "]\n");
  };
  EXPECT_EQ(rows("n", "m", "i * m + j"), "");
  EXPECT_EQ(rows("n", "m // 8", "i * m + j * 8 : 8"), "");
  EXPECT_EQ(rows("n // 4", "m", "i * m * 4 + m * 3 + j"), "");
  EXPECT_NE(rows("n + 1", "m", "i * m + j").find("not seen to stay inside of A"), std::string::npos);
  for (const char* at : {"i * m + j + 1", "i * n + j", "i * m + j - 1", "i * m + j * 2", "i * m * 2 + j", "j * m + i"})
    EXPECT_NE(rows("n", "m", at).find("not seen to stay inside of A: float32[n, m]"), std::string::npos) << at;
  for (const char* j : {"m + 1", "n"})
    EXPECT_NE(rows("n", j, "i * m + j").find("not seen to stay inside of A"), std::string::npos) << j;
  EXPECT_NE(rows("n", "(m + 7) // 8", "i * m + j * 8 : 8").find("not seen to stay inside of A"), std::string::npos);
  EXPECT_NE(rows("n", "m", "j"), "") << "of one row, and all write it";
  const auto boxes = [](const std::string& at) {
    return found(
        "kernel k(A: float32[n, m, l], C: out float32[n, m, l], n: size, m: size, l: size):\n"
        "  for i in 0..n parallel:\n    for j in 0..m:\n      for k in 0..l:\n        C@[" +
        at + "] = A@[" + at + "]\n");
  };
  EXPECT_EQ(boxes("i * m * l + j * l + k"), "");
  EXPECT_NE(boxes("i * m * l + j * m + k"), "");
  const auto pieces = [](const std::string& most) {
    return found("kernel k(A: out float32[m * 2048], m: size):\n  for k in 0.." + most +
                 ":\n    for i in 0..m:\n      for j in 0..512:\n        A[m * 512 * k + i * 512 + j] = 1.0\n");
  };
  EXPECT_EQ(pieces("4"), "");
  EXPECT_NE(pieces("5"), "");
}

// Loops that were fused over rows whose number is not known.
TEST(Safety, DivisionsBySizes) {
  const auto tiles = [](const std::string& row, const std::string& columns) {
    return found(
        "kernel k(C: out float32[n, 48], n: size):\n"
        "  for x in 0..(n + 5) // 6 * 3 parallel:\n"
        "    for i in 0..6:\n      if x % ((n + 5) // 6) * 6 + i < n:\n        if x // ((n + 5) // 6) < 3:\n"
        "          for j in 0.." +
        columns + ":\n            C@[(" + row + ") * 48 + x // ((n + 5) // 6) * 16 + j] = 1.0\n");
  };
  EXPECT_EQ(tiles("x % ((n + 5) // 6) * 6 + i", "16"), "");
  EXPECT_NE(tiles("x % ((n + 5) // 6) * 6 + i", "17"), "");
  EXPECT_NE(tiles("x % ((n + 5) // 6) * 5 + i", "16"), "");
  EXPECT_NE(found("kernel k(C: out float32[n], n: size):\n  for x in 0..n * 2 parallel:\n    if x % n < n:\n"
                  "      C[x % n] = 1.0\n"),
            "")
      << "two halves write the same";
  EXPECT_EQ(found("kernel k(C: out float32[n, m], n: size, m: size):\n  for x in 0..n * m parallel:\n"
                  "    if x // n < m and n > 0:\n      C@[m * (x % n) + x // n] = 1.0\n"),
            "");
}

// Whoever builds it names the functions.
TEST(Safety, FunctionsOfNumbersTouchNothing) {
  const auto calling = [](const std::string& call) {
    return found("kernel k(A: float32[8], C: out float32[8]):\n  for i in 0..8:\n    C[i] = " + call + "\n");
  };
  EXPECT_EQ(calling("call_pure(float32, \"sinf\", A[i])"), "");
  EXPECT_EQ(calling("call_pure(float32, \"sinf\", A[i + 1])"), "A[i + 1]: not seen to stay inside of A: float32[8]");
  EXPECT_EQ(calling("call(float32, \"next\")"), "next: nobody knows what this function touches");
}

TEST(Safety, WhatLanesOfAWarpTouch) {
  const auto load = [](const std::string& row, const std::string& to) {
    return found(
        "kernel k(A: float32[8, 8], B: out float32[8, 8]):\n"
        "  for tx in 0..32 threadIdx.x:\n"
        "    alloc S: float16[16, 8] shared\n"
        "    alloc a: float16[4] local\n"
        "    for n in 0..4:\n"
        "      S[n * 4 + tx // 8, tx % 8] = float16(A[(n * 4 + tx // 8) % 8, tx % 8])\n"
        "    sync block\n"
        "    call(int32, \"ldmatrix.x2\", address(out a[" +
        to + "]), address(in S[" + row +
        ", 0]))\n"
        "    for v in 0..2:\n"
        "      B[tx // 4, tx % 4 * 2 + v] = float32(a[v])\n");
  };
  EXPECT_EQ(load("tx % 16", "0"), "");
  EXPECT_NE(load("tx % 17", "0").find("not seen to stay inside of S: float16[16, 8]"), std::string::npos);
  EXPECT_NE(load("tx % 16", "1").find("a[1 : 4]: not seen to stay inside of a: float16[4]"), std::string::npos);
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

// What a slip of a hand does: another constant of an index, or a loop that runs at once. Lanes stay apart.
ir::Program edited(const ir::Program& p, support::Rng& rng) {
  using namespace ir;
  int constants = 0, loops = 0;
  std::unordered_set<const ExprNode*> strides;
  walk(
      p.body, [&](const Stmt& s) { return loops += as<For>(s) && as<For>(s)->kind == ForKind::kSerial, true; },
      [&](const Expr& e) {
        if (const auto* r = as<Ramp>(e)) strides.insert(r->stride.get());
        constants += as<IntImm>(e) && e.type() == Type::index() && !strides.contains(e.get());
        return true;
      });
  if (constants + loops == 0) return p;
  int64_t at = static_cast<int64_t>(rng.below(static_cast<uint64_t>(constants + loops)));
  const int64_t by = std::array<int64_t, 4>{1, -1, 7, -4}[rng.below(4)];
  Program out = p;
  out.body = rewrite(
      p.body,
      [&](const Stmt& s) {
        const auto* f = as<For>(s);
        if (!f || f->kind != ForKind::kSerial || at-- != 0) return s;
        return loop(f->var, f->extent, f->body, ForKind::kParallel, f->tail);
      },
      [&](const Expr& e) {
        if (!as<IntImm>(e) || e.type() != Type::index() || strides.contains(e.get()) || at-- != 0) return e;
        return Expr(*as_int(e) + by);
      });
  return out;
}

// Why it may not run, as far as running it once tells; empty: nothing is known.
std::string fault(const ir::Program& p, bool unwritten = false) {
  std::vector<std::vector<uint8_t>> data;
  std::vector<ir::InterpBuffer> buffers;
  for (const ir::Param& param : p.params)
    data.emplace_back(span_of(param.buffer, sizes(p, 37)) * static_cast<size_t>(param.buffer.element().bytes()));
  for (auto& bytes : data) buffers.push_back({bytes.data(), bytes.size()});
  ir::InterpOptions how = options(p, 37);
  how.check_unwritten = unwritten;
  how.max_steps = 3000;
  const Status status = interpret(p, buffers, how);
  return status.ok() || status.error().what.find(ir::stopped_after(how.max_steps)) != std::string::npos
             ? ""
             : status.error().what;
}

TEST(Safety, FindsWhatTheInterpreterFindsInProgramsThatWereEdited) {
  support::Rng rng(7);
  int programs = 0, safe = 0, faults = 0;
  std::set<std::filesystem::path> pages;  // in an order that is the same everywhere
  for (const auto& entry : std::filesystem::directory_iterator(TW_SOURCE_DIR "/tests/golden/lower"))
    pages.insert(entry.path());
  for (const std::filesystem::path& path : pages) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream file(path);
    std::string line, text;
    while (std::getline(file, line) && line != "---")
      if (line.starts_with("kernel") || !text.empty()) text += line + "\n";
    const auto page = ir::parse_program(text);
    if (!page.ok() || !ir::extern_symbols(*page).empty() || !fault(*page, true).empty()) continue;
    const ir::Program lowered = run_pipeline(passes_for(*page, cpu_passes()), *page, avx2_target());
    ++programs;
    safe += safety_check(lowered).empty();
    for (int n = 0; n < 6; ++n) {
      const ir::Program p = edited(lowered, rng);
      if (!ir::verify(p).ok()) continue;
      const std::string why = fault(p);
      if (why.empty()) continue;
      ++faults;
      EXPECT_FALSE(safety_check(p).empty()) << why << "\n" << to_string(p);
    }
  }
  EXPECT_GT(programs, 90);
  EXPECT_GT(safe, 75) << "of those that nobody edited; the others have extents that vary, or 4-bit integers";
  EXPECT_GT(faults, 150);
}

}  // namespace
}  // namespace tw::lower
