#include "src/ir/parse_expr.h"

#include <algorithm>

#include "src/ir/async_copies.h"
#include "src/ir/equal.h"
#include "src/ir/group_products.h"
#include "src/ir/requirement.h"
#include "src/ir/typing.h"
#include "src/ir/warp_products.h"

namespace tw::ir {
namespace {

const Infix* infix_at(const Token& token) {
  if (token.kind != Token::kSign && token.kind != Token::kWord) return nullptr;
  for (const Infix& infix : kInfixes) {
    if (token.is(infix.text)) return &infix;
  }
  return nullptr;
}

std::optional<Fn> function_named(std::string_view name) {
  static const auto named = [] {
    std::unordered_map<std::string, Fn> all;
    for (int fn = 0; fn <= static_cast<int>(Fn::kPrefetchL2); ++fn)
      all.emplace(name_of(static_cast<Fn>(fn)), static_cast<Fn>(fn));
    all.erase(name_of(Fn::kReinterpret));  // a form of its own
    return all;
  }();
  const auto found = named.find(std::string(name));
  return found == named.end() ? std::nullopt : std::optional(found->second);
}

// An index literal beside data is a constant of that type.
void adopt(Expr& literal, const Expr& other) {
  const IntImm* imm = as<IntImm>(literal);
  const Type type = other.type().element();
  if (imm == nullptr || !literal.type().is_index() || type.is_index() || type.is_bool()) return;
  literal = type.is_float() ? float_imm(type, static_cast<double>(imm->value)) : int_imm(type, imm->value);
}

}  // namespace

bool ExprParser::accept(std::string_view sign) {
  const bool here = at(sign);
  if (here) advance();
  return here;
}

void ExprParser::expect(std::string_view sign) {
  if (!accept(sign)) expected("'" + std::string(sign) + "'");
}

void ExprParser::expected(const std::string& what) { refuse(now(), what + " expected, not " + describe(now())); }

void ExprParser::refuse(const Token& where, const std::string& why) { syntax_error(text_, where.text().data(), why); }

void ExprParser::check(const Token& where, const std::string& fault) {
  if (!fault.empty()) refuse(where, fault);
}

Expr ExprParser::expression(int level) {
  const Deeper deeper(*this);
  Expr left;
  if (at("not") && level <= kNotLevel) {
    const Token& where = now();
    advance();
    left = expression(kNotLevel);
    if (!left.type().is_bool()) refuse(where, "not: does not take " + to_string(left.type()));
    left = logical_not(left);
  } else {
    left = operand();
  }
  int tightest = kTightest;  // of the operators so far: a < b < c has no meaning
  for (;;) {
    const Infix* op = infix_at(now());
    if (op == nullptr || op->level < level) return left;
    if (op->level == kCompare && tightest == kCompare) refuse(now(), "a comparison of comparisons needs parentheses");
    const Token& where = now();
    advance();
    Expr right = expression(op->level + 1);
    left = infix(where, op->op, std::move(left), std::move(right));
    tightest = op->level;
  }
}

Expr ExprParser::infix(const Token& where, BinOp op, Expr a, Expr b) {
  adopt(a, b);
  adopt(b, a);
  Expr* const both[] = {&a, &b};
  fit(both);
  check(where, binary_fault(op, a, b));
  return binary(op, std::move(a), std::move(b));
}

void ExprParser::fit(std::span<Expr* const> operands, int lanes) {
  for (const Expr* e : operands) lanes = std::max<int>(lanes, e->type().lanes);
  for (Expr* e : operands) {
    if (e->type().is_scalar()) *e = broadcast(*e, lanes);
  }
}

Expr ExprParser::operand() {
  switch (now().kind) {
    case Token::kInteger:
    case Token::kReal:
      return number(false);
    case Token::kWord:
      return word();
    case Token::kSign:
      break;
    default:
      expected("an expression");
  }
  if (accept("-")) {
    if (now().kind == Token::kInteger || now().kind == Token::kReal) return number(true);
    if (now().text().starts_with("inf")) return special_float(true);
    expected("a number");
  }
  if (at("%")) return definition();
  if (!accept("(")) expected("an expression");
  if (at("let")) return let_expression();
  if (at("%") && tokens_[std::min(at_ + 2, tokens_.size() - 1)].is("=")) {
    const std::string key(next().text());
    define();
    expect(")");
    return defined_.at(key);
  }
  Expr inner = expression();
  expect(")");
  return inner;
}

void ExprParser::define() {
  expect("%");
  if (now().kind != Token::kInteger) expected("the number of a definition");
  const std::string key(now().text());
  advance();
  expect("=");
  defined_[key] = expression();
}

Expr ExprParser::definition() {
  expect("%");
  const auto known = now().kind == Token::kInteger ? defined_.find(std::string(now().text())) : defined_.end();
  if (known == defined_.end()) expected("the number of a definition above");
  advance();
  return known->second;
}

// (let x = value, y = value in body)
Expr ExprParser::let_expression() {
  expect("let");
  std::vector<std::pair<Var, Expr>> chain;
  do {
    const std::string variable = name();
    expect("=");
    Expr value = expression();
    chain.emplace_back(Var(variable, value.type()), value);
    bind(variable, {chain.back().first, {}, {}});
  } while (accept(","));
  expect("in");
  Expr body = expression();
  expect(")");
  for (; !chain.empty(); chain.pop_back()) {
    release(chain.back().first.name());
    body = let(chain.back().first, chain.back().second, std::move(body));
  }
  return body;
}

Expr ExprParser::word() {
  const Token& token = now();
  if (const auto found = names_.find(std::string(token.text())); found != names_.end() && !found->second.empty()) {
    if (const Var& var = found->second.back().var) {
      advance();
      return var;
    }
    Access a = access();
    return load(std::move(a.buffer), std::move(a.at), std::move(a.pred));
  }
  const std::string_view text = token.text();
  if (text == "true" || text == "false") {
    advance();
    return boolean(text == "true");
  }
  if (text == "inf" || text == "nan" || text.starts_with("inf_") || text.starts_with("nan_"))
    return special_float(false);
  if (!is_reserved(text)) refuse(token, std::string(text) + ": no variable or buffer of this name here");
  advance();
  if (!at("(")) refuse(token, "an expression expected, not " + describe(token));
  return function(token);
}

Expr ExprParser::function(const Token& word) {
  const std::string_view name = word.text();
  if (tokens_[at_ + 1].kind == Token::kWord && tokens_[std::min(at_ + 2, tokens_.size() - 1)].is("in")) {
    for (const ReduceName& reduce : kReduceNames) {
      if (reduce.text == name) return reduction(word, reduce.op);
    }
  }
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.text != name) continue;
    const std::vector<Expr> args = arguments(2, word);
    return infix(word, prefix.op, args[0], args[1]);
  }
  if (const std::optional<Fn> fn = function_named(name)) {
    std::vector<Expr> args = arguments(arity_of(*fn), word);
    check(word, call_fault(*fn, args));
    return call(*fn, std::move(args));
  }
  if (const std::optional<Type> type = parse_type(name)) {
    Expr value = arguments(1, word)[0];
    if (!type->is_scalar()) refuse(word, "the type of one lane expected");
    return cast(type->with_lanes(value.type().lanes), value);
  }
  if (name == "select") {
    const std::vector<Expr> args = arguments(3, word);
    check(word, select_fault(args[0], args[1], args[2]));
    return select(args[0], args[1], args[2]);
  }
  return ramp_call(word);
}

// lanes(n), ramp(base, stride, n), broadcast(value, n), reinterpret(type, value)
Expr ExprParser::ramp_call(const Token& word) {
  expect("(");
  Expr result;
  if (word.text() == "lanes") {
    result = ramp(0, 1, lanes());
  } else if (word.text() == "ramp") {
    Expr base = expression();
    expect(",");
    Expr stride = expression();
    expect(",");
    const int count = lanes();
    check(word, ramp_fault(base, stride, count));
    result = ramp(base, stride, count);
  } else if (word.text() == "broadcast") {
    Expr value = expression();
    expect(",");
    const int count = lanes();
    check(word, broadcast_fault(value, count));
    result = broadcast(value, count);
  } else if (word.text() == "reinterpret") {
    const std::optional<Type> type = parse_type(now().text());
    if (!type) expected("a type");
    advance();
    expect(",");
    Expr value = expression();
    check(word, reinterpret_fault(type->with_lanes(value.type().lanes), value));
    result = reinterpret(type->with_lanes(value.type().lanes), value);
  } else if (word.text() == "call" || word.text() == "call_pure") {
    result = extern_call(word.text() == "call_pure");
  } else if (word.text() == "address") {
    result = address();
  } else {
    refuse(word, "an expression expected, not " + describe(word));
  }
  expect(")");
  return result;
}

// call(int32, "f", address(in A[i]), n
Expr ExprParser::extern_call(bool pure) {
  const std::optional<Type> type = parse_type(now().text());
  if (!type || !type->is_scalar() || type->is_handle()) expected("the type of what the function returns");
  advance();
  expect(",");
  const std::string_view symbol = now().text();
  if (now().kind != Token::kQuoted) expected("the symbol of a function in quotes");
  const std::string_view plain = symbol.substr(1, symbol.size() - 2);
  if (!is_requirement(plain) && !is_of_warp(plain) && !is_async(plain) && !is_of_group(plain))
    check(now(), symbol_fault(plain));
  advance();
  std::vector<Expr> args;
  while (accept(",")) args.push_back(expression());
  return call_extern(*type, std::string(symbol.substr(1, symbol.size() - 2)), std::move(args), pure);
}

// address(in A[i]), out, inout
Expr ExprParser::address() {
  const bool both = accept("inout"), out = !both && accept("out");
  if (!both && !out) expect("in");
  Access a = access();
  if (a.pred) refuse(now(), "an address has no predicate");
  return address_of(std::move(a.buffer), std::move(a.at), !out, both || out);
}

// sum(k in 0..513, l in m..m + 3: source)
Expr ExprParser::reduction(const Token& word, ReduceOp op) {
  expect("(");
  std::vector<ReduceAxis> axes;
  std::vector<std::string> bound;
  do {
    const std::string axis = name();
    expect("in");
    Expr min = expression(kSum);
    expect("..");
    const Token& where = now();
    Expr end = expression(kSum);
    if (!is_int(min, 0)) {
      const Binary* sum = as<Binary>(end);
      if (sum == nullptr || sum->op != BinOp::kAdd || !equal(sum->a, min))
        refuse(where, "an end of the form " + to_string(min) + " + extent expected");
      end = sum->b;
    }
    axes.push_back({Var(axis), std::move(min), std::move(end)});
    bound.push_back(axis);
    bind(axis, {axes.back().var, {}, {}});
  } while (accept(","));
  expect(":");
  Expr source = expression();
  expect(")");
  for (const std::string& axis : bound) release(axis);
  Reduce made{op, {std::move(source)}, std::move(axes), {}, {}, 0, nullptr};
  check(word, reduce_fault(made));
  return reduce(std::move(made));
}

std::vector<Expr> ExprParser::arguments(size_t count, const Token& word) {
  expect("(");
  std::vector<Expr> args = expressions(")");
  if (args.size() != count) {
    refuse(word, std::string(word.text()) + ": " + std::to_string(count) + " arguments expected, not " +
                     std::to_string(args.size()));
  }
  if (count > 1) {
    std::vector<Expr*> all;
    for (Expr& arg : args) all.push_back(&arg);
    if (word.text() != "select") adopt(args[0], args[1]), adopt(args[1], args[0]);
    fit(all);
  }
  return args;
}

std::vector<Expr> ExprParser::expressions(std::string_view closing) {
  std::vector<Expr> list;
  if (accept(closing)) return list;
  do list.push_back(expression());
  while (accept(","));
  expect(closing);
  return list;
}

ExprParser::Access ExprParser::access() {
  const Token& token = now();
  const Meaning& what = meaning(token);
  advance();
  Access a;
  a.buffer = accept("@") ? what.linear : what.buffer;
  if (!a.buffer) refuse(token, std::string(token.text()) + ": a buffer expected, not a variable");
  expect("[");
  while (!at("]") && !at("where")) {
    a.at.push_back(subscript());
    if (!accept(",")) break;
  }
  if (accept("where")) {
    a.pred = expression();
    Expr* const pred[] = {&a.pred};
    fit(pred, lanes_of(a.at));
  }
  expect("]");
  check(token, access_fault(a.buffer, a.at, a.pred));
  return a;
}

// base : 16 is ramp(base, 1, 16)
Expr ExprParser::subscript() {
  const Token& where = now();
  Expr base = expression();
  if (!accept(":")) return base;
  const int count = lanes();
  check(where, base.type() == Type::index() ? "" : "an index expected before ':', not " + to_string(base.type()));
  return ramp(std::move(base), 1, count);
}

std::string ExprParser::name() {
  if (now().kind != Token::kWord) expected("a name");
  if (is_reserved(now().text())) refuse(now(), "a name expected, not the word " + describe(now()));
  std::string text(now().text());
  advance();
  return text;
}

void ExprParser::bind(const std::string& name, Meaning meaning) { names_[name].push_back(std::move(meaning)); }

void ExprParser::release(const std::string& name) { names_.at(name).pop_back(); }

ExprParser::Meaning& ExprParser::meaning(const Token& word) {
  const auto found = names_.find(std::string(word.text()));
  if (word.kind != Token::kWord || found == names_.end() || found->second.empty()) {
    refuse(word, std::string(word.text()) + ": no variable or buffer of this name here");
  }
  return found->second.back();
}

}  // namespace tw::ir
