// Runs one lowered program in the interpreter and as compiled code, and compares what they wrote.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "tensorwright/build.h"

namespace tw {

using Bytes = std::vector<unsigned char>;

inline Target native() { return Target::host(); }
inline Target parse_target(std::string_view text) { return Target::parse(text).value_or_throw(); }
inline ir::Program parse(std::string_view text) { return ir::parse_program(text).value_or_throw(); }

inline std::vector<Bytes> run_compiled(const ir::Program& program, std::vector<Bytes> data, const Target& target,
                                       int opt_level) {
  const auto module = build(program, target, opt_level);
  std::vector<void*> pointers;
  for (Bytes& bytes : data) pointers.push_back(bytes.data());
  EXPECT_EQ(module->kernel()->run(pointers.data()), 0);
  return data;
}

inline std::vector<Bytes> run_interpreted(const ir::Program& program, std::vector<Bytes> data) {
  std::vector<ir::InterpBuffer> buffers;
  for (Bytes& bytes : data) buffers.push_back({bytes.data(), bytes.size()});
  const Status status = ir::interpret(program, buffers);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().render()) << to_string(program);
  return data;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// 1, 2, ...
inline std::vector<float> counting(int n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Equal bit for bit, but any NaN equals any other.
template <class T>
bool same_floats(const Bytes& a, const Bytes& b) {
  const std::vector<T> x = values_of<T>(a), y = values_of<T>(b);
  for (size_t i = 0; i < x.size(); ++i)
    if (std::memcmp(&x[i], &y[i], sizeof(T)) != 0 && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  return x.size() == y.size();
}
inline bool same_values(ir::Type type, const Bytes& a, const Bytes& b) {
  if (type.is_float() && type.bits == 32) return same_floats<float>(a, b);
  if (type.is_float() && type.bits == 64) return same_floats<double>(a, b);
  return a == b;
}

// The interpreter, LLVM without and LLVM with optimisation agree on every parameter.
inline void expect_all_agree(const ir::Program& program, const std::vector<Bytes>& data,
                             const Target& target = native()) {
  const std::vector<Bytes> expected = run_interpreted(program, data);
  for (int opt_level : {0, 3}) {
    const std::vector<Bytes> got = run_compiled(program, data, target, opt_level);
    for (size_t i = 0; i < data.size(); ++i)
      EXPECT_TRUE(same_values(program.params[i].buffer.element(), expected[i], got[i]))
          << "parameter " << program.params[i].buffer.name() << " at O" << opt_level << " for " << target.to_string()
          << "\n"
          << to_string(program);
  }
}

}  // namespace tw
