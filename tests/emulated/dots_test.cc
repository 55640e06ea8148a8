// Dot products on AArch64: the bits of the interpreter, by the instruction and without.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "src/support/temporary_folder.h"
#include "tensorwright/build.h"
#include "tensorwright/schedule.h"
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
    int64_t elements = 1;
    for (const ir::Expr& extent : param.buffer.shape()) elements *= *ir::as_int(extent);
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

std::vector<diff::Job> jobs_of(const std::vector<ir::Program>& programs, uint64_t rounds) {
  std::vector<diff::Job> jobs;
  for (size_t p = 0; p < programs.size(); ++p)
    for (uint64_t round = 0; round < rounds; ++round) {
      diff::Memory memory = random_memory(programs[p], round);
      if (round % 4 == 0) draw_ordinary(programs[p], round, memory);
      std::vector<diff::Argument> arguments;
      for (const ir::Param& param : programs[p].params) arguments.push_back({param.buffer.name(), !param.written});
      jobs.push_back({"k" + std::to_string(p), std::move(arguments), std::move(memory), {}});
    }
  return jobs;
}

void expect_agreement(const diff::EmulatedCpu& cpu, const std::vector<ir::Program>& programs, uint64_t rounds) {
  const support::TemporaryFolder folder("tensorwright-dots");
  const std::vector<diff::Job> jobs = jobs_of(programs, rounds);
  diff::compile_for(Target::parse(cpu.target).value_or_throw(), programs, folder / "dots.so");
  const std::vector<diff::Ran> results = diff::run_emulated(cpu, folder / "dots.so", jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_EQ(results[i].damage, "") << ir::to_string(programs[i / rounds]) << "round " << i % rounds;
    const ir::Program& program = programs[i / rounds];
    diff::Memory got = results[i].memory, expected = interpreted(program, jobs[i].inputs);
    make_nans_alike(program, got), make_nans_alike(program, expected);
    ASSERT_EQ(got, expected) << ir::to_string(program) << "round " << i % rounds;
  }
}

TEST(EmulatedDots, AreThoseOfTheInterpreter) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  std::vector<ir::Program> programs;
  for (const char* text : kPrograms) programs.push_back(ir::parse_program(text).value_or_throw());
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    expect_agreement(cpu, programs, 256);
  }
}

// As many rows as matrices take, and one less.
ir::Program product(const Target& target, const char* left, const char* right, const char* sum, int64_t rows) {
  const te::Tensor A = te::placeholder({rows, 32}, left, "A"), B = te::placeholder({32, 48}, right, "B");
  const te::IterVar k = te::reduce_axis(0, 32, "k");
  const te::Tensor C = te::compute(
      {rows, 48},
      [&](te::Var i, te::Var j) { return te::sum(te::astype(A(i, k), sum) * te::astype(B(k, j), sum), {k}); }, "C");
  const ir::Program loops = schedule::to_ir(default_schedule({C}, target), {A, B, C}).value_or_throw();
  return lower::run_pipeline(lower::cpu_passes(), loops, target);
}

TEST(EmulatedDots, OfAutomaticSchedulesAreThoseOfTheInterpreter) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    const Target target = Target::parse(cpu.target).value_or_throw();
    std::vector<ir::Program> programs;
    for (const int64_t rows : {20, 19}) {
      programs.push_back(product(target, "int8", "int8", "int32", rows));
      programs.push_back(product(target, "uint8", "uint8", "int32", rows));
      programs.push_back(product(target, "uint8", "int8", "int32", rows));
      programs.push_back(product(target, "bfloat16", "bfloat16", "float32", rows));
    }
    expect_agreement(cpu, programs, 4);
  }
}

}  // namespace
}  // namespace tw
