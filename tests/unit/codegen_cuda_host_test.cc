// The text of the pages of tests/golden/cuda, run on this machine, against the interpreter of the program that it was
// made of: bit for bit, whichever thread goes first.
#include <algorithm>

#include "codegen/c/backend.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/rng.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/unit/cuda_pages.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

constexpr int64_t kSize = 137;  // of each size that a caller decides

std::string program_of(const std::string& name) {
  for (const test::CudaPage& page : test::cuda_pages())
    if (page.name == name) return page.program;
  ADD_FAILURE() << name;
  return {};
}

int64_t elements_of(const ir::Program& program, const ir::Buffer& buffer) {
  ir::Substitution sizes;
  for (const ir::Var& var : program.scalars) sizes[var.id()] = ir::Expr(kSize);
  int64_t count = 1;
  for (const ir::Expr& extent : buffer.shape()) count *= *ir::as_int(ir::simplify(ir::substitute(extent, sizes)));
  return count;
}

// Any bytes but those of floats that are no numbers, whose payload is nobody's promise.
Bytes some_bytes(const ir::Program& program, const ir::Buffer& buffer, support::Rng& rng) {
  const ir::Type type = buffer.element();
  Bytes bytes(static_cast<size_t>(type.bytes_of(elements_of(program, buffer))));
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(rng.below(256));
  if (type.is_float())
    for (size_t at = static_cast<size_t>(type.bytes()) - 1; at < bytes.size(); at += static_cast<size_t>(type.bytes()))
      bytes[at] = static_cast<unsigned char>(0x3c + rng.below(8) + 128 * rng.below(2));
  if (type.is_bool())
    for (unsigned char& byte : bytes) byte &= 1;
  return bytes;
}

class CudaText : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaText, MeansWhatItsProgramMeans) {
  if (!codegen::has_c_compiler()) GTEST_SKIP() << "skipped: no C compiler";
  const ir::Program program = parse(program_of(GetParam()));
  const codegen::CudaSource source = codegen::cuda_source({program}, parse_target("cuda -arch=sm_90a"));
  support::Rng rng(7);
  std::vector<Bytes> data;
  for (const ir::Param& param : program.params) data.push_back(some_bytes(program, param.buffer, rng));
  std::vector<uint64_t> scalars(program.scalars.size(), kSize);
  std::vector<void*> scalars_at;
  for (uint64_t& value : scalars) scalars_at.push_back(&value);

  std::vector<Bytes> expected = data;
  std::vector<ir::InterpBuffer> buffers;
  for (Bytes& bytes : expected) buffers.push_back({bytes.data(), bytes.size()});
  const Status status = ir::interpret(program, buffers, {.scalars = scalars});
  ASSERT_TRUE(status.ok()) << status.error().render();

  const tw::testing::CudaOnHost text(source);
  for (const auto order : {tw::testing::ThreadOrder::kForwards, tw::testing::ThreadOrder::kBackwards}) {
    std::vector<Bytes> got = data;
    std::vector<void*> at;
    for (Bytes& bytes : got) at.push_back(bytes.data());
    text.run(source.plans[0], at, scalars_at.data(), order);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i] == expected[i]) << program.params[i].buffer.name();
  }
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
