// Loads, stores, masks, branches, scratch and parallel loops, as text programs.
#include <dlfcn.h>

#include <bit>
#include <cstdlib>
#include <deque>
#include <numeric>

#include "tests/diff/fenced_memory.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

std::vector<float> counting(int n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

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

TEST(CodegenMemory, ReversedStridedAndGathered) {
  agree(R"(kernel k(A: float32[64], C: out float32[64]):
  for i in 0..4:
    C[ramp(15 - i, 4, 4)] = A[ramp(i, 16, 4)]
  for i in 0..4:
    C[ramp(i * 16 + 15, -1, 16)] = A[ramp(63 - i * 16, -1, 16)] + A[i * 16 : 16]
)",
        64, 64);
}

// Columns side by side are rows that are turned in registers, of the elements that gathers would read.
TEST(CodegenMemory, ColumnsSideBySideAreTurned) {
  const auto tile = [](const std::string& type, int rows, int columns, const std::string& more = "") {
    std::string text = "kernel k(A: " + type + "[1200], C: out " + type + "[1200]):\n  for i in 0..2:\n";
    for (int c = 0; c < columns; ++c)
      text += "    C[i * 600 + " + std::to_string(c * rows) + " : " + std::to_string(rows) + "] = A[ramp(i * 3 + " +
              std::to_string(c) + ", 33, " + std::to_string(rows) + ")]" + more + "\n";
    return parse(text);
  };
  std::vector<Bytes> data(2, Bytes(1200 * 8, 1));
  for (size_t i = 0; i < data[0].size(); ++i) data[0][i] = static_cast<unsigned char>(i * 7 % 61);
  for (const char* type : {"int8", "int16", "int32", "float32", "float64", "float16"})
    for (const auto& [rows, columns] : {std::pair(4, 4), std::pair(8, 9), std::pair(16, 16), std::pair(16, 5),
                                        std::pair(32, 17), std::pair(12, 6), std::pair(2, 2)}) {
      std::vector<Bytes> some = data;
      for (Bytes& bytes : some) bytes.resize(1200 * static_cast<size_t>(ir::parse_type(type)->bytes()));
      expect_all_agree(tile(type, rows, columns), some);
    }
  expect_all_agree(tile("int32", 8, 8, " * 3 + A[ramp(i + 1, 70, 8)]"), {Bytes(4800, 3), Bytes(4800, 1)});
  const auto has_gather = [](const ir::Program& p) {
    return build(p, parse_target("llvm -mcpu=znver4"))->source("llvm").find("call <8 x float> @llvm.masked.gather") !=
           std::string::npos;
  };
  EXPECT_FALSE(has_gather(tile("float32", 8, 8)));
  EXPECT_TRUE(has_gather(tile("float32", 8, 3))) << "too few";
  EXPECT_TRUE(has_gather(tile("float32", 8, 8, " + A[ramp(i, 5, 8) where ramp(i, 1, 8) < 5]")))
      << "one has a condition";
}

// Columns of fewer elements than a vector: the rows below them may be anybody's.
TEST(CodegenMemory, ColumnsThatEndBeforeTheirVectorsAreTurned) {
  const auto tile = [](int rows, int lanes, int columns, const std::string& stored) {
    std::string text = "kernel k(A: float32[" + std::to_string(rows * 40) + "], C: out float32[1200]):\n";
    const std::string all = std::to_string(lanes), some = "lanes(" + all + ") < " + std::to_string(rows);
    for (int c = 0; c < columns; ++c)
      text += "  C@[" + std::to_string(c * rows) + " : " + all + "] = A@[ramp(" + std::to_string(c) + ", 40, " + all +
              ") where " + some + "] + 1.0" + stored + "\n";
    return parse(text);
  };
  for (const auto& [rows, lanes, columns] :
       {std::tuple(3, 4, 8), std::tuple(10, 16, 32), std::tuple(5, 8, 9), std::tuple(2, 16, 16)}) {
    const std::string some = " where lanes(" + std::to_string(lanes) + ") < " + std::to_string(rows);
    for (const std::string& stored : {std::string(), some}) {
      const ir::Program p = tile(rows, lanes, columns, stored);
      expect_all_agree(p, {bytes_of(counting(rows * 40)), Bytes(4800, 1)});
      const std::vector<Bytes> expected = run_interpreted(p, {bytes_of(counting(rows * 40)), Bytes(4800, 1)});
      const Bytes in = bytes_of(counting(rows * 40));
      diff::FencedMemory fenced(std::as_bytes(std::span(in)), /*at_end=*/true);
      Bytes out(4800, 1);
      void* pointers[] = {fenced.data(), out.data()};
      ASSERT_EQ(build(p, native())->kernel()->run(pointers), 0);
      EXPECT_EQ(out, expected[1]) << to_string(p);
      const std::string llvm = build(p, parse_target("llvm -mcpu=znver4"))->source("llvm");
      EXPECT_EQ(llvm.find("masked.gather") != std::string::npos, columns == 9) << to_string(p);
    }
  }
}

// Terms of dot products that lie side by side in rows: an element of the columns is a group of them.
TEST(CodegenMemory, ColumnsOfGroupsAreTurned) {
  const auto tile = [](const std::string& type, int rows, int group, int columns) {
    const std::string lanes = std::to_string(rows * group), by = std::to_string(group);
    std::string text = "kernel k(A: " + type + "[1300], C: out " + type + "[1200]):\n  for i in 0..2:\n";
    for (int c = 0; c < columns; ++c)
      text += "    C@[i * 600 + " + std::to_string(c * rows * group) + " : " + lanes + "] = A@[broadcast(i * 3 + " +
              std::to_string(c * group) + ", " + lanes + ") + lanes(" + lanes + ") // " + by + " * 72 + lanes(" +
              lanes + ") % " + by + "]\n";
    return parse(text);
  };
  const auto gathers = [](const ir::Program& p) {
    return build(p, parse_target("llvm -mcpu=znver4"))->source("llvm").find("masked.gather") != std::string::npos;
  };
  for (const auto& [type, rows, group, columns] :
       {std::tuple("int8", 16, 4, 9), std::tuple("int8", 8, 4, 8), std::tuple("int8", 16, 2, 16),
        std::tuple("int8", 8, 8, 8), std::tuple("bfloat16", 16, 2, 16), std::tuple("float16", 8, 4, 4),
        std::tuple("int32", 8, 2, 8), std::tuple("int16", 12, 2, 6)}) {
    const auto bytes = static_cast<size_t>(ir::parse_type(type)->bytes());
    std::vector<Bytes> data{Bytes(1300 * bytes, 1), Bytes(1200 * bytes, 1)};
    for (size_t i = 0; i < data[0].size(); ++i) data[0][i] = static_cast<unsigned char>(i * 7 % 61);
    const ir::Program p = tile(type, rows, group, columns);
    expect_all_agree(p, data);
    EXPECT_EQ(gathers(p), !std::has_single_bit(static_cast<unsigned>(columns))) << "those beside whole tiles\n"
                                                                                << to_string(p);
  }
  EXPECT_TRUE(gathers(tile("int32", 8, 4, 4))) << "no element has 128 bits";
}

TEST(CodegenMemory, StoresOfEveryFourthElementAreOne) {
  const auto spread = [](const std::string& type, int lanes, const std::vector<int>& places, int stride,
                         const std::string& value = "A") {
    std::string text = "kernel k(A: " + type + "[600], C: out " + type + "[600]):\n  for i in 0..2:\n";
    for (const int place : places)
      text += "    C@[ramp(i * 256 + " + std::to_string(place) + ", " + std::to_string(stride) + ", " +
              std::to_string(lanes) + ")] = " + value + "@[i * 64 + " + std::to_string(place * lanes) + " : " +
              std::to_string(lanes) + "]\n";
    return parse(text);
  };
  const auto scatters = [](const ir::Program& p) {
    return build(p, parse_target("llvm -mcpu=znver4"))->source("llvm").find("masked.scatter") != std::string::npos;
  };
  for (const char* type : {"int8", "int16", "int32", "float32", "float64", "bfloat16", "float16"})
    for (const auto& [lanes, places, stride] :
         {std::tuple(16, std::vector{0, 1, 2, 3}, 4), std::tuple(32, std::vector{0, 1}, 2),
          std::tuple(64, std::vector{0, 1, 2, 3}, 4), std::tuple(8, std::vector{3, 4, 5, 6, 7}, 4),
          std::tuple(6, std::vector{0, 1, 2, 3}, 4)}) {
      const auto bytes = static_cast<size_t>(ir::parse_type(type)->bytes());
      std::vector<Bytes> data{Bytes(600 * bytes, 1), Bytes(600 * bytes, 1)};
      for (size_t i = 0; i < data[0].size(); ++i) data[0][i] = static_cast<unsigned char>(i * 7 % 61);
      const ir::Program p = spread(type, lanes, places, stride);
      expect_all_agree(p, data);
      EXPECT_EQ(scatters(p), places.size() == 5) << to_string(p);
    }
  EXPECT_TRUE(scatters(spread("float32", 8, {0, 1, 2}, 4))) << "one is missing";
  EXPECT_TRUE(scatters(spread("float32", 8, {0, 2, 1, 3}, 4))) << "in another order";
  EXPECT_TRUE(scatters(spread("float32", 8, {0, 1, 2}, 3)));
  const ir::Program own = spread("int32", 8, {0, 1, 2, 3}, 4, "C");
  EXPECT_TRUE(scatters(own)) << "one may read what the one before stored";
}

// Rolled rows: vectors that do not reach over the end of a row are whole loads, in each iteration anew.
TEST(CodegenMemory, VectorsWithinADigitAreLoadedWhole) {
  const std::pair<const char*, bool> places[] = {{"ramp(i * 5 + 3, 1, 16) % 37", true},
                                                 {"broadcast(i * 37, 16) + ramp(i * 5 + 30, 1, 16) % 37", true},
                                                 {"ramp(i * 5, 1, 16) // 37", true},
                                                 {"ramp(i * 7, 1, 16) // 50 * 50 + ramp(i * 7, 1, 16) % 50", true},
                                                 {"ramp(i * 7, 1, 16) // 50 * 20 + ramp(i * 7, 1, 16) % 50", true},
                                                 {"ramp(i * 7, 1, 16) // 40 * 3 + ramp(i * 7, 1, 16) % 50", false},
                                                 {"ramp(i * 7, 1, 16) % 50 * 2", false},
                                                 {"ramp(i * 5, 1, 16) % 16", false}};
  for (const auto& [at, whole] : places) {
    const ir::Program p = parse("kernel k(A: float32[600], C: out float32[256]):\n  for i in 0..16:\n" +
                                std::string("    C[i * 16 : 16] = A@[") + at + "]\n");
    const Bytes in = bytes_of(counting(600));
    expect_all_agree(p, {in, Bytes(1024, 1)});
    const std::string llvm = build(p, parse_target("llvm -mcpu=znver4"))->source("llvm");
    EXPECT_EQ(llvm.find("inside") != std::string::npos, whole) << at << llvm;
  }
  const ir::Program rolled = parse(R"(kernel k(A: float32[37], C: out float32[48]):
  for i in 0..3:
    C[i * 16 : 16] = A@[ramp(i * 16 + 30, 1, 16) % 37]
)");
  const Bytes in = bytes_of(counting(37));
  const std::vector<Bytes> expected = run_interpreted(rolled, {in, Bytes(192, 1)});
  for (const bool at_end : {false, true}) {
    diff::FencedMemory fenced(std::as_bytes(std::span(in)), at_end);
    Bytes out(192, 1);
    void* pointers[] = {fenced.data(), out.data()};
    ASSERT_EQ(build(rolled, native())->kernel()->run(pointers), 0);
    EXPECT_EQ(out, expected[1]);
  }
}

// Channels of a group, pixels of a larger image: what lanes share is read once, and nothing beside it.
TEST(CodegenMemory, PlacesThatAreKnownAreShuffledOutOfOneVector) {
  const auto reading = [](const std::string& at, int elements) {
    return parse("kernel k(A: float32[" + std::to_string(elements) + "], C: out float32[64]):\n  for i in 0..4:\n" +
                 "    C[i * 16 : 16] = A@[" + at + "]\n");
  };
  const auto gathers = [](const ir::Program& p) {
    return build(p, parse_target("llvm -mcpu=znver4"))->source("llvm").find("masked.gather") != std::string::npos;
  };
  const std::pair<const char*, int> near[] = {{"ramp(i * 16, 1, 16) // 8", 8},
                                              {"broadcast(i * 3, 16) + lanes(16) // 8", 11},
                                              {"broadcast(i, 16) + (lanes(16) + 5) // 3", 11},
                                              {"broadcast(i, 16) + lanes(16) % 4 * 4 + lanes(16) // 4", 19},
                                              {"broadcast(i * 8, 16) - lanes(16) % 7", 25},
                                              {"ramp(i * 16 + 4, 1, 16) % 8 + broadcast(i * 8, 16)", 32}};
  for (const auto& [at, elements] : near) {
    const bool below = std::string(at).find('-') != std::string::npos;
    const ir::Program p = reading(below ? std::string(at) + " + broadcast(6 - i * 2, 16)" : at, elements);
    const Bytes in = bytes_of(counting(elements));
    const std::vector<Bytes> expected = run_interpreted(p, {in, Bytes(256, 1)});
    for (const bool at_end : {false, true}) {
      diff::FencedMemory fenced(std::as_bytes(std::span(in)), at_end);
      Bytes out(256, 1);
      void* pointers[] = {fenced.data(), out.data()};
      ASSERT_EQ(build(p, native())->kernel()->run(pointers), 0);
      EXPECT_EQ(out, expected[1]) << at;
    }
    EXPECT_FALSE(gathers(p)) << at;
  }
  EXPECT_TRUE(gathers(reading("lanes(16) * 5 // 3 + broadcast(i, 16)", 29))) << "over more than a vector";
  EXPECT_TRUE(gathers(reading("ramp(i * 3, 1, 16) // 8", 4))) << "where a group begins is not known";
}

// Lanes that lie a few elements apart come of whole vectors, of which none reaches beyond the first and the last lane.
TEST(CodegenMemory, EverySecondElementIsSortedOutOfVectors) {
  const auto strided = [](const std::string& type, int stride, int lanes, const std::string& mask = "") {
    const std::string in = std::to_string(stride * (lanes - 1) + 1), out = std::to_string(lanes);
    return parse("kernel k(A: " + type + "[" + in + "], C: out " + type + "[" + out + "]):\n  C[0 : " + out +
                 "] = A[ramp(0, " + std::to_string(stride) + ", " + out + ")" + mask + "]\n");
  };
  const auto expect_right = [](const ir::Program& p, ir::Type type, int elements, int lanes) {
    std::vector<Bytes> data{Bytes(static_cast<size_t>(elements * type.bytes())),
                            Bytes(static_cast<size_t>(lanes * type.bytes()), 1)};
    for (size_t i = 0; i < data[0].size(); ++i)
      data[0][i] = static_cast<unsigned char>(type.is_bool() ? i % 3 == 0 : i * 7 % 61);
    const std::vector<Bytes> expected = run_interpreted(p, data);
    const auto module = build(p, native());
    for (const bool at_end : {false, true}) {
      const diff::FencedMemory in(std::as_bytes(std::span(data[0])), at_end),
          out(std::as_bytes(std::span(data[1])), at_end);
      void* pointers[] = {in.data(), out.data()};
      ASSERT_EQ(module->kernel()->run(pointers), 0);
      EXPECT_EQ(std::memcmp(out.data(), expected[1].data(), expected[1].size()), 0) << to_string(p);
    }
  };
  for (const char* name : {"bool", "int8", "uint16", "int32", "float32", "float64", "float16", "bfloat16"}) {
    const ir::Type type = *ir::parse_type(name);
    for (int stride = 2; stride <= 5; ++stride)
      for (int lanes : {2, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32}) {
        const int elements = stride * (lanes - 1) + 1;
        expect_right(strided(name, stride, lanes), type, elements, lanes);
        if (lanes == 8) expect_right(strided(name, stride, lanes, " where ramp(0, 1, 8) < 5"), type, elements, lanes);
      }
  }
  const auto text = [&](int stride) {
    return build(strided("float32", stride, 16), parse_target("llvm -mcpu=x86-64-v3"))->source("llvm");
  };
  for (int stride : {2, 3, 4}) EXPECT_EQ(text(stride).find("masked.gather"), std::string::npos) << stride;
  EXPECT_NE(text(5).find("masked.gather"), std::string::npos) << "most of five vectors is read for nothing";
  const ir::Program copied = parse(R"(kernel k(A: float32[64], C: out float32[4, 8]):
  alloc P: float32[64] local
  for i in 0..64:
    P[i] = A[i]
  for j in 0..4:
    C@[j * 8 : 8] = P[ramp(j * 16, 2, 8)]
)");
  expect_all_agree(copied, {bytes_of(counting(64)), Bytes(128, 1)});
  const std::string llvm = build(copied, parse_target("llvm -mcpu=x86-64-v3"))->source("llvm");
  EXPECT_EQ(llvm.find("masked.gather"), std::string::npos) << "no register holds what is read at places that vary";
}

// A statement that stores what the next one reads ends the tile.
TEST(CodegenMemory, ColumnsThatAreStoredBetweenAreReadAgain) {
  std::string text = "kernel k(C: out float32[64]):\n  for i in 0..64:\n    C[i] = float32(i)\n";
  for (const char* c : {"0", "1", "2", "3"})
    text += "  C[" + std::string(c) + " * 4 : 4] = C[ramp(" + c + ", 4, 4)] + 1.0\n";
  expect_all_agree(parse(text), {Bytes(256, 1)});
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
