// What looks at arguments on a device says what the host would: its programs, run by the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "autotune/measure/check_programs.h"
#include "src/ir/interp.h"
#include "src/lower/sync_check.h"
#include "src/runtime/compare.h"
#include "src/runtime/device_checks.h"
#include "tests/unit/device.h"

namespace tw::autotune {
namespace {

using runtime::ArgSpec;

ArgSpec arg(ir::Type type, int64_t elements, bool written) {
  return {.name = "x", .dtype = type, .shape = {elements}, .strides = {}, .written = written};
}

ir::Program program_of(const ArgSpec& spec) {
  const std::vector<ir::Program> programs = check_programs({spec}, test::device());
  EXPECT_EQ(programs.size(), 1u);
  EXPECT_TRUE(lower::sync_check(programs.at(0)).empty());
  return programs.at(0);
}

void run(const ir::Program& program, std::vector<ir::InterpBuffer> buffers) {
  const Status ran = ir::interpret(program, buffers);
  EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().render());
}

template <class T>
int64_t differing(const ir::Program& program, const std::vector<T>& got, const std::vector<T>& expected, double rtol,
                  double atol) {
  double tolerances[] = {rtol, atol};
  std::vector<int32_t> wrong(runtime::kCheckParts, -1);
  run(program, {{const_cast<T*>(got.data()), got.size() * sizeof(T)},
                {const_cast<T*>(expected.data()), expected.size() * sizeof(T)},
                {tolerances, sizeof tolerances},
                {wrong.data(), wrong.size() * sizeof(int32_t)}});
  int64_t count = 0;
  for (const int32_t part : wrong) count += part;
  return count;
}

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(CheckPrograms, FloatsAreComparedByTheHostsRule) {
  const auto elements = static_cast<int64_t>(runtime::kLeastChecked / 4) + 3;
  const ArgSpec spec = arg(ir::Type::f(32), elements, true);
  const ir::Program program = program_of(spec);
  std::vector<float> expected(static_cast<size_t>(elements)), got;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<float>(i % 1000) - 500;
  expected[1] = static_cast<float>(kInf), expected[2] = static_cast<float>(-kInf);
  got = expected;
  EXPECT_EQ(differing(program, got, expected, 0, 0), 0);
  got[700] += 0.25F;  // within atol
  got[900] += 0.5F;   // of 400, within rtol
  EXPECT_EQ(differing(program, got, expected, 1e-3, 0.3), 0);
  EXPECT_EQ(runtime::difference(spec, got.data(), expected.data(), 1e-3, 0.3), "");
  got[0] += 1, got.back() += 9, got[1] = 7, got[2] = static_cast<float>(kInf), got[3] = NAN;
  EXPECT_EQ(differing(program, got, expected, 1e-3, 0.3), 5);
  EXPECT_NE(runtime::difference(spec, got.data(), expected.data(), 1e-3, 0.3).find("; 5 of"), std::string::npos);
}

TEST(CheckPrograms, WhatIsNearlyTooFarIsLeftToTheHost) {
  const auto elements = static_cast<int64_t>(runtime::kLeastChecked / 8);
  const ArgSpec spec = arg(ir::Type::f(64), elements, true);
  std::vector<double> expected(static_cast<size_t>(elements), 3), got(expected);
  got[5] = 3.3;  // at the tolerance, give or take a last bit
  got[6] = 3.299;
  EXPECT_EQ(differing(program_of(spec), got, expected, 0.1, 0), 1);
}

TEST(CheckPrograms, IntegersAreExact) {
  const auto elements = static_cast<int64_t>(runtime::kLeastChecked / 4);
  const ir::Program program = program_of(arg(ir::Type::i(32), elements, true));
  std::vector<int32_t> expected(static_cast<size_t>(elements), 1 << 30), got(expected);
  EXPECT_EQ(differing(program, got, expected, 1, 1), 0);
  got[100] ^= 1, got[40000] = 0;
  EXPECT_EQ(differing(program, got, expected, 1, 1), 2);
}

TEST(CheckPrograms, HalvesAreRead) {
  const auto elements = static_cast<int64_t>(runtime::kLeastChecked / 2);
  const ir::Program program = program_of(arg(ir::Type::bf16(), elements, true));
  std::vector<uint16_t> expected(static_cast<size_t>(elements), 0x3F80), got(expected);  // 1
  got[9] = 0x3F81;                                                                       // 1 + 2^-7
  EXPECT_EQ(differing(program, got, expected, 0.01, 0), 0);
  EXPECT_EQ(differing(program, got, expected, 0.001, 0), 1);
}

TEST(CheckPrograms, ADigestDependsOnEachByteAndItsPlace) {
  for (const size_t more : {0, 3}) {
    const size_t bytes = runtime::kLeastChecked + more;
    const ir::Program program = program_of(arg(ir::Type::u(8), static_cast<int64_t>(bytes), false));
    std::vector<uint8_t> values(bytes);
    for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<uint8_t>(i * 7 % 251);
    const auto digests = [&] {
      std::vector<uint64_t> parts(runtime::kCheckParts);
      run(program, {{values.data(), bytes}, {parts.data(), parts.size() * sizeof(uint64_t)}});
      return parts;
    };
    const std::vector<uint64_t> before = digests();
    values.back() ^= 1;
    EXPECT_NE(digests(), before);
    values.back() ^= 1;
    std::swap(values[0], values[4 * runtime::kCheckParts]);  // of one part, where there are words
    EXPECT_NE(digests(), before);
    std::swap(values[0], values[4 * runtime::kCheckParts]);
    EXPECT_EQ(digests(), before);
  }
}

TEST(CheckPrograms, ThereAreNoneOfWhatIsSmallOrStridedOrOfACpu) {
  const auto large = static_cast<int64_t>(runtime::kLeastChecked);
  ArgSpec strided = arg(ir::Type::f(32), large, true);
  strided.strides = {2};
  const std::vector<ArgSpec> args = {arg(ir::Type::f(32), 100, true), strided, arg(ir::Type::i(4), 4 * large, true),
                                     arg(ir::Type::f(32), large, false)};
  const std::vector<ir::Program> programs = check_programs(args, test::device());
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].name, "tw_check_3");
  EXPECT_TRUE(check_programs(args, Target::parse("llvm").value_or_throw()).empty());
}

}  // namespace
}  // namespace tw::autotune
