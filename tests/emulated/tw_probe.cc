// What the CPU that this runs on is taken for, and whether kernels run on it: started under an emulator by
// emulated_test.cc.
//
//   tw-probe native             the target that -mcpu=native stands for
//   tw-probe run TARGET M N K   builds relu(A @ B + bias) of that size without a schedule, runs it, checks it
//   tw-probe save TARGET FILE   that kernel of 9x17x33, as a shared object
//   tw-probe load FILE          runs it
//   tw-probe library FOLDER TARGET..   that kernel in variants for these targets, as a library in a folder that is
//   there
//
// Ends with 2 and the text of the error where it is refused.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "codegen/files.h"
#include "codegen/library.h"
#include "tests/unit/autotune_templates.h"

namespace {

using namespace tw;

struct Shape {
  int64_t m = 9, n = 17, k = 33;
};

std::shared_ptr<const Module> built(const char* target, Shape s) {
  const auto d = autotune::testing::declare_dense(static_cast<int>(s.m), static_cast<int>(s.n), static_cast<int>(s.k));
  const Target on = Target::parse(target).value_or_throw();
  return build(default_schedule({d.D}, on), {d.A, d.B, d.bias, d.D}, on, "dense");
}

// Small whole numbers: every order of the sums is exact.
std::vector<float> whole_numbers(int64_t count, int seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed)) % 11) - 5;
  return values;
}

int run(const runtime::Kernel& kernel, Shape s) {
  std::vector<float> a = whole_numbers(s.m * s.k, 1), b = whole_numbers(s.k * s.n, 2), bias = whole_numbers(s.n, 3);
  std::vector<float> d(static_cast<size_t>(s.m * s.n), -1);
  const ir::Type f32 = ir::Type::f(32);
  const std::vector<runtime::ArrayView> arrays = {{a.data(), f32, {s.m, s.k}, {}},
                                                  {b.data(), f32, {s.k, s.n}, {}},
                                                  {bias.data(), f32, {s.n}, {}},
                                                  {d.data(), f32, {s.m, s.n}, {}}};
  runtime::call(kernel, arrays);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = bias[static_cast<size_t>(j)];
      for (int64_t k = 0; k < s.k; ++k)
        sum += a[static_cast<size_t>(i * s.k + k)] * b[static_cast<size_t>(k * s.n + j)];
      const float got = d[static_cast<size_t>(i * s.n + j)];
      if (got == std::fmax(sum, 0.0f)) continue;
      std::printf("D[%d, %d] should be %g and is %g\n", static_cast<int>(i), static_cast<int>(j), std::fmax(sum, 0.0f),
                  got);
      return 1;
    }
  }
  std::printf("right\n");
  return 0;
}

void write_library(const std::string& folder, std::span<char*> targets) {
  const auto d = autotune::testing::declare_dense(9, 17, 33);
  codegen::LibraryKernel dense{"dense", {}};
  for (const char* text : targets) {
    const Target on = Target::parse(text).value_or_throw();
    const schedule::Schedule s = default_schedule({d.D}, on);
    dense.variants.push_back({on, lowered_program(s, {d.A, d.B, d.bias, d.D}, on, "dense"), "by rules"});
  }
  for (const codegen::LibraryFile& file : codegen::make_library({dense}, {"dense", "acme_"}).value_or_throw())
    codegen::write_file(folder + "/" + file.name, file.bytes);
}

int probe(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "native") return std::printf("%s\n", Target::host().to_string().c_str()), 0;
  if (what == "load" && argc == 3) return run(*runtime::load(argv[2], "dense"), {});
  if (what == "save" && argc == 4) return built(argv[2], {})->save(argv[3]), 0;
  if (what == "library" && argc > 3) return write_library(argv[2], {argv + 3, argv + argc}), 0;
  if (what == "run" && argc == 6) {
    const Shape shape = {std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])};
    return run(*built(argv[2], shape)->kernel(), shape);
  }
  std::fprintf(stderr, "tw-probe native | run TARGET M N K | save TARGET FILE | load FILE | library FOLDER TARGET..\n");
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return probe(argc, argv);
  } catch (const Error& e) {
    std::printf("%s\n", e.what());
    return 2;
  }
}
