#include "tensorwright/ir.h"
namespace tw::ir {
std::string to_string(const Expr&) { return "expr"; }
std::string to_string(const Stmt&) { return "stmt"; }
std::string to_string(const Program&) { return "program"; }
}  // namespace tw::ir
