// x mod pi/2, by Payne and Hanek: x * 2/pi, of which only the part below 4 counts.
//
// 2/pi stands in a table of pieces of 26 (29) bits, so that a piece times half a mantissa (a float32) is exact. Pieces
// whose product with x is a multiple of 4 are left out: the exponent of x says where the window of those that matter
// begins, and a chain of selects shifts the table there. Every product is brought below 4 without an error; their sum
// is kept in as many float64 as its cancellation may need: the multiples of pi/2 next to a float32 (float64) are 2^-31
// (2^-62) away.

#include "src/lower/math/trig_reduction.h"

#include <algorithm>

#include "src/lower/math/pair.h"

namespace tw::lower::math {

using namespace ir;

namespace {

constexpr int kWords32[] = {341782637, 423170132, 352195499, 488592205, 461485765, 90590992, 478285810};
constexpr int kWords64[] = {42722829, 48555073, 21659401, 56087029, 13858563, 28715353, 38736100, 4324945,
                            26128250, 62674459, 29957006, 37899730, 58726692, 49193117, 6588223,  35515164,
                            46442140, 65964067, 24988590, 54822121, 41009306, 54917092, 5137525,  37323603,
                            15192690, 4585659,  58608142, 52426903, 67074070, 25231090, 63202006, 34237727,
                            28629499, 15891632, 40752081, 37709470, 25143477, 55737260, 33225084, 24853767,
                            15195689, 19476134, 50255852, 18845021, 2185228,  50622407};

// Where a window of `size` words begins that has all those that count for an exponent: words of `bits` bits before it
// give multiples of 4. (exponent - spare) / bits, as a product and a shift.
struct Layout {
  int bits, size, steps, spare, factor, shift;
};
constexpr Layout kLayout32{29, 4, 2, 25, 565, 14}, kLayout64{26, 8, 6, 54, 2521, 16};

// words[start .. start + size), each times 2^-bits(k + 1).
template <size_t N>
std::vector<Expr> window(Computation& c, const int (&table)[N], const Layout& layout, const Expr& start) {
  std::vector<Expr> words;
  for (int word : table) words.push_back(c.value(word));
  for (int step = layout.steps - 1; step >= 0; --step) {
    const size_t by = size_t{1} << step;
    const Expr shifts = c.name("shifts", ne(bit_and(start, c.integer(static_cast<int64_t>(by))), c.integer(0)));
    std::vector<Expr> next;
    for (size_t k = 0; k < std::min(words.size(), layout.size + by - 1); ++k) {
      const Expr later = k + by < words.size() ? words[k + by] : c.value(0);
      next.push_back(c.name("word", select(shifts, later, words[k])));
    }
    words = std::move(next);
  }
  double scale = 1;
  for (Expr& word : words) {
    scale /= static_cast<double>(int64_t{1} << layout.bits);
    word = c.name("word", word * c.value(scale));
  }
  return words;
}

Expr below_four(Computation& c, const Expr& product) {
  const Expr x = c.name("p", product);
  return c.name("m", x - c.value(4) * call(Fn::kRound, {x * c.value(0.25)}));
}

struct Scaled {
  Expr x;
  std::vector<Expr> words;
};
template <size_t N>
Scaled scaled(Computation& c, const Expr& x, const int (&table)[N], const Layout& layout) {
  const Expr exponent = bit_and(shift_right(c.pattern(x), 52), c.integer(0x7ff)) - c.integer(1023 + layout.spare);
  const Expr start = c.name("start", shift_right(max(exponent, c.integer(0)) * c.integer(layout.factor), layout.shift));
  const Expr scale = c.from_pattern(shift_left(c.integer(1023) - start * c.integer(layout.bits), 52));
  return {c.name("scaled", x * scale), window(c, table, layout, start)};
}

Expr quadrant_of(Computation& c, const Expr& n) { return c.name("q", c.pattern(n + c.value(0x1.8p52))); }

// A sum that is exact together with its errors.
class Sum {
 public:
  Sum(Computation& c, Expr start) : c_(c), total_(std::move(start)) {}
  const Expr& total() const { return total_; }
  void add(const Expr& x) {
    const Pair s = two_sum(c_, total_, x);
    total_ = s.high;
    errors_.push_back(s.low);
  }
  void keep_below_four() { total_ = below_four(c_, total_); }
  void subtract(const Expr& whole) { total_ = c_.name("f", total_ - whole); }
  // The total of this pass and its errors, as one pair.
  Pair folded() {
    const std::vector<Expr> first = std::move(errors_);
    errors_.clear();
    for (const Expr& e : first) add(e);
    Expr low;
    for (const Expr& e : errors_) low = low ? low + e : e;
    return fast_two_sum(c_, total_, c_.name("low", low));
  }

 private:
  Computation& c_;
  Expr total_;
  std::vector<Expr> errors_;
};

Reduced of_float32s(Computation& c, const Expr& x) {
  const Scaled s = scaled(c, x, kWords32, kLayout32);
  const Expr first = below_four(c, s.x * s.words[0]), second = below_four(c, s.x * s.words[1]);
  const Pair top = two_sum(c, first, second);
  const Expr n = c.name("n", call(Fn::kRound, {top.high}));
  const Expr rest = top.low + s.x * s.words[2] + s.x * s.words[3];
  return {quadrant_of(c, n), c.name("r", ((top.high - n) + rest) * c.value(0x1.921fb54442d18p+0)), {}};
}

Reduced of_float64s(Computation& c, const Expr& x) {
  const Scaled s = scaled(c, x, kWords64, kLayout64);
  // 26 + 27 bits.
  const Expr high = c.name("xh", c.from_pattern(bit_and(c.pattern(s.x), c.integer(-(int64_t{1} << 27)))));
  const Expr low = c.name("xl", s.x - high);
  Sum sum(c, below_four(c, high * s.words[0]));
  for (size_t k = 0; k < s.words.size(); ++k) {
    const bool large = k < 3;
    const Expr lower = low * s.words[k];
    sum.add(large ? below_four(c, lower) : lower);
    if (k + 1 < s.words.size()) {
      const Expr upper = high * s.words[k + 1];
      sum.add(large ? below_four(c, upper) : upper);
    }
    if (large) sum.keep_below_four();
  }
  const Expr n = c.name("n", call(Fn::kRound, {sum.total()}));
  sum.subtract(n);
  const Pair turn = sum.folded();
  const Expr half_pi = c.value(0x1.921fb54442d18p+0), half_pi_low = c.value(0x1.1a62633145c07p-54);
  const Pair r = two_product(c, turn.high, half_pi);
  const Expr r_low = r.low + (turn.high * half_pi_low + turn.low * half_pi);
  return {quadrant_of(c, n), r.high, c.name("rl", r_low)};
}

// pi/2 in parts of 33 bits and a rest, after Cody and Waite: n of 20 bits times a part is exact.
constexpr double kParts[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69};
constexpr double kAfterOne = 0x1.0b4611a626331p-34, kAfterThree = 0x1.b839a252049c1p-104;

}  // namespace

// x - n * (the first part) is exact as well: both are as large, or n is 0. What is left of a float64 may be as small as
// the third part times n.
Reduced from_near_multiple_of_half_pi(Computation& c, const Expr& x, bool of_float32) {
  const Expr shift = c.value(0x1.8p52);
  const Expr t = c.name("t", c.fma(x, c.value(0x1.45f306dc9c883p-1), shift));
  const Expr n = c.name("n", t - shift);
  const Expr quadrant = c.name("q", c.pattern(t));
  const Expr rest = c.name("rest", c.fma(n, c.value(-kParts[0]), x));
  if (of_float32) return {quadrant, c.name("r", c.fma(n, c.value(-kAfterOne), rest)), {}};
  const Pair second = two_sum(c, rest, c.name("p", n * c.value(-kParts[1])));
  const Pair third = two_sum(c, second.high, c.name("p", n * c.value(-kParts[2])));
  const Expr low = c.name("low", c.fma(n, c.value(-kAfterThree), second.low + third.low));
  const Pair r = fast_two_sum(c, third.high, low);
  return {quadrant, r.high, r.low};
}

Reduced from_multiple_of_half_pi(Computation& c, const Expr& x, bool of_float32) {
  return of_float32 ? of_float32s(c, x) : of_float64s(c, x);
}

}  // namespace tw::lower::math
