#include "codegen/c_parameters.h"

#include <set>

#include "src/ir/argument_order.h"

namespace tw::codegen {

const char* c_type_of(ir::Type type) {
  switch (type.code) {
    case ir::TypeCode::kBool:
      return "uint8_t";
    case ir::TypeCode::kInt:
    case ir::TypeCode::kIndex:
      if (type.is_packed()) return "uint8_t";
      return type.bits == 8 ? "int8_t" : type.bits == 16 ? "int16_t" : type.bits == 32 ? "int32_t" : "int64_t";
    case ir::TypeCode::kUInt:
      return type.bits <= 8 ? "uint8_t" : type.bits == 16 ? "uint16_t" : type.bits == 32 ? "uint32_t" : "uint64_t";
    case ir::TypeCode::kFloat:
      return type.bits == 16 ? "uint16_t" : type.bits == 32 ? "float" : "double";
    case ir::TypeCode::kBFloat:
      return "uint16_t";
    case ir::TypeCode::kE4M3:
    case ir::TypeCode::kE5M2:
      return "uint8_t";
    case ir::TypeCode::kHandle:
      break;
  }
  return "void";
}

std::vector<std::string> c_names(const ir::Program& program) {
  std::set<std::string> used;
  std::vector<std::string> names;
  const auto add = [&](const std::string& given) {
    std::string name = "p_";
    for (char c : given) name += isalnum(static_cast<unsigned char>(c)) ? c : '_';
    std::string unique = name;
    for (int i = 1; !used.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
    names.push_back(unique);
  };
  for (const ir::Param& param : program.params) add(param.buffer.name());
  for (const ir::Var& scalar : program.scalars) add(scalar.name());
  return names;
}

std::vector<std::string> c_arguments(const ir::Program& program, const std::vector<std::string>& names) {
  std::vector<std::string> arguments;
  for (const size_t at : ir::argument_order(program)) arguments.push_back(names[at]);
  return arguments;
}

std::string c_parameters(const ir::Program& program, const std::vector<std::string>& names) {
  std::string text;
  for (const size_t at : ir::argument_order(program)) {
    text += text.empty() ? "" : ", ";
    if (at < program.params.size())
      text += std::string(program.params[at].written ? "" : "const ") +
              c_type_of(program.params[at].outside().element()) + "* " + names[at];
    else
      text += std::string(c_type_of(program.scalars[at - program.params.size()].type())) + " " + names[at];
  }
  return text.empty() ? "void" : text;
}

ir::Expr span_in_bytes(const ir::Buffer& buffer) {
  ir::Expr elements(1);
  for (size_t d = 0; d < buffer.rank(); ++d)
    elements = buffer.strides().empty() ? elements * buffer.shape()[d]
                                        : elements + (buffer.shape()[d] - ir::Expr(1)) * buffer.strides()[d];
  constexpr int kByte = 8;
  const ir::Type element = buffer.element();
  if (!element.is_packed()) return elements * ir::Expr(int64_t{element.bytes()});
  return ir::floordiv(elements * ir::Expr(int{element.bits}) + ir::Expr(kByte - 1), ir::Expr(kByte));
}

std::string shape_text(const ir::Buffer& buffer) {
  std::string text = to_string(buffer.element()) + "[";
  for (size_t d = 0; d < buffer.rank(); ++d) text += (d ? ", " : "") + ir::to_string(buffer.shape()[d]);
  return text + "]";
}

}  // namespace tw::codegen
