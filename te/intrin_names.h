// Names of tensor intrinsics.
#pragma once

#include <cstdint>
#include <string>

namespace tw::te {

// A key (tensor_intrin.h) as people read it: the name alone, where that means the same intrinsic.
std::string readable_intrin(const std::string& key);
// Of a tile of rows and groups of terms: "amx.u8s8" with 14 and 12 is "amx.u8s8.m14.k12", with all 16 of both itself.
std::string tile_intrin(const std::string& whole, int64_t rows, int64_t groups);

}  // namespace tw::te
