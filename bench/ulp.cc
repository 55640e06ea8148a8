// The largest error of every expansion over all float32 inputs, computed by compiled kernels and compared with libm in
// double: the numbers of docs/math.md.
//
//   ulp [TARGET [N]]      e.g.  ulp "llvm -mcpu=x86-64" 16      all inputs take minutes; N takes each N-th block of
//   65,536

#include "tests/unit/ulp.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "tensorwright/build.h"

namespace {

using namespace tw;
using ir::Expr;
using ir::Fn;

constexpr size_t kChunk = size_t{1} << 16;
constexpr uint64_t kAll = uint64_t{1} << 32;
constexpr uint64_t kPairs = uint64_t{1} << 28;  // of pow: all exponents of x, y spread over where the result is finite

std::shared_ptr<const Module> elementwise(Fn fn, const Target& target) {
  const int64_t n = kChunk;
  const te::Tensor x = te::placeholder({n}, "float32", "X"), y = te::placeholder({n}, "float32", "Y");
  const te::Tensor z =
      te::compute({n}, [&](ir::Var i) { return fn == Fn::kPow ? te::power(x(i), y(i)) : ir::call(fn, {x(i)}); }, "Z");
  schedule::Schedule s({z});
  schedule::Split split;
  split.stage = "Z", split.axis = "i", split.factor = 256;
  s.apply(split);
  s.apply(schedule::Vectorize{"Z", "i.i"});
  return fn == Fn::kPow ? build(s, {x, y, z}, target, "f") : build(s, {x, z}, target, "f");
}

struct Worst {
  double ulps = 0, seconds = 0;
  float x = 0, y = 0, got = 0;
  void merge(const Worst& other) {
    const double total = seconds + other.seconds;
    if (other.ulps > ulps) *this = other;
    seconds = total;
  }
};

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Inputs first .. first + kChunk - 1.
void fill(Fn fn, uint64_t first, std::vector<float>& x, std::vector<float>& y) {
  for (size_t n = 0; n < kChunk; ++n) {
    const uint32_t bits = static_cast<uint32_t>(fn == Fn::kPow ? (first + n) * 16 + mixed(first + n) % 16 : first + n);
    std::memcpy(&x[n], &bits, 4);
    const double spread = (static_cast<double>(mixed(first + n) >> 11) / (uint64_t{1} << 53) - 0.5) * 240;
    const double log = std::log(std::abs(static_cast<double>(x[n])));
    const double exponent = n % 4 == 0 ? std::nearbyint(spread / 10) : spread / (std::isnormal(log) ? log : 1);
    y[n] = fn == Fn::kPow ? static_cast<float>(exponent) : 0;
  }
}

Worst scan(Fn fn, const runtime::Kernel& kernel, uint64_t begin, uint64_t end, uint64_t every) {
  std::vector<float> x(kChunk), y(kChunk), z(kChunk);
  Worst worst;
  for (uint64_t first = begin; first < end; first += kChunk * every) {
    fill(fn, first, x, y);
    void* unary[] = {x.data(), z.data()};
    void* binary[] = {x.data(), y.data(), z.data()};
    const auto start = std::chrono::steady_clock::now();
    if (kernel.run(fn == Fn::kPow ? binary : unary) != 0) std::abort();
    worst.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (size_t n = 0; n < kChunk; ++n) {
      const double exact = lower::exact_value<double>(fn, x[n], y[n]);
      if (z[n] == static_cast<float>(exact) && z[n] != 0) continue;  // at most half a unit
      const double ulps = lower::ulps(z[n], exact);
      if (ulps > worst.ulps) worst = {ulps, worst.seconds, x[n], y[n], z[n]};
    }
  }
  return worst;
}

Worst scan_all(Fn fn, const runtime::Kernel& kernel, uint64_t every) {
  const uint64_t inputs = fn == Fn::kPow ? kPairs : kAll;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  Worst worst;
  std::mutex lock;
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      const uint64_t share = inputs / threads / kChunk * kChunk;
      const Worst mine = scan(fn, kernel, t * share, t + 1 == threads ? inputs : (t + 1) * share, every);
      const std::lock_guard<std::mutex> guard(lock);
      worst.merge(mine);
    });
  for (std::thread& w : workers) w.join();
  return worst;
}

}  // namespace

int main(int argc, char** argv) try {
  const Target target = argc > 1 ? Target::parse(argv[1]).value_or_throw() : Target::host();
  const uint64_t every = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1;
  runtime::set_num_threads(1);
  std::printf("%s\n%-8s %10s %9s  %s\n", target.to_string().c_str(), "float32", "largest", "ns each", "at");
  const std::pair<const char*, Fn> functions[] = {{"exp", Fn::kExp},         {"log", Fn::kLog}, {"tanh", Fn::kTanh},
                                                  {"sigmoid", Fn::kSigmoid}, {"erf", Fn::kErf}, {"rsqrt", Fn::kRsqrt},
                                                  {"pow", Fn::kPow}};
  bool kept = true;
  for (const auto& [name, fn] : functions) {
    const auto module = elementwise(fn, target);
    const Worst w = scan_all(fn, *module->kernel(), every);
    const double each =
        w.seconds / static_cast<double>(fn == Fn::kPow ? kPairs : kAll) * static_cast<double>(every) * 1e9;
    std::printf("%-8s %6.3f ulp %9.3f  x = %.9g", name, w.ulps, each, static_cast<double>(w.x));
    if (fn == Fn::kPow) std::printf(", y = %.9g", static_cast<double>(w.y));
    std::printf(", result %.9g\n", static_cast<double>(w.got));
    std::fflush(stdout);
    kept = kept && w.ulps <= 4;
  }
  return kept ? 0 : 1;
} catch (const tw::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
