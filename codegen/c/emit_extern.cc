// Calls of C functions that the context brings. A function that calls them declares them at its top, with their types:
//
//   float (*const tw_extern_scale)(float, const float*) = (float (*)(float, const float*))context->externs[0];
#include <algorithm>

#include "codegen/c/file_emitter.h"

namespace tw::codegen {

CText CFileEmitter::emit_extern(const ir::CallExtern& call, ir::Type type) {
  std::string types, values;
  for (const ir::Expr& arg : call.args) {
    const auto* address = ir::as<ir::Address>(arg);
    types += types.empty() ? "" : ", ";
    types +=
        address ? (address->written ? "" : "const ") + c_type(address->buffer.element()) + "*" : c_type(arg.type());
    values += (values.empty() ? "" : ", ") + (address ? "&" + access(address->buffer, address->at) : argument(arg));
  }
  if (types.empty()) types = "void";
  const std::string result = c_type(type),
                    place = std::to_string(
                        std::distance(externs_.begin(), std::find(externs_.begin(), externs_.end(), call.symbol)));
  const std::string base = "tw_extern_" + c_identifier(call.symbol);
  std::string name = base;
  const auto declared = [&] {
    return "  " + result + " (*const " + name + ")(" + types + ") = (" + result + " (*)(" + types +
           "))context->externs[" + place + "];";
  };
  auto& opening = frame_.externs;  // a symbol may be called with other types elsewhere
  for (int n = 1; opening.contains(name) && opening.at(name) != declared(); ++n) name = base + "_" + std::to_string(n);
  opening[name] = declared();
  return {name + "(" + values + ")"};
}

}  // namespace tw::codegen
