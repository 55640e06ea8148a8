// Division of integers, as ir.h says: by 0 it is 0, and the smallest number by -1 wraps.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorwright/ir.h"

namespace tw::ir::interp {

template <BinOp op, class T>  // kFloorDiv, kFloorMod, kTruncDiv or kTruncMod
T integer_division(T a, T b) {
  if (b == 0) return 0;
  constexpr bool kQuotient = op == BinOp::kFloorDiv || op == BinOp::kTruncDiv;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return kQuotient ? static_cast<T>(0 - static_cast<uint64_t>(a)) : T{0};
  }
  const T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
  constexpr bool kFloors = op == BinOp::kFloorDiv || op == BinOp::kFloorMod;
  const bool below = kFloors && std::is_signed_v<T> && r != 0 && ((r < 0) != (b < 0));
  return kQuotient ? static_cast<T>(q - below) : static_cast<T>(below ? r + b : r);
}

}  // namespace tw::ir::interp
