#include "src/lower/sync_offset.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"

namespace tw::lower {

using namespace ir;

namespace {

// A product of a constant and of whatever else.
struct Product {
  int64_t constant = 1;
  std::vector<Expr> factors;

  void times(const Expr& e) {
    if (const auto value = as_int(e)) {
      constant *= *value;
    } else if (const auto* b = as<Binary>(e); b && b->op == BinOp::kMul) {
      times(b->a);
      times(b->b);
    } else {
      factors.push_back(e);
    }
  }
  Expr value() const {
    Expr out = constant;
    for (const Expr& factor : factors) out = out * factor;
    return out;
  }
};

// p / by, if that is exact.
std::optional<Product> divided(Product p, const Product& by) {
  if (by.constant == 0 || p.constant % by.constant != 0) return std::nullopt;
  p.constant /= by.constant;
  for (const Expr& factor : by.factors) {
    const auto found = std::ranges::find_if(p.factors, [&](const Expr& own) { return equal(own, factor); });
    if (found == p.factors.end()) return std::nullopt;
    p.factors.erase(found);
  }
  return p;
}

// The term as a product.
Product product_of(const Term& t) {
  Product out;
  out.times(t.atom);
  out.constant *= t.factor;
  return out;
}

// The x of a term  x % n * factor,  where another is  x // n * n * factor.
std::optional<Expr> whole_of(const Term& rest, const Term& other) {
  const auto* mod = as<Binary>(rest.atom);
  if (!mod || mod->op != BinOp::kFloorMod) return std::nullopt;
  Product extent;
  extent.times(mod->b);
  const std::optional<Product> quotient = divided(product_of(other), extent);
  if (!quotient || quotient->constant != rest.factor || quotient->factors.size() != 1) return std::nullopt;
  const auto* div = as<Binary>(quotient->factors[0]);
  const bool found = div && div->op == BinOp::kFloorDiv && equal(div->a, mod->a) && equal(div->b, mod->b);
  return found ? std::optional(mod->a) : std::nullopt;
}

// What is not each thread's own of the terms that have a stride, of the one that has the least of it.
std::optional<Product> least_stride(const Linear& form, const std::function<bool(const Expr&)>& is_own) {
  std::optional<Product> out;
  for (const Term& t : form.terms) {
    Product stride = product_of(t);
    const size_t own = std::erase_if(stride.factors, is_own);
    if (own == 0 || stride.factors.empty()) continue;
    stride.constant = std::abs(stride.constant);
    const auto size = [](const Product& p) { return std::pair(p.factors.size(), p.constant); };
    if (!out || size(stride) < size(*out)) out = std::move(stride);
  }
  return out;
}

}  // namespace

std::vector<Factored> factored(const Expr& product, const Expr& sum, const Bounds& bounds) {
  Product whole;
  whole.times(product);
  const Linear form = decompose(simplify(sum, bounds));
  std::vector<Factored> out;
  for (size_t i = 0; i <= whole.factors.size(); ++i) {
    Product count, stride = whole;
    if (i < whole.factors.size()) {
      count.factors.push_back(whole.factors[i]);
      stride.factors.erase(stride.factors.begin() + static_cast<ptrdiff_t>(i));
    }
    if (stride.factors.empty()) continue;
    Product sizes = stride;
    sizes.constant = 1;
    for (const Term& t : form.terms)
      if (const auto quotient = divided(product_of(t), sizes))
        stride.constant = std::gcd(stride.constant, quotient->constant);
    count.constant = stride.constant == 0 ? 0 : whole.constant / stride.constant;
    if (count.constant > 1 || !count.factors.empty()) out.push_back({count.value(), stride.value()});
  }
  return out;
}

std::optional<Parts> parted(const Expr& sum, const Expr& stride, const Bounds& bounds) {
  Product by;
  by.times(stride);
  const Linear form = decompose(simplify(sum, bounds));
  if (form.overflow) return std::nullopt;
  Parts out{0, form.constant};
  for (const Term& t : form.terms) {
    if (const auto quotient = divided(product_of(t), by)) {
      out.whole = out.whole + quotient->value();
    } else {
      out.part = out.part + t.atom * Expr(t.factor);
    }
  }
  return out;
}

Expr refolded(const Expr& offset, const Bounds& bounds) {
  const Expr simple = simplify(offset, bounds);
  const Linear form = decompose(simple);
  for (const Term& rest : form.terms) {
    for (const Term& other : form.terms) {
      const std::optional<Expr> whole = whole_of(rest, other);
      if (!whole) continue;
      Linear out = form;
      out.add(rest.atom, -rest.factor);
      out.add(other.atom, -other.factor);
      out.normalise();
      return refolded(build(out, 1) + *whole * Expr(rest.factor), bounds);
    }
  }
  return simple;
}

std::optional<std::vector<Digit>> digits_of(const Expr& sum, const Bounds& bounds,
                                            const std::function<bool(const Expr&)>& is_own,
                                            const std::function<bool(const Expr&, const Expr&)>& within) {
  std::vector<Digit> out;
  Expr rest = sum;
  while (true) {
    const Linear form = decompose(simplify(rest, bounds));
    if (form.overflow) return std::nullopt;
    const std::optional<Product> stride = least_stride(form, is_own);
    if (!stride) break;
    const std::optional<Parts> parts = parted(rest, stride->value(), bounds);
    if (!parts || !within(parts->part, stride->value())) return std::nullopt;
    out.push_back({parts->part, stride->value()});
    rest = parts->whole;
  }
  out.push_back({rest, {}});
  return out;
}

}  // namespace tw::lower
