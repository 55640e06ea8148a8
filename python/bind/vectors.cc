#include "python/bind/vectors.h"

#include <unordered_map>

#include "python/bind/bind.h"

namespace tw::bind {
namespace {

// By operation; no schedule asks for it, so that operations have no room for it. Under Python's lock.
std::unordered_map<uint64_t, int>& vectors() {
  static std::unordered_map<uint64_t, int> all;
  return all;
}

std::string counted(int lanes) { return lanes == 1 ? "scalars" : "vectors of " + std::to_string(lanes) + " lanes"; }

}  // namespace

thread_local Lanes* Lanes::now_ = nullptr;

int lanes_of(const te::Operation& op) {
  const auto found = vectors().find(op->id);
  return found == vectors().end() ? 1 : found->second;
}

void set_lanes(const te::Operation& op, int lanes) {
  if (lanes > 1) vectors()[op->id] = lanes;
}

std::string shown_dtype(const te::Tensor& t) { return ir::to_string(t.dtype().with_lanes(lanes_of(t.op()))); }

std::vector<ir::Expr> shown_shape(const te::Tensor& t) {
  std::vector<ir::Expr> shape = t.shape();
  if (lanes_of(t.op()) > 1) shape.pop_back();
  return shape;
}

void of_scalars(const std::string& what, const te::Tensor& t) {
  const int lanes = lanes_of(t.op());
  if (lanes == 1) return;
  refuse(ErrorKind::kDType, what + ": expected tensors of scalars, and " + t.name() + " is of " + shown_dtype(t),
         {"vectors are elements for te.compute only; declare a last axis of " + std::to_string(lanes) +
          " instead: " + ir::to_string(t.dtype()) + ", one element for each lane"});
}

VectorName vector_named(const std::string& dtype) {
  const auto type = ir::parse_type(dtype);
  if (!type || type->lanes == 1 || type->is_index() || type->is_handle()) return {dtype, 1};
  return {ir::to_string(type->element()), type->lanes};
}

const ir::Var& Lanes::take(int lanes, const std::string& what) {
  if (!now_)
    refuse(ErrorKind::kDType, what + ": a vector of " + std::to_string(lanes) + " lanes has a value in te.compute only",
           {"te.compute evaluates its function for each lane"});
  if (now_->count_ != 1 && now_->count_ != lanes)
    refuse(ErrorKind::kDType,
           what + ": expected " + counted(now_->count_) + " as elsewhere in the definition, not " + counted(lanes),
           {"lane by lane needs as many on both sides; declare a last axis instead of lanes to combine others"});
  now_->count_ = lanes;
  return now_->lane_;
}

ir::Expr Lanes::element(const te::Tensor& t, std::vector<ir::Expr> at) {
  const int lanes = lanes_of(t.op());
  if (lanes == 1) return t(std::move(at));
  const size_t rank = t.rank() - 1;
  if (at.size() != rank)
    refuse(ErrorKind::kExpr,
           t.name() + "[...]: expected " + std::to_string(rank) + (rank == 1 ? " subscript" : " subscripts") +
               ", not " + std::to_string(at.size()),
           {"a lane of " + shown_dtype(t) + " has no subscript; declare a last axis of " + std::to_string(lanes) +
            " to have one"});
  at.emplace_back(take(lanes, t.name()));
  return t(std::move(at));
}

std::string Lanes::dtype(const std::string& name) {
  const VectorName vector = vector_named(name);
  if (vector.lanes > 1 && now_) take(vector.lanes, name);
  return now_ ? vector.element : name;
}

}  // namespace tw::bind
