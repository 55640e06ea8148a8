#include "tests/diff/compiled.h"

#include <cstring>

#include "src/runtime/guarded_buffer.h"
#include "tensorwright/build.h"

namespace tw::diff {

Kernels compile_llvm(std::span<const ir::Program> lowered, int opt_level) {
  Kernels kernels;
  for (const ir::Program& program : lowered) kernels.push_back(build(program, Target::host(), opt_level)->kernel());
  return kernels;
}

Ran run(const runtime::Kernel& kernel, const Sample& sample, const Memory& inputs) {
  std::vector<std::unique_ptr<runtime::GuardedBuffer>> buffers;
  std::vector<void*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers.push_back(std::make_unique<runtime::GuardedBuffer>(inputs[i].size(), i));
    buffers.back()->fill(inputs[i].data());
    pointers.push_back(buffers.back()->data());
  }
  Ran ran;
  if (const int32_t code = kernel.run(pointers.data()); code != 0)
    ran.damage = "the kernel returned " + std::to_string(code);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(buffers[i]->data());
    ran.memory.emplace_back(data, data + buffers[i]->bytes());
    if (const std::string damage = buffers[i]->damage(); !damage.empty())
      ran.damage = sample.args[i].name() + " was written " + damage;
    if (sample.args[i].op()->is_placeholder() && ran.memory[i] != inputs[i])
      ran.damage = sample.args[i].name() + " is an input and was written";
  }
  return ran;
}

}  // namespace tw::diff
