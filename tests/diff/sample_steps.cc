// The table of proposals and the order in which they are made. The state of the schedule is looked up, its opinion on
// what is legal is not.
#include "tests/diff/sample_steps.h"

#include <algorithm>

namespace tw::diff {

namespace {

// Or has a meaning only beside Steps that do: what the threads of a block share.
bool runs_concurrently(const Step& step) {
  const auto* scope = std::get_if<SetScope>(&step.kind);
  return std::holds_alternative<schedule::Parallel>(step.kind) || std::holds_alternative<schedule::Bind>(step.kind) ||
         std::holds_alternative<schedule::Pipeline>(step.kind) ||
         std::holds_alternative<schedule::Swizzle>(step.kind) ||
         std::holds_alternative<schedule::Persistent>(step.kind) ||
         std::holds_alternative<schedule::Roles>(step.kind) || std::holds_alternative<schedule::Cluster>(step.kind) ||
         (scope != nullptr && scope->scope == ir::Scope::kShared);
}

}  // namespace

const std::vector<Proposal>& proposals() {
  static const std::vector<Proposal> table = {
      {"cache_write", Phase::kGraph, 15, cache_write},
      {"cache_read", Phase::kGraph, 12, cache_read},
      {"hoist", Phase::kGraph, 10, hoist},
      {"compute_inline", Phase::kGraph, 15, compute_inline},
      {"rfactor", Phase::kGraph, 20, rfactor},
      {"transform_layout", Phase::kGraph, 15, transform_layout},
      {"pad terms", Phase::kGraph, 25, pad_terms},
      {"split", Phase::kLoops, 50, split},
      {"tile", Phase::kLoops, 12, tile},
      {"fuse", Phase::kLoops, 16, fuse},
      {"reorder", Phase::kLoops, 22, reorder},
      {"relayout", Phase::kAnnotate, 8, relayout},
      {"leave plain", Phase::kAnnotate, 30, leave_plain},
      {"annotate", Phase::kAnnotate, 100, annotate},
      {"compute_at", Phase::kPlace, 100, compute_at},
      {"group", Phase::kPlace, 8, group},
      {"set_scope", Phase::kStorage, 10, set_scope},
      {"storage_align", Phase::kStorage, 8, storage_align},
      {"transform_layout", Phase::kStorage, 6, transform_layout},
      {"tensorize", Phase::kStorage, 50, tensorize},
      {"rolling_buffer", Phase::kStorage, 25, rolling_buffer},
      {"double_buffer", Phase::kStorage, 8, double_buffer},
      {"set_store_predicate", Phase::kStorage, 8, set_store_predicate},
      {"prefetch", Phase::kStorage, 10, prefetch},
      {"nontemporal", Phase::kStorage, 15, nontemporal},
      {"tensorize", Phase::kStorage, 40, tensorize},
      {"bind", Phase::kDevice, 100, bind},
      {"pipeline", Phase::kShared, 70, pipeline},
      {"double_buffer", Phase::kShared, 10, double_buffer},
      {"storage_align", Phase::kShared, 15, storage_align},
      {"swizzle", Phase::kShared, 30, swizzle},
      {"roles", Phase::kShared, 60, roles},
      {"cluster", Phase::kShared, 60, cluster},
  };
  return table;
}

Stepper::Stepper(Random& random, Sample& sample) : random_(random), sample_(sample), schedule_(sample.outputs) {}

void Stepper::run() {
  on_device = random_.chance(sample_.recipe.devices) && !has_free_rules();
  for (Phase phase : {Phase::kGraph, Phase::kLoops, Phase::kAnnotate, Phase::kPlace}) draw(phase);
  if (on_device) {
    draw(Phase::kDevice);
    if (start_on_device()) draw_shared();
  } else {
    draw(Phase::kStorage);
  }
  if (shares_bytes()) make_serial();
  sample_.steps = schedule_.steps();
}

// Whether iterations of a parallel loop could store to one byte: not to be proved where loops are drawn. That no
// accepted schedule does is seen by the interpreter, which knows who wrote which byte.
bool Stepper::shares_bytes() const {
  bool packed = false;
  for (int i = 0; i < nest().size(); ++i)
    for (const te::Output& output : nest().stage(i).op->outputs) packed = packed || output.dtype.is_packed();
  if (!packed) return false;
  const auto program = schedule::to_ir(schedule_, sample_.args, "f", sample_.scalars);
  return !program.ok() && program.error().what.find("must store whole bytes") != std::string::npos;
}

// All Steps of the launches, or none: a stage that no loop of can be bound, or a block that would be too large, is
// beyond the rules here.
bool Stepper::start_on_device() {
  Schedule next = schedule_;
  const auto applied = [&](const Step& step) { return next.try_apply(step).ok(); };
  sample_.proposed += static_cast<int>(launch.size());
  if (!std::ranges::all_of(launch, applied) || !schedule::to_ir(next, sample_.args, "f", sample_.scalars).ok()) {
    sample_.refused += static_cast<int>(launch.size());
    return false;
  }
  schedule_ = next;
  for (const Step& step : launch) count(std::visit([](const auto& kind) { return kind.kName; }, step.kind));
  count("launch");
  return true;
}

// Slots and padding may ask for more memory than a block has, which is known when loops are made.
void Stepper::draw_shared() {
  const Schedule launched = schedule_;
  draw(Phase::kShared);
  const auto program = schedule::to_ir(schedule_, sample_.args, "f", sample_.scalars);
  if (program.ok() || program.error().what.find("must share at most") == std::string::npos) return;
  sample_.refused += static_cast<int>(schedule_.steps().size() - launched.steps().size());
  schedule_ = launched;
}

// Steps behind a parallel loop may rest on it: transform_layout makes new loops where it finds no annotation.
void Stepper::make_serial() {
  Schedule serial(sample_.outputs);
  for (const Step& step : schedule_.steps())
    if (runs_concurrently(step) || !serial.try_apply(step).ok()) ++sample_.refused;
  // What tiles of warps share means nothing without their launch.
  if (!serial.check().ok()) {
    sample_.refused += static_cast<int>(serial.steps().size());
    serial = Schedule(sample_.outputs);
  }
  schedule_ = serial;
}

std::vector<std::string> Stepper::names(Phase phase) const {
  std::vector<std::string> names;
  for (int i = 0; i < nest().size(); ++i)
    if (!inlined.contains(nest().stage(i).name)) names.push_back(nest().stage(i).name);
  if (phase == Phase::kPlace) std::reverse(names.begin(), names.end());
  return names;
}

void Stepper::draw(Phase phase) {
  if (phase == Phase::kLoops) {
    for (const std::string& name : names(phase)) draw_loops(name);
    return;
  }
  for (const Proposal& proposal : proposals()) {
    if (proposal.phase != phase) continue;
    for (const std::string& name : names(phase))
      if (!inlined.contains(name) && random_.chance(proposal.chance)) proposal.draw(*this, name);
  }
}

void Stepper::draw_loops(const std::string& name) {
  if (on_device && has_loops_of_warp(stage(name))) return;
  if (has_loops_of_intrinsic(stage(name)) && random_.chance(80)) {
    plain.insert(name);
    return;
  }
  int64_t all = 0;
  for (const Proposal& p : proposals()) all += p.phase == Phase::kLoops ? p.chance : 0;
  const int changes = static_cast<int>(random_.below(5));
  for (int i = 0; i < changes && !stage(name).leaves.empty(); ++i) {
    int64_t at = random_.below(all);
    const auto chosen = std::find_if(proposals().begin(), proposals().end(), [&](const Proposal& p) {
      return p.phase == Phase::kLoops && (at -= p.chance) < 0;
    });
    chosen->draw(*this, name);
  }
}

// The rules for what stands around a scan or an extern stage are theirs alone.
bool Stepper::has_free_rules() const {
  for (int i = 0; i < nest().size(); ++i)
    if (nest().stage(i).op->scan() || nest().stage(i).op->external()) return true;
  return false;
}

// A map that fits a tensor may not fit the part of it, or the rounded whole, that a later Step leaves of it.
bool Stepper::has_layout(const Step& step) const {
  const int i = nest().find_stage(std::visit([](const auto& kind) { return kind.stage; }, step.kind));
  return i != kNone && nest().stage(i).layout;
}

void Stepper::fault(const std::string& what) { sample_.refusals.push_back(what); }

bool Stepper::must(Step step) {
  if (has_free_rules() || has_layout(step)) return may(std::move(step));
  ++sample_.proposed;
  const std::string text = to_string(step);
  const char* name = std::visit([](const auto& kind) { return kind.kName; }, step.kind);
  if (Status applied = schedule_.try_apply(std::move(step)); !applied.ok()) {
    ++sample_.refused;
    sample_.refusals.push_back(text + "\n" + applied.error().render());
    return false;
  }
  count(name);
  return true;
}

bool Stepper::may(Step step) {
  ++sample_.proposed;
  const char* name = std::visit([](const auto& kind) { return kind.kName; }, step.kind);
  Schedule next = schedule_;
  if (!next.try_apply(std::move(step)).ok() || !next.check().ok()) {
    ++sample_.refused;
    return false;
  }
  schedule_ = std::move(next);
  count(name);
  return true;
}

std::vector<std::string> Stepper::loop_names(const std::string& name) const {
  std::vector<std::string> names;
  for (AxisId leaf : stage(name).leaves) names.push_back(stage(name).axes[leaf].name);
  return names;
}

std::vector<std::string> Stepper::direct_readers(const std::string& name) const {
  std::vector<std::string> readers;
  for (int i : readers_of(nest(), nest().find_stage(name))) readers.push_back(nest().stage(i).name);
  return readers;
}

std::set<std::string> Stepper::readers(const std::string& name) const {
  std::set<std::string> found;
  for (const std::string& reader : direct_readers(name)) {
    if (!inlined.contains(reader)) {
      found.insert(reader);
      continue;
    }
    for (const std::string& through : readers(reader)) found.insert(through);
  }
  return found;
}

Factor Stepper::factor(const Extent& extent) {
  return extent.known() && random_.chance(30) ? Factor(std::max<int64_t>(extent.value() / 2, 1))
                                              : Factor(random_.one_of<int64_t>({1, 2, 3, 4, 4, 5, 6, 8, 8, 16, 19}));
}

// Over one or two scalars: positive, whatever the sizes are, or a requirement of them.
Factor Stepper::size(const Extent& extent) {
  std::vector<ir::Var> scalars;
  for (const te::Tensor& arg : sample_.args)
    for (const ir::Expr& n : arg.shape())
      if (const auto* symbol = ir::as<ir::VarRef>(n)) scalars.push_back(symbol->var);
  for (const te::ScalarArgument& scalar : sample_.scalars)
    if (scalar.var.name() == "part") scalars.push_back(scalar.var);
  if (scalars.empty() || !random_.chance(35)) return factor(extent);
  const ir::Expr n = random_.pick(scalars), m = random_.pick(scalars), one(1), two(2);
  count("symbolic factor");
  if (random_.chance(30)) {
    count("factor that sizes must allow");
    return Factor(
        random_.one_of<ir::Expr>({n, n - one, ir::floordiv(n + m, two), n * m, ir::floormod(n, ir::Expr(3))}));
  }
  return Factor(random_.one_of<ir::Expr>({ir::max(n, one), n + one, ir::floordiv(n, two) + one,
                                          ir::max(ir::min(n, ir::Expr(3)), one), n + m + one, n * m + two,
                                          ir::max(ir::floormod(n * two + m, ir::Expr(5)), one)}));
}

void Stepper::count_tail(Tail tail, const Extent& extent, int64_t factor) {
  if (extent.known() && factor != 0 && extent.value() % factor == 0) return;
  count(extent.known() ? "uneven" : "symbolic tail");
  count("tail " + to_string(tail));
}

void random_steps(Random& random, Sample& sample) { Stepper(random, sample).run(); }

}  // namespace tw::diff
