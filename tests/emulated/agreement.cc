#include "tests/emulated/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "src/ir/interp.h"
#include "src/support/temporary_folder.h"
#include "tensorwright/target.h"

namespace tw {
namespace {

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
template <class Float>
void make_nans_alike(std::vector<std::byte>& bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(Float)) {
    Float value;
    std::memcpy(&value, &bytes[i], sizeof value);
    if (std::isnan(value)) value = std::numeric_limits<Float>::quiet_NaN();
    std::memcpy(&bytes[i], &value, sizeof value);
  }
}

void make_nans_alike(const ir::Program& program, diff::Memory& memory) {
  for (size_t p = 0; p < memory.size(); ++p) {
    if (program.params[p].buffer.element() == ir::Type::f(32)) make_nans_alike<float>(memory[p]);
    if (program.params[p].buffer.element() == ir::Type::f(64)) make_nans_alike<double>(memory[p]);
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

}  // namespace

void expect_agreement(const diff::EmulatedCpu& cpu, const std::vector<ir::Program>& programs, uint64_t rounds,
                      int opt_level) {
  const support::TemporaryFolder folder("tensorwright-emulated");
  const std::vector<diff::Job> jobs = jobs_of(programs, rounds);
  diff::compile_for(Target::parse(cpu.target).value_or_throw(), programs, folder / "kernels.so", opt_level);
  const std::vector<diff::Ran> results = diff::run_emulated(cpu, folder / "kernels.so", jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_EQ(results[i].damage, "") << ir::to_string(programs[i / rounds]) << "round " << i % rounds;
    const ir::Program& program = programs[i / rounds];
    diff::Memory got = results[i].memory, expected = interpreted(program, jobs[i].inputs);
    make_nans_alike(program, got), make_nans_alike(program, expected);
    ASSERT_EQ(got, expected) << ir::to_string(program) << "round " << i % rounds;
  }
}

}  // namespace tw
