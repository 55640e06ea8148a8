// The canonical text of a computation.
//
//   tensorwright task 1
//   input A float32 [257, 1025]
//   compute C float32 [257, 513] over i j reducing k body 5f6d0c1e2b9a8374
//   arguments A C
//   outputs C
//
// A body stands there by its hash: FNV-1a of the kind of the node, its type, its fields, and the hashes of its
// children, so that a body of shared parts costs its nodes and not its paths. Variables are known by what binds them
// (the second axis, the first loop), values of a let by what they stand for.
#include "autotune/computation_hash.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "src/ir/text.h"
#include "src/ir/typing.h"
#include "src/support/deep_stack.h"
#include "src/support/fnv.h"
#include "src/support/json_text.h"

namespace tw::autotune {

namespace {

using ir::Expr;
using ir::Stmt;

// Names may hold spaces: quoted by their length.
std::string name_text(const std::string& name) { return std::to_string(name.size()) + ":" + name; }

class Canonical {
 public:
  Canonical(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args) {
    text_ = "tensorwright task 1\n";
    for (const te::Operation& op : te::topological_order(outputs)) add(op);
    for (const te::Tensor& arg : args)  // that nothing reads
      if (!operations_.contains(&*arg.op())) add(arg.op());
    text_ += "arguments" + names(args) + "\noutputs" + names(outputs) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string names(const std::vector<te::Tensor>& tensors) {
    std::string out;
    for (const te::Tensor& t : tensors) out += " " + tensor_text(t);
    return out;
  }
  // Operations are numbered in their order: names need not be unique.
  std::string tensor_text(const te::Tensor& t) {
    if (!operations_.contains(&*t.op())) return "unused " + name_text(t.name());
    return std::to_string(operations_.at(&*t.op())) + "." + std::to_string(t.value_index());
  }

  void add(const te::Operation& op) {
    const size_t number = operations_.size();
    operations_.emplace(&*op, number);
    std::string head = name_text(op->name);
    for (size_t i = 0; i < op->outputs.size(); ++i) {
      buffers_.emplace(op->outputs[i].buffer_id, "tensor " + std::to_string(number) + "." + std::to_string(i));
      head += " " + ir::to_string(op->outputs[i].dtype) + list(op->outputs[i].shape);
    }
    std::visit([&](const auto& kind) { text_ += line(op, kind, head) + "\n"; }, op->kind);
  }

  std::string line(const te::Operation&, const te::Placeholder& p, const std::string& head) {
    std::string text = "input " + head;
    if (!p.strides.empty()) text += " strides" + list(p.strides);
    if (p.param) text += " param";
    if (p.range) text += " range " + std::to_string(p.range->first) + " " + std::to_string(p.range->second);
    return text;
  }
  std::string line(const te::Operation&, const te::Compute& c, const std::string& head) {
    std::string text = "compute " + head + " over" + axes(c.axis, "axis");
    if (!c.reduce_axis.empty()) text += " reducing" + axes(c.reduce_axis, "reduction");
    for (const Expr& body : c.bodies) text += " body " + hash(body);
    return text;
  }
  std::string line(const te::Operation&, const te::Scan& s, const std::string& head) {
    return "scan " + head + " over" + axes(s.axis, "axis") + " init" + names(s.init) + " update" + names(s.update) +
           " state" + names(s.state);
  }
  std::string line(const te::Operation& op, const te::Extern& e, const std::string& head) {
    return "extern " + head + " reads" + names(op->inputs) + " body " + hash(e.body);
  }

  std::string axes(const std::vector<te::IterVar>& axes, const std::string& what) {
    std::string text;
    for (size_t i = 0; i < axes.size(); ++i) {
      bind(axes[i].var, what + " " + std::to_string(i));
      text += " " + name_text(axes[i].var.name());
      if (axes[i].reduction) text += "[" + hash(axes[i].min) + " " + hash(axes[i].extent) + "]";
    }
    return text;
  }

  // Extents are constants, but for tests of symbolic ones.
  std::string list(const std::vector<Expr>& extents) {
    std::string text;
    for (const Expr& e : extents) {
      const auto known = ir::as_int(e);
      text += (text.empty() ? "" : ", ") + (known ? std::to_string(*known) : hash(e));
    }
    return "[" + text + "]";
  }

  void bind(const ir::Var& var, std::string meaning) { variables_[var.id()] = std::move(meaning); }
  std::string variable(const ir::Var& var) const {
    const auto bound = variables_.find(var.id());
    return ir::to_string(var.type()) + " " + (bound != variables_.end() ? bound->second : name_text(var.name()));
  }
  std::string buffer(const ir::Buffer& b) {
    const auto known = buffers_.find(b.id());
    return known != buffers_.end() ? known->second : "memory " + name_text(b.name());
  }

  std::string hashes(const std::vector<Expr>& all) {
    std::string text = "(";
    for (const Expr& e : all) text += hash(e) + " ";
    return text + ")";
  }
  std::string hash(const Expr& e) {
    if (!e) return "none";
    const auto known = expressions_.find(&*e);
    if (known != expressions_.end()) return known->second.second;
    std::string h = support::fnv1a_hex(ir::to_string(e->type) + " " + describe(e));
    expressions_.emplace(&*e, std::pair{e, h});
    return h;
  }
  std::string describe(const Expr& e);
  std::string describe(const ir::Reduce& r);
  std::string hash(const Stmt& s) { return s ? support::fnv1a_hex(describe(s)) : "none"; }
  std::string describe(const Stmt& s);

  std::string text_;
  std::unordered_map<const te::OpNode*, size_t> operations_;
  std::unordered_map<uint64_t, std::string> buffers_, variables_;
  std::unordered_map<const ir::ExprNode*, std::pair<Expr, std::string>> expressions_;
  int loops_ = 0;
};

std::string Canonical::describe(const ir::Reduce& r) {
  const auto word = std::find_if(std::begin(ir::kReduceNames), std::end(ir::kReduceNames),
                                 [&](const ir::ReduceName& n) { return n.op == r.op; });
  std::string text = "reduce " + std::string(word == std::end(ir::kReduceNames) ? "custom" : word->text);
  if (r.combiner) {
    for (size_t i = 0; i < r.combiner->lhs.size(); ++i) bind(r.combiner->lhs[i], "left " + std::to_string(i));
    for (size_t i = 0; i < r.combiner->rhs.size(); ++i) bind(r.combiner->rhs[i], "right " + std::to_string(i));
    text += hashes(r.combiner->result) + hashes(r.combiner->identity);
  }
  for (const ir::ReduceAxis& axis : r.axes)
    text += " " + variable(axis.var) + " " + hash(axis.min) + " " + hash(axis.extent);
  return text + hashes(r.sources) + hash(r.where) + hashes(r.init) + std::to_string(r.value);
}

std::string Canonical::describe(const Expr& e) {
  return ir::match(
      e, [](const ir::IntImm& c) { return "integer " + std::to_string(c.value); },
      [](const ir::FloatImm& c) { return "real " + support::hex(std::bit_cast<uint64_t>(c.value)); },
      [&](const ir::VarRef& v) { return "variable " + variable(v.var); },
      [&](const ir::Cast& c) { return "cast " + hash(c.value); },
      [&](const ir::Binary& b) { return ir::name_of(b.op) + " " + hash(b.a) + " " + hash(b.b); },
      [&](const ir::Not& n) { return "not " + hash(n.a); },
      [&](const ir::Select& s) { return "select " + hash(s.cond) + " " + hash(s.yes) + " " + hash(s.no); },
      [&](const ir::Load& l) { return "load " + buffer(l.buffer) + hashes(l.at) + hash(l.pred); },
      [&](const ir::Call& c) { return "call " + ir::name_of(c.fn) + hashes(c.args); },
      [&](const ir::Ramp& r) { return "ramp " + hash(r.base) + " " + hash(r.stride) + " " + std::to_string(r.lanes); },
      [&](const ir::Broadcast& b) { return "broadcast " + hash(b.value) + " " + std::to_string(b.lanes); },
      [&](const ir::Let& l) {
        bind(l.var, "value " + hash(l.value));
        return "let " + hash(l.body);
      },
      [&](const ir::Reduce& r) { return describe(r); },
      [&](const ir::CallExtern& c) {
        return "extern " + name_text(c.symbol) + hashes(c.args) + (c.pure ? " pure" : "");
      },
      [&](const ir::Address& a) {
        return "address " + buffer(a.buffer) + hashes(a.at) + (a.read ? " read" : "") + (a.written ? " written" : "");
      });
}

std::string Canonical::describe(const Stmt& s) {
  return ir::match(
      s,
      [&](const ir::Store& st) {
        return "store " + buffer(st.buffer) + hashes(st.at) + hash(st.value) + hash(st.pred);
      },
      [&](const ir::For& f) {
        bind(f.var, "loop " + std::to_string(loops_++));
        return "for " + hash(f.extent) + " " + std::string(ir::kForKinds[static_cast<size_t>(f.kind)]) + " " +
               std::string(ir::kTails[static_cast<size_t>(f.tail)]) + " " + hash(f.body);
      },
      [&](const ir::If& i) { return "if " + hash(i.cond) + " " + hash(i.then) + " " + hash(i.otherwise); },
      [&](const ir::Seq& q) {
        std::string text = "sequence";
        for (const Stmt& part : q.stmts) text += " " + hash(part);
        return text;
      },
      [&](const ir::Allocate& a) {
        buffers_.emplace(a.buffer.id(), "scratch " + std::to_string(buffers_.size()));
        return "allocate " + ir::to_string(a.buffer.element()) + list(a.buffer.shape()) + " " +
               std::string(ir::kScopes[static_cast<size_t>(a.buffer.scope())]) + " " + hash(a.body);
      },
      [&](const ir::LetStmt& l) {
        bind(l.var, "value " + hash(l.value));
        return "let " + hash(l.body);
      },
      [&](const ir::Evaluate& v) { return "evaluate " + hash(v.value); },
      [&](const ir::Sync& sync) { return "sync " + std::string(ir::kSyncOps[static_cast<size_t>(sync.op)]); });
}

}  // namespace

std::string canonical_text(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args) {
  return support::with_deep_stack([&] { return Canonical(outputs, args).text(); });
}

std::vector<te::Tensor> outputs_among(const std::vector<te::Tensor>& args) {
  std::vector<te::Tensor> outputs;
  for (const te::Tensor& t : args)
    if (!t.op()->is_placeholder()) outputs.push_back(t);
  return outputs;
}

std::string computation_hash(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args) {
  return support::fnv1a_hex(canonical_text(outputs, args));
}

std::string hash_at_sizes(const std::string& hash, const std::string& args_json) {
  std::string text = hash;
  const auto sizes = support::read_json<nlohmann::ordered_json>(args_json);
  for (const auto& [name, value] : sizes.items())
    text += (text == hash ? " where " : ", ") + name_text(name) + " = " + support::to_text(value);
  return support::fnv1a_hex(text);
}

}  // namespace tw::autotune
