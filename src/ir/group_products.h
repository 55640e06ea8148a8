// Products of a group of four warps, the 128 threads from a multiple of 128 on, as calls by name within a launch:
//
//   call(int32, "wgmma.fence")
//   call(int32, "wgmma.m64n128k16.bf16", address(inout c[0]),
//        address(in A[turn % 3, 0, 16]), address(in B[turn % 3, 0, 16]), 128, 0, 128, 0)
//   call(int32, "wgmma.commit")
//   call(int32, "wgmma.wait", 0)
//
// c = c + a * b, of m x k times k x n. Of "wgmma.m64nNk8.tf32" the operands are float32 that is rounded to 11 bits
// already (tf32.h): the device leaves the others out. Each of the 128 has a part of c in local memory, as a lane map
// says (warp_products.h). An operand lies in shared memory, in lines of 32, 64 or 128 bytes one below the other whose
// parts of 16 bytes are exchanged as `swizzle` has it; it begins at a line that is a multiple of eight. Lines are rows
// of a or columns of b, and go along k; or, where the number behind their bytes is not 0, lines are steps of k. Where a
// step takes several lines, this number says how many lines further on the next of them is:
//
//   call(int32, "wgmma.m64n128k16.bf16", .., address(in B[turn % 3, 0, 16, 0]), 128, 0, 128, 64)   // B[3, 2, 64, 64]
//
// The device computes later: until a wait that covers it nobody touches c, nor writes what the operands are, but for
// products that go on with the same sums. `commit` ends a batch, `wait n` waits for all but the last n batches. What a
// thread did to c before is there for a product after `fence`. What threads have stored to an operand is there if each
// of them comes to
//
//   call(int32, "fence.async")
//
// before the barrier behind which the product stands; boxes that the device copies need none.
//
// The four warps give registers back, or take more, where blocks have some to spare: so many each thread has then.
//
//   call(int32, "setmaxnreg.dec", 40)
//   call(int32, "setmaxnreg.inc", 232)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/ir/warp_products.h"

namespace tw::ir {

inline constexpr int kLanesOfGroup = 128;
inline constexpr int64_t kLinesOfAtom = 8;  // from a multiple of so many on an operand begins

std::span<const WarpProduct> group_products();
// Of either kind; null: there is none of this name.
const WarpProduct* device_product(std::string_view symbol);

enum class GroupOp : uint8_t { kFence, kProduct, kCommit, kWait, kAsyncFence, kGiveRegisters, kTakeRegisters };

inline constexpr int64_t kLeastRegisters = 24, kMostRegisters = 256, kRegistersStep = 8;  // of a thread

struct GroupOperand {
  Address at{};
  int64_t line = 0;         // bytes
  bool along_lines = true;  // the terms; else a line is a step of k
  int64_t apart = 1;        // lines, from one of a step to the next of it
};
struct GroupCall {
  GroupOp op = GroupOp::kFence;
  const WarpProduct* product = nullptr;
  Address sums{};
  GroupOperand left{}, right{};
  int64_t count = 0;  // of a wait; or registers
};

bool is_of_group(std::string_view symbol);
bool is_of_group(const Stmt&);
std::string group_fault(const CallExtern&);  // empty where it is such a call as above
GroupCall group_call(const CallExtern&);     // of one without a fault
std::optional<GroupCall> group_call(const Stmt&);
Stmt group_stmt(const GroupCall&);

// An operand as its lines lie: how many, how many elements of each, and how often that, for lines of which a step has
// several.
struct GroupLines {
  int64_t count, elements, panels = 1;
};
GroupLines lines_of(const WarpProduct&, const GroupOperand&, Fragment);
// The dimension of a buffer along which lines of a step are, `apart` of them; its rank: none is.
size_t dimension_of_panels(const std::vector<Expr>& shape, int64_t apart);

}  // namespace tw::ir
