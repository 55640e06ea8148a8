// Whether the CPU that a C program runs on has what a kernel's code needs, asked by the program itself: the tables of
// src/target as C text. Of a kernel for GPUs the question is the device of whoever calls.
//
// A kernel with products of tiles needs their registers too, which a system gives to a process that asks.
#pragma once

#include <string>

#include "tensorwright/target.h"

namespace tw::codegen {

// A C expression over the functions below; empty for code that any CPU of its compiler's runs, as that of target c.
std::string cpu_condition(const Target& target, bool tiles);

// Those functions, self-contained, for all targets of the architecture. What launches kernels of a device is code for
// `host`.
std::string cpu_functions(const Target& target, const std::string& host);

}  // namespace tw::codegen
