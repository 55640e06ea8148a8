//   kernel k(A: float32[n, 64], ..., n: size):
//     if n <= 8:
//       the first
//     else:
//       if n <= 64:
//         the second
//       else:
//         the last
//
// Made as text: each program has names of its own, and what they take is the same where it reads the same.

#include "autotune/frozen/by_size.h"

#include <algorithm>
#include <sstream>

#include "src/ir/equal.h"
#include "src/ir/parse.h"
#include "src/ir/requirement.h"
#include "src/ir/walk.h"

namespace tw::aot {

using namespace ir;

namespace {

bool is_required(const Stmt& s) {
  const auto* e = as<Evaluate>(s);
  return e && requirement_in(e->value);
}

// They stand before everything else.
Program without_requirements(const Program& p) {
  const auto* all = as<Seq>(p.body);
  if (!all) return p;
  std::vector<Stmt> rest = all->stmts;
  std::erase_if(rest, is_required);
  Program out = p;
  out.body = seq(std::move(rest));
  return out;
}

// A program, and for which sizes it is: above one bound, up to another.
struct Part {
  const Program* program;
  std::optional<int64_t> above, up_to;
};

// What all programs require is required of every size, what some do of their own.
std::vector<Stmt> requirements_of(const std::vector<Part>& parts, const Program& merged, const Expr& size) {
  struct Wanted {
    Requirement what;
    std::vector<const Part*> by = {};
  };
  std::vector<Wanted> all;
  for (const Part& part : parts) {
    Substitution sizes;
    for (size_t i = 0; i < merged.scalars.size(); ++i) sizes[part.program->scalars[i].id()] = Expr(merged.scalars[i]);
    for (const Requirement& r : ir::requirements_of(*part.program)) {
      const Expr test = substitute(r.test, sizes);
      auto known = std::ranges::find_if(all, [&](const Wanted& wanted) { return equal(wanted.what.test, test); });
      if (known == all.end()) known = all.insert(known, Wanted{Requirement{test, r.text}, {}});
      if (known->by.empty() || known->by.back() != &part) known->by.push_back(&part);
    }
  }
  std::vector<Stmt> out;
  for (const auto& [what, by] : all) {
    if (by.size() == parts.size()) {
      out.push_back(as_statement(what));
      continue;
    }
    for (const Part* part : by) {
      Expr test = what.test;
      if (part->above) test = size <= Expr(*part->above) || test;
      if (part->up_to) test = Expr(*part->up_to) < size || test;
      out.push_back(as_statement({test, what.text}));
    }
  }
  return out;
}

struct Text {
  std::string takes, body;
};
Text text_of(const Program& p) {
  const std::string text = to_string(without_requirements(p));
  const size_t end = text.find('\n') + 1;
  return {text.substr(0, end), text.substr(end)};
}

std::string indented(const std::string& body, size_t by) {
  std::istringstream lines(body);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += std::string(by, ' ') + line + "\n";
  return out;
}

Diagnostic refusal(std::string what) { return {ErrorKind::kArgument, "by size: " + std::move(what), {}, {}}; }

}  // namespace

Result<Program> by_size(const std::string& size, const std::vector<std::pair<int64_t, Program>>& bounded,
                        const Program& otherwise) {
  const auto is_size = [&](const Var& v) { return v.name() == size && v.type().is_index(); };
  if (std::none_of(otherwise.scalars.begin(), otherwise.scalars.end(), is_size))
    return refusal(size + " is no size of the kernel");
  const Text last = text_of(otherwise);
  std::string text = last.takes;
  size_t depth = 0;
  std::vector<Part> parts;
  std::optional<int64_t> above;
  for (const auto& [bound, program] : bounded) {
    const Text one = text_of(program);
    if (one.takes != last.takes)
      return refusal("schedules for different sizes must take the same, not\n    " + one.takes + "    " + last.takes);
    const std::string margin(2 + depth, ' ');
    text += margin + "if " + size + " <= " + std::to_string(bound) + ":\n" + indented(one.body, depth + 2) + margin +
            "else:\n";
    depth += 2;
    parts.push_back({&program, above, bound});
    above = bound;
  }
  parts.push_back({&otherwise, above, {}});
  TW_TRY(Program merged, parse_program(text + indented(last.body, depth)));
  const Var at = *std::find_if(merged.scalars.begin(), merged.scalars.end(), is_size);
  std::vector<Stmt> all = requirements_of(parts, merged, at);
  all.push_back(merged.body);
  merged.body = seq(std::move(all));
  return merged;
}

}  // namespace tw::aot
