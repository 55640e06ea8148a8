// Single values of the interpreter and the operations on them, looked up once per node when a program is prepared.
#pragma once

#include <cstdint>

#include "tensorwright/ir.h"

namespace tw::ir::interp {

// One lane. Bools, integers and indices are in `i` (extended by their sign, uint64 by bit pattern), float64 in `d`,
// float32, float16 and bfloat16 in `f`, always rounded to their type.
union Value {
  int64_t i;
  double d;
  float f;
};

using UnaryFn = Value (*)(Value);
using BinaryFn = Value (*)(Value, Value);
using TernaryFn = Value (*)(Value, Value, Value);

// kAnd and kOr are not among them: their second operand may not be evaluated.
BinaryFn binary_function(BinOp, Type operand);
UnaryFn cast_function(Type from, Type to);
UnaryFn reinterpret_function(Type from, Type to);
UnaryFn unary_function(Fn, Type operand);
BinaryFn pow_function(Type);
BinaryFn scale_function(Type);
TernaryFn fma_function(Type);

// c with the products of a group of so many terms added, as ir.h says of the kDot functions.
Value dot(Fn, int terms, Value c, const Value* a, const Value* b);

Value value_of(const IntImm&);
Value value_of(const FloatImm&, Type);

// A number as a value of the type: of floats rounded to it, of integers without its fraction; and a value as a number.
Value value_of(double, Type);
double number_of(Value, Type);

// Element `at` of an array of a type, two to a byte of 4-bit integers.
using ReadFn = Value (*)(const void* data, int64_t at);
using WriteFn = void (*)(void* data, int64_t at, Value);
ReadFn read_function(Type);
WriteFn write_function(Type);

}  // namespace tw::ir::interp
