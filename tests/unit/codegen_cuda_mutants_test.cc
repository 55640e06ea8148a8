// Would a wrong text of a kernel be noticed? Mistakes of an emitter, each planted into the text of a launch: what this
// machine makes of the text then is not what the interpreter makes of its program.
#include "codegen/c/backend.h"
#include "tests/unit/cuda_text.h"

namespace tw {
namespace {

struct Mutant {
  const char* what;
  const char* program;  // a page of tests/golden/cuda, or the program itself
  const char *right, *wrong;
};

constexpr const char* kBytes =
    "kernel f(A: uint8[64], B: uint8[64], C: out int32[64]):\n"
    "  for tx in 0..64 threadIdx.x:\n"
    "    C[tx] = int32(A[tx] + B[tx]) - int32(A[tx])\n";
constexpr const char* kShifts =
    "kernel f(A: int32[64], B: uint32[64], E: int32[64], C: out int32[64], D: out uint32[64]):\n"
    "  for tx in 0..64 threadIdx.x:\n"
    "    C[tx] = (A[tx] >> 3) - (A[tx] - (E[tx] - 5))\n"
    "    D[tx] = B[tx] >> B[tx]\n";
constexpr const char* kFloats =
    "kernel f(A: float32[64], B: float32[64], N: uint8[64], C: out float32[64], D: out float32[64], E: out "
    "bfloat16[64]):\n"
    "  for tx in 0..64 threadIdx.x:\n"
    "    C[tx] = max(select(A[tx] < 0.0, nan, A[tx]), B[tx])\n"
    "    D[tx] = A[tx] * 0.1 + B[tx]\n"
    "    E[tx] = bfloat16(float32(int32(N[tx]) + 257))\n";

constexpr Mutant kMutants[] = {
    {"a parenthesis around what is subtracted", "large_shared", "16383 - (i * 256 + tx)", "16383 - i * 256 + tx"},
    {"a parenthesis around a difference of data", kShifts, "A[tx] - (E[tx] - 5)", "A[tx] - E[tx] - 5"},
    {"a parenthesis around a mask", "integers", "B[tx] & 31", "B[tx] & 15"},
    {"bytes that stay as wide as C makes them", kBytes, "(uint8_t)(A[tx] + B[tx])", "(A[tx] + B[tx])"},
    {"a number of type double among floats", kFloats, "0.1f", "0.1"},
    {"a shift that takes the sign along", kShifts, "B[tx] >> (B[tx] & 31)", "(int32_t)B[tx] >> (B[tx] & 31)"},
    {"a shift that does not", kShifts, "A[tx] >> 3", "(int32_t)((uint32_t)A[tx] >> 3)"},
    {"a quotient that truncates", "integers", "a / b - (a % b != 0 && (a < 0) != (b < 0))", "a / b"},
    {"a remainder of the dividend's sign", "integers", "? r + b : r", "? r : r"},
    {"a conversion that wraps", "integers", "x >= (float)UINT8_MAX ? UINT8_MAX : (uint8_t)x", "(uint8_t)(int)x"},
    {"a number rounded to another half", kFloats, "f32_to_bf16((float)", "f32_to_f16((float)"},
    {"the larger of a NaN and a number", kFloats, "a > b ? a : b", "a < b ? b : a"},
    {"the smaller taken for the larger", "registers", "return a < b ? a : b", "return a < b ? b : a"},
    {"a fused product that nobody asked for", "vectors", "A_v.at[l] * a + f16_to_f32(B_v.at[l])",
     "fmaf(A_v.at[l], a, f16_to_f32(B_v.at[l]))"},
    {"a half that is taken for its bits", "vectors", "f16_to_f32(B_v.at[l])", "(float)B_v.at[l]"},
    {"a lane's value in all lanes", "vectors", "A_v.at[l] * a", "A_v.at[0] * a"},
    {"a row's stride", "warp_products", "&A[tx / 4 * 16 + tx % 4 * 2 + 8]", "&A[tx / 4 * 8 + tx % 4 * 2 + 8]"},
    {"the lane map of an operand: halves of the rows", "warp_products", "tx / 4 * 16 + tx % 4 * 2 + 128",
     "tx / 4 * 16 + tx % 4 * 2 + 136"},
    {"the lane map of a sum", "warp_products", "C[tx * 2 + 64] = c[2]", "C[tx * 2 + 64] = c[3]"},
    {"the lane map of bytes", "warp_products_of_types", "i / 8 * 16 + i % 4 + i / 4 % 2 * 256",
     "i / 4 % 2 * 16 + i % 4 + i / 8 * 256"},
    {"a load of matrices that transposes", "warp_gemm", "ldmatrix_x4(&", "ldmatrix_x4_trans(&"},
    {"the lane of an exchange", "shuffle", "&v[i], (tx + 1) & 31", "&v[i], (tx + 31) & 31"},
    {"half of the numbers whose largest is asked", "maxima", "max_bf16<32>", "max_bf16<16>"},
    {"the slot of a ring", "copies", "(k + 2) % 3 * 256", "(k + 1) % 3 * 256"},
    {"a wait for one group less", "copies", "cp_async_wait<1>();", "cp_async_wait<2>();"},
    {"the step of the terms of an operand", "group_products", "&a[t % 3 * 2048 + 16]", "&a[t % 3 * 2048 + 8]"},
    {"the lines of an operand", "group_products", "wgmma_matrix<64>(&b", "wgmma_matrix<128>(&b"},
    {"how far apart lines of a step are", "group_wide", "[t * 4096], 32)", "[t * 4096], 24)"},
    {"the panel of a box", "group_wide", "&B_shared[t * 4096 + 2048]", "&B_shared[t * 4096 + 1024]"},
    {"a wait for a batch less", "group_products", "wgmma_wait<0>();", "wgmma_wait<1>();"},
    {"the lane map of four warps", "group_products", "tx / 32 * 128", "tx / 64 * 256"},
    {"the parity of a turn", "boxes", "k_o / 3 % 2", "(k_o / 3 + 1) % 2"},
    {"turns that each tile counts anew", "persistent_gemm", "(i_o_j_o_o + (i_o_j_o_o + k_o) / 3) & 1", "k_o / 3 % 2"},
    {"the tile that a turn is of", "persistent_gemm", "i_o_j_o_o * 128 + (k_o + 2) / 4 * 128", "i_o_j_o_o * 128"},
    {"16 bytes fewer than a turn brings", "boxes", "&full[(k_o + 2) % 3], 8192)", "&full[(k_o + 2) % 3], 8176)"},
    {"the slot of a box", "boxes", "&AS[(k_o + 2) % 3 * 1024]", "&AS[(k_o + 1) % 3 * 1024]"},
    {"coordinates of a box", "boxes", "&B_map, bx * 32, k_o * 32 + 64", "&B_map, k_o * 32 + 64, bx * 32"},
    {"rows and columns of what is copied", "copies", "&A[tx / 2 * 64 + tx % 2 * 4 + slot",
     "&A[tx % 2 * 64 + tx / 2 * 4 + slot"},
    {"a barrier of the block where the cluster meets", "cluster", "cluster_sync();", "__syncthreads();"},
    {"a box to one block of two", "cluster", "&full[t % 3], 3);", "&full[t % 3], 1);"},
    {"the part that a block brings", "cluster", "&b[by * 128 + t % 3 * 256]", "&b[t % 3 * 256]"},
    {"who hears that a slot is read", "cluster_roles", "mbarrier_arrive_cluster(&free[(t + 2) % 3], 2)",
     "mbarrier_arrive_cluster(&free[(t + 2) % 3], 1)"},
    {"a barrier", "row_sum", "__syncthreads();\n  if (tx < 16)", "if (tx < 16)"},
    {"a guard of the threads", "row_sum", "if (tx < 32)", "if (tx < 31)"},
    {"a guard of the last block", "pointwise", "if ((int64_t)bx * 128 + tx < n)", "if ((int64_t)bx * 128 + tx < 128)"},
    {"the number of iterations", "row_sum", "k - tx + 127", "k - tx"},
    {"a guard of a vector that is read", "guarded_beside", "if (tx < 8) {", "if (true) {"},
    {"where a buffer begins in a block's memory", "large_shared", "shared_memory + 65536", "shared_memory + 65280"},
    {"an index of another axis", "tvm_argmax", "const int ty = threadIdx.y", "const int ty = threadIdx.x"},
};

std::string replaced(std::string text, const Mutant& mutant) {
  const size_t at = text.find(mutant.right);
  if (at == text.npos) {
    ADD_FAILURE() << "no longer in the text: " << mutant.right << "\n" << text;
    return text;
  }
  return text.replace(at, std::string(mutant.right).size(), mutant.wrong);
}

TEST(CudaMutants, EachIsFound) {
  if (!codegen::has_c_compiler()) GTEST_SKIP() << "skipped: no C compiler";
  for (const Mutant& mutant : kMutants) {
    SCOPED_TRACE(mutant.what);
    const std::string program = mutant.program;
    test::CudaText text(program.starts_with("kernel") ? program : test::CudaText::page(program));
    if (program.starts_with("kernel")) {
      EXPECT_EQ(text.differs(tw::testing::CudaOnHost(text.source)), "");
    }
    codegen::CudaSource wrong = text.source;
    wrong.text = replaced(wrong.text, mutant);
    EXPECT_NE(text.differs(tw::testing::CudaOnHost(wrong)), "") << "found by nobody";
  }
}

}  // namespace
}  // namespace tw
