#include "tests/diff/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "schedule/storage.h"
#include "src/ir/interp.h"
#include "src/ir/interp_value.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "tests/diff/random.h"

namespace tw::diff {

namespace {

using ir::interp::Value;

size_t elements(const Sample& sample, const te::Tensor& t, const std::vector<int64_t>& sizes) {
  size_t n = 1;
  for (const ir::Expr& extent : t.shape()) n *= static_cast<size_t>(evaluate(extent, sample.symbols, sizes));
  return n;
}

bool is_real(ir::Type type) { return type.is_float() || type.is_float8(); }

Value value_of(ir::Type type, double x) {
  Value v{};
  if (!type.is_float())
    v.i = static_cast<int64_t>(x);
  else if (type.bits == 64)
    v.d = x;
  else
    v.f = static_cast<float>(x);
  return v;
}

double number(ir::Type type, Value v) {
  if (type.is_uint() && type.bits == 64) return static_cast<double>(static_cast<uint64_t>(v.i));
  return !is_real(type) ? static_cast<double>(v.i) : type.bits == 64 ? v.d : static_cast<double>(v.f);
}

// How many elements there is room for; the unused half of a last byte of 4-bit integers counts.
size_t room(const std::vector<std::byte>& bytes, ir::Type type) {
  return type.is_packed() ? bytes.size() * 2 : bytes.size() / static_cast<size_t>(type.bytes());
}

void fill(std::vector<std::byte>& bytes, ir::Type type, const Facts& facts, Random& random) {
  const ir::interp::WriteFn write = ir::interp::write_function(type);
  const int64_t steps = static_cast<int64_t>(facts.bound / (facts.grid > 0 ? facts.grid : 1));
  const size_t n = room(bytes, type);
  for (size_t at = 0; at < n; ++at) {
    const int64_t k = type.is_bool()   ? random.below(2)
                      : type.is_uint() ? random.below(steps + 1)
                                       : random.below(2 * steps + 1) - steps;
    write(bytes.data(), static_cast<int64_t>(at),
          value_of(type, static_cast<double>(k) * (type.is_float() ? facts.grid : 1)));
  }
}

void fill_wild(std::vector<std::byte>& bytes, ir::Type type, Random& random) {
  if (type.is_bool()) return fill(bytes, type, {1, 1, 0}, random);
  const size_t width = static_cast<size_t>(type.bytes());
  static constexpr uint64_t kSpecial[] = {0,
                                          0x8000000000000000u,
                                          0x7FF0000000000000u,
                                          0xFFF0000000000000u,
                                          0x7FF8000000000000u,
                                          0x7F80000080000000u,
                                          0xFF80FF807F807F80u,
                                          0x7C00FC007E000001u,
                                          0x7FFFFFFFFFFFFFFFu,
                                          0x0000000100010001u};
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    const uint64_t bits = random.chance(40) ? kSpecial[random.below(std::size(kSpecial))] : random.next();
    std::memcpy(&bytes[at], reinterpret_cast<const char*>(&bits) + (8 - width), width);
  }
}

template <class Fill>
Memory filled(const Sample& sample, const std::vector<int64_t>& sizes, Fill fill) {
  Memory memory;
  for (size_t i = 0; i < sample.args.size(); ++i) {
    const te::Tensor& t = sample.args[i];
    const auto count = static_cast<int64_t>(elements(sample, t, sizes));
    std::vector<std::byte> bytes(static_cast<size_t>(t.dtype().bytes_of(count)), std::byte{0xA5});
    if (t.op()->is_placeholder()) fill(bytes, i);
    memory.push_back(std::move(bytes));
  }
  return memory;
}

// `same(a, b)` judges two elements.
template <class Same>
std::string first_difference(const Sample& sample, const Memory& expected, const Memory& got, Same same) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    const ir::Type type = sample.args[i].dtype();
    const ir::interp::ReadFn read = ir::interp::read_function(type);
    const size_t n = room(expected[i], type);
    for (size_t at = 0; at < n; ++at) {
      const Value a = read(expected[i].data(), static_cast<int64_t>(at)),
                  b = read(got[i].data(), static_cast<int64_t>(at));
      if (same(type, a, b, i)) continue;
      std::ostringstream text;
      text.precision(17);
      text << sample.args[i].name() << "[" << at << "] is " << number(type, b) << ", not " << number(type, a);
      return text.str();
    }
  }
  return "";
}

}  // namespace

int64_t evaluate(const ir::Expr& extent, const std::vector<ir::Var>& symbols, const std::vector<int64_t>& sizes) {
  if (const auto known = ir::as_int(extent)) return *known;
  ir::Substitution numbers;
  for (size_t i = 0; i < symbols.size(); ++i) numbers[symbols[i].id()] = ir::Expr(sizes[i]);
  const auto value = ir::as_int(ir::simplify(ir::substitute(extent, numbers)));
  TW_CHECK(value, "an extent over unknown symbols: " + ir::to_string(extent));
  return *value;
}

std::vector<uint64_t> scalar_values(const Sample& sample, const std::vector<ir::Var>& scalars,
                                    const std::vector<int64_t>& sizes) {
  std::vector<uint64_t> values;
  for (const ir::Var& var : scalars) {
    double value = 0;
    for (size_t i = 0; i < sample.scalars.size(); ++i)
      if (sample.scalars[i].var == var) value = sample.values[i];
    for (size_t i = 0; i < sample.symbols.size(); ++i)
      if (sample.symbols[i] == var) value = static_cast<double>(sizes[i]);
    values.push_back(0);
    const ir::Type held = var.type().is_index() ? ir::Type::i(64) : var.type();
    ir::interp::write_function(held)(&values.back(), 0, value_of(held, value));
  }
  return values;
}

Memory random_inputs(const Sample& sample, const std::vector<int64_t>& sizes) {
  return filled(sample, sizes, [&](std::vector<std::byte>& bytes, size_t i) {
    Random random(sample.recipe.seed * 64 + i);
    fill(bytes, sample.args[i].dtype(), sample.facts[i], random);
  });
}

Memory wild_inputs(const Sample& sample, const std::vector<int64_t>& sizes) {
  Random random(sample.recipe.seed ^ 0x31D);
  return filled(sample, sizes,
                [&](std::vector<std::byte>& bytes, size_t i) { fill_wild(bytes, sample.args[i].dtype(), random); });
}

Memory rough_inputs(const Sample& sample, Memory inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Type type = sample.args[i].dtype();
    if (!type.is_float() || !sample.args[i].op()->is_placeholder()) continue;
    std::byte* data = inputs[i].data();
    for (int64_t n = 0; n < static_cast<int64_t>(room(inputs[i], type)); ++n) {
      const double value = number(type, ir::interp::read_function(type)(data, n));
      ir::interp::write_function(type)(data, n, value_of(type, ir::round_to(type, value * 0.9)));
    }
  }
  return inputs;
}

std::string difference(const Sample& sample, const Memory& expected, const Memory& got) {
  return first_difference(sample, expected, got, [&](ir::Type type, Value a, Value b, size_t i) {
    if (!is_real(type)) return a.i == b.i;
    const double x = number(type, a), y = number(type, b);
    return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= sample.facts[i].error;
  });
}

std::string bit_difference(const Sample& sample, const Memory& expected, const Memory& got) {
  return first_difference(sample, expected, got, [&](ir::Type type, Value a, Value b, size_t) {
    if (!is_real(type)) return a.i == b.i;
    const double x = number(type, a), y = number(type, b);
    return (x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y));
  });
}

Result<Memory> interpret(const ir::Program& program, const Memory& inputs, const ir::InterpOptions& options) {
  Memory memory = inputs;
  std::vector<ir::InterpBuffer> buffers;
  for (std::vector<std::byte>& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
  TW_TRY([[maybe_unused]] Unit ran, ir::interpret(program, buffers, options));
  return memory;
}

bool takes(const Sample& sample, const std::vector<schedule::PositiveSize>& positive,
           const std::vector<int64_t>& sizes) {
  std::map<std::string, int64_t> values;  // by name, which is how Steps have them
  for (size_t i = 0; i < sample.scalars.size(); ++i)
    values[sample.scalars[i].var.name()] = static_cast<int64_t>(sample.values[i]);
  for (size_t i = 0; i < sizes.size(); ++i) values[sample.symbols[i].name()] = sizes[i];
  return std::ranges::all_of(positive, [&](const schedule::PositiveSize& each) {
    const ir::Expr value = ir::simplify(ir::rewrite(each.size, [&](const ir::Expr& e) {
      const auto* v = ir::as<ir::VarRef>(e);
      return v ? ir::Expr(values.at(v->var.name())) : e;
    }));
    return ir::as_int(value).value() > 0;
  });
}

bool refuses_sizes(const Diagnostic& d) { return d.what.find("requires ") != std::string::npos; }

std::string not_refused(const Result<Memory>& got) {
  if (!got.ok() && refuses_sizes(got.error())) return "";
  return "sizes that the definition refuses were run" + (got.ok() ? "" : ": " + got.error().render());
}

ir::InterpOptions contract(const schedule::LoopNest& nest) {
  return {.check_one_value = true, .changing = schedule::changing_buffers(nest)};
}

}  // namespace tw::diff
