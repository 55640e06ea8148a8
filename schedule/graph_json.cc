#include "schedule/graph_json.h"

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <unordered_map>

#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "src/support/json_text.h"
#include "src/support/release.h"
#include "te/dtype.h"
#include "te/scan.h"

namespace tw::schedule {

using Json = nlohmann::ordered_json;
using ir::Expr;
using ir::Var;
using te::Operation;
using te::Tensor;

namespace {

[[noreturn]] void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{kind, std::move(what), {}, std::move(notes)});
}

// What tells the operations of one process from those of another.
const std::string& process() {
  static const std::string token = [] {
    std::random_device random;
    return std::to_string(random()) + "-" + std::to_string(random());
  }();
  return token;
}

// NaN and infinity are no numbers of JSON.
std::string digits_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

class Writer {
 public:
  std::string write(const std::vector<Tensor>& tensors) {
    for (const Operation& op : te::topological_order(tensors)) number(op);
    Json roots = Json::array();
    for (const Tensor& t : tensors) roots.push_back(place(t));
    return support::to_text(Json{{"tensorwright", support::kRelease},
                                 {"process", process()},
                                 {"vars", vars_},
                                 {"nodes", nodes_},
                                 {"operations", ops_},
                                 {"tensors", roots}});
  }

 private:
  Json place(const Tensor& t) { return {number(t.op()), t.value_index()}; }

  size_t number(const Operation& op) {
    if (const auto known = numbers_.find(op->id); known != numbers_.end()) return known->second;
    Json json = definition(op);
    json["name"] = op->name;
    json["id"] = op->id;
    ops_.push_back(std::move(json));
    return numbers_[op->id] = ops_.size() - 1;
  }

  Json definition(const Operation& op) {
    if (const auto* p = std::get_if<te::Placeholder>(&op->kind))
      return {{"kind", "placeholder"},     {"dtype", te::dtype_name(op->dtype())},
              {"shape", all(op->shape())}, {"strides", all(p->strides)},
              {"param", p->param},         {"range", p->range ? Json{p->range->first, p->range->second} : Json()}};
    if (const te::Compute* c = op->compute()) {
      Json axes = Json::array();
      for (const te::IterVar& axis : c->axis) axes.push_back(number(axis.var));
      Json compute = {{"kind", "compute"}, {"shape", all(op->shape())}, {"axes", axes}, {"bodies", all(c->bodies)}};
      if (c->padding) compute["padding"] = true;
      return compute;
    }
    if (const te::Scan* s = op->scan())
      return {{"kind", "scan"}, {"init", places(s->init)}, {"update", places(s->update)}, {"state", places(s->state)}};
    refuse(ErrorKind::kArgument, "save_json: a stage must not be extern, as " + op->name + " is",
           {"its statement may call functions that only this process knows"});
  }

  Json places(const std::vector<Tensor>& tensors) {
    Json list = Json::array();
    for (const Tensor& t : tensors) list.push_back(place(t));
    return list;
  }

  size_t number(const Var& v) {
    const auto [known, fresh] = var_numbers_.try_emplace(v.id(), vars_.size());
    if (fresh) vars_.push_back({v.name(), ir::to_string(v.type()), te::is_scalar(v)});
    return known->second;
  }

  Json all(const std::vector<Expr>& list) {
    Json numbers = Json::array();
    for (const Expr& e : list) numbers.push_back(number(e));
    return numbers;
  }

  Json number(const Expr& e) {
    if (!e) return nullptr;
    if (const auto known = node_numbers_.find(e.get()); known != node_numbers_.end()) return known->second;
    Json node = ir::match(
        e, [](const ir::IntImm& x) { return Json{"int", x.value}; },
        [](const ir::FloatImm& x) { return Json{"float", digits_of(x.value)}; },
        [&](const ir::VarRef& x) { return Json{"var", number(x.var)}; },
        [&](const ir::Cast& x) { return Json{"cast", number(x.value)}; },
        [&](const ir::Binary& x) { return Json{"binary", static_cast<int>(x.op), number(x.a), number(x.b)}; },
        [&](const ir::Not& x) { return Json{"not", number(x.a)}; },
        [&](const ir::Select& x) { return Json{"select", number(x.cond), number(x.yes), number(x.no)}; },
        [&](const ir::Load& x) { return Json{"load", place(te::tensor_of(x.buffer)), all(x.at)}; },
        [&](const ir::Call& x) { return Json{"call", static_cast<int>(x.fn), all(x.args)}; },
        [&](const ir::Let& x) { return Json{"let", number(x.var), number(x.value), number(x.body)}; },
        [&](const ir::Reduce& x) { return reduction(x); },
        [&](const ir::CallExtern& x) { return Json{"extern", x.symbol, all(x.args), x.pure}; },
        [&](const ir::Ramp&) { return no_value(e); }, [&](const ir::Broadcast&) { return no_value(e); },
        [&](const ir::Address&) { return no_value(e); });
    node.push_back(ir::to_string(e.type()));
    nodes_.push_back(std::move(node));
    kept_.push_back(e);
    return node_numbers_[e.get()] = nodes_.size() - 1;
  }

  static Json no_value(const Expr& e) {
    refuse(ErrorKind::kArgument, "save_json: an element must be one value, not " + ir::to_string(e));
  }

  Json reduction(const ir::Reduce& r) {
    Json axes = Json::array(), combiner;
    for (const ir::ReduceAxis& axis : r.axes) axes.push_back({number(axis.var), number(axis.min), number(axis.extent)});
    if (r.combiner) {
      Json lhs = Json::array(), rhs = Json::array();
      for (const Var& v : r.combiner->lhs) lhs.push_back(number(v));
      for (const Var& v : r.combiner->rhs) rhs.push_back(number(v));
      combiner = {r.combiner->name, lhs, rhs, all(r.combiner->result), all(r.combiner->identity)};
    }
    return {"reduce", static_cast<int>(r.op), all(r.sources), axes, number(r.where), all(r.init), r.value, combiner};
  }

  Json vars_ = Json::array(), nodes_ = Json::array(), ops_ = Json::array();
  std::unordered_map<uint64_t, size_t> numbers_, var_numbers_;
  std::unordered_map<const ir::ExprNode*, size_t> node_numbers_;
  std::vector<Expr> kept_;  // nodes whose addresses are keys
};

// Operations that were read, by process and id.
class Read {
 public:
  std::optional<Operation> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto known = ops_.find(key);
    if (known == ops_.end()) return std::nullopt;
    const auto node = std::static_pointer_cast<const te::OpNode>(known->second.lock());
    return node ? std::optional(Operation(node)) : std::nullopt;
  }
  void add(const std::string& key, const Operation& op) {
    const std::lock_guard lock(mutex_);
    if (ops_.size() > 2 * living_ + 64) {
      std::erase_if(ops_, [](const auto& known) { return known.second.expired(); });
      living_ = ops_.size();
    }
    ops_[key] = op.output().buffer()->origin;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const void>> ops_;
  size_t living_ = 0;
};
Read& already_read() {
  static Read read;
  return read;
}

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  std::vector<Tensor> read() {
    if (json_.at("tensorwright") != support::kRelease)
      refuse(ErrorKind::kParse, "load_json: written by release " + support::to_text(json_.at("tensorwright")) +
                                    ", this is \"" + support::kRelease + "\"");
    for (const Json& v : json_.at("vars")) vars_.push_back(variable(v));
    nodes_.resize(json_.at("nodes").size());
    for (const Json& op : json_.at("operations")) ops_.push_back(operation(op));
    return tensors(json_.at("tensors"));
  }

 private:
  static Var variable(const Json& json) {
    const auto name = json.at(0).get<std::string>();
    const std::optional<ir::Type> type = ir::parse_type(json.at(1).get<std::string>());
    if (!type) throw std::invalid_argument("a type expected, not " + support::to_text(json.at(1)));
    return json.at(2).get<bool>() ? te::var(name, te::dtype_name(*type)) : Var(name, *type);
  }

  Operation operation(const Json& json) {
    const std::string key = json_.at("process").get<std::string>() + " " + support::to_text(json.at("id"));
    if (std::optional<Operation> known = already_read().find(key)) return *known;
    const Operation made = defined(json, json.at("name").get<std::string>());
    already_read().add(key, made);
    return made;
  }

  Operation defined(const Json& json, const std::string& name) {
    const auto kind = json.at("kind").get<std::string>();
    if (kind == "placeholder") {
      te::Placeholder known{.strides = all(json.at("strides")), .param = json.at("param").get<bool>(), .range = {}};
      if (!json.at("range").is_null()) known.range = json.at("range").get<std::pair<int64_t, int64_t>>();
      return te::placeholder(all(json.at("shape")), json.at("dtype").get<std::string>(), name, known, {}).op();
    }
    if (kind == "scan")
      return te::scan(tensors(json.at("init")), tensors(json.at("update")), tensors(json.at("state")), name, {})
          .at(0)
          .op();
    if (kind != "compute") throw std::invalid_argument("a kind of operation expected, not " + kind);
    std::vector<std::string> names;
    for (const Json& axis : json.at("axes")) names.push_back(vars_.at(axis.get<size_t>()).name());
    const auto bodies = [&](const std::vector<Var>& axes) {  // nodes that hold an axis are read here first
      for (size_t d = 0; d < axes.size(); ++d) vars_.at(json.at("axes").at(d).get<size_t>()) = axes[d];
      return all(json.at("bodies"));
    };
    return te::compute_tuple(all(json.at("shape")), bodies, name, names, {}, json.value("padding", false)).at(0).op();
  }

  std::vector<Tensor> tensors(const Json& places) {
    std::vector<Tensor> list;
    for (const Json& place : places) list.push_back(tensor(place));
    return list;
  }
  Tensor tensor(const Json& place) { return ops_.at(place.at(0).get<size_t>()).output(place.at(1).get<size_t>()); }

  std::vector<Expr> all(const Json& numbers) {
    std::vector<Expr> list;
    for (const Json& number : numbers) list.push_back(expr(number));
    return list;
  }

  // Children stand before those that hold them, so that recursion ends.
  Expr expr(const Json& number) {
    const auto at = number.get<size_t>();
    Expr& known = nodes_.at(at);
    if (!known) known = node(json_.at("nodes").at(at), at);
    return known;
  }

  Expr child(const Json& number, size_t parent) {
    if (number.get<size_t>() >= parent) throw std::invalid_argument("a node holds a later one");
    return expr(number);
  }
  std::vector<Expr> children(const Json& numbers, size_t parent) {
    std::vector<Expr> list;
    for (const Json& number : numbers) list.push_back(child(number, parent));
    return list;
  }

  template <class E>
  static E enumerator(const Json& number, E last) {
    const auto value = number.get<int64_t>();
    if (value < 0 || value > static_cast<int64_t>(last))
      throw std::invalid_argument("an operator expected, not " + std::to_string(value));
    return static_cast<E>(value);
  }

  Expr node(const Json& n, size_t at) {
    const auto kind = n.at(0).get<std::string>();
    const std::optional<ir::Type> type = ir::parse_type(n.back().get<std::string>());
    if (!type) throw std::invalid_argument("a type expected, not " + support::to_text(n.back()));
    const auto sub = [&](size_t field) { return child(n.at(field), at); };
    if (kind == "int") return ir::int_imm(*type, n.at(1).get<int64_t>());
    if (kind == "float") return ir::float_imm(*type, std::strtod(n.at(1).get<std::string>().c_str(), nullptr));
    if (kind == "var") return vars_.at(n.at(1).get<size_t>());
    if (kind == "cast") return ir::cast(*type, sub(1));
    if (kind == "binary") return ir::binary(enumerator(n.at(1), ir::BinOp::kShr), sub(2), sub(3));
    if (kind == "not") return ir::logical_not(sub(1));
    if (kind == "select") return ir::select(sub(1), sub(2), sub(3));
    if (kind == "load") return ir::load(tensor(n.at(1)).buffer(), children(n.at(2), at));
    if (kind == "call") return call(enumerator(n.at(1), ir::Fn::kPrefetchL2), *type, children(n.at(2), at));
    if (kind == "let") return ir::let(vars_.at(n.at(1).get<size_t>()), sub(2), sub(3));
    if (kind == "extern")
      return ir::call_extern(*type, n.at(1).get<std::string>(), children(n.at(2), at), n.at(3).get<bool>());
    if (kind == "reduce") return reduction(n, at);
    throw std::invalid_argument("a kind of node expected, not " + kind);
  }

  static Expr call(ir::Fn fn, ir::Type type, std::vector<Expr> args) {
    return fn == ir::Fn::kReinterpret ? ir::reinterpret(type, args.at(0)) : ir::call(fn, std::move(args));
  }

  Expr reduction(const Json& n, size_t at) {
    ir::Reduce r{enumerator(n.at(1), ir::ReduceOp::kCustom),
                 children(n.at(2), at),
                 {},
                 n.at(4).is_null() ? Expr() : child(n.at(4), at),
                 children(n.at(5), at),
                 n.at(6).get<int>(),
                 nullptr};
    for (const Json& axis : n.at(3))
      r.axes.push_back({vars_.at(axis.at(0).get<size_t>()), child(axis.at(1), at), child(axis.at(2), at)});
    if (const Json& c = n.at(7); !c.is_null()) r.combiner = combiner(c, at);
    return ir::reduce(std::move(r));
  }

  // The components of a tuple share their combiner.
  std::shared_ptr<const ir::Combiner> combiner(const Json& c, size_t at) {
    std::shared_ptr<const ir::Combiner>& known = combiners_[support::to_text(c)];
    if (known) return known;
    auto made = std::make_shared<ir::Combiner>();
    made->name = c.at(0).get<std::string>();
    for (const Json& v : c.at(1)) made->lhs.push_back(vars_.at(v.get<size_t>()));
    for (const Json& v : c.at(2)) made->rhs.push_back(vars_.at(v.get<size_t>()));
    made->result = children(c.at(3), at);
    made->identity = children(c.at(4), at);
    return known = made;
  }

  const Json& json_;
  std::vector<Var> vars_;
  std::vector<Expr> nodes_;
  std::vector<Operation> ops_;
  std::map<std::string, std::shared_ptr<const ir::Combiner>> combiners_;
};

}  // namespace

std::string tensors_to_json(const std::vector<Tensor>& tensors) {
  return support::with_deep_stack([&] { return Writer().write(tensors); });
}

std::vector<Tensor> tensors_from_json(const std::string& text) {
  return support::with_deep_stack([&] {
    try {
      return Reader(support::parse_json<Json>(text)).read();
    } catch (const Json::exception& e) {
      refuse(ErrorKind::kParse, "load_json: expected what save_json gives", {e.what()});
    } catch (const std::logic_error& e) {  // a place that does not exist
      refuse(ErrorKind::kParse, "load_json: expected what save_json gives", {e.what()});
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kInternal) throw;
      refuse(ErrorKind::kParse, "load_json: expected what save_json gives",
             {e.diagnostic().what});  // types that differ
    }
  });
}

}  // namespace tw::schedule
