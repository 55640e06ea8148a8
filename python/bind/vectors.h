// Vectors as the elements of tensors. A tensor of dtype float32x2 is one of float32 with a last axis of 2 lanes, and a
// compute that reads one is evaluated for each lane by itself:
//
//   A = te.placeholder((n,), "float32x2")                 A = te.placeholder((n, 2), "float32")
//   B = te.compute((n,), lambda i: A[i] * 2)       ==>    B = te.compute((n, 2), lambda i, lane: A[i, lane] * 2)
//
// That it is shown as the one and not as the other is known here alone; schedules and kernels see the axis.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::bind {

// Of the outputs of an operation; 1 of most.
int lanes_of(const te::Operation&);
void set_lanes(const te::Operation&, int lanes);

// As it is shown.
std::string shown_dtype(const te::Tensor&);
std::vector<ir::Expr> shown_shape(const te::Tensor&);

// Throws DTypeError for a tensor of vectors, where `what` has no meaning of them.
void of_scalars(const std::string& what, const te::Tensor&);

// "float32x2" as "float32" and 2, all others with 1.
struct VectorName {
  std::string element;
  int lanes;
};
VectorName vector_named(const std::string& dtype);

// As long as one lives, a value of vectors is that of the one lane.
class Lanes {
 public:
  explicit Lanes(ir::Var lane, int count = 1) : outer_(now_), lane_(std::move(lane)), count_(count) { now_ = this; }
  ~Lanes() { now_ = outer_; }
  Lanes(const Lanes&) = delete;
  int count() const { return count_; }  // of the values so far; 1: there was no vector

  // An element of a tensor, whatever its elements are.
  static ir::Expr element(const te::Tensor&, std::vector<ir::Expr> at);
  // The dtype of one lane of a value.
  static std::string dtype(const std::string& name);

 private:
  static const ir::Var& take(int lanes, const std::string& what);

  static thread_local Lanes* now_;
  Lanes* outer_;
  ir::Var lane_;
  int count_;
};

}  // namespace tw::bind
