// Dot products on AArch64: the bits of the interpreter, by the instruction and without.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/support/temporary_folder.h"
#include "tests/diff/emulated.h"

namespace tw {
namespace {

constexpr const char* kPrograms[] = {
    R"(kernel k(A: uint8[32], B: int8[32], C: out int32[8], D: out int32[8]):
  C[0 : 8] = dot_u8i8(broadcast(-7i32, 8), A[0 : 32], B[0 : 32])
  D[0 : 8] = dot_u8i8(C[0 : 8], A[8 : 4], B[0 : 32])
)",
    R"(kernel k(A: int8[32], B: int8[32], C: out int32[8], D: out int32[8]):
  C[0 : 8] = dot_i8i8(broadcast(-7i32, 8), A[0 : 32], B[0 : 32])
  D[0 : 8] = dot_i8i8(C[0 : 8], A[8 : 4], B[0 : 32])
)",
    R"(kernel k(A: uint8[32], B: uint8[32], C: out int32[8], D: out int32[8]):
  C[0 : 8] = dot_u8u8(broadcast(-7i32, 8), A[0 : 32], B[0 : 32])
  D[0 : 8] = dot_u8u8(C[0 : 8], A[8 : 4], B[0 : 32])
)",
    R"(kernel k(A: bfloat16[16], B: bfloat16[16], S: float32[8], C: out float32[8], D: out float32[8]):
  C[0 : 8] = dot_bf16_odd(S[0 : 8], A[0 : 16], B[0 : 16])
  D[0 : 8] = dot_bf16_odd(C[0 : 8], A[4 : 2], B[0 : 16])
)",
    R"(kernel k(A: int8[16], B: int8[16], S: int32[4], C: out int32[4]):
  C[0 : 4] = mat_i8i8(S[0 : 4], A[0 : 16], B[0 : 16])
)",
    R"(kernel k(A: bfloat16[8], B: bfloat16[8], S: float32[4], C: out float32[4]):
  C[0 : 4] = mat_bf16_odd(S[0 : 4], A[0 : 8], B[0 : 8])
)"};

// Any bytes, and those at the ends of their ranges: as bfloat16 also infinities, NaN and subnormal numbers.
diff::Memory random_memory(const ir::Program& program, uint64_t seed) {
  constexpr uint8_t kEnds[] = {0x00, 0x01, 0x7f, 0x80, 0x81, 0xff};
  std::mt19937_64 random(seed);
  diff::Memory memory;
  for (const ir::Param& param : program.params) {
    const int64_t elements = *ir::as_int(param.buffer.shape()[0]);
    memory.emplace_back(static_cast<size_t>(param.buffer.element().bytes_of(elements)));
    for (std::byte& byte : memory.back())
      byte = static_cast<std::byte>(seed % 2 == 0 ? random() : kEnds[random() % std::size(kEnds)]);
  }
  return memory;
}

diff::Memory interpreted(const ir::Program& program, diff::Memory memory) {
  std::vector<ir::InterpBuffer> buffers;
  for (auto& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
  EXPECT_TRUE(ir::interpret(program, buffers).ok());
  return memory;
}

// Numbers near 1, whose sums lose digits and no more.
void draw_ordinary(const ir::Program& program, uint64_t seed, diff::Memory& memory) {
  std::mt19937_64 random(seed);
  for (size_t p = 0; p < memory.size(); ++p) {
    const ir::Type type = program.params[p].buffer.element();
    if (!type.is_float()) continue;
    const auto bytes = static_cast<size_t>(type.bytes());
    for (size_t i = 0; i < memory[p].size(); i += bytes) {
      const auto word = static_cast<uint32_t>((random() & 0x807fffff) | (120 + random() % 16) << 23);
      std::memcpy(&memory[p][i], reinterpret_cast<const char*>(&word) + 4 - bytes, bytes);
    }
  }
}

// Which NaN it is nobody promises.
void make_nans_alike(const ir::Program& program, diff::Memory& memory) {
  for (size_t p = 0; p < memory.size(); ++p) {
    if (program.params[p].buffer.element() != ir::Type::f(32)) continue;
    for (size_t i = 0; i < memory[p].size(); i += 4) {
      float value;
      std::memcpy(&value, &memory[p][i], 4);
      if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(&memory[p][i], &value, 4);
    }
  }
}

TEST(EmulatedDots, AreThoseOfTheInterpreter) {
  constexpr uint64_t kRounds = 256;
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  std::vector<ir::Program> programs;
  for (const char* text : kPrograms) programs.push_back(ir::parse_program(text).value_or_throw());
  std::vector<diff::Job> jobs;
  for (size_t p = 0; p < programs.size(); ++p)
    for (uint64_t round = 0; round < kRounds; ++round) {
      diff::Memory memory = random_memory(programs[p], round);
      if (round % 4 == 0) draw_ordinary(programs[p], round, memory);
      std::vector<diff::Argument> arguments;
      for (const ir::Param& param : programs[p].params) arguments.push_back({param.buffer.name(), !param.written});
      jobs.push_back({"k" + std::to_string(p), std::move(arguments), std::move(memory), {}});
    }
  const support::TemporaryFolder folder("tensorwright-dots");
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    diff::compile_for(Target::parse(cpu.target).value_or_throw(), programs, folder / "dots.so");
    const std::vector<diff::Ran> results = diff::run_emulated(cpu, folder / "dots.so", jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_EQ(results[i].damage, "");
      const ir::Program& program = programs[i / kRounds];
      diff::Memory got = results[i].memory, expected = interpreted(program, jobs[i].inputs);
      make_nans_alike(program, got), make_nans_alike(program, expected);
      ASSERT_EQ(got, expected) << kPrograms[i / kRounds] << "round " << i % kRounds;
    }
  }
}

}  // namespace
}  // namespace tw
