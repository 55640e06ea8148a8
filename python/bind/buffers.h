// Buffers as statements in Python see them: what te.decl_buffer declares, elements and their addresses.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "tensorwright/tensor_intrin.h"

namespace tw::bind {

std::vector<ir::Expr> to_shape(pybind11::handle list);

// What te.decl_buffer has said of it besides its shape.
te::TileBuffer tile_of(const pybind11::object& buffer);

// The address of the first element; of a buffer with an elem_offset of the memory that it is a part of. Whether it is
// read from or written to is decided where the statement is: of an input the one, of an output the other.
ir::Expr data_of(const pybind11::object& buffer);

// In elements, of a compact buffer too.
std::vector<ir::Expr> strides_of(const ir::Buffer&);
bool is_compact(const ir::Buffer&);

void bind_buffers(pybind11::module_&);

}  // namespace tw::bind
