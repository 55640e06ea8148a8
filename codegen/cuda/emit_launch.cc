// One launch: the function that its threads run, and what the host needs to know of it.
#include <algorithm>

#include "codegen/c/lanes.h"
#include "codegen/cuda/emitter.h"
#include "codegen/cuda/wide.h"
#include "codegen/scratch.h"
#include "src/ir/scalars.h"
#include "src/ir/walk.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

using ir::Expr;
using ir::ForKind;
using runtime::cuda::Formula;
using runtime::cuda::OperandKind;

namespace {

constexpr int64_t kMostDeclared = 48 << 10;  // bytes of shared memory that a function may declare; more is asked for
constexpr int kAligned = 16;

constexpr ForKind kBlocks[] = {ForKind::kBlockX, ForKind::kBlockY, ForKind::kBlockZ},
                  kThreads[] = {ForKind::kThreadX, ForKind::kThreadY, ForKind::kThreadZ};

std::unordered_set<uint64_t> written_in(const ir::Stmt& body) {
  std::unordered_set<uint64_t> written;
  ir::walk(body, [&](const ir::Stmt& s) {
    if (const auto* store = ir::as<ir::Store>(s)) written.insert(store->buffer.id());
    return true;
  });
  return written;
}

// Buffers that threads touch themselves.
std::unordered_set<uint64_t> touched_in(const ir::Stmt& body) {
  std::unordered_set<uint64_t> touched;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* store = ir::as<ir::Store>(s)) touched.insert(store->buffer.id());
        return !ir::is_async(s);
      },
      [&](const Expr& e) {
        if (const auto* load = ir::as<ir::Load>(e)) touched.insert(load->buffer.id());
        if (const auto* address = ir::as<ir::Address>(e)) touched.insert(address->buffer.id());
        return true;
      });
  return touched;
}

std::string sizes_text(const DeviceLaunch& launch, const ForKind (&kinds)[3]) {
  std::string text;
  for (const ForKind kind : kinds) text += (text.empty() ? "" : ", ") + ir::to_string(launch.extent(kind));
  return text;
}

// Sizes that share a part are text of several lines.
std::string as_comment(const std::string& text) {
  std::string out = "// ";
  for (const char c : text) out += c == '\n' ? std::string("\n// ") : std::string(1, c);
  return out + "\n";
}

// The number of threads, where it is known.
int64_t threads_of(const DeviceLaunch& launch, int64_t most) {
  int64_t threads = 1;
  for (const ForKind kind : kThreads) threads *= ir::as_int(launch.extent(kind)).value_or(most);
  return std::min(threads, most);
}

std::string function_index(ForKind kind) {
  return std::string(is_block(kind) ? "blockIdx." : "threadIdx.") + "xyz"[dimension_of(kind)];
}

}  // namespace

void CudaEmitter::plan_sizes(const ir::Program& program, const DeviceLaunch& launch, runtime::cuda::Launch& out) {
  const auto formula = [&](const Expr& e) { return Formula::of(e, program.scalars).value_or_throw(); };
  out.when = formula(launch.when);
  for (size_t d = 0; d < 3; ++d) {
    out.grid[d] = formula(launch.extent(kBlocks[d]));
    out.block[d] = formula(launch.extent(kThreads[d]));
  }
}

// Beyond what a function may declare, and where several blocks have to have them in one place, the buffers are parts of
// one block, in which each begins at a multiple of 16.
void CudaEmitter::plan_shared(const ir::Program& program, const ir::Stmt& body, runtime::cuda::Launch& out) {
  std::vector<std::pair<uint64_t, int64_t>> begins;
  int64_t bytes = 0;
  std::string of_each;
  ir::walk(body, [&](const ir::Stmt& s) {
    const auto* alloc = ir::as<ir::Allocate>(s);
    if (!alloc || alloc->buffer.scope() != ir::Scope::kShared) return true;
    const int64_t aligned = alignment_of(alloc->buffer);
    bytes = (bytes + aligned - 1) / aligned * aligned;
    begins.emplace_back(alloc->buffer.id(), bytes);
    const int64_t size = known_elements(alloc->buffer).value_or(0) * alloc->buffer.element().bytes();
    bytes += (size + kAligned - 1) / kAligned * kAligned;
    of_each += (of_each.empty() ? "" : ", ") + alloc->buffer.name() + " " + std::to_string(size);
    return true;
  });
  const int64_t most = target_.abilities.device->shared_bytes;
  if (bytes > most)
    throw Error({ErrorKind::kSchedule,
                 "build: " + program.name + ": a block must have at most " + std::to_string(most) +
                     " bytes of shared memory on " + target_.arch + ", not " + std::to_string(bytes),
                 {},
                 {"bytes of each: " + of_each, "make the tiles in shared memory smaller"}});
  in_block_.clear();
  if (bytes <= kMostDeclared && in_cluster_ == 1) return;
  out.shared_bytes = bytes;
  in_block_ = {begins.begin(), begins.end()};
}

std::string CudaEmitter::parameters(const ir::Program& program, const ir::Stmt& body, runtime::cuda::Launch& out) {
  const std::unordered_set<uint64_t> written = written_in(body);
  const std::vector<ir::Buffer> used = ir::free_buffers(body);
  std::unordered_set<uint64_t> touched = touched_in(body);
  std::vector<char> given(maps_.size(), false);
  std::string text;
  const auto add = [&](const std::string& parameter, OperandKind kind, size_t number) {
    text += (text.empty() ? "" : ", ") + parameter;
    out.operands.push_back({kind, number});
  };
  const auto add_buffer = [&](const ir::Buffer& buffer, OperandKind kind, size_t number) {
    declare_elements(buffer);
    if (std::find(used.begin(), used.end(), buffer) == used.end()) return;
    if (!touched.contains(buffer.id())) {  // its map stands in its place
      const auto map = std::ranges::find_if(maps_, [&](const Boxes& b) { return b.load.from.buffer == buffer; });
      const auto n = static_cast<size_t>(map - maps_.begin());
      given[n] = true;
      return add(map_parameter(n), OperandKind::kMap, n);
    }
    add((written.contains(buffer.id()) ? "" : "const ") + c_type(buffer.element()) + "* __restrict__ " +
            names_.bind(buffer.id(), buffer.name()),
        kind, number);
  };
  for (size_t i = 0; i < program.params.size(); ++i) add_buffer(program.params[i].buffer, OperandKind::kArgument, i);
  for (size_t i = 0; i < scratch_.size(); ++i) add_buffer(scratch_[i], OperandKind::kScratch, i);
  for (size_t s = 0; s < program.scalars.size(); ++s) {
    const ir::Var& var = program.scalars[s];
    const std::string name = names_.bind(var.id(), var.name());
    if (ir::uses_var(body, var)) add(c_type(var.type()) + " " + name, OperandKind::kScalar, s);
  }
  for (size_t n = 0; n < maps_.size(); ++n)
    if (!given[n]) add(map_parameter(n), OperandKind::kMap, n);
  return text;
}

ir::Program CudaEmitter::meaning_of(const ir::Program& program, const DeviceLaunch& launch,
                                    const runtime::cuda::Launch& planned) const {
  const std::unordered_set<uint64_t> written = written_in(launch.body);
  std::vector<ir::Param> arrays;
  std::vector<ir::Var> scalars;
  for (runtime::cuda::Operand operand : planned.operands) {
    if (operand.kind == OperandKind::kMap) {
      operand = planned.maps[operand.number].of;
      const ir::Buffer& array =
          operand.kind == OperandKind::kArgument ? program.params[operand.number].buffer : scratch_[operand.number];
      if (std::ranges::any_of(arrays, [&](const ir::Param& p) { return p.buffer == array; })) continue;
    }
    if (operand.kind == OperandKind::kScalar) {
      scalars.push_back(program.scalars[operand.number]);
      continue;
    }
    const ir::Buffer& buffer =
        operand.kind == OperandKind::kArgument ? program.params[operand.number].buffer : scratch_[operand.number];
    arrays.emplace_back(buffer, written.contains(buffer.id()));
  }
  return launch_program(launch, planned.symbol, arrays, scalars);
}

void CudaEmitter::bind_axes(const DeviceLaunch& launch) {
  for (const ir::For& axis : launch.axes) {
    bound_loop(axis);
    const std::string name = names_.bind(axis.var.id(), axis.var.name());
    int_vars_.insert(axis.var.id());
    if (ir::uses_var(launch.body, axis.var)) line("const int " + name + " = " + function_index(axis.kind) + ";");
  }
}

void CudaEmitter::emit_launch(const ir::Program& program, const DeviceLaunch& launch) {
  runtime::cuda::Plan& plan = plans_.back();
  runtime::cuda::Launch out;
  out.symbol = runtime::kernel_symbol(program.name) + "_" + std::to_string(plan.launches.size());
  plan_sizes(program, launch, out);
  ir::Program one = program;
  one.body = launch.within_lets(wide_accesses(launch.body));
  for (size_t i = 0; i < program.params.size(); ++i)
    plan.alignment[i] = std::max(plan.alignment[i], argument_alignment(one.body, program.params[i].buffer));
  one = lanes_as_loops(one, is_wide_copy);
  vectors_ = nameless_ = vectors_in(one.body);

  lines_.clear();
  indent_ = 1;
  const CNames::Block block(names_);
  names_.fresh("shared_memory");
  const auto cluster = std::ranges::find_if(launch.axes, [](const ir::For& f) { return ir::is_cluster(f.kind); });
  in_cluster_ = cluster == launch.axes.end() ? 1 : ir::as_int(cluster->extent).value_or(1);
  plan_boxes(program, launch, one.body, out);
  plan_group_operands(program, one.body);
  plan_shared(program, one.body, out);
  const std::string head = parameters(program, one.body, out);
  const int64_t threads = threads_of(launch, target_.abilities.device->threads);
  for (const auto& [buffer, multiple] : boxes_) shared_alignment_ = std::max(shared_alignment_, multiple);
  if (out.shared_bytes > 0) line(kSharedMemory);
  bind_axes(launch);
  emit(one.body);

  out.stages = stages_of(launch.nest());
  functions_of_plans_.push_back(meaning_of(program, launch, out));
  std::vector<std::string> body = std::exchange(lines_, {});
  indent_ = 0;
  const std::string bounds = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ", " +
                             std::to_string(blocks_at_once(one.body, threads, out.shared_bytes, target_)) + ") ";
  if (in_cluster_ > 1) {
    int64_t blocks[] = {1, 1, 1};
    blocks[ir::dimension_of(cluster->kind)] = in_cluster_;
    line(bounds + "__cluster_dims__(" + std::to_string(blocks[0]) + ", " + std::to_string(blocks[1]) + ", " +
         std::to_string(blocks[2]) + ")");
    line(out.symbol + "(" + head + ") {");
  } else {
    line(bounds + out.symbol + "(" + head + ") {");
  }
  functions_ += "\n" + as_comment(out.stages + ": grid (" + sizes_text(launch, kBlocks) + "), block (" +
                                  sizes_text(launch, kThreads) + ")");
  for (const std::string& text : lines_) functions_ += text + "\n";
  for (const std::string& text : body) functions_ += text + "\n";
  functions_ += "}\n";
  plan.launches.push_back(std::move(out));
}

void CudaEmitter::emit_program(const ir::Program& program) {
  const DeviceProgram device = device_program(program, target_);
  runtime::cuda::Plan plan;
  plan.kernel = program.name;
  for (const ir::Var& var : program.scalars) plan.scalars.push_back(var.type());
  for (const ir::Buffer& scratch : device.scratch) {
    Expr bytes(scratch.element().bytes());
    for (const Expr& extent : scratch.shape()) bytes = bytes * ir::max(extent, Expr(0));
    plan.scratch.push_back(Formula::of(bytes, program.scalars).value_or_throw());
  }
  plan.alignment.assign(program.params.size(), 1);
  plans_.push_back(std::move(plan));
  scratch_ = device.scratch;
  for (const auto& [id, range] : ir::scalar_bounds(program)) bounds_[id] = range;
  for (const DeviceLaunch& launch : device.launches) emit_launch(program, launch);
}

}  // namespace tw::codegen
