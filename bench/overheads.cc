// What stands around a kernel, in C++: a Step, lowering and features of the matmul of bench/matmul.py, and a parallel
// region with nothing in it. Run by overheads.py.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "autotune/model/features.h"
#include "src/lower/pipeline.h"
#include "src/runtime/thread_pool.h"
#include "tensorwright/build.h"

namespace {

using namespace tw;
using namespace tw::schedule;

struct Matmul {
  te::Tensor A, B, C;
};

Matmul matmul() {
  const te::Tensor a = te::placeholder({1024, 1024}, "float32", "A"), b = te::placeholder({1024, 1024}, "float32", "B");
  const te::IterVar k = te::reduce_axis(0, 1024, "k");
  const te::Tensor c =
      te::compute({1024, 1024}, [&](te::Var i, te::Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  return {a, b, c};
}

std::vector<Step> steps() {
  return {CacheRead{"B", Scope::kGlobal, {"C"}},
          Split{"C", "j", 64, {}},
          Split{"C", "i", 6, {}},
          Reorder{"C", {"j.o", "i.o", "k", "i.i", "j.i"}},
          Parallel{"C", "j.o"},
          Unroll{"C", "i.i"},
          Vectorize{"C", "j.i"},
          ComputeAt{"B.global", "C", "j.o"},
          Split{"B.global", "ax1", 64, {}},
          Vectorize{"B.global", "ax1.i"}};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class F>
double microseconds(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

template <class F>
double median_microseconds(int rounds, F&& f) {
  std::vector<double> took;
  for (int round = 0; round < rounds; ++round) took.push_back(microseconds(f));
  return median(took);
}

void time_steps() {
  std::map<std::string, std::vector<double>> of_kind;
  std::vector<double> all;
  for (int round = 0; round < 501; ++round) {
    Schedule s({matmul().C});
    for (Step step : steps()) {
      const std::string name = std::visit([](const auto& kind) { return kind.kName; }, step.kind);
      all.push_back(microseconds([&] { s.apply(std::move(step)); }));
      of_kind[name].push_back(all.back());
    }
  }
  std::printf("a Step: %.2f us, median of all (", median(all));
  for (const auto& [name, times] : of_kind) std::printf(" %s %.2f", name.c_str(), median(times));
  std::printf(" )\n");
}

void time_lowering() {
  const Matmul op = matmul();
  const Schedule s = Schedule::from_steps({op.C}, steps()).value_or_throw();
  const Target target = Target::host();
  const ir::Program loops = loop_program(s, {op.A, op.B, op.C});
  const double derived = median_microseconds(101, [&] { (void)loop_program(s, {op.A, op.B, op.C}); });
  const double passes =
      median_microseconds(101, [&] { (void)lower::run_pipeline(lower::cpu_passes(), loops, target); });
  const double whole = median_microseconds(101, [&] { (void)lowered_program(s, {op.A, op.B, op.C}, target); });
  std::printf("lowering: %.2f ms, median of 101 (Steps to loops %.2f, passes %.2f)\n", whole / 1e3, derived / 1e3,
              passes / 1e3);
}

void time_features() {
  const Schedule s = Schedule::from_steps({matmul().C}, steps()).value_or_throw();
  const Machine machine = describe_machine(Target::host(), {.hardware = host_hardware(), .threads = 2});
  const double one = median_microseconds(2001, [&] { (void)autotune::nest_features(s, machine); });
  std::printf("features of a nest: %.1f us, median of 2001: %.0f a second\n", one, 1e6 / one);
}

void time_region() {
  const auto nothing = [](int64_t, int64_t, void*) -> int32_t { return 0; };
  runtime::set_num_threads(2);
  const int calls = 1000;
  const double region = median_microseconds(21, [&] {
    for (int i = 0; i < calls; ++i) runtime::parallel_for(2, nothing, nullptr);
  });
  std::printf("a parallel region of 2 empty iterations on 2 threads: %.2f us, median of 21 x %d\n", region / calls,
              calls);
}

}  // namespace

int main() {
  time_steps();
  time_lowering();
  time_features();
  time_region();
}
