// Loads, stores, masks, branches, scratch and parallel loops, as text programs.
#include <dlfcn.h>

#include <cstdlib>
#include <deque>

#include "tests/diff/fenced_memory.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

void agree(std::string_view text, int in, int out) {
  expect_all_agree(parse(text), {bytes_of(counting(in)), bytes_of(std::vector<float>(static_cast<size_t>(out), -1))});
}

TEST(CodegenMemory, MaskedVectorsStopAtTheEnd) {
  agree(R"(kernel k(A: float32[70], C: out float32[70]):
  for io in 0..5:
    C[io * 16 : 16] = A[io * 16 : 16 where lanes(16) < 70 - io * 16] * 2.0 where lanes(16) < 70 - io * 16
)",
        70, 70);
}

TEST(CodegenMemory, TheOnlyLaneIsStoredAfterItIsNarrowed) {
  const std::vector<int32_t> values{65537, 131074, 196611, 262148};
  for (const char* lane : {"0", "1"})
    expect_all_agree(parse("kernel k(A: int32[4], C: out int16[4]):\n  C[0 : 4] = int16(A[0 : 4]) where lanes(4) == " +
                           std::string(lane) + "\n"),
                     {bytes_of(values), Bytes(8, 7)});
}

// Each array ends where a page does, and nothing may be touched behind it. The scratch has masks spilled.
TEST(CodegenMemory, MasksOfEightBytesReachNoFurther) {
  const ir::Program p = parse(R"(kernel k(A: uint8[m, 8], B: uint8[m, 8], C: out uint8[m, 2, 8], m: size):
  for o in 0..(m + 15) // 64:
    for k in 0..2:
      for i in 0..min(max((m + 15) // 16 - o * 4, 0), 4):
        alloc a: uint8[64] global
        a[0 : 8] = select(k == 0, A@[i * 128 + o * 512 : 8], B@[i * 128 + o * 512 : 8])
        C@[k * 8 + i * 256 + o * 1024 : 8] = a[0 : 8]
  if (m + 15) // 64 < ((m + 15) // 16 + 3) // 4:
    for k in 0..2:
      for i in 0..max((m + 15) // 16 - (m + 15) // 64 * 4, 0):
        alloc a: uint8[64] global
        a[0 : 8] = select(k == 0, A@[(m + 15) // 64 * 512 + i * 128 : 8], B@[(m + 15) // 64 * 512 + i * 128 : 8])
        C@[(m + 15) // 64 * 1024 + k * 8 + i * 256 : 8] = a[0 : 8]
)");
  int64_t m = 1;
  const std::vector<Bytes> data{Bytes(8, 3), Bytes(8, 5), Bytes(16, 7)};
  for (int opt_level : {0, 3}) {
    const auto module = build(p, native(), opt_level);
    std::deque<diff::FencedMemory> memory;
    std::vector<void*> pointers;
    for (const Bytes& bytes : data)
      pointers.push_back(memory.emplace_back(std::as_bytes(std::span(bytes)), /*at_end=*/true).data());
    pointers.push_back(&m);
    ASSERT_EQ(module->kernel()->run(pointers.data()), 0);
    EXPECT_EQ(std::memcmp(pointers[2], Bytes{3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 5}.data(), 16), 0);
  }
}

TEST(CodegenMemory, EveryComparisonMakesAMask) {
  for (const char* mask : {"ramp(i * 8, 1, 8) < 13", "ramp(i * 8, 1, 8) <= 13", "ramp(i * 8, 1, 8) > 13",
                           "ramp(i * 8, 1, 8) >= 13", "13 > ramp(i * 8, 1, 8)", "13 <= ramp(i * 8, 1, 8)",
                           "ramp(i * 8, 1, 8) == 13", "ramp(i * 8, 1, 8) < 13 and ramp(i * 8, 1, 8) > 2"}) {
    agree(
        "kernel k(A: float32[32], C: out float32[32]):\n  for i in 0..4:\n    C[i * 8 : 8] = 0.0\n"
        "    C[i * 8 : 8] = A[i * 8 : 8] where " +
            std::string(mask) + "\n",
        32, 32);
  }
}

TEST(CodegenMemory, OnlyTheArmThatIsTakenReads) {
  agree(R"(kernel k(A: float32[16], C: out float32[20]):
  for i in 0..20:
    C[i] = select(i < 2 or i > 17, 0.0, A[i - 2])
)",
        16, 20);
  agree(R"(kernel k(A: float32[16], C: out float32[20]):
  C[0 : 20] = select(ramp(0, 1, 20) >= 2 and ramp(0, 1, 20) < 18, A[ramp(-2, 1, 20)], 0.0 - A[ramp(0, 0, 20)])
)",
        16, 20);
  agree(R"(kernel k(A: float32[16], C: out float32[20]):
  for i in 0..20:
    if i < 16 and A[i] > 4.0:
      C[i] = A[i]
    else:
      C[i] = 0.0
)",
        16, 20);
}

// Beside an array no page need be there, and a load that need not fault takes long to find that out.
TEST(CodegenMemory, WhatNoLaneWantsIsReadAtTheBegin) {
  const std::string text = R"(kernel k(A: float32[32], C: out float32[64]):
  for i in 0..4:
    C[i * 16 : 16] = select(broadcast(0 < i and i < 3, 16), A[i * 16 - 16 : 16], broadcast(-1.0, 16))
)";
  agree(text, 32, 64);
  const std::string llvm = build(parse(text), parse_target("llvm -mcpu=znver4"))->source("llvm");
  const size_t load = llvm.find("llvm.masked.load");
  ASSERT_NE(load, std::string::npos) << llvm;
  EXPECT_LT(llvm.find("select i1"), load) << llvm;
}

// LLVM makes a branch for each lane, and took more than five minutes over some hundred gathers in one block.
TEST(CodegenMemory, LanesThatNoInstructionGathersNeedNoBranches) {
  const ir::Program p = parse(R"(kernel k(A: int16[m, 13], C: out int16[16], m: size):
  C[0 : 16] = A@[lanes(16) * 13 + 2 where lanes(16) < m]
)");
  EXPECT_EQ(build(p, parse_target("llvm -mcpu=znver4"))->source("llvm").find("masked.gather"), std::string::npos);
  for (int opt_level : {0, 3}) {
    const auto module = build(p, native(), opt_level);
    for (int64_t m : {0, 1, 15, 16}) {
      std::vector<int16_t> values(static_cast<size_t>(13 * m)), expected(16, 0), found(16, 7);
      std::iota(values.begin(), values.end(), int16_t{1});
      for (int64_t i = 0; i < m; ++i) expected[static_cast<size_t>(i)] = static_cast<int16_t>(13 * i + 3);
      diff::FencedMemory memory(std::as_bytes(std::span(values)), /*at_end=*/true);
      void* pointers[] = {memory.data(), found.data(), &m};
      ASSERT_EQ(module->kernel()->run(pointers), 0);
      EXPECT_EQ(found, expected) << m;
    }
  }
}

// Four rows of A for all rows of C: once per kernel, not once per row.
TEST(CodegenMemory, VectorsThatALoopReadsAgainStayInRegisters) {
  const std::string text = R"(kernel k(A: float32[64], C: out float32[128]):
  for i in 0..8:
    C[i * 16 : 16] = broadcast(0.0, 16)
    for k in 0..4:
      C[i * 16 : 16] = A[k * 16 : 16] * A[i * 4 + k] + C[i * 16 : 16]
)";
  agree(text, 64, 128);
  const std::string llvm = build(parse(text), parse_target("llvm -mcpu=znver4"))->source("llvm");
  const size_t loop = llvm.find("phi ");
  size_t before = 0, after = 0;
  for (size_t at = llvm.find("load <16 x float>"); at != std::string::npos; at = llvm.find("load <16 x float>", at + 1))
    ++(at < loop ? before : after);
  EXPECT_EQ(before, 4U) << llvm;
  EXPECT_EQ(after, 0U) << llvm;
}

// A load waits for what has just been stored: longer than a sum takes.
TEST(CodegenMemory, WhatAnIterationHandsOnStaysInARegister) {
  const ir::Program running = parse(R"(kernel k(A: float32[64], C: out float32[64], D: out float32[64]):
  C[0] = A[0]
  for t in 0..63:
    C[t + 1] = C[t] * 0.5 + A[t + 1]
  D[0] = A[0]
  D[1] = A[1]
  for t in 0..62:
    D[t + 2] = D[t] + D[t + 1]
)");
  expect_all_agree(running, {bytes_of(counting(64)), Bytes(256, 1), Bytes(256, 1)});
  const std::string llvm = build(running, native())->source("llvm");
  EXPECT_NE(llvm.find("phi float"), llvm.npos) << llvm;
}

TEST(CodegenMemory, PredicatedScalars) {
  agree(R"(kernel k(A: float32[16], C: out float32[20]):
  for i in 0..20:
    C[i] = 0.0
  for i in 0..40:
    C[i] = A[i where i < 16] + 1.0 where i < 20
)",
        16, 20);
}

TEST(CodegenMemory, ScratchOfEveryKind) {
  agree(R"(kernel k(A: float32[64], C: out float32[64]):
  for i in 0..4 parallel:
    alloc t: float32[16] local
    alloc g: float32[16] global
    t[0 : 16] = A[i * 16 : 16] * 2.0
    for j in 0..16:
      g[15 - j] = t[j]
    C[i * 16 : 16] = g[0 : 16]
)",
        64, 64);
  agree(R"(kernel k(A: float32[64], C: out float32[64]):
  alloc big: float32[40000] local
  for i in 0..40000:
    big[i] = A[i % 64]
  for i in 0..64:
    C[i] = big[i * 600]
)",
        64, 64);
}

TEST(CodegenMemory, MaskedTilesInSlots) {
  const char* const text = R"(kernel k(A: float32[64], C: out float32[64]):
  for i in 0..4:
    alloc t: float32[25] local
    t[0 : 16] = A[i * 16 : 16]
    t[16 : 16] = A[i * 16 : 16] where lanes(16) < 9
    t[9 : 16] = t[8 : 16 where lanes(16) < 7 + i] + 1.0 where lanes(16) < 4 * i
    for j in 0..3:
      t[16 : 16] = t[16 : 16 where lanes(16) < 9] * 2.0 where lanes(16) < 9
    C[i * 16 : 16] = t[9 : 16]
)";
  agree(text, 64, 64);
  const char* const apart = R"(kernel k(A: float32[64], C: out float32[64]):
  for i in 0..4:
    alloc t: float32[50] local
    t[0 : 16] = A[i * 16 : 16]
    t[16 : 16] = A[i * 16 : 16] where lanes(16) < 9
    t[25 : 16] = A[i * 16 : 16]
    for j in 0..3:
      t[16 : 16] = t[16 : 16 where lanes(16) < 9] * t[25 : 16] where lanes(16) < 9
      t[0 : 16] = t[0 : 16] + t[16 : 16 where lanes(16) < 9]
    C[i * 16 : 16] = t[0 : 16]
)";
  agree(apart, 64, 64);
  EXPECT_EQ(build(parse(apart), native())->source("llvm").find("alloca"), std::string::npos);
}

TEST(CodegenMemory, TheOnlyLaneOfAChoiceIsKeptInASlot) {
  agree(R"(kernel k(A: float32[16], C: out float32[16]):
  for i in 0..16:
    alloc s: float32[4] local
    alloc t: float32[4] local
    s[0 : 4] = A[0 : 4]
    t[0 : 4] = A[0 : 4]
    let x = s[0 : 4 where lanes(4) < 1]
    t[0 : 4] = select(x == 0.0, 0.0, 1.0 / s[0 : 4 where lanes(4) < 1 and x != 0.0]) where lanes(4) < 1
    C[i] = t[0] + A[i]
)",
        16, 16);
}

TEST(CodegenMemory, ParallelBodiesSeeWhatStandsOutside) {
  agree(R"(kernel k(A: float32[64], C: out float32[64]):
  alloc g: float32[64] global
  for i in 0..64 parallel:
    g[i] = A[63 - i]
  for o in 0..2:
    let x = A[o]
    for i in 0..32 parallel:
      for j in 0..1 parallel:
        C[o * 32 + i + j] = g[o * 32 + i] * x
)",
        64, 64);
}

TEST(CodegenMemory, LoopsWithoutIterationsAndVariableExtents) {
  agree(R"(kernel k(A: float32[16], C: out float32[16]):
  for i in 0..0:
    C[i] = 7.0
  for i in 0..16:
    C[i] = 0.0
    for j in 0..min(i, 4):
      C[i] = C[i] + A[j]
)",
        16, 16);
}

TEST(CodegenMemory, BoolsAreBytes) {
  const ir::Program p = parse(R"(kernel k(A: bool[16], C: out bool[16]):
  C[0 : 16] = not A[0 : 16]
  for i in 0..4:
    C[i] = A[i] and A[i + 1]
)");
  Bytes in(16);
  for (size_t i = 0; i < 16; ++i) in[i] = i % 3 == 0;
  expect_all_agree(p, {in, Bytes(16)});
}

TEST(CodegenMemory, RankZeroAndNoElements) {
  expect_all_agree(parse("kernel k(A: float32[], C: out float32[]):\n  C[] = A[] + 1.0\n"),
                   {bytes_of<float>({2}), bytes_of<float>({0})});
  expect_all_agree(parse("kernel k(A: float32[0], C: out float32[0]):\n  for i in 0..0:\n    C[i] = A[i]\n"),
                   {Bytes(), Bytes()});
}

// Scratch that is not to be had ends the kernel with a code, and what it held is given back.
TEST(CodegenMemory, NoMemoryIsACode) {
  const ir::Program p = parse(R"(kernel k(A: float32[64], C: out float32[64]):
  alloc a: float32[64] global
  for i in 0..2:
    alloc b: float32[64] global
    b[i] = A[i]
    a[i] = b[i]
    C[i] = a[i]
)");
  const auto module = build(p, native());
  const test::Folder folder;
  module->save(folder / "no_memory.so");
  struct Counter {
    int wanted, live;
  } counter{2, 0};
  tw_context context{sizeof(tw_context),
                     TW_ABI_VERSION,
                     nullptr,
                     [](const tw_context* self, size_t bytes) -> void* {
                       auto* c = static_cast<Counter*>(self->state);
                       if (c->wanted-- == 0) return nullptr;
                       ++c->live;
                       return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
                     },
                     [](const tw_context* self, void* memory) {
                       --static_cast<Counter*>(self->state)->live;
                       std::free(memory);
                     },
                     &counter,
                     nullptr};
  std::vector<float> a(64), c(64);
  void* data[] = {a.data(), c.data()};
  const tw_args args{sizeof(tw_args), TW_ABI_VERSION, data};
  void* library = dlopen((folder / "no_memory.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto kernel = reinterpret_cast<runtime::KernelFn>(dlsym(library, "tw_k"));
  EXPECT_EQ(kernel(&args, &context), TW_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(counter.live, 0);
  dlclose(library);
}

#else
TEST(CodegenMemory, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
