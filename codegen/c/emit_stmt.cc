// Statements: stores, loops, branches, bindings.
#include <algorithm>
#include <cctype>

#include "codegen/c/emitter.h"
#include "src/ir/requirement.h"
#include "src/ir/walk.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;

namespace {

constexpr size_t kLineLength = 118;

// Of the constants and variables that a loop's end is compared with each time round, none changes inside.
bool is_fixed(const Expr& e) { return ir::as<ir::IntImm>(e) || ir::as<ir::VarRef>(e); }

// The space where a line is best continued on the next one: outside as many parentheses as can be had, before an
// operator that binds as little as can be had or after a comma; the last of those.
size_t break_point(const std::string& text, size_t from) {
  size_t best = std::string::npos;
  int depth = 0, best_cost = 0;
  for (size_t i = from; i + 2 < text.size() && (i <= kLineLength || best == std::string::npos); ++i) {
    depth +=
        (text[i] == '(' || text[i] == '[' || text[i] == '{') - (text[i] == ')' || text[i] == ']' || text[i] == '}');
    if (text[i] != ' ' || i < kLineLength / 2) continue;
    const bool spaced = text[i + 2] == ' ' || text[i + 3] == ' ';  // what follows is an operator of one or two letters
    const bool weak =
        text[i - 1] == ',' || (spaced && std::string_view("+-?:&|^<>=").find(text[i + 1]) != std::string::npos);
    const bool strong = spaced && std::string_view("*/%").find(text[i + 1]) != std::string::npos;
    const int cost = 2 * depth + strong;
    if (!(weak || strong) || (best != std::string::npos && cost > best_cost)) continue;
    best = i;
    best_cost = cost;
  }
  return best;
}

// The stages that a loop nest computes, by the names of their buffers; nothing for other statements. Declarations
// belong to the nest that they stand before.
std::string stages_of(const Stmt& nest) {
  if (const auto* alloc = ir::as<ir::Allocate>(nest)) return stages_of(alloc->body);
  if (const auto* let = ir::as<ir::LetStmt>(nest)) return stages_of(let->body);
  if (const auto* seq = ir::as<ir::Seq>(nest)) return seq->stmts.empty() ? "" : stages_of(seq->stmts[0]);
  const auto* loop = ir::as<ir::For>(nest);
  if (!loop || loop->kind == ir::ForKind::kVectorized) return "";
  std::vector<std::string> names;
  ir::walk(nest, [&](const Stmt& s) {
    const auto* store = ir::as<ir::Store>(s);
    if (store && std::find(names.begin(), names.end(), store->buffer.name()) == names.end())
      names.push_back(store->buffer.name());
    return true;
  });
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + c_comment(name);
  return text;
}

}  // namespace

void CEmitter::line(const std::string& text) {
  const size_t indent = static_cast<size_t>(2 * indent_);
  std::string rest = std::string(indent, ' ') + text;
  size_t from = indent;
  while (rest.size() > kLineLength && text[0] != '/') {
    const size_t at = break_point(rest, from);
    if (at == std::string::npos) break;
    lines_.push_back(rest.substr(0, at));
    rest = std::string(indent + 4, ' ') + rest.substr(at + 1);
    from = indent + 4;
  }
  lines_.push_back(rest);
}

void CEmitter::begin_statement(const std::vector<Expr>& roots) {
  may_fault_.clear();
  kept_.clear();
  defined_.clear();
  defined_order_.clear();
  sharing_.plan(roots);
  has_prelude_ = false;
}

void CEmitter::emit(const Stmt& stmt) {
  ir::match(
      stmt, [&](const ir::Store& store) { emit_store(store, false); }, [&](const ir::For& loop) { emit_for(loop); },
      [&](const ir::If& branch) { emit_if(branch); }, [&](const ir::Seq& seq) { emit_seq(seq); },
      [&](const ir::Allocate& alloc) { emit_allocate(alloc); }, [&](const ir::LetStmt& let) { emit_let(let); },
      [&](const ir::Evaluate& e) { emit_evaluate(e.value); },
      [](const ir::Sync&) { TW_CHECK(false, "a barrier in a kernel of the host"); });
}

void CEmitter::emit_evaluate(const Expr& value) {
  if (const auto required = ir::requirement_in(value)) {
    const Expr holds = ir::checked_test(*required);
    begin_statement({holds});
    return leave_if("!" + in(holds, kUnary, Need::kTruth), "TW_ERROR_SIZES");
  }
  begin_statement({value});
  const auto* call = ir::as<ir::Call>(value);
  if (!call || call->fn != ir::Fn::kPrefetch) return line(emit(value).text + ";");
  const auto* address = ir::as<ir::Address>(call->args[0]);
  helpers_.uses_prefetch();
  line("TW_PREFETCH(&" + access(address->buffer, address->at) + ");");
}

void CEmitter::emit_block(const Stmt& stmt) {
  const Indent deeper(*this);
  const CNames::Block block(names_);
  if (const auto* store = ir::as<ir::Store>(stmt)) return emit_store(*store, true);
  emit(stmt);
}

// A store with declarations before it has a block of its own.
void CEmitter::emit_store(const ir::Store& store, bool alone) {
  std::vector<Expr> roots = store.at;
  roots.push_back(store.value);
  roots.push_back(store.pred);
  begin_statement(roots);
  const CNames::Block block(names_);
  const size_t mark = lines_.size();
  const auto write = [&] {
    const std::string place = access(store.buffer, store.at);
    line(place + " = " + emit(store.value, Need::kLow).text + ";");
  };
  if (store.pred) {
    const std::string wanted = in(store.pred, kAnyLevel, Need::kTruth);
    const size_t after_condition = lines_.size();
    {
      const Indent deeper(*this);
      write();
    }
    const bool simple = lines_.size() == after_condition + 1;
    const std::string indent(static_cast<size_t>(2 * indent_), ' ');
    std::string head = indent + "if (" + wanted + ")";
    if (simple && head.size() + lines_.back().size() < kLineLength) {
      lines_.back() = head + lines_.back().substr(indent.size() + 1);
    } else {
      lines_.insert(lines_.begin() + static_cast<ptrdiff_t>(after_condition), head + " {");
      line("}");
    }
  } else {
    write();
  }
  if (alone || !has_prelude_) return;
  for (size_t i = mark; i < lines_.size(); ++i) lines_[i] = "  " + lines_[i];
  lines_.insert(lines_.begin() + static_cast<ptrdiff_t>(mark),
                std::string(static_cast<size_t>(2 * indent_), ' ') + "{");
  line("}");
}

void CEmitter::bound_loop(const ir::For& loop) {
  bounds_[loop.var.id()] = {0, ir::Interval::kPosInf};
  if (const ir::Interval range = ir::interval_of(loop.extent, bounds_); range.hi != ir::Interval::kPosInf)
    bounds_[loop.var.id()].hi = std::max<int64_t>(range.hi - 1, 0);
}

// Loops that are vectorized are those of lanes.h. Unrolled ones that lowering left, and parallel loops inside a
// parallel loop, run one iteration after the other.
void CEmitter::emit_for(const ir::For& loop) {
  const auto extent = ir::as_int(loop.extent);
  if (extent && *extent <= 0) return;
  bound_loop(loop);
  if (loop.kind == ir::ForKind::kVectorized) return emit_lanes(loop);
  if (runs_concurrently(loop.kind) && !frame_.in_parallel && extent != 1) return emit_parallel(loop);
  begin_statement({loop.extent});
  std::string end = emit(loop.extent).text;
  if (!is_fixed(loop.extent)) {
    const std::string name = names_.fresh(loop.var.name() + "_end");
    line("const int64_t " + name + " = " + end + ";");
    end = name;
  }
  emit_counted_loop("0", end, loop);
}

void CEmitter::emit_counted_loop(const std::string& begin, const std::string& end, const ir::For& loop) {
  const CNames::Block block(names_);
  const std::string name = names_.bind(loop.var.id(), loop.var.name());
  line("for (int64_t " + name + " = " + begin + "; " + name + " < " + end + "; ++" + name + ") {");
  const ir::BoundsInside inside(bounds_, loop.extent);
  ++frame_.loops;
  emit_block(loop.body);
  --frame_.loops;
  line("}");
}

// for (int l = 0; l < 16; ++l) C[i * 16 + l] = ...; on one line where it fits.
void CEmitter::emit_lanes(const ir::For& loop) {
  const CNames::Block block(names_);
  const std::string name = names_.bind(loop.var.id(), loop.var.name());
  int_vars_.insert(loop.var.id());
  const std::string indent(static_cast<size_t>(2 * indent_), ' ');
  const std::string head = "for (int " + name + " = 0; " + name + " < " + emit(loop.extent).text + "; ++" + name + ")";
  const size_t mark = lines_.size();
  emit_block(loop.body);
  if (lines_.size() == mark + 1 && head.size() + lines_.back().size() < kLineLength) {
    lines_.back() = indent + head + lines_.back().substr(indent.size() + 1);
  } else {
    lines_.insert(lines_.begin() + static_cast<ptrdiff_t>(mark), indent + head + " {");
    line("}");
  }
}

namespace {

// gcc 12 makes of a read that a condition guards a blend with memory where it knows the condition in each iteration of
// the loop around, and reads what no iteration wants. So, while that gcc is in use, such a loop is kept from it.
bool reads_in_turn(const Stmt& stmt) {
  bool reads = false, loops = false;
  ir::walk(
      stmt,
      [&](const Stmt& at) {
        loops = loops || ir::as<ir::For>(at);
        return !loops;
      },
      [&](const Expr& e) {
        reads = reads || ir::as<ir::Load>(e);
        return !reads;
      });
  return reads && !loops;
}

}  // namespace

void CEmitter::emit_if(const ir::If& branch) {
  begin_statement({branch.cond});
  line("if (" + emit(branch.cond, Need::kTruth).text + ") {");
  if (frame_.loops > 0 && reads_in_turn(branch.then)) {
    const Indent deeper(*this);
    helpers_.uses_in_turn();
    line("TW_IN_TURN;");
  }
  emit_block(branch.then);
  if (branch.otherwise) {
    line("} else {");
    emit_block(branch.otherwise);
  }
  line("}");
}

void CEmitter::emit_let(const ir::LetStmt& let) {
  begin_statement({let.value});
  const std::string value = emit(let.value).text;
  const std::string name = names_.bind(let.var.id(), let.var.name());
  declare(let.var.type(), name, value);
  if (let.var.type().is_index()) bounds_[let.var.id()] = ir::interval_of(let.value, bounds_);
  emit(let.body);
}

// The declarations of a let or an allocation reach to the end of the block that it stands in, unless more follows.
void CEmitter::emit_seq(const ir::Seq& seq) {
  std::vector<std::string> stages;
  for (const Stmt& s : seq.stmts) stages.push_back(stages_of(s));
  const bool several = std::any_of(stages.begin(), stages.end(), [&](const std::string& names) {
    return !names.empty() && !stages[0].empty() && names != stages[0];
  });
  for (size_t i = 0; i < seq.stmts.size(); ++i) {
    const Stmt& s = seq.stmts[i];
    if (several && !stages[i].empty() && (i == 0 || stages[i] != stages[i - 1])) line("/* " + stages[i] + " */");
    const bool declares = ir::as<ir::Allocate>(s) || ir::as<ir::LetStmt>(s);
    const bool last = s.same_as(seq.stmts.back());
    if (!declares || last) {
      emit(s);
      continue;
    }
    line("{");
    emit_block(s);
    line("}");
  }
}

}  // namespace tw::codegen
