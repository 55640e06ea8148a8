// Products of four warps, and what is said around them.
#include <algorithm>

#include "codegen/cuda/emitter.h"
#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/walk.h"
#include "src/target/cuda.h"

namespace tw::codegen {

using ir::GroupCall;
using ir::GroupOp;

// Their operands begin where a swizzle begins to count, as boxes do. One generation of devices has them.
void CudaEmitter::plan_group_operands(const ir::Program& program, const ir::Stmt& body) {
  fenced_.clear();
  sums_.clear();
  std::vector<ir::Buffer>* fenced = nullptr;
  ir::walk(body, [&](const ir::Stmt& s) {
    const auto call = ir::group_call(s);
    if (call && call->op == GroupOp::kFence) fenced = &fenced_[ir::as<ir::Evaluate>(s)->value.get()];
    if (!call || !call->product) return true;
    const ir::Buffer& sums = call->sums.buffer;
    sums_[sums.id()] = 0;
    if (fenced && std::ranges::find(*fenced, sums) == fenced->end()) fenced->push_back(sums);
    const auto capability = target::cuda::capability_of(target_.arch);
    if (capability.major != 9 || !capability.exact)
      throw Error({ErrorKind::kTarget,
                   "build: " + program.name + ": " + std::string(call->product->name) +
                       " is an instruction of sm_90a, which " + target_.arch + " has not",
                   {},
                   {"tensorize by mma.m16n8k16, or build for sm_90a"}});
    for (const ir::GroupOperand* operand : {&call->left, &call->right}) {
      int64_t& aligned = boxes_[operand->at.buffer.id()];
      aligned = std::max(aligned, ir::box_alignment(operand->line));
    }
    return true;
  });
}

void CudaEmitter::emit_group(const GroupCall& call, const ir::Expr& at) {
  switch (call.op) {
    case GroupOp::kFence:
      for (const ir::Buffer& sums : fenced_[at.get()])
        if (const int64_t registers = sums_[sums.id()]; registers > 0)
          line(instruction("wgmma_sums") + "<" + std::to_string(registers) + ">(&" + access(sums, {ir::Expr(0)}) +
               ");");
      return line(instruction("wgmma_fence") + "();");
    case GroupOp::kCommit:
      return line(instruction("wgmma_commit") + "();");
    case GroupOp::kWait:
      return line(instruction("wgmma_wait") + "<" + std::to_string(call.count) + ">();");
    case GroupOp::kAsyncFence:
      return line(instruction("fence_async") + "();");
    case GroupOp::kGiveRegisters:
    case GroupOp::kTakeRegisters:
      return line(instruction(call.op == GroupOp::kTakeRegisters ? "setmaxnreg_inc" : "setmaxnreg_dec") + "<" +
                  std::to_string(call.count) + ">();");
    case GroupOp::kProduct:
      break;
  }
  begin_statement({call.sums.at[0], call.left.at.at[0], call.right.at.at[0]});
  std::string name(call.product->name);
  std::ranges::replace(name, '.', '_');
  std::string text = instruction(name);
  if (call.product->operand.bits == 16)
    text += std::string("<") + (call.left.along_lines ? "0" : "1") + ", " + (call.right.along_lines ? "0" : "1") + ">";
  text += "(&" + access(call.sums.buffer, call.sums.at);
  for (const ir::GroupOperand* operand : {&call.left, &call.right})
    text += ", " + instruction("wgmma_matrix") + "<" + std::to_string(operand->line) + ">(&" +
            access(operand->at.buffer, operand->at.at) +
            (operand->apart > 1 ? ", " + std::to_string(operand->apart) : "") + ")";
  line(text + ");");
}

}  // namespace tw::codegen
