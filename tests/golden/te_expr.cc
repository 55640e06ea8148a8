#include "tests/golden/te_expr.h"

#include "te/promote.h"
#include "tensorwright/te_functions.h"

namespace tw::golden {

std::string trimmed(const std::string& s) {
  const size_t begin = s.find_first_not_of(' ');
  return begin == s.npos ? "" : s.substr(begin, s.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> split_list(const std::string& s, char by) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : s) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == by && depth == 0) {
      parts.push_back(trimmed(std::exchange(part, {})));
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

std::string dtype_named(const std::string& name) {
  static const std::map<std::string, std::string> kShort = {
      {"i4", "int4"},     {"u4", "uint4"},   {"f16", "float16"}, {"bf16", "bfloat16"}, {"f32", "float32"},
      {"f64", "float64"}, {"i8", "int8"},    {"i16", "int16"},   {"i32", "int32"},     {"i64", "int64"},
      {"u8", "uint8"},    {"u16", "uint16"}, {"u32", "uint32"},  {"u64", "uint64"}};
  const auto found = kShort.find(name);
  return found == kShort.end() ? name : found->second;
}

namespace {

using ir::BinOp;
using ir::Expr;

class Expressions {
 public:
  Expressions(Cursor& in, const Declarations& known, const SourceLine& where) : in_(in), known_(known), where_(where) {}

  Expr read() { return any(); }

 private:
  Expr any() {
    Expr left = both();
    while (in_.accept("or")) left = te::any({left, both()});
    return left;
  }
  Expr both() {
    Expr left = negation();
    while (in_.accept("and")) left = te::all({left, negation()});
    return left;
  }
  Expr negation() { return in_.accept("not") ? ir::logical_not(negation()) : comparison(); }
  Expr comparison() {
    static const std::pair<const char*, BinOp> kOps[] = {{"<=", BinOp::kLe}, {">=", BinOp::kGe}, {"==", BinOp::kEq},
                                                         {"!=", BinOp::kNe}, {"<", BinOp::kLt},  {">", BinOp::kGt}};
    Expr left = sum();
    for (const auto& [text, op] : kOps) {
      if (in_.accept(text)) return te::arith(op, left, sum());
    }
    return left;
  }
  Expr sum() {
    Expr left = product();
    for (;;) {
      if (in_.accept("+")) {
        left = te::arith(BinOp::kAdd, left, product());
      } else if (in_.peek() == '-' && in_.accept("-")) {
        left = te::arith(BinOp::kSub, left, product());
      } else {
        return left;
      }
    }
  }
  Expr product() {
    static const std::pair<const char*, BinOp> kOps[] = {
        {"*", BinOp::kMul}, {"//", BinOp::kFloorDiv}, {"/", BinOp::kDiv}, {"%", BinOp::kFloorMod}};
    Expr left = factor();
    for (bool more = true; more;) {
      more = false;
      for (const auto& [text, op] : kOps) {
        if (!in_.accept(text)) continue;
        left = te::arith(op, left, factor());
        more = true;
        break;
      }
    }
    return left;
  }
  Expr factor() {
    if (in_.accept("-")) return te::arith(BinOp::kSub, Expr(0), factor());
    if (in_.accept("(")) {
      Expr inner = read();
      in_.expect(")");
      return inner;
    }
    const std::string word = in_.word(std::isdigit(static_cast<unsigned char>(in_.peek())) ? "." : "");
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      return word.find('.') == word.npos ? Expr(static_cast<int64_t>(std::stoll(word)))
                                         : te::constant(std::stod(word), "float32");
    }
    if (const auto var = known_.variables.find(word); var != known_.variables.end()) return var->second;
    if (const auto var = known_.scalars.find(word); var != known_.scalars.end()) return var->second;
    if (const auto axis = known_.axes.find(word); axis != known_.axes.end()) return axis->second;
    if (const auto tensor = known_.tensors.find(word); tensor != known_.tensors.end()) return read_of(tensor->second);
    if (in_.peek() == '(') return function(word);
    in_.fail("no tensor, axis or variable " + word);
  }
  Expr read_of(const te::Tensor& tensor) {
    in_.expect("[");
    std::vector<Expr> at;
    while (in_.peek() != ']') {
      at.push_back(read());
      if (!in_.accept(",")) break;
    }
    in_.expect("]");
    return tensor(std::move(at), where_);
  }

  Expr function(const std::string& name) {
    using One = Expr (*)(Expr);
    static const std::map<std::string, One> kOne = {
        {"exp", te::exp},     {"log", te::log},     {"tanh", te::tanh}, {"sigmoid", te::sigmoid},   {"erf", te::erf},
        {"sqrt", te::sqrt},   {"rsqrt", te::rsqrt}, {"abs", te::abs},   {"floor", te::floor},       {"ceil", te::ceil},
        {"round", te::round}, {"trunc", te::trunc}, {"sin", te::sin},   {"popcount", te::popcount}, {"clz", te::clz},
        {"isnan", te::isnan}, {"cbrt", te::cbrt},   {"tf32", te::tf32}};
    in_.expect("(");
    std::vector<Expr> args;
    std::vector<te::IterVar> axes;
    bool reduces = false;
    Expr where, init;
    while (in_.peek() != ')') {
      if (in_.accept("axis")) {
        in_.expect("=");
        axes = reduced_axes();
        reduces = true;
      } else if (in_.accept("where")) {
        in_.expect("=");
        where = read();
      } else if (in_.accept("init")) {
        in_.expect("=");
        init = read();
      } else {
        args.push_back(read());
      }
      if (!in_.accept(",")) break;
    }
    in_.expect(")");
    if (reduces) return reduction(name, args.at(0), axes, where, init);
    if (const auto one = kOne.find(name); one != kOne.end()) return one->second(args.at(0));
    if (name == "max") return te::max(args.at(0), args.at(1));
    if (name == "min") return te::min(args.at(0), args.at(1));
    if (name == "all") return te::all(args);
    if (name == "any") return te::any(args);
    if (name == "power") return te::power(args.at(0), args.at(1));
    if (name == "select") return te::select(args.at(0), args.at(1), args.at(2));
    if (name == "if_then_else") return te::if_then_else(args.at(0), args.at(1), args.at(2));
    if (const auto type = ir::parse_type(dtype_named(name))) return ir::cast(*type, te::as_data(args.at(0)));
    in_.fail("no function " + name);
  }
  std::vector<te::IterVar> reduced_axes() {
    std::vector<te::IterVar> axes;
    if (!in_.accept("[")) return {known_.axes.at(in_.word())};
    while (in_.peek() != ']') {
      axes.push_back(known_.axes.at(in_.word()));
      if (!in_.accept(",")) break;
    }
    in_.expect("]");
    return axes;
  }
  Expr reduction(const std::string& name, const Expr& source, const std::vector<te::IterVar>& axes, const Expr& where,
                 const Expr& init) {
    if (name == "sum") return te::sum(source, axes, where, init);
    if (name == "prod") return te::prod(source, axes, where, init);
    if (name == "max") return te::max(source, axes, where, init);
    if (name == "min") return te::min(source, axes, where, init);
    in_.fail("no reduction " + name);
  }

  Cursor& in_;
  const Declarations& known_;
  const SourceLine& where_;
};

}  // namespace

te::Expr read_expression(Cursor& in, const Declarations& known, const SourceLine& where) {
  return Expressions(in, known, where).read();
}

}  // namespace tw::golden
