#include "tests/diff/oracles.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "codegen/cuda/source.h"
#include "schedule/loop_nest.h"
#include "schedule/placement.h"
#include "src/ir/equal.h"
#include "src/ir/externs.h"
#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "src/ir/walk.h"
#include "src/lower/launches.h"
#include "src/lower/pipeline.h"
#include "src/lower/sync_check.h"
#include "src/runtime/guarded_buffer.h"
#include "src/runtime/kernel.h"
#include "src/support/deep_stack.h"
#include "src/support/temporary_folder.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/diff/compiled.h"
#include "tests/diff/emulated.h"
#include "tests/diff/extents.h"
#include "tests/diff/fenced_run.h"
#include "tests/diff/packing.h"
#include "tests/diff/reference.h"

namespace tw::diff {

namespace {

// One set of sizes of a sample's symbols.
struct Run {
  std::vector<int64_t> sizes;
  Memory inputs, expected, got;  // got: by the lowered program
  Memory wild, wild_got;         // on any bits; empty for most samples
  bool refused = false;          // the sizes are not what the program requires
};

// A sample on its way through the oracles.
struct Trial {
  const Sample& sample;
  ir::Program scheduled, lowered;
  std::vector<schedule::PositiveSize> positive;  // where one is not, the kernel does not run
  ir::InterpOptions contract;                    // of `scheduled`
  Packing packing;
  std::vector<Run> runs;
  int64_t left_out = 0;  // runs
  Finding finding;
};

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

std::string at_sizes(const Sample& sample, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) text += sample.symbols[i].name() + " = " + std::to_string(sizes[i]) + ", ";
  return text;
}

std::string each_run(Trial& t, const std::function<std::string(Run&)>& judge) {
  for (Run& run : t.runs) {
    const std::string found = judge(run);
    if (!found.empty()) return at_sizes(t.sample, run.sizes) + found;
  }
  return "";
}

Result<Memory> interpret(const Trial& t, const ir::Program& program, const Run& run, const Memory& inputs,
                         ir::InterpOptions options = {}) {
  options.scalars = scalar_values(t.sample, program.scalars, run.sizes);
  options.seed = t.sample.recipe.seed;
  options.order = static_cast<ir::InterpOptions::Order>(options.seed % 3);
  return diff::interpret(program, inputs, options);
}

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

std::string read_off(Trial& t) {
  return each_run(t, [&](Run& run) {
    if (run.refused) return std::string();
    const std::optional<Memory> expected = reference(t.sample, run.inputs, run.sizes);
    return expected ? difference(t.sample, *expected, run.expected) : "";
  });
}

// Sizes at which a program takes too long are left out, here and below.
std::string means_the_definition(Trial& t, const ir::Program& program, const ir::InterpOptions& options) {
  std::vector<Run> judged;
  const std::string found = each_run(t, [&](Run& run) -> std::string {
    const auto got = t.packing.run(program, run.inputs, run.sizes, options);
    if (!got.ok() && got.error().what == ir::stopped_after(options.max_steps)) return "";
    if (!run.refused && !got.ok()) return got.error().render();
    judged.push_back(run);
    if (run.refused) return not_refused(got);
    judged.back().got = *got;
    return difference(t.sample, run.expected, *got);
  });
  t.left_out = static_cast<int64_t>(t.runs.size() - judged.size());
  if (found.empty()) t.runs = std::move(judged);
  return found;
}

std::string scheduled(Trial& t) {
  ir::InterpOptions options = t.contract;
  options.max_steps = kMostStores;
  return means_the_definition(t, t.scheduled, options);
}

// Threads join their parts in an order that the launch decides, and lanes of a warp round once for several terms.
bool sums_on_device(const schedule::LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (schedule::sums_across_threads(nest.stage(i)) || schedule::warp_product_of(nest.stage(i))) return true;
  return false;
}

std::string in_order(Trial& t) {
  const auto schedule = schedule::Schedule::from_steps(t.sample.outputs, t.sample.steps);
  if (!schedule.ok() || sums_on_device(schedule->nest())) return "";
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

// A call of the lowered program in machine code, and what the interpreter made of it.
struct Call {
  const Run& run;
  const Memory &inputs, &expected;
  Memory packed;
  std::vector<uint64_t> scalars;
};

std::vector<Call> calls_of(const Trial& t) {
  std::vector<Call> calls;
  for (const Run& run : t.runs)
    for (const auto& [inputs, expected] : {std::pair{&run.inputs, &run.got}, std::pair{&run.wild, &run.wild_got}})
      if (!inputs->empty())
        calls.push_back({run, *inputs, *expected, t.packing.packed(*inputs, run.sizes),
                         scalar_values(t.sample, t.lowered.scalars, run.sizes)});
  return calls;
}

std::vector<Argument> arguments_of(const Sample& sample) {
  std::vector<Argument> arguments;
  for (const te::Tensor& t : sample.args) arguments.push_back({t.name(), t.op()->is_placeholder()});
  return arguments;
}

// What is wrong with a call that went so, or "".
std::string judged(const Trial& t, const Call& call, Ran ran) {
  if (call.run.refused) return ran.code == TW_ERROR_SIZES && ran.memory == call.packed ? "" : "sizes were not refused";
  if (!ran.damage.empty()) return ran.damage;
  ran.memory = t.packing.unpacked(std::move(ran.memory), call.packed, call.inputs);
  const std::string found = bit_difference(t.sample, call.expected, ran.memory);
  return (!found.empty() && &call.inputs == &call.run.wild ? "any bits: " : "") + found;
}

std::string runs_alike(const Trial& t, const runtime::Kernel& kernel) {
  const std::vector<Argument> arguments = arguments_of(t.sample);
  for (const Call& call : calls_of(t)) {
    // Without optimization each value of a long body has a place of its own on the stack.
    Ran ran = support::with_deep_stack([&] { return run_fenced(kernel, arguments, call.packed, call.scalars); });
    const std::string found = judged(t, call, std::move(ran));
    if (!found.empty()) return at_sizes(t.sample, call.run.sizes) + found;
  }
  return "";
}

struct Interpreted {
  const char* name;
  int percent;  // of the samples
  std::string (*judge)(Trial&);
  bool always = false;  // the others need what it does
};
constexpr Interpreted kInterpreted[] = {
    {"schedule", 100, made, true},           // legal Steps are accepted, survive JSON, and lower
    {"extents", 100, extents},               // of loops: as views estimate them, as bounds inference has them
    {"verify", 100, verified},               // invariants of the loop program and the lowered program
    {"barriers", 50, synchronised},          // of launches are proved to suffice, and to be met by all threads
    {"text", 100, survives_text},            // both survive printing and parsing
    {"definition", 100, defined, true},      // the interpreter runs the unscheduled expression
    {"reference", 20, read_off},             // the definition = the expression, evaluated without any program
    {"loop program", 100, scheduled, true},  // = the definition; each element is given one value
    {"order", 100, in_order},   // = the expression with sums across lanes in the documented order, bit for bit
    {"lowered", 100, lowered},  // = the definition
    {"any bits", 25,
     lowered_wild},  // the lowered program on NaNs and the like: what the compiled ones are compared with
};

struct Compiled {
  const char* name;
  int percent;  // of the samples
  Kernels (*compile)(const std::vector<ir::Program>&);
  bool (*suits)(const ir::Program&) = [](const ir::Program&) { return true; };
};
constexpr Compiled kCompiled[] = {
#ifdef TW_LLVM
    {"LLVM O0", 100, [](const std::vector<ir::Program>& p) { return compile_llvm(p, 0); }},
    {"LLVM O3", 100, [](const std::vector<ir::Program>& p) { return compile_llvm(p, 3); }},
#endif
    {"C with vectors", 2, [](const std::vector<ir::Program>& p) { return compile_c(p, true); }, suits_c},
    {"C", 1, [](const std::vector<ir::Program>& p) { return compile_c(p, false); }, suits_c},
};

constexpr const char* kAArch64 = "aarch64";
constexpr const char* kCudaHost = "cuda-host";   // of samples with launches
constexpr int64_t kAligned = 16;                 // bytes, where each piece of a block's memory begins
constexpr int64_t kMostStoresEmulated = 20'000;  // emulated arithmetic takes 200 times as long

const Target& device_target() {
  static const Target target = Target::parse("cuda -arch=sm_90a").value_or_throw();
  return target;
}

bool available(const Compiled& oracle) {
  static const bool c = has_c_compiler();
  return c || oracle.name[0] != 'C';
}

bool asked(const Judges& judges, const std::string& oracle) {
  return judges.oracles.empty()
             ? oracle != kAArch64
             : std::find(judges.oracles.begin(), judges.oracles.end(), oracle) != judges.oracles.end();
}

class Clock {
 public:
  Clock(Usages& usages, const char* oracle, int64_t count) : usage_(usages[oracle]) { usage_.count += count; }
  ~Clock() { usage_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  Usage& usage_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

bool takes_part(const Sample& sample, int percent) { return static_cast<int>(sample.recipe.seed % 100) < percent; }

void interpret_all(Trial& t, const Judges& judges, Usages& usages) {
  for (const Interpreted& oracle : kInterpreted) {
    if (!oracle.always && (!takes_part(t.sample, oracle.percent) || !asked(judges, oracle.name))) continue;
    const Clock clock(usages, oracle.name, 1);
    std::string text;
    try {
      text = oracle.judge(t);
    } catch (const std::exception& e) {
      text = std::string("exception: ") + e.what();
    }
    if (text.empty()) continue;
    t.finding = {oracle.name, text};
    return;
  }
  if (t.left_out > 0) usages[kLeftOut].count += t.left_out;
}

// Together; where that fails, one by one, to see whose fault it is.
void compile_and_run(std::span<Trial*> trials, const Compiled& oracle) {
  std::vector<ir::Program> programs;
  for (const Trial* t : trials) programs.push_back(t->lowered);
  try {
    const Kernels kernels = oracle.compile(programs);
    for (size_t i = 0; i < trials.size(); ++i) {
      const std::string text = runs_alike(*trials[i], *kernels[i]);
      if (!text.empty()) trials[i]->finding = {oracle.name, text};
    }
  } catch (const std::exception& e) {
    if (trials.size() == 1)
      trials[0]->finding = {oracle.name, std::string("exception: ") + e.what()};
    else
      for (Trial*& t : trials) compile_and_run({&t, 1}, oracle);
  }
}

// The trial as it is for another CPU: lowered for it, and judged by the interpreter. Only short runs.
Trial trial_for(const Trial& t, const Target& target, const char* oracle) {
  Trial other = t;
  other.lowered = lower::run_pipeline(lower::passes_for(t.scheduled, lower::cpu_passes()), t.scheduled, target);
  std::string text = means_the_definition(other, other.lowered, {.max_steps = kMostStoresEmulated});
  if (text.empty()) text = lowered_wild(other);
  if (!text.empty()) other.finding = {oracle, "lowered: " + text};
  return other;
}

// One batch in four is made without optimization, the one of these seeds.
int level_for(const Trial& t) { return t.sample.recipe.seed / kEmulatedBatch % 4 == 0 ? 0 : 3; }

// All programs in one object, and all calls in one process.
void run_on(const EmulatedCpu& cpu, const Target& target, std::span<Trial> trials) {
  std::vector<ir::Program> programs;
  std::vector<std::vector<Call>> calls;
  std::vector<Job> jobs;
  for (const Trial& t : trials) {
    calls.push_back(calls_of(t));
    for (const Call& call : calls.back())
      jobs.push_back({"k" + std::to_string(programs.size()), arguments_of(t.sample), call.packed, call.scalars});
    programs.push_back(t.lowered);
  }
  const support::TemporaryFolder folder("tensorwright-fuzz");
  compile_for(target, programs, folder / "kernels.so", level_for(trials[0]));
  std::vector<Ran> results = run_emulated(cpu, folder / "kernels.so", std::move(jobs));
  for (size_t i = 0, job = 0; i < trials.size(); ++i)
    for (const Call& call : calls[i])
      if (const std::string text = judged(trials[i], call, std::move(results[job++]));
          !text.empty() && !trials[i].finding.wrong())
        trials[i].finding = {kAArch64, at_sizes(trials[i].sample, call.run.sizes) + text};
}

// Together; where that fails, one by one, to see whose fault it is.
void compile_and_run_on(const EmulatedCpu& cpu, const Target& target, std::span<Trial> trials) try {
  if (!trials.empty()) run_on(cpu, target, trials);
} catch (const std::exception& e) {
  if (trials.size() == 1)
    trials[0].finding = {kAArch64, std::string("exception: ") + e.what()};
  else
    for (Trial& t : trials) compile_and_run_on(cpu, target, {&t, 1});
}

void emulate(std::vector<Trial>& trials, const std::string& cpu_name, Usages& usages) {
  const auto& cpu = *std::find_if(emulated_cpus().begin(), emulated_cpus().end(),
                                  [&](const EmulatedCpu& c) { return c.name == cpu_name; });
  const Target target = Target::parse(cpu.target).value_or_throw();
  std::vector<Trial> there;
  std::vector<Trial*> here;
  for (Trial& t : trials) {
    if (t.finding.wrong() || t.runs.empty() || lower::holds_launch(t.lowered) || !ir::extern_symbols(t.lowered).empty())
      continue;
    Trial other = trial_for(t, target, kAArch64);
    t.finding = other.finding;
    if (t.finding.wrong() || other.runs.empty()) continue;
    there.push_back(std::move(other));
    here.push_back(&t);
  }
  const Clock clock(usages, kAArch64, static_cast<int64_t>(there.size()));
  compile_and_run_on(cpu, target, there);
  for (size_t i = 0; i < there.size(); ++i)
    if (there[i].finding.wrong()) here[i]->finding = {kAArch64, cpu_name + ": " + there[i].finding.text};
}

// The text that is made of a launch for a device, run on this machine, against the interpreter of what it was made of.
std::string text_runs_alike(const Trial& t, const tw::testing::CudaOnHost& text, const runtime::cuda::Plan& plan) {
  for (const Call& call : calls_of(t)) {
    if (call.run.refused) continue;  // by the host, which has no text
    std::vector<std::unique_ptr<runtime::GuardedBuffer>> buffers;
    std::vector<void*> arguments, scalars;
    for (size_t i = 0; i < call.packed.size(); ++i) {
      buffers.push_back(std::make_unique<runtime::GuardedBuffer>(call.packed[i].size(), i));
      buffers.back()->upload(call.packed[i].data());
      arguments.push_back(buffers.back()->address());
    }
    std::vector<uint64_t> values = call.scalars;
    for (uint64_t& value : values) scalars.push_back(&value);
    const bool backwards = &call.inputs == &call.run.wild;
    text.run(plan, arguments, scalars.data(),
             backwards ? tw::testing::ThreadOrder::kBackwards : tw::testing::ThreadOrder::kForwards);
    Ran ran;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const auto* data = static_cast<const std::byte*>(buffers[i]->contents());
      ran.memory.emplace_back(data, data + buffers[i]->bytes());
      if (const std::string damage = buffers[i]->damage(); !damage.empty())
        ran.damage = t.sample.args[i].name() + " was written " + damage;
    }
    const std::string found = judged(t, call, std::move(ran));
    if (!found.empty()) return at_sizes(t.sample, call.run.sizes) + found;
  }
  return "";
}

// Whether all of the program runs on a device: the host has no text there, a thread no memory of any size, and a block
// has so much.
bool suits_device(const ir::Program& program) {
  bool suits = lower::holds_launch(program) && ir::extern_symbols(program).empty();
  const auto of_host = [&](const ir::Stmt& s) {
    const auto* loop = ir::as<ir::For>(s);
    suits = suits && !ir::as<ir::Store>(s);
    return !loop || !ir::is_device_index(loop->kind);
  };
  const auto known = [](const ir::Expr& extent) { return ir::as_int(extent).has_value(); };
  int64_t shared = 0;
  const auto memory = [&](const ir::Stmt& s) {
    const auto* a = ir::as<ir::Allocate>(s);
    if (!a || a->buffer.scope() == ir::Scope::kGlobal) return true;
    suits = suits && std::ranges::all_of(a->buffer.shape(), known);
    int64_t elements = 1;
    for (const ir::Expr& extent : a->buffer.shape()) elements *= ir::as_int(extent).value_or(0);
    if (a->buffer.scope() == ir::Scope::kShared) shared += a->buffer.element().bytes_of(elements) + kAligned;
    return true;
  };
  ir::walk(program.body, of_host, {});
  ir::walk(program.body, memory, {});
  return suits && shared <= device_target().abilities.device->shared_bytes;
}

// Together; where that fails, one by one, to see whose fault it is.
void run_texts(std::span<Trial> trials) try {
  if (trials.empty()) return;
  std::vector<ir::Program> programs;
  for (const Trial& t : trials) {
    programs.push_back(t.lowered);
    programs.back().name += std::to_string(programs.size());
  }
  const codegen::CudaSource source = codegen::cuda_source(programs, device_target());
  const tw::testing::CudaOnHost text(source);
  for (size_t i = 0; i < trials.size(); ++i)
    if (const std::string found = text_runs_alike(trials[i], text, source.plans[i]); !found.empty())
      trials[i].finding = {kCudaHost, found};
} catch (const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  if (trials.size() == 1)
    trials[0].finding = {kCudaHost, "exception: " + (error ? error->diagnostic().render() : e.what())};
  else
    for (Trial& t : trials) run_texts({&t, 1});
}

void run_texts_of(std::vector<Trial>& trials, Usages& usages) {
  std::vector<Trial> there;
  std::vector<Trial*> here;
  for (Trial& t : trials) {
    if (t.finding.wrong() || t.runs.empty() || !suits_device(t.lowered)) continue;
    Trial other = trial_for(t, device_target(), kCudaHost);
    t.finding = other.finding;
    if (t.finding.wrong() || other.runs.empty()) continue;
    there.push_back(std::move(other));
    here.push_back(&t);
  }
  const Clock clock(usages, kCudaHost, static_cast<int64_t>(there.size()));
  run_texts(there);
  for (size_t i = 0; i < there.size(); ++i)
    if (there[i].finding.wrong()) here[i]->finding = there[i].finding;
}

}  // namespace

Judges on_aarch64() {
  Judges judges{{kAArch64}, {}};
  for (const EmulatedCpu& cpu : emulated_cpus()) judges.cpus.push_back(cpu.name);
  return judges;
}

std::vector<std::string> oracle_names(const Judges& judges) {
  std::vector<std::string> names;
  for (const Interpreted& oracle : kInterpreted)
    if (oracle.always || asked(judges, oracle.name)) names.push_back(oracle.name);
  for (const Compiled& oracle : kCompiled)
    if (available(oracle) && asked(judges, oracle.name)) names.push_back(oracle.name);
  if (has_c_compiler() && asked(judges, kCudaHost)) names.push_back(kCudaHost);
  if (asked(judges, kAArch64)) names.push_back(kAArch64);
  return names;
}

std::vector<std::string> all_oracle_names() {
  std::vector<std::string> names;
  for (const Interpreted& oracle : kInterpreted) names.push_back(oracle.name);
  for (const Compiled& oracle : kCompiled) names.push_back(oracle.name);
  names.push_back(kCudaHost);
  names.push_back(kAArch64);
  return names;
}

std::vector<Finding> check(std::span<const Sample> samples, const Judges& judges, Usages& usages) {
  std::vector<Trial> trials;
  for (const Sample& sample : samples) trials.push_back({sample, {}, {}, {}, {}, {}, {}, 0, {}});
  for (Trial& t : trials) interpret_all(t, judges, usages);
  for (const Compiled& oracle : kCompiled) {
    if (!available(oracle) || !asked(judges, oracle.name)) continue;
    std::vector<Trial*> chosen;
    for (Trial& t : trials)
      if (!t.finding.wrong() && takes_part(t.sample, oracle.percent) && !lower::holds_launch(t.lowered) &&
          oracle.suits(t.lowered))
        chosen.push_back(&t);
    if (chosen.empty()) continue;
    const Clock clock(usages, oracle.name, static_cast<int64_t>(chosen.size()));
    compile_and_run(chosen, oracle);
  }
  if (has_c_compiler() && asked(judges, kCudaHost)) run_texts_of(trials, usages);
  if (asked(judges, kAArch64) && !trials.empty())
    emulate(trials, judges.cpus[samples[0].recipe.seed / kEmulatedBatch % judges.cpus.size()], usages);
  std::vector<Finding> findings;
  for (Trial& t : trials) findings.push_back(t.finding);
  return findings;
}

Finding check(const Sample& sample, const Judges& judges) {
  Usages usages;
  return check({&sample, 1}, judges, usages).front();
}

std::string culprit(const Sample& sample) try {
  const auto schedule = schedule::Schedule::from_steps(sample.outputs, sample.steps).value_or_throw();
  ir::Program program = schedule::to_ir(schedule, sample.args, "kernel", sample.scalars).value_or_throw();
  Trial t{sample, {}, {}, schedule.nest().positive_sizes(), {}, {}, {}, 0, {}};
  if (!defined(t).empty()) return "the definition";
  t.packing = Packing(sample, schedule);
  const auto wrong = [&] {
    return !each_run(t, [&](Run& run) {
              const auto got = t.packing.run(program, run.inputs, run.sizes);
              if (run.refused) return not_refused(got);
              return got.ok() ? difference(sample, run.expected, *got) : got.error().render();
            }).empty();
  };
  if (wrong()) return "to_ir";
  for (const lower::Pass& pass : lower::passes_for(program, lower::cpu_passes())) {
    program = pass.function(program, Target::host());
    if (wrong()) return pass.name;
  }
  return "code generation";
} catch (const std::exception& e) {
  return std::string("an exception: ") + e.what();
}

}  // namespace tw::diff
