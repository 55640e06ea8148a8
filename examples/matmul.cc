// Matrix multiplication in C++: declare, schedule, run, tune, build from the log, and run again.
//
//   matmul [M N K TRIALS]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "tensorwright/autotune.h"

namespace te = tw::te;
namespace S = tw::schedule;
using tw::autotune::Config;
using tw::autotune::Scheduled;

namespace {

struct Shape {
  int m, n, k;
};

struct Matmul {
  te::Tensor A, B, C;
};

Matmul declare(Shape shape) {
  const te::Tensor A = te::placeholder({shape.m, shape.k}, "float32", "A");
  const te::Tensor B = te::placeholder({shape.k, shape.n}, "float32", "B");
  const te::IterVar k = te::reduce_axis(0, shape.k, "k");
  const te::Tensor C =
      te::compute({shape.m, shape.n}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * B(k, j), {k}); }, "C");
  return {A, B, C};
}

// Tiles of 6 x 32, kept in registers over the whole of k.
Scheduled by_hand(Shape shape) {
  const Matmul op = declare(shape);
  S::Schedule s({op.C});
  s.apply(S::Split{"C", "i", 6, {}});
  s.apply(S::Split{"C", "j", 32, {}});
  s.apply(S::Reorder{"C", {"i.o", "j.o", "k", "i.i", "j.i"}});
  s.apply(S::Parallel{"C", "i.o"});
  s.apply(S::Unroll{"C", "i.i"});
  s.apply(S::Vectorize{"C", "j.i"});
  return {s, {op.A, op.B, op.C}};
}

// The same with the tile left open.
Scheduled tunable(Config& cfg, Shape shape) {
  const Matmul op = declare(shape);
  S::Schedule s({op.C});
  cfg.define_split("rows", shape.m, {.outputs = 2, .max_factor = 14});
  cfg.define_split("columns", shape.n, {.outputs = 2, .max_factor = 96});
  const auto i = cfg.apply_split("rows", s, "C", "i"), j = cfg.apply_split("columns", s, "C", "j");
  s.apply(S::Reorder{"C", {i[0], j[0], "k", i[1], j[1]}});
  s.apply(S::Parallel{"C", i[0]});
  s.apply(S::Unroll{"C", i[1]});
  s.apply(S::Vectorize{"C", j[1]});
  return {s, {op.A, op.B, op.C}};
}

std::vector<float> random_values(size_t count) {
  std::mt19937 engine(7);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(engine() % 2001) / 1000 - 1;
  return values;
}

// Runs the kernel, compares some elements with a sum in double, and returns the median seconds of a call.
double check_and_time(const tw::runtime::Kernel& kernel, Shape shape) {
  const auto m = static_cast<size_t>(shape.m), n = static_cast<size_t>(shape.n), k = static_cast<size_t>(shape.k);
  std::vector<float> a = random_values(m * k), b = random_values(k * n), c(m * n);
  const tw::ir::Type f32 = tw::ir::Type::f(32);
  const std::vector<tw::runtime::ArrayView> arrays = {{a.data(), f32, {shape.m, shape.k}, {}},
                                                      {b.data(), f32, {shape.k, shape.n}, {}},
                                                      {c.data(), f32, {shape.m, shape.n}, {}}};
  tw::runtime::call(kernel, arrays);
  for (size_t e = 0; e < c.size(); e += 1 + c.size() / 97) {
    double sum = 0;
    for (size_t x = 0; x < k; ++x) sum += static_cast<double>(a[e / n * k + x]) * b[x * n + e % n];
    if (std::fabs(sum - c[e]) > 1e-4 * static_cast<double>(k)) {
      std::printf("C[%zu, %zu] should be %g and is %g\n", e / n, e % n, sum, c[e]);
      std::exit(1);
    }
  }
  return tw::runtime::time(kernel, arrays).median;
}

void report(const char* what, double seconds, Shape shape) {
  const double work = 2.0 * shape.m * shape.n * shape.k;
  std::printf("%-12s %8.3f ms %8.1f GFLOP/s\n", what, seconds * 1e3, work / seconds / 1e9);
}

void run(Shape shape, int trials) {
  const tw::Target target = tw::Target::host();
  const Scheduled hand = by_hand(shape);
  std::printf("%s\n", to_string(hand.schedule).c_str());
  const auto built = tw::build(hand.schedule, hand.args, target, "matmul");
  report("by hand", check_and_time(*built->kernel(), shape), shape);

  const std::string log = (std::filesystem::temp_directory_path() / "tensorwright_matmul.jsonl").string();
  std::filesystem::remove(log);
  const std::string args =
      "[" + std::to_string(shape.m) + "," + std::to_string(shape.n) + "," + std::to_string(shape.k) + "]";
  const tw::autotune::Task task("matmul", args, [=](Config& cfg) { return tunable(cfg, shape); }, target);
  tw::autotune::TuneOptions options{.trials = trials, .log = log};
  options.on_trial = tw::autotune::print_progress;
  const tw::autotune::TuneResult result = tw::autotune::tune(task, options);
  std::printf("\nbest of %zu: %s\n", result.trials.size(), result.best->knobs.c_str());

  const auto tuned = tw::autotune::build(task, log);
  report("tuned", check_and_time(*tuned->kernel(), shape), shape);
  std::filesystem::remove(log);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  try {
    run({number(1, 257), number(2, 513), number(3, 1025)}, number(4, 48));
  } catch (const tw::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
