#include "schedule/tile_match.h"

#include <algorithm>
#include <optional>

#include "schedule/lanes.h"
#include "schedule/layout.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

// The tensor under its id, for subscripts of its memory.
ir::Buffer with_rank(const ir::Buffer& buffer, size_t rank) {
  if (buffer.rank() == rank) return buffer;
  ir::BufferNode node = *buffer.operator->();
  node.shape.assign(rank, 1);
  node.strides.clear();
  return ir::Buffer(std::move(node));
}

}  // namespace

std::vector<ir::Expr> TileRegion::at(const std::vector<ir::Expr>& inner) const {
  std::vector<ir::Expr> out;
  for (size_t s = 0; s < base.size(); ++s) {
    ir::Expr sum = base[s];
    for (size_t d = 0; d < inner.size(); ++d)
      if (factor[s][d] != 0) sum = plus(sum, times(inner[d], factor[s][d]));
    out.push_back(sum);
  }
  return out;
}

bool TileRegion::operator==(const TileRegion& other) const {
  return buffer == other.buffer && factor == other.factor && std::ranges::equal(base, other.base, ir::ExprEqual());
}

bool TileMatch::same(const ir::Expr& x, const ir::Expr& y) {
  if (const auto* to = ir::as<ir::Load>(y)) {
    const auto* from = ir::as<ir::Load>(x);
    return from && !from->pred && from->buffer.element() == to->buffer.element() &&
           bind(to->buffer, to->at, from->buffer, from->at);
  }
  if (x.type() != y.type() || x->kind.index() != y->kind.index()) return false;
  if (const auto* b = ir::as<ir::Binary>(x)) {
    const auto& c = *ir::as<ir::Binary>(y);
    if (b->op != c.op) return false;
    const TileRegions before = regions_;
    if (same(b->a, c.a) && same(b->b, c.b)) return true;
    using ir::BinOp;
    if (b->op != BinOp::kAdd && b->op != BinOp::kMul &&
        !(x.type().is_integer() && (b->op == BinOp::kMin || b->op == BinOp::kMax)))
      return false;
    regions_ = before;
    return same(b->a, c.b) && same(b->b, c.a);
  }
  if (const auto* c = ir::as<ir::Call>(x); c && c->fn != ir::as<ir::Call>(y)->fn) return false;
  const std::vector<ir::Expr> from = ir::children(x), to = ir::children(y);
  if (from.empty() || from.size() != to.size()) return from.empty() && ir::equal(x, y);
  for (size_t i = 0; i < from.size(); ++i)
    if (!same(from[i], to[i])) return false;
  return true;
}

bool TileMatch::bind(const ir::Buffer& inner, const std::vector<ir::Expr>& i, const ir::Buffer& outer,
                     const std::vector<ir::Expr>& at) {
  const std::vector<ir::Expr> subscripts = in_memory(outer, at);
  TileRegion region{with_rank(outer, subscripts.size()), {}, {}};
  const ir::Substitution zero = inner_.still();
  for (const ir::Expr& subscript : subscripts) {
    const std::optional<std::vector<int64_t>> factor = inner_.factors(subscript, i);
    if (!factor) return not_affine(outer, subscript);
    ir::Expr base = subscript;
    for (size_t d = 0; d < i.size(); ++d) base = plus(base, times(i[d], -(*factor)[d]));
    region.base.push_back(ir::simplify(ir::substitute(base, zero), all_.ranges));
    region.factor.push_back(*factor);
  }
  const auto [known, fresh] = regions_.emplace(inner.id(), region);
  return fresh || known->second == region;
}

// The subscripts of an element; of a stage that has a layout those of its memory. So too what subscripts read.
std::vector<ir::Expr> TileMatch::in_memory(const ir::Buffer& buffer, std::vector<ir::Expr> at) const {
  for (ir::Expr& subscript : at)
    subscript = ir::rewrite(subscript, [&](const ir::Expr& e) {
      const auto* read = ir::as<ir::Load>(e);
      const int source = read ? nest_.find_stage(read->buffer.id()) : kNone;
      if (source == kNone || !nest_.stage(source).layout) return e;
      const std::vector<ir::Expr> place = placed(source, read->at);
      return ir::load(with_rank(read->buffer, place.size()), place, read->pred);
    });
  const int kept = nest_.find_stage(buffer.id());
  return kept == kNone || !nest_.stage(kept).layout ? at : placed(kept, std::move(at));
}

std::vector<ir::Expr> TileMatch::placed(int source, std::vector<ir::Expr> at) const {
  const std::vector<ir::Expr>& lo = all_.stages[source].lo;  // none of a placeholder
  for (size_t d = 0; d < lo.size(); ++d) at[d] = at[d] - lo[d];
  return place(*nest_.stage(source).layout, at);
}

bool TileMatch::not_affine(const ir::Buffer& buffer, const ir::Expr& subscript) {
  why_ = "the subscript " + ir::to_string(ir::simplify(subscript, all_.ranges)) + " of " + buffer.name() +
         " must grow with these loops by multiples of what the intrinsic's subscripts grow";
  return false;
}

}  // namespace tw::schedule
