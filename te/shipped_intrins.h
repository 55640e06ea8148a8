// The tensor intrinsics that are there from the start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorwright/tensor_intrin.h"

namespace tw::te {

std::vector<TensorIntrin> shipped_intrins();
// Tiles of fewer terms, of which there are too many to make them all: amx.bf16.k1, amx.u8s8.m14.k12. None: of another
// name.
std::optional<TensorIntrin> shipped_tile_of_fewer_terms(const std::string& key);

}  // namespace tw::te
