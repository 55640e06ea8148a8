#include "tests/golden/te_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "schedule/explain.h"
#include "src/lower/pipeline.h"
#include "tensorwright/schedule.h"
#include "tests/golden/te_expr.h"

namespace tw::golden {
namespace {

using ir::Expr;
using ir::Var;

struct Arguments {
  std::vector<std::string> plain;
  std::map<std::string, std::string> keyed;

  std::string at(size_t position, const std::string& key) const {
    if (const auto found = keyed.find(key); found != keyed.end()) return found->second;
    return position < plain.size() ? plain[position] : "";
  }
};

std::optional<schedule::Factor> factor_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  schedule::Factor factor;
  if (text.find_first_not_of("-0123456789") == std::string::npos) {
    factor.value = std::stoll(text);
  } else {
    factor.size = text;
  }
  return factor;
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
  return named(text, {"none", "guard", "mask", "peel", "shift_inward", "auto", "pad"}, ir::Tail::kAuto);
}
ir::Scope scope_of(const std::string& text) {
  return ir::scratch_scope_named(text).value_or(text == "argument" ? ir::Scope::kArgument : ir::Scope::kLocal);
}

const schedule::Machine kMachine{2, 512, 32, 0, 32 << 10, 1 << 20, 32 << 20, 4e9};  // of `show: explain`

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
        text.find(" = padding(") == text.npos && text.find(" = reduce_axis(") == text.npos &&
        text.find(" = var(") == text.npos)
      return step(line, text);
    for (const std::string& definition : split_list(text, ';')) define(line, definition);
  }

  std::vector<te::Tensor> declared() {
    schedule();
    return arguments();
  }

  std::string result() {
    schedule();
    const std::string show = settings_["show"];
    if (show == "schedule") return to_string(*schedule_);
    if (show == "explain") return explained();
    if (show == "json") return to_json(schedule_->steps()) + "\n";
    if (show == "steps") {
      std::string all;
      for (const schedule::Step& step : schedule_->steps()) all += to_string(step) + "\n";
      return all;
    }
    ir::Program program = schedule::to_ir(*schedule_, arguments(), "f").value_or_throw();
    if (std::string until = settings_["lower"]; !until.empty()) {
      const bool plain = until.starts_with("plain ");  // without the pass lanes
      if (plain) until = trimmed(until.substr(6));
      const std::string target = settings_["target"].empty() ? "llvm -mcpu=x86-64-v3" : settings_["target"];
      program = lower::run_pipeline(lower::passes_for(program, lower::cpu_passes()), program,
                                    Target::parse(target).value_or_throw(), until == "all" ? "" : until,
                                    plain ? lower::PlainLoops::kStay : lower::PlainLoops::kGetLanes);
    }
    return ir::to_string(program);
  }

 private:
  std::string explained() {
    const std::string target = settings_["target"].empty() ? "interp" : settings_["target"];
    const schedule::Machine machine = schedule::describe_machine(Target::parse(target).value_or_throw(), {});
    return to_string(machine.device ? explain_device(*schedule_, machine) : explain(*schedule_, kMachine));
  }

  void define(const Line& line, const std::string& text) {
    Cursor in(line, text);
    const std::string name = in.word();
    in.expect("=");
    const std::string what = in.word();
    in.expect("(");
    if (what == "reduce_axis") {
      Expr begin = read_expression(in, known_, where_);
      in.expect(",");
      Expr end = read_expression(in, known_, where_);
      known_.axes.insert_or_assign(name, te::reduce_axis(begin, end, name, where_));
      return;
    }
    if (what == "var") {
      known_.scalars.insert_or_assign(name, te::var(name, dtype_named(in.word())));
      return;
    }
    const std::vector<Expr> shape = tuple(in);
    te::Tensor tensor = what == "placeholder" ? placed(in, name, shape) : computed(in, name, shape, what == "padding");
    known_.tensors.insert_or_assign(name, tensor);
    known_.order.push_back(tensor);
  }

  te::Tensor placed(Cursor& in, const std::string& name, const std::vector<Expr>& shape) {
    std::string dtype = "float32";
    te::Placeholder known;
    while (in.accept(",")) {
      if (in.accept("strides")) {
        in.expect("=");
        known.strides = tuple(in);
      } else if (in.accept("param")) {
        known.param = true;
      } else {
        dtype = dtype_named(in.word());
      }
    }
    return te::placeholder(shape, dtype, name, known, where_);
  }

  te::Tensor computed(Cursor& in, const std::string& name, const std::vector<Expr>& shape, bool padding) {
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
    const auto body = [&](const std::vector<Var>& vars) -> std::vector<Expr> {
      known_.variables.clear();
      for (size_t i = 0; i < vars.size() && i < variables.size(); ++i) known_.variables.emplace(variables[i], vars[i]);
      return {read_expression(in, known_, where_)};
    };
    return te::compute_tuple(shape, body, name, variables, where_, padding)[0];
  }

  std::vector<Expr> tuple(Cursor& in) {
    std::vector<Expr> all;
    known_.variables.clear();
    in.expect("(");
    while (in.peek() != ')') {
      all.push_back(read_expression(in, known_, where_));
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
    const std::string stage = aliased(callee.substr(0, dot)), primitive = callee.substr(dot + 1);
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
    schedule().apply(std::visit([&](const auto& k) { return schedule::Step(k, where_); }, kind));
    if (!in.accept("->")) return;
    for (size_t i = 0; i == 0 || in.accept(","); ++i) aliases_[in.word()] = made.at(i);
  }

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
      made = {axes.empty() ? "once" : name};
      return Fuse{stage, axes};
    }
    if (primitive == "reorder") return Reorder{stage, aliased(args.plain)};
    if (primitive == "vectorize") return Vectorize{stage, axis};
    if (primitive == "unroll") return Unroll{stage, axis};
    if (primitive == "parallel") return Parallel{stage, axis};
    if (primitive == "bind") return Bind{stage, axis, args.at(1, "thread")};
    if (primitive == "compute_at")
      return ComputeAt{stage, aliased(args.at(0, "consumer")), aliased(args.at(1, "axis"))};
    if (primitive == "compute_root") return ComputeRoot{stage};
    if (primitive == "compute_inline") return ComputeInline{stage};
    if (primitive == "rfactor") {
      made = {stage + ".rf"};
      const std::string position = args.at(1, "factor_axis");
      return Rfactor{stage, axis, position.empty() ? 0 : std::stoll(position)};
    }
    if (primitive == "hoist") {
      const int64_t operand = std::stoll(args.at(0, "operand"));
      const std::string scope = args.at(1, "scope");
      made = {stage + ".operand" + std::to_string(operand)};
      return Hoist{stage, operand, scope.empty() ? ir::Scope::kGlobal : scope_of(scope)};
    }
    if (primitive == "set_scope") return SetScope{stage, scope_of(args.at(0, "scope"))};
    if (primitive == "storage_align")
      return StorageAlign{stage, axis, std::stoll(args.at(1, "factor")),
                          args.at(2, "offset").empty() ? 0 : std::stoll(args.at(2, "offset"))};
    if (primitive == "double_buffer") return DoubleBuffer{stage};
    if (primitive == "rolling_buffer") return RollingBuffer{stage};
    if (primitive == "pipeline") {
      const std::string stages = args.at(1, "stages"), by = args.at(2, "by");
      return Pipeline{stage, axis, stages.empty() ? schedule::Factor(2) : *factor_of(stages), by.empty() ? "auto" : by};
    }
    if (primitive == "persistent") {
      made = {axis + ".o", axis + ".i"};
      return Persistent{stage, axis, factor_of(args.at(1, "blocks"))};
    }
    if (primitive == "roles") {
      const std::string producer = args.at(0, "producer"), consumers = args.at(1, "consumers");
      Roles roles{stage, producer.empty() ? schedule::Factor(1) : *factor_of(producer), {}, 0, 0};
      if (!consumers.empty()) roles.consumers = std::stoll(consumers);
      if (const std::string both = args.at(2, "registers"); !both.empty()) {
        const std::vector<std::string> two = split_list(both.substr(1, both.size() - 2), ',');
        roles.producer_registers = std::stoll(two.at(0));
        roles.consumer_registers = std::stoll(two.at(1));
      }
      return roles;
    }
    if (primitive == "cluster") return schedule::Cluster{stage, axis};
    if (primitive == "swizzle") return Swizzle{stage, args.at(0, "bytes").empty() ? "auto" : args.at(0, "bytes")};
    if (primitive == "prefetch")
      return Prefetch{stage,
                      args.at(0, "source"),
                      aliased(args.at(1, "axis")),
                      std::stoll(args.at(2, "offset")),
                      aliased(args.at(3, "from")),
                      args.at(4, "of"),
                      args.at(5, "into")};
    if (primitive == "nontemporal") return Nontemporal{stage};
    if (primitive == "tensorize") return Tensorize{stage, axis, args.at(1, "intrin")};
    if (primitive == "set_store_predicate") return SetStorePredicate{stage, args.at(0, "condition")};
    if (primitive == "transform_layout") {
      const std::string map = args.at(0, "index_map");
      return TransformLayout{stage, split_list(map.substr(1, map.size() - 2), ','), args.at(1, "pad_value")};
    }
    if (primitive == "pragma")
      return Pragma{stage, axis, args.at(1, "key"), args.at(2, "value").empty() ? 1 : std::stoll(args.at(2, "value"))};
    if (primitive != "cache_read" && primitive != "cache_write") in.fail("no primitive " + primitive);
    const std::string scope = args.at(0, "scope");
    made = {stage + "." + scope};
    if (primitive == "cache_write") return CacheWrite{stage, scope_of(scope)};
    std::string readers = args.at(1, "readers");
    if (readers.starts_with("[")) readers = readers.substr(1, readers.size() - 2);
    std::string axes = args.at(2, "axes");
    if (axes.starts_with("[")) axes = axes.substr(1, axes.size() - 2);
    return CacheRead{stage, scope_of(scope), aliased(split_list(readers, ',')), split_list(axes, ',')};
  }

  std::string file_;
  SourceLine where_;
  Declarations known_;
  std::map<std::string, std::string> settings_, aliases_;
  std::optional<schedule::Schedule> schedule_;
};

}  // namespace

std::vector<te::Tensor> te_arguments(const std::vector<Line>& lines) {
  Script script("");
  for (const Line& line : lines) script.line(line);
  return script.declared();
}

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
