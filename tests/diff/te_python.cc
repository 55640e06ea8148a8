#include "tests/diff/te_python.h"

#include <algorithm>
#include <sstream>

#include "src/ir/simplify.h"
#include "src/ir/typing.h"
#include "tests/diff/sampler.h"

namespace tw::diff {

namespace {

using ir::BinOp;
using ir::Expr;

std::string print(const Expr& e);

std::string list(const std::vector<Expr>& exprs) {
  std::string text;
  for (const Expr& e : exprs) text += (text.empty() ? "" : ", ") + print(e);
  return text;
}

// Without that of the lanes: of shapes, and of subscripts.
std::vector<Expr> shown(std::vector<Expr> each, const std::string& tensor) {
  if (is_of_vectors(tensor)) each.pop_back();
  return each;
}

std::string shape_text(const std::vector<Expr>& shape) { return "(" + list(shape) + (shape.size() == 1 ? ",)" : ")"); }

std::string quoted(ir::Type type) { return "\"" + to_string(type) + "\""; }

std::string constant(const Expr& e, const std::string& value) {
  return e.type().is_index() ? value : "te.const(" + value + ", " + quoted(e.type()) + ")";
}

std::string number(double value) {
  if (value != value) return "float(\"nan\")";
  if (value - value != 0) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str().find_first_of(".e") == std::string::npos ? text.str() + ".0" : text.str();
}

std::string binary(const ir::Binary& b) {
  const auto infix = [&](const char* op) { return "(" + print(b.a) + " " + op + " " + print(b.b) + ")"; };
  const auto function = [&](const char* name) {
    return std::string(name) + "(" + print(b.a) + ", " + print(b.b) + ")";
  };
  switch (b.op) {
    case BinOp::kAdd:
      return infix("+");
    case BinOp::kSub:
      return infix("-");
    case BinOp::kMul:
      return infix("*");
    case BinOp::kDiv:
      return infix("/");
    case BinOp::kFloorDiv:
      return b.a.type().is_index() ? infix("//") : function("te.floordiv");  // in shapes also of numbers
    case BinOp::kFloorMod:
      return function("te.floormod");
    case BinOp::kTruncDiv:
      return function("te.truncdiv");
    case BinOp::kTruncMod:
      return function("te.truncmod");
    case BinOp::kMin:
      return function("te.min");
    case BinOp::kMax:
      return function("te.max");
    case BinOp::kEq:
      return infix("==");
    case BinOp::kNe:
      return infix("!=");
    case BinOp::kLt:
      return infix("<");
    case BinOp::kLe:
      return infix("<=");
    case BinOp::kGt:
      return infix(">");
    case BinOp::kGe:
      return infix(">=");
    case BinOp::kAnd:
      return function("te.all");
    case BinOp::kOr:
      return function("te.any");
    case BinOp::kBitAnd:
      return infix("&");
    case BinOp::kBitOr:
      return infix("|");
    case BinOp::kBitXor:
      return infix("^");
    case BinOp::kShl:
      return infix("<<");
    case BinOp::kShr:
      return infix(">>");
  }
  return "";
}

// (lambda x, y: ..., lambda: identity) of a user's reduction.
std::string combiner(const ir::Combiner& c) {
  const auto names = [](const std::vector<ir::Var>& vars) {
    std::string text;
    for (const ir::Var& v : vars) text += (text.empty() ? "" : ", ") + v.name();
    return text;
  };
  const auto lambda = [&](const std::vector<ir::Var>& vars, int of) {  // a component, or a tuple of them
    return vars.size() == 1 ? names(vars) : "c" + std::to_string(of);
  };
  if (c.lhs.size() == 1)
    return "te.comm_reducer(lambda " + names(c.lhs) + ", " + names(c.rhs) + ": " + print(c.result[0]) +
           ", lambda t: " + print(c.identity[0]) + ")";
  return "te.comm_reducer(lambda " + lambda(c.lhs, 0) + ", " + lambda(c.rhs, 1) + ": (lambda " + names(c.lhs) + ", " +
         names(c.rhs) + ": (" + list(c.result) + "))(*c0, *c1), lambda *t: (" + list(c.identity) + "))";
}

std::string reduction(const ir::Reduce& r) {
  static const char* const kNames[] = {"te.sum", "te.prod", "te.min", "te.max"};
  std::string axes;
  for (const ir::ReduceAxis& axis : r.axes) axes += (axes.empty() ? "" : ", ") + axis.var.name();
  const std::string sources = r.sources.size() == 1 ? print(r.sources[0]) : "(" + list(r.sources) + ")";
  return (r.combiner ? combiner(*r.combiner) : kNames[static_cast<size_t>(r.op)]) + "(" + sources + ", axis=[" + axes +
         "]" + (r.where ? ", where=" + print(r.where) : "") +
         (r.init.empty() ? "" : ", init=" + (r.init.size() == 1 ? print(r.init[0]) : "(" + list(r.init) + ")")) + ")";
}

std::string print(const Expr& e) {
  return ir::match(
      e,
      [&](const ir::IntImm& c) {
        const bool large = e.type().is_uint() && c.value < 0;
        const std::string value = large ? std::to_string(static_cast<uint64_t>(c.value)) : std::to_string(c.value);
        return constant(e, e.type().is_bool() ? (c.value ? "True" : "False") : value);
      },
      [&](const ir::FloatImm& c) { return constant(e, number(c.value)); },
      [](const ir::VarRef& v) { return v.var.name(); },
      [&](const ir::Cast& c) {
        return e.type().is_index() ? print(c.value) : print(c.value) + ".astype(" + quoted(e.type()) + ")";
      },
      [](const ir::Binary& b) { return binary(b); }, [](const ir::Not& n) { return "(~" + print(n.a) + ")"; },
      [](const ir::Select& s) { return "te.select(" + print(s.cond) + ", " + print(s.yes) + ", " + print(s.no) + ")"; },
      [](const ir::Load& l) {
        const std::vector<Expr> at = shown(l.at, l.buffer.name());
        return python_name(l.buffer.name()) + "[" + (at.empty() ? "()" : list(at)) + "]";
      },
      [&](const ir::Call& c) {
        if (c.fn == ir::Fn::kReinterpret) return "te.reinterpret(" + quoted(e.type()) + ", " + print(c.args[0]) + ")";
        const std::string name = c.fn == ir::Fn::kPow     ? "power"
                                 : c.fn == ir::Fn::kRound ? "nearbyint"
                                                          : std::string(ir::name_of(c.fn));
        return "te." + name + "(" + list(c.args) + ")";
      },
      [](const ir::Ramp&) { return std::string("vectors_do_not_occur_in_te"); },
      [](const ir::Broadcast&) { return std::string("vectors_do_not_occur_in_te"); },
      [](const ir::Let& l) { return "(lambda " + l.var.name() + ": " + print(l.body) + ")(" + print(l.value) + ")"; },
      [](const ir::Reduce& r) { return reduction(r); },
      [&](const ir::CallExtern& c) {
        return "te.call_extern(" + quoted(e.type()) + ", \"" + c.symbol + "\", " + list(c.args) + ")";
      },
      [](const ir::Address& a) { return a.buffer.name() + ".access_ptr()"; });
}

std::string results(const te::Operation& op) {
  std::string text;
  for (const te::Output& output : op->outputs) text += (text.empty() ? "" : ", ") + python_name(output.name);
  return text;
}

std::string computation(const te::Operation& op, const te::Compute& c) {
  std::string text, axes;
  for (const te::IterVar& k : c.reduce_axis)
    text += k.var.name() + " = te.reduce_axis((" + print(k.min) + ", " + print(ir::simplify(k.min + k.extent)) +
            "), name=\"" + k.var.name() + "\")\n";
  for (size_t d = 0; d < shown(op->shape(), op->name).size(); ++d)
    axes += (axes.empty() ? " " : ", ") + c.axis[d].var.name();
  const bool of_tuples = c.bodies.size() > 1 && ir::as<ir::Reduce>(c.body());
  const std::string body = c.bodies.size() == 1 || of_tuples ? print(c.body()) : "(" + list(c.bodies) + ")";
  return text + results(op) + " = te.compute(" + shape_text(shown(op->shape(), op->name)) + ", lambda" + axes + ": " +
         body + ", name=\"" + op->name + "\")\n";
}

std::string scan(const te::Operation& op, const te::Scan& s) {
  const auto names = [](const std::vector<te::Tensor>& tensors) {
    std::string text;
    for (const te::Tensor& t : tensors) text += (text.empty() ? "" : ", ") + python_name(t.name());
    return "[" + text + "]";
  };
  return results(op) + " = te.scan(" + names(s.init) + ", " + names(s.update) + ", " + names(s.state) + ", name=\"" +
         op->name + "\")\n";
}

// The sampler's statements: loops around branches and stores.
std::string statement(const ir::Stmt& s, const std::string& indent) {
  if (const auto* loop = ir::as<ir::For>(s))
    return indent + "with ib.for_range(0, " + print(loop->extent) + ", name=\"" + loop->var.name() + "\"" +
           (loop->kind == ir::ForKind::kVectorized ? ", kind=\"vectorize\"" : "") + ") as " + loop->var.name() + ":\n" +
           statement(loop->body, indent + "    ");
  if (const auto* branch = ir::as<ir::If>(s))
    return indent + "with ib.if_scope(" + print(branch->cond) + "):\n" + statement(branch->then, indent + "    ") +
           (branch->otherwise ? indent + "with ib.else_scope():\n" + statement(branch->otherwise, indent + "    ")
                              : "");
  if (const auto* all = ir::as<ir::Seq>(s)) {
    std::string text;
    for (const ir::Stmt& each : all->stmts) text += statement(each, indent);
    return text;
  }
  const auto* store = ir::as<ir::Store>(s);
  TW_CHECK(store != nullptr, "no Python for " + ir::to_string(s));
  return indent + python_name(store->buffer.name()) + "[" + list(store->at) + "] = " + print(store->value) + "\n";
}

std::string external(const te::Operation& op, const te::Extern& e) {
  const std::string function = python_name(op->name) + "_statement";
  std::string text = "def " + function + "(ins, outs):\n    ib = te.ir_builder.create()\n", inputs, dtypes, shapes;
  const auto bind = [&](const std::string& name, const char* which, size_t i) {
    text += "    " + name + " = ib.buffer_ptr(" + which + "[" + std::to_string(i) + "])\n";
  };
  for (size_t i = 0; i < op->inputs.size(); ++i) {
    bind(python_name(op->inputs[i].name()), "ins", i);
    inputs += (i ? ", " : "") + python_name(op->inputs[i].name());
  }
  for (size_t i = 0; i < op->outputs.size(); ++i) {
    bind(python_name(op->outputs[i].name), "outs", i);
    dtypes += (i ? ", " : "") + quoted(op->outputs[i].dtype);
    shapes += (i ? ", " : "") + shape_text(op->outputs[i].shape);
  }
  return text + statement(e.body, "    ") + "    return ib.get()\n" + results(op) + " = te.extern([" + shapes + "], [" +
         inputs + "], " + function + ", name=\"" + op->name + "\", dtype=[" + dtypes + "])\n";
}

std::string declaration(const te::Operation& op) {
  if (const te::Compute* c = op->compute()) return computation(op, *c);
  if (const te::Scan* s = op->scan()) return scan(op, *s);
  if (const te::Extern* e = op->external()) return external(op, *e);
  const bool param = std::get<te::Placeholder>(op->kind).param;
  ir::Type element = op->dtype();
  if (is_of_vectors(op->name)) element = element.with_lanes(static_cast<int>(ir::as_int(op->shape().back()).value()));
  return python_name(op->name) + " = te.placeholder(" + shape_text(shown(op->shape(), op->name)) +
         ", dtype=" + quoted(element) + ", name=\"" + op->name + "\"" + (param ? ", param=True" : "") + ")\n";
}

}  // namespace

std::string python_name(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string te_python(const std::vector<te::Tensor>& outputs, const std::vector<ir::Var>& scalars) {
  std::string text;
  for (const ir::Var& v : scalars)
    text += v.name() + " = te.var(\"" + v.name() + "\", " + quoted(v.type().is_index() ? ir::Type::i(32) : v.type()) +
            ")\n";
  const std::vector<te::Operation> all = te::topological_order(outputs);
  for (const te::Operation& op : all)  // what updates read is declared before them
    if (const te::Scan* s = op->scan())
      for (const te::Tensor& state : s->state) text += declaration(state.op());
  for (const te::Operation& op : all) text += declaration(op);
  return text;
}

std::string python_text(const ir::Expr& e) { return print(e); }

}  // namespace tw::diff
