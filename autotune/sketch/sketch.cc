// The table of rules, and the template that runs it.
#include "autotune/sketch/sketch.h"

#include <algorithm>
#include <span>

#include "autotune/sketch/device.h"
#include "autotune/space/knobs.h"
#include "schedule/loop_nest.h"
#include "src/support/deep_stack.h"

namespace tw::autotune {

namespace sketch {

namespace {

// clang-format off: a table
constexpr Rule kRules[] = {
    {"strips",      match_strips,      apply_strips,      "first: members were not inlined for it"},
    {"split_sum",   match_split_sum,   apply_split_sum,   "before contraction: too few tiles to share out"},
    {"few_rows",    match_few_rows,    apply_few_rows,    "before contraction: nothing is used often enough to be turned"},
    {"pixels",      match_pixels,      apply_pixels,      "before contraction: few columns and terms want lanes elsewhere"},
    {"contraction", match_contraction, apply_contraction, "before reductions of any kind: register tiles need reuse"},
    {"whole",       match_whole,       apply_whole,       "before rows: too few rows to share out"},
    {"short_runs",  match_short_runs,  apply_short_runs,  "before rows, each of which is read by itself"},
    {"rows",        match_rows,        apply_rows,        "before reduction: takes all reductions of a row together"},
    {"reduction",   match_reduction,   apply_reduction,   "after contractions, whose operands are used again and again"},
    {"running",     match_running,     apply_running,     "before pointwise: its last stage is one"},
    {"pointwise",   match_pointwise,   apply_pointwise,   "after all that fuses epilogues"},
    {"anything",    match_anything,    apply_anything,    "last: it takes a single stage of any kind"},
};

// Of a device that runs threads in blocks; the first is for those whose four warps multiply together.
constexpr Rule kDeviceRules[] = {
    {"device_groups",      match_device_groups,      apply_device_groups,      "before products of one warp: operands stay in shared memory"},
    {"device_planes",      match_device_planes,      apply_device_planes,      "before products of rows as they lie, which take windows for terms"},
    {"device_warps",       match_device_warps,       apply_device_warps,       "before other contractions: tensor cores, where their products make up the result"},
    {"device_contraction", match_device_contraction, apply_device_contraction, "operands that are used again and again are shared"},
    {"device_rows",        match_device_rows,        apply_device_rows,        "before reductions, which it takes together"},
    {"device_reduction",   match_device_reduction,   apply_device_reduction,   "after contractions: threads share the terms of a row"},
    {"device_columns",     match_device_columns,     apply_device_columns,     "before pointwise, which gives a column to one thread"},
    {"device_transposed",  match_device_transposed,  apply_device_transposed,  "before pointwise, which reads one side of memory by single elements"},
    {"device_scan",        match_device_scan,        apply_device_scan,        "anywhere: no other rule takes scans, and what their times compute comes before them"},
    {"device_windows",     match_device_windows,     apply_device_windows,     "before pointwise, whose threads have a window each"},
    {"device_pointwise",   match_device_pointwise,   apply_device_pointwise,   "last: each thread has elements of its own"},
};
// clang-format on

constexpr std::string_view kFourWarps = "sm_90a";

std::span<const Rule> rules_for(const Target& target) {
  if (target.abilities.device) return std::span(kDeviceRules).subspan(target.arch == kFourWarps ? 0 : 1);
  return kRules;
}

}  // namespace

bool is_taken_before(const Graph& graph, int stage, std::string_view rule) {
  const Rule* named = std::ranges::find_if(kDeviceRules, [&](const Rule& other) { return other.name == rule; });
  return std::any_of(std::begin(kDeviceRules), named,
                     [&](const Rule& other) { return other.match(graph, stage).has_value(); });
}

bool Group::has(int stage) const { return std::ranges::count(members, stage) > 0; }

int sum_of_root(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  if (last.reduces()) return root;
  return last.kind == StageKind::kPointwise ? summed_in_place(graph, root) : -1;
}

Group group_of_sum(int root, int sum) { return {root, sum, sum == root ? std::vector{root} : std::vector{sum, root}}; }

Sketch::Halves Sketch::split(const std::string& stage, const std::string& loop, schedule::Factor by, ir::Tail tail) {
  step(schedule::Split{stage, loop, std::move(by), {}, tail});
  return {loop + ".o", loop + ".i"};
}

Sketch::Halves Sketch::split_in(const std::string& stage, const std::string& loop, schedule::Factor parts) {
  step(schedule::Split{stage, loop, {}, std::move(parts), ir::Tail::kAuto});
  return {loop + ".o", loop + ".i"};
}

std::string Sketch::fuse(const std::string& stage, const std::vector<std::string>& axes) {
  if (axes.size() > 1) step(schedule::Fuse{stage, axes});
  std::string name;
  for (const std::string& axis : axes) name += (name.empty() ? "" : "*") + axis;
  return name;
}

void Sketch::reorder(const std::string& stage, const std::vector<std::string>& axes) {
  if (axes.size() > 1) step(schedule::Reorder{stage, axes});
}

void Sketch::parallel(const std::string& stage, const std::string& loop) {
  const std::vector<ir::Buffer>& stored = s.nest().stage(s.nest().find_stage(stage)).buffers;
  if (std::none_of(stored.begin(), stored.end(), [](const ir::Buffer& b) { return b.element().is_packed(); }))
    step(schedule::Parallel{stage, loop});
}

void Sketch::bind(const std::string& stage, const std::string& loop, const char* index) {
  step(schedule::Bind{stage, loop, index});
}

std::string Sketch::cache_write(const std::string& stage, ir::Scope scope) {
  const std::string name = s.nest().unique_name(stage + "." + ir::to_string(scope));
  step(schedule::CacheWrite{stage, scope});
  return name;
}

std::string Sketch::cache_read(const std::string& stage, const std::vector<std::string>& readers, ir::Scope scope,
                               const std::vector<std::string>& axes) {
  const std::string name = s.nest().unique_name(stage + "." + ir::to_string(scope));
  step(schedule::CacheRead{stage, scope, readers, axes});
  return name;
}

std::vector<std::string> rule_names(const Target& target) {
  std::vector<std::string> names;
  for (const Rule& rule : rules_for(target)) names.push_back(rule.name);
  return names;
}

std::vector<Claim> partition(const Graph& graph, const Target& target) {
  std::vector<Claim> claims;
  std::vector<bool> taken(graph.stages.size(), false);
  const auto is_free = [&](int i) { return !taken[static_cast<size_t>(i)]; };
  for (int root = static_cast<int>(graph.stages.size()); root-- > 0;) {
    if (!graph.at(root).computed() || graph.at(root).inlined || !is_free(root)) continue;
    for (const Rule& rule : rules_for(target)) {
      std::optional<Group> group = rule.match(graph, root);
      if (!group || !std::all_of(group->members.begin(), group->members.end(), is_free)) continue;
      for (int member : group->members) taken[static_cast<size_t>(member)] = true;
      claims.push_back({&rule, *std::move(group)});
      break;
    }
  }
  std::reverse(claims.begin(), claims.end());
  return claims;
}

namespace {

// What a candidate of the space is made from; shared by all runs of the template.
struct Plan {
  std::vector<te::Tensor> args;
  Target target;
  Graph graph;
  std::vector<Claim> claims;
  bool any_size = false;
  bool placed(int stage) const {
    return std::ranges::any_of(claims, [&](const Claim& claim) { return claim.group.has(stage); });
  }
};

Scheduled run(const Plan& plan, Config& cfg) {
  schedule::Schedule s(plan.graph.outputs);
  Sketch sketch{cfg, s, plan.graph, plan.target, plan.any_size};
  for (const schedule::Step& step : plan.graph.first) s.apply(step);
  for (size_t i = 0; i < plan.graph.stages.size(); ++i)
    if (plan.graph.stages[i].inlined && !plan.placed(static_cast<int>(i)))
      sketch.step(schedule::ComputeInline{plan.graph.stages[i].name});
  for (const Claim& claim : plan.claims) claim.rule->apply(sketch, claim.group);
  return Scheduled{std::move(s), plan.args};
}

void check_extents(const std::vector<te::Tensor>& outputs) {
  for (const te::Operation& op : te::topological_order(outputs)) {
    std::vector<ir::Expr> extents = op->shape();
    if (op->compute())
      for (const te::IterVar& axis : op->compute()->reduce_axis) extents.push_back(axis.extent);
    for (const ir::Expr& extent : extents)
      if (!ir::as_int(extent))
        tune_error("a tensor expression must have known extents to be tuned; one of " + op->name + " is " +
                       ir::to_string(extent),
                   {"what is measured has a size: tune for typical ones, and build the best schedule for all"});
  }
}

}  // namespace

}  // namespace sketch

std::vector<Target> with_fewer_products(const Target& target) {
  std::vector<Target> targets = {target};
  const auto add = [&](auto&& take_away) {
    Target fewer = targets.back();
    take_away(fewer.abilities);
    if (!(fewer == targets.back())) targets.push_back(std::move(fewer));
  };
  add([](Abilities& abilities) { abilities.tiles.reset(); });
  add([](Abilities& abilities) { abilities.dots.clear(); });
  return targets;
}

Template automatic(std::vector<te::Tensor> args, const Target& target, bool any_size) {
  std::vector<te::Tensor> outputs;
  for (const te::Tensor& t : args)
    if (!t.op()->is_placeholder()) outputs.push_back(t);
  if (outputs.empty()) tune_error("one of the tensors must be computed; all are placeholders");
  sketch::check_extents(outputs);
  auto plan = std::make_shared<sketch::Plan>(sketch::Plan{std::move(args), target, {}, {}, any_size});
  support::on_deep_stack([&] {
    plan->graph = sketch::analyse(outputs, plan->target);
    plan->claims = sketch::partition(plan->graph, target);
  });
  return [plan](Config& cfg) { return support::with_deep_stack([&] { return sketch::run(*plan, cfg); }); };
}

}  // namespace tw::autotune
