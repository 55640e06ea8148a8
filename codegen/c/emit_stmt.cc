// Statements: stores, loops, branches, bindings.
#include <algorithm>
#include <cctype>

#include "codegen/c/emitter.h"
#include "codegen/scratch.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;

namespace {

constexpr size_t kLineLength = 118;

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

}  // namespace

// Declarations belong to the nest that they stand before.
std::string CEmitter::stages_of(const Stmt& nest) const {
  if (const auto* alloc = ir::as<ir::Allocate>(nest)) return stages_of(alloc->body);
  if (const auto* let = ir::as<ir::LetStmt>(nest)) return stages_of(let->body);
  if (const auto* seq = ir::as<ir::Seq>(nest)) return seq->stmts.empty() ? "" : stages_of(seq->stmts[0]);
  const auto* loop = ir::as<ir::For>(nest);
  if (!loop || loop->kind == ir::ForKind::kVectorized) return "";
  std::vector<std::string> names;
  ir::walk(nest, [&](const Stmt& s) {
    const auto* store = ir::as<ir::Store>(s);
    if (store && !nameless_.contains(store->buffer.id()) &&
        std::find(names.begin(), names.end(), store->buffer.name()) == names.end())
      names.push_back(store->buffer.name());
    return true;
  });
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + c_comment(name);
  return text;
}

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
      [&](const ir::Evaluate& e) { emit_evaluate(e.value); }, [&](const ir::Sync& sync) { emit_sync(sync); });
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

void CEmitter::declare_elements(const ir::Buffer& buffer) {
  if (const auto elements = known_elements(buffer); elements && *elements > 0) elements_[buffer.id()] = *elements;
}

void CEmitter::bound_loop(const ir::For& loop) {
  bounds_[loop.var.id()] = {0, ir::Interval::kPosInf};
  if (const ir::Interval range = ir::interval_of(loop.extent, bounds_); range.hi != ir::Interval::kPosInf)
    bounds_[loop.var.id()].hi = std::max<int64_t>(range.hi - 1, 0);
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
  begin_branch(branch.then);
  emit_block(branch.then);
  if (branch.otherwise) {
    line("} else {");
    emit_block(branch.otherwise);
  }
  line("}");
}

void CEmitter::emit_let(const ir::LetStmt& let) {
  begin_statement({let.value});
  const CText value = emit(let.value);
  const std::string name = names_.bind(let.var.id(), let.var.name());
  if (!declare(let.var.type(), name, value).wide) int_vars_.insert(let.var.id());
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
