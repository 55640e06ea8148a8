// Of the bytes of all arguments the outputs alone, one after the other, as references travel.
#pragma once

#include <optional>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::rpc {

Blob outputs_of(const std::vector<runtime::ArgSpec>&, const Blob& arguments);

// The bytes of all arguments, inputs as zeros; nothing where the outputs have another size.
std::optional<Blob> arguments_with(const std::vector<runtime::ArgSpec>&, const Blob& outputs);

}  // namespace tw::rpc
