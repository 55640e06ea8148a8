#include "schedule/sizes.h"

#include <algorithm>

#include "schedule/factors.h"
#include "schedule/refuse.h"
#include "src/ir/parse.h"
#include "src/ir/parse_tokens.h"
#include "src/ir/requirement.h"
#include "src/ir/text.h"
#include "src/ir/walk.h"
#include "te/operation.h"

namespace tw::schedule {

namespace {

const ir::Var* named(const std::vector<ir::Var>& scalars, std::string_view name) {
  const auto found = std::ranges::find_if(scalars, [&](const ir::Var& v) { return v.name() == name; });
  return found == scalars.end() ? nullptr : &*found;
}

// The names of variables: all words but those of functions.
std::vector<std::string> names_in(const std::string& text) {
  const std::vector<ir::Token> tokens = ir::tokens_of(text);
  std::vector<std::string> names;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != ir::Token::kWord || tokens[i + 1].is("(")) continue;
    std::string name(tokens[i].text());
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<ir::Var> scalars_of(const LoopNest& nest) {
  std::vector<ir::Var> known = te::scalars_of(nest.outputs());
  known.insert(known.end(), nest.named_scalars().begin(), nest.named_scalars().end());
  return known;
}

struct Meaning {
  ir::Expr size;
  std::vector<ir::Var> named;
};

Result<Meaning> meaning_of(const LoopNest& nest, const Factor& factor) {
  try {
    const std::vector<std::string> names = names_in(factor.size);
    const std::vector<ir::Var> known = scalars_of(nest);
    Meaning meaning;
    std::vector<ir::Var> vars;
    for (const std::string& name : names) {
      const ir::Var* scalar = named(known, name);
      if (!scalar) {
        const ir::Var* given = named(factor.scalars, name);
        scalar = &meaning.named.emplace_back(given ? *given : te::var(name));
      }
      vars.push_back(*scalar);
    }
    TW_TRY(meaning.size, ir::parse_expr(factor.size, names, vars));
    return meaning;
  } catch (const ir::SyntaxError& error) {
    return error.diagnostic;
  }
}

bool names(const Step& step, const ir::Var& scalar) {
  const std::vector<std::string> all = names_in_sizes(step);
  return std::ranges::find(all, scalar.name()) != all.end();
}

Diagnostic no_value(const ir::Var& scalar, const std::vector<Step>& steps) {
  const auto user = std::ranges::find_if(steps, [&](const Step& step) { return names(step, scalar); });
  TW_CHECK(user != steps.end(), "no Step names the scalar " + scalar.name());
  Diagnostic d;
  d.kind = ErrorKind::kArgument;
  d.what = "args: the variable " + scalar.name() + ", which " + to_string(*user) + " uses, has no value";
  d.where = user->where;
  return std::move(d) << "no argument has " + scalar.name() + " itself as an extent"
                      << "name it among the arguments: [..., " + scalar.name() +
                             ", ...], and pass a number when the function is called";
}

}  // namespace

Factor::Factor(const ir::Expr& e) {
  if (const auto number = ir::as_int(e)) {
    value = *number;
    return;
  }
  size = ir::to_string(e);
  ir::walk(e, [&](const ir::Expr& part) {
    if (const auto* v = ir::as<ir::VarRef>(part); v && std::ranges::find(scalars, v->var) == scalars.end())
      scalars.push_back(v->var);
    return true;
  });
}

Result<Size> size_of(const LoopNest& nest, const char* step, const char* field, const Factor& factor) {
  if (factor.size.empty()) {
    TW_TRY(const int64_t value, number(step, field, factor));
    return Size{value, {}};
  }
  const Result<Meaning> meaning = meaning_of(nest, factor);
  const std::string rule = std::string(field) + " must be a positive integer, or an expression over te.vars, not ";
  if (!meaning.ok()) return refuse(step, rule + factor.size) << meaning.error().what;
  if (!te::is_extent(meaning->size))
    return refuse(step, rule + factor.size)
           << "te.vars of an integer type, and + - * // % min max of them, are known before the loops run";
  const Extent extent(meaning->size);
  if (extent.known()) {
    TW_TRY(const int64_t value, number(step, field, Factor(extent.value())));
    return Size{value, {}};
  }
  return Size{extent, meaning->named};
}

void take_size(LoopNest& nest, const Size& size) {
  for (const ir::Var& scalar : size.named)
    if (!named(nest.named_scalars(), scalar.name())) nest.add_scalar(scalar);
  if (!size.extent.known()) nest.require_positive(size.extent.expr());
}

Status check_scalars(const LoopNest& nest, const char* step, const char* field, const Factor& factor) {
  std::vector<ir::Var> known = scalars_of(nest);
  known.insert(known.end(), factor.scalars.begin(), factor.scalars.end());
  for (const ir::Var& scalar : factor.scalars) {
    const std::string& name = scalar.name();
    if (!ir::is_identifier(name) || ir::is_reserved(name))
      return refuse(step,
                    std::string(field) + " must be of te.vars with names that a Step can hold, not of \"" + name + "\"")
             << "a name is letters, digits and _, and no word of the IR text";
    if (std::ranges::any_of(known, [&](const ir::Var& v) { return v.name() == name && !(v == scalar); }))
      return refuse(step,
                    std::string(field) + " must be of te.vars that their names tell apart, and there are two " + name)
             << "a Step says by name what it means: give each te.var a name of its own";
  }
  return Unit{};
}

Result<LoopNest> over_scalars(const Schedule& schedule, const std::vector<ir::Var>& given) {
  const std::vector<ir::Var>& named_scalars = schedule.nest().named_scalars();
  const bool there =
      std::ranges::all_of(named_scalars, [&](const ir::Var& v) { return std::ranges::find(given, v) != given.end(); });
  if (there) return schedule.nest();
  LoopNest nest(schedule.outputs());
  for (Step step : schedule.steps()) {
    for_each_factor(step, [&](Factor& factor) {
      if (!factor.size.empty()) factor.scalars = given;
    });
    TW_TRY(nest, apply(nest, step));
  }
  return nest;
}

std::vector<std::string> names_in_sizes(const Step& step) {
  std::vector<std::string> all;
  for_each_factor(step, [&](const Factor& factor) {
    if (factor.size.empty()) return;
    const std::vector<std::string> names = names_in(factor.size);
    all.insert(all.end(), names.begin(), names.end());
  });
  return all;
}

Status add_size_requirements(ir::Program& program, const LoopNest& nest, const std::vector<Step>& steps) {
  for (const ir::Var& scalar : nest.named_scalars())
    if (std::ranges::find(program.scalars, scalar) == program.scalars.end()) return no_value(scalar, steps);
  std::vector<ir::Stmt> all;
  for (const PositiveSize& positive : nest.positive_sizes())
    all.push_back(ir::as_statement(
        ir::requirement(ir::Expr(1) <= positive.size, to_string(steps[static_cast<size_t>(positive.step)]))));
  if (all.empty()) return Unit{};
  all.push_back(program.body);
  program.body = ir::seq(std::move(all));
  return Unit{};
}

}  // namespace tw::schedule
