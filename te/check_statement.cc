#include "te/check_statement.h"

#include <algorithm>
#include <unordered_set>

#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::te {
namespace {

// What is stored to anywhere, or given to a function that may: its elements change while the statement runs.
std::unordered_set<uint64_t> changing(const ir::Stmt& body) {
  std::unordered_set<uint64_t> ids;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* st = ir::as<ir::Store>(s)) ids.insert(st->buffer.id());
        return true;
      },
      [&](const Expr& e) {
        if (const auto* a = ir::as<ir::Address>(e); a && a->written) ids.insert(a->buffer.id());
        return true;
      });
  return ids;
}

// A number of which nothing is known.
Expr anything() {
  return ir::cast(ir::Type::index(), ir::load(Buffer("anything", ir::Type::i(64), {}, ir::Scope::kArgument), {}));
}

class StatementClamps {
 public:
  StatementClamps(const std::string& what, const ir::Program& alone, const SourceLine& where, ReadNotes& notes)
      : what_(what), where_(where), notes_(notes), changing_(changing(alone.body)) {
    for (const ir::Param& param : alone.params)
      for (const Expr& extent : param.buffer.shape())
        if (const auto* v = ir::as<ir::VarRef>(extent)) place_.extents.push_back(v->var);
  }

  ir::Stmt visit(const ir::Stmt& s) {
    return ir::match(
        s, [&](const ir::Store& st) { return store(st); }, [&](const ir::For& f) { return loop(f); },
        [&](const ir::If& i) {
          return ir::if_then(inside(i.cond), below(i.cond, true, i.then),
                             i.otherwise ? below(i.cond, false, i.otherwise) : ir::Stmt());
        },
        [&](const ir::Seq& all) {
          std::vector<ir::Stmt> out;
          for (const ir::Stmt& each : all.stmts) out.push_back(visit(each));
          return ir::seq(std::move(out));
        },
        [&](const ir::Allocate& a) { return ir::allocate(a.buffer, visit(a.body)); },
        [&](const ir::LetStmt& l) {
          return ir::let_stmt(l.var, inside(l.value), within({l.var, anything(), anything()}, l.body));
        },
        [&](const ir::Evaluate& e) { return ir::evaluate(inside(e.value)); }, [&](const ir::Sync&) { return s; });
  }

 private:
  Expr inside(const Expr& e) {
    return !!e && ir::has_load(e) && runs() ? clamped_at(what_, place_, e, where_, notes_) : e;
  }

  ir::Stmt store(const ir::Store& st) {
    std::vector<Expr> at = st.at;
    const Expr guard = runs() ? guard_at(what_, place_, st.buffer, at, where_, notes_) : Expr();
    for (Expr& subscript : at) subscript = inside(subscript);
    const Expr value = inside(st.value), pred = inside(st.pred), holds = inside(guard);
    if (!holds || holds.type().is_scalar()) {
      const ir::Stmt out = ir::store(st.buffer, at, value, pred);
      return holds ? ir::if_then(holds, out) : out;
    }
    return ir::store(st.buffer, at, value, pred ? pred && holds : holds);
  }

  ir::Stmt loop(const ir::For& f) {
    const Expr extent = inside(f.extent);
    return ir::loop(f.var, extent, within({f.var, 0, stays(f.extent) ? f.extent : anything()}, f.body), f.kind, f.tail);
  }

  ir::Stmt within(IterVar axis, const ir::Stmt& body) {
    place_.axes.push_back(std::move(axis));
    const ir::Stmt out = visit(body);
    place_.axes.pop_back();
    return out;
  }

  ir::Stmt below(const Expr& condition, bool holds, const ir::Stmt& body) {
    if (!stays(condition)) return visit(body);
    place_.conditions.emplace_back(condition, holds);
    const ir::Stmt out = visit(body);
    place_.conditions.pop_back();
    return out;
  }

  // Whether it has the same value wherever it is evaluated below.
  bool stays(const Expr& e) const {
    bool same = true;
    ir::walk(e, [&](const Expr& x) {
      const auto* load = ir::as<ir::Load>(x);
      same = same && !(load && changing_.contains(load->buffer.id())) && !ir::as<ir::CallExtern>(x);
      return same;
    });
    return same;
  }

  bool runs() const {
    return std::ranges::none_of(place_.axes, [](const IterVar& axis) { return ir::is_int(axis.extent, 0); });
  }

  const std::string& what_;
  const SourceLine& where_;
  ReadNotes& notes_;
  const std::unordered_set<uint64_t> changing_;
  StatementPlace place_;
};

}  // namespace

ir::Stmt clamp_statement(const std::string& what, const ir::Program& alone, const SourceLine& where, ReadNotes& notes) {
  return support::with_deep_stack([&] { return StatementClamps(what, alone, where, notes).visit(alone.body); });
}

}  // namespace tw::te
