// The text of the pages of tests/golden/cuda, run on this machine, against the interpreter of the program that it was
// made of: bit for bit, whichever thread goes first.
#include <algorithm>

#include "codegen/c/backend.h"
#include "tests/unit/cuda_text.h"

namespace tw {
namespace {

class CudaText : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaText, MeansWhatItsProgramMeans) {
  if (!codegen::has_c_compiler()) GTEST_SKIP() << "skipped: no C compiler";
  test::CudaText text(test::CudaText::page(GetParam()));
  EXPECT_EQ(text.differs(tw::testing::CudaOnHost(text.source)), "");
}

// Those that have a text, not a refusal, and are no more work than the interpreter does in a second.
std::vector<std::string> pages() {
  std::vector<std::string> names;
  for (const test::CudaPage& page : test::cuda_pages())
    if (page.name != "matmul") names.push_back(page.name);
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Pages, CudaText, ::testing::ValuesIn(pages()), [](const auto& info) { return info.param; });

TEST(CudaOnHost, FindsABarrierThatSomeThreadsDoNotReach) {
  if (!codegen::has_c_compiler()) GTEST_SKIP() << "skipped: no C compiler";
  const ir::Program program = parse(
      "kernel f(C: out float32[64]):\n  for tx in 0..64 threadIdx.x:\n    if tx < 32:\n      sync block\n    C[tx] = "
      "1.0\n");
  const codegen::CudaSource source = codegen::cuda_source({program}, parse_target("cuda -arch=sm_90a"));
  Bytes out(256);
  void* const at[] = {out.data()};
  EXPECT_THROW(tw::testing::CudaOnHost(source).run(source.plans[0], at, nullptr), Error);
}

TEST(CudaOnHost, AMissingBarrierShowsInOneOfTheOrders) {
  if (!codegen::has_c_compiler()) GTEST_SKIP() << "skipped: no C compiler";
  const ir::Program program = parse(
      "kernel f(A: float32[64], C: out float32[64]):\n  for tx in 0..64 threadIdx.x:\n    alloc t: float32[64] shared\n"
      "    t[tx] = A[tx]\n    C[tx] = t[63 - tx]\n");
  const codegen::CudaSource source = codegen::cuda_source({program}, parse_target("cuda -arch=sm_90a"));
  Bytes in(256, 1), forwards(256), backwards(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i / 4);
  const tw::testing::CudaOnHost text(source);
  text.run(source.plans[0], std::vector<void*>{in.data(), forwards.data()}, nullptr);
  text.run(source.plans[0], std::vector<void*>{in.data(), backwards.data()}, nullptr,
           tw::testing::ThreadOrder::kBackwards);
  EXPECT_NE(forwards, backwards);
}

}  // namespace
}  // namespace tw
