// The bytes of a kernel's arguments in one blob.
#pragma once

#include <vector>

#include "src/runtime/blob.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// Where each argument begins: one after the other, each at a multiple of 64 bytes. One more entry: the size of the
// blob.
std::vector<size_t> argument_offsets(const std::vector<ArgSpec>&);

// data[i] points to bytes() bytes of argument i. Throws tw::Error when there is no memory.
Blob arguments_blob(const std::vector<ArgSpec>&, const std::vector<const void*>& data);

}  // namespace tw::runtime
