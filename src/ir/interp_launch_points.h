// Points of a launch: its blocks, or the threads of a block.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "src/ir/interp_program.h"
#include "src/ir/walk.h"

namespace tw::ir::interp {

struct LaunchIndex {
  ForNode loop;
  ForKind kind;
  ExprPtr extent;
};

// Of several indices, the points and their numbers: x counts fastest.
class Points {
 public:
  Points(const std::vector<LaunchIndex>& indices, State& s) : indices_(indices) {
    for (const LaunchIndex& index : indices) {
      s.forget();
      extents_[axis(index)] = index.extent->eval(s).i;
    }
    for (const int64_t extent : extents_)
      if (__builtin_mul_overflow(count_, extent, &count_)) count_ = std::numeric_limits<int64_t>::max();
  }

  int64_t count() const { return count_; }
  // Of blocks: how many are a cluster, and the number of one of a cluster.
  int64_t in_cluster() const {
    int64_t blocks = 1;
    for (const LaunchIndex& index : indices_)
      if (is_cluster(index.kind)) blocks *= extents_[axis(index)];
    return blocks;
  }
  int64_t of_cluster(int64_t cluster, int64_t which) const {
    int64_t below = 1, blocks = 1;
    for (const LaunchIndex& index : indices_) {
      if (!is_cluster(index.kind)) continue;
      blocks = extents_[axis(index)];
      for (size_t d = 0; d < axis(index); ++d) below *= extents_[d];
    }
    return cluster / below * below * blocks + which * below + cluster % below;
  }
  int64_t at(const LaunchIndex& index, int64_t number) const {
    for (size_t d = 0; d < axis(index); ++d) number /= extents_[d];
    return number % extents_[axis(index)];
  }
  void enter(int64_t number, ThreadState& s) const {
    for (const LaunchIndex& index : indices_) {
      s.slots[index.loop.slot].i = at(index, number);
      s.loops.push_back(&index.loop);
    }
  }
  void leave(ThreadState& s) const { s.loops.resize(s.loops.size() - indices_.size()); }
  std::string name(int64_t number) const {
    std::string out;
    for (const LaunchIndex& index : indices_)
      out += (out.empty() ? "" : ", ") + index.loop.name + " = " + std::to_string(at(index, number));
    return out;
  }

 private:
  static size_t axis(const LaunchIndex& index) { return static_cast<size_t>(dimension_of(index.kind)); }

  const std::vector<LaunchIndex>& indices_;
  std::array<int64_t, 3> extents_{1, 1, 1};
  int64_t count_ = 1;
};

}  // namespace tw::ir::interp
