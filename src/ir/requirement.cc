#include "src/ir/requirement.h"

#include <algorithm>

#include "src/ir/scalars.h"
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

constexpr std::string_view kRequires = "requires ";

}  // namespace

Requirement requirement(const Expr& test, const std::string& reader) {
  std::string text = to_string(test) + ": " + reader;
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, '\'');
  return {test, std::move(text)};
}

Stmt as_statement(const Requirement& r) {
  return evaluate(call_extern(Type::i(32), std::string(kRequires) + r.text, {r.test}, false));
}

bool is_requirement(std::string_view symbol) { return symbol.starts_with(kRequires); }

std::optional<Requirement> requirement_in(const Expr& e) {
  const auto* call = as<CallExtern>(e);
  if (!call || !is_requirement(call->symbol)) return {};
  return Requirement{call->args.at(0), call->symbol.substr(kRequires.size())};
}

std::vector<Requirement> requirements_of(const Program& p) {
  std::vector<Requirement> all;
  walk(p.body, [&](const Stmt& s) {
    const auto* e = as<Evaluate>(s);
    const auto found = e ? requirement_in(e->value) : std::nullopt;
    if (found) all.push_back(*found);
    return as<Seq>(s) != nullptr;
  });
  return all;
}

Stmt behind_requirements(Stmt first, const Stmt& body) {
  const auto* all = as<Seq>(body);
  std::vector<Stmt> out = all ? all->stmts : std::vector{body};
  const auto requires_something = [](const Stmt& s) {
    const auto* e = as<Evaluate>(s);
    return e && requirement_in(e->value);
  };
  out.insert(std::ranges::find_if_not(out, requires_something), std::move(first));
  return seq(std::move(out));
}

Expr checked_test(const Requirement& r) {
  Expr all = r.test;
  std::vector<uint64_t> seen;
  walk(r.test, [&](const Expr& e) {
    const auto* v = as<VarRef>(e);
    if (!v || std::find(seen.begin(), seen.end(), v->var.id()) != seen.end()) return true;
    seen.push_back(v->var.id());
    const Expr fits = binary(BinOp::kAnd, e <= Expr(kLargestExtent), Expr(-kLargestExtent) <= e);
    all = binary(BinOp::kAnd, fits, all);
    return true;
  });
  return all;
}

}  // namespace tw::ir
