// Lanes that do not lie side by side in memory: turned, sorted and shuffled out of whole vectors, or gathered.
#include <bit>
#include <cstring>

#include "tests/diff/fenced_memory.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

TEST(CodegenLanes, ReversedStridedAndGathered) {
  expect_all_agree(parse(R"(kernel k(A: float32[64], C: out float32[64]):
  for i in 0..4:
    C[ramp(15 - i, 4, 4)] = A[ramp(i, 16, 4)]
  for i in 0..4:
    C[ramp(i * 16 + 15, -1, 16)] = A[ramp(63 - i * 16, -1, 16)] + A[i * 16 : 16]
)"),
                   {bytes_of(counting(64)), Bytes(256, 1)});
}

// Columns side by side are rows that are turned in registers, of the elements that gathers would read.
TEST(CodegenLanes, ColumnsSideBySideAreTurned) {
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
TEST(CodegenLanes, ColumnsThatEndBeforeTheirVectorsAreTurned) {
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
TEST(CodegenLanes, ColumnsOfGroupsAreTurned) {
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

// Stores that each write every second, third or fourth element are whole vectors.
TEST(CodegenLanes, StoresOfEveryFourthElementAreOne) {
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
          std::tuple(6, std::vector{0, 1, 2, 3}, 4), std::tuple(16, std::vector{0, 2, 1}, 3),
          std::tuple(64, std::vector{0, 1, 2}, 3), std::tuple(12, std::vector{1, 2, 3}, 3),
          std::tuple(4, std::vector{0, 1, 2}, 3), std::tuple(4, std::vector{0, 12, 1, 13, 2, 14}, 3),
          std::tuple(8, std::vector{0, 32, 1, 33, 2, 34, 3, 35}, 4)}) {
      const auto bytes = static_cast<size_t>(ir::parse_type(type)->bytes());
      std::vector<Bytes> data{Bytes(600 * bytes, 1), Bytes(600 * bytes, 1)};
      for (size_t i = 0; i < data[0].size(); ++i) data[0][i] = static_cast<unsigned char>(i * 7 % 61);
      const ir::Program p = spread(type, lanes, places, stride);
      expect_all_agree(p, data);
      EXPECT_EQ(scatters(p), places.size() == 5) << to_string(p);
    }
  EXPECT_TRUE(scatters(spread("float32", 8, {0, 1, 2}, 4))) << "one is missing";
  EXPECT_TRUE(scatters(spread("float32", 8, {0, 1, 4, 2, 3}, 4))) << "the third writes what the first did";
  EXPECT_TRUE(scatters(spread("float32", 8, {0, 1, 2, 3, 4}, 5)));
  const ir::Program own = spread("int32", 8, {0, 1, 2, 3}, 4, "C");
  EXPECT_TRUE(scatters(own)) << "one may read what the one before stored";
}

// Of lanes that have a condition, what they write and nothing beside it, whether one store or several.
TEST(CodegenLanes, StoresOfEveryThirdElementWriteNothingElse) {
  for (const auto& [lanes, stride] : {std::pair(16, 3), std::pair(64, 3), std::pair(16, 2), std::pair(32, 4)})
    for (const int end : {1, lanes / 2 + 1, lanes}) {
      const std::string all = std::to_string(lanes);
      const std::string some = end < lanes ? " where lanes(" + all + ") < " + std::to_string(end) : "";
      const int elements = end * stride;
      std::string text = "kernel k(A: float32[512], C: out float32[" + std::to_string(elements) + "]):\n";
      for (int c = 0; c < stride; ++c)
        text += "  C@[ramp(" + std::to_string(c) + ", " + std::to_string(stride) + ", " + all + ")] = A@[" +
                std::to_string(c * lanes) + " : " + all + "] * 2.0" + some + "\n";
      const ir::Program p = parse(text);
      const Bytes in = bytes_of(counting(512));
      const std::vector<Bytes> expected = run_interpreted(p, {in, Bytes(static_cast<size_t>(elements) * 4, 1)});
      diff::FencedMemory fenced(std::as_bytes(std::span(expected[1])), /*at_end=*/true);
      std::memset(fenced.data(), 1, expected[1].size());
      void* pointers[] = {const_cast<unsigned char*>(in.data()), fenced.data()};
      ASSERT_EQ(build(p, native())->kernel()->run(pointers), 0);
      EXPECT_EQ(std::memcmp(fenced.data(), expected[1].data(), expected[1].size()), 0) << text;
      const std::string llvm = build(p, parse_target("llvm -mcpu=znver4"))->source("llvm");
      EXPECT_EQ(llvm.find("masked.scatter"), std::string::npos) << text;
    }
}

// Rolled rows: vectors that do not reach over the end of a row are whole loads, in each iteration anew.
TEST(CodegenLanes, VectorsWithinADigitAreLoadedWhole) {
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
TEST(CodegenLanes, PlacesThatAreKnownAreShuffledOutOfOneVector) {
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
TEST(CodegenLanes, EverySecondElementIsSortedOutOfVectors) {
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
  for (int stride : {2, 3, 4, 5, 15}) EXPECT_EQ(text(stride).find("masked.gather"), std::string::npos) << stride;
  EXPECT_EQ(text(4).find("load float"), std::string::npos);
  EXPECT_NE(text(5).find("load float"), std::string::npos) << "most of five vectors is read for nothing";
  EXPECT_NE(text(16).find("masked.gather"), std::string::npos) << "each lane has a line of its own";
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

// What a condition on data leaves out of sums in registers is left out lane by lane, without a jump that data decide.
TEST(CodegenLanes, DataThatDecideForAllLanesAreNoBranch) {
  const ir::Program program = parse(R"(kernel k(A: float32[64], M: int32[64], B: float32[1024], C: out float32[16]):
  alloc S: float32[16] local
  S[0 : 16] = 0.0
  for k in 0..64:
    S[0 : 16] = select(M[k] != 0i32 and A[k] > 0.25, S[0 : 16] + A[k] * B[k * 16 : 16], S[0 : 16])
  C[0 : 16] = S[0 : 16]
)");
  std::vector<float> a(64), b(1024);
  std::vector<int32_t> m(64);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < m.size(); ++i) m[i] = i % 3 == 0 ? 0 : 1, a[i] = static_cast<float>(i % 5) / 4;
  expect_all_agree(program, {bytes_of(a), bytes_of(m), bytes_of(b), Bytes(64, 1)});
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const std::string text = build(program, parse_target("llvm -mcpu=" + std::string(cpu)))->source("asm");
    EXPECT_EQ(text.find("comiss"), std::string::npos) << text;
  }
}

// A statement that stores what the next one reads ends the tile.
TEST(CodegenLanes, ColumnsThatAreStoredBetweenAreReadAgain) {
  std::string text = "kernel k(C: out float32[64]):\n  for i in 0..64:\n    C[i] = float32(i)\n";
  for (const char* c : {"0", "1", "2", "3"})
    text += "  C[" + std::string(c) + " * 4 : 4] = C[ramp(" + c + ", 4, 4)] + 1.0\n";
  expect_all_agree(parse(text), {Bytes(256, 1)});
}

#else
TEST(CodegenLanes, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
