// Linear forms: collecting terms, ordering atoms, and building the canonical tree again.

#include "src/ir/simplify_linear.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "src/ir/equal.h"

namespace tw::ir {
namespace {

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// One overload per type that occurs in fields().
int compare_field(const Expr& a, const Expr& b);
int compare_field(int a, int b) { return three_way(a, b); }
int compare_field(int64_t a, int64_t b) { return three_way(a, b); }
int compare_field(double a, double b) { return three_way(std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b)); }
int compare_field(BinOp a, BinOp b) { return three_way(a, b); }
int compare_field(Fn a, Fn b) { return three_way(a, b); }
int compare_field(ReduceOp a, ReduceOp b) { return three_way(a, b); }
int compare_field(const Var& a, const Var& b) { return three_way(a.id(), b.id()); }
int compare_field(const Buffer& a, const Buffer& b) { return three_way(a.id(), b.id()); }
int compare_field(const ReduceAxis& a, const ReduceAxis& b);
template <class T>
int compare_field(const std::vector<T>& a, const std::vector<T>& b) {
  if (int order = three_way(a.size(), b.size())) return order;
  for (size_t i = 0; i < a.size(); ++i)
    if (int order = compare_field(a[i], b[i])) return order;
  return 0;
}

template <class K>
int compare_fields(const K& a, const K& b) {
  return std::apply(
      [&](const auto&... in_a) {
        return std::apply(
            [&](const auto&... in_b) {
              int order = 0;
              ((order = compare_field(in_a, in_b)) || ...);
              return order;
            },
            b.fields());
      },
      a.fields());
}

int compare_field(const ReduceAxis& a, const ReduceAxis& b) { return compare_fields(a, b); }

int compare_field(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return 0;
  if (!a || !b) return three_way(static_cast<bool>(a), static_cast<bool>(b));
  if (int order = three_way(a->kind.index(), b->kind.index())) return order;
  if (int order = three_way(a.type(), b.type())) return order;
  return std::visit(
      [&](const auto& in_a) { return compare_fields(in_a, std::get<std::decay_t<decltype(in_a)>>(b->kind)); }, a->kind);
}

constexpr uint64_t kNoVariable = std::numeric_limits<uint64_t>::max();

constexpr int kLeftmostDepth = 16;

// The id of the leftmost variable below `e`, not too deep: outer loops come first in a sum, as people write it.
uint64_t first_variable(const Expr& e) {
  const Expr* at = &e;
  for (int depth = 0; depth < kLeftmostDepth; ++depth) {
    const Expr* next = nullptr;
    if (const auto* v = as<VarRef>(*at)) return v->var.id();
    if (const auto* b = as<Binary>(*at)) {
      next = as<IntImm>(b->a) ? &b->b : &b->a;
    } else if (const auto* c = as<Cast>(*at)) {
      next = &c->value;
    } else if (const auto* w = as<Broadcast>(*at)) {
      next = &w->value;
    } else if (const auto* s = as<Select>(*at)) {
      next = &s->yes;
    } else if (const auto* l = as<Load>(*at)) {
      next = l->at.empty() ? nullptr : &l->at[0];
    }
    if (!next) break;
    at = next;
  }
  return kNoVariable;
}

Expr multiple(const Expr& atom, int64_t factor, int lanes) {
  return factor == 1 ? atom : binary(BinOp::kMul, atom, int_imm(Type::index(lanes), factor));
}

Expr append(const Expr& sum, BinOp op, const Expr& term) { return sum ? binary(op, sum, term) : term; }

// The sum of terms that all have `lanes` lanes.
Expr build_sum(const std::vector<Term>& terms, int64_t constant, int lanes) {
  const Type type = Type::index(lanes);
  Expr sum;
  for (const Term& t : terms)
    if (t.factor > 0) sum = append(sum, BinOp::kAdd, multiple(t.atom, t.factor, lanes));
  if (!sum && constant > 0 && !terms.empty()) {
    sum = int_imm(type, constant);
    constant = 0;
  }
  for (const Term& t : terms) {
    if (t.factor > 0) continue;
    sum = sum ? binary(BinOp::kSub, sum, multiple(t.atom, -t.factor, lanes)) : multiple(t.atom, t.factor, lanes);
  }
  if (!sum) return int_imm(type, constant);
  if (constant > 0) return binary(BinOp::kAdd, sum, int_imm(type, constant));
  if (constant < 0) return binary(BinOp::kSub, sum, int_imm(type, -constant));
  return sum;
}

Expr build_vector(const Linear& form, int lanes) {
  Linear base = Linear::point(form.constant), stride;
  std::vector<Term> others;
  bool has_ramp = false;
  for (const Term& t : form.terms) {
    if (t.atom.type().is_scalar()) {
      base.add(t.atom, t.factor);
    } else if (const auto* r = as<Ramp>(t.atom)) {
      decompose(r->stride, t.factor, stride);
      has_ramp = true;
    } else {
      others.push_back(t);
    }
  }
  stride.normalise();
  if (stride.terms.empty() && stride.constant == 0) has_ramp = false;
  const Expr start = build_sum(base.terms, base.constant, 1);
  if (!has_ramp && others.empty()) return broadcast(start, lanes);
  if (!has_ramp && is_int(start, 0)) return build_sum(others, 0, lanes);
  const Expr front = has_ramp ? ramp(start, build(stride, 1), lanes) : broadcast(start, lanes);
  others.insert(others.begin(), {front, 1});
  return build_sum(others, 0, lanes);
}

bool identical_within(const Expr& a, const Expr& b, int depth) {
  if (a.same_as(b)) return true;
  if (!a || !b || a.hash() != b.hash()) return false;
  if (depth == 0) return equal(a, b);
  const auto *x = as<Binary>(a), *y = as<Binary>(b);
  if (x && y)
    return x->op == y->op && identical_within(x->a, y->a, depth - 1) && identical_within(x->b, y->b, depth - 1);
  const auto *p = as<Broadcast>(a), *q = as<Broadcast>(b);
  if (p && q) return p->lanes == q->lanes && identical_within(p->value, q->value, depth - 1);
  const auto *v = as<VarRef>(a), *w = as<VarRef>(b);
  if (v && w) return v->var == w->var;
  const auto *c = as<IntImm>(a), *d = as<IntImm>(b);
  if (c && d) return c->value == d->value && a.type() == b.type();
  const auto *r = as<Ramp>(a), *s = as<Ramp>(b);
  if (r && s) {
    return r->lanes == s->lanes && identical_within(r->base, s->base, depth - 1) &&
           identical_within(r->stride, s->stride, depth - 1);
  }
  const auto *l = as<Load>(a), *m = as<Load>(b);
  const bool plain = l && m && !l->pred && !m->pred && l->buffer == m->buffer && l->at.size() == m->at.size();
  if (!plain) return equal(a, b);
  for (size_t i = 0; i < l->at.size(); ++i)
    if (!identical_within(l->at[i], m->at[i], depth - 1)) return false;
  return a.type() == b.type();
}

}  // namespace

bool identical(const Expr& a, const Expr& b) { return identical_within(a, b, 6); }

int compare_atoms(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return 0;
  if (int order = three_way(first_variable(a), first_variable(b))) return order;
  if (int order = three_way(a->kind.index(), b->kind.index())) return order;
  const auto *x = as<Binary>(a), *y = as<Binary>(b);
  if (x && y && x->op != y->op) return three_way(x->op, y->op);
  if (int order = three_way(a->skeleton, b->skeleton)) return order;  // of the shape: the same in each run
  return compare_field(a, b);
}

void Linear::add(Expr atom, int64_t factor) {
  if (factor != 0) terms.push_back({std::move(atom), factor});
}

void Linear::add_constant(int64_t value, int64_t scale) {
  int64_t product;
  if (__builtin_mul_overflow(value, scale, &product) || __builtin_add_overflow(constant, product, &constant))
    overflow = true;
}

void Linear::add(const Linear& other, int64_t scale) {
  overflow |= other.overflow;
  add_constant(other.constant, scale);
  for (const Term& t : other.terms) {
    int64_t factor;
    if (__builtin_mul_overflow(t.factor, scale, &factor)) overflow = true;
    add(t.atom, factor);
  }
}

void Linear::normalise() {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  if (constant == kLowest) overflow = true;  // every number in a form has a negative
  if (terms.size() > 1) {
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& a, const Term& b) { return compare_atoms(a.atom, b.atom) < 0; });
  }
  size_t kept = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (kept > 0 && compare_atoms(terms[kept - 1].atom, terms[i].atom) == 0) {
      if (__builtin_add_overflow(terms[kept - 1].factor, terms[i].factor, &terms[kept - 1].factor)) overflow = true;
      continue;
    }
    if (kept > 0 && terms[kept - 1].factor == 0) --kept;
    if (kept != i) terms[kept] = std::move(terms[i]);
    ++kept;
  }
  if (kept > 0 && terms[kept - 1].factor == 0) --kept;
  terms.resize(kept);
  for (const Term& t : terms) overflow |= t.factor == kLowest;
}

Linear operator-(const Linear& a, const Linear& b) {
  Linear out = a;
  out.add(b, -1);
  out.normalise();
  return out;
}

Linear operator+(const Linear& a, const Linear& b) {
  Linear out = a;
  out.add(b);
  out.normalise();
  return out;
}

void decompose(const Expr& e, int64_t scale, Linear& out) {
  if (const auto* c = as<IntImm>(e)) return out.add_constant(c->value, scale);
  if (const auto* b = as<Broadcast>(e)) return decompose(b->value, scale, out);
  if (const auto* r = as<Ramp>(e)) {
    decompose(r->base, scale, out);
    const Linear stride = decompose(r->stride);
    Linear lanes = Linear::point(0);
    for (const Term& t : stride.terms) lanes.add(ramp(0, t.atom, r->lanes), t.factor);
    if (stride.constant != 0) lanes.add(ramp(0, 1, r->lanes), stride.constant);
    lanes.overflow = stride.overflow;
    return out.add(lanes, scale);
  }
  if (const auto* b = as<Binary>(e)) {
    int64_t factor;
    if (b->op == BinOp::kAdd || b->op == BinOp::kSub) {
      decompose(b->a, scale, out);
      if (__builtin_mul_overflow(scale, b->op == BinOp::kAdd ? 1 : -1, &factor)) out.overflow = true;
      return decompose(b->b, factor, out);
    }
    if (b->op == BinOp::kMul) {
      if (auto by = as_int(b->b)) {
        if (__builtin_mul_overflow(scale, *by, &factor)) out.overflow = true;
        return decompose(b->a, factor, out);
      }
    }
  }
  out.add(e, scale);
}

Linear decompose(const Expr& simplified) {
  Linear out;
  decompose(simplified, 1, out);
  out.normalise();
  return out;
}

Expr build(const Linear& form, int lanes) {
  return lanes == 1 ? build_sum(form.terms, form.constant, 1) : build_vector(form, lanes);
}

}  // namespace tw::ir
