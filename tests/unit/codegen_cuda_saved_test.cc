// Kernels for CUDA devices as objects: called from C by the header beside them, on a driver without a device
// (tests/fake_cuda).
#include <cstdlib>
#include <fstream>

#include "codegen/cuda/nvrtc.h"
#include "codegen/files.h"
#include "codegen/library.h"
#include "tests/folders.h"
#include "tests/unit/command.h"
#include "tests/unit/cuda_pages.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_program.h"
#include "tests/unit/setting.h"

namespace tw {
namespace {

#if TW_LLVM

// The same, each block's 256 numbers, and what stands before them, by way of a box that the device copies.
constexpr const char* kBoxes = R"(kernel f(A: float32[n], B: out float32[n], n: size):
  for bx in 0..(n + 223) // 224 blockIdx.x:
    for tx in 0..256 threadIdx.x:
      alloc box: float32[256] shared
      alloc full: uint64[1] shared
      if tx < 1:
        call(int32, "mbarrier.init", address(out full[0]), 1)
      sync block
      if tx < 1:
        call(int32, "mbarrier.expect", address(inout full[0]), 1, 0, 1024)
        call(int32, "tma.load", address(out box[0]), address(in A[0]), address(inout full[0]), 1, 0, 0, bx * 224 - 32, 256, n, 1)
      call(int32, "mbarrier.wait", address(inout full[0]), 1, 0)
      if tx >= 32:
        if bx * 224 + tx - 32 < n:
          B[bx * 224 + tx - 32] = box[max(tx - 1, 32 - bx * 224)] * 2.0 + 1.0
)";

// B[i] = 2 * A[max(i - 1, 0)] + 1 of n numbers on the device; "CODE RIGHT".
constexpr const char* kMain = R"(#include HEADER
#include <stdio.h>
enum { kCount = 1000 };
static float a[kCount], b[kCount];
int main(void) {
  void* library = dlopen(getenv("TW_CUDA_DRIVER"), RTLD_NOW);
  int (*alloc)(unsigned long long*, size_t), (*in)(unsigned long long, const void*, size_t, void*),
      (*out)(void*, unsigned long long, size_t, void*);
  unsigned long long at_a = 0, at_b = 0;
  int i, call, entered, right = 1;
  int32_t code = 0;
  if (library == NULL) return printf("%d", (int)CALL(NULL, NULL, kCount)), 0;
  if (!tensorwright_find(library, "cuMemAlloc_v2", &alloc) || !tensorwright_find(library, "cuMemcpyHtoDAsync_v2", &in) ||
      !tensorwright_find(library, "cuMemcpyDtoHAsync_v2", &out))
    return 1;
  for (i = 0; i < kCount; ++i) a[i] = (float)i;
  if (tensorwright_enter(tensorwright_cuda(), &entered) < 0) return 4;
  if (alloc(&at_a, sizeof a) != 0 || alloc(&at_b, sizeof b) != 0 || in(at_a, a, sizeof a, NULL) != 0) return 2;
  tensorwright_leave(tensorwright_cuda(), entered); /* calls find a device by themselves */
  for (call = 0; call < 3 && code == 0; ++call)
    code = CALL((const float*)(uintptr_t)at_a, (float*)(uintptr_t)at_b, kCount);
  if (code != 0) return printf("%d", (int)code), 0;
  tensorwright_enter(tensorwright_cuda(), &entered);
  if (out(b, at_b, sizeof b, NULL) != 0) return 3;
  for (i = 0; i < kCount; ++i) right = right && b[i] == 2 * a[i > 0 ? i - 1 : 0] + 1;
  printf("%d %s", (int)code, right ? "right" : "wrong");
  return 0;
}
)";

// A driver that is sanitized runs in programs that are, too, of whose stacks the sanitizer warns.
#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kSanitized = " -fsanitize=address";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* kSanitized = " -fsanitize=thread";
#else
constexpr const char* kSanitized = "";
#endif

class CudaSaved : public testing::Test {
 protected:
  void SetUp() override {
    if (test::output_of("gcc --version").starts_with("exit status")) GTEST_SKIP() << "skipped: no gcc";
    std::ofstream(folder_ / "main.c") << kMain;
  }
  std::string compiled(const std::string& compiler, const std::string& header, const std::string& code) {
    const bool cpp = compiler.find("++") != compiler.npos;
    return test::output_of(compiler + kSanitized + " -Wall -Wextra -Werror -pedantic -D'HEADER=\"" + header +
                           "\"' -D'CALL(a, b, n)=f_run(a, b, n, NULL)' -o " + folder_ / "main" +
                           (cpp ? " -x c++ " : " ") + folder_ / "main.c" + " -x none " + folder_ / code + " -ldl");
  }
  std::string run(const std::string& settings = "") { return test::said_by(settings + " " + folder_ / "main"); }

  test::Setting driver_{"TW_CUDA_DRIVER", TW_BINARY_DIR "/tests/libfake_cuda.so"}, images_{"TW_CUDA_IMAGES", "ir"};
  test::Folder folder_;
};

TEST_F(CudaSaved, AnObjectLaunchesByItsHeader) {
  build(parse(test::kTwoLaunches), parse_target("cuda -arch=sm_90a"))->save(folder_ / "f.o");
  EXPECT_EQ(test::output_of("nm -u " + folder_ / "f.o"), "");
  for (const char* compiler : {"gcc -std=c99", "g++ -std=c++11"}) {
    ASSERT_EQ(compiled(compiler, "f.h", "f.o"), "") << compiler;
    EXPECT_EQ(run(), "0 right") << compiler;
  }
}

TEST_F(CudaSaved, AnObjectMakesTensorMaps) {
  build(parse(kBoxes), parse_target("cuda -arch=sm_90a"))->save(folder_ / "f.o");
  EXPECT_EQ(test::output_of("nm -u " + folder_ / "f.o"), "");
  for (const char* compiler : {"gcc -std=c99", "g++ -std=c++11"}) {
    ASSERT_EQ(compiled(compiler, "f.h", "f.o"), "") << compiler;
    EXPECT_EQ(run(), "0 right") << compiler;
  }
}

TEST_F(CudaSaved, WhatADeviceCannotRunIsACode) {
  build(parse(test::kTwoLaunches), parse_target("cuda -arch=sm_90a"))->save(folder_ / "f.o");
  ASSERT_EQ(compiled("gcc -std=c99", "f.h", "f.o"), "");
  EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=8.0"), "5");
  EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=8.9"), "5");
  EXPECT_EQ(run("TW_CUDA_DRIVER=/nowhere/libcuda.so"), "4");
}

TEST_F(CudaSaved, NewerDevicesTranslate) {
  for (const char* arch : {"sm_80", "sm_90a"}) {
    build(parse(test::kTwoLaunches), parse_target(std::string("cuda -arch=") + arch))->save(folder_ / "f.o");
    ASSERT_EQ(compiled("gcc -std=c99", "f.h", "f.o"), "");
    EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=9.1"), "0 right") << arch;  // sm_90a is of 9.0 alone
    EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=12.0"), "0 right") << arch;
  }
}

TEST_F(CudaSaved, ObjectsHoldPtx) {
  if (const auto compiler = codegen::nvrtc_version(); !compiler.ok())
    GTEST_SKIP() << "skipped: " << compiler.error().what;
  const test::Setting real("TW_CUDA_IMAGES", "");
  build(parse(test::kTwoLaunches), parse_target("cuda -arch=sm_90a"))->save(folder_ / "f.o");
  std::ifstream in(folder_ / "f.o", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(bytes.find(".target sm_90\n"), std::string::npos);
}

TEST_F(CudaSaved, ADriverThatDoesNotTakeTheCodeIsACode) {
  if (const auto compiler = codegen::nvrtc_version(); !compiler.ok())
    GTEST_SKIP() << "skipped: " << compiler.error().what;
  const test::Setting real("TW_CUDA_IMAGES", "");
  build(parse(test::kTwoLaunches), parse_target("cuda -arch=sm_90a"))->save(folder_ / "f.o");
  ASSERT_EQ(compiled("gcc -std=c99", "f.h", "f.o"), "");
  EXPECT_EQ(run(), "6");
}

// Beside kernels for CPUs, each device its own architecture.
TEST_F(CudaSaved, ALibraryHasKernelsOfBoth) {
  const auto gpu = [](const char* target) {
    return codegen::LibraryVariant{parse_target(target), parse(test::kTwoLaunches), ""};
  };
  const codegen::LibraryVariant cpu = {
      parse_target("llvm -mcpu=x86-64-v2"),
      parse("kernel g(A: float32[4], C: out float32[4]):\n  for i in 0..4:\n    C[i] = A[i] + 1.0\n"), ""};
  const codegen::LibraryKernel f = {"f", {gpu("cuda -arch=sm_80"), gpu("cuda -arch=sm_90a")}}, g = {"g", {cpu}};
  const auto library = codegen::make_library({f, g}, {"both", ""});
  ASSERT_TRUE(library.ok()) << library.error().render();
  for (const codegen::LibraryFile& file : *library) codegen::write_file(folder_ / file.name, file.bytes);
  EXPECT_EQ(test::output_of("nm -u " + folder_ / "libboth.a" + " | grep -v '^$\\|:$' || true"), "");
  ASSERT_EQ(compiled("gcc -std=c99", "both.h", "libboth.a"), "");
  EXPECT_EQ(run(), "0 right");
  EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=8.6"), "0 right");
  EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=10.0"), "0 right");
  EXPECT_EQ(run("FAKE_CUDA_CAPABILITY=7.5"), "5");
  const auto mixed = codegen::make_library(
      {{"f", {gpu("cuda -arch=sm_80"), {cpu.target, parse(test::kTwoLaunches), ""}}}}, {"both", ""});
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().what, "library: f: its variants must be for CPUs or for GPUs, not for both");
}

// What launches is code for the CPU of the library's other kernels, or for the one that is named, never for this one.
TEST_F(CudaSaved, TheHeaderIsForTheCpuThatLaunches) {
  const codegen::LibraryKernel f = {"f", {{parse_target("cuda -arch=sm_80"), parse(test::kTwoLaunches), ""}}};
  const auto header = [&](std::vector<codegen::LibraryKernel> kernels, const std::string& host) {
    return codegen::library_header(kernels, {.name = "k", .prefix = "", .host = host});
  };
  EXPECT_NE(header({f}, "aarch64-linux-gnu").find("#ifndef __aarch64__"), std::string::npos);
  EXPECT_NE(header({f}, "x86_64-linux-gnu").find("#ifndef __x86_64__"), std::string::npos);
  const codegen::LibraryKernel arm = {
      "g",
      {{parse_target("llvm -mtriple=aarch64-linux-gnu"),
        parse("kernel g(A: float32[4], C: out float32[4]):\n  for i in 0..4:\n    C[i] = A[i] + 1.0\n"), ""}}};
  const std::string both = header({f, arm}, "x86_64-linux-gnu");
  EXPECT_NE(both.find("code for AArch64"), std::string::npos) << both;
  EXPECT_EQ(both.find("code for x86-64"), std::string::npos) << both;
}

#else
TEST(CudaSaved, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
