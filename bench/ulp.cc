// The largest error of every expansion: over all float32 inputs, and over 10^8 float64 inputs of all exponents and of
// the ranges where the functions bend; computed by compiled kernels and compared with libm, which for float32 works in
// double and for float64 in long double (64 bits of mantissa): the numbers of docs/math.md.
//
//   ulp [TARGET [N [FUNCTION]]]      e.g.  ulp "llvm -mcpu=x86-64" 16 sin
//
// All inputs of a function take minutes; N takes each N-th block of 65,536.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>

#include "tensorwright/build.h"
#include "tests/unit/functions.h"

namespace {

using namespace tw;
using lower::Function;

constexpr size_t kChunk = size_t{1} << 16;
constexpr uint64_t kAll = uint64_t{1} << 32;
constexpr uint64_t kPairs = uint64_t{1} << 28;  // of two: all exponents of x; y of power where the result is finite
constexpr uint64_t kSamples = 1526 * uint64_t{kChunk};  // 10^8 of float64

template <class Float>
uint64_t inputs(const Function& fn) {
  if (sizeof(Float) == 8) return kSamples;
  return fn.of_two ? kPairs : kAll;
}

std::shared_ptr<const Module> elementwise(const Function& fn, const char* dtype, const Target& target) {
  const int64_t n = kChunk;
  const te::Tensor x = te::placeholder({n}, dtype, "X"), y = te::placeholder({n}, dtype, "Y");
  const te::Tensor z = te::compute({n}, [&](ir::Var i) { return fn.apply(x(i), y(i)); }, "Z");
  schedule::Schedule s({z});
  schedule::Split split;
  split.stage = "Z", split.axis = "i", split.factor = 256;
  s.apply(split);
  s.apply(schedule::Vectorize{"Z", "i.i"});
  return fn.of_two ? build(s, {x, y, z}, target, "f") : build(s, {x, z}, target, "f");
}

struct Worst {
  double ulps = 0, seconds = 0;
  double x = 0, y = 0, got = 0;
  void merge(const Worst& other) {
    const double total = seconds + other.seconds;
    if (other.ulps > ulps) *this = other;
    seconds = total;
  }
};

template <class Float>
Worst scan(const Function& fn, const runtime::Kernel& kernel, uint64_t begin, uint64_t end, uint64_t every) {
  using Wide = std::conditional_t<sizeof(Float) == 4, double, long double>;
  std::vector<Float> x(kChunk), y(kChunk), z(kChunk);
  Worst worst;
  for (uint64_t first = begin; first < end; first += kChunk * every) {
    for (size_t n = 0; n < kChunk; ++n) {
      x[n] = lower::input(fn, first + n, Float{});
      if (fn.of_two) y[n] = static_cast<Float>(lower::second(fn, x[n], first + n, sizeof(Float) == 4));
    }
    void* unary[] = {x.data(), z.data()};
    void* binary[] = {x.data(), y.data(), z.data()};
    const auto start = std::chrono::steady_clock::now();
    if (kernel.run(fn.of_two ? binary : unary) != 0) std::abort();
    worst.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (size_t n = 0; n < kChunk; ++n) {
      const Wide exact = fn.value(static_cast<Wide>(x[n]), static_cast<Wide>(y[n]));
      if (sizeof(Float) == 4 && z[n] == static_cast<Float>(exact) && z[n] != 0) continue;  // at most half a unit
      const double ulps = lower::ulps(z[n], exact);
      if (ulps > worst.ulps) worst = {ulps, worst.seconds, x[n], y[n], z[n]};
    }
  }
  return worst;
}

template <class Float>
Worst scan_all(const Function& fn, const runtime::Kernel& kernel, uint64_t every) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  Worst worst;
  std::mutex lock;
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      const uint64_t all = inputs<Float>(fn), share = all / threads / kChunk * kChunk;
      const Worst mine = scan<Float>(fn, kernel, t * share, t + 1 == threads ? all : (t + 1) * share, every);
      const std::lock_guard<std::mutex> guard(lock);
      worst.merge(mine);
    });
  for (std::thread& w : workers) w.join();
  return worst;
}

template <class Float>
bool measure(const Function& fn, const Target& target, uint64_t every) {
  const char* dtype = sizeof(Float) == 4 ? "float32" : "float64";
  const auto module = elementwise(fn, dtype, target);
  const Worst w = scan_all<Float>(fn, *module->kernel(), every);
  const double each = w.seconds / static_cast<double>(inputs<Float>(fn)) * static_cast<double>(every) * 1e9;
  std::printf("%-8s %s %6.3f ulp %9.3f  x = %.17g", fn.name, dtype, w.ulps, each, w.x);
  if (fn.of_two) std::printf(", y = %.17g", w.y);
  std::printf(", result %.17g\n", w.got);
  std::fflush(stdout);
  return w.ulps <= 4;
}

}  // namespace

int main(int argc, char** argv) try {
  const Target target = argc > 1 ? Target::parse(argv[1]).value_or_throw() : Target::host();
  const uint64_t every = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1;
  runtime::set_num_threads(1);
  std::printf("%s\n%-8s %-7s %10s %9s  %s\n", target.to_string().c_str(), "function", "dtype", "largest", "ns each",
              "at");
  bool kept = true;
  for (const Function& fn : lower::functions()) {
    if (argc > 3 && std::string_view(argv[3]) != fn.name) continue;
    const bool single = measure<float>(fn, target, every), twice = measure<double>(fn, target, every);
    kept = kept && single && twice;
  }
  return kept ? 0 : 1;
} catch (const tw::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
