// Makes the packed array that a kernel takes in the place of the one that was declared.

#include <cstdlib>
#include <new>

#include "src/runtime/extents.h"
#include "src/runtime/kernel.h"
#include "src/runtime/large_memory.h"

namespace tw::runtime {
namespace {

std::shared_ptr<std::byte> memory_of(size_t bytes) {
  auto* memory = static_cast<std::byte*>(large_memory(bytes).data);
  if (!memory) throw std::bad_alloc();
  return {memory, [](std::byte* p) { std::free(p); }};
}

}  // namespace

Packed pack(const Kernel& kernel, size_t argument, const ArrayView& array) {
  const std::vector<ArgSpec>& specs = kernel.args();
  TW_CHECK(argument < specs.size(), kernel.name() + " has no argument " + std::to_string(argument));
  const ArgSpec& spec = specs[argument];
  if (spec.written)
    throw Error(Diagnostic{
        ErrorKind::kArgument, kernel.name() + ": " + spec.name + " is an output, which nobody packs", {}, {}});
  const Kernel* packer = kernel.packer(argument);
  if (!packer && !spec.layout.empty() && array.layout != spec.layout)
    throw Error(Diagnostic{
        ErrorKind::kArgument, kernel.name() + ": was built without the kernel that packs " + spec.name, {}, {}});
  if (!packer || (!array.layout.empty() && array.layout == spec.layout)) return {nullptr, array};

  // The packed array's extents follow from the array's own.
  const BoundCall bound = bind_call(*packer, std::span(&array, 1), {}).value_or_throw();
  check_argument(*packer, 0, std::span(&array, 1), bound).value_or_throw();
  Packed packed;
  packed.memory = memory_of(bound.args[1].bytes());
  packed.view = {packed.memory.get(), spec.dtype, bound.args[1].shape, {}, true, spec.layout};
  ArrayView target = packed.view;
  target.read_only = false;
  target.layout.clear();
  call(*packer, std::vector{array, target});
  return packed;
}

}  // namespace tw::runtime
