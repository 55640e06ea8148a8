// Reductions by the user's own function of tuples: argmax, Welford, online softmax.
#include <unordered_set>

#include "src/ir/walk.h"
#include "te/promote.h"
#include "te/reduce.h"
#include "te/refuse.h"

namespace tw::te {
namespace {

std::vector<Var> variables(const std::string& name, const std::vector<Expr>& sources) {
  std::vector<Var> all;
  for (size_t i = 0; i < sources.size(); ++i)
    all.emplace_back(sources.size() == 1 ? name : name + "_" + std::to_string(i), sources[i].type());
  return all;
}

void expect_one_each(const std::string& name, const std::string& what, size_t given, size_t wanted) {
  if (given != wanted)
    refuse(ErrorKind::kExpr, name + ": " + what + " must return " + std::to_string(wanted) +
                                 (wanted == 1 ? " value, as is reduced, not " : " values, as are reduced, not ") +
                                 std::to_string(given));
}

// The function must depend on the two tuples only: it is applied to partial results, which belong to no element.
void check_closed(const std::string& name, const Expr& result, const std::vector<Var>& lhs,
                  const std::vector<Var>& rhs) {
  std::unordered_set<uint64_t> known;
  for (const Var& v : lhs) known.insert(v.id());
  for (const Var& v : rhs) known.insert(v.id());
  ir::walk(result, [&](const Expr& e) {
    if (const auto* v = ir::as<ir::VarRef>(e); v && !known.contains(v->var.id()))
      refuse(ErrorKind::kExpr, name + ": the function must use its two arguments only, not " + v->var.name(),
             {"it is applied to partial results too; what belongs to an element goes into what is reduced"});
    if (ir::as<ir::Load>(e) || ir::as<ir::Reduce>(e) || ir::as<ir::CallExtern>(e))
      refuse(ErrorKind::kExpr, name + ": the function must use its two arguments only, not " + short_text(e),
             {"it is applied to partial results too; what belongs to an element goes into what is reduced"});
    return true;
  });
}

}  // namespace

std::vector<Expr> Reducer::operator()(std::vector<Expr> sources, std::vector<IterVar> axis, Expr where,
                                      std::vector<Expr> init) const {
  if (sources.empty()) refuse(ErrorKind::kExpr, name + ": expected at least one value to reduce");
  for (Expr& source : sources) source = as_data(std::move(source));
  auto made = std::make_shared<ir::Combiner>();
  made->name = name;
  made->lhs = variables(lhs, sources);
  made->rhs = variables(rhs, sources);
  made->result = combine(made->lhs, made->rhs);
  std::vector<Type> types;
  for (const Expr& source : sources) types.push_back(source.type());
  made->identity = identity(types);
  expect_one_each(name, "the function", made->result.size(), sources.size());
  expect_one_each(name, "the identity", made->identity.size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    made->result[i] = of_component(name, "the function's value", i, std::move(made->result[i]), types[i]);
    made->identity[i] = of_component(name, "the identity", i, std::move(made->identity[i]), types[i]);
    check_closed(name, made->result[i], made->lhs, made->rhs);
    check_closed(name, made->identity[i], {}, {});
  }
  ir::Reduce r{
      ir::ReduceOp::kCustom, sources, reduced_axes(name, axis), reduced_where(name, std::move(where)), {}, 0, made};
  if (!init.empty()) r.init = reduced_init(name, sources, std::move(init));
  std::vector<Expr> values;
  for (size_t i = 0; i < sources.size(); ++i) {
    r.value = static_cast<int>(i);
    values.push_back(ir::reduce(r));
  }
  return values;
}

}  // namespace tw::te
