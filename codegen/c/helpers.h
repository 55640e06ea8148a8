// The little functions that C needs to mean what ir.h says: a file gets those that its kernels call.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::codegen {

std::string c_type(ir::Type type);       // of a scalar in memory and as a value: "int32_t", "float", "uint8_t" for bool
std::string type_suffix(ir::Type type);  // "i32", "f64", "bf16", "bool"; index is "i64"

class Helpers {
 public:
  explicit Helpers(std::string specifiers) : specifiers_(std::move(specifiers)) {}  // "static inline"

  // Each returns the name of the function and has its text emitted.
  std::string min_max(ir::BinOp op, ir::Type type);
  std::string division(ir::BinOp op, ir::Type type);
  std::string integer_abs(ir::Type type);
  std::string negative(ir::Type type);  // of float or double
  std::string float_to_integer(ir::Type from, ir::Type to);
  std::string half_cast(ir::Type from, ir::Type to);
  std::string reinterpret(ir::Type from, ir::Type to);
  std::string count_bits(ir::Fn fn, ir::Type type);  // kPopcount, kClz
  std::string classify(ir::Fn fn, ir::Type type);    // kIsNan, kIsInf
  std::string scale(ir::Type type);                  // kScale
  std::string size(const std::string& operation);    // "mul" or "add" of sizes; more than there is memory, not overflow
  void uses_math() { math_ = true; }
  void uses_prefetch(bool written) { (written ? prefetch_written_ : prefetch_) = true; }
  void uses_in_turn() { in_turn_ = true; }

  bool math() const { return math_; }
  bool prefetch() const { return prefetch_; }
  bool prefetch_written() const { return prefetch_written_; }
  bool in_turn() const { return in_turn_; }
  const std::vector<std::string>& texts() const { return texts_; }  // in the order of first use

 private:
  std::string add(const std::string& name, ir::Type result, const std::string& parameters, const std::string& body);

  std::string specifiers_;
  std::map<std::string, bool> known_;
  std::vector<std::string> texts_;
  bool math_ = false, prefetch_ = false, prefetch_written_ = false, in_turn_ = false;
};

}  // namespace tw::codegen
