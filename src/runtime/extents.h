// Symbolic shapes at a call: the arrays' shapes give the scalars, the scalars check the shapes.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::runtime {

using Values = std::unordered_map<uint64_t, int64_t>;  // of index scalars, by the variable's id

// The value of an extent; nothing where a variable has none, or where a number leaves 64 bits.
std::optional<int64_t> evaluate(const ir::Expr& extent, const Values&);

// Of an array whose rows lie one after the other.
std::vector<int64_t> compact_strides(const std::vector<int64_t>& shape);

// A call with all that the kernel reads: specifications without symbols, and a value for each scalar, in order.
struct BoundCall {
  std::vector<ArgSpec> args;
  std::vector<ScalarValue> scalars;
};

// What a caller passes, in its order: arrays, and before each the scalars that have their place there.
struct Argument {
  bool scalar;
  size_t number;  // among the arrays, or the scalars
};
std::vector<Argument> arguments_in_order(const Kernel&);

// Whether the shapes are right is checked_call's business.
Result<BoundCall> bind_call(const Kernel&, std::span<const ArrayView>, std::span<const ScalarValue> given);

// Whether one argument is what the kernel expects; the rest of the call is not looked at.
Status check_argument(const Kernel&, size_t argument, std::span<const ArrayView>, const BoundCall&);

// Whether the scalars are what the kernel requires; if not, the first requirement that they break.
Status check_requirements(const Kernel&, const std::vector<ScalarValue>& scalars);

// What check_args checks, and the call that it makes.
Result<BoundCall> checked_call(const Kernel&, std::span<const ArrayView>, std::span<const ScalarValue> given);

// The specifications for the values of all scalars, by address: what a kernel's `data` holds behind the arrays.
std::vector<ArgSpec> specialised(const Kernel&, void* const* scalars);

// The addresses that Kernel::run takes; `call` outlives them.
std::vector<void*> addresses(std::span<const ArrayView>, BoundCall& call);

}  // namespace tw::runtime
