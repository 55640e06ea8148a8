// The text that is made of launches for a device, compiled by the system's compiler and run here.
#include <algorithm>

#include "codegen/cuda/source.h"
#include "src/ir/externs.h"
#include "src/ir/walk.h"
#include "src/lower/launches.h"
#include "src/runtime/guarded_buffer.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/diff/trial.h"
#include "tests/unit/device.h"

namespace tw::diff {

namespace {

constexpr int64_t kAligned = 16;  // bytes, where each piece of a block's memory begins

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
  return suits && shared <= test::device().abilities.device->shared_bytes;
}

// Together; where that fails, one by one, to see whose fault it is.
void run_texts(std::span<Trial> trials) try {
  if (trials.empty()) return;
  std::vector<ir::Program> programs;
  for (const Trial& t : trials) {
    programs.push_back(t.lowered);
    programs.back().name += std::to_string(programs.size());
  }
  const codegen::CudaSource source = codegen::cuda_source(programs, test::device());
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

}  // namespace

void run_texts_of(std::vector<Trial>& trials, Usages& usages) {
  std::vector<Trial> there;
  std::vector<Trial*> here;
  for (Trial& t : trials) {
    if (t.finding.wrong() || t.runs.empty() || !suits_device(t.lowered)) continue;
    Trial other = trial_for(t, test::device(), kCudaHost);
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

}  // namespace tw::diff
