// How te refuses: a user error with the reason and the way out.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::te {

[[noreturn]] inline void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes = {},
                                SourceLine where = {}) {
  throw Error(Diagnostic{kind, std::move(what), std::move(where), std::move(notes)});
}

// An expression for a message: cut where it gets long.
std::string short_text(const ir::Expr&);

}  // namespace tw::te
