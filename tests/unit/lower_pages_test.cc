// The programs of the golden pages, and those below, mean the same after each pass on every target: bit for bit as long
// as no multiply-adds are fused.

#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tests/folders.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"

namespace tw::lower {
namespace {

using namespace ir;

// Runs without a fault on inputs that `seed` determines (a gather from random subscripts may not).
bool runs(const Program& p) {
  std::vector<std::vector<uint8_t>> data;
  std::vector<InterpBuffer> buffers;
  for (const Param& param : p.params)
    data.emplace_back(span_of(param.buffer, sizes(p, 37)) * param.buffer.element().bytes());
  for (auto& bytes : data) buffers.push_back({bytes.data(), bytes.size()});
  return interpret(p, buffers, options(p, 37)).ok();
}

void expect_meaning_kept(const Program& p) {
  const Meaning of_page(p, 11);
  for (Target target : {avx512_target(), avx2_target(), sse_target()}) {
    target.abilities.fma = false;
    Meaning meaning = of_page;
    Program now = p;
    for (const Pass& pass : passes_for(p, cpu_passes())) {
      now = pass.function(now, target);
      meaning.expect_kept(now);
      ASSERT_FALSE(testing::Test::HasFailure()) << pass.name;
    }
  }
}

TEST(LowerPages, ProgramsKeepTheirMeaning) {
  int pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TW_SOURCE_DIR "/tests/golden/lower")) {
    std::ifstream file(entry.path());
    std::string line, text;
    bool inside = false;
    while (std::getline(file, line) && line != "---") {
      inside = inside || line.starts_with("kernel");
      if (inside) text += line + "\n";
    }
    const auto p = parse_program(text);
    if (!p.ok() || !runs(*p)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    expect_meaning_kept(*p);
    ++pages;
  }
  EXPECT_GT(pages, 25);
}

const char* const kPrograms[] = {
    // Lets of vectors, in statements and expressions.
    R"(
kernel f(A: float32[40], C: out float32[40]):
  for i in 0..40 vectorized:
    let t = A[i] * 2.0
    let u = index(2)
    C[i] = (let s = t + 1.0 in s * s) + float32(u)
)",
    // A uniform load under a mask that no lane may satisfy.
    R"(
kernel f(A: float32[4], B: float32[100], C: out float32[4, 100]):
  for i in 0..4:
    for j in 0..100:
      C[i, j] = 0.0
  for i in 0..8:
    for j in 0..100 vectorized:
      if j < 100 - i * 25:
        C[i, j] = A[i] + B[j]
)",
    // Nested conditions, both directions, with an else and a serial loop inside.
    R"(
kernel f(A: float32[50], C: out float32[50]):
  for i in 0..50 vectorized:
    if 3 <= i and i < 47:
      C[i] = 0.0
      for k in 0..3:
        if i + k < 48:
          C[i] = C[i] + A[i + k - 3]
    else:
      C[i] = -1.0
)",
    // Logic that guards a load.
    R"(
kernel f(A: float32[30], C: out float32[40]):
  for i in 0..40 vectorized:
    C[i] = select(i < 30 and A[i] > 0.0, 1.0, select(i >= 30 or A[i] < -1.0, 2.0, 3.0))
)",
    // Scratch inside a vectorised loop, written and read back, and one that is two-dimensional.
    R"(
kernel f(A: float32[70, 3], C: out float32[70]):
  for i in 0..70 vectorized:
    alloc t: float32[3] local
    alloc u: float32[2, 3] global
    for k in 0..3:
      t[k] = A[i, k] * 2.0
      u[1, k] = t[k] + 1.0
    C[i] = t[0] + t[1] * u[1, 2]
)",
    // Reversed, strided and constant subscripts; an outer dimension that is vectorised.
    R"(
kernel f(A: float32[64, 4], C: out float32[32, 2]):
  for i in 0..32 vectorized:
    C[i, 0] = A[63 - i, 1] + A[i * 2, 3]
    C[i, 1] = A[5, 2]
)",
    // Types of several widths and a comparison of data.
    R"(
kernel f(A: int8[40], B: float64[40], C: out uint16[40], D: out bool[40]):
  for i in 0..40 vectorized:
    C[i] = uint16(A[i]) + uint16(i)
    D[i] = float64(A[i]) < B[i]
)",
    // A tile whose offset is not that of the loops: a shifted inner loop.
    R"(
kernel f(A: float32[10, 8], C: out float32[10]):
  for io in 0..2:
    for ii in 0..6:
      C[min(io * 6, 4) + ii] = 0.0
    for k in 0..8:
      for ii in 0..6:
        C[min(io * 6, 4) + ii] = C[min(io * 6, 4) + ii] + A[min(io * 6, 4) + ii, k]
)",
    // A reduction inside and outside of a data loop, and a guard on both.
    R"(
kernel f(A: float32[7, 11], C: out float32[7]):
  for i in 0..7:
    C[i] = 0.0
  for ko in 0..3 tail=auto:
    for io in 0..2:
      for ki in 0..4 unrolled:
        for ii in 0..4 unrolled:
          if ko * 4 + ki < 11 and io * 4 + ii < 7:
            C[io * 4 + ii] = C[io * 4 + ii] + A[io * 4 + ii, ko * 4 + ki]
)",
    // Two tiles in one reduction; one of them under a parallel loop.
    R"(
kernel f(A: float32[8, 9], C: out float32[8], D: out float32[8]):
  for i in 0..8 parallel:
    C[i] = 0.0
    D[i] = -inf
    for k in 0..9:
      C[i] = C[i] + A[i, k]
      D[i] = max(D[i], A[i, k])
)",
    // Halves through a vectorised reduction.
    R"(
kernel f(A: float16[5, 33], B: bfloat16[33], C: out float16[33], D: out bfloat16[33]):
  for j in 0..33 vectorized:
    C[j] = 0.0f16
    D[j] = B[j] * B[j]
    for k in 0..5:
      C[j] = C[j] + A[k, j] * float16(B[j])
)",
    // A loop that computes one thing twice is no reduction: it begins anew each time.
    R"(
kernel f(A: float32[8], C: out float32[1]):
  for o in 0..3:
    if o < 2:
      C[0] = 0.0
      for k in 0..8:
        C[0] = C[0] + A[k]
)",
    // Lanes that meet in one place, with one value.
    R"(
kernel f(A: float32[8], C: out float32[3]):
  C[0] = 1.0
  for i in 0..6 vectorized:
    C[min(i, 2)] = A[min(i, 2)]
)",
    // Private rows of an odd width: written by a scalar loop; under a guard; read across lanes.
    R"(
kernel f(A: float32[7], C: out float32[7], D: out float32[7]):
  alloc t: float32[7] local
  for k in 0..7:
    t[k] = A[k]
  for k in 0..7 vectorized:
    C[k] = t[k] + t[k]
  for i in 0..7 vectorized:
    alloc u: float32[3] local
    alloc v: float32[7] local
    for x in 0..3:
      if i + x < 7:
        u[x] = A[i + x]
    for x in 0..7:
      v[x] = A[x]
    D[i] = u[0] + v[i]
)",
    // A select that depends on a load which a guard protects.
    R"(
kernel f(I: int32[2], A: float32[15], C: out float32[4]):
  for i in 0..4:
    C[i] = 0.0
    if i < 2:
      C[i] = select(2 <= index(I[i]) % 15, A[index(I[i]) % 15], 3.0)
)",
    // Extents of 0 and 1, and a loop inside that never runs.
    R"(
kernel f(C: out float32[3]):
  for i in 0..1 vectorized:
    C[i] = 1.0
  for i in 0..0 vectorized:
    C[i] = 2.0
  for i in 0..3:
    for k in 0..0:
      C[i] = C[i] + 1.0
  for i in 0..2 unrolled:
    if i + 7 < 3:
      C[i] = 4.0
)",
};

TEST(LowerPages, ProgramsOfThisFileKeepTheirMeaning) {
  for (const char* text : kPrograms) {
    SCOPED_TRACE(text);
    const Result<Program> p = parse_program(std::string_view(text).substr(1));
    ASSERT_TRUE(p.ok()) << p.error().render();
    expect_meaning_kept(*p);
  }
}

}  // namespace
}  // namespace tw::lower
