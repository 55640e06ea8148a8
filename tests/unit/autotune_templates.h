// Templates and schedules that several tests use.
#pragma once

#include "schedule/machine.h"
#include "tensorwright/autotune.h"

namespace tw::autotune::testing {

inline schedule::Machine machine_of(int threads) {
  return schedule::describe_machine(Target::host(), {.hardware = host_hardware(), .threads = threads});
}

struct Dense {
  te::Tensor A, B, bias, C, D;
};

inline Dense declare_dense(int m, int n, int k) {
  using te::Var;
  Dense d;
  d.A = te::placeholder({m, k}, "float32", "A");
  d.B = te::placeholder({k, n}, "float32", "B");
  d.bias = te::placeholder({n}, "float32", "bias");
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  d.C = te::compute({m, n}, [&](Var i, Var j) { return te::sum(d.A(i, kk) * d.B(kk, j), {kk}); }, "C");
  d.D = te::compute(
      {m, n}, [&](Var i, Var j) { return te::max(d.C(i, j) + d.bias(j), te::constant(0, "float32")); }, "D");
  return d;
}

// C = A @ B + bias in register tiles of rows x columns, the tiles of one block of rows in parallel.
inline schedule::Schedule tiled(int rows, int columns, bool vectorize, bool parallel) {
  namespace S = schedule;
  S::Schedule s({declare_dense(512, 512, 512).D});
  s.apply(S::Split{"D", "i", rows, {}});
  s.apply(S::Split{"D", "j", columns, {}});
  s.apply(S::Reorder{"D", {"i.o", "j.o", "i.i", "j.i"}});
  if (parallel) s.apply(S::Parallel{"D", "i.o"});
  if (vectorize) s.apply(S::Vectorize{"D", "j.i"});
  s.apply(S::ComputeAt{"C", "D", "j.o"});
  s.apply(S::Reorder{"C", {"k", "i", "j"}});
  s.apply(S::Unroll{"C", "i"});
  if (vectorize) s.apply(S::Vectorize{"C", "j"});
  return s;
}

// relu(A @ B + bias) in tiles of tile_i x tile_j.
inline Scheduled dense_template(Config& cfg, int m, int n, int k) {
  namespace S = schedule;
  const Dense d = declare_dense(m, n, k);
  S::Schedule s({d.D});
  cfg.define_split("tile_i", m, {.outputs = 2, .max_factor = 16}, "i");
  cfg.define_split("tile_j", n, {.outputs = 2, .max_factor = 96, .tails = {ir::Tail::kAuto, ir::Tail::kMask}}, "j");
  cfg.define_reorder("order", {"i.o", "j.o"});
  const auto i = cfg.apply_split("tile_i", s, "D", "i"), j = cfg.apply_split("tile_j", s, "D", "j");
  s.apply(S::Reorder{"D", {i[0], j[0], i[1], j[1]}});
  cfg.apply_reorder("order", s, "D", {i[0], j[0]});
  s.apply(S::Vectorize{"D", j[1]});
  s.apply(S::ComputeAt{"C", "D", j[0]});
  s.apply(S::Reorder{"C", {"k", "i", "j"}});
  s.apply(S::Vectorize{"C", "j"});
  cfg.define_annotate("rows", {"i"}, "try_unroll");
  cfg.apply_annotate("rows", s, "C", {"i"});
  return Scheduled{s, {d.A, d.B, d.bias, d.D}};
}

inline Task dense_task(int m, int n, int k) {
  const std::string args = "[" + std::to_string(m) + "," + std::to_string(n) + "," + std::to_string(k) + "]";
  return Task("dense", args, [=](Config& cfg) { return dense_template(cfg, m, n, k); }, Target::host());
}

// What was decided, in its order.
inline std::vector<uint64_t> indices_of(const TuneResult& result) {
  std::vector<uint64_t> indices;
  for (const Trial& t : result.trials) indices.push_back(t.index);
  return indices;
}

}  // namespace tw::autotune::testing
