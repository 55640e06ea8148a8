#include "schedule/to_python.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedule/loop_nest.h"
#include "schedule/refuse.h"
#include "schedule/sizes.h"
#include "src/ir/parse.h"
#include "src/support/deep_stack.h"
#include "te/intrin_names.h"

namespace tw::schedule {

namespace {

const std::set<std::string> kTaken{"False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
                                   "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
                                   "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
                                   "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
                                   "while",   "with",     "yield",    "s",      "te",   "tw",     "np"};

// i.o -> io, i*j -> ij, C.local -> C_local
std::string identifier(const std::string& name, bool is_tensor) {
  std::string out;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      out += c;
    else if (is_tensor)
      out += '_';
  }
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "_" + out : out;
}

// Of a tensor; another than its name where that is a word of Python, or of the code itself.
std::string variable(const std::string& tensor) {
  const std::string name = identifier(tensor, true);
  return kTaken.contains(name) ? name + "_" : name;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// "i < 4 and j < 2" -> te.all(i < 4, j < 2)
std::string condition_text(const ir::Expr& e) {
  if (const auto* n = ir::as<ir::Not>(e)) return "~(" + condition_text(n->a) + ")";
  const auto* b = ir::as<ir::Binary>(e);
  if (b == nullptr || (b->op != ir::BinOp::kAnd && b->op != ir::BinOp::kOr)) return ir::to_string(e);
  return (b->op == ir::BinOp::kAnd ? "te.all(" : "te.any(") + condition_text(b->a) + ", " + condition_text(b->b) + ")";
}

// "min(n, 8) // 2" -> te.min(n, 8) // 2
std::string size_text(const std::string& size) {
  std::string out;
  for (size_t i = 0; i < size.size(); ++i) {
    const bool begins = i == 0 || !(std::isalnum(static_cast<unsigned char>(size[i - 1])) || size[i - 1] == '_');
    if (begins && (size.compare(i, 4, "min(") == 0 || size.compare(i, 4, "max(") == 0)) out += "te.";
    out += size[i];
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Schedule& schedule) : nest_(schedule.outputs()) {
    for (int i = 0; i < nest_.size(); ++i) name_stage(i);
    for (const Step& step : schedule.steps())  // no axis is called as a te.var that a size speaks of
      for (const std::string& name : names_in_sizes(step)) used_.insert(name);
    std::vector<std::string> outputs;
    for (const te::Tensor& output : schedule.outputs()) outputs.push_back(variable(output.name()));
    line("s = te.create_schedule(" + (outputs.size() == 1 ? outputs[0] : "[" + join(outputs) + "]") + ")");
    for (const Step& step : schedule.steps()) write(step);
  }

  std::string text() && { return std::move(text_); }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  // ----------------------------------------------------------------------------------------------------------- names

  std::string unique(const std::string& wanted, const std::string& otherwise) {
    std::string name = wanted;
    for (int n = 1; kTaken.contains(name) || !used_.insert(name).second; ++n)
      name = n == 1 ? otherwise : otherwise + "_" + std::to_string(n);
    return name;
  }

  // A tensor of the user's is in a variable of its name; one that a Step makes is in a new one.
  void name_stage(int i) {
    const StageNest& stage = nest_.stage(i);
    const bool several = stage.op->outputs.size() > 1;
    const std::string name = variable(several ? stage.op->outputs[0].name : stage.name);
    tensors_[stage.name] = name;
    used_.insert(name);
  }

  std::string tensor(const std::string& stage) const { return tensors_.at(stage); }
  std::string subject(const std::string& stage) const { return "s[" + tensor(stage) + "]"; }

  std::string name_axis(const std::string& stage, const std::string& axis) {
    const std::string plain = identifier(axis, false);
    defined_.erase({stage, axis});
    return axes_[{stage, axis}] = unique(plain, tensor(stage) + "_" + plain);
  }

  static std::string targets(const std::vector<std::string>& names) {
    return names.size() == 1 ? "(" + names[0] + ",)" : join(names);
  }

  // The variable of an axis; those of the definition get theirs at their first use.
  std::string axis(const std::string& stage_name, const std::string& name) {
    if (auto found = axes_.find({stage_name, name}); found != axes_.end()) return found->second;
    const StageNest& stage = nest_.stage(nest_.find_stage(stage_name));
    const AxisId id = stage.find_axis(name);
    if (id == kNone || id >= stage.data_rank + stage.reduce_rank) return quoted(name);
    const bool reduction = id >= stage.data_rank;
    std::vector<std::string> names;
    for (int a = reduction ? stage.data_rank : 0; a < stage.data_rank + (reduction ? stage.reduce_rank : 0); ++a) {
      names.push_back(name_axis(stage_name, stage.axes[a].name));
      defined_.insert({stage_name, stage.axes[a].name});
    }
    line(targets(names) + " = " + subject(stage_name) + ".op." + (reduction ? "reduce_axis" : "axis"));
    return axes_.at({stage_name, name});
  }

  std::vector<std::string> axes(const std::string& stage, const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& name : names) out.push_back(axis(stage, name));
    return out;
  }

  // The variables of the data axes of the definition: new ones, where one belongs to a loop by now.
  std::vector<std::string> definition(const std::string& stage, const std::vector<std::string>& names) {
    const auto is_loop = [&](const std::string& name) {
      return axes_.contains({stage, name}) && !defined_.contains({stage, name});
    };
    if (std::none_of(names.begin(), names.end(), is_loop)) return axes(stage, names);
    std::vector<std::string> made;
    for (const std::string& name : names) {
      const std::string plain = identifier(name, false);
      made.push_back(unique(plain, tensor(stage) + "_" + plain));
    }
    line(targets(made) + " = " + subject(stage) + ".op.axis");
    return made;
  }

  // ------------------------------------------------------------------------------------------------------------ Steps

  void write(const Step& step) {
    std::string call = std::visit([&](const auto& kind) { return this->call(kind); }, step.kind);
    const LoopNest before = nest_;
    nest_ = apply(nest_, step).value_or_throw();
    std::vector<std::string> made;
    for (int i = 0; i < nest_.size(); ++i)
      if (before.find_stage(nest_.stage(i).name) == kNone) made.push_back(name_new_stage(i));
    if (made.empty()) made = name_new_axes(before, step);
    forget_old_axes(before);
    line((made.empty() ? "" : join(made) + " = ") + call);
  }

  // Where a Step gave a stage another operation, op.axis and op.reduce_axis are others from here on.
  void forget_old_axes(const LoopNest& before) {
    for (int i = 0; i < before.size(); ++i) {
      const StageNest& then = before.stage(i);
      const int now = nest_.find_stage(then.name);
      if (now == kNone || nest_.stage(now).op == then.op) continue;
      for (int a = 0; a < then.data_rank + then.reduce_rank; ++a) axes_.erase({then.name, then.axes[a].name});
    }
  }

  // A call that makes a stage of several outputs returns a tuple of tensors; any of them names the stage.
  std::string name_new_stage(int i) {
    const StageNest& stage = nest_.stage(i);
    std::vector<std::string> names;
    for (const te::Output& output : stage.op->outputs) {
      const std::string name = identifier(stage.op->outputs.size() > 1 ? output.name : stage.name, true);
      names.push_back(unique(name, name));
    }
    tensors_[stage.name] = names[0];
    return join(names);
  }

  std::vector<std::string> name_new_axes(const LoopNest& before, const Step& step) {
    const std::string stage = std::visit([](const auto& kind) { return kind.stage; }, step.kind);
    const StageNest &then = before.stage(before.find_stage(stage)), &now = nest_.stage(nest_.find_stage(stage));
    std::vector<std::string> made;
    for (AxisId leaf : now.leaves)
      if (then.find_axis(now.axes[leaf].name) == kNone) made.push_back(name_axis(stage, now.axes[leaf].name));
    if (made.empty() || !std::holds_alternative<TransformLayout>(step.kind)) return made;
    made.clear();  // it returns all loops over the data
    for (AxisId leaf : now.leaves)
      if (!now.axes[leaf].reduction) made.push_back(name_axis(stage, now.axes[leaf].name));
    return {targets(made)};
  }

  static std::string tail_text(Tail tail) { return tail == Tail::kAuto ? "" : ", tail=" + quoted(to_string(tail)); }
  static std::string text_of(const Factor& factor) {
    return factor.size.empty() ? std::to_string(factor.value) : size_text(factor.size);
  }

  std::string call(const Split& s) {
    const std::string size = s.factor ? "factor=" + text_of(*s.factor) : "nparts=" + text_of(*s.nparts);
    return subject(s.stage) + ".split(" + axis(s.stage, s.axis) + ", " + size + tail_text(s.tail) + ")";
  }
  std::string call(const Tile& s) {
    const std::vector<std::string> both = axes(s.stage, {s.x, s.y});
    return subject(s.stage) + ".tile(" + join(both) + ", " + text_of(s.x_factor) + ", " + text_of(s.y_factor) +
           tail_text(s.tail) + ")";
  }
  std::string call(const Fuse& s) { return subject(s.stage) + ".fuse(" + join(axes(s.stage, s.axes)) + ")"; }
  std::string call(const Reorder& s) { return subject(s.stage) + ".reorder(" + join(axes(s.stage, s.axes)) + ")"; }
  std::string call(const Persistent& s) {
    return subject(s.stage) + ".persistent(" + axis(s.stage, s.axis) +
           (s.blocks ? ", blocks=" + text_of(*s.blocks) : "") + ")";
  }
  std::string call(const Roles& s) {
    std::string out = subject(s.stage) + ".roles(producer=" + text_of(s.producer);
    if (s.consumers) out += ", consumers=" + std::to_string(*s.consumers);
    if (s.producer_registers != 0)
      out += ", registers=(" + std::to_string(s.producer_registers) + ", " + std::to_string(s.consumer_registers) + ")";
    return out + ")";
  }
  std::string call(const ComputeAt& s) {
    return subject(s.stage) + ".compute_at(" + subject(s.consumer) + ", " + axis(s.consumer, s.axis) + ")";
  }
  std::string call(const CacheRead& s) {
    std::vector<std::string> readers, axes;
    for (const std::string& reader : s.readers) readers.push_back(tensor(reader));
    for (const std::string& axis : s.axes) axes.push_back(axis.substr(2));  // "ax1"
    return "s.cache_read(" + tensor(s.stage) + ", " + quoted(to_string(s.scope)) + ", [" + join(readers) + "]" +
           (axes.empty() ? "" : ", axes=[" + join(axes) + "]") + ")";
  }
  std::string call(const CacheWrite& s) {
    return "s.cache_write(" + tensor(s.stage) + ", " + quoted(to_string(s.scope)) + ")";
  }
  std::string call(const Rfactor& s) {
    return "s.rfactor(" + tensor(s.stage) + ", " + axis(s.stage, s.axis) + ", " + std::to_string(s.factor_axis) + ")";
  }
  std::string call(const Hoist& s) {
    return "s.hoist(" + tensor(s.stage) + ", " + std::to_string(s.operand) + ", " + quoted(to_string(s.scope)) + ")";
  }

  std::string call(const Tensorize& s) {
    return subject(s.stage) + ".tensorize(" + axis(s.stage, s.axis) + ", " + quoted(te::readable_intrin(s.intrin)) +
           ")";
  }
  std::string call(const Prefetch& s) {
    const std::string loop = axis(s.stage, s.axis);
    const std::string from = s.from.empty() ? "" : ", from_=" + loop_around(s);
    return subject(s.stage) + ".prefetch(" + tensor(s.source) + ", " + loop + ", " + std::to_string(s.offset) + from +
           (s.into.empty() ? "" : ", into=" + quoted(s.into)) + ")";
  }
  // An axis of an operation may be one of two stages.
  std::string loop_around(const Prefetch& s) {
    const std::string of = s.of.empty() ? s.stage : s.of, from = axis(of, s.from);
    const StageNest& stage = nest_.stage(nest_.find_stage(of));
    const bool defined = stage.find_axis(s.from) < stage.data_rank + stage.reduce_rank;
    return of == s.stage || !defined ? from : "(" + subject(of) + ", " + from + ")";
  }
  std::string call(const SetStorePredicate& s) {
    const StageNest& stage = nest_.stage(nest_.find_stage(s.stage));
    std::vector<std::string> names;
    for (int d = 0; d < stage.data_rank; ++d) names.push_back(stage.axes[d].name);
    const std::vector<std::string> texts = definition(s.stage, names);
    std::vector<ir::Var> variables;
    for (size_t d = 0; d < texts.size(); ++d) variables.emplace_back(texts[d], stage.axes[d].var.type());
    const ir::Expr condition = ir::parse_expr(s.condition, names, variables).value_or_throw();
    return subject(s.stage) + ".set_store_predicate(" + condition_text(condition) + ")";
  }

  std::string call(const TransformLayout& s) {
    const StageNest& stage = nest_.stage(nest_.find_stage(s.stage));
    std::vector<std::string> names, parameters, indices;
    std::vector<ir::Var> variables;
    for (size_t d = 0; d < stage.op->shape().size(); ++d) {
      names.push_back(stage.is_placeholder() ? "ax" + std::to_string(d) : stage.axes[d].name);
      parameters.push_back(identifier(names.back(), false));
      if (kTaken.contains(parameters.back())) parameters.back() += "_";
      variables.emplace_back(parameters.back());
    }
    for (const std::string& text : s.indices)
      indices.push_back(ir::to_string(ir::parse_expr(text, names, variables).value_or_throw()));
    const bool number = s.pad_value.find_first_not_of("+-.0123456789e") == std::string::npos;
    const std::string value = number ? s.pad_value : "float(" + quoted(s.pad_value) + ")";
    return subject(s.stage) + ".transform_layout(lambda " + join(parameters) + ": [" + join(indices) + "]" +
           (s.pad_value.empty() ? "" : ", pad_value=" + value) + ")";
  }

  // Any other Step is a method of its stage that takes the other fields in their order.
  template <class K>
  std::string call(const K& step) {
    std::vector<std::string> arguments;
    std::apply([&](const auto& stage, const auto&... fields) { (arguments.push_back(argument(stage, fields)), ...); },
               step.fields());
    return subject(step.stage) + "." + K::kName + "(" + join(arguments) + ")";
  }

  std::string argument(const std::string& stage, const std::string& word) {
    if (nest_.stage(nest_.find_stage(stage)).find_axis(word) != kNone) return axis(stage, word);
    return nest_.find_stage(word) != kNone ? tensor(word) : quoted(word);
  }
  std::string argument(const std::string& stage, const std::vector<std::string>& words) {
    std::vector<std::string> items;
    for (const std::string& word : words) items.push_back(argument(stage, word));
    return "[" + join(items) + "]";
  }
  static std::string argument(const std::string&, const Factor& factor) { return text_of(factor); }
  static std::string argument(const std::string&, int64_t value) { return std::to_string(value); }
  static std::string argument(const std::string&, Scope scope) { return quoted(to_string(scope)); }
  static std::string argument(const std::string&, Tail tail) { return quoted(to_string(tail)); }

  LoopNest nest_;
  std::map<std::string, std::string> tensors_;                       // stage -> variable
  std::map<std::pair<std::string, std::string>, std::string> axes_;  // stage, axis -> variable
  std::set<std::pair<std::string, std::string>> defined_;  // of those the ones of the definition: the others are loops
  std::set<std::string> used_;
  std::string text_;
};

}  // namespace

std::string to_python(const Schedule& schedule) {
  return support::with_deep_stack([&] { return Writer(schedule).text(); });
}

}  // namespace tw::schedule
