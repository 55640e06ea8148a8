// Dot products on AArch64: the bits of the interpreter, by the instruction and without.
#include <gtest/gtest.h>

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
)"};

// Any bytes, and those at the ends of their ranges.
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

TEST(EmulatedDots, AreThoseOfTheInterpreter) {
  constexpr uint64_t kRounds = 64;
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  std::vector<ir::Program> programs;
  for (const char* text : kPrograms) programs.push_back(ir::parse_program(text).value_or_throw());
  std::vector<diff::Job> jobs;
  for (size_t p = 0; p < programs.size(); ++p)
    for (uint64_t round = 0; round < kRounds; ++round)
      jobs.push_back(
          {"k" + std::to_string(p), {{"A", true}, {"B", true}, {"C"}, {"D"}}, random_memory(programs[p], round), {}});
  const support::TemporaryFolder folder("tensorwright-dots");
  for (const diff::EmulatedCpu& cpu : diff::emulated_cpus()) {
    SCOPED_TRACE(cpu.name);
    diff::compile_for(Target::parse(cpu.target).value_or_throw(), programs, folder / "dots.so");
    const std::vector<diff::Ran> results = diff::run_emulated(cpu, folder / "dots.so", jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_EQ(results[i].damage, "");
      ASSERT_EQ(results[i].memory, interpreted(programs[i / kRounds], jobs[i].inputs)) << kPrograms[i / kRounds];
    }
  }
}

}  // namespace
}  // namespace tw
