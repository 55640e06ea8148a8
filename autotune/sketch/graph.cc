// Stages are classified by their bodies after inlining.
#include "autotune/sketch/graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "autotune/sketch/repeats.h"
#include "autotune/sketch/strips.h"
#include "autotune/sketch/turned.h"
#include "schedule/loop_nest.h"
#include "schedule/operands.h"
#include "schedule/placement.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/scan.h"

namespace tw::autotune::sketch {

using schedule::StageNest;

namespace {

constexpr int64_t kInlineNodes = 64;  // a body larger than this is not repeated in its readers
constexpr int64_t kInlineOnce = 256;  // nor one that is larger than this moved to its only one

bool calls_function(const ir::Expr& body) {
  bool found = false;
  ir::walk(body, [&](const ir::Expr& e) {
    const auto* call = ir::as<ir::Call>(e);
    found =
        found || (call && call->fn != ir::Fn::kAbs && call->fn != ir::Fn::kFma && call->fn != ir::Fn::kReinterpret &&
                  call->fn != ir::Fn::kFloor && call->fn != ir::Fn::kCeil && call->fn != ir::Fn::kRound &&
                  call->fn != ir::Fn::kTrunc && call->fn != ir::Fn::kTF32 && call->fn != ir::Fn::kSqrt);
    return !found;
  });
  return found;
}

bool reads_packed(const ir::Expr& body) {
  bool found = false;
  ir::walk(body, [&](const ir::Expr& e) {
    found = found || (ir::as<ir::Load>(e) && e.type().is_packed());
    return !found;
  });
  return found;
}

int64_t nodes_of(const std::vector<ir::Expr>& bodies) {
  int64_t nodes = 0;
  for (const ir::Expr& body : bodies) ir::walk(body, [&](const ir::Expr&) { return ++nodes <= 100'000; });
  return nodes;
}

// Select(condition, read, constant), as padding is written.
bool is_padding(const ir::Expr& body) {
  const auto* choice = ir::as<ir::Select>(body);
  return choice && ((ir::as<ir::Load>(choice->yes) && !ir::has_load(choice->no)) ||
                    (ir::as<ir::Load>(choice->no) && !ir::has_load(choice->yes)));
}

// No arithmetic on the values: a copy, a transpose, padding.
bool moves_only(const ir::Expr& body) { return ir::as<ir::Load>(body) != nullptr || is_padding(body); }

std::vector<ir::Expr> loads_of(const std::vector<ir::Expr>& bodies) {
  std::vector<ir::Expr> loads;
  for (const ir::Expr& body : bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      if (ir::as<ir::Load>(e) &&
          std::none_of(loads.begin(), loads.end(), [&](const ir::Expr& known) { return ir::equal(known, e); }))
        loads.push_back(e);
      return true;
    });
  return loads;
}

std::vector<Axis> axes_of(const StageNest& nest, int first, int count) {
  std::vector<Axis> axes;
  for (int d = first; d < first + count; ++d) {
    const schedule::Axis& axis = nest.axes[static_cast<size_t>(d)];
    axes.push_back({axis.name, axis.var, axis.extent.value()});
  }
  return axes;
}

void add_reads(const schedule::LoopNest& nest, const std::vector<ir::Expr>& bodies, Stage& to) {
  for (const ir::Expr& load : loads_of(bodies)) {
    to.reads.push_back({nest.find_stage(ir::as<ir::Load>(load)->buffer.id()), load});
    for (const ir::Expr& at : to.reads.back().at()) to.gathers = to.gathers || ir::has_load(at);
  }
}

class Analysis {
 public:
  Analysis(const std::vector<te::Tensor>& outputs, const Target& target, const std::vector<Turned>& turned)
      : s_(outputs), device_(target.abilities.device.has_value()), turned_(turned) {
    graph_.outputs = outputs;
    for (const Turned& operand : turned_) {
      copies_.insert(s_.nest().unique_name(operand.copy.stage + "." + ir::to_string(operand.copy.scope)));
      s_.apply(operand.copy);
      graph_.first.push_back(operand.copy);
    }
  }

  // What is stored in strips, and what is then inlined.
  void keep(const Target& target) { repeats_ = repeats(s_.nest(), target); }

  Graph run() {
    hoist_functions();
    for (int i = 0; i < s_.nest().size(); ++i) graph_.stages.push_back(facts(i));
    for (int i = 0; i < s_.nest().size(); ++i) choose_inlining(i);
    const auto bodies = schedule::inline_bodies(s_.nest());
    for (int i = 0; i < s_.nest().size(); ++i)
      if (stage(i).computed() && !stage(i).inlined) fill_in(i, bodies[static_cast<size_t>(i)]);
    for (int i = s_.nest().size(); i-- > 0;) find_readers(i);
    return std::move(graph_);
  }

 private:
  Stage& stage(int i) { return graph_.stages[static_cast<size_t>(i)]; }
  const StageNest& nest(int i) const { return s_.nest().stage(i); }

  void hoist_functions();
  bool hoist_function(int i);
  Stage facts(int i) const;
  void choose_inlining(int i);
  bool is_read_in_one_place(int i, const std::vector<int>& readers);
  bool worth_inlining(int i);
  bool is_prologue(int i) const;
  Stage as_declared(int i) const;
  void fill_in(int i, const std::vector<ir::Expr>& bodies);
  void find_readers(int i);

  schedule::Schedule s_;
  const bool device_;
  const std::vector<Turned> turned_;
  std::set<std::string> copies_;  // that are not inlined
  Graph graph_;
  Repeats repeats_;
  std::unordered_map<int, int64_t> nodes_;   // of bodies, with inlined stages expanded
  std::unordered_map<int, int> read_count_;  // of inlined stages, likewise
};

void Analysis::hoist_functions() {
  std::vector<std::string> names;
  for (int i = 0; i < s_.nest().size(); ++i) names.push_back(nest(i).name);
  for (const std::string& name : names)
    while (hoist_function(s_.nest().find_stage(name))) {
    }
}

// Whether a function of an operand of a contraction got a stage of its own: inside it would be computed again for each
// element that the operand counts for. So do, on a device, numbers made of 4-bit integers, which blocks do not share.
bool Analysis::hoist_function(int i) {
  if (!nest(i).is_reduction()) return false;
  const std::vector<ir::Expr> operands = schedule::operands_of(nest(i));
  for (size_t n = 0; n < operands.size(); ++n) {
    if (!calls_function(operands[n]) && !(device_ && reads_packed(operands[n]))) continue;
    const schedule::Hoist step{nest(i).name, static_cast<int64_t>(n), ir::Scope::kGlobal};
    schedule::Schedule with = s_;
    if (!with.try_apply(step).ok()) continue;
    const int reader = with.nest().find_stage(step.stage);
    std::swap(s_, with);
    Stage declared = facts(reader);
    add_reads(s_.nest(), nest(reader).bodies, declared);
    const std::optional<Product> product = product_of(declared);
    const auto is_new = [&](int read) { return declared.reads[static_cast<size_t>(read)].stage == reader - 1; };
    if (product && (is_new(product->left) || is_new(product->right))) {
      graph_.first.push_back(step);
      return true;
    }
    std::swap(s_, with);
  }
  return false;
}

// What is known of a stage alone.
Stage Analysis::facts(int i) const {
  const StageNest& from = nest(i);
  Stage made;
  made.name = from.name;
  made.type = from.op->dtype();
  made.output = from.output;
  for (const ir::Expr& extent : from.op->shape()) made.shape.push_back(*ir::as_int(extent));
  made.data = axes_of(from, 0, from.data_rank);
  made.sums = axes_of(from, from.data_rank, from.reduce_rank);
  for (const Turned& operand : turned_)
    if (operand.copy.readers.front() == made.name)
      std::ranges::stable_partition(made.sums, [&](const Axis& sum) { return sum.name != operand.sum; });
  made.scan = schedule::scan_around(s_.nest(), i);
  if (const te::Scan* scan = from.op->scan()) made.same_shapes = te::have_one_shape(*scan);
  for (int64_t extent : made.shape) made.elements *= std::max<int64_t>(extent, 1);
  if (const auto* input = std::get_if<te::Placeholder>(&from.op->kind)) {
    made.param = input->param;
    return made;
  }
  made.kind = from.op->scan()       ? StageKind::kScan
              : from.op->external() ? StageKind::kExtern
              : from.is_reduction() ? StageKind::kReduction
                                    : StageKind::kPointwise;
  made.bodies = from.bodies;
  return made;
}

// Its reads before inlining.
Stage Analysis::as_declared(int i) const {
  Stage declared = graph_.at(i);
  declared.reads.clear();
  add_reads(s_.nest(), nest(i).bodies, declared);
  return declared;
}

// Whether it is an operand of a contraction, as the contraction is written.
bool Analysis::is_prologue(int i) const {
  const std::vector<int> readers = readers_of(s_.nest(), i);
  return std::any_of(readers.begin(), readers.end(), [&](int reader) {
    if (graph_.at(reader).kind != StageKind::kReduction) return false;
    const Stage declared = as_declared(reader);
    const std::optional<Product> product = product_of(declared);
    return product && (declared.reads[static_cast<size_t>(product->left)].stage == i ||
                       declared.reads[static_cast<size_t>(product->right)].stage == i);
  });
}

// Whether nothing is computed twice when it is inlined.
bool Analysis::is_read_in_one_place(int i, const std::vector<int>& readers) {
  if (readers.size() != 1 || stage(readers[0]).kind != StageKind::kPointwise) return false;
  if (stage(readers[0]).elements > stage(i).elements) return false;
  return std::ranges::count_if(loads_of(nest(readers[0]).bodies), [&](const ir::Expr& load) {
           return s_.nest().find_stage(ir::as<ir::Load>(load)->buffer.id()) == i;
         }) == 1;
}

bool Analysis::worth_inlining(int i) {
  Stage& it = stage(i);
  if (it.kind != StageKind::kPointwise || it.output || it.bodies.size() != 1 || copies_.contains(it.name)) return false;
  if (schedule::scan_around(s_.nest(), i) != schedule::kNone) return false;
  int64_t nodes = nodes_of(it.bodies);
  bool reads_computed = false;
  int reads = 0;
  for (const ir::Expr& load : loads_of(it.bodies)) {
    const int source = s_.nest().find_stage(ir::as<ir::Load>(load)->buffer.id());
    if (source == schedule::kNone) return false;
    if (nodes_.contains(source)) nodes += nodes_.at(source);
    reads += read_count_.contains(source) ? read_count_.at(source) : 1;
    reads_computed = reads_computed || stage(source).computed();
  }
  const std::vector<int> readers = readers_of(s_.nest(), i);
  if (readers.empty() || nodes > (is_read_in_one_place(i, readers) ? kInlineOnce : kInlineNodes)) return false;
  const bool costs = calls_function(it.bodies[0]);
  if ((reads > 1 || costs) && !(reads_computed && !moves_only(it.bodies[0])) && is_prologue(i)) {
    it.prologue = true;
    return false;
  }
  for (int reader : readers) {
    if (stage(reader).kind == StageKind::kExtern || stage(reader).kind == StageKind::kScan) return false;
    const bool repeats = stage(reader).kind == StageKind::kReduction || stage(reader).elements > it.elements;
    if (repeats && (costs || (reads_computed && !moves_only(it.bodies[0])))) return false;
  }
  if (costs && readers.size() != 1) return false;
  nodes_[i] = nodes;
  read_count_[i] = reads;
  return true;
}

// REQUIRES: earlier stages are done.
void Analysis::choose_inlining(int i) {
  Stage& it = stage(i);
  it.pads = it.kind == StageKind::kPointwise && is_padding(it.bodies[0]);
  std::set<int> direct, sources;
  for (const ir::Expr& load : loads_of(it.bodies))
    if (const int source = s_.nest().find_stage(ir::as<ir::Load>(load)->buffer.id()); source != schedule::kNone) {
      direct.insert(source);
      if (stage(source).inlined)
        sources.insert(stage(source).sources.begin(), stage(source).sources.end());
      else
        sources.insert(source);
    }
  it.direct.assign(direct.begin(), direct.end());
  it.strip = repeats_.stored.contains(i);
  if (it.strip || !(repeats_.inlined.contains(i) || worth_inlining(i))) return;
  if (!s_.try_apply(schedule::ComputeInline{it.name}).ok()) return;
  it.inlined = true;
  it.sources.assign(sources.begin(), sources.end());
}

void Analysis::fill_in(int i, const std::vector<ir::Expr>& bodies) {
  Stage& it = stage(i);
  if (it.kind == StageKind::kScan || it.kind == StageKind::kExtern) return;
  it.bodies = bodies;
  add_reads(s_.nest(), bodies, it);
  for (const ir::Expr& body : bodies) it.expensive = it.expensive || calls_function(body);
  it.operations = static_cast<double>(nodes_of(bodies));
  for (const std::vector<Axis>& axes : {it.data, it.sums})
    for (const Axis& axis : axes) it.operations *= static_cast<double>(std::max<int64_t>(axis.extent, 1));
  if (product_of(it)) it.kind = StageKind::kContraction;
}

// REQUIRES: those of later stages are known.
void Analysis::find_readers(int i) {
  std::set<int> found;
  for (int reader : readers_of(s_.nest(), i)) {
    if (stage(reader).inlined)
      found.insert(stage(reader).readers.begin(), stage(reader).readers.end());
    else
      found.insert(reader);
  }
  stage(i).readers.assign(found.begin(), found.end());
}

// Whether each iteration of the stage reads an element of its own.
bool is_read_once(const Stage& stage, const Access& read) {
  const auto runs = [&](const Axis& axis) {
    return axis.extent <= 1 || (read.uses(axis) && read.shared_along(axis) == 1);
  };
  return std::all_of(stage.data.begin(), stage.data.end(), runs) &&
         std::any_of(stage.sums.begin(), stage.sums.end(), [&](const Axis& axis) { return read.uses(axis); });
}

// Whether some axis along which `one` runs and `other` stands still repeats the reads of `other`.
bool reused(const Stage& stage, const Access& one, const Access& other) {
  constexpr int64_t kLeast = 4;  // neighbours that share a read, to be worth a rule for contractions
  return std::any_of(stage.data.begin(), stage.data.end(), [&](const Axis& axis) {
    return axis.extent > 1 && one.uses(axis) && one.shared_along(axis) == 1 &&
           (!other.uses(axis) || other.shared_along(axis) >= kLeast);
  });
}

}  // namespace

bool Access::uses(const Axis& axis) const { return ir::uses_var(load, axis.var); }

int64_t Access::shared_along(const Axis& axis) const {
  int64_t shared = 0;
  bool alone = false;
  ir::walk(load, [&](const ir::Expr& e) {
    const auto* quotient = ir::as<ir::Binary>(e);
    const auto* var = ir::as<ir::VarRef>(quotient && quotient->op == ir::BinOp::kFloorDiv ? quotient->a : e);
    if (!var || !(var->var == axis.var)) return true;
    const int64_t by = quotient ? ir::as_int(quotient->b).value_or(1) : 1;
    alone = alone || by < 1 || (shared != 0 && shared != by);
    shared = by;
    return false;
  });
  return alone ? 1 : shared;
}

double touched(const Stage& stage, const Access& read) {
  double elements = 1;
  for (const std::vector<Axis>& axes : {stage.data, stage.sums})
    for (const Axis& axis : axes)
      if (read.uses(axis)) elements *= static_cast<double>(axis.extent);
  return elements;
}

int Graph::find(const std::string& name) const {
  for (size_t i = 0; i < stages.size(); ++i)
    if (stages[i].name == name) return static_cast<int>(i);
  return -1;
}

Graph analyse(const std::vector<te::Tensor>& outputs, const Target& target) {
  return turn_operands(analyse_turned(outputs, target, {}), target);
}

Graph analyse_turned(const std::vector<te::Tensor>& outputs, const Target& target, const std::vector<Turned>& turned) {
  if (!target.abilities.device) {
    Analysis analysis(outputs, target, turned);
    analysis.keep(target);
    Graph graph = analysis.run();
    if (takes_all_strips(graph)) return graph;
  }
  return Analysis(outputs, target, turned).run();
}

std::optional<Product> product_of(const Stage& stage) {
  if (stage.bodies.size() != 1 || stage.reads.size() < 2 || stage.gathers) return std::nullopt;
  const auto* sum = ir::as<ir::Reduce>(stage.bodies[0]);
  if (!sum || !sum->init.empty()) return std::nullopt;
  if (std::any_of(stage.reads.begin(), stage.reads.end(),
                  [&](const Access& read) { return is_read_once(stage, read); }))
    return std::nullopt;
  std::optional<Product> found;
  double most = 0;
  for (size_t l = 0; l < stage.reads.size(); ++l)
    for (size_t r = l + 1; r < stage.reads.size(); ++r) {
      const Access &left = stage.reads[l], &right = stage.reads[r];
      if (!reused(stage, left, right) || !reused(stage, right, left)) continue;
      const double elements = touched(stage, left) + touched(stage, right);
      if (elements > most) most = elements, found = Product{static_cast<int>(l), static_cast<int>(r)};
    }
  return found;
}

bool reads_in_place(const Graph& graph, int reader, int stage) {
  const Stage &to = graph.at(reader), &from = graph.at(stage);
  if (to.kind != StageKind::kPointwise || to.data.size() != from.data.size()) return false;
  for (size_t d = 0; d < to.data.size(); ++d)
    if (to.data[d].extent != from.data[d].extent) return false;
  bool any = false;
  for (const Access& read : to.reads) {
    if (read.stage != stage) continue;
    any = true;
    for (size_t d = 0; d < read.at().size(); ++d) {
      const auto* var = ir::as<ir::VarRef>(read.at()[d]);
      if (!var || !(var->var == to.data[d].var)) return false;
    }
  }
  return any;
}

int summed_in_place(const Graph& graph, int root) {
  int found = -1;
  for (const Access& read : graph.at(root).reads) {
    const Stage& stage = graph.at(read.stage);
    if (stage.reduces() && !stage.output && stage.readers == std::vector<int>{root} &&
        reads_in_place(graph, root, read.stage))
      found = read.stage;
  }
  return found;
}

bool is_axis(const ir::Expr& e, const Axis& axis) {
  const auto* var = ir::as<ir::VarRef>(e);
  return var != nullptr && var->var == axis.var;
}

std::optional<int64_t> stride_along(const Access& read, const Axis& axis) {
  for (size_t d = 0; d + 1 < read.at().size(); ++d)
    if (ir::uses_var(read.at()[d], axis.var)) return std::nullopt;
  if (read.at().empty()) return 0;
  return step_along(read.at().back(), axis.var);
}

std::optional<int64_t> step_along(const ir::Expr& at, const ir::Var& var) {
  const ir::Expr next = ir::substitute(at, {{var.id(), ir::Expr(var) + ir::Expr(1)}});
  return ir::as_int(ir::simplify(next - at));
}

int64_t bytes_between(const Graph& graph, const Access& read, const Axis& axis) {
  const Stage& source = graph.at(read.stage);
  int64_t bytes = 0, row = source.type.bytes();
  for (size_t d = read.at().size(); d-- > 0; row *= source.shape[d]) {
    const std::optional<int64_t> step = step_along(read.at()[d], axis.var);
    if (!step) return 0;
    bytes += *step * row;
  }
  return bytes;
}

}  // namespace tw::autotune::sketch
