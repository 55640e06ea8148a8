// Where the values of each stage are kept, and how an access to a whole tensor becomes one to that place.
//
//   P, computed at C's loop io, has lo = io*4 there and is kept in P[5]:     P[io*4 + x]  ==>  P[x]
//   rolling_buffer keeps the last iterations' too, in turn:                  P[io*4 + x]  ==>  P[(io*4 + x) % 5]
//   double_buffer keeps two regions:                                         P[io*4 + x]  ==>  P[io % 2, x]
//   pipeline keeps a ring of them, in memory that threads share:             P[io*4 + x]  ==>  P[io % 3, x]
//   transform_layout keeps P in P[2, 4]:                                     P[io*4 + x]  ==>  P[x // 4, x % 4]
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/layout.h"
#include "schedule/sliding.h"
#include "schedule/swizzling.h"

namespace tw::schedule {

// The caller's buffers, by stage: one for each output, empty for those that are not in the argument list.
using Arguments = std::unordered_map<int, std::vector<ir::Buffer>>;

// Of the scratch of an output: the stage's, and of a tuple which component it holds.
std::string buffer_name(const StageNest&, size_t output);

// The buffers whose elements change their values: of sums, and those whose slots come round again.
std::vector<std::string> changing_buffers(const LoopNest&);

class Storage {
 public:
  Storage(const LoopNest&, const Placement&, const NestBounds&, std::vector<Slide>, IndexMaps, const Arguments&);

  // Whether the stage is kept whole, so that its root axes are its subscripts.
  bool whole(int stage) const;
  // One for each output.
  const std::vector<ir::Buffer>& buffers(int stage) const { return buffers_[stage]; }
  const Slide& slide(int stage) const { return slides_[stage]; }

  // Where an element that is `at` in the region of a stage stands in its buffers.
  std::vector<ir::Expr> position(int stage, std::vector<ir::Expr> at, bool swizzled = true) const;
  // A load from a whole tensor, from where it is kept; or, of one that swizzle keeps, from where it was without.
  ir::Expr redirected(const ir::Load&, int source, bool swizzled = true) const;
  // Gives the places without an element of a stage's buffers the declared value.
  ir::Stmt padding(int stage) const;
  // A statement over whole tensors, over what is kept of them; over the memory of those that have a layout. Subscripts
  // may be vectors; no stage it touches slides.
  ir::Stmt relocated(const ir::Stmt&) const;
  // How far apart the elements of a tensor are kept whose subscripts, of the memory where there is a layout, differ by
  // `factor`.
  ir::Expr apart(const ir::Buffer& tensor, const std::vector<int64_t>& factor) const;
  // The number of the element with these subscripts, among those that are kept.
  ir::Expr offset(const ir::Buffer& tensor, const std::vector<ir::Expr>& at) const;

 private:
  ir::Buffer scratch(int stage, size_t output, bool root, Scope) const;
  std::vector<Extent> region(int stage) const;
  std::vector<ir::Expr> memory(int stage, std::vector<ir::Expr> at, bool as_swizzled = true) const;
  static std::vector<ir::Expr> strides_of(const ir::Buffer&);
  std::pair<ir::Buffer, std::vector<ir::Expr>> moved(const ir::Buffer& tensor, const std::vector<ir::Expr>& at) const;

  const LoopNest& nest_;
  const NestBounds& all_;
  const Arguments& arguments_;
  std::vector<Slide> slides_;  // of each stage
  IndexMaps layouts_;
  std::vector<Swizzling> swizzlings_;             // of each stage
  std::vector<std::vector<ir::Buffer>> buffers_;  // of each stage
};

}  // namespace tw::schedule
