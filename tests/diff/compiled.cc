#include "tests/diff/compiled.h"

#include <cstring>

#include "codegen/c/backend.h"
#include "codegen/c/source.h"
#include "codegen/llvm/backend.h"
#include "src/runtime/guarded_buffer.h"
#include "tests/diff/fenced_memory.h"

namespace tw::diff {

namespace {

constexpr size_t kLongestText = 256 << 10;

Target c_target() {
  Target target = Target::host();
  target.kind = "c";
  return target;
}

}  // namespace

#if TW_LLVM
Kernels compile_llvm(const std::vector<ir::Program>& lowered, int opt_level) {
  return codegen::llvm_kernels(lowered, Target::host(), opt_level).value_or_throw();
}
#endif

bool has_c_compiler() { return codegen::has_c_compiler(); }

bool suits_c(const ir::Program& lowered) { return codegen::c_source({lowered}, c_target()).size() <= kLongestText; }

Kernels compile_c(const std::vector<ir::Program>& lowered, bool vectors) {
  return codegen::c_kernels(lowered, c_target(), 2, {vectors ? "-DTW_VECTORS=1" : "-DTW_VECTORS=0"}).value_or_throw();
}

namespace {

// What a kernel does to arrays that end where an untouchable page begins, or begin where one ends.
int32_t run_fenced(const runtime::Kernel& kernel, const Memory& inputs, std::vector<uint64_t>& scalars, bool at_end) {
  std::vector<std::unique_ptr<FencedMemory>> arrays;
  std::vector<void*> pointers;
  for (const auto& bytes : inputs) {
    arrays.push_back(std::make_unique<FencedMemory>(bytes, at_end));
    pointers.push_back(arrays.back()->data());
  }
  for (uint64_t& scalar : scalars) pointers.push_back(&scalar);
  return kernel.run(pointers.data());
}

}  // namespace

Ran run(const runtime::Kernel& kernel, const Sample& sample, const Memory& inputs, std::vector<uint64_t> scalars) {
  for (const bool at_end : {true, false}) run_fenced(kernel, inputs, scalars, at_end);
  std::vector<std::unique_ptr<runtime::GuardedBuffer>> buffers;
  std::vector<void*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers.push_back(std::make_unique<runtime::GuardedBuffer>(inputs[i].size(), i));
    buffers.back()->upload(inputs[i].data());
    pointers.push_back(buffers.back()->address());
  }
  for (uint64_t& scalar : scalars) pointers.push_back(&scalar);
  Ran ran;
  ran.code = kernel.run(pointers.data());
  if (ran.code != 0) ran.damage = "the kernel returned " + std::to_string(ran.code);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(buffers[i]->contents());
    ran.memory.emplace_back(data, data + buffers[i]->bytes());
    if (const std::string damage = buffers[i]->damage(); !damage.empty())
      ran.damage = sample.args[i].name() + " was written " + damage;
    if (sample.args[i].op()->is_placeholder() && ran.memory[i] != inputs[i])
      ran.damage = sample.args[i].name() + " is an input and was written";
  }
  return ran;
}

}  // namespace tw::diff
