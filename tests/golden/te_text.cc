#include "tests/golden/te_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

#include "src/lower/pipeline.h"
#include "te/promote.h"
#include "tensorwright/schedule.h"

namespace tw::golden {
namespace {

using ir::BinOp;
using ir::Expr;
using ir::Var;

// ----------------------------------------------------------------------------------------------------------------
// reading

class Cursor {
 public:
  explicit Cursor(const Line& line, std::string text) : line_(line), text_(std::move(text)) {}

  bool accept(std::string_view sign) {
    skip();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    const bool is_word = std::isalpha(static_cast<unsigned char>(sign[0]));
    if (is_word && at_ + sign.size() < text_.size() && is_name(text_[at_ + sign.size()])) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) fail("'" + std::string(sign) + "' expected");
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Letters, digits and what `more` holds: dots and stars in names of axes and stages.
  std::string word(std::string_view more = "") {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_name(text_[at_]) || more.find(text_[at_]) != more.npos)) ++at_;
    if (begin == at_) fail("a name expected");
    return text_.substr(begin, at_ - begin);
  }
  std::string until(char end) {
    const size_t begin = at_;
    at_ = std::min(text_.find(end, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  [[noreturn]] void fail(const std::string& problem) {
    throw std::runtime_error("line " + std::to_string(line_.number) + ": " + problem + " before: " + text_.substr(at_));
  }

 private:
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  const Line& line_;
  std::string text_;
  size_t at_ = 0;
};

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
      {"f16", "float16"}, {"bf16", "bfloat16"}, {"f32", "float32"}, {"f64", "float64"},
      {"i8", "int8"},     {"i16", "int16"},     {"i32", "int32"},   {"i64", "int64"},
      {"u8", "uint8"},    {"u16", "uint16"},    {"u32", "uint32"},  {"u64", "uint64"}};
  const auto found = kShort.find(name);
  return found == kShort.end() ? name : found->second;
}

// ------------------------------------------------------------------------------------------------------------
// declarations

struct Declarations {
  std::map<std::string, te::Tensor> tensors;
  std::map<std::string, te::IterVar> axes;
  std::map<std::string, Var> variables;  // of the lambda being read
  std::vector<te::Tensor> order;
};

class Expressions {
 public:
  Expressions(Cursor& in, Declarations& known, const SourceLine& where) : in_(in), known_(known), where_(where) {}

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
        {"exp", te::exp},     {"log", te::log},   {"tanh", te::tanh},   {"sigmoid", te::sigmoid},
        {"erf", te::erf},     {"sqrt", te::sqrt}, {"rsqrt", te::rsqrt}, {"abs", te::abs},
        {"floor", te::floor}, {"ceil", te::ceil}, {"round", te::round}, {"trunc", te::trunc}};
    in_.expect("(");
    std::vector<Expr> args;
    std::vector<te::IterVar> axes;
    bool reduces = false;
    while (in_.peek() != ')') {
      if (in_.accept("axis")) {
        in_.expect("=");
        axes = reduced_axes();
        reduces = true;
      } else {
        args.push_back(read());
      }
      if (!in_.accept(",")) break;
    }
    in_.expect(")");
    if (reduces) return reduction(name, args.at(0), axes);
    if (const auto one = kOne.find(name); one != kOne.end()) return one->second(args.at(0));
    if (name == "max") return te::max(args.at(0), args.at(1));
    if (name == "min") return te::min(args.at(0), args.at(1));
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
  Expr reduction(const std::string& name, const Expr& source, const std::vector<te::IterVar>& axes) {
    if (name == "sum") return te::sum(source, axes);
    if (name == "prod") return te::prod(source, axes);
    if (name == "max") return te::max(source, axes);
    if (name == "min") return te::min(source, axes);
    in_.fail("no reduction " + name);
  }

  Cursor& in_;
  Declarations& known_;
  const SourceLine& where_;
};

// -------------------------------------------------------------------------------------------------------------------
// Steps

struct Arguments {
  std::vector<std::string> plain;
  std::map<std::string, std::string> keyed;

  std::string at(size_t position, const std::string& key) const {
    if (const auto found = keyed.find(key); found != keyed.end()) return found->second;
    return position < plain.size() ? plain[position] : "";
  }
};

std::optional<schedule::Factor> factor_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(schedule::Factor(std::stoll(text)));
}

template <class E>
E named(const std::string& text, std::initializer_list<const char*> names, E missing) {
  int index = 0;
  for (const char* name : names) {
    if (text == name) return static_cast<E>(index);
    ++index;
  }
  return missing;
}

ir::Tail tail_of(const std::string& text) {
  return named(text, {"none", "guard", "mask", "peel", "shift_inward", "auto"}, ir::Tail::kAuto);
}
ir::Scope scope_of(const std::string& text) { return named(text, {"argument", "global", "local"}, ir::Scope::kLocal); }

class Script {
 public:
  explicit Script(std::string file) : file_(std::move(file)) {}

  void line(const Line& line) {
    where_ = SourceLine(file_, line.number, trimmed(line.text));
    std::string text = trimmed(line.text);
    if (text.starts_with("te:")) text = trimmed(text.substr(3));
    for (const char* setting : {"outputs", "args", "show", "lower", "target"}) {
      if (text.starts_with(std::string(setting) + ":")) {
        settings_[setting] = trimmed(text.substr(std::string(setting).size() + 1));
        return;
      }
    }
    if (text.find(" = placeholder(") == text.npos && text.find(" = compute(") == text.npos &&
        text.find(" = reduce_axis(") == text.npos)
      return step(line, text);
    for (const std::string& definition : split_list(text, ';')) define(line, definition);
  }

  std::string result() {
    schedule();
    const std::string show = settings_["show"];
    if (show == "schedule") return to_string(*schedule_);
    if (show == "json") return to_json(schedule_->steps()) + "\n";
    if (show == "steps") {
      std::string all;
      for (const schedule::Step& step : schedule_->steps()) all += to_string(step) + "\n";
      return all;
    }
    ir::Program program = schedule::to_ir(*schedule_, arguments(), "f").value_or_throw();
    if (const std::string until = settings_["lower"]; !until.empty()) {
      const std::string target = settings_["target"].empty() ? "llvm -mcpu=x86-64-v3" : settings_["target"];
      program = lower::run_pipeline(program, Target::parse(target).value_or_throw(), until == "all" ? "" : until);
    }
    return ir::to_string(program);
  }

 private:
  void define(const Line& line, const std::string& text) {
    Cursor in(line, text);
    const std::string name = in.word();
    in.expect("=");
    const std::string what = in.word();
    in.expect("(");
    if (what == "reduce_axis") {
      Expr begin = Expressions(in, known_, where_).read();
      in.expect(",");
      Expr end = Expressions(in, known_, where_).read();
      known_.axes.insert_or_assign(name, te::reduce_axis(begin, end, name, where_));
      return;
    }
    const std::vector<Expr> shape = tuple(in);
    te::Tensor tensor = what == "compute" ? computed(in, name, shape) : placed(in, name, shape);
    known_.tensors.insert_or_assign(name, tensor);
    known_.order.push_back(tensor);
  }

  te::Tensor placed(Cursor& in, const std::string& name, const std::vector<Expr>& shape) {
    std::string dtype = "float32";
    std::vector<Expr> strides;
    while (in.accept(",")) {
      if (in.accept("strides")) {
        in.expect("=");
        strides = tuple(in);
      } else {
        dtype = dtype_named(in.word());
      }
    }
    return te::placeholder(shape, dtype, name, strides, where_);
  }

  te::Tensor computed(Cursor& in, const std::string& name, const std::vector<Expr>& shape) {
    in.expect(",");
    std::vector<std::string> variables;
    if (in.accept("(")) {
      while (in.peek() != ')') {
        variables.push_back(in.word());
        if (!in.accept(",")) break;
      }
      in.expect(")");
    } else {
      variables.push_back(in.word());
    }
    in.expect("=>");
    const auto body = [&](const std::vector<Var>& vars) {
      known_.variables.clear();
      for (size_t i = 0; i < vars.size() && i < variables.size(); ++i) known_.variables.emplace(variables[i], vars[i]);
      return Expressions(in, known_, where_).read();
    };
    return te::compute(shape, body, name, variables, where_);
  }

  std::vector<Expr> tuple(Cursor& in) {
    std::vector<Expr> all;
    known_.variables.clear();
    in.expect("(");
    while (in.peek() != ')') {
      all.push_back(Expressions(in, known_, where_).read());
      if (!in.accept(",")) break;
    }
    in.expect(")");
    return all;
  }

  schedule::Schedule& schedule() {
    if (!schedule_) schedule_.emplace(outputs());
    return *schedule_;
  }

  std::vector<te::Tensor> outputs() {
    std::vector<te::Tensor> all;
    if (!settings_["outputs"].empty()) {
      for (const std::string& name : split_list(settings_["outputs"], ',')) all.push_back(known_.tensors.at(name));
      return all;
    }
    for (const te::Tensor& t : known_.order) {
      const bool read = std::any_of(known_.order.begin(), known_.order.end(), [&](const te::Tensor& other) {
        return std::find(other.op()->inputs.begin(), other.op()->inputs.end(), t) != other.op()->inputs.end();
      });
      if (!read && t.op()->compute() != nullptr) all.push_back(t);
    }
    return all;
  }

  std::vector<te::Tensor> arguments() {
    std::vector<te::Tensor> all;
    for (const std::string& name : split_list(settings_["args"], ',')) all.push_back(known_.tensors.at(name));
    if (!all.empty()) return all;
    for (const te::Tensor& t : known_.order) {
      if (t.op()->is_placeholder()) all.push_back(t);
    }
    for (const te::Tensor& t : schedule_->outputs()) all.push_back(t);
    return all;
  }

  // STAGE.primitive(arguments) -> names
  void step(const Line& line, const std::string& text) {
    Cursor in(line, text);
    const std::string callee = in.word(".*");
    const size_t dot = callee.rfind('.');
    if (dot == callee.npos) in.fail("STAGE.primitive(...) expected");
    const std::string stage = stage_named(callee.substr(0, dot)), primitive = callee.substr(dot + 1);
    in.expect("(");
    Arguments args;
    for (const std::string& arg : split_list(in.until(')'), ',')) {
      const size_t equals = arg.find('=');
      if (equals == arg.npos) {
        args.plain.push_back(arg);
      } else {
        args.keyed[trimmed(arg.substr(0, equals))] = trimmed(arg.substr(equals + 1));
      }
    }
    in.expect(")");
    std::vector<std::string> made;
    const schedule::StepKind kind = step_of(in, stage, primitive, args, made);
    schedule().apply(schedule::Step{schedule_step(kind)});
    if (!in.accept("->")) return;
    for (size_t i = 0; i == 0 || in.accept(","); ++i) aliases_[in.word()] = made.at(i);
  }

  schedule::Step schedule_step(const schedule::StepKind& kind) {
    return std::visit([&](const auto& k) { return schedule::Step(k, where_); }, kind);
  }

  std::string stage_named(const std::string& name) { return aliased(name); }
  std::string aliased(const std::string& name) const {
    const auto found = aliases_.find(name);
    return found == aliases_.end() ? name : found->second;
  }
  std::vector<std::string> aliased(const std::vector<std::string>& names) const {
    std::vector<std::string> all;
    for (const std::string& name : names) all.push_back(aliased(name));
    return all;
  }

  schedule::StepKind step_of(Cursor& in, const std::string& stage, const std::string& primitive, const Arguments& args,
                             std::vector<std::string>& made) {
    using namespace schedule;
    const std::string axis = aliased(args.at(0, "axis"));
    if (primitive == "split") {
      made = {axis + ".o", axis + ".i"};
      return Split{stage, axis, factor_of(args.at(1, "factor")), factor_of(args.at(9, "nparts")),
                   tail_of(args.at(9, "tail"))};
    }
    if (primitive == "tile") {
      const std::string x = aliased(args.at(0, "x")), y = aliased(args.at(1, "y"));
      made = {x + ".o", y + ".o", x + ".i", y + ".i"};
      return Tile{stage,
                  x,
                  y,
                  *factor_of(args.at(2, "x_factor")),
                  *factor_of(args.at(3, "y_factor")),
                  tail_of(args.at(9, "tail"))};
    }
    if (primitive == "fuse") {
      const std::vector<std::string> axes = aliased(args.plain);
      std::string name;
      for (const std::string& a : axes) name += (name.empty() ? "" : "*") + a;
      made = {name};
      return Fuse{stage, axes};
    }
    if (primitive == "reorder") return Reorder{stage, aliased(args.plain)};
    if (primitive == "vectorize") return Vectorize{stage, axis};
    if (primitive == "unroll") return Unroll{stage, axis};
    if (primitive == "parallel") return Parallel{stage, axis};
    if (primitive == "compute_at")
      return ComputeAt{stage, aliased(args.at(0, "consumer")), aliased(args.at(1, "axis"))};
    if (primitive == "compute_root") return ComputeRoot{stage};
    if (primitive == "compute_inline") return ComputeInline{stage};
    if (primitive == "set_scope") return SetScope{stage, scope_of(args.at(0, "scope"))};
    if (primitive == "pragma")
      return Pragma{stage, axis, args.at(1, "key"), args.at(2, "value").empty() ? 1 : std::stoll(args.at(2, "value"))};
    if (primitive != "cache_read" && primitive != "cache_write") in.fail("no primitive " + primitive);
    const std::string scope = args.at(0, "scope");
    made = {stage + "." + scope};
    if (primitive == "cache_write") return CacheWrite{stage, scope_of(scope)};
    std::string readers = args.at(1, "readers");
    if (readers.starts_with("[")) readers = readers.substr(1, readers.size() - 2);
    return CacheRead{stage, scope_of(scope), aliased(split_list(readers, ','))};
  }

  std::string file_;
  SourceLine where_;
  Declarations known_;
  std::map<std::string, std::string> settings_, aliases_;
  std::optional<schedule::Schedule> schedule_;
};

}  // namespace

std::string run_te(const std::string& file, const std::vector<Line>& lines) {
  try {
    Script script(file);
    for (const Line& line : lines) script.line(line);
    return script.result();
  } catch (const Error& error) {
    return error.diagnostic().render() + "\n";
  }
}

}  // namespace tw::golden
