#include "codegen/cuda/group_instructions.h"

#include <algorithm>

#include "src/ir/group_products.h"

namespace tw::codegen {

namespace {

// Of a matrix whose lines are swizzled whole: where it begins, and how far apart eight lines are, in units of 16 bytes;
// of one whose steps have several lines, how far apart these are, too. Of others nobody asks that, and it is 1.
constexpr const char* kMatrix = R"(
template <int line>
static __device__ inline uint64_t wgmma_matrix(const void* at, int apart = 0) {
  constexpr uint64_t swizzle = line == 128 ? 1 : line == 64 ? 2 : 3;
  const uint64_t beside = apart ? apart * line / 16 : 1;
  return (static_cast<uint64_t>(__cvta_generic_to_shared(at)) & 0x3ffff) >> 4 | beside << 16 |
         static_cast<uint64_t>(8 * line / 16) << 32 | swizzle << 62;
}
)";

constexpr const char* kFence = R"(
static __device__ inline void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
)";
// What a thread does to sums is done before a fence, and not where the compiler finds it to be early enough: moved
// behind it, it would have the assembler wait for each product.
constexpr const char* kSums = R"(
template <int registers>
static __device__ inline void wgmma_sums(float* c) {
  #pragma unroll
  for (int i = 0; i < registers; ++i) asm volatile("" : "+f"(c[i]) :: "memory");
}
template <int registers>
static __device__ inline void wgmma_sums(int* c) {
  #pragma unroll
  for (int i = 0; i < registers; ++i) asm volatile("" : "+r"(c[i]) :: "memory");
}
)";
constexpr const char* kCommit = R"(
static __device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
)";
constexpr const char* kWait = R"(
template <int batches>
static __device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(batches) : "memory");
}
)";
constexpr const char* kGiveRegisters = R"(
template <int registers>
static __device__ inline void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(registers));
}
)";
constexpr const char* kTakeRegisters = R"(
template <int registers>
static __device__ inline void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(registers));
}
)";
constexpr const char* kAsyncFence = R"(
static __device__ inline void fence_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
)";

// "a0, a1, .." in lines of eight.
template <class F>
std::string listed(int count, const std::string& indent, const F& one) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : i % 8 == 0 ? "," + indent : ", ") + one(i);
  return text;
}

Instruction product_text(const ir::WarpProduct& p) {
  std::string name(p.name);
  std::ranges::replace(name, '.', '_');
  const bool halves = p.operand.bits == 16, floats = p.sum.is_float();
  const std::string type = name.substr(name.rfind('_') + 1), sum = floats ? "f32" : "s32";
  const int registers = ir::elements_of(p, ir::Fragment::kSum);
  const auto number = [](int n) { return "%" + std::to_string(n); };
  std::string text = halves ? "\ntemplate <int a_by_terms, int b_by_terms>" : "";
  text += "\nstatic __device__ inline void " + name + "(" + (floats ? "float" : "int32_t") +
          "* c, uint64_t a, uint64_t b) {\n";
  text +=
      "  asm volatile(\"{\\n .reg .pred p;\\n setp.ne.b32 p, 1, 0;\\n\"\n               \" "
      "wgmma.mma_async.sync.aligned." +
      name.substr(6, name.rfind('_') - 6) + "." + sum + "." + type + "." + type + " \"\n               \"{" +
      listed(registers, " \"\n               \"", number) + "}, \"\n               \"" + number(registers) + ", " +
      number(registers + 1) + ", p" + (floats ? ", 1, 1" : "") +
      (halves ? ", " + number(registers + 2) + ", " + number(registers + 3) : "") + ";\\n}\"\n               : ";
  text += listed(registers, "\n                 ",
                 [&](int i) { return std::string(floats ? "\"+f\"" : "\"+r\"") + "(c[" + std::to_string(i) + "])"; });
  text += "\n               : \"l\"(a), \"l\"(b)" +
          std::string(halves ? ", \"n\"(a_by_terms), \"n\"(b_by_terms)" : "") + ");\n}\n";
  return {std::move(name), std::move(text)};
}

}  // namespace

std::vector<Instruction> group_instructions() {
  std::vector<Instruction> all = {{"wgmma_sums", kSums},
                                  {"wgmma_fence", kFence},
                                  {"wgmma_commit", kCommit},
                                  {"wgmma_wait", kWait},
                                  {"fence_async", kAsyncFence},
                                  {"setmaxnreg_dec", kGiveRegisters},
                                  {"setmaxnreg_inc", kTakeRegisters},
                                  {"wgmma_matrix", kMatrix}};
  for (const ir::WarpProduct& p : ir::group_products()) all.push_back(product_text(p));
  return all;
}

}  // namespace tw::codegen
