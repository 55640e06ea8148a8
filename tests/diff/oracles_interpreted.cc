// The interpreter's oracles, and what needs to run nothing.
#include "schedule/loop_nest.h"
#include "schedule/placement.h"
#include "src/ir/equal.h"
#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "src/lower/pipeline.h"
#include "src/lower/sync_check.h"
#include "tests/diff/extents.h"
#include "tests/diff/reference.h"
#include "tests/diff/trial.h"

namespace tw::diff {

namespace {

// Of a loop program at some sizes: one that recomputes inside what recomputes may take days.
constexpr int64_t kMostStores = 20'000'000;

std::string text_fault(const ir::Program& program) {
  const auto back = ir::parse_program(ir::to_string(program));
  if (!back.ok()) return "does not parse: " + back.error().render() + "\n" + ir::to_string(program);
  return ir::equal(*back, program) ? "" : "changes in its text form:\n" + ir::to_string(program);
}

std::string made(Trial& t) {
  for (const std::string& refusal : t.sample.refusals) return "refused: " + refusal;
  const std::string json = schedule::to_json(t.sample.steps);
  const auto steps = schedule::steps_from_json(json);
  if (!steps.ok()) return "JSON: " + steps.error().render();
  if (schedule::to_json(*steps) != json) return "JSON: read as " + schedule::to_json(*steps) + ", not " + json;
  auto schedule = schedule::Schedule::from_steps(t.sample.outputs, *steps);
  if (!schedule.ok()) return "replay: " + schedule.error().render();
  auto program = schedule::to_ir(*schedule, t.sample.args, "kernel", t.sample.scalars);
  if (!program.ok()) return "refused: " + program.error().render();
  t.scheduled = *program;
  t.positive = schedule->nest().positive_sizes();
  t.contract = contract(schedule->nest());
  t.packing = Packing(t.sample, *schedule);
  t.lowered = lower::run_pipeline(lower::passes_for(*program, lower::cpu_passes()), *program, Target::host());
  return "";
}

// A disagreement of the two is no wrong result, but a wrong explanation, feature or bound.
std::string extents(Trial& t) {
  const auto schedule = schedule::Schedule::from_steps(t.sample.outputs, t.sample.steps);
  return schedule.ok() ? extents_differ(*schedule) : "";
}

std::string verified(Trial& t) {
  if (const Status valid = ir::verify(t.scheduled); !valid.ok()) return "loop program: " + valid.error().render();
  if (const Status valid = ir::verify(t.lowered); !valid.ok()) return "lowered program: " + valid.error().render();
  return "";
}

// What is not proved is no fault: strides that are sums of sizes, or lanes across rows, are not always seen to keep
// threads apart.
std::string synchronised(Trial& t) {
  for (const ir::Program* program : {&t.scheduled, &t.lowered})
    for (const lower::SyncFinding& finding : lower::sync_check(*program))
      if (finding.certain || finding.kind == lower::SyncFinding::Kind::kDivergentBarrier ||
          finding.kind == lower::SyncFinding::Kind::kDivergentProduct)
        return to_string(finding) + "\n" + ir::to_string(*program);
  return "";
}

std::string survives_text(Trial& t) {
  const std::string found = text_fault(t.scheduled);
  return found.empty() ? text_fault(t.lowered) : found;
}

Result<Memory> interpret(const Trial& t, const ir::Program& program, const Run& run, const Memory& inputs,
                         ir::InterpOptions options = {}) {
  options.scalars = scalar_values(t.sample, program.scalars, run.sizes);
  options.seed = t.sample.recipe.seed;
  options.order = static_cast<ir::InterpOptions::Order>(options.seed % 3);
  return diff::interpret(program, inputs, options);
}

}  // namespace

std::string defined(Trial& t) {
  const ir::Program naive = te::naive_program(t.sample.outputs, t.sample.args, "naive", t.sample.scalars);
  for (const std::vector<int64_t>& sizes : t.sample.sizes) t.runs.push_back({sizes, {}, {}, {}, {}, {}, false});
  return each_run(t, [&](Run& run) -> std::string {
    run.inputs = random_inputs(t.sample, run.sizes);
    const auto expected = interpret(t, naive, run, run.inputs);
    run.refused = !takes(t.sample, t.positive, run.sizes) || (!expected.ok() && refuses_sizes(expected.error()));
    if (run.refused) return "";
    if (!expected.ok()) return expected.error().render();
    run.expected = *expected;
    return "";
  });
}

std::string lowered_wild(Trial& t) {
  return each_run(t, [&](Run& run) -> std::string {
    if (run.refused) return "";
    run.wild = wild_inputs(t.sample, run.sizes);
    const auto got = t.packing.run(t.lowered, run.wild, run.sizes);
    if (!got.ok()) return got.error().render();
    run.wild_got = *got;
    return "";
  });
}

namespace {

std::string read_off(Trial& t) {
  return each_run(t, [&](Run& run) {
    if (run.refused) return std::string();
    const std::optional<Memory> expected = reference(t.sample, run.inputs, run.sizes);
    return expected ? difference(t.sample, *expected, run.expected) : "";
  });
}

std::string scheduled(Trial& t) {
  ir::InterpOptions options = t.contract;
  options.max_steps = kMostStores;
  return means_the_definition(t, t.scheduled, options);
}

// Threads join their parts in an order that the launch decides; lanes of a warp, and intrinsics, round in their own
// way.
bool sums_otherwise(const schedule::LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i) {
    const schedule::StageNest& stage = nest.stage(i);
    if (schedule::sums_across_threads(stage) || schedule::warp_product_of(stage)) return true;
    if (stage.tensorized.intrin && stage.buffer().element().is_float()) return true;
  }
  return false;
}

std::string in_order(Trial& t) {
  const auto schedule = schedule::Schedule::from_steps(t.sample.outputs, t.sample.steps);
  if (!schedule.ok() || sums_otherwise(schedule->nest())) return "";
  return each_run(t, [&](Run& run) -> std::string {
    if (run.refused) return "";
    const Memory rough = rough_inputs(t.sample, run.inputs);
    const std::optional<Memory> expected = reference_in_order(t.sample, schedule->nest(), rough, run.sizes);
    if (!expected) return "";
    const auto got = t.packing.run(t.scheduled, rough, run.sizes, t.contract);
    return got.ok() ? bit_difference(t.sample, *expected, *got) : got.error().render();
  });
}

std::string lowered(Trial& t) {
  return each_run(t, [&](Run& run) {
    const auto got = t.packing.run(t.lowered, run.inputs, run.sizes);
    if (run.refused) return not_refused(got);
    if (!got.ok()) return got.error().render();
    run.got = *got;
    return difference(t.sample, run.expected, *got);
  });
}

constexpr Interpreted kInterpreted[] = {
    {"schedule", 100, made, NeededBy::kAll},       // legal Steps are accepted, survive JSON, and lower
    {"extents", 100, extents},                     // of loops: as views estimate them, as bounds inference has them
    {"verify", 100, verified},                     // invariants of the loop program and the lowered program
    {"barriers", 50, synchronised},                // of launches are proved to suffice, and to be met by all threads
    {"text", 100, survives_text},                  // both survive printing and parsing
    {"definition", 100, defined, NeededBy::kAll},  // the interpreter runs the unscheduled expression
    {"reference", 20, read_off},                   // the definition = the expression, evaluated without any program
    {"loop program", 100, scheduled, NeededBy::kAll},  // = the definition; each element is given one value
    {"order", 100, in_order},  // = the expression with sums across lanes in the documented order, bit for bit
    {"lowered", 100, lowered, NeededBy::kCompiled},  // = the definition
    {"any bits", 25,
     lowered_wild},  // the lowered program on NaNs and the like: what the compiled ones are compared with
};

}  // namespace

std::span<const Interpreted> interpreted_oracles() { return kInterpreted; }

}  // namespace tw::diff
