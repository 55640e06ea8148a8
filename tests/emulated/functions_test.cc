// The functions of docs/math.md on every AArch64 CPU that is emulated, in vectors of its length: the bits that the
// interpreter gives, and the promised ulps.
#include "tests/unit/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "src/ir/interp.h"
#include "src/support/temporary_folder.h"
#include "tensorwright/build.h"
#include "tests/diff/emulated.h"

namespace tw::lower {
namespace {

constexpr int64_t kInputs = 512;  // of a function; a 16th of them special

template <class Float>
std::vector<Float> spread(const Function& fn) {
  using Limits = std::numeric_limits<Float>;
  const Float special[] = {0,
                           Float(-0.0),
                           1,
                           -1,
                           Float(0.5),
                           2,
                           Limits::infinity(),
                           -Limits::infinity(),
                           -3,
                           20,
                           3,
                           Float(-0.5),
                           Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           Limits::min(),
                           Limits::max()};
  std::vector<Float> x;
  for (uint64_t n = 0; n < uint64_t{kInputs}; ++n)
    x.push_back(n % 16 == 0 ? special[n / 16 % std::size(special)]
                            : input(fn, sizeof(Float) == 4 ? mixed(n) >> (fn.of_two ? 36 : 32) : n, Float{}));
  return x;
}

template <class Float>
struct Case {
  const Function& fn;
  std::vector<Float> x, y;
  ir::Program lowered;

  Case(const Function& f, const Target& target) : fn(f), x(spread<Float>(f)) {
    for (size_t n = 0; n < size_t{kInputs}; ++n)
      y.push_back(n % 7 == 0 ? x[(n * 16) % size_t{kInputs}]
                             : static_cast<Float>(second(fn, x[n], n, sizeof(Float) == 4)));
    const char* dtype = sizeof(Float) == 4 ? "float32" : "float64";
    const te::Tensor X = te::placeholder({kInputs}, dtype, "X"), Y = te::placeholder({kInputs}, dtype, "Y");
    const te::Tensor Z = te::compute({kInputs}, [&](ir::Var i) { return fn.apply(X(i), Y(i)); }, "Z");
    schedule::Schedule s({Z});
    schedule::Split split;
    split.stage = "Z", split.axis = "i", split.factor = target.lanes(8 * sizeof(Float));
    s.apply(split);
    s.apply(schedule::Vectorize{"Z", "i.i"});
    lowered = lowered_program(s, fn.of_two ? std::vector{X, Y, Z} : std::vector{X, Z}, target, "f", {});
  }

  diff::Memory memory() const {
    const auto bytes = [](const std::vector<Float>& values) {
      const auto* data = reinterpret_cast<const std::byte*>(values.data());
      return std::vector<std::byte>(data, data + values.size() * sizeof(Float));
    };
    const std::vector<Float> z(kInputs, Float(7));
    return fn.of_two ? diff::Memory{bytes(x), bytes(y), bytes(z)} : diff::Memory{bytes(x), bytes(z)};
  }
};

template <class Float>
std::vector<Float> last_of(const diff::Memory& memory) {
  std::vector<Float> values(kInputs);
  std::memcpy(values.data(), memory.back().data(), memory.back().size());
  return values;
}

template <class Float>
void judge(const Case<Float>& c, const diff::Ran& ran) {
  using Wide = std::conditional_t<sizeof(Float) == 4, double, long double>;
  ASSERT_EQ(ran.damage, "");
  diff::Memory memory = c.memory();
  std::vector<ir::InterpBuffer> buffers;
  for (auto& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
  ASSERT_TRUE(ir::interpret(c.lowered, buffers).ok());
  const std::vector<Float> expected = last_of<Float>(memory), got = last_of<Float>(ran.memory);
  for (size_t n = 0; n < size_t{kInputs}; ++n) {
    const bool same = std::memcmp(&got[n], &expected[n], sizeof(Float)) == 0;
    ASSERT_TRUE(same || (std::isnan(got[n]) && std::isnan(expected[n])))
        << c.x[n] << ", " << c.y[n] << ": " << got[n] << ", interpreted " << expected[n];
    ASSERT_LE(ulps(got[n], c.fn.value(static_cast<Wide>(c.x[n]), static_cast<Wide>(c.y[n]))), 4)
        << c.x[n] << ", " << c.y[n] << ": " << got[n];
  }
}

template <class Float>
void all_functions_on(const diff::EmulatedCpu& cpu) {
  const Target target = Target::parse(cpu.target).value_or_throw();
  std::vector<Case<Float>> cases;
  for (const Function& fn : functions()) cases.emplace_back(fn, target);
  std::vector<ir::Program> programs;
  std::vector<diff::Job> jobs;
  for (const Case<Float>& c : cases) {
    std::vector<diff::Argument> arguments = {{"X", true}, {"Z", false}};
    if (c.fn.of_two) arguments.insert(arguments.begin() + 1, {"Y", true});
    jobs.push_back({"k" + std::to_string(programs.size()), arguments, c.memory(), {}});
    programs.push_back(c.lowered);
  }
  const support::TemporaryFolder folder("tensorwright-functions");
  diff::compile_for(target, programs, folder / "functions.so");
  const std::vector<diff::Ran> results = diff::run_emulated(cpu, folder / "functions.so", std::move(jobs));
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].fn.name);
    judge(cases[i], results[i]);
  }
}

}  // namespace
}  // namespace tw::lower

namespace tw::diff {
static void PrintTo(const EmulatedCpu& cpu, std::ostream* out) { *out << cpu.name; }
}  // namespace tw::diff

namespace tw::lower {
namespace {

class EmulatedFunctions : public testing::TestWithParam<diff::EmulatedCpu> {};

TEST_P(EmulatedFunctions, KeepTheirPromise) {
  if (const std::string why = diff::no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  all_functions_on<float>(GetParam());
  all_functions_on<double>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(AArch64, EmulatedFunctions, testing::ValuesIn(diff::emulated_cpus()),
                         [](const testing::TestParamInfo<diff::EmulatedCpu>& info) {
                           std::string name = info.param.name;
                           std::ranges::replace_if(name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tw::lower
