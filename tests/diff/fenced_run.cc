#include "tests/diff/fenced_run.h"

#include <memory>

#include "src/runtime/guarded_buffer.h"
#include "tests/diff/fenced_memory.h"

namespace tw::diff {

namespace {

// What a kernel does to arrays that end where an untouchable page begins, or begin where one ends.
void run_between_pages(const runtime::Kernel& kernel, const Memory& inputs, std::vector<uint64_t>& scalars,
                       bool at_end) {
  std::vector<std::unique_ptr<FencedMemory>> arrays;
  std::vector<void*> pointers;
  for (const auto& bytes : inputs) {
    arrays.push_back(std::make_unique<FencedMemory>(bytes, at_end));
    pointers.push_back(arrays.back()->data());
  }
  for (uint64_t& scalar : scalars) pointers.push_back(&scalar);
  kernel.run(pointers.data());
}

}  // namespace

Ran run_fenced(const runtime::Kernel& kernel, std::span<const Argument> arguments, const Memory& inputs,
               std::vector<uint64_t> scalars) {
  for (const bool at_end : {true, false}) run_between_pages(kernel, inputs, scalars, at_end);
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
      ran.damage = arguments[i].name + " was written " + damage;
    if (arguments[i].is_input && ran.memory[i] != inputs[i])
      ran.damage = arguments[i].name + " is an input and was written";
  }
  return ran;
}

}  // namespace tw::diff
