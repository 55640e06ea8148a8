// Calls of functions for CUDA devices, by a driver without one (tests/fake_cuda), which interprets what is launched.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "src/runtime/cuda/kernel.h"
#include "src/runtime/cuda/memory.h"
#include "tests/folders.h"
#include "tests/unit/cuda_pages.h"
#include "tests/unit/run_program.h"
#include "tests/unit/setting.h"

namespace tw {
namespace {

using namespace runtime::cuda;

constexpr const char* kAdd = R"(kernel add(A: float32[n], B: float32[n], C: out float32[n], n: size):
  for bx in 0..(n + 127) // 128 blockIdx.x:
    for tx in 0..128 threadIdx.x:
      if bx * 128 + tx < n:
        C[bx * 128 + tx] = A[bx * 128 + tx] + B[bx * 128 + tx]
)";

class CudaRun : public testing::Test {
 protected:
  test::Setting driver_{"TW_CUDA_DRIVER", TW_BINARY_DIR "/tests/libfake_cuda.so"}, images_{"TW_CUDA_IMAGES", "ir"},
      devices_{"FAKE_CUDA_DEVICES", "2"};
  const GpuDevice& device_ = *gpu_device(0).value_or_throw();

  std::shared_ptr<const Module> built(const std::string& text, const std::string& target = "cuda -arch=sm_90a") {
    return build(parse(text), parse_target(target));
  }
  template <class T>
  std::shared_ptr<void> there(const std::vector<T>& values, int ordinal = 0) {
    const GpuDevice& device = *gpu_device(ordinal).value_or_throw();
    auto memory = allocate(device, values.size() * sizeof(T));
    copy_to_device(device, memory.get(), values.data(), values.size() * sizeof(T));
    return memory;
  }
  std::vector<float> back(const std::shared_ptr<void>& memory, size_t count, int ordinal = 0) {
    std::vector<float> values(count);
    copy_to_host(*gpu_device(ordinal).value_or_throw(), values.data(), memory.get(), 4 * count);
    return values;
  }
  static std::vector<float> counted(size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }
  std::string error_of(const runtime::Kernel& kernel, void* const* data) {
    try {
      kernel.run(data);
    } catch (const Error& e) {
      return e.diagnostic().render();
    }
    return "";
  }
};

TEST_F(CudaRun, TheTargetIsThatOfTheDevice) {
  EXPECT_EQ(parse_target("cuda").to_string(), "cuda -arch=sm_90a");
  EXPECT_TRUE(parse_target("cuda").missing_here().empty());
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(device_.name, "Fake GPU");
  const Result<const GpuDevice*> third = gpu_device(2);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().what, "cuda: there is no device cuda:2");
}

TEST_F(CudaRun, BlocksAreThoseOfTheCallsSizes) {
  const auto module = built(kAdd);
  for (int64_t n : {1, 128, 129, 1000}) {
    const auto count = static_cast<size_t>(n);
    const auto a = there(counted(count)), b = there(counted(count)), c = there(std::vector<float>(count));
    void* data[] = {a.get(), b.get(), c.get(), &n};
    EXPECT_EQ(module->kernel()->run(data), 0);
    const std::vector<float> sums = back(c, count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], 2.0f * static_cast<float>(i + 1));
  }
  int64_t none = 0;
  void* data[] = {nullptr, nullptr, nullptr, &none};
  EXPECT_EQ(module->kernel()->run(data), 0);
}

TEST_F(CudaRun, ACallRunsWhereItIsPlaced) {
  const auto module = built(kAdd);
  int64_t n = 5;
  const auto a = there(counted(5), 1), b = there(counted(5), 1), c = there(std::vector<float>(5), 1);
  void* data[] = {a.get(), b.get(), c.get(), &n};
  const Placed placed({1, nullptr});
  EXPECT_EQ(module->kernel()->run(data), 0);
  EXPECT_EQ(back(c, 5, 1)[4], 10.0f);
}

TEST_F(CudaRun, LaunchesFollowEachOtherOverScratch) {
  const auto module = built(test::kTwoLaunches);
  int64_t n = 300;
  const auto a = there(counted(300)), b = there(std::vector<float>(300, -1));
  void* data[] = {a.get(), b.get(), &n};
  EXPECT_EQ(module->kernel()->run(data), 0);
  const std::vector<float> out = back(b, 300);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[299], 2 * 299 + 1);
  n = 1;  // whose second launch there is not
  const auto one = there(std::vector<float>{7});
  void* small[] = {one.get(), one.get(), &n};
  EXPECT_EQ(module->kernel()->run(small), 0);
  EXPECT_EQ(back(one, 1)[0], 7);
}

TEST_F(CudaRun, AddressesOfWholeVectorsAreMultiples) {
  const auto module = built(R"(kernel twice(A: float32[1024], B: out float32[1024]):
  for tx in 0..256 threadIdx.x:
    B[tx * 4 : 4] = A[tx * 4 : 4] * broadcast(2.0, 4)
)");
  const auto a = there(counted(1028)), b = there(std::vector<float>(1028));
  void* data[] = {static_cast<float*>(a.get()) + 4, b.get()};
  EXPECT_EQ(module->kernel()->run(data), 0);
  EXPECT_EQ(back(b, 1024)[0], 10);
  data[0] = static_cast<float*>(a.get()) + 1;
  EXPECT_NE(error_of(*module->kernel(), data).find("twice: A must begin at a multiple of 16 bytes"), std::string::npos);
}

TEST_F(CudaRun, SharedMemoryAboveTheUsualIsAskedFor) {
  const auto module = built(R"(kernel turn(A: float32[16384], C: out float32[16384]):
  for tx in 0..256 threadIdx.x:
    alloc a: float32[16384] shared
    for i in 0..64:
      a[i * 256 + tx] = A[i * 256 + tx]
    sync block
    for i in 0..64:
      C[i * 256 + tx] = a[16383 - (i * 256 + tx)]
)");
  const auto a = there(counted(16384)), c = there(std::vector<float>(16384));
  void* data[] = {a.get(), c.get()};
  EXPECT_EQ(module->kernel()->run(data), 0);
  EXPECT_EQ(back(c, 16384)[0], 16384);
}

// The interpreter has no race to report, and the result is that of the definition.
TEST_F(CudaRun, PagesRun) {
  std::map<std::string, std::string> programs;
  for (const test::CudaPage& page : test::cuda_pages()) programs[page.name] = page.program;
  const std::vector<float> ones(4096, 1.0f);
  const auto a = there(ones), b = there(ones), c = there(std::vector<float>(16384));
  void* product[] = {a.get(), b.get(), c.get()};
  EXPECT_EQ(built(programs["matmul"])->kernel()->run(product), 0);
  EXPECT_EQ(back(c, 16384), std::vector<float>(16384, 32.0f));
  int64_t m = 3, k = 300;
  void* sums[] = {a.get(), c.get(), &m, &k};
  EXPECT_EQ(built(programs["row_sum"])->kernel()->run(sums), 0);
  EXPECT_EQ(back(c, 3), std::vector<float>(3, 300.0f));
}

TEST_F(CudaRun, CodeForAnotherArchitectureIsRefused) {
  const auto module = built(kAdd, "cuda -arch=sm_100");
  int64_t n = 1;
  void* data[] = {nullptr, nullptr, nullptr, &n};
  const std::string error = error_of(*module->kernel(), data);
  EXPECT_NE(error.find("add: code for sm_100 does not run on cuda:0, a Fake GPU (sm_90a)"), std::string::npos) << error;
  EXPECT_NE(error.find("cuda -arch=sm_90a"), std::string::npos) << error;
}

// Their images hold what the driver translates.
TEST_F(CudaRun, CodeForOlderDevicesRuns) {
  const auto module = built(kAdd, "cuda -arch=sm_80");
  int64_t n = 100;
  const auto a = there(counted(100)), c = there(std::vector<float>(100));
  void* data[] = {a.get(), a.get(), c.get(), &n};
  EXPECT_EQ(module->kernel()->run(data), 0);
  EXPECT_EQ(back(c, 100)[7], 2 * counted(100)[7]);
}

TEST_F(CudaRun, MoreThanThereIsIsRefused) {
  EXPECT_THROW(allocate(device_, size_t{1} << 40), Error);
  const auto module = built(test::kTwoLaunches);
  int64_t n = int64_t{1} << 40;
  void* data[] = {nullptr, nullptr, &n};
  EXPECT_NE(error_of(*module->kernel(), data).find("f: the call failed: there was no memory for its scratch on cuda:0"),
            std::string::npos);
}

TEST_F(CudaRun, ModulesShowTextAndLaunches) {
  const auto module = built(test::kTwoLaunches);
  EXPECT_NE(module->source("cuda").find("tw_f_1("), std::string::npos);
  EXPECT_NE(module->source("launches").find("tw_f_1: ((n + 255) // 256) x 1 x 1 blocks of 256 x 1 x 1 threads, B"),
            std::string::npos);
  EXPECT_TRUE(module->source("ir").starts_with("kernel f("));
  EXPECT_THROW(module->source("llvm"), Error);
  EXPECT_THROW(module->save("/tmp/f.so"), Error);
}

// What a kernel did wrong comes to light when somebody waits for it: the last test of this process, as no call succeeds
// any more.
TEST_F(CudaRun, ZFaultsNameTheKernel) {
  const auto module = built(kAdd);
  int64_t n = 8;
  const auto a = there(counted(8)), c = there(std::vector<float>(8));
  float elsewhere[8] = {};
  void* data[] = {a.get(), elsewhere, c.get(), &n};
  EXPECT_EQ(module->kernel()->run(data), 0);
  try {
    back(c, 8);
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.diagnostic().render();
    EXPECT_NE(text.find("cuda:0: copying from it failed: CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << text;
    EXPECT_NE(text.find("add was launched last on cuda:0"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tw
