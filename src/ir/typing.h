// The typing rules, once: constructors TW_CHECK them, the verifier and the parser report them. Each answers what is
// wrong with a node that would be built so, or nothing.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

bool is_comparison(BinOp);  // kEq .. kGe: bool, whatever the operands
bool is_dot(Fn);            // the kDot, kMat and kTile functions
bool is_tile(Fn);           // the kTile functions
bool is_prefetch(Fn);       // into the first cache, or the second
// What a lane of a dot product is the sum of: so many terms, of these types. Of a matrix of n columns lane n * i + j
// those of row i and of column j. The terms of a column lie side by side, `packed` of them before those of the next
// column.
struct DotForm {
  Type left, right, sum;
  int group;
  int columns = 0;  // 0: no matrix, any lanes
  int packed = group;
  int rows = columns;
  int left_at(int lane, int term) const { return (columns > 0 ? lane / columns : lane) * group + term; }
  int right_at(int lane, int term) const {
    if (columns == 0) return lane * group + term;
    return (term / packed * columns + lane % columns) * packed + term % packed;
  }
};
DotForm dot_form(Fn);                                 // of a whole tile
DotForm dot_form(Fn, const std::vector<Expr>& args);  // of a tile of as many rows and terms as these have
BinOp operator_of(ReduceOp);
int lanes_of(const std::vector<Expr>& at);  // the widest
std::string name_of(BinOp);                 // as the text form writes it: "+", "min", "floormod"
std::string name_of(Fn);
size_t arity_of(Fn);
Type result_of(Fn, Type first);  // of a call, from its first argument

std::string cast_fault(Type to, const Expr& value);
std::string binary_fault(BinOp, const Expr& a, const Expr& b);
std::string select_fault(const Expr& cond, const Expr& yes, const Expr& no);
std::string access_fault(const Buffer&, const std::vector<Expr>& at, const Expr& pred);
// Of the name of a C function.
std::string symbol_fault(std::string_view symbol);
std::string call_fault(Fn, const std::vector<Expr>& args);
std::string reinterpret_fault(Type to, const Expr& value);
std::string ramp_fault(const Expr& base, const Expr& stride, int lanes);
std::string broadcast_fault(const Expr& value, int lanes);
std::string reduce_fault(const Reduce&);

// Bits of a float's significand, the one that is not stored among them.
constexpr int significand_bits(Type t) {
  if (t.code == TypeCode::kBFloat) return 8;
  return t.bits == 16 ? 11 : t.bits == 32 ? 24 : 53;
}

}  // namespace tw::ir
