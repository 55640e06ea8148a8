// Operators, casts and memory of single values: what ir.h says, one type at a time.

#include "src/ir/interp_division.h"
#include "src/ir/interp_types.h"

namespace tw::ir::interp {
namespace {

// Two's complement without C++'s undefined cases: 64-bit unsigned arithmetic, cut to the type.
template <class T, class Op>
T wrapping(T a, T b, Op op) {
  return static_cast<T>(op(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

template <BinOp op, class T>
T integer_bits(T a, T b) {
  using U = Unsigned<T>;
  const int shift = static_cast<int>(static_cast<U>(b) % (sizeof(T) * 8));
  if constexpr (op == BinOp::kBitAnd) return static_cast<T>(a & b);
  if constexpr (op == BinOp::kBitOr) return static_cast<T>(a | b);
  if constexpr (op == BinOp::kBitXor) return static_cast<T>(a ^ b);
  if constexpr (op == BinOp::kShl) return static_cast<T>(static_cast<uint64_t>(a) << shift);
  return static_cast<T>(a >> shift);
}

template <BinOp op, class T>
Value arithmetic(Value x, Value y) {
  const Wide<T> a = get<T>(x), b = get<T>(y);
  constexpr bool kFloat = kIsFloat<T>;
  if constexpr (op == BinOp::kEq)
    return truth(a == b);
  else if constexpr (op == BinOp::kNe)
    return truth(a != b);
  else if constexpr (op == BinOp::kLt)
    return truth(a < b);
  else if constexpr (op == BinOp::kLe)
    return truth(a <= b);
  else if constexpr (op == BinOp::kGt)
    return truth(a > b);
  else if constexpr (op == BinOp::kGe)
    return truth(a >= b);
  else if constexpr (op == BinOp::kMin)
    return put<T>(a < b ? a : b);
  else if constexpr (op == BinOp::kMax)
    return put<T>(a > b ? a : b);
  else if constexpr (kFloat && op == BinOp::kAdd)
    return put<T>(a + b);
  else if constexpr (kFloat && op == BinOp::kSub)
    return put<T>(a - b);
  else if constexpr (kFloat && op == BinOp::kMul)
    return put<T>(a * b);
  else if constexpr (kFloat && op == BinOp::kDiv)
    return put<T>(a / b);
  else if constexpr (kFloat || std::is_same_v<T, bool> || op == BinOp::kDiv)
    return Value{};
  else if constexpr (op == BinOp::kAdd)
    return put<T>(wrapping(a, b, [](uint64_t p, uint64_t q) { return p + q; }));
  else if constexpr (op == BinOp::kSub)
    return put<T>(wrapping(a, b, [](uint64_t p, uint64_t q) { return p - q; }));
  else if constexpr (op == BinOp::kMul)
    return put<T>(wrapping(a, b, [](uint64_t p, uint64_t q) { return p * q; }));
  else if constexpr (op >= BinOp::kFloorDiv && op <= BinOp::kTruncMod)
    return put<T>(integer_division<op, T>(a, b));
  else
    return put<T>(integer_bits<op, T>(a, b));
}

template <BinOp op>
BinaryFn of_type(Type t) {
  return with_type(t, [](auto tag) -> BinaryFn { return arithmetic<op, decltype(tag)>; });
}

template <class To, class From>
Value convert(Value v) {
  const Wide<From> x = get<From>(v);
  if constexpr (std::is_same_v<To, bool>)
    return truth(x != 0);
  else if constexpr (kIsHalf<To>)
    return put<float>(static_cast<float>(round_to(To::kType, static_cast<double>(x))));  // once, not by way of float
  else if constexpr (kIsFloat<To>)
    return put<To>(static_cast<Wide<To>>(x));
  else if constexpr (!kIsFloat<From>)
    return put<To>(static_cast<To>(x));
  else {
    // Truncates, saturates, 0 for NaN; the largest value of a wide type is not a float, hence the >=.
    constexpr To lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
    if (std::isnan(x)) return put<To>(0);
    if (x <= static_cast<Wide<From>>(lowest)) return put<To>(lowest);
    if (x >= static_cast<Wide<From>>(highest)) return put<To>(highest);
    return put<To>(static_cast<To>(x));
  }
}

// 4-bit integers, by way of 8 bits: T is int8_t or uint8_t.
template <class T>
int64_t wrapped_to_nibble(int64_t v) {
  return std::is_signed_v<T> ? (v & 15) - ((v & 8) << 1) : v & 15;
}

template <class T, class From>
Value convert_to_nibble(Value v) {
  Value out = convert<T, From>(v);
  constexpr int64_t lowest = std::is_signed_v<T> ? -8 : 0;
  out.i = kIsFloat<From> ? std::clamp(out.i, lowest, lowest + 15) : wrapped_to_nibble<T>(out.i);
  return out;
}

template <class T>
Value read_nibble(const void* data, int64_t at) {
  Value out{};
  out.i = wrapped_to_nibble<T>(static_cast<const uint8_t*>(data)[at / 2] >> at % 2 * 4);
  return out;
}

void write_nibble(void* data, int64_t at, Value v) {
  uint8_t& byte = static_cast<uint8_t*>(data)[at / 2];
  const auto shift = static_cast<int>(at % 2 * 4);
  byte = static_cast<uint8_t>((byte & (0xf0 >> shift)) | (v.i & 15) << shift);
}

template <class T>
uint64_t raw(Value v) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(v.d);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(v.f);
  else if constexpr (kIsHalf<T>)
    return to_bits(T{}, v.f).bits;
  else
    return static_cast<Unsigned<T>>(v.i);
}

template <class T>
Value from_raw(uint64_t bits) {
  if constexpr (std::is_same_v<T, double>)
    return put<T>(std::bit_cast<double>(bits));
  else if constexpr (std::is_same_v<T, float>)
    return put<T>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  else if constexpr (kIsHalf<T>)
    return put<float>(from_bits(T{static_cast<decltype(T::bits)>(bits)}));
  else
    return put<T>(static_cast<T>(bits));
}

template <class T>
Value read(const void* data, int64_t at) {
  if constexpr (kIsHalf<T>)
    return put<float>(from_bits(static_cast<const T*>(data)[at]));
  else if constexpr (std::is_same_v<T, bool>)
    return truth(static_cast<const uint8_t*>(data)[at] != 0);
  else
    return put<T>(static_cast<const T*>(data)[at]);
}

template <class T>
void write(void* data, int64_t at, Value v) {
  if constexpr (kIsHalf<T>)
    static_cast<T*>(data)[at] = to_bits(T{}, v.f);
  else if constexpr (std::is_same_v<T, bool>)
    static_cast<uint8_t*>(data)[at] = v.i != 0;
  else
    static_cast<T*>(data)[at] = get<T>(v);
}

}  // namespace

BinaryFn binary_function(BinOp op, Type t) {
  switch (op) {
    case BinOp::kAdd:
      return of_type<BinOp::kAdd>(t);
    case BinOp::kSub:
      return of_type<BinOp::kSub>(t);
    case BinOp::kMul:
      return of_type<BinOp::kMul>(t);
    case BinOp::kDiv:
      return of_type<BinOp::kDiv>(t);
    case BinOp::kFloorDiv:
      return of_type<BinOp::kFloorDiv>(t);
    case BinOp::kFloorMod:
      return of_type<BinOp::kFloorMod>(t);
    case BinOp::kTruncDiv:
      return of_type<BinOp::kTruncDiv>(t);
    case BinOp::kTruncMod:
      return of_type<BinOp::kTruncMod>(t);
    case BinOp::kMin:
      return of_type<BinOp::kMin>(t);
    case BinOp::kMax:
      return of_type<BinOp::kMax>(t);
    case BinOp::kEq:
      return of_type<BinOp::kEq>(t);
    case BinOp::kNe:
      return of_type<BinOp::kNe>(t);
    case BinOp::kLt:
      return of_type<BinOp::kLt>(t);
    case BinOp::kLe:
      return of_type<BinOp::kLe>(t);
    case BinOp::kGt:
      return of_type<BinOp::kGt>(t);
    case BinOp::kGe:
      return of_type<BinOp::kGe>(t);
    case BinOp::kBitAnd:
      return of_type<BinOp::kBitAnd>(t);
    case BinOp::kBitOr:
      return of_type<BinOp::kBitOr>(t);
    case BinOp::kBitXor:
      return of_type<BinOp::kBitXor>(t);
    case BinOp::kShl:
      return of_type<BinOp::kShl>(t);
    case BinOp::kShr:
      return of_type<BinOp::kShr>(t);
    case BinOp::kAnd:
    case BinOp::kOr:
      break;
  }
  TW_CHECK(false, "kAnd and kOr have no function");
  return nullptr;
}

UnaryFn cast_function(Type from, Type to) {
  if (to.is_packed())
    return with_type(from, [&](auto tag) -> UnaryFn {
      using From = decltype(tag);
      return to.is_int() ? convert_to_nibble<int8_t, From> : convert_to_nibble<uint8_t, From>;
    });
  return with_type(to, [&](auto to_tag) {
    using To = decltype(to_tag);
    return with_type(from, [](auto from_tag) -> UnaryFn { return convert<To, decltype(from_tag)>; });
  });
}

UnaryFn reinterpret_function(Type from, Type to) {
  return with_type(to, [&](auto to_tag) {
    using To = decltype(to_tag);
    return with_type(from, [](auto from_tag) -> UnaryFn {
      return [](Value v) { return from_raw<To>(raw<decltype(from_tag)>(v)); };
    });
  });
}

Value value_of(const IntImm& c) {
  Value out{};
  out.i = c.value;
  return out;
}

Value value_of(const FloatImm& c, Type t) {
  Value out{};
  if (t.bits == 64) {
    out.d = c.value;
  } else {
    out.f = static_cast<float>(c.value);
  }
  return out;
}

Value value_of(double number, Type t) {
  if (t.is_float() || t.is_float8()) return value_of(FloatImm{round_to(t, number)}, t);
  return value_of(IntImm{static_cast<int64_t>(number)});
}

double number_of(Value v, Type t) {
  if (t.is_float() || t.is_float8()) return t.bits == 64 ? v.d : v.f;
  return t.is_uint() ? static_cast<double>(static_cast<uint64_t>(v.i)) : static_cast<double>(v.i);
}

ReadFn read_function(Type t) {
  if (t.is_packed()) return t.is_int() ? read_nibble<int8_t> : read_nibble<uint8_t>;
  return with_type(t, [](auto tag) -> ReadFn { return read<decltype(tag)>; });
}

WriteFn write_function(Type t) {
  if (t.is_packed()) return write_nibble;
  return with_type(t, [](auto tag) -> WriteFn { return write<decltype(tag)>; });
}

}  // namespace tw::ir::interp
