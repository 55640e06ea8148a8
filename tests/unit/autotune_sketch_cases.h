// Tensor expressions without schedules, and whether candidates of their automatic spaces compute the same.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>

#include "src/lower/pipeline.h"
#include "src/support/rng.h"
#include "tensorwright/autotune.h"
#include "tests/unit/run_program.h"

namespace tw::autotune::testing {

using te::Expr;
using te::Tensor;
using te::Var;
using Args = std::vector<Tensor>;

inline Expr zero(const char* dtype = "float32") { return te::constant(0, dtype); }

// A[m, k] @ B[k, n]; `transposed`: B[n, k].
inline Args matmul(int m, int n, int k, bool transposed = false, bool param = false) {
  const Tensor A = te::placeholder({m, k}, "float32", "A");
  const std::vector<Expr> shape = transposed ? std::vector<Expr>{n, k} : std::vector<Expr>{k, n};
  const Tensor B = te::placeholder(shape, "float32", "B", te::Placeholder{.param = param});
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  const Tensor C = te::compute(
      {m, n}, [&](Var i, Var j) { return te::sum(A(i, kk) * (transposed ? B(j, kk) : B(kk, j)), {kk}); }, "C");
  return {A, B, C};
}

// relu(A @ B + bias + residual)
inline Args dense(int m, int n, int k) {
  Args args = matmul(m, n, k);
  const Tensor bias = te::placeholder({n}, "float32", "bias"), R = te::placeholder({m, n}, "float32", "R"),
               C = args.back();
  const Tensor D = te::compute({m, n}, [&](Var i, Var j) { return te::max(C(i, j) + bias(j) + R(i, j), zero()); }, "D");
  return {args[0], args[1], bias, R, D};
}

inline Args batch_matmul(int b, int m, int n, int k) {
  const Tensor A = te::placeholder({b, m, k}, "float32", "A"), B = te::placeholder({b, k, n}, "float32", "B");
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  const Tensor C =
      te::compute({b, m, n}, [&](Var p, Var i, Var j) { return te::sum(A(p, i, kk) * B(p, kk, j), {kk}); }, "C");
  return {A, B, C};
}

struct Convolution {
  int size, in, out, kernel, stride = 1, pad = 0, batch = 1;
  bool bias = false;
};

// NHWC data, weights [kernel, kernel, in, out].
inline Args convolution(const Convolution& c) {
  const Tensor X = te::placeholder({c.batch, c.size, c.size, c.in}, "float32", "X"),
               W = te::placeholder({c.kernel, c.kernel, c.in, c.out}, "float32", "W", te::Placeholder{.param = true}),
               bias = te::placeholder({c.out}, "float32", "bias");
  const int out = (c.size + 2 * c.pad - c.kernel) / c.stride + 1, wide = c.size + 2 * c.pad;
  Tensor P = X;
  if (c.pad > 0)
    P = te::compute(
        {c.batch, wide, wide, c.in},
        [&](Var n, Var y, Var x, Var q) {
          const Expr dy = Expr(y) - Expr(c.pad), dx = Expr(x) - Expr(c.pad);
          return te::if_then_else(te::all({Expr(y) >= Expr(c.pad), Expr(y) < Expr(c.pad + c.size),
                                           Expr(x) >= Expr(c.pad), Expr(x) < Expr(c.pad + c.size)}),
                                  X(Expr(n), dy, dx, Expr(q)), zero());
        },
        "P");
  const te::IterVar ry = te::reduce_axis(0, c.kernel, "ry"), rx = te::reduce_axis(0, c.kernel, "rx"),
                    rc = te::reduce_axis(0, c.in, "rc");
  const Tensor C = te::compute(
      {c.batch, out, out, c.out},
      [&](Var n, Var y, Var x, Var o) {
        return te::sum(P(Expr(n), Expr(y) * Expr(c.stride) + ry, Expr(x) * Expr(c.stride) + rx, Expr(rc)) *
                           W(Expr(ry), Expr(rx), Expr(rc), Expr(o)),
                       {ry, rx, rc});
      },
      "C");
  if (!c.bias) return {X, W, C};
  const Tensor D = te::compute(
      {c.batch, out, out, c.out}, [&](Var n, Var y, Var x, Var o) { return te::max(C(n, y, x, o) + bias(o), zero()); },
      "D");
  return {X, W, bias, D};
}

// Two operands of a narrow type, sums of a wide one; W is packed ahead where it is a `param`.
inline Args narrow(int m, int n, int k, const char* left, const char* right, const char* wide, bool param = true) {
  const Tensor A = te::placeholder({m, k}, left, "A"),
               W = te::placeholder({k, n}, right, "W", te::Placeholder{.param = param});
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  const Tensor C = te::compute(
      {m, n}, [&](Var i, Var j) { return te::sum(te::astype(A(i, kk), wide) * te::astype(W(kk, j), wide), {kk}); },
      "C");
  return {A, W, C};
}

inline Task task_of(const Args& args, const Target& target = Target::host()) { return Task(args, target); }

// Small integers, of which every sum is exact in any order.
inline Bytes small_integers(const ir::Buffer& buffer, uint64_t seed) {
  std::mt19937_64 random(seed);
  int64_t count = 1;
  for (const ir::Expr& extent : buffer.shape()) count *= *ir::as_int(extent);
  const ir::Type type = buffer.element();
  Bytes bytes(static_cast<size_t>(count * type.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(static_cast<int>(random() % 7) - (type.code == ir::TypeCode::kUInt ? 0 : 3));
    uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    uint64_t out =
        type.is_float() ? (type.bits == 32 ? bits : bits >> 16) : static_cast<uint64_t>(static_cast<int>(value));
    std::memcpy(bytes.data() + i * type.bytes(), &out, static_cast<size_t>(type.bytes()));
  }
  return bytes;
}

// Inputs as the kernel takes them: those that the schedule packs ahead are packed by its own programs.
inline std::vector<Bytes> packed_inputs(const Scheduled& s, const ir::Program& lowered, std::vector<Bytes> data) {
  for (const ir::Program& packer : pack_programs(s.schedule, s.args, Target::host(), lowered))
    for (size_t i = 0; i < lowered.params.size(); ++i) {
      if (packer.name != lowered.name + "_pack_" + lowered.params[i].buffer.name()) continue;
      const Bytes packed = small_integers(lowered.params[i].buffer, 0);
      data[i] = run_compiled(packer, {data[i], packed}, native(), 1)[1];
    }
  return data;
}

struct Sampled {
  int right = 0, refused = 0;
  std::vector<std::string> wrong, refusals;
};

// TW_SAMPLES, of the differential test's 2,000, asks for a part of the candidates: builds with sanitizers are slow.
// The system's compiler of C takes seconds for one of them.
inline int fewer(int count) {
  constexpr int kFewOfC = 3;
  if (Target::host().kind == "c") count = std::min(count, kFewOfC);
  const char* text = std::getenv("TW_SAMPLES");
  return text ? std::max(1, static_cast<int>(count * std::min(1.0, std::atof(text) / 2000))) : count;
}

// Builds and runs `count` random candidates of a target's space, here; the first is that of the mildest values.
inline Sampled sample(const Args& args, int count, uint64_t seed = 1, const Target& target = Target::host()) {
  count = fewer(count);
  const Task task = task_of(args, target);
  const ir::Program naive = te::naive_program(task.outputs(), args);
  std::vector<Bytes> data;
  for (size_t i = 0; i < naive.params.size(); ++i) data.push_back(small_integers(naive.params[i].buffer, seed + i));
  const std::vector<Bytes> expected = run_interpreted(naive, data);
  support::Rng rng(seed);
  Sampled out;
  for (int n = 0; n < count; ++n) {
    const uint64_t index = n == 0 ? 0 : rng.below(task.space().size());
    const Result<Scheduled> s = task.candidate(index);
    if (!s) {
      ++out.refused;
      out.refusals.push_back(s.error().what);
      continue;
    }
    const ir::Program lowered = lowered_program(s->schedule, s->args, Target::host());
    const std::vector<Bytes> got = run_compiled(lowered, packed_inputs(*s, lowered, data), native(), 1);
    bool same = true;
    for (size_t i = 0; i < got.size(); ++i)
      same = same && (!naive.params[i].written || same_values(naive.params[i].buffer.element(), expected[i], got[i]));
    if (same)
      ++out.right;
    else
      out.wrong.push_back(task.space().describe(index));
  }
  return out;
}

}  // namespace tw::autotune::testing
