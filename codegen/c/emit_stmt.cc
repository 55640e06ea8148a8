// Statements: stores, loops, branches, bindings.
#include <algorithm>
#include <cctype>

#include "codegen/c/emitter.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;

namespace {

constexpr size_t kLineLength = 118;

// Of the constants and variables that a loop's end is compared with each time round, none changes inside.
bool is_fixed(const Expr& e) { return ir::as<ir::IntImm>(e) || ir::as<ir::VarRef>(e); }

// The space where a line is best continued on the next one: outside as many parentheses as can be had, after a comma or
// before an operator; the last of those.
size_t break_point(const std::string& text, size_t from) {
  size_t best = std::string::npos;
  int depth = 0, best_depth = 0;
  for (size_t i = from; i < text.size() && (i <= kLineLength || best == std::string::npos); ++i) {
    depth +=
        (text[i] == '(' || text[i] == '[' || text[i] == '{') - (text[i] == ')' || text[i] == ']' || text[i] == '}');
    if (text[i] != ' ' || (i < kLineLength / 2 && text.size() > kLineLength)) continue;
    const bool good =
        text[i - 1] == ',' || (i + 2 < text.size() && std::ispunct(static_cast<unsigned char>(text[i + 1])) &&
                               text[i + 1] != '(' && text[i + 1] != '-' && text[i + 1] != '_');
    const bool minus = i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] == ' ';
    if (!(good || minus) || (best != std::string::npos && depth > best_depth)) continue;
    best = i;
    best_depth = depth;
  }
  return best;
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
      [&](const ir::Evaluate& e) { emit(e.value); });
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
  if (loop.kind == ir::ForKind::kParallel && !frame_.in_parallel && extent != 1) return emit_parallel(loop);
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
  emit_block(loop.body);
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

void CEmitter::emit_if(const ir::If& branch) {
  begin_statement({branch.cond});
  line("if (" + emit(branch.cond, Need::kTruth).text + ") {");
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
  for (const Stmt& s : seq.stmts) {
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
