// Libraries: several kernels in variants for several CPUs, built as C programs and run on the CPUs that qemu emulates.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/files.h"
#include "codegen/library.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/command.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

using codegen::LibraryFile;
using codegen::LibraryKernel;
using codegen::LibraryOptions;
using codegen::LibraryVariant;

#if TW_LLVM

constexpr int kM = 9, kN = 17, kK = 33;

bool has_program(const std::string& name) { return std::system(("command -v " + name + " >/dev/null").c_str()) == 0; }

LibraryVariant dense_for(const std::string& target_text) {
  const auto d = autotune::testing::declare_dense(kM, kN, kK);
  const Target target = parse_target(target_text);
  return {target, lowered_program(default_schedule({d.D}, target), {d.A, d.B, d.bias, d.D}, target, "dense"),
          "measured"};
}

// Scratch of its own in every iteration that runs at once, and some that all share.
constexpr const char* kScratched = R"(kernel scratched(A: float32[4096], C: out float32[4096]):
  alloc all: float32[4096] global
  for i in 0..4096:
    all[i] = A[i] * 2.0
  for i in 0..64 parallel:
    alloc one: float32[64] global
    for j in 0..64:
      one[j] = all[i * 64 + j] + 1.0
    for j in 0..64:
      C[i * 64 + j] = one[j]
)";

LibraryVariant scratched_for(const std::string& target) { return {parse_target(target), parse(kScratched), ""}; }

std::vector<LibraryKernel> kernels_for(const std::vector<std::string>& targets) {
  std::vector<LibraryKernel> kernels = {{"dense", {}}, {"scratched", {}}};
  for (const std::string& target : targets) {
    kernels[0].variants.push_back(dense_for(target));
    kernels[1].variants.push_back(scratched_for(target));
  }
  return kernels;
}

std::vector<LibraryFile> made(const std::vector<LibraryKernel>& kernels,
                              LibraryOptions options = {"kernels", "acme_"}) {
  return codegen::make_library(kernels, options).value_or_throw();
}

std::string refused(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options = {"kernels", "acme_"}) {
  const auto library = codegen::make_library(kernels, options);
  return library.ok() ? "it was made" : library.error().render();
}

// A library in a folder, and a program that runs its kernels on bytes of a file.
class Library {
 public:
  explicit Library(const std::vector<LibraryKernel>& kernels) {
    for (const LibraryFile& file : made(kernels)) codegen::write_file(folder_ / file.name, file.bytes);
    std::ofstream(folder_ / "main.c") << R"(#include "kernels.h"
#include <stdio.h>
static float a[9 * 33], b[33 * 17], bias[17], d[9 * 17], x[4096], y[4096];
int main(int argc, char** argv) {
  FILE* file = fopen(argv[1], "rb");
  int32_t code, second, i, right = 1;
  if (file == NULL || argc != 3) return 9;
  if (fread(a, sizeof a, 1, file) + fread(b, sizeof b, 1, file) + fread(bias, sizeof bias, 1, file) != 3) return 8;
  fclose(file);
  code = acme_dense_run(a, b, bias, d);
  code = code != 0 ? code : acme_dense_run(a, b, bias, d);
  for (i = 0; i < 4096; ++i) x[i] = (float)i;
  second = acme_scratched_run(x, y);
  for (i = 0; i < 4096; ++i) right = right && y[i] == 2 * (float)i + 1;
  printf("%d %d %d %d", acme_dense_variant(), (int)code, (int)second, (int)(second != 0 || right));
  file = fopen(argv[2], "wb");
  if (file == NULL || fwrite(d, sizeof d, 1, file) != 1) return 7;
  return fclose(file);
}
)";
    for (int i = 0; i < kM * kK + kK * kN + kN; ++i) inputs_.push_back(static_cast<float>((i * 37) % 101) / 7 - 6);
    std::ofstream(folder_ / "in", std::ios::binary)
        .write(reinterpret_cast<const char*>(inputs_.data()),
               static_cast<std::streamsize>(inputs_.size() * sizeof(float)));
  }

  std::string compiled_by(const std::string& compiler) {
    const bool cpp = compiler.find("++") != compiler.npos;
    return test::output_of(compiler + " -Wall -Wextra -Werror -pedantic -O2 -o " + folder_ / "main" +
                           (cpp ? " -x c++ " : " ") + folder_ / "main.c" + (cpp ? " -x none " : " ") +
                           folder_ / "libkernels.a");
  }
  // "VARIANT CODE CODE RIGHT"
  std::string run(const std::string& emulator = "") {
    return test::output_of(emulator + " " + folder_ / "main" + " " + folder_ / "in" + " " + folder_ / "out");
  }
  Bytes output() const {
    std::ifstream file(folder_ / "out", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Bytes expected(const LibraryVariant& variant) const {
    const auto part = [&](size_t begin, size_t count) {
      return bytes_of(std::vector<float>(inputs_.begin() + static_cast<ptrdiff_t>(begin),
                                         inputs_.begin() + static_cast<ptrdiff_t>(begin + count)));
    };
    return run_interpreted(variant.program, {part(0, kM * kK), part(kM * kK, kK * kN), part(kM * kK + kK * kN, kN),
                                             Bytes(kM * kN * sizeof(float))})
        .back();
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  test::Folder folder_;
  std::vector<float> inputs_;
};

const std::vector<std::string> kLevels = {"llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4"};

TEST(CodegenLibrary, TheBestVariantThatTheCpuRunsIsCalled) {
  if (!has_program("gcc")) GTEST_SKIP() << "skipped: no gcc";
  if (!has_program("qemu-x86_64")) GTEST_SKIP() << "skipped: qemu-x86_64 is not installed (Debian: qemu-user)";
  Library library(kernels_for(kLevels));
  ASSERT_EQ(library.compiled_by("gcc -static -std=c99"), "");
  const auto expect = [&](const std::string& emulator, int variant) {
    SCOPED_TRACE(emulator);
    EXPECT_EQ(library.run(emulator), std::to_string(variant) + " 0 0 1");
    EXPECT_EQ(library.output(), library.expected(dense_for(kLevels[kLevels.size() - static_cast<size_t>(variant)])));
  };
  expect("qemu-x86_64 -cpu Nehalem", 3);
  expect("qemu-x86_64 -cpu Haswell", 2);
  expect("qemu-x86_64 -cpu max", 2);
  for (int variant = 1; variant <= 3; ++variant)  // here
    if (parse_target(kLevels[3 - static_cast<size_t>(variant)]).missing_here().empty()) {
      expect("", variant);
      break;
    }
  EXPECT_EQ(library.run("qemu-x86_64 -cpu core2duo"), "4 3 3 1");
  EXPECT_EQ(library.run("qemu-x86_64 -cpu Haswell,-movbe"), "3 0 0 1");
}

TEST(CodegenLibrary, AArch64Too) {
  for (const char* program : {"aarch64-linux-gnu-gcc", "qemu-aarch64"})
    if (!has_program(program))
      GTEST_SKIP() << "skipped: " << program << " is not installed (Debian: qemu-user, gcc-aarch64-linux-gnu)";
  const std::string triple = " -mtriple=aarch64-linux-gnu";
  const std::vector<std::string> targets = {"llvm" + triple, "llvm -mattr=+dotprod" + triple,
                                            "llvm -mattr=+dotprod,+i8mm" + triple,
                                            "llvm -mattr=+dotprod,+i8mm,+sve -msve-vector-bits=256" + triple};
  Library library(kernels_for(targets));
  ASSERT_EQ(library.compiled_by("aarch64-linux-gnu-gcc -static -std=c99"), "");
  const std::pair<const char*, size_t> cpus[] = {
      {"cortex-a72", 0}, {"neoverse-n1", 1}, {"max,sve=off", 2}, {"max,sve-max-vq=2", 3}, {"max,sve-max-vq=1", 2}};
  for (const auto& [cpu, target] : cpus) {
    SCOPED_TRACE(cpu);
    EXPECT_EQ(library.run(std::string("qemu-aarch64 -cpu ") + cpu), std::to_string(targets.size() - target) + " 0 0 1");
    EXPECT_EQ(library.output(), library.expected(dense_for(targets[target])));
  }
}

TEST(CodegenLibrary, TheHeaderIsC99AndCpp11) {
  Library library(kernels_for({"llvm -mcpu=x86-64-v2", "llvm -mcpu=sapphirerapids"}));
  for (const char* compiler : {"gcc -std=c99", "gcc -std=c17 -fopenmp", "g++ -std=c++11", "g++ -std=c++20",
                               "gcc -std=c99 -march=sapphirerapids", "clang -std=c99", "clang++ -std=c++11"}) {
    const std::string name = std::string(compiler).substr(0, std::string(compiler).find(' '));
    if (!has_program(name)) {
      std::printf("not asked: %s is not installed\n", name.c_str());
      continue;
    }
    EXPECT_EQ(library.compiled_by(compiler), "") << compiler;
  }
}

// What the kernels ask for comes from the memory that they were given, whoever runs their parallel loops.
TEST(CodegenLibrary, NothingIsAllocatedInAWorkspace) {
  if (!has_program("gcc")) GTEST_SKIP() << "skipped: no gcc";
  test::Folder folder;
  for (const LibraryFile& file : made({{"scratched", {scratched_for("llvm -mcpu=x86-64")}}}))
    codegen::write_file(folder / file.name, file.bytes);
  std::ofstream(folder / "main.c") << R"(#include "kernels.h"
#include <stdio.h>
static float x[4096], y[4096];
static int allocations;
void* __real_malloc(size_t bytes);
void* __wrap_malloc(size_t bytes);
void* __wrap_malloc(size_t bytes) {
  __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  return __real_malloc(bytes);
}
static int32_t code_of(const struct tw_context* context) {
  int i;
  const int32_t code = acme_scratched_run_in(context, x, y);
  for (i = 0; code == 0 && i < 4096; ++i)
    if (y[i] != 2 * (float)i + 1) return -1;
  return code;
}
int main(void) {
  void* memory = malloc(acme_scratched_workspace_bytes(4));
  const struct tw_context* context = acme_scratched_workspace(memory, NULL, 4);
  int i;
  for (i = 0; i < 4096; ++i) x[i] = (float)i;
  if (code_of(context) != 0) return 1; /* who makes threads allocates */
  allocations = 0;
  for (i = 0; i < 10; ++i)
    if (code_of(context) != 0) return 2;
  printf("%d, ", allocations);
  if (acme_scratched_run(x, y) != 0) return 3;
  printf("%s; %d\n", allocations > 0 ? "some" : "none", (int)code_of(acme_scratched_workspace(memory, NULL, 0)));
  free(memory);
  return 0;
}
)";
  for (const char* threads : {"", "-fopenmp"}) {
    ASSERT_EQ(test::output_of(std::string("gcc -std=c99 -O2 -Wall -Wextra -Werror -Wl,--wrap=malloc ") + threads +
                              " -o " + folder / "main" + " " + folder / "main.c" + " " + folder / "libkernels.a"),
              "");
    EXPECT_EQ(test::output_of("OMP_NUM_THREADS=4 OMP_DYNAMIC=false " + folder / "main"), "0, some; 1\n") << threads;
  }
}

TEST(CodegenLibrary, ObjectsNeedNothingAndNameTheirVariant) {
  Library library(kernels_for(kLevels));
  EXPECT_EQ(test::output_of("nm -u " + library / "libkernels.a" + " | grep -v '^$\\|:$' || true"), "");
  const std::string symbols = test::output_of("nm " + library / "libkernels.a");
  for (const char* symbol :
       {"T tw_acme_dense__x86_64_v2\n", "D tw_acme_dense__x86_64_v4_descriptor\n", "T tw_acme_scratched__x86_64_v3\n"})
    EXPECT_NE(symbols.find(symbol), symbols.npos) << symbol << symbols;
}

// For debuggers, profilers and crash reports; and for processes that admit indirect branches to marked places only.
TEST(CodegenLibrary, StacksCanBeWalkedAndBranchesAreMarked) {
  Library library(kernels_for({"llvm -mcpu=x86-64-v3"}));
  const std::string object = library / "acme_scratched.x86-64-v3.o";
  const std::string frames = test::output_of("readelf --debug-dump=frames " + object);
  EXPECT_NE(frames.find(" FDE "), frames.npos) << frames;
  const std::string notes = test::output_of("readelf -n " + object);
  EXPECT_NE(notes.find("x86 feature: IBT, SHSTK"), notes.npos) << notes;
  EXPECT_EQ(test::output_of("readelf -S " + object).find(".debug_line"), std::string::npos);
  const std::string arm =
      codegen::make_library({{"scratched", {scratched_for("llvm -mtriple=aarch64-linux-gnu")}}}, {"arm", ""})
          .value_or_throw()[2]
          .bytes;
  codegen::write_file(library / "arm.o", arm);
  const std::string marks = test::output_of("readelf -n " + library / "arm.o");
  EXPECT_NE(marks.find("AArch64 feature: BTI"), marks.npos) << marks;
}

TEST(CodegenLibrary, LinesAreThoseOfTheText) {
  LibraryVariant variant = scratched_for("llvm -mcpu=x86-64-v3");
  variant.text_file = "scratched.twk";
  variant.text_line = 11;
  LibraryOptions options{"kernels", "acme_"};
  const std::string plain = made({{"scratched", {variant}}}, options)[2].bytes;
  options.debug_lines = true;
  const std::string traced = made({{"scratched", {variant}}}, options)[2].bytes;
  const test::Folder folder;
  codegen::write_file(folder / "plain.o", plain);
  codegen::write_file(folder / "traced.o", traced);
  const std::string lines = test::output_of("objdump --dwarf=decodedline " + folder / "traced.o");
  for (const char* line :
       {"scratched.twk                                 14", "scratched.twk                                 18",
        "scratched.twk                                 20"})
    EXPECT_NE(lines.find(line), lines.npos) << line << "\n" << lines;
  const auto code = [&](const std::string& object) {
    return test::output_of("objdump -d --no-show-raw-insn --no-addresses " + folder / object + " | tail -n +3");
  };
  EXPECT_EQ(code("plain.o"), code("traced.o"));
}

TEST(CodegenLibrary, WhatCannotBeMadeIsOneLine) {
  const LibraryKernel dense = {"dense", {dense_for("llvm -mcpu=x86-64-v2")}};
  const auto line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  EXPECT_EQ(line(refused({})), "library: there must be at least one kernel");
  EXPECT_EQ(line(refused({dense, dense})), "library: kernels must have different names, not two dense");
  EXPECT_EQ(line(refused({{"dense", {}}})), "library: dense: there must be at least one variant");
  EXPECT_EQ(line(refused({{"dense", {dense.variants[0], dense.variants[0]}}})),
            "library: dense: there are two variants for llvm -mcpu=x86-64-v2");
  EXPECT_EQ(line(refused({{"dense", {dense.variants[0], dense_for("llvm -mcpu=cortex-a72")}}})),
            "library: dense: a library is of one architecture, not of x86_64 and aarch64");
  EXPECT_EQ(line(refused({{"dense", {dense_for("c -mcpu=x86-64-v2")}}})),
            "library: dense: variants are made by target llvm, not by \"c -mcpu=x86-64-v2\"");
  EXPECT_EQ(line(refused({dense}, {"a/b", ""})), "library: its name must be letters, digits and _, .-+, not \"a/b\"");
  EXPECT_EQ(line(refused({dense}, {"kernels", "acme-"})),
            "library: the prefix must be letters, digits and _, not \"acme-\"");
  LibraryOptions above{"kernels", "acme_"};
  above.baseline = parse_target("llvm -mcpu=x86-64");
  EXPECT_EQ(line(refused({dense}, above)),
            "library: dense: no variant runs on every CPU of the baseline llvm -mcpu=x86-64");
  above.baseline = parse_target("llvm -mcpu=x86-64-v3");
  EXPECT_EQ(line(refused({{"dense", {dense.variants[0], dense_for("llvm -mcpu=x86-64-v3")}}}, above)),
            "library: dense: the variant for llvm -mcpu=x86-64-v2 is never called, as all CPUs have what llvm "
            "-mcpu=x86-64-v3 asks for");
  LibraryVariant other = scratched_for("llvm -mcpu=x86-64-v3");
  EXPECT_NE(refused({{"dense", {dense.variants[0], other}}}).find("its variants must take the same"),
            std::string::npos);
  LibraryVariant calling = {native(),
                            parse("kernel k(A: float32[4], C: out float32[4]):\n  for i in 0..4:\n    C[i] = "
                                  "call_pure(float32, \"sinf\", A[i])\n"),
                            ""};
  EXPECT_EQ(line(refused({{"k", {calling}}})),
            "library: k: it calls the C function sinf, of which the library says nothing");
  LibraryOptions brought{"kernels", "acme_"};
  brought.externs = {"sinf"};
  EXPECT_EQ(refused({{"k", {calling}}}, brought), "it was made");
}

#else
TEST(CodegenLibrary, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
