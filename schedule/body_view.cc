#include "schedule/body_view.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "schedule/counted_terms.h"
#include "schedule/layout.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/wide_copies.h"

namespace tw::schedule {

size_t root_count(const StageNest& stage) { return static_cast<size_t>(stage.data_rank + stage.reduce_rank); }

int64_t assumed(const ir::Expr& extent) {
  if (const auto n = ir::as_int(extent)) return *n;
  ir::Substitution sizes;
  ir::walk(extent, [&](const ir::Expr& e) {
    if (const auto* v = ir::as<ir::VarRef>(e)) sizes[v->var.id()] = ir::Expr(kAssumedExtent);
    return true;
  });
  return ir::as_int(ir::simplify(ir::substitute(extent, sizes))).value_or(kAssumedExtent);
}

namespace {

// e as a sum of coefficient * root axis + offset + anything else without them; false where it is not affine.
bool add_affine(const ir::Expr& e, int64_t scale, const StageNest& stage, std::vector<int64_t>& coefficients,
                int64_t& offset) {
  if (const auto* v = ir::as<ir::VarRef>(e)) {
    for (size_t a = 0; a < coefficients.size(); ++a) {
      if (stage.axes[a].var && stage.axes[a].var == v->var) coefficients[a] += scale;
    }
    return true;
  }
  if (const auto c = ir::as_int(e)) {
    offset += scale * *c;
    return true;
  }
  const auto* b = ir::as<ir::Binary>(e);
  if (b == nullptr) return false;
  const auto add = [&](const ir::Expr& term, int64_t by) { return add_affine(term, by, stage, coefficients, offset); };
  if (b->op == ir::BinOp::kAdd) return add(b->a, scale) && add(b->b, scale);
  if (b->op == ir::BinOp::kSub) return add(b->a, scale) && add(b->b, -scale);
  if (b->op != ir::BinOp::kMul) return false;
  if (const auto c = ir::as_int(b->b)) return add(b->a, scale * *c);
  if (const auto c = ir::as_int(b->a)) return add(b->b, scale * *c);
  return false;
}

std::vector<int64_t> constant_shape(const ir::Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const ir::Expr& e : buffer.shape()) shape.push_back(assumed(e));
  return shape;
}

AccessView access_to(const ir::Buffer& buffer) {
  AccessView access;
  access.buffer = buffer.id();
  access.element_bytes = buffer.element().bytes();
  access.packed = buffer.element().is_packed();
  access.shape = constant_shape(buffer);
  return access;
}

void keep_subscripts(const ir::Load& load, const StageNest& stage, AccessView& access) {
  access.at = load.at;
  for (size_t a = 0; a < root_count(stage); ++a) access.axes.push_back(stage.axes[a].var);
}

// x // c, and x % c where there are c elements: affine enough, as digits of a layout are (in_memory). 0: it is neither.
int64_t divisor_of_digit(const ir::Binary& e, int64_t elements) {
  const int64_t by = ir::as_int(e.b).value_or(0);
  if (e.op == ir::BinOp::kFloorDiv) return std::max<int64_t>(by, 0);
  return e.op == ir::BinOp::kFloorMod && by == elements ? 1 : 0;
}

// `digits`: whether they count as such. Regions of stages that are computed for it are inferred without.
AccessView access_of(const ir::Load& load, const StageNest& stage, bool digits) {
  AccessView access = access_to(load.buffer);
  std::vector<int64_t> divisors;
  bool any = false;
  for (const ir::Expr& at : load.at) {
    std::vector<int64_t> coefficients(root_count(stage), 0);
    int64_t offset = 0;
    const auto* digit = digits ? ir::as<ir::Binary>(at) : nullptr;
    const int64_t by = digit ? divisor_of_digit(*digit, access.shape[divisors.size()]) : 0;
    any = any || by > 0;
    divisors.push_back(std::max<int64_t>(by, 1));
    access.affine = add_affine(by > 0 ? digit->a : at, 1, stage, coefficients, offset) && access.affine;
    access.scattered = access.scattered || ir::has_load(at);
    access.coefficients.push_back(std::move(coefficients));
    access.offsets.push_back(offset);
  }
  if (any) access.divisors = std::move(divisors);
  return access;
}

AccessView store_of(const StageNest& stage, const ir::Buffer& buffer) {
  AccessView access = access_to(buffer);
  access.store = true;
  for (int d = 0; d < stage.data_rank; ++d) {
    std::vector<int64_t> coefficients(root_count(stage), 0);
    coefficients[static_cast<size_t>(d)] = 1;
    access.coefficients.push_back(std::move(coefficients));
    access.offsets.push_back(0);
  }
  return access;
}

bool is_product(const ir::Expr& e) {
  const auto* b = ir::as<ir::Binary>(e);
  return b && b->op == ir::BinOp::kMul && e.type().is_float();
}

// Comparisons of indices, what joins them, and the choices that they make.
bool is_condition(const ir::Expr& e) {
  if (const auto* select = ir::as<ir::Select>(e)) return is_condition(select->cond);
  const auto* b = ir::as<ir::Binary>(e);
  return b && e.type().is_bool() && (b->a.type().is_index() || (is_condition(b->a) && is_condition(b->b)));
}

bool takes_product_along(const ir::Expr& e) {
  if (const auto* reduce = ir::as<ir::Reduce>(e))
    return reduce->op == ir::ReduceOp::kSum && is_product(reduce->sources[0]);
  const auto* b = ir::as<ir::Binary>(e);
  return b && (b->op == ir::BinOp::kAdd || b->op == ir::BinOp::kSub) && (is_product(b->a) || is_product(b->b));
}

// What of the body is a read that is widened at once, and whether to a type that copies are kept in.
std::unordered_map<const ir::ExprNode*, bool> widened_loads(const ir::Expr& body) {
  std::unordered_map<const ir::ExprNode*, bool> loads;
  ir::walk(body, [&](const ir::Expr& e) {
    const auto* cast = ir::as<ir::Cast>(e);
    if (cast && ir::as<ir::Load>(cast->value) && e.type().bits > cast->value.type().bits)
      loads.emplace(cast->value.get(), lower::keeps_wide(cast->value.type(), e.type()));
    return true;
  });
  return loads;
}

}  // namespace

// Measured on a Zen 4.
double cost_of_call(ir::Fn fn) {
  switch (fn) {
    case ir::Fn::kTF32:
      return 4;
    case ir::Fn::kSqrt:
      return 10;
    case ir::Fn::kExp:
    case ir::Fn::kExp2:
    case ir::Fn::kTanh:
    case ir::Fn::kAtan:
    case ir::Fn::kRsqrt:
      return 16;
    case ir::Fn::kLog:
    case ir::Fn::kLog10:
    case ir::Fn::kExpm1:
      return 24;
    case ir::Fn::kSigmoid:
    case ir::Fn::kErf:
    case ir::Fn::kLog2:
    case ir::Fn::kLog1p:
      return 36;
    case ir::Fn::kCbrt:
      return 72;
    case ir::Fn::kSin:
    case ir::Fn::kCos:
    case ir::Fn::kTan:
      return 116;
    case ir::Fn::kPow:
      return 150;
    default:
      return 1;
  }
}

// Conditions for which loops are cut are looked at by nobody.
void read_where(const StageNest& stage, const ir::Reduce& reduce, StageView& view) {
  if (!reduce.where) return;
  const CountedTerms terms = counted_terms(stage, reduce);
  view.visited = terms.visited;
  view.certain = terms.exact ? terms.counted : 0;
  if (terms.masks) return;
  ir::walk(reduce.where, [&](const ir::Expr& e) {
    if (ir::as<ir::Binary>(e) && !e.type().is_index()) view.operations -= 1, view.conditions -= is_condition(e);
    return !e.type().is_index();
  });
}

void read_bodies(const LoopNest& nest, const StageNest& stage, const std::vector<ir::Expr>& bodies, StageView& view) {
  for (const ir::Expr& body : bodies) {
    if (stage.is_reduction() && &body != &bodies[0]) break;  // components of one reduction hold the same
    const auto widened = widened_loads(body);
    std::unordered_set<ir::Expr, ir::ExprHash, ir::ExprEqual> seen;  // what stands there twice is read once
    ir::walk(body, [&](const ir::Expr& e) {
      if (const auto* load = ir::as<ir::Load>(e); load && seen.insert(e).second) {
        const int source = nest.find_stage(load->buffer.id());
        const bool given = source != kNone && nest.stage(source).is_placeholder(), launches = has_launches(nest);
        view.accesses.push_back(access_of(*load, stage, !launches && given));
        if (launches && !view.accesses.back().affine) keep_subscripts(*load, stage, view.accesses.back());
        const auto wider = e.type().is_storage() ? widened.end() : widened.find(e.get());
        view.accesses.back().converted = wider != widened.end();
        view.accesses.back().kept_wide = wider != widened.end() && wider->second;
      }
      if (e.type().is_index()) return true;
      if (const auto* c = ir::as<ir::Call>(e)) view.operations += cost_of_call(c->fn);
      if (ir::as<ir::Binary>(e) || ir::as<ir::Select>(e) || ir::as<ir::Cast>(e) || ir::as<ir::Reduce>(e))
        view.operations += 1;
      if (ir::as<ir::Cast>(e)) view.casts += 1;
      if (takes_product_along(e)) view.fused += 1;
      if (is_condition(e)) view.conditions += 1;
      return true;
    });
    if (const auto* reduce = ir::as<ir::Reduce>(body); reduce && !has_launches(nest)) read_where(stage, *reduce, view);
  }
  for (const ir::Buffer& buffer : stage.buffers) view.accesses.push_back(store_of(stage, buffer));
  view.element_bytes = stage.buffer().element().bytes();
}

void in_memory(const IndexMap& map, AccessView& access) {
  std::vector<std::vector<int64_t>> of = access.coefficients;
  const auto sum = [&](const std::vector<Digit>& digits) {
    std::vector<int64_t> total(of.empty() ? 0 : of[0].size(), 0);
    for (const Digit& digit : digits) {
      access.affine = access.affine && (digit.lower == 1 || digits.size() == 1);
      for (size_t a = 0; a < total.size(); ++a)
        total[a] += (digit.mirrored ? -digit.scale : digit.scale) * of[static_cast<size_t>(digit.of)][a];
    }
    return total;
  };
  for (size_t s = map.extents.size(); s < map.sources.size(); ++s) of.push_back(sum(map.sources[s].sum));
  access.coefficients.clear();
  access.divisors.clear();
  access.shape.clear();
  access.at.clear();
  for (size_t q = 0; q < map.indices.size(); ++q) {
    access.coefficients.push_back(sum(map.indices[q]));
    access.divisors.push_back(map.indices[q].size() == 1 ? map.indices[q][0].lower : 1);
    access.shape.push_back(map.shape[q].value_or(kAssumedExtent));
  }
  access.offsets.assign(map.indices.size(), 0);
}

}  // namespace tw::schedule
