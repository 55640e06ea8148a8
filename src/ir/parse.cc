// Statements and kernels of the text form.
#include "src/ir/parse.h"

#include <algorithm>
#include <unordered_map>

#include "src/ir/parse_expr.h"
#include "src/ir/typing.h"
#include "src/ir/verify.h"
#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

template <class Names>
std::optional<size_t> index_of(const Names& names, std::string_view text) {
  const auto found = std::find(std::begin(names), std::end(names), text);
  return found == std::end(names) ? std::nullopt : std::optional(static_cast<size_t>(found - std::begin(names)));
}

// How many elements a buffer spans, for its handle by offset; 0 when the shape is not constant.
int64_t span_of(const Buffer& b) {
  int64_t elements = 1, last = 0;
  for (size_t d = 0; d < b.rank(); ++d) {
    const int64_t extent = as_int(b.shape()[d]).value_or(0);
    if (extent == 0) return 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(elements, extent, &elements)) return 0;
    if (b.strides().empty()) continue;
    if (__builtin_mul_overflow(extent - 1, as_int(b.strides()[d]).value_or(0), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return 0;
  }
  return b.strides().empty() ? elements : last + 1;
}

class Parser : ExprParser {
 public:
  using ExprParser::ExprParser;

  // kernel name(A: float32[n, 8], alpha: float32, C: out float32[n], n: size):
  Program program() {
    Program p;
    if (now().kind == Token::kNewline) advance();
    expect("kernel");
    p.name = any_name();
    expect("(");
    declare_scalars();
    std::vector<Var> sizes;
    while (!at(")")) {
      if (const auto scalar = scalars_.find(place()); scalar != scalars_.end()) {
        advance();
        expect(":");
        if (at("size")) {
          sizes.push_back(scalar->second);
        } else {
          p.scalars.push_back(scalar->second);
          p.places.push_back(static_cast<int>(p.params.size()));
        }
        advance();
      } else {
        p.params.push_back(parameter());
      }
      if (!accept(",")) break;
    }
    p.scalars.insert(p.scalars.end(), sizes.begin(), sizes.end());
    expect(")");
    p.body = indented(0);
    if (now().kind == Token::kNewline) advance();
    if (now().kind != Token::kEnd) expected("the end of the text");
    return p;
  }

 private:
  // The scalars of a kernel, which shapes before them may use: `alpha: float32`, `n: index`, and `n: size` of a
  // variable that shapes give.
  void declare_scalars() {
    const size_t begin = place();
    while (now().kind == Token::kWord || now().kind == Token::kSign || now().kind == Token::kInteger ||
           now().kind == Token::kQuoted) {
      const size_t at_name = place();
      const Token word = now();
      advance();
      if (word.kind != Token::kWord || !at(":")) continue;
      advance();
      const std::optional<Type> type = at("size") ? std::optional(Type::index()) : parse_type(now().text());
      if (!type || !type->is_scalar() || next().is("[")) continue;
      if (!is_identifier(word.text()) || is_reserved(word.text())) refuse(word, "a plain name expected");
      const Var var(std::string(word.text()), *type);
      bind(var.name(), {var, {}, {}});
      scalars_.emplace(at_name, var);
    }
    go_back(begin);
  }

  Param parameter() {
    const Token& first = now();
    const std::string real = any_name();
    std::string spelled = real;
    if (accept("as")) {
      spelled = name();
    } else if (!is_identifier(real) || is_reserved(real)) {
      refuse(first, describe(first) + " has to be followed by 'as' and a plain name");
    }
    expect(":");
    const bool written = accept("out"), nontemporal = written && accept("nontemporal");
    Param param{declare(spelled, real, Scope::kArgument), written};
    param.nontemporal = nontemporal;
    if (accept("holding")) param.declared = layout(real, Scope::kArgument);
    if (accept("packed")) {
      if (now().kind != Token::kQuoted) expected("a layout in quotes");
      param.layout = unquoted(now());
      advance();
    }
    if (at("range")) param.range = range();
    return param;
  }

  // range [-64, 63]
  std::pair<int64_t, int64_t> range() {
    const Token word = now();
    advance();
    expect("[");
    const std::vector<Expr> ends = expressions("]");
    const auto number = [&](size_t i) { return i < ends.size() ? as_int(ends[i]) : std::nullopt; };
    if (ends.size() != 2 || !number(0) || !number(1)) refuse(word, "a range has two integers");
    return {*number(0), *number(1)};
  }

  std::string any_name() {
    const Token token = now();
    if (token.kind == Token::kWord) {
      advance();
      return std::string(token.text());
    }
    if (token.kind != Token::kQuoted) expected("a name");
    advance();
    return unquoted(token);
  }

  std::string unquoted(const Token& token) {
    const std::string_view inner = token.text().substr(1, token.text().size() - 2);
    std::string out;
    for (size_t i = 0; i < inner.size(); ++i) {
      if (inner[i] != '\\') {
        out += inner[i];
      } else if (inner[++i] != 'x') {
        out += inner[i];
      } else {
        static constexpr std::string_view kHex = "0123456789abcdef";
        const size_t high = i + 1 < inner.size() ? kHex.find(inner[i + 1]) : kHex.npos;
        const size_t low = i + 2 < inner.size() ? kHex.find(inner[i + 2]) : kHex.npos;
        if (high == kHex.npos || low == kHex.npos) refuse(token, "two digits expected after \\x");
        out += static_cast<char>(high << 4 | low);
        i += 2;
      }
    }
    return out;
  }

  // float32[8, 8] strides [16, 1] local
  Buffer declare(const std::string& spelled, const std::string& real, std::optional<Scope> scope) {
    const Buffer buffer = layout(real, scope);
    const bool is_linear = buffer.rank() == 1 && buffer.strides().empty();
    const Expr elements(span_of(buffer));
    const Buffer linear(BufferNode{buffer.id(), real, buffer.element(), {elements}, {}, buffer.scope(), nullptr});
    bind(spelled, {{}, buffer, is_linear ? buffer : linear});
    return buffer;
  }

  // float32[8, n] strides [16, 1] local: the scope stands here unless the caller knows it.
  Buffer layout(const std::string& name, std::optional<Scope> scope) {
    const std::optional<Type> element = parse_type(now().text());
    if (!element || !element->is_scalar()) expected("the type of an element");
    advance();
    expect("[");
    std::vector<Expr> shape = expressions("]"), strides;
    if (accept("strides")) {
      expect("[");
      strides = expressions("]");
    }
    if (!scope) {
      const auto known = index_of(kScopes, now().text());
      if (!known || *known == 0) expected("local, shared or global");
      scope = static_cast<Scope>(*known);
      advance();
    }
    return Buffer(name, *element, std::move(shape), *scope, std::move(strides));
  }

  // ": \n" and a block that stands further to the right than `outer`.
  Stmt indented(uint32_t outer) {
    expect(":");
    if (now().kind != Token::kNewline) expected("the end of the line");
    if (now().indent() <= outer) refuse(next(), "an indented statement expected, not " + describe(next()));
    return block(now().indent());
  }

  // Statements up to the first line that stands further to the left. `now()` is the kNewline before each.
  Stmt block(uint32_t indent) {
    const Deeper deeper(*this);
    std::vector<Stmt> stmts;
    while (now().kind == Token::kNewline && next().kind != Token::kEnd && now().indent() >= indent) {
      if (now().indent() > indent) refuse(next(), "a statement at column " + std::to_string(indent + 1) + " expected");
      advance();
      if (at("%")) {
        define();
      } else {
        stmts.push_back(statement(indent));
      }
      if (now().kind != Token::kNewline) expected("the end of the line");
    }
    if (stmts.empty()) refuse(now().kind == Token::kNewline ? next() : now(), "a statement expected");
    return seq(std::move(stmts));
  }

  Stmt statement(uint32_t indent) {
    if (accept("for")) return loop_statement(indent);
    if (accept("if")) return if_statement(indent);
    if (accept("alloc")) return allocation(indent);
    if (accept("let")) return let_statement(indent);
    if (accept("pass")) return seq({});
    if (accept("sync")) return sync_statement();
    if (at("call") || at("call_pure") || at("prefetch") || at("prefetch_l2")) return evaluate(expression());
    if (now().kind != Token::kWord || is_reserved(now().text())) expected("a statement");
    return store_statement();
  }

  Stmt loop_statement(uint32_t indent) {
    const std::string variable = name();
    expect("in");
    const Token& where = now();
    if (integer("0") != 0) refuse(where, "a loop from 0 expected");
    expect("..");
    Expr extent = expression(kSum);
    if (extent.type() != Type::index()) refuse(where, "an index expected after 0.., not " + to_string(extent.type()));
    const auto kind = index_of(kForKinds, now().text());
    if (kind) advance();
    Tail tail = Tail::kNone;
    if (accept("tail")) {
      expect("=");
      const auto known = index_of(kTails, now().text());
      if (!known) expected("guard, mask, peel, shift_inward or auto");
      tail = static_cast<Tail>(*known);
      advance();
    }
    const Var var(variable);
    bind(variable, {var, {}, {}});
    Stmt body = indented(indent);
    release(variable);
    return loop(var, std::move(extent), std::move(body), static_cast<ForKind>(kind.value_or(0)), tail);
  }

  Stmt sync_statement() {
    const auto op = index_of(kSyncOps, now().text());
    if (!op) expected("block, cluster, commit or wait");
    advance();
    const auto made = static_cast<SyncOp>(*op);
    if (made != SyncOp::kWait) return sync(made);
    const Token& where = now();
    const int64_t count = integer("a number of groups");
    if (count < 0) refuse(where, "a number of groups from 0 on expected");
    return sync(made, count);
  }

  Stmt if_statement(uint32_t indent) {
    const Token& where = now();
    Expr cond = expression();
    if (cond.type() != Type::boolean())
      refuse(where, "a condition of type bool expected, not " + to_string(cond.type()));
    Stmt then = indented(indent), otherwise;
    if (now().kind == Token::kNewline && now().indent() == indent && next().is("else")) {
      advance();
      advance();
      otherwise = indented(indent);
    }
    return if_then(std::move(cond), std::move(then), std::move(otherwise));
  }

  // The body is a block of its own after ':', else the rest of the block that it stands in.
  Stmt body_of_scope(uint32_t indent) { return at(":") ? indented(indent) : rest_of_block(indent); }
  Stmt rest_of_block(uint32_t indent) {
    if (now().kind != Token::kNewline) expected("':' or the end of the line");
    return block(indent);
  }

  Stmt allocation(uint32_t indent) {
    const std::string spelled = name();
    expect(":");
    const Buffer buffer = declare(spelled, spelled, std::nullopt);
    Stmt body = body_of_scope(indent);
    release(spelled);
    return allocate(buffer, std::move(body));
  }

  Stmt let_statement(uint32_t indent) {
    const std::string variable = name();
    expect("=");
    Expr value = expression();
    const Var var(variable, value.type());
    bind(variable, {var, {}, {}});
    Stmt body = body_of_scope(indent);
    release(variable);
    return let_stmt(var, std::move(value), std::move(body));
  }

  Stmt store_statement() {
    const Token& where = now();
    Access a = access();
    if (a.pred) refuse(where, "the predicate of a store stands at the end of its line");
    expect("=");
    const Type type = a.buffer.element().with_lanes(lanes_of(a.at));
    Expr value = fitted(type);
    if (value.type() != type)
      refuse(where,
             a.buffer.name() + ": a value of type " + to_string(type) + " expected, not " + to_string(value.type()));
    Expr pred = accept("where") ? fitted(Type::boolean(type.lanes)) : Expr();
    check(where, access_fault(a.buffer, a.at, pred));
    return store(std::move(a.buffer), std::move(a.at), std::move(value), std::move(pred), arrival());
  }

  Arrival arrival() {
    if (!accept("later")) return Arrival::kNow;
    if (!accept("by")) return Arrival::kLater;
    const auto known = index_of(kArrivals, now().text());
    if (known.value_or(0) <= static_cast<size_t>(Arrival::kLater)) expected("ldg or cp.async");
    advance();
    return static_cast<Arrival>(*known);
  }

  // A scalar is broadcast to the lanes of the subscripts; an index literal takes the type of the buffer.
  Expr fitted(Type type) {
    Expr e = expression();
    if (as<IntImm>(e) && e.type().is_index() && !type.is_bool())
      e = type.is_float() ? float_imm(type.element(), static_cast<double>(*as_int(e)))
                          : int_imm(type.element(), *as_int(e));
    return e.type().is_scalar() ? broadcast(std::move(e), type.lanes) : e;
  }

  std::unordered_map<size_t, Var> scalars_;  // by the place of the name in the header
};

Result<Program> parse(std::string_view text) {
  try {
    Program p = Parser(text).program();
    if (Status status = verify(p); !status) {
      Diagnostic d = std::move(status).error();
      d.kind = ErrorKind::kParse;
      d.what = "IR text: " + d.what;
      return d;
    }
    return p;
  } catch (SyntaxError& error) {
    return std::move(error.diagnostic);
  }
}

class LoneExpr : ExprParser {
 public:
  explicit LoneExpr(std::string_view text) : ExprParser(text) {}

  Expr expr(const std::vector<std::string>& names, const std::vector<Var>& vars) {
    for (size_t i = 0; i < names.size(); ++i) bind(names[i], {vars[i], {}, {}});
    while (now().kind == Token::kNewline) advance();
    Expr e = expression();
    while (now().kind == Token::kNewline) advance();
    if (now().kind != Token::kEnd) expected("the end of the expression");
    return e;
  }
};

}  // namespace

Result<Expr> parse_expr(std::string_view text, const std::vector<std::string>& names, const std::vector<Var>& vars) {
  constexpr size_t kShallow = 1000;  // letters: extents of kernels are read where no thread may be begun any more
  const auto parsed = [&]() -> Result<Expr> {
    try {
      return LoneExpr(text).expr(names, vars);
    } catch (SyntaxError& error) {
      return std::move(error.diagnostic);
    }
  };
  return text.size() < kShallow ? parsed() : support::with_deep_stack(parsed);
}

Result<Program> parse_program(std::string_view text) {
  return support::with_deep_stack([&] { return parse(text); });
}

}  // namespace tw::ir
