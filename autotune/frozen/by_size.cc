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

// They are of the sizes, so the same for all, and stand before everything else.
Program without_requirements(const Program& p) {
  const auto* all = as<Seq>(p.body);
  if (!all) return p;
  std::vector<Stmt> rest = all->stmts;
  std::erase_if(rest, is_required);
  Program out = p;
  out.body = seq(std::move(rest));
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
  for (const auto& [bound, program] : bounded) {
    const Text one = text_of(program);
    if (one.takes != last.takes)
      return refusal("schedules for different sizes must take the same, not\n    " + one.takes + "    " + last.takes);
    const std::string margin(2 + depth, ' ');
    text += margin + "if " + size + " <= " + std::to_string(bound) + ":\n" + indented(one.body, depth + 2) + margin +
            "else:\n";
    depth += 2;
  }
  TW_TRY(Program merged, parse_program(text + indented(last.body, depth)));
  Substitution sizes;
  for (size_t i = 0; i < merged.scalars.size(); ++i) sizes[otherwise.scalars[i].id()] = Expr(merged.scalars[i]);
  std::vector<Stmt> all;
  for (const Requirement& r : requirements_of(otherwise))
    all.push_back(as_statement({substitute(r.test, sizes), r.text}));
  all.push_back(merged.body);
  merged.body = seq(std::move(all));
  return merged;
}

}  // namespace tw::aot
