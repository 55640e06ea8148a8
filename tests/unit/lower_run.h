// Running programs in the interpreter on random inputs, to compare them before and after passes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "src/ir/equal.h"
#include "src/ir/interp.h"
#include "src/ir/simplify.h"
#include "src/ir/verify.h"
#include "src/ir/walk.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// With the index scalars of a program having the value `size`, the others 0.
inline ir::Substitution sizes(const ir::Program& p, int64_t size) {
  ir::Substitution out;
  for (const ir::Var& v : p.scalars)
    if (v.type().is_index()) out[v.id()] = ir::Expr(size);
  return out;
}

inline ir::InterpOptions options(const ir::Program& p, int64_t size) {
  ir::InterpOptions out;
  for (const ir::Var& v : p.scalars) out.scalars.push_back(v.type().is_index() ? static_cast<uint64_t>(size) : 0);
  return out;
}

inline size_t span_of(const ir::Buffer& b, const ir::Substitution& values = {}) {
  size_t elements = 1;
  for (const ir::Expr& e : b.shape())
    elements *= static_cast<size_t>(ir::as_int(ir::simplify(ir::substitute(e, values))).value());
  return elements;
}

// The contents of the written parameters after a run on inputs that `seed` determines.
inline std::vector<std::vector<uint8_t>> run(const ir::Program& p, uint32_t seed, float scale = 4, int64_t size = 37) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> floats(-scale, scale);
  std::vector<std::vector<uint8_t>> data;
  std::vector<ir::InterpBuffer> buffers;
  for (const ir::Param& param : p.params) {
    const ir::Type t = param.outside().element();
    const auto elements = static_cast<int64_t>(span_of(param.outside(), sizes(p, size)));
    std::vector<uint8_t>& bytes = data.emplace_back(static_cast<size_t>(t.bytes_of(elements)));
    for (size_t n = 0; n < bytes.size(); ++n) bytes[n] = static_cast<uint8_t>(t.is_bool() ? random() % 2 : random());
    const auto fill = [&](auto zero) {
      for (size_t n = 0; n * sizeof(zero) < bytes.size(); ++n) {
        const auto value = static_cast<decltype(zero)>(floats(random));
        std::memcpy(bytes.data() + n * sizeof(zero), &value, sizeof(zero));
      }
    };
    if (t == ir::Type::f(32)) fill(float());
    if (t == ir::Type::f(64)) fill(double());
    if (t.is_half())  // small finite values of either sign
      for (size_t n = 0; n + 1 < bytes.size(); n += 2)
        bytes[n + 1] = static_cast<uint8_t>((bytes[n + 1] & 0x81) | 0x3c);
    if (param.written) std::fill(bytes.begin(), bytes.end(), uint8_t{0xa5});
  }
  for (auto& bytes : data) buffers.push_back({bytes.data(), bytes.size()});
  const Status status = ir::interpret(p, buffers, options(p, size));
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().render()) << "\n" << ir::to_string(p);
  std::vector<std::vector<uint8_t>> out;
  for (size_t n = 0; n < p.params.size(); ++n)
    if (p.params[n].written) out.push_back(std::move(data[n]));
  return out;
}

inline void expect_verified(const ir::Program& p) {
  const Status status = ir::verify(p);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().render()) << "\n" << ir::to_string(p);
}

// A program and what it writes, at several sizes if it has any.
class Meaning {
 public:
  Meaning(ir::Program p, uint32_t seed) : program_(std::move(p)), seed_(seed) {
    const std::vector<int64_t> all =
        program_.scalars.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1, 2, 15, 16, 17, 37, 64};
    for (int64_t size : all) written_.emplace_back(size, run(program_, seed, 4, size));
  }

  // Of what a pass made of it, bit for bit. One that is the same program, as after most passes, means the same.
  void expect_kept(const ir::Program& next) {
    expect_verified(next);
    if (ir::equal(program_, next)) return;
    for (const auto& [size, written] : written_)
      EXPECT_TRUE(written == run(next, seed_, 4, size)) << "size " << size << "\n"
                                                        << ir::to_string(program_) << "\n==>\n"
                                                        << ir::to_string(next);
    program_ = next;
  }

 private:
  ir::Program program_;
  uint32_t seed_;
  std::vector<std::pair<int64_t, std::vector<std::vector<uint8_t>>>> written_;
};

inline void expect_same(const ir::Program& before, const ir::Program& after, uint32_t seed) {
  Meaning(before, seed).expect_kept(after);
}

}  // namespace tw::lower
