#include "tests/diff/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/ir/interp_value.h"

namespace tw::diff {

namespace {

using namespace ir;
using interp::Value;

struct Array {
  Type element;
  std::vector<int64_t> shape;
  std::vector<Value> values;

  size_t offset(const std::vector<int64_t>& at) const {
    size_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      TW_CHECK(at[d] >= 0 && at[d] < shape[d], "a read outside of a tensor");
      offset = offset * static_cast<size_t>(shape[d]) + static_cast<size_t>(at[d]);
    }
    return offset;
  }
};

// The next point of a box in row-major order; false after the last.
bool advance(std::vector<int64_t>& at, const std::vector<int64_t>& extents) {
  for (size_t d = at.size(); d-- > 0;) {
    if (++at[d] < extents[d]) return true;
    at[d] = 0;
  }
  return false;
}

Value of_nothing(ReduceOp op, Type type) {
  Value v{};
  const double infinity = std::numeric_limits<double>::infinity();
  const double real = op == ReduceOp::kSum    ? 0
                      : op == ReduceOp::kProd ? 1
                      : op == ReduceOp::kMin  ? infinity
                                              : -infinity;
  if (type.is_float())
    type.bits == 64 ? void(v.d = real) : void(v.f = static_cast<float>(real));
  else if (op == ReduceOp::kSum || op == ReduceOp::kProd)
    v.i = op == ReduceOp::kProd;
  else if (type.is_uint())
    v.i = op == ReduceOp::kMax ? 0
                               : static_cast<int64_t>(type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1);
  else
    v.i = op == ReduceOp::kMax ? -1 - static_cast<int64_t>((uint64_t{1} << (type.bits - 1)) - 1)
                               : static_cast<int64_t>((uint64_t{1} << (type.bits - 1)) - 1);
  return v;
}

// The terms of a reduction as the loops of its stage visit them.
class Order {
 public:
  struct Term {
    std::vector<int64_t> at;  // of the reduction's axes, counted from where each begins
    size_t lane;
  };

  // Nothing where an extent is no number, also of an axis that is split further.
  static std::optional<Order> of(const schedule::StageNest& stage) {
    const auto symbolic = [](const schedule::Axis& axis) { return axis.reduction && !axis.extent.known(); };
    if (std::any_of(stage.axes.begin(), stage.axes.end(), symbolic)) return std::nullopt;
    Order order;
    std::vector<int64_t> extents, at;
    std::vector<schedule::AxisId> loops;
    for (const schedule::AxisId leaf : stage.leaves) {
      const schedule::Axis& axis = stage.axes[leaf];
      if (!axis.reduction) continue;
      if (axis.annotation == schedule::Annotation::kVectorized && axis.extent.value() > 1) {
        order.lanes = static_cast<size_t>(axis.extent.value());
        order.lane_ = loops.size();
      }
      loops.push_back(leaf);
      extents.push_back(axis.extent.value());
      if (extents.back() == 0) return order;
    }
    at.resize(loops.size(), 0);
    for (bool more = true; more; more = advance(at, extents)) order.add(stage, loops, at);
    return order;
  }

  size_t lanes = 1;
  std::vector<Term> terms;

 private:
  void add(const schedule::StageNest& stage, const std::vector<schedule::AxisId>& loops,
           const std::vector<int64_t>& at) {
    std::vector<int64_t> value(stage.axes.size(), 0);
    for (size_t l = 0; l < loops.size(); ++l) value[loops[l]] = at[l];
    for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
      if (const auto* split = std::get_if<schedule::SplitRelation>(&*relation)) {
        if (!stage.axes[split->parent].reduction) continue;
        value[split->parent] = value[split->outer] * stage.axes[split->inner].extent.value() + value[split->inner];
        if (value[split->parent] >= stage.axes[split->parent].extent.value()) return;
      } else if (const auto& fuse = std::get<schedule::FuseRelation>(*relation); stage.axes[fuse.fused].reduction) {
        value[fuse.outer] = value[fuse.fused] / stage.axes[fuse.inner].extent.value();
        value[fuse.inner] = value[fuse.fused] % stage.axes[fuse.inner].extent.value();
      }
    }
    terms.push_back({{value.begin() + stage.data_rank, value.begin() + stage.data_rank + stage.reduce_rank},
                     lane_ < at.size() ? static_cast<size_t>(at[lane_]) : 0});
  }

  size_t lane_ = SIZE_MAX;  // among the loops
};

class Evaluator {
 public:
  const Order* order = nullptr;  // of the reduction that is evaluated
  std::unordered_map<uint64_t, Value> vars;
  std::unordered_map<uint64_t, Array> arrays;  // by buffer

  int64_t index(const Expr& e) { return value(e).i; }

  Value value(const Expr& e) {
    return match(
        e, [](const IntImm& c) { return interp::value_of(c); },
        [&](const FloatImm& c) { return interp::value_of(c, e.type()); },
        [&](const VarRef& v) { return vars.at(v.var.id()); },
        [&](const Cast& c) { return interp::cast_function(c.value.type(), e.type())(value(c.value)); },
        [&](const Binary& b) { return binary(b); }, [&](const Not& n) { return of_bool(value(n.a).i == 0); },
        [&](const Select& s) { return value(value(s.cond).i ? s.yes : s.no); }, [&](const Load& l) { return load(l); },
        [&](const Call& c) { return call(c, e.type()); },
        [&](const Let& l) {
          vars[l.var.id()] = value(l.value);
          return value(l.body);
        },
        [&](const Reduce& r) { return order ? reduce_in(*order, r) : reduce(r); },
        [&](const Ramp&) { return unexpected(e); }, [&](const Broadcast&) { return unexpected(e); },
        [&](const CallExtern&) { return unexpected(e); }, [&](const Address&) { return unexpected(e); });
  }

 private:
  static Value of_bool(bool b) {
    Value v{};
    v.i = b;
    return v;
  }

  static Value unexpected(const Expr& e) { TW_CHECK(false, "not in a tensor expression: " + to_string(e)); }

  Value binary(const Binary& b) {
    if (b.op == BinOp::kAnd) return of_bool(value(b.a).i && value(b.b).i);
    if (b.op == BinOp::kOr) return of_bool(value(b.a).i || value(b.b).i);
    const Value x = value(b.a);
    return interp::binary_function(b.op, b.a.type())(x, value(b.b));
  }

  Value load(const Load& l) {
    std::vector<int64_t> at;
    for (const Expr& subscript : l.at) at.push_back(index(subscript));
    const Array& array = arrays.at(l.buffer.id());
    return array.values[array.offset(at)];
  }

  Value call(const Call& c, Type type) {
    const Value x = value(c.args[0]);
    const Type from = c.args[0].type();
    if (c.fn == Fn::kReinterpret) return interp::reinterpret_function(from, type)(x);
    if (c.fn == Fn::kPow) return interp::pow_function(from)(x, value(c.args[1]));
    if (c.fn != Fn::kFma) return interp::unary_function(c.fn, from)(x);
    const Value y = value(c.args[1]);
    return interp::fma_function(from)(x, y, value(c.args[2]));
  }

  std::vector<Value> values(const std::vector<Expr>& exprs) {
    std::vector<Value> out;
    for (const Expr& e : exprs) out.push_back(value(e));
    return out;
  }

  // From the first term on; of no term the init, or what the operator is of nothing.
  Value reduce(const Reduce& r) {
    std::vector<Value> total = values(r.init);
    std::vector<int64_t> extents, at(r.axes.size(), 0);
    bool empty = false;
    for (const ReduceAxis& axis : r.axes) {
      extents.push_back(index(axis.extent));
      empty = empty || extents.back() <= 0;
    }
    for (bool more = !empty; more; more = advance(at, extents)) {
      for (size_t d = 0; d < at.size(); ++d) vars[r.axes[d].var.id()].i = index(r.axes[d].min) + at[d];
      if (static_cast<bool>(r.where) && !value(r.where).i) continue;
      const std::vector<Value> term = values(r.sources);
      total = total.empty() ? term : combined(r, total, term);
    }
    return (total.empty() ? of_nothing(r) : total)[static_cast<size_t>(r.value)];
  }

  std::vector<Value> of_nothing(const Reduce& r) {
    if (r.combiner) return values(r.combiner->identity);
    return {diff::of_nothing(r.op, r.sources[0].type())};
  }

  // Each lane from nothing on; halves are then joined, and the init comes first of all.
  Value reduce_in(const Order& order, const Reduce& r) {
    const bool across = order.lanes > 1;
    std::vector<std::vector<Value>> lanes(order.lanes, across || r.init.empty() ? of_nothing(r) : values(r.init));
    for (const Order::Term& term : order.terms) {
      for (size_t d = 0; d < term.at.size(); ++d) vars[r.axes[d].var.id()].i = index(r.axes[d].min) + term.at[d];
      if (static_cast<bool>(r.where) && !value(r.where).i) continue;
      lanes[term.lane] = combined(r, lanes[term.lane], values(r.sources));
    }
    while (lanes.size() > 1) {
      const size_t left = (lanes.size() + 1) / 2;
      for (size_t l = left; l < lanes.size(); ++l) lanes[l - left] = combined(r, lanes[l - left], lanes[l]);
      lanes.resize(left);
    }
    if (across && !r.init.empty()) lanes[0] = combined(r, values(r.init), lanes[0]);
    return lanes[0][static_cast<size_t>(r.value)];
  }

  std::vector<Value> combined(const Reduce& r, const std::vector<Value>& a, const std::vector<Value>& b) {
    if (!r.combiner) {
      const BinOp op = r.op == ReduceOp::kSum    ? BinOp::kAdd
                       : r.op == ReduceOp::kProd ? BinOp::kMul
                       : r.op == ReduceOp::kMin  ? BinOp::kMin
                                                 : BinOp::kMax;
      return {interp::binary_function(op, r.sources[0].type())(a[0], b[0])};
    }
    for (size_t i = 0; i < a.size(); ++i) {
      vars[r.combiner->lhs[i].id()] = a[i];
      vars[r.combiner->rhs[i].id()] = b[i];
    }
    return values(r.combiner->result);
  }
};

class Reference {
 public:
  Reference(const Sample& sample, const std::vector<int64_t>& sizes, const schedule::LoopNest* nest = nullptr)
      : sample_(sample), sizes_(sizes), nest_(nest) {
    std::vector<Var> scalars = sample.symbols;
    for (const te::ScalarArgument& scalar : sample.scalars) scalars.push_back(scalar.var);
    const std::vector<uint64_t> bytes = scalar_values(sample, scalars, sizes);
    for (size_t i = 0; i < scalars.size(); ++i) {
      const Type type = scalars[i].type();
      evaluator_.vars[scalars[i].id()] = interp::read_function(type.is_index() ? Type::i(64) : type)(&bytes[i], 0);
    }
  }

  std::optional<Memory> run(Memory memory) {
    const std::vector<te::Operation> all = te::topological_order(sample_.outputs);
    for (const te::Operation& op : all)
      if (!op->is_placeholder() && !op->compute()) return std::nullopt;
    if (nest_ && !find_orders(all)) return std::nullopt;
    for (const te::Operation& op : all) {
      for (size_t i = 0; i < op->outputs.size(); ++i) compute(op, op.output(i), memory);
    }
    return memory;
  }

 private:
  // False where one is not known, or none has lanes.
  bool find_orders(const std::vector<te::Operation>& all) {
    bool across = false;
    for (const te::Operation& op : all) {
      const auto* reduce = op->compute() ? as<Reduce>(op->compute()->body()) : nullptr;
      if (!reduce) continue;
      const int at = nest_->find_stage(op->buffer_id());
      if (at == schedule::kNone || nest_->stage(at).op.operator->() != op.operator->()) return false;
      const bool fixed =
          std::all_of(reduce->axes.begin(), reduce->axes.end(), [](const ReduceAxis& a) { return as_int(a.extent); });
      const auto order = fixed ? Order::of(nest_->stage(at)) : std::nullopt;
      if (!order) return false;
      across = across || order->lanes > 1;
      orders_.emplace(op->buffer_id(), *order);
    }
    return across;
  }

  void compute(const te::Operation& op, const te::Tensor& t, Memory& memory) {
    Array& array = evaluator_.arrays[t.buffer().id()];
    array.element = t.dtype();
    int64_t elements = 1;
    for (const Expr& e : t.shape()) {
      array.shape.push_back(evaluate(e, sample_.symbols, sizes_));
      elements *= array.shape.back();
    }
    array.values.resize(static_cast<size_t>(elements));
    std::vector<std::byte>* bytes = nullptr;
    for (size_t i = 0; i < sample_.args.size(); ++i)
      if (sample_.args[i] == t) bytes = &memory[i];
    if (!op->compute()) {
      for (int64_t i = 0; i < elements; ++i)
        array.values[static_cast<size_t>(i)] = interp::read_function(t.dtype())(bytes->data(), i);
      return;
    }
    const auto order = orders_.find(op->buffer_id());
    evaluator_.order = order == orders_.end() ? nullptr : &order->second;
    std::vector<Value> results = elements_of(*op->compute(), t.value_index(), array.shape, elements);
    for (int64_t i = 0; bytes && i < elements; ++i)
      interp::write_function(t.dtype())(bytes->data(), i, results[static_cast<size_t>(i)]);
    if (bytes && t.dtype().is_packed() && elements % 2 == 1)  // the other half of the last byte
      interp::write_function(t.dtype())(bytes->data(), elements, Value{});
    evaluator_.arrays[t.buffer().id()].values = std::move(results);
  }

  std::vector<Value> elements_of(const te::Compute& c, size_t output, const std::vector<int64_t>& shape,
                                 int64_t elements) {
    std::vector<Value> results;
    std::vector<int64_t> at(shape.size(), 0);
    for (bool more = elements > 0; more; more = advance(at, shape)) {
      for (size_t d = 0; d < at.size(); ++d) evaluator_.vars[c.axis[d].var.id()].i = at[d];
      results.push_back(evaluator_.value(c.bodies[output]));
    }
    return results;
  }

  const Sample& sample_;
  const std::vector<int64_t>& sizes_;
  const schedule::LoopNest* nest_;
  std::unordered_map<uint64_t, Order> orders_;  // by buffer of the first output
  Evaluator evaluator_;
};

}  // namespace

std::optional<Memory> reference(const Sample& sample, const Memory& inputs, const std::vector<int64_t>& sizes) {
  return Reference(sample, sizes).run(inputs);
}

std::optional<Memory> reference_in_order(const Sample& sample, const schedule::LoopNest& nest, const Memory& inputs,
                                         const std::vector<int64_t>& sizes) {
  return Reference(sample, sizes, &nest).run(inputs);
}

}  // namespace tw::diff
