#include "schedule/check_launch_memory.h"

#include <algorithm>

#include "schedule/placement.h"
#include "schedule/refuse.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

constexpr int64_t kMostSharedBytes = 232'448;  // of a block of the device that has most

// What a block shares, and the first memory in it whose size is no number.
struct Memory {
  int64_t shared_bytes = 0, largest = 0;
  std::string unknown, of_largest, shared_by;
};

Memory memory_of(const ir::Stmt& launch) {
  Memory memory;
  ir::walk(launch, [&](const ir::Stmt& s) {
    const auto* alloc = ir::as<ir::Allocate>(s);
    if (alloc == nullptr) return true;
    const ir::Buffer& buffer = alloc->buffer;
    int64_t elements = 1;
    for (const ir::Expr& extent : buffer.shape()) {
      if (!ir::as_int(extent) && memory.unknown.empty()) memory.unknown = buffer.name();
      elements *= ir::as_int(extent).value_or(1);
    }
    if (const auto row = buffer.strides().empty() ? std::nullopt : ir::as_int(buffer.strides()[0]))
      elements = *row * ir::as_int(buffer.shape()[0]).value_or(1);
    if (buffer.scope() != Scope::kShared) return true;
    const int64_t bytes = elements * buffer.element().bytes();
    memory.shared_bytes += bytes;
    memory.shared_by += (memory.shared_by.empty() ? "" : ", ") + buffer.name() + " " + std::to_string(bytes);
    if (bytes > memory.largest) memory.largest = bytes, memory.of_largest = buffer.name();
    return true;
  });
  return memory;
}

// The last Step that says where the stage is computed, else the last one about it.
int step_that_places(const std::string& stage, const std::vector<Step>& steps) {
  int about = -1, places = -1;
  for (size_t i = 0; i < steps.size(); ++i)
    std::visit(
        [&](const auto& kind) {
          if constexpr (requires { kind.stage; })
            if (kind.stage == stage) about = static_cast<int>(i);
          if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, ComputeAt>)
            if (kind.stage == stage) places = static_cast<int>(i);
        },
        steps[i].kind);
  return places < 0 ? about : places;
}

// Of the stage that takes most of it, of which a launch has too much.
Diagnostic too_much(const Memory& memory, const std::vector<Step>& steps) {
  const int step = step_that_places(memory.of_largest, steps);
  const char* name =
      step < 0 ? SetScope::kName : std::visit([](const auto& kind) { return kind.kName; }, steps[step].kind);
  return blame(refuse(name, "the stages of a launch must share at most " + std::to_string(kMostSharedBytes) +
                                " bytes, not " + std::to_string(memory.shared_bytes))
                   << "bytes of each: " + memory.shared_by
                   << "compute smaller tiles: split further, compute_at an inner loop, or pipeline fewer stages",
               steps, step);
}

}  // namespace

Status check_launch_memory(const ir::Stmt& body, const std::vector<Step>& steps) {
  Status fits = Unit{};
  ir::walk(body, [&](const ir::Stmt& s) {
    const auto* loop = ir::as<ir::For>(s);
    if (loop == nullptr || !ir::is_device_index(loop->kind)) return true;
    const Memory memory = memory_of(s);
    if (!memory.unknown.empty())
      fits = refuse(SetScope::kName, "memory of a block and of its threads must have a known size, and that of " +
                                         memory.unknown + " depends on scalars")
             << "split the loops by constants, so that a block's part has a size, or compute it at root";
    else if (memory.shared_bytes > kMostSharedBytes)
      fits = too_much(memory, steps);
    return false;
  });
  return fits;
}

}  // namespace tw::schedule
