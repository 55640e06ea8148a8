// What the binding files share: one function per file that module.cc calls, how Python values become expressions, and
// where the user's program stands.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "tensorwright/error.h"
#include "tensorwright/te.h"

namespace tw::bind {

void bind_errors(pybind11::module_&);
void bind_te(pybind11::module_&);
void bind_statements(pybind11::module_&);
void bind_tiles(pybind11::module_&);
void bind_ops(pybind11::module_&);
void bind_ops_nn(pybind11::module_&);
void bind_runtime(pybind11::module_&);
void bind_build(pybind11::module_&);
void bind_logs(pybind11::module_&);
void bind_aot(pybind11::module_&);
void bind_rpc(pybind11::module_&);

// The innermost Python frame outside the package, without its text; unknown when no Python program is running.
SourceLine user_line();

// Throws the error, which says user_line() where nobody else knows a line.
[[noreturn]] void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes = {});

// An expression, a variable, an axis, a number of Python or NumPy, or a tensor of rank 0. Everything else is refused
// with an error that names `role`.
ir::Expr to_expr(pybind11::handle value, const char* role = "an operand");

}  // namespace tw::bind

void bind_schedule(pybind11::module_&);
void bind_explain(pybind11::module_&);
void bind_autotune(pybind11::module_&);
void bind_packs(pybind11::module_&);
