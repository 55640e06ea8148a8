// The text for CUDA devices, compiled by NVRTC; and how launches are planned.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/source.h"
#include "src/ir/parse.h"
#include "tests/unit/cuda_pages.h"
#include "tests/unit/folder.h"
#include "tests/unit/setting.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using codegen::CudaSource;
using runtime::cuda::Image;
using runtime::cuda::Resources;

Target device(const std::string& arch) { return Target::parse("cuda -arch=" + arch).value_or_throw(); }

CudaSource source_of(const std::string& program, const std::string& arch = "sm_90a") {
  return codegen::cuda_source({ir::parse_program(program).value_or_throw()}, device(arch));
}

constexpr const char* kDouble = R"(kernel twice(A: float32[1024], B: out float32[1024]):
  for bx in 0..8 blockIdx.x:
    for tx in 0..128 threadIdx.x:
      B[bx * 128 + tx] = A[bx * 128 + tx] * 2.0
)";

class CodegenCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::nvrtc_version().ok()) GTEST_SKIP() << "skipped: no NVRTC (pip install nvidia-cuda-nvrtc)";
  }
  test::Folder folder_;
  test::Setting cache_{"TW_CACHE_DIR", folder_.path()};
  std::vector<std::string> entries() {
    std::vector<std::string> names;
    for (const std::string& name : folder_.files()) names.push_back(folder_ / name);
    return names;
  }
};

TEST_F(CodegenCuda, PagesCompileForEachArchitectureWithoutSpills) {
  EXPECT_GE(test::cuda_pages().size(), 8u);
  for (const test::CudaPage& page : test::cuda_pages())
    for (const char* arch : {"sm_80", "sm_87", "sm_89", "sm_90a", "sm_100"}) {
      if (page.name == "large_shared" && arch == std::string("sm_89")) continue;
      const bool boxes = page.program.find("tma.load") != page.program.npos;
      if (boxes && std::string_view(arch).starts_with("sm_8")) continue;
      const bool groups = page.program.find("wgmma.") != page.program.npos;
      if (groups && arch != std::string("sm_90a")) continue;
      const CudaSource source = source_of(page.program, arch);
      const Image image = codegen::compile_cuda(source.text, arch).value_or_throw();
      const std::vector<Resources> functions = runtime::cuda::resources_in(image.log);
      EXPECT_EQ(functions.size(), source.plans[0].launches.size()) << page.name << ": " << image.log;
      for (const Resources& f : functions) {
        EXPECT_GT(f.registers, 0) << page.name;
        const int64_t wanted =
            page.name == "registers_many" ? 4 * 256 : 0;  // bytes of memory in the place of registers
        EXPECT_EQ(f.stack_bytes, wanted) << page.name << " for " << arch;
        EXPECT_EQ(f.spill_loads + f.spill_stores, 0) << page.name << " for " << arch;
        EXPECT_TRUE(f.warnings.empty()) << image.log;
      }
      EXPECT_EQ(image.log.find("warning"), image.log.npos) << page.name << ": " << image.log;
    }
}

// The machine code of the page for sm_90a; empty where there is no nvdisasm.
std::string disassembled(const std::string& page) {
  const char* environment = std::getenv("VIRTUAL_ENV");
  std::string tool = "nvdisasm";
  std::error_code missing;
  for (const auto& python : fs::directory_iterator(fs::path(environment ? environment : "/nowhere") / "lib", missing))
    if (const fs::path there = python.path() / "site-packages/nvidia/cu13/bin/nvdisasm"; fs::exists(there))
      tool = there;
  const test::Folder folder;
  for (const test::CudaPage& p : test::cuda_pages())
    if (p.name == page)
      std::ofstream(folder / "page.cubin")
          << codegen::compile_cuda(source_of(p.program).text, "sm_90a").value_or_throw().cubin;
  if (std::system((tool + " -c " + folder / "page.cubin" + " > " + folder / "text 2>/dev/null").c_str()) != 0)
    return "";
  std::ifstream text(folder / "text");
  return {std::istreambuf_iterator<char>(text), {}};
}

size_t count(const std::string& text, const std::string& instruction) {
  size_t n = 0;
  for (size_t at = text.find(instruction); at != text.npos; at = text.find(instruction, at + 1)) ++n;
  return n;
}

TEST_F(CodegenCuda, VectorsAreOneInstruction) {
  const std::string vectors = disassembled("vectors"), matmul = disassembled("matmul");
  if (vectors.empty()) GTEST_SKIP() << "skipped: no nvdisasm (pip install nvidia-cuda-nvdisasm)";
  EXPECT_EQ(count(vectors, "LDG.E.128"), 1u) << vectors;
  EXPECT_EQ(count(vectors, "LDG.E.64"), 1u) << vectors;
  EXPECT_EQ(count(vectors, "STG.E.128"), 1u) << vectors;
  EXPECT_EQ(count(matmul, "LDG.E.128"), 2u) << matmul;
  EXPECT_EQ(count(matmul, "STS.128"), 2u) << matmul;
  // Four terms are written out, which a row of A is read for at once.
  EXPECT_EQ(count(matmul, "LDS.128"), 8u) << matmul;
  EXPECT_EQ(count(matmul, "FFMA"), 64u) << matmul;
  EXPECT_EQ(count(matmul, "BAR.SYNC"), 2u) << matmul;
}

// Of each warp 2 x 4 products for 16 terms, whose 2 and 4 fragments it reads once.
TEST_F(CodegenCuda, ProductsOfAWarpAreOneInstruction) {
  const std::string gemm = disassembled("warp_gemm");
  if (gemm.empty()) GTEST_SKIP() << "skipped: no nvdisasm (pip install nvidia-cuda-nvdisasm)";
  EXPECT_EQ(count(gemm, "HMMA.16816.F32.BF16"), 8u) << gemm;
  EXPECT_EQ(count(gemm, "LDSM.16.M88.4"), 2u) << gemm;
  EXPECT_EQ(count(gemm, "LDSM.16.M88.2"), 4u) << gemm;
  EXPECT_EQ(count(gemm, " LDS R") - count(gemm, " LDS RZ"), 0u) << gemm;
  EXPECT_EQ(count(gemm, "LDGSTS.E.BYPASS.128"), 8u) << gemm;
  EXPECT_EQ(count(gemm, " STS"), 0u) << gemm;
  const std::string types = disassembled("warp_products_of_types");
  EXPECT_EQ(count(types, "HMMA.16816.F32 "), 2u) << types;
  EXPECT_EQ(count(types, "HMMA.1688.F32.TF32"), 1u) << types;
  EXPECT_EQ(count(types, "IMMA.16832.S8.S8"), 1u) << types;
}

// Of three slots two are begun before the loop, each with a box of both operands, by instructions of the device's own.
TEST_F(CodegenCuda, BoxesAreOneInstruction) {
  const std::string boxes = disassembled("boxes");
  if (boxes.empty()) GTEST_SKIP() << "skipped: no nvdisasm (pip install nvidia-cuda-nvdisasm)";
  EXPECT_EQ(count(boxes, "UTMALDG.2D"), 4u) << boxes;
  EXPECT_GE(count(boxes, "SYNCS.PHASECHK.TRANS64.TRYWAIT"), 1u) << boxes;
  EXPECT_EQ(count(boxes, "LDG"), count(boxes, "UTMALDG")) << boxes;
  EXPECT_EQ(count(boxes, " STS"), 0u) << boxes;
  EXPECT_EQ(count(boxes, "LDL") + count(boxes, "STL"), 0u) << boxes;
}

// Four products for the 64 terms of an iteration, none of which waits for another; nothing else reads or stores what
// they are of.
TEST_F(CodegenCuda, ProductsOfFourWarpsAreOneInstruction) {
  const std::string gemm = disassembled("group_gemm");
  if (gemm.empty()) GTEST_SKIP() << "skipped: no nvdisasm (pip install nvidia-cuda-nvdisasm)";
  EXPECT_EQ(count(gemm, "HGMMA.64x128x16.F32.BF16"), 4u) << gemm;
  EXPECT_EQ(count(gemm, "UTMALDG.2D"), 4u) << gemm;
  EXPECT_EQ(count(gemm, "LDG"), count(gemm, "UTMALDG")) << gemm;
  EXPECT_EQ(count(gemm, " STS") + count(gemm, " LDS") + count(gemm, "LDL") + count(gemm, "STL"), 0u) << gemm;
}

TEST_F(CodegenCuda, OlderDevicesCopyNoBoxes) {
  for (const test::CudaPage& page : test::cuda_pages()) {
    if (page.name != "boxes") continue;
    const auto built = [&] { return source_of(page.program, "sm_89"); };
    EXPECT_THROW(built(), Error);
  }
}

TEST_F(CodegenCuda, ImagesComeFromTheCache) {
  const std::string text = source_of(kDouble).text;
  const Image first = codegen::compile_cuda(text, "sm_90a").value_or_throw();
  ASSERT_EQ(entries().size(), 1u);
  const std::string entry = entries()[0];
  const fs::file_time_type long_ago = fs::last_write_time(entry) - std::chrono::hours(1);
  fs::last_write_time(entry, long_ago);
  const Image again = codegen::compile_cuda(text, "sm_90a").value_or_throw();
  EXPECT_EQ(again.cubin, first.cubin);
  EXPECT_EQ(again.log, first.log);
  EXPECT_EQ(again.ptx, first.ptx);
  EXPECT_EQ(fs::last_write_time(entry), long_ago) << "it was written again";
  codegen::compile_cuda(text, "sm_80").value_or_throw();
  EXPECT_EQ(entries().size(), 2u);
}

// A function that uses what only the architecture has is no newer device's.
TEST_F(CodegenCuda, NewerDevicesGetTextToTranslate) {
  const std::string text = source_of(kDouble).text;
  const auto ptx = [](const std::string& of, const std::string& arch) {
    return codegen::compile_cuda(of, arch).value_or_throw().ptx;
  };
  EXPECT_NE(ptx(text, "sm_80").find(".target sm_80\n"), std::string::npos);
  EXPECT_NE(ptx(text, "sm_90a").find(".target sm_90\n"), std::string::npos) << ptx(text, "sm_90a");
  const std::string own =
      text + "extern \"C\" __global__ void own() { asm volatile(\"wgmma.fence.sync.aligned;\"); }\n";
  EXPECT_EQ(ptx(own, "sm_90a"), "");
}

TEST_F(CodegenCuda, ADamagedEntryIsMadeAgain) {
  const std::string text = source_of(kDouble).text;
  const Image first = codegen::compile_cuda(text, "sm_90a").value_or_throw();
  const std::string entry = entries().at(0);
  const auto bytes = fs::file_size(entry);
  for (const uintmax_t kept : {uintmax_t{0}, uintmax_t{10}, bytes / 2, bytes - 1}) {
    fs::resize_file(entry, kept);
    EXPECT_EQ(codegen::compile_cuda(text, "sm_90a").value_or_throw().cubin, first.cubin);
    EXPECT_EQ(fs::file_size(entry), bytes);
  }
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(bytes) - 9)
      << "damaged";
  EXPECT_EQ(codegen::compile_cuda(text, "sm_90a").value_or_throw().cubin, first.cubin);
}

TEST_F(CodegenCuda, WhatTheCompilerRefusesIsAnErrorWithItsWords) {
  const Result<Image> refused = codegen::compile_cuda("this is no C", "sm_90a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kBuild);
  EXPECT_NE(refused.error().render().find("kernel.cu(1): error"), std::string::npos) << refused.error().render();
  EXPECT_TRUE(entries().empty());
}

TEST_F(CodegenCuda, AnArchitectureThatTheCompilerIsTooOldForNamesBoth) {
  const Result<Image> refused = codegen::compile_cuda(source_of(kDouble).text, "sm_999");
  ASSERT_FALSE(refused.ok());
  const std::string text = refused.error().render();
  EXPECT_EQ(refused.error().kind, ErrorKind::kBuild);
  EXPECT_NE(text.find("makes no code for sm_999\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pip install --upgrade nvidia-cuda-nvrtc"), std::string::npos) << text;
}

// As where a disk is full, of which only a part is written, or a folder is not ours.
TEST_F(CodegenCuda, WhatCannotBeKeptIsMadeEachTime) {
  const std::string text = source_of(kDouble).text;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit less{100, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &less);
  const Result<Image> made = codegen::compile_cuda(text, "sm_90a"), again = codegen::compile_cuda(text, "sm_90a");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(made.ok() && again.ok());
  EXPECT_EQ(made->cubin, again->cubin);
  EXPECT_TRUE(entries().empty()) << "a part of an image is left";
  const test::Setting nowhere("TW_CACHE_DIR", "/dev/null/cache");
  EXPECT_EQ(codegen::compile_cuda(text, "sm_90a").value_or_throw().cubin, made->cubin);
}

TEST(CudaLog, SaysWhatAFunctionTakes) {
  const std::vector<Resources> all = runtime::cuda::resources_in(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialized in function 'tw_b_0'\n"
      "ptxas info    : Compiling entry function 'tw_a_0' for 'sm_90a'\n"
      "ptxas info    : Function properties for tw_a_0\n"
      "ptxas         .     40 bytes stack frame, 24 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 8192 bytes smem\n"
      "ptxas info    : Compiling entry function 'tw_b_0' for 'sm_90a'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], (Resources{"tw_a_0", 255, 8192, 40, 24, 16, {}}));
  EXPECT_EQ(all[1].registers, 12);
  ASSERT_EQ(all[1].warnings.size(), 1u);
  EXPECT_TRUE(all[1].warnings[0].starts_with("C7510: Potential"));
  EXPECT_TRUE(runtime::cuda::resources_in("").empty());
}

TEST(CudaPlan, SizesAreOfTheCall) {
  const CudaSource source =
      source_of(R"(kernel f(A: float32[n * m], B: out float32[n * m], shift: int32, n: size, m: size):
  alloc t: float32[n * m] global
  if shift > 0i32:
    for by in 0..n blockIdx.y:
      for bx in 0..(m + 63) // 64 blockIdx.x:
        for tx in 0..min(m, 64) threadIdx.x:
          t[by * m + (bx * 64 + tx)] = A[by * m + (bx * 64 + tx)]
)");
  const runtime::cuda::Plan& plan = source.plans[0];
  ASSERT_EQ(plan.launches.size(), 1u);
  int32_t shift = -1;
  int64_t n = 5, m = 130;
  void* scalars[] = {&shift, &n, &m};
  const auto& launch = plan.launches[0];
  EXPECT_EQ(launch.when.evaluate(scalars), 0);
  shift = 3;
  EXPECT_EQ(launch.when.evaluate(scalars), 1);
  EXPECT_EQ(launch.grid[0].evaluate(scalars), 3);
  EXPECT_EQ(launch.grid[1].evaluate(scalars), 5);
  EXPECT_EQ(launch.grid[2].evaluate(scalars), 1);
  EXPECT_EQ(launch.block[0].evaluate(scalars), 64);
  EXPECT_EQ(plan.scratch.at(0).evaluate(scalars), 5 * 130 * 4);
  n = m = int64_t{1} << 40;
  EXPECT_EQ(plan.scratch[0].evaluate(scalars), INT64_MAX) << "more than there is, not less";
}

TEST(CudaPlan, DataDecidesNoLaunch) {
  EXPECT_THROW(source_of(R"(kernel f(A: float32[1024], B: out float32[1024], x: float32):
  if x > 0.0:
    for tx in 0..128 threadIdx.x:
      B[tx] = A[tx]
)"),
               Error);
}

TEST(CudaPlan, WholeVectorsNeedAnAddressThatIsAMultiple) {
  const CudaSource source = source_of(R"(kernel f(A: float32[1024], B: out float16[1024], C: float32[1024]):
  for tx in 0..128 threadIdx.x:
    B[tx * 4 : 4] = float16(A[tx * 4 : 4] + C[tx + 1 : 4])
)");
  EXPECT_EQ(source.plans[0].alignment, (std::vector<int>{16, 8, 4}));
}

}  // namespace
}  // namespace tw
