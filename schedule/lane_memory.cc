#include "schedule/lane_memory.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "schedule/conditions.h"
#include "schedule/placement.h"
#include "schedule/refuse.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::schedule {

namespace {

using ir::Expr;
using ir::Stmt;

constexpr const char* kWayOut = "set it to shared, where any thread of the block finds it";

Expr offset_of(const ir::Buffer& buffer, const std::vector<Expr>& at) {
  Expr sum = 0;
  for (size_t d = 0; d < at.size(); ++d)
    sum = buffer.strides().empty() ? sum * buffer.shape()[d] + at[d] : sum + at[d] * buffer.strides()[d];
  return sum;
}

int64_t elements_of(const ir::Buffer& buffer) {
  if (!buffer.strides().empty()) return *ir::as_int(buffer.strides()[0] * buffer.shape()[0]);
  int64_t elements = 1;
  for (const Expr& extent : buffer.shape()) elements *= *ir::as_int(extent);
  return elements;
}

// Of the sums of a product, the columns that lanes hold together in their first elements: as all lane maps have it.
constexpr int kTileColumns = 8;

// The number, of a lane or of an element of its fragment, whose digits the place has.
Expr number_at(const std::vector<ir::LaneDigit>& digits, const Expr& row, const Expr& column) {
  Expr number = 0;
  for (const ir::LaneDigit& d : digits) {
    if (d.column >= kTileColumns) continue;  // of another tile
    const Expr digit = ir::floordiv(d.row != 0 ? row : column, Expr(d.row + d.column));
    number = number + ir::floormod(digit, Expr(d.radix)) * Expr(d.divisor);
  }
  return number;
}

// How many elements of a tile a lane holds.
int64_t elements_of_tile(const ir::LaneMap& map) {
  int64_t elements = 1;
  for (const ir::LaneDigit& d : map.of_element)
    if (d.column < kTileColumns) elements *= d.radix;
  return elements;
}

class LaneMemory {
 public:
  LaneMemory(const LoopNest& nest, const std::vector<BoundIntrin>& intrins, const std::vector<Step>& steps)
      : nest_(nest), intrins_(intrins), steps_(steps) {}

  Stmt launches(const Stmt& s) {
    const auto* loop = ir::as<ir::For>(s);
    if (!loop || !ir::is_device_index(loop->kind))
      return ir::map_children(s, [&](const Stmt& inner) { return launches(inner); }, [](const Expr& e) { return e; });
    bounds_ = {};
    own_ = {};
    lane_.reset();
    lanes_ = 0;
    return statement(s, {});
  }

  std::optional<Diagnostic> fault;

 private:
  struct Kept {
    ir::Buffer declared, own;  // of the warp, of a lane
    int64_t step;
    const ir::WarpProduct* product = nullptr;  // whose sums they are, of rows and columns along these dimensions
    size_t rows = 0, columns = 0;
  };
  struct Exchange {
    ir::Buffer to;
    Stmt call;
  };
  struct Where {
    Expr lane, place;  // among the elements of that lane
  };

  bool touches(const Stmt& s) const {
    bool found = false;
    ir::walk(
        s,
        [&](const Stmt& inner) {
          const auto* store = ir::as<ir::Store>(inner);
          const auto* alloc = ir::as<ir::Allocate>(inner);
          found = found || (store && kept_.contains(store->buffer.id())) ||
                  (alloc && alloc->buffer.scope() == Scope::kWarp);
          return !found;
        },
        [&](const Expr& e) {
          const auto* load = ir::as<ir::Load>(e);
          found = found || (load && kept_.contains(load->buffer.id()));
          return !found;
        });
    return found;
  }

  // Whether lanes of a warp may find different values there.
  bool differs(const Expr& e) const {
    if (ir::has_load(e)) return true;
    return std::ranges::any_of(ir::used_vars(e), [&](uint64_t id) { return own_.contains(id); });
  }

  // `holds`: the conditions around the statement in which lanes differ.
  Stmt statement(const Stmt& s, const Expr& holds) {
    if (fault || !touches(s)) return holds ? ir::if_then(holds, s) : s;
    return ir::match(
        s, [&](const ir::Store& st) { return store(st, holds); }, [&](const ir::For& f) { return loop(f, holds); },
        [&](const ir::If& i) { return branch(i, holds); },
        [&](const ir::Seq& q) {
          std::vector<Stmt> all;
          for (const Stmt& one : q.stmts) all.push_back(statement(one, holds));
          return ir::seq(std::move(all));
        },
        [&](const ir::Allocate& a) {
          if (a.buffer.scope() != Scope::kWarp) return ir::allocate(a.buffer, statement(a.body, holds));
          if (!keep(a)) return s;
          const Stmt body = statement(a.body, holds);
          const ir::Buffer own = kept_.at(a.buffer.id()).own;
          kept_.erase(a.buffer.id());
          return ir::allocate(own, body);
        },
        [&](const ir::LetStmt& l) {
          std::vector<Exchange> exchanges;
          const Expr value = where_it_holds(read(l.value, holds, exchanges), holds);
          if (!!holds || differs(l.value)) own_.insert(l.var.id());
          return behind(exchanges, ir::let_stmt(l.var, value, statement(l.body, holds)));
        },
        [&](const ir::Evaluate& e) {
          std::vector<Exchange> exchanges;
          const Stmt call = ir::evaluate(read(e.value, holds, exchanges));
          return behind(exchanges, holds ? ir::if_then(holds, call) : call);
        },
        [&](const ir::Sync&) { return s; });
  }

  // What lanes that it does not hold for may be writing is not read by them.
  static Expr where_it_holds(const Expr& value, const Expr& holds) {
    return !!holds && ir::has_load(value) ? ir::select(holds, value, ir::zero(value.type())) : value;
  }

  Stmt store(const ir::Store& st, const Expr& holds) {
    std::vector<Exchange> exchanges;
    ir::Store out = st;
    const auto kept = kept_.find(st.buffer.id());
    if (kept != kept_.end()) {
      const Where to = where(kept->second, st.at);
      if (!is_own(to.lane)) {
        refuse_access(kept->second.declared, st.at, "each lane must store what is its own, and",
                      "the lane that keeps an element is the one that computes it");
        return ir::seq({});
      }
      out.buffer = kept->second.own;
      out.at = {to.place};
    }
    for (Expr& at : out.at) at = read(at, holds, exchanges);
    if (out.pred) out.pred = read(out.pred, holds, exchanges);
    out.value = read(out.value, holds, exchanges);
    const Stmt stored = ir::store(out.buffer, out.at, out.value, out.pred, out.arrival);
    return behind(exchanges, holds ? ir::if_then(holds, stored) : stored);
  }

  Stmt loop(const ir::For& f, const Expr& holds) {
    if (ir::is_device_index(f.kind)) {
      if (f.kind == ir::ForKind::kThreadX) {
        lane_ = f.var;
        lanes_ = ir::as_int(f.extent).value_or(0);
        own_.insert(f.var.id());
      }
    } else if (f.kind == ir::ForKind::kCooperative || differs(f.extent)) {
      if (const ir::Buffer* buffer = read_in(f.body))
        refuse_stage(
            *buffer,
            "all lanes of a warp must come to what they exchange, and in the loop " + f.var.name() + " they do not",
            "lanes have iterations of their own there");
      return ir::seq({});
    }
    if (const auto extent = ir::as_int(f.extent)) bounds_[f.var.id()] = {0, std::max<int64_t>(*extent - 1, 0)};
    return ir::loop(f.var, f.extent, statement(f.body, holds), f.kind, f.tail);
  }

  Stmt branch(const ir::If& i, const Expr& holds) {
    std::vector<Exchange> exchanges;
    const bool apart = differs(i.cond);
    const Expr cond = where_it_holds(read(i.cond, holds, exchanges), holds);
    if (!apart)
      return behind(exchanges,
                    ir::if_then(cond, statement(i.then, holds), i.otherwise ? statement(i.otherwise, holds) : Stmt()));
    // Asked once, whatever the branches change.
    const ir::Var once("holds", ir::Type::boolean());
    own_.insert(once.id());
    Stmt all = statement(i.then, both(holds, once));
    if (i.otherwise) all = ir::seq({all, statement(i.otherwise, both(holds, ir::logical_not(once)))});
    return behind(exchanges,
                  ir::has_load(cond) ? ir::let_stmt(once, cond, all) : ir::substitute(all, {{once.id(), cond}}));
  }

  // What the statement reads of other lanes, before it.
  static Stmt behind(const std::vector<Exchange>& exchanges, Stmt s) {
    std::vector<Stmt> all;
    for (const Exchange& exchange : exchanges) all.push_back(exchange.call);
    all.push_back(std::move(s));
    Stmt out = ir::seq(std::move(all));
    for (const Exchange& exchange : exchanges) out = ir::allocate(exchange.to, out);
    return out;
  }

  Expr read(const Expr& e, const Expr& holds, std::vector<Exchange>& exchanges) {
    return ir::rewrite(e, [&](const Expr& x) {
      const auto* load = ir::as<ir::Load>(x);
      const auto kept = load ? kept_.find(load->buffer.id()) : kept_.end();
      return kept == kept_.end() ? x : read_of(kept->second, *load, holds, exchanges);
    });
  }

  // All lanes come to the exchange; those that the statement is not for do not look up which lane they would read.
  Expr read_of(const Kept& kept, const ir::Load& load, const Expr& holds, std::vector<Exchange>& exchanges) {
    const Where from = where(kept, load.at);
    if (is_own(from.lane)) return ir::load(kept.own, {from.place});
    if (kept.product && kept.product->lanes > ir::kLanesOfWarp) {
      refuse_access(kept.declared, load.at, "each lane must read what is its own of the sums of four warps, and",
                    "there is no exchange between warps");
      return ir::zero(load.buffer.element());
    }
    if (differs(from.place)) {
      refuse_access(kept.declared, load.at, "what a lane reads of others must lie at one place in all of them, and",
                    "an exchange names one register of all lanes: which element of a lane it is must not depend on "
                    "threadIdx.x");
      return ir::zero(load.buffer.element());
    }
    const ir::Buffer to(kept.declared.name() + ".from", kept.declared.element(), {Expr(1)}, Scope::kLocal);
    exchanges.push_back({to, ir::evaluate(ir::call_extern(ir::Type::i(32), std::string(ir::kShuffle),
                                                          {ir::address_of(to, {Expr(0)}, false, true),
                                                           ir::address_of(kept.own, {from.place}, true, false),
                                                           where_it_holds(from.lane, holds)},
                                                          false))});
    return ir::load(to, {Expr(0)});
  }

  bool is_own(const Expr& lane) const { return ir::equal(lane, Expr(*lane_)); }

  // Where nothing is stored or needed there may be no such element: the place is one that there is.
  Where where(const Kept& kept, const std::vector<Expr>& at) const {
    if (kept.product) return among_sums(kept, at);
    const Expr offset = ir::simplify(offset_of(kept.declared, at), bounds_);
    const Expr step(kept.step), all(kept.step * ir::kLanesOfWarp);
    const int64_t elements = *ir::as_int(kept.own.shape()[0]);
    Expr place = ir::floormod(offset, step);
    if (elements > kept.step)
      place = ir::max(ir::min(ir::floordiv(offset, all) * step + place, Expr(elements - 1)), Expr(0));
    return {ir::simplify(ir::floormod(ir::floordiv(offset, step), Expr(ir::kLanesOfWarp)), bounds_),
            ir::simplify(place, bounds_)};
  }

  // Of each m x 8 of them, as the lane map has it.
  Where among_sums(const Kept& kept, const std::vector<Expr>& at) const {
    const ir::LaneMap map = ir::lane_map(*kept.product, ir::Fragment::kSum);
    const Expr &row = at[kept.rows], &column = at[kept.columns];
    Expr tile = 0;
    for (size_t d = 0; d < at.size(); ++d)
      if (d != kept.rows && d != kept.columns) tile = tile * kept.declared.shape()[d] + at[d];
    tile = tile * Expr(tiles_along(kept, kept.rows)) + ir::floordiv(row, Expr(kept.product->m));
    tile = tile * Expr(tiles_along(kept, kept.columns)) + ir::floordiv(column, Expr(kTileColumns));
    const Expr place = tile * Expr(elements_of_tile(map)) + number_at(map.of_element, row, column);
    return {ir::simplify(number_at(map.of_lane, row, column), bounds_), ir::simplify(place, bounds_)};
  }

  static int64_t tiles_along(const Kept& kept, size_t dimension) {
    const int64_t of_tile = dimension == kept.rows ? kept.product->m : kTileColumns;
    return (*ir::as_int(kept.declared.shape()[dimension]) + of_tile - 1) / of_tile;
  }

  const ir::WarpProduct* product_of(const ir::Buffer& buffer) const {
    for (int i = 0; i < nest_.size(); ++i)
      if (nest_.stage(i).name == buffer.name()) return intrins_[static_cast<size_t>(i)].product;
    return nullptr;
  }

  // Along which dimensions the sums have rows and columns is what makes each store a lane's own.
  bool keep_sums(const ir::Allocate& a, const ir::WarpProduct& product) {
    const size_t rank = a.buffer.shape().size();
    for (size_t rows = 0; rows < rank; ++rows)
      for (size_t columns = 0; columns < rank; ++columns) {
        if (rows == columns) continue;
        Kept kept{a.buffer, {}, 1, &product, rows, columns};
        int64_t own = elements_of_tile(ir::lane_map(product, ir::Fragment::kSum));
        for (size_t d = 0; d < rank; ++d)
          own *= d == rows || d == columns ? tiles_along(kept, d) : *ir::as_int(a.buffer.shape()[d]);
        kept.own = ir::Buffer(a.buffer.name(), a.buffer.element(), {Expr(own)}, Scope::kLocal);
        if (!stores_own(a, kept)) continue;
        kept_[a.buffer.id()] = kept;
        return true;
      }
    refuse_stage(a.buffer,
                 "lanes must keep whole tiles of " + std::string(product.name) + ", and those of " + a.buffer.name() +
                     " are none",
                 "which lane has which element is the instruction's to say");
    return false;
  }

  bool stores_own(const ir::Allocate& a, const Kept& kept) const {
    bool all = true;
    ir::Bounds ranges = bounds_;
    ir::walk(a.body, [&](const Stmt& s) {
      if (const auto* f = ir::as<ir::For>(s))
        if (const auto extent = ir::as_int(f->extent)) ranges[f->var.id()] = {0, std::max<int64_t>(*extent - 1, 0)};
      const auto* st = ir::as<ir::Store>(s);
      if (st && st->buffer == a.buffer)
        all = all && ir::equal(ir::simplify(among_sums(kept, st->at).lane, ranges), Expr(*lane_));
      return all;
    });
    return all;
  }

  // Whether the lanes keep the buffer, in steps that all stores have.
  bool keep(const ir::Allocate& a) {
    if (const ir::WarpProduct* product = product_of(a.buffer)) return keep_sums(a, *product);
    if (lanes_ != ir::kLanesOfWarp) {
      refuse_stage(
          a.buffer,
          "threadIdx.x must be the 32 lanes of a warp for a stage in scope warp, and around " + a.buffer.name() +
              " it has " + std::to_string(lanes_),
          "bind loops of 32 iterations to threadIdx.x, as split(axis, factor=32) makes them and nparts=32 need not, "
          "and the warps of a block to threadIdx.y");
      return false;
    }
    std::optional<int64_t> step;
    bool one = true;
    ir::walk(a.body, [&](const Stmt& s) {
      const auto* st = ir::as<ir::Store>(s);
      if (!st || st->buffer != a.buffer) return true;
      int64_t of_lane = 0;
      for (const ir::Term& t : ir::decompose(ir::simplify(offset_of(a.buffer, st->at), bounds_)).terms)
        if (ir::equal(t.atom, Expr(*lane_))) of_lane = t.factor;
      one = one && of_lane >= 1 && step.value_or(of_lane) == of_lane;
      step = of_lane;
      return true;
    });
    if (!one) {
      refuse_stage(a.buffer,
                   "the lanes of a warp must compute elements one step apart of a stage in scope warp, and those of " +
                       a.buffer.name() + " do not",
                   "bind an inner part of its last axis to threadIdx.x, as split(axis, factor=32) makes it");
      return false;
    }
    const int64_t all = step.value_or(1) * ir::kLanesOfWarp;
    const int64_t own = (elements_of(a.buffer) + all - 1) / all * step.value_or(1);
    kept_[a.buffer.id()] = {a.buffer, ir::Buffer(a.buffer.name(), a.buffer.element(), {Expr(own)}, Scope::kLocal),
                            step.value_or(1)};
    return true;
  }

  const ir::Buffer* read_in(const Stmt& s) const {
    const ir::Buffer* found = nullptr;
    const auto look = [&](const ir::Buffer& buffer) {
      if (const auto kept = kept_.find(buffer.id()); kept != kept_.end()) found = &kept->second.declared;
    };
    ir::walk(
        s,
        [&](const Stmt& inner) {
          if (const auto* st = ir::as<ir::Store>(inner)) look(st->buffer);
          if (const auto* a = ir::as<ir::Allocate>(inner); a && a->buffer.scope() == Scope::kWarp) found = &a->buffer;
          return true;
        },
        [&](const Expr& e) {
          if (const auto* load = ir::as<ir::Load>(e)) look(load->buffer);
          return true;
        });
    return found;
  }

  void refuse_access(const ir::Buffer& buffer, const std::vector<Expr>& at, const std::string& rule,
                     const std::string& why) {
    refuse_stage(buffer, rule + " " + ir::to_string(ir::simplify(ir::load(buffer, at), bounds_)) + " is not", why);
  }

  void refuse_stage(const ir::Buffer& buffer, const std::string& rule, const std::string& why) {
    if (fault) return;
    Diagnostic d = refuse(SetScope::kName, rule);
    int step = kNone;
    for (int i = 0; i < nest_.size(); ++i)
      if (nest_.stage(i).name == buffer.name()) {
        d.notes.push_back(describe(nest_.stage(i)));
        step = nest_.stage(i).attach.step;
      }
    d.notes.push_back(why);
    d.notes.push_back(kWayOut);
    fault = blame(std::move(d), steps_, step);
  }

  const LoopNest& nest_;
  const std::vector<BoundIntrin>& intrins_;
  const std::vector<Step>& steps_;
  std::optional<ir::Var> lane_;
  int64_t lanes_ = 0;
  ir::Bounds bounds_;
  std::unordered_set<uint64_t> own_;  // variables in which lanes differ
  std::unordered_map<uint64_t, Kept> kept_;
};

}  // namespace

Result<ir::Stmt> kept_by_lanes(const ir::Stmt& body, const LoopNest& nest, const std::vector<BoundIntrin>& intrins,
                               const std::vector<Step>& steps) {
  LaneMemory memory(nest, intrins, steps);
  ir::Stmt out = memory.launches(body);
  if (memory.fault) return *memory.fault;
  return out;
}

}  // namespace tw::schedule
