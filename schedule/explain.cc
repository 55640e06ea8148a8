#include "schedule/explain.h"

#include <algorithm>
#include <cmath>

#include "schedule/plain_lanes.h"
#include "schedule/print.h"
#include "schedule/traffic.h"
#include "schedule/unbounded.h"
#include "src/ir/tile_products.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/read_notes.h"

namespace tw::schedule {

namespace {

constexpr double kAdderLatency = 4;  // cycles until a sum can take its next term

std::string kind_of(const Axis& axis) {
  std::string kind = axis.annotation == Annotation::kNone ? "for" : to_string(axis.annotation);
  return axis.reduction ? kind + " reduction" : kind;
}

Level smallest_that_holds(double bytes, const Machine& machine) {
  if (bytes <= static_cast<double>(machine.l1_bytes)) return kL1;
  if (bytes <= static_cast<double>(machine.l2_bytes)) return kL2;
  return bytes <= static_cast<double>(machine.l3_bytes) ? kL3 : kDram;
}

// Accesses that a stencil makes side by side touch one box: one of each buffer and stride stands for them.
std::vector<AccessView> distinct(const std::vector<AccessView>& accesses) {
  std::vector<AccessView> out;
  for (const AccessView& access : accesses) {
    const auto same = [&](const AccessView& other) {
      return other.buffer == access.buffer && other.coefficients == access.coefficients;
    };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(access);
  }
  return out;
}

const LoopView* vector_loop(const StageView& view) {
  for (const LoopView& loop : view.loops)
    if (loop.annotation == Annotation::kVectorized) return &loop;
  return nullptr;
}

int lanes_of(const StageView& view, const Machine& machine) {
  const LoopView* loop = vector_loop(view);
  const int64_t most = std::max(1, machine.vector_bits / (8 * view.element_bytes));
  return loop ? static_cast<int>(std::min<int64_t>(most, loop->extent)) : 1;
}

bool is_lanes(const LoopView& loop) { return loop.annotation == Annotation::kVectorized; }

// Sums that grow side by side: the vectors of all loops that are repeated in the code and do not reduce, or whose lanes
// have partial results.
double chains_of(const StageView& view, const Machine& machine, const PlainLanes& plain) {
  if (plain.leaf >= 0) return std::max(1.0, std::ceil(static_cast<double>(plain.elements) / lanes_of(view, machine)));
  double elements = 1;
  for (const LoopView& loop : view.loops) {
    const bool unrolled = loop.annotation == Annotation::kUnrolled && !loop.reduction;
    if (is_lanes(loop) || unrolled) elements *= static_cast<double>(loop.extent);
  }
  return std::max(1.0, elements / lanes_of(view, machine));
}

// Whether each iteration of the innermost loop that is a loop in the code adds to the sum of the one before.
bool sums_in_a_row(const StageView& view) {
  for (auto loop = view.loops.rbegin(); loop != view.loops.rend(); ++loop)
    if (loop->extent > 1 && !is_lanes(*loop) && (loop->annotation == Annotation::kNone || loop->reduction))
      return loop->reduction;
  return false;
}

std::vector<LoopExplanation> explain_loops(const StageNest& stage, const StageView& view, const StageView& boxes,
                                           const Machine& machine) {
  double used = 0;  // bytes by all accesses of one element
  for (const AccessView& access : view.accesses) used += access.element_bytes;
  std::vector<LoopExplanation> loops(view.loops.size());
  double iterations = 1;
  for (size_t l = loops.size(); l-- > 0;) {
    const Axis& axis = stage.axes[static_cast<size_t>(stage.leaves[l])];
    const bool vectorized = view.loops[l].annotation == Annotation::kVectorized;
    iterations *= static_cast<double>(view.loops[l].extent);
    double bytes = 0;
    for (const AccessView& access : boxes.accesses) bytes += footprint(access, boxes.ranges(l));
    loops[l] = {axis.name, view.loops[l].extent, kind_of(axis), vectorized ? lanes_of(view, machine) : 0, bytes, kL1,
                0};
    loops[l].fits = smallest_that_holds(bytes, machine);
    loops[l].reuse = bytes > 0 ? used * iterations / bytes : 0;
  }
  return loops;
}

// The first loop of an intrinsic's statement, the cycles that one such takes, and the bytes of registers for it.
struct Statement {
  size_t first;
  double cycles, registers;
};

double register_bytes(const Machine& machine) { return machine.vector_registers * machine.vector_bits / 8.0; }

// Of a shipped one, which is a product of vectors or of tiles; of others nobody knows how long they take.
std::optional<Statement> product_of(const StageNest& stage, const Machine& machine) {
  if (stage.tensorized.axis == kNone) return std::nullopt;
  const ir::Stmt& update = stage.tensorized.intrin->does.update;
  constexpr double kTileRegisters = 8 << 10;
  double cycles = 0;
  ir::walk(
      update, [](const ir::Stmt&) { return true; },
      [&](const ir::Expr& e) {
        const auto* call = ir::as<ir::Call>(e);
        if (call && ir::is_tile(call->fn)) {
          cycles += ir::rows_of_tile(*call) / machine.rates.tile_rows;
        } else if (call && ir::is_dot(call->fn)) {
          const bool floats = ir::dot_form(call->fn).left.is_float();
          const double measured = floats ? machine.rates.dot_bf16 : machine.rates.dot_u8i8;
          cycles += 1 / (measured > 0 ? measured : machine.rates.issue);
        }
        return true;
      });
  const int at = stage.position(stage.tensorized.axis);
  if (cycles <= 0 || at == kNone) return std::nullopt;
  return Statement{static_cast<size_t>(at), cycles,
                   ir::has_tile_product(update) ? kTileRegisters : register_bytes(machine)};
}

double busy_cycles(const StageView& view, double points, double vectors, const std::optional<Statement>& product,
                   const Machine& machine) {
  if (!product) return points * std::max(1.0, view.operations - view.fused) * vectors / machine.rates.issue;
  for (size_t l = product->first; l < view.loops.size(); ++l) points /= static_cast<double>(view.loops[l].extent);
  return points * product->cycles;
}

void explain_bound(const StageNest& stage, const StageView& view, StageView boxes, const Machine& machine,
                   const PlainLanes& plain, NestExplanation& nest) {
  double parallel = static_cast<double>(view.parallel_around);
  for (const LoopView& loop : view.loops)
    if (runs_concurrently(loop.annotation)) parallel *= static_cast<double>(loop.extent);
  nest.cores = parallel / std::max(1.0, std::ceil(parallel / machine.threads));
  const double cycles = machine.hertz * nest.cores;  // in a second
  const LoopView* vector = vector_loop(view);
  const int lanes = lanes_of(view, machine);
  const double n = vector ? static_cast<double>(vector->extent) : 1;
  const double vectors = std::ceil(n / lanes) / n;  // per element
  const double points = view.trips() * view.enclosing * view.visited;
  const std::optional<Statement> product = product_of(stage, machine);
  double busy = busy_cycles(view, points, vectors, product, machine);
  for (size_t l = product ? product->first : view.loops.size(); l < view.loops.size(); ++l)
    boxes.loops[l].annotation = Annotation::kUnrolled;  // one statement, as what is repeated is
  if (!product && sums_in_a_row(view)) {
    nest.chains = chains_of(view, machine, plain);
    busy = std::max(busy, points * vectors * kAdderLatency / nest.chains);
  }
  nest.moved[kL1] = register_traffic(boxes, product ? product->registers : register_bytes(machine));
  nest.moved[kL2] = traffic(boxes, l1_of(machine));
  nest.moved[kL3] = traffic(boxes, l2_of(machine));
  nest.moved[kDram] = traffic(boxes, {static_cast<double>(std::max(machine.l3_bytes, machine.l2_bytes))});
  if (machine.l3_bytes <= 0) nest.moved[kL3] = 0;
  const Rates& rates = machine.rates;
  const double l1_bytes = rates.l1_loads * (vector || product ? machine.vector_bits / 8.0 : view.element_bytes);
  nest.seconds = {busy / cycles, nest.moved[kL1] / (l1_bytes * cycles), nest.moved[kL2] / (rates.l2_bytes * cycles),
                  nest.moved[kL3] / (rates.l3_bytes * cycles),
                  nest.moved[kDram] / std::min(rates.core_dram * nest.cores, rates.all_dram)};
  const auto longest = std::max_element(nest.seconds.begin(), nest.seconds.end());
  nest.bound = static_cast<Level>(longest - nest.seconds.begin());
}

using UnboundedNotes = std::vector<std::vector<std::string>>;

// What the definitions say, before any loop.
Explanation noted(const Schedule& schedule, const Machine& machine) {
  Explanation all{machine, false, {}, {}, {}};
  for (const te::Operation& op : te::topological_order(schedule.outputs())) {
    const te::ReadNotes notes = te::notes_of(*op);
    for (const std::string& clamp : notes.clamps) all.clamps.push_back(op->name + ": " + clamp);
    for (const ir::Requirement& r : notes.requirements) all.required.push_back(r.text);
  }
  return all;
}

StageView boxes_of(const StageView& view) {
  StageView boxes = view;
  boxes.accesses = distinct(view.accesses);
  return boxes;
}

// The loops of a stage, and what is known of them without a machine's rates.
NestExplanation& add_nest(const Schedule& schedule, const StageView& view, const UnboundedNotes& unbounded,
                          Explanation& all) {
  const StageNest& stage = schedule.nest().stage(view.stage);
  for (const Axis& axis : stage.axes) all.assumed |= !axis.extent.known();
  all.stages.push_back(view.stage);
  NestExplanation& nest = all.nests.emplace_back();
  nest.headline = headline(schedule.nest(), stage);
  nest.unbounded = unbounded[static_cast<size_t>(view.stage)];
  nest.runs = view.enclosing;
  nest.waste = view.waste;
  nest.operations = view.trips() * view.enclosing * view.visited * view.operations;
  nest.loops = explain_loops(stage, view, boxes_of(view), all.machine);
  return nest;
}

}  // namespace

const char* to_string(Level level) {
  constexpr const char* kNames[] = {"compute", "L1", "L2", "L3", "DRAM"};
  return kNames[level];
}

Explanation explain(const Schedule& schedule, const Machine& machine) {
  return support::with_deep_stack([&] {
    Explanation all = noted(schedule, machine);
    const UnboundedNotes unbounded = unbounded_notes(schedule.nest(), schedule.steps());
    const std::vector<PlainLanes> given = plain_lanes(schedule, machine);
    for (StageView& view : view_stages(schedule.nest())) {
      const PlainLanes& plain = given[static_cast<size_t>(view.stage)];
      if (plain.leaf >= 0) view.loops[static_cast<size_t>(plain.leaf)].annotation = Annotation::kVectorized;
      NestExplanation& nest = add_nest(schedule, view, unbounded, all);
      nest.plain = plain.reason;
      explain_bound(schedule.nest().stage(view.stage), view, boxes_of(view), machine, plain, nest);
    }
    return all;
  });
}

Explanation explain_device(const Schedule& schedule, const Machine& machine) {
  return support::with_deep_stack([&] {
    Explanation all = noted(schedule, machine);
    const UnboundedNotes unbounded = unbounded_notes(schedule.nest(), schedule.steps());
    for (const StageView& view : view_stages(schedule.nest())) add_nest(schedule, view, unbounded, all);
    const auto placed = place(schedule.nest(), schedule.steps());
    if (!placed.ok()) return all;
    all.launches = device_account(schedule.nest(), *placed, *machine.device);
    for (const LaunchAccount& launch : all.launches)
      for (const StageAccount& stage : launch.stages) {
        const auto found = std::find(all.stages.begin(), all.stages.end(), stage.stage);
        std::vector<LoopExplanation>& loops = all.nests[static_cast<size_t>(found - all.stages.begin())].loops;
        const std::vector<LoopAccount> inside = loop_accounts(schedule.nest(), *placed, launch, stage.stage);
        for (size_t l = 0; l < inside.size(); ++l) loops[l].inside = inside[l];
      }
    return all;
  });
}

}  // namespace tw::schedule
