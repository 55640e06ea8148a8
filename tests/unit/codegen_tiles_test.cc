// Products of whole tiles: what they mean, by scalar instructions; their code; who may run it.
#include <cstdlib>
#include <random>
#include <sstream>

#include "src/lower/pipeline.h"
#include "tests/unit/run_program.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tw {
namespace {

constexpr size_t kRows = 16, kColumns = 16, kSums = kRows * kColumns;  // of a right factor, and of whole tiles

// The terms that one row has: 64 bytes.
struct Kind {
  const char *fn, *left, *right, *sum;
  size_t packed;
  size_t terms() const { return 16 * packed; }
  size_t pitch() const { return terms() + 8; }  // of the left factor, whose rows lie apart
};
constexpr Kind kKinds[] = {{"tile_bf16", "bfloat16", "bfloat16", "float32", 2},
                           {"tile_u8i8", "uint8", "int8", "int32", 4},
                           {"tile_i8i8", "int8", "int8", "int32", 4}};

struct Size {
  size_t rows = kRows, groups = kRows;  // of sums; of terms
};

// One product after another; what stands below them stays.
std::string text_of(const Kind& kind, size_t count, const std::vector<Size>& sizes = {{}}) {
  const auto number = [](size_t n) { return std::to_string(n); };
  const auto tensor = [&](const std::string& type, size_t elements) {
    return type + "[" + number(count) + ", " + number(elements) + "]";
  };
  const auto product = [&](const Size& size) {
    const size_t terms = size.groups * kind.packed;
    const std::string lanes = "lanes(" + number(size.rows * terms) + ")", row = number(terms),
                      sums = "C[t, 0 : " + number(size.rows * kColumns) + "]";
    const std::string left = lanes + " // " + row + " * " + number(kind.pitch()) + " + " + lanes + " % " + row;
    return "    " + sums + " = " + kind.fn + "(" + sums + ", A[t, " + left + "], B[t, 0 : " + number(kColumns * terms) +
           "])\n";
  };
  std::string products;
  for (const Size& size : sizes) products += product(size);
  return "kernel k(A: " + tensor(kind.left, kRows * kind.pitch()) + ", B: " + tensor(kind.right, kRows * kind.terms()) +
         ", S: " + tensor(kind.sum, kSums) + ", C: out " + tensor(kind.sum, kSums) + "):\n  for t in 0.." +
         number(count) + ":\n    C[t, 0 : 256] = S[t, 0 : 256]\n" + products;
}

// Numbers of one kind for each tile: near 1; whose products are near the least normal number, or are subnormal; near
// the largest; any with infinities and NaN among them; any bits.
uint16_t bfloat(std::mt19937_64& random, size_t kind) {
  constexpr uint64_t kFirst[] = {120, 56, 185, 110}, kSpan[] = {16, 16, 8, 40};
  const uint64_t bits = random();
  if (kind == 4) return static_cast<uint16_t>(bits);
  uint64_t exponent = kFirst[kind] + bits / 1024 % kSpan[kind];
  if (kind == 3 && bits / 65536 % 300 == 0) exponent = 255;
  if (bits / 65536 % 50 == 1) exponent = 0;
  return static_cast<uint16_t>((bits & 0x807f) | exponent << 7);
}

float sum_before(std::mt19937_64& random, size_t kind) {
  constexpr uint64_t kFirst[] = {120, 0, 250, 110}, kSpan[] = {20, 8, 5, 40};
  const uint64_t bits = random();
  auto word = static_cast<uint32_t>(bits);
  if (kind < 4) word = static_cast<uint32_t>((bits & 0x807fffff) | (kFirst[kind] + (bits >> 32) % kSpan[kind]) << 23);
  if (kind == 1 && bits >> 40 & 1) word &= 0x80800003;  // the least normal number, or a subnormal one
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

std::vector<Bytes> random_data(const Kind& kind, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> data = {Bytes(count * kRows * kind.pitch() * (kind.packed == 2 ? 2 : 1)),
                             Bytes(count * kRows * kind.terms() * (kind.packed == 2 ? 2 : 1)), Bytes(count * kSums * 4),
                             Bytes(count * kSums * 4)};
  for (size_t factor : {size_t{0}, size_t{1}}) {
    Bytes& bytes = data[factor];
    for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
      const uint16_t value =
          kind.packed == 2 ? bfloat(random, i * count / bytes.size() % 5) : static_cast<uint16_t>(random());
      std::memcpy(&bytes[i], &value, 2);
    }
  }
  for (size_t i = 0; i < count * kSums; ++i) {
    const float value = sum_before(random, kind.packed == 2 ? i / kSums % 5 : 4);
    std::memcpy(&data[2][4 * i], &value, 4);
  }
  return data;
}

int product_of_bytes(const Kind& kind, const Bytes& a, size_t at_a, const Bytes& b, size_t at_b) {
  const int left = kind.left[0] == 'u' ? int{a[at_a]} : int{static_cast<int8_t>(a[at_a])};
  return left * static_cast<int8_t>(b[at_b]);
}

#if defined(__x86_64__)

// While it stands scalars of SSE read denormal numbers as zeros and make none.
class Flushing {
 public:
  Flushing() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~Flushing() { _mm_setcsr(before_); }

 private:
  const unsigned before_;
};

float fused(float c, float a, float b) {
  asm volatile("vfmadd231ss %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
  return c;
}
float added(float a, float b) {
  asm volatile("vaddss %1, %0, %0" : "+x"(a) : "x"(b));
  return a;
}
float float_at(const Bytes& bytes, size_t at) {
  const uint32_t word = static_cast<uint32_t>(bytes[2 * at]) << 16 | static_cast<uint32_t>(bytes[2 * at + 1]) << 24;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

// Intel's definition of TDPBF16PS, TDPBUSD and TDPBSSD, one sum at a time.
Bytes defined(const Kind& kind, const std::vector<Bytes>& data, size_t count, size_t groups = kRows) {
  const Flushing mode;
  Bytes out(count * kSums * 4);
  for (size_t sum = 0; sum < count * kSums; ++sum) {
    const size_t tile = sum / kSums, i = sum % kSums / kColumns, j = sum % kColumns;
    float before, parts[2] = {0, 0};
    uint32_t integer;
    std::memcpy(&before, &data[2][4 * sum], 4);
    std::memcpy(&integer, &data[2][4 * sum], 4);
    for (size_t k = 0; k < groups; ++k)
      for (size_t p = 0; p < kind.packed; ++p) {
        const size_t a = (tile * kRows + i) * kind.pitch() + k * kind.packed + p;
        const size_t b = (tile * kRows + k) * kind.terms() + j * kind.packed + p;
        if (kind.packed == 2)
          parts[p] = fused(parts[p], float_at(data[0], a), float_at(data[1], b));
        else
          integer += static_cast<uint32_t>(product_of_bytes(kind, data[0], a, data[1], b));
      }
    const float after = added(before, added(parts[0], parts[1]));
    std::memcpy(&out[4 * sum], kind.packed == 2 ? static_cast<const void*>(&after) : &integer, 4);
  }
  return out;
}

std::vector<Bytes> run_lowered(const ir::Program& p, std::vector<Bytes> data) {
  return run_compiled(lower::run_pipeline(lower::cpu_passes(), p, native()), std::move(data), native(), 3);
}

size_t rounds(size_t otherwise) {
  const char* value = std::getenv("TW_TILES");
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

bool has_fma() { return Target::host().abilities.fma; }

TEST(Tiles, InterpreterIsTheScalarDefinition) {
  if (!has_fma()) GTEST_SKIP() << "skipped: no instruction fuses multiply-adds here";
  constexpr size_t kAtOnce = 20;
  for (const Kind& kind : kKinds) {
    const ir::Program p = parse(text_of(kind, kAtOnce));
    for (size_t done = 0; done < rounds(200); done += kAtOnce) {
      const std::vector<Bytes> data = random_data(kind, kAtOnce, done);
      ASSERT_TRUE(same_values(p.params[3].buffer.element(), defined(kind, data, kAtOnce), run_interpreted(p, data)[3]))
          << kind.fn << ", tiles from " << done;
    }
  }
}

// By the instruction where this CPU has it; by rows, with and without dot products of its own.
TEST(Tiles, CompiledOnesAreTheScalarDefinition) {
  if (!has_fma()) GTEST_SKIP() << "skipped: no instruction fuses multiply-adds here";
  constexpr size_t kAtOnce = 1000;
  std::vector<Target> targets = {native()};
#if TW_LLVM
  targets.push_back(parse_target("llvm -mcpu=native -mattr=-amx-bf16,-amx-int8"));
  targets.push_back(parse_target("llvm -mcpu=native -mattr=-amx-bf16,-amx-int8,-avx512bf16,-avx512vnni"));
#endif
  for (const Target& target : targets)
    for (const Kind& kind : kKinds) {
      const ir::Program p = lower::run_pipeline(lower::cpu_passes(), parse(text_of(kind, kAtOnce)), target);
      const auto module = build(p, target, 3);
      for (size_t done = 0; done < rounds(3 * kAtOnce); done += kAtOnce) {
        std::vector<Bytes> data = random_data(kind, kAtOnce, done);
        const Bytes expected = defined(kind, data, kAtOnce);
        std::vector<void*> pointers;
        for (Bytes& bytes : data) pointers.push_back(bytes.data());
        ASSERT_EQ(module->kernel()->run(pointers.data()), 0);
        ASSERT_TRUE(same_values(p.params[3].buffer.element(), expected, data[3]))
            << kind.fn << " for " << target.to_string() << ", tiles from " << done;
      }
    }
  if (!Target::host().abilities.tiles) std::printf("no tiles here: the instructions were not run\n");
}

constexpr Size kSmaller[] = {{1, 16}, {5, 16}, {14, 16}, {16, 12}, {14, 10}, {8, 8}, {5, 1}, {1, 15}, {1, 1}, {16, 2}};

// Of sums the first rows, over the first groups of terms.
Bytes defined(const Kind& kind, const std::vector<Bytes>& data, size_t count, const Size& size) {
  Bytes out = data[2];
  const Bytes rows = defined(kind, data, count, size.groups);
  for (size_t t = 0; t < count; ++t) std::memcpy(&out[t * kSums * 4], &rows[t * kSums * 4], size.rows * 64);
  return out;
}

TEST(Tiles, SmallerOnesAreInterpretedAsThatPartOfTheDefinition) {
  if (!has_fma()) GTEST_SKIP() << "skipped: no instruction fuses multiply-adds here";
  constexpr size_t kAtOnce = 20;
  for (const Kind& kind : kKinds)
    for (const Size& size : kSmaller) {
      const std::vector<Bytes> data = random_data(kind, kAtOnce, size.rows);
      const ir::Program p = parse(text_of(kind, kAtOnce, {size}));
      EXPECT_TRUE(
          same_values(p.params[3].buffer.element(), defined(kind, data, kAtOnce, size), run_interpreted(p, data)[3]))
          << kind.fn << " of " << size.rows << " rows, " << size.groups << " groups";
    }
}

// By the instruction where this CPU has it.
TEST(Tiles, SmallerOnesAreCompiledAsThatPartOfTheDefinition) {
  if (!has_fma()) GTEST_SKIP() << "skipped: no instruction fuses multiply-adds here";
  constexpr size_t kAtOnce = 100;
  for (const Kind& kind : kKinds)
    for (const Size& size : kSmaller) {
      const ir::Program p = lower::run_pipeline(lower::cpu_passes(), parse(text_of(kind, kAtOnce, {size})), native());
      const auto module = build(p, native(), 3);
      for (size_t done = 0; done < rounds(kAtOnce); done += kAtOnce) {
        std::vector<Bytes> data = random_data(kind, kAtOnce, done);
        const Bytes expected = defined(kind, data, kAtOnce, size);
        std::vector<void*> pointers;
        for (Bytes& bytes : data) pointers.push_back(bytes.data());
        ASSERT_EQ(module->kernel()->run(pointers.data()), 0);
        ASSERT_TRUE(same_values(p.params[3].buffer.element(), expected, data[3]))
            << kind.fn << " of " << size.rows << " rows, " << size.groups << " groups, tiles from " << done;
      }
    }
}

#else

TEST(Tiles, InterpreterIsTheScalarDefinition) { GTEST_SKIP() << "skipped: the definition is in instructions of x86"; }

#endif

#if TW_LLVM

// Sums in two rows and two columns of tiles, of 16 steps of terms, whose loop may be left out: then they are of one.
std::string four_tiles(const Size& size = {}, bool loop = true) {
  const auto number = [](size_t n) { return std::to_string(n); };
  const auto rows = [&](size_t first, size_t count, size_t columns, size_t pitch) {
    const std::string lanes = "lanes(" + number(count * columns) + ")", by = number(columns);
    return number(first) + " + " + lanes + " // " + by + " * " + number(pitch) + " + " + lanes + " % " + by;
  };
  const size_t terms = 2 * size.groups;
  std::string products;
  for (const size_t i : {0, 1})
    for (const size_t j : {0, 1}) {
      const std::string sums = "C[" + rows(i * size.rows * 32 + j * 16, size.rows, 16, 32) + "]";
      const std::string left = loop ? "k * " + number(terms) + " + " : "",
                        right = loop ? "k * " + number(size.groups * 64) + " + " : "";
      products += std::string(loop ? "    " : "  ") + sums + " = tile_bf16(" + sums + ", A[" + left +
                  rows(i * size.rows * 512, size.rows, terms, 512) + "], B[" + right +
                  rows(j * 32, size.groups, 32, 64) + "])\n";
    }
  return "kernel k(A: bfloat16[16384], B: bfloat16[16384], C: out float32[" + number(size.rows * 64) +
         "]):\n  for i in 0.." + number(size.rows * 4) + ":\n    C[i * 16 : 16] = broadcast(0.0, 16)\n" +
         (loop ? "  for k in 0..16:\n" : "") + products;
}

// The instructions of tiles, a line each, with the registers' numbers; labels and branches between them.
std::string tile_instructions(const std::string& assembly) {
  std::string out;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find_first_not_of("\t ");
    if (name == line.npos) continue;
    const std::string word = line.substr(name, line.find_first_of("\t ", name) - name);
    if (word.starts_with("tile") || word.starts_with("tdp") || word == "ldtilecfg") {
      out += word;
      for (size_t at = line.find("%tmm"); at != line.npos; at = line.find("%tmm", at + 1))
        out += std::string(" ") + line[at + 4];
      out += "\n";
    } else if (word.starts_with(".LBB") || (word[0] == 'j' && !out.empty())) {
      const std::string mark = word[0] == 'j' ? "branch\n" : "label\n";
      if (!out.ends_with(mark)) out += mark;
    }
  }
  return out;
}

// Four loads and four products, no store: the sums stay.
TEST(Tiles, InnerLoopHoldsTheSums) {
  const auto module = build(parse(four_tiles()), parse_target("llvm -mcpu=sapphirerapids"), 3);
  const std::string found = tile_instructions(module->source("asm"));
  const size_t from = found.find("ldtilecfg");
  ASSERT_NE(from, found.npos) << found;
  EXPECT_NE(found.find(R"(label
tileloadd 4
tileloadd 5
tdpbf16ps 5 4 0
tileloadd 6
tdpbf16ps 6 4 1
tileloadd 7
tdpbf16ps 5 7 2
tdpbf16ps 6 7 3
branch
tilestored 0
tilestored 1
tilestored 2
tilestored 3
tilerelease
)"),
            found.npos)
      << found;
}

// The four tiles behind stores of zeros to so many vectors, and of ones to the rest, in the place of the loop.
std::string behind_zeros(int vectors, bool loops = true) {
  const std::string text = four_tiles({}, loops);
  const size_t loop = text.find("  for i in"), products = text.find(loops ? "  for k in" : "  C[0 + lanes");
  std::string zeros;
  for (int i = 64; i-- > 0;)  // those of zeros stand before the loop
    zeros += "  C[" + std::to_string(i * 16) + " : 16] = broadcast(" + (i < vectors ? "0.0" : "1.0") + ", 16)\n";
  return text.substr(0, loop) + zeros + text.substr(products);
}

TEST(Tiles, SumsOfZeroBeginInRegisters) {
  const Target target = parse_target("llvm -mcpu=sapphirerapids");
  const std::string found = tile_instructions(build(parse(behind_zeros(64)), target, 3)->source("asm"));
  EXPECT_NE(found.find("tilezero 0\ntilezero 1\ntilezero 2\ntilezero 3\n"), found.npos) << found;
  EXPECT_EQ(found.find("tileloadd 0"), found.npos) << found;
}

// One step of terms has no loop: the sums of its products stay, too.
TEST(Tiles, SumsOfProductsOneAfterTheOtherStay) {
  const Target target = parse_target("llvm -mcpu=sapphirerapids");
  const std::string found = tile_instructions(build(parse(behind_zeros(64, false)), target, 3)->source("asm"));
  EXPECT_NE(found.find(R"(tilezero 0
tilezero 1
tilezero 2
tilezero 3
tileloadd 4
tileloadd 5
tdpbf16ps 5 4 0
tileloadd 6
tdpbf16ps 6 4 1
tileloadd 7
tdpbf16ps 5 7 2
tdpbf16ps 6 7 3
tilestored 0
tilestored 1
tilestored 2
tilestored 3
tilerelease
)"),
            found.npos)
      << found;
}

// Tasks are short: to configure registers takes as long.
TEST(Tiles, RegistersAreConfiguredAroundAllTasks) {
  std::string text = text_of(kKinds[1], 8);
  text.replace(text.find("0..8:"), 5, "0..8 parallel:");
  const Target target = parse_target("llvm -mcpu=sapphirerapids");
  const auto module = build(lower::run_pipeline(lower::cpu_passes(), parse(text), target), target, 3);
  const std::string found = tile_instructions(module->source("asm"));
  EXPECT_LT(found.find("ldtilecfg"), found.find("label")) << found;
  EXPECT_GT(found.find("tilerelease"), found.rfind("tilestored")) << found;
  EXPECT_LT(found.find("branch\n", found.find("tilestored")), found.find("tilerelease")) << found;
}

TEST(Tiles, SumsOfWhichSomeAreNotZeroAreLoaded) {
  const Target target = parse_target("llvm -mcpu=sapphirerapids");
  for (int vectors : {32, 63}) {  // two whole tiles of four; all but a vector
    const std::string found = tile_instructions(build(parse(behind_zeros(vectors)), target, 3)->source("asm"));
    EXPECT_EQ(found.find("tilezero"), found.npos) << found;
    EXPECT_NE(found.find("tileloadd 0"), found.npos) << found;
  }
}

// Registers have as many rows and terms as one product needs; the next one may need others.
TEST(Tiles, ProductsOfSeveralSizesFollowOneAnother) {
  for (const Kind& kind : kKinds) {
    const ir::Program p = parse(text_of(kind, 3, {{16}, {14}, {14, 10}, {14, 10}, {5}, {16, 8}, {16}}));
    std::vector<Bytes> data = random_data(kind, 3, 1);
    if (kind.packed == 2)
      for (size_t i = 0; i < data[0].size(); i += 2) {
        std::mt19937_64 random(i);
        const uint16_t value = bfloat(random, 0);
        std::memcpy(&data[0][i], &value, 2);
      }
    EXPECT_TRUE(same_values(p.params[3].buffer.element(), run_interpreted(p, data)[3], run_lowered(p, data)[3]))
        << kind.fn;
  }
}

// A loop that holds four sums, and loads each of four factors once.
constexpr const char* kFourSumsStay = R"(label
tileloadd 4
tileloadd 6
tdpbf16ps 6 4 0
tileloadd 7
tdpbf16ps 7 4 1
tileloadd 5
tdpbf16ps 6 5 2
tdpbf16ps 7 5 3
branch
)";

// Six registers have the sums' rows, two are those of right factors.
TEST(Tiles, LowerSumsStayInRegisters) {
  const auto module = build(parse(four_tiles({14})), parse_target("llvm -mcpu=sapphirerapids"), 3);
  const std::string found = tile_instructions(module->source("asm"));
  EXPECT_NE(found.find(kFourSumsStay), found.npos) << found;
}

// Four registers are those of sums, two those of left factors.
TEST(Tiles, SumsOfFewerTermsStayInRegisters) {
  for (const size_t rows : {size_t{14}, size_t{16}}) {
    const auto module = build(parse(four_tiles({rows, 12})), parse_target("llvm -mcpu=sapphirerapids"), 3);
    const std::string found = tile_instructions(module->source("asm"));
    EXPECT_NE(found.find(std::string(kFourSumsStay) + "tilestored 0\n"), found.npos) << found;
  }
}

// A left factor is no right one, though both are the same bytes.
TEST(Tiles, OfFewerTermsAFactorIsLoadedForEachSide) {
  const ir::Program p = parse(
      "kernel k(A: int8[512], C: out int32[256]):\n"
      "  C[0 : 256] = broadcast(0i32, 256)\n"
      "  C[0 : 256] = tile_i8i8(C[0 : 256], A[0 : 512], A[0 : 512])\n");
  std::vector<Bytes> data = {Bytes(512), Bytes(1024, 0)};
  std::mt19937_64 random(3);
  for (uint8_t& byte : data[0]) byte = static_cast<uint8_t>(random());
  EXPECT_TRUE(same_values(ir::Type::i(32), run_interpreted(p, data)[1], run_lowered(p, data)[1]));
}

// By the instruction where this CPU has it.
TEST(Tiles, SumsThatBeginAsZeroAreWhatTheInterpreterFinds) {
  for (int vectors : {32, 63, 64, -64}) {  // without a loop
    const ir::Program p = parse(behind_zeros(std::abs(vectors), vectors > 0));
    std::mt19937_64 random(7);
    std::vector<Bytes> data = {Bytes(2 * 16384), Bytes(2 * 16384), Bytes(4 * 1024, 0)};
    for (size_t factor : {size_t{0}, size_t{1}})
      for (size_t i = 0; i < 2 * 16384; i += 2) {
        const uint16_t value = bfloat(random, 0);
        std::memcpy(&data[factor][i], &value, 2);
      }
    EXPECT_TRUE(same_values(ir::Type::f(32), run_interpreted(p, data)[2], run_lowered(p, data)[2])) << vectors;
  }
}

TEST(Tiles, WithoutThemThereIsNoInstructionOfTheirs) {
  const ir::Program p = parse(four_tiles());
  const Target without = parse_target("llvm -mcpu=sapphirerapids -mattr=-amx-bf16");
  const auto module = build(lower::run_pipeline(lower::cpu_passes(), p, without), without, 3);
  EXPECT_EQ(module->source("asm").find("tmm"), std::string::npos);
}

#endif

}  // namespace
}  // namespace tw
