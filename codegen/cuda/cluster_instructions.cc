#include "codegen/cuda/cluster_instructions.h"

#include <string>

namespace tw::codegen {

namespace {

// A cluster has one index of blocks, so that a block's rank in it is that index.
constexpr const char* kSync = R"(
static __device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}
)";

// A lane of the warp for each block.
constexpr const char* kArrive = R"(
static __device__ inline void mbarrier_arrive_cluster(uint64_t* barrier, unsigned blocks) {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  __syncwarp();
  if (lane < blocks)
    asm volatile("{\n .reg .b32 theirs;\n mapa.shared::cluster.u32 theirs, %0, %1;\n"
                 " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [theirs];\n}"
                 :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(lane) : "memory");
}
)";

// What other blocks did before they arrived is seen.
constexpr const char* kWait = R"(
static __device__ inline void mbarrier_wait_cluster(uint64_t* barrier, int parity) {
  unsigned done;
  do {
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 " selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(parity) : "memory");
  } while (done == 0);
}
)";

// A box to one place of all blocks of the mask, each of which counts it at one place's barrier. Coordinates are
// innermost first.
Instruction multicast(int rank) {
  const std::string name = "tma_multicast_" + std::to_string(rank) + "d";
  std::string parameters, operands, values;
  for (int d = 0; d < rank; ++d) {
    parameters += "int c" + std::to_string(d) + ", ";
    operands += (d > 0 ? ", %" : "%") + std::to_string(4 + d);
    values += ", \"r\"(c" + std::to_string(d) + ")";
  }
  return {name, "\nstatic __device__ inline void " + name + "(void* to, const TensorMap* map, " + parameters +
                    "uint64_t* barrier, unsigned short blocks) {\n"
                    "  asm volatile(\"cp.async.bulk.tensor." +
                    std::to_string(rank) +
                    "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \"\n"
                    "               \"[%0], [%1, {" +
                    operands +
                    "}], [%2], %3;\"\n"
                    "               :: \"r\"(static_cast<unsigned>(__cvta_generic_to_shared(to))), \"l\"(map),\n"
                    "                  \"r\"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "
                    "\"h\"(blocks)" +
                    values + " : \"memory\");\n}\n"};
}

}  // namespace

std::vector<Instruction> cluster_instructions() {
  std::vector<Instruction> out = {
      {"cluster_sync", kSync}, {"mbarrier_arrive_cluster", kArrive}, {"mbarrier_wait_cluster", kWait}};
  for (int rank = 1; rank <= 5; ++rank) out.push_back(multicast(rank));
  return out;
}

}  // namespace tw::codegen
