#include "src/runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "src/ir/interp_types.h"
#include "src/ir/interp_value.h"
#include "src/runtime/shares.h"

namespace tw::runtime {
namespace {

using ir::interp::BFloat;
using ir::interp::E4M3;
using ir::interp::E5M2;
using ir::interp::Half;

// Of the n-th element in row-major order: "[0, 5]".
std::string subscripts(const std::vector<int64_t>& shape, int64_t n) {
  std::string out;
  for (size_t d = shape.size(); d-- > 0; n /= shape[d])
    out = std::to_string(n % shape[d]) + (out.empty() ? "" : ", ") + out;
  return "[" + out + "]";
}

template <class T>
double value(T x) {
  if constexpr (ir::interp::kIsHalf<T>)
    return ir::interp::from_bits(x);
  else
    return x;
}

struct Tolerance {
  double rtol, atol;
};

// Rounding moves what an integer comes of, and in so few elements to the next integer.
constexpr int64_t kOneInSoMany = 128;

constexpr int64_t kTogether = 64;
constexpr int64_t kShare = 1 << 18;  // elements that a thread takes at a time
constexpr double kLargest = 1e300;   // finite, whatever the type

enum class Apart : uint8_t { kNot, kByOne, kFurther };

Apart apart(double g, double e, Tolerance tolerance) {
  // The comparison is false for NaN and for the difference of two infinities.
  if (std::abs(g - e) <= tolerance.atol + tolerance.rtol * std::abs(e))
    return std::isfinite(e) || g == e ? Apart::kNot : Apart::kFurther;
  return g == e || (std::isnan(g) && std::isnan(e)) ? Apart::kNot : Apart::kFurther;
}

template <class T>
  requires std::is_integral_v<T>
Apart apart(T got, T expected, Tolerance tolerance) {
  if (got == expected) return Apart::kNot;
  if (tolerance.rtol == 0) return Apart::kFurther;
  const auto g = static_cast<double>(got), e = static_cast<double>(expected);
  if (apart(g, e, tolerance) == Apart::kNot) return Apart::kNot;
  return std::abs(g - e) <= 1 + tolerance.atol + tolerance.rtol * std::abs(e) ? Apart::kByOne : Apart::kFurther;
}

// Whether all of a run of elements are the same, decided without a branch; false also where it takes a closer look.
template <class T>
bool all_same(const T* got, const T* expected, Tolerance tolerance) {
  bool same = true;
  for (int64_t n = 0; n < kTogether; ++n) {
    if constexpr (std::is_integral_v<T>) {
      same &= got[n] == expected[n];
    } else {
      const double g = value(got[n]), e = value(expected[n]);
      same &= std::abs(g - e) <= tolerance.atol + tolerance.rtol * std::abs(e) && std::abs(e) <= kLargest;
    }
  }
  return same;
}

// In float32 itself, which has four times the lanes: what holds with a margin for its rounding holds in doubles.
bool all_same(const float* got, const float* expected, Tolerance tolerance) {
  constexpr double kSurely = 1 - 1e-5;
  constexpr float kNormal = 1e-30F, kFinite = 3e38F;
  const auto rtol = static_cast<float>(tolerance.rtol * kSurely), atol = static_cast<float>(tolerance.atol * kSurely);
  int apart = 0;
  for (int64_t n = 0; n < kTogether; ++n) {
    const float g = got[n], e = expected[n], bound = atol + rtol * std::abs(e);
    apart |= !(std::abs(g - e) <= bound);
    apart |= !(bound >= kNormal);
    apart |= !(std::abs(e) <= kFinite);
  }
  return apart == 0;
}

template <class T>
std::string text(T x) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.9g", value(x));
    return buffer;
  }
}

// Offset in elements of the n-th element in row-major order.
int64_t offset_of(const ArgSpec& spec, int64_t n) {
  if (spec.strides.empty()) return n;
  int64_t offset = 0;
  for (size_t d = spec.shape.size(); d-- > 0; n /= spec.shape[d]) offset += n % spec.shape[d] * spec.strides[d];
  return offset;
}

struct Found {
  int64_t wrong = 0, by_one = 0, first = -1;  // first: of those that are apart at all

  void add(Apart apart, int64_t n) {
    if (apart == Apart::kNot) return;
    if (first < 0) first = n;
    ++(apart == Apart::kByOne ? by_one : wrong);
  }
  void add(const Found& behind) {
    if (first < 0) first = behind.first;
    wrong += behind.wrong;
    by_one += behind.by_one;
  }
  bool passes(int64_t count) const { return wrong == 0 && by_one <= std::max<int64_t>(1, count / kOneInSoMany); }
};

std::string first_difference(const ArgSpec& spec, const Found& found, const std::string& got,
                             const std::string& expected, int64_t count) {
  const int64_t n = found.first, wrong = found.wrong + found.by_one;
  return "element " + subscripts(spec.shape, n) + " is " + got + ", expected " + expected + "; " +
         std::to_string(wrong) + " of " + std::to_string(count) + " differ";
}

// 4-bit integers, two to a byte.
std::string compare_nibbles(const ArgSpec& spec, const void* got, const void* expected, Tolerance tolerance) {
  int64_t count = 1;
  for (const int64_t extent : spec.shape) count *= extent;
  const auto element = [&](const void* array, int64_t n) {
    const int64_t at = offset_of(spec, n);
    const int value = static_cast<const uint8_t*>(array)[at / 2] >> at % 2 * 4 & 15;
    return spec.dtype.is_int() && value > 7 ? value - 16 : value;
  };
  Found found;
  for (int64_t n = 0; n < count; ++n) found.add(apart(element(got, n), element(expected, n), tolerance), n);
  if (found.passes(count)) return {};
  return first_difference(spec, found, text(element(got, found.first)), text(element(expected, found.first)), count);
}

// Among the elements begin .. end - 1 in row-major order.
template <class T>
Found differences(const ArgSpec& spec, const T* g, const T* e, Tolerance tolerance, int64_t begin, int64_t end) {
  Found found;
  for (int64_t n = begin; n < end; ++n) {
    while (spec.strides.empty() && n + kTogether <= end && all_same(g + n, e + n, tolerance)) n += kTogether;
    if (n == end) break;
    const int64_t at = offset_of(spec, n);
    if constexpr (std::is_integral_v<T>)
      found.add(apart(g[at], e[at], tolerance), n);
    else
      found.add(apart(value(g[at]), value(e[at]), tolerance), n);
  }
  return found;
}

template <class T>
std::string compare(const ArgSpec& spec, const void* got, const void* expected, Tolerance tolerance) {
  const T* g = static_cast<const T*>(got);
  const T* e = static_cast<const T*>(expected);
  int64_t count = 1;
  for (const int64_t extent : spec.shape) count *= extent;
  std::vector<Found> shares(static_cast<size_t>(std::max<int64_t>(1, (count + kShare - 1) / kShare)));
  over_shares(shares.size(), [&](size_t share) {
    const int64_t begin = static_cast<int64_t>(share) * kShare;
    shares[share] = differences(spec, g, e, tolerance, begin, std::min(count, begin + kShare));
  });
  Found all;
  for (const Found& found : shares) all.add(found);
  if (all.passes(count)) return {};
  const int64_t at = offset_of(spec, all.first);
  return first_difference(spec, all, text(g[at]), text(e[at]), count);
}

}  // namespace

std::string wrong_element(const ArgSpec& spec, const void* contents, int64_t n, double expected, double rtol,
                          double atol) {
  const ir::Type type = spec.dtype;
  const double got = ir::interp::number_of(ir::interp::read_function(type)(contents, offset_of(spec, n)), type);
  const bool whole = !type.is_float() && !type.is_float8();
  const double next = whole && rtol > 0 ? 1 : 0;
  if (apart(got, expected, {rtol, atol + next}) == Apart::kNot) return {};
  char values[80];
  const int digits = type.is_float() && type.bits <= 32 ? 9 : 17;
  std::snprintf(values, sizeof(values), " should be %.*g and is %.*g", digits, expected, digits, got);
  return spec.name + subscripts(spec.shape, n) + values;
}

std::string difference(const ArgSpec& spec, const void* got, const void* expected, double rtol, double atol) {
  const Tolerance tolerance{rtol, atol};
  const ir::Type type = spec.dtype;
  if (type == ir::Type::f(32)) return compare<float>(spec, got, expected, tolerance);
  if (type == ir::Type::f(64)) return compare<double>(spec, got, expected, tolerance);
  if (type == ir::Type::f(16)) return compare<Half>(spec, got, expected, tolerance);
  if (type == ir::Type::bf16()) return compare<BFloat>(spec, got, expected, tolerance);
  if (type == ir::Type::e4m3()) return compare<E4M3>(spec, got, expected, tolerance);
  if (type == ir::Type::e5m2()) return compare<E5M2>(spec, got, expected, tolerance);
  if (type.is_packed()) return compare_nibbles(spec, got, expected, tolerance);
  const bool is_signed = type.is_int();
  switch (type.bytes()) {
    case 1:
      return is_signed ? compare<int8_t>(spec, got, expected, tolerance)
                       : compare<uint8_t>(spec, got, expected, tolerance);
    case 2:
      return is_signed ? compare<int16_t>(spec, got, expected, tolerance)
                       : compare<uint16_t>(spec, got, expected, tolerance);
    case 4:
      return is_signed ? compare<int32_t>(spec, got, expected, tolerance)
                       : compare<uint32_t>(spec, got, expected, tolerance);
    default:
      return is_signed ? compare<int64_t>(spec, got, expected, tolerance)
                       : compare<uint64_t>(spec, got, expected, tolerance);
  }
}

}  // namespace tw::runtime
