// What must be the same for all threads that come there together: at barriers, and at products of a warp or of four.

#include <algorithm>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/lower/sync_launch.h"

namespace tw::lower {

using namespace ir;

void LaunchCheck::expect_uniform(const Expr& e, const Place& place) {
  if (between_blocks_) return;
  expect_same(e, place, {}, indices_, Kind::kDivergentBarrier, "threads of a block differ in it");
}

void LaunchCheck::expect_same(const Expr& e, const Place& place, const Substitution& threads,
                              const LaunchIndices& indices, Kind kind, const std::string& differ) {
  const auto in_terms = [&](const Expr& of) { return threads.empty() ? of : substitute(of, threads); };
  const Expr seen = simplify(in_terms(value(e, place)), bounds_);
  std::unordered_set<uint64_t> used = used_vars(seen);
  const auto differs = [&](const std::vector<OwnVariable>& variables) {
    return std::ranges::any_of(variables, [&](const OwnVariable& v) { return used.contains(v.var.id()); });
  };
  std::string why;
  if (differs(indices.threads)) why = differ;
  if (differs(place.own)) why = "each thread has a value of its own";
  ir::walk(seen, [&](const Expr& x) {
    const auto* l = as<Load>(x);
    if (l && changing_.contains(l->buffer.id())) why = "it reads " + l->buffer.name() + ", which the launch writes";
    return why.empty();
  });
  if (why.empty()) return;
  Access here = with_conditions(place);
  for (Expr& condition : here.conditions) condition = in_terms(condition);
  if (e.type().is_bool() && same_for_all(seen, here, indices, changing_)) return;
  report({kind, {}, to_string(e), {}, why});
}

void LaunchCheck::of_warp(const CallExtern& call, const Stmt& s, const Place& place) {
  for (const Expr& arg : call.args) {
    const auto* a = as<Address>(arg);
    if (!a) {
      lane_of_warp(arg, s, place);
    } else if (a->buffer.scope() == Scope::kShared) {
      std::vector<Expr> at = a->at;
      at.back() = ramp(at.back(), Expr(1), kMatrixRowBytes / a->buffer.element().bytes());
      touch(a->buffer, at, {}, false, s, place);
    } else {
      touch_registers(a->buffer, s);
    }
  }
  if (between_blocks_) return;
  if (!warp_) report({Kind::kDivergentProduct, {}, line_of(s), {}, "the threads of a block are no whole warps"});
  for (const Expr& arg : call.args)
    if (const auto* a = as<Address>(arg))
      for (const Expr& at : a->at) {
        reads(at, s, place);
        if (a->buffer.scope() == Scope::kLocal) expect_same_in_warp(at, place);
      }
}

void LaunchCheck::lane_of_warp(const Expr& lane, const Stmt& s, const Place& place) {
  reads(lane, s, place);
  if (between_blocks_) return;
  Access here = with_conditions(place);
  here.own.insert(here.own.end(), indices_.threads.begin(), indices_.threads.end());
  const Expr seen = simplify(value(lane, place), bounds_);
  const Interval range = interval_of(seen, bounds_);
  if ((range.lo >= 0 && range.hi < kLanesOfWarp) || is_within(here, seen, Expr(kLanesOfWarp))) return;
  report({Kind::kDivergentProduct, {}, line_of(s), {}, to_string(seen) + " is not seen to be a lane, 0 to 31"});
}

void LaunchCheck::expect_same_in_warp(const Expr& e, const Place& place) {
  expect_same_among(warp_, e, place, "lanes of a warp differ in it");
}

void LaunchCheck::expect_same_in_group(const Expr& e, const Place& place) {
  expect_same_among(group_, e, place, "threads of four warps differ in it");
}

void LaunchCheck::expect_same_among(const std::optional<WarpIndices>& those, const Expr& e, const Place& place,
                                    const std::string& differ) {
  if (between_blocks_) return;
  Place here = place;
  std::erase_if(here.own, [&](const OwnVariable& v) { return of_warp_.contains(v.var.id()); });
  if (!those) return expect_same(e, here, {}, indices_, Kind::kDivergentProduct, "threads of a block differ in it");
  expect_same(e, here, those->threads, those->indices, Kind::kDivergentProduct, differ);
}

void LaunchCheck::touch_registers(const Buffer& buffer, const Stmt& s) {
  if (between_blocks_) return;
  const std::string why = registers_.touched(buffer);
  if (!why.empty()) report({Kind::kOnItsWay, buffer.name(), line_of(s), line_of(s), why});
}

void LaunchCheck::of_group(const GroupCall& call, const Stmt& s, const Place& place) {
  if (between_blocks_) return;
  switch (call.op) {
    case GroupOp::kFence:
      return registers_.fence();
    case GroupOp::kAsyncFence:
      for (Touched& a : open_) a.unfenced = a.unfenced && a.behind;
      return;
    case GroupOp::kCommit:
      registers_.commit();
      for (Touched& a : open_)
        if (a.of_group && a.behind) ++*a.behind;
      return;
    case GroupOp::kWait:
      registers_.wait(call.count);
      for (Touched& a : open_)
        if (a.of_group && a.behind && *a.behind > call.count) a.behind.reset();
      return;
    case GroupOp::kGiveRegisters:
    case GroupOp::kTakeRegisters:
      if (!group_)
        report(
            {Kind::kDivergentProduct, {}, line_of(s), {}, "the threads of a block are no whole groups of four warps"});
      return;
    case GroupOp::kProduct:
      break;
  }
  if (!group_)
    report({Kind::kDivergentProduct, {}, line_of(s), {}, "the threads of a block are no whole groups of four warps"});
  if (const std::string why = registers_.multiplied(call.sums.buffer); !why.empty())
    report({Kind::kOnItsWay, call.sums.buffer.name(), line_of(s), line_of(s), why});
  for (const Address* address : {&call.sums, &call.left.at, &call.right.at})
    for (const Expr& at : address->at) {
      reads(at, s, place);
      expect_same_in_group(at, place);
    }
  operand(call, call.left, Fragment::kLeft, s, place);
  operand(call, call.right, Fragment::kRight, s, place);
}

void LaunchCheck::operand(const GroupCall& call, const GroupOperand& of, Fragment which, const Stmt& s,
                          const Place& place) {
  const Buffer& buffer = of.at.buffer;
  const int64_t elements = of.line / call.product->operand.bytes();
  const GroupLines known = lines_of(*call.product, of, which);
  const Var line("line"), each("e"), panel("panel");
  Place lines = place.with_own(line, Expr(known.count)).with_own(each, Expr(elements));
  if (known.panels > 1) lines = lines.with_own(panel, Expr(known.panels));
  std::vector<Expr> at = of.at.at;
  if (at.size() == 1) {
    Expr first = floordiv(at[0], Expr(elements)) + Expr(line);
    if (known.panels > 1) first = first + Expr(panel) * Expr(of.apart);
    at[0] = first * Expr(elements) + Expr(each);
  } else {
    at.back() = Expr(each);
    at[at.size() - 2] = at[at.size() - 2] + Expr(line);
    if (known.panels > 1) {
      Expr& beside = at[dimension_of_panels(buffer.shape(), of.apart)];
      beside = beside + Expr(panel);
    }
  }
  later_ = of_group_ = true;
  touch(buffer, at, {}, false, s, lines);
  later_ = of_group_ = false;
}

}  // namespace tw::lower
