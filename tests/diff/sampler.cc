#include "tests/diff/sampler.h"

#include <cmath>
#include <cstring>
#include <sstream>

#include "src/ir/interp.h"
#include "tests/diff/random.h"
#include "tests/diff/sample_steps.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

Sample draw(uint64_t seed) {
  Random random(seed);
  Expression expression = random_expression(random);
  Sample sample;
  sample.seed = seed;
  sample.outputs = expression.outputs;
  sample.args = expression.args;
  sample.exact = expression.exact;
  random_steps(random, sample);
  return sample;
}

std::string describe(const Sample& sample) {
  std::ostringstream text;
  text << "seed " << sample.seed << "\n" << ir::to_string(te::naive_program(sample.outputs, sample.args)) << "\n";
  for (const schedule::Step& step : sample.steps) text << schedule::to_string(step) << "\n";
  text << schedule::to_json(sample.steps) << "\n";
  return text.str();
}

namespace {

size_t elements(const te::Tensor& t) {
  size_t n = 1;
  for (const ir::Expr& extent : t.shape()) n *= static_cast<size_t>(*ir::as_int(extent));
  return n;
}

template <class T>
void fill(std::vector<std::byte>& bytes, Random& random) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value = static_cast<T>(std::is_unsigned_v<T> ? random.below(5) : random.below(7) - 3);
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

// f(T{}) for the C++ type of an element.
template <class F>
void with_type(ir::Type type, F f) {
  if (type.is_float()) return type.bits == 64 ? f(double{}) : f(float{});
  switch (type.bits) {
    case 8:
      return type.is_uint() ? f(uint8_t{}) : f(int8_t{});
    case 16:
      return type.is_uint() ? f(uint16_t{}) : f(int16_t{});
    case 32:
      return type.is_uint() ? f(uint32_t{}) : f(int32_t{});
    default:
      return type.is_uint() ? f(uint64_t{}) : f(int64_t{});
  }
}

template <class T>
std::string first_difference(const std::string& name, const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                             bool exact) {
  double largest = 1;  // of the inputs at least: terms may cancel
  auto at = [](const std::vector<std::byte>& bytes, size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  };
  for (size_t i = 0; i < a.size() / sizeof(T); ++i)
    if (std::isfinite(static_cast<double>(at(a, i))))
      largest = std::max(largest, std::fabs(static_cast<double>(at(a, i))));
  double allowed = exact ? 0 : largest * (sizeof(T) == 8 ? 1e-12 : 1e-4);
  for (size_t i = 0; i < a.size() / sizeof(T); ++i) {
    double expected = static_cast<double>(at(a, i)), got = static_cast<double>(at(b, i));
    bool same =
        exact ? at(a, i) == at(b, i)
              : (std::isnan(expected) && std::isnan(got)) || expected == got || std::fabs(expected - got) <= allowed;
    if (same) continue;
    std::ostringstream text;
    text << name << "[" << i << "] is " << got << ", not " << expected;
    return text.str();
  }
  return "";
}

}  // namespace

Memory random_inputs(const Sample& sample) {
  Random random(sample.seed ^ 0xD1FF);
  Memory memory;
  for (const te::Tensor& t : sample.args) {
    std::vector<std::byte> bytes(elements(t) * static_cast<size_t>(t.dtype().bytes()), std::byte{0xA5});
    if (t.op()->is_placeholder()) with_type(t.dtype(), [&]<class T>(T) { fill<T>(bytes, random); });
    memory.push_back(std::move(bytes));
  }
  return memory;
}

std::string difference(const Sample& sample, const Memory& expected, const Memory& got) {
  for (size_t i = 0; i < sample.args.size(); ++i) {
    std::string found;
    with_type(sample.args[i].dtype(), [&]<class T>(T) {
      found = first_difference<T>(sample.args[i].name(), expected[i], got[i], sample.exact);
    });
    if (!found.empty()) return found;
  }
  return "";
}

Result<Memory> interpret(const ir::Program& program, const Memory& inputs) {
  Memory memory = inputs;
  std::vector<ir::InterpBuffer> buffers;
  for (std::vector<std::byte>& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
  TW_TRY([[maybe_unused]] Unit ran, ir::interpret(program, buffers));
  return memory;
}

Sample minimise(const Sample& sample, const std::function<bool(const Sample&)>& fails) {
  Sample smallest = sample;
  for (size_t i = smallest.steps.size(); i-- > 0;) {
    Sample fewer = smallest;
    fewer.steps.erase(fewer.steps.begin() + static_cast<int64_t>(i));
    auto replayed = schedule::Schedule::from_steps(fewer.outputs, fewer.steps);
    if (replayed.ok() && replayed->check().ok() && fails(fewer)) smallest = fewer;
  }
  return smallest;
}

}  // namespace tw::diff
