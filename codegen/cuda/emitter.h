// Lowered programs -> the text of one CUDA C++ file and the plans of its launches. Private to codegen/cuda.
//
// emit_file.cc drives and writes what stands around the functions; emit_launch.cc writes a function and its part of the
// plan; emit_device.cc writes statements that are a device's own. Values and other statements: codegen/c/emitter.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/c/emitter.h"
#include "codegen/cuda/launches.h"
#include "codegen/cuda/source.h"
#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"

namespace tw::codegen {

class CudaEmitter : public CEmitter {
 public:
  explicit CudaEmitter(const Target& target) : CEmitter("static __device__ inline", true), target_(target) {}
  CudaSource file(const std::vector<ir::Program>& programs);

 private:
  CText emit_extern(const ir::CallExtern& call, ir::Type type) override;
  std::string half_cast(ir::Type from, ir::Type to) override;
  std::string access(const ir::Buffer& buffer, const std::vector<ir::Expr>& at) override;
  void emit_store(const ir::Store& store, bool alone) override;
  void emit_for(const ir::For& loop) override;
  void emit_allocate(const ir::Allocate& alloc) override;
  void emit_evaluate(const ir::Expr& value) override;
  void emit_sync(const ir::Sync& sync) override;
  bool counts_registers(const ir::For& loop) const;
  std::string whole_vector(const ir::Buffer& buffer, const std::vector<ir::Expr>& at, bool read);
  std::string vector_type(ir::Type element, int64_t lanes);
  void emit_async(const ir::AsyncCall& call);                      // a copy of a box, or what is done with its barrier
  void emit_group(const ir::GroupCall& call, const ir::Expr& at);  // of four warps
  bool emit_maxima(const ir::For& loop);                           // of registers; false where it is another loop
  bool emit_copy(const ir::Store& store);            // that arrives later; false where it is too narrow for one
  std::string instruction(const std::string& name);  // which the file needs

  // A function, and its part of the plan.
  void emit_program(const ir::Program& program);
  void emit_launch(const ir::Program& program, const DeviceLaunch& launch);
  std::string parameters(const ir::Program& program, const ir::Stmt& body, runtime::cuda::Launch& out);
  void plan_sizes(const ir::Program& program, const DeviceLaunch& launch, runtime::cuda::Launch& out);
  void plan_boxes(const ir::Program& program, const DeviceLaunch& launch, const ir::Stmt& body,
                  runtime::cuda::Launch& out);
  void plan_group_operands(const ir::Program& program, const ir::Stmt& body);
  int64_t alignment_of(const ir::Buffer& shared) const;
  std::string map_parameter(size_t number) const;
  void plan_shared(const ir::Program& program, const ir::Stmt& body, runtime::cuda::Launch& out);
  void bind_axes(const DeviceLaunch& launch);
  ir::Program meaning_of(const ir::Program& program, const DeviceLaunch& launch,
                         const runtime::cuda::Launch& planned) const;

  const Target& target_;
  std::vector<ir::Buffer> scratch_;       // of the program at hand
  std::map<uint64_t, int64_t> in_block_;  // of shared buffers where they begin in the dynamic block, if there is one
  std::unordered_set<uint64_t> vectors_;  // of the function at hand
  struct Boxes {
    ir::AsyncCall load;  // the first that copies such
    std::string name;
  };
  std::vector<Boxes> maps_;                      // of the function at hand
  int64_t in_cluster_ = 1;                       // blocks
  std::unordered_map<uint64_t, int64_t> boxes_;  // of shared buffers that boxes go to, or products read: alignment
  // Of each fence the sums of the products that follow it, and of those that are declared how many registers.
  std::unordered_map<const ir::ExprNode*, std::vector<ir::Buffer>> fenced_;
  std::unordered_map<uint64_t, int64_t> sums_;
  // A file has one such array for all functions, and its alignment is what any of them needs.
  static constexpr const char* kSharedMemory = "extern __shared__ unsigned char shared_memory[];";
  int64_t shared_alignment_ = 16;
  std::map<std::string, std::string> vector_types_;
  std::set<std::string> instructions_;  // that are used
  std::string functions_;               // finished ones
  std::vector<runtime::cuda::Plan> plans_;
  std::vector<ir::Program> functions_of_plans_;
};

}  // namespace tw::codegen
