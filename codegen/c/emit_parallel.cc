// Parallel loops.
//
//   for i in 0..n parallel:          a struct of every variable and buffer that the body uses
//     body(i)                ==>     context->parallel_for(context, n, body_function, &struct)
//                                    body_function(begin, end, struct): for i in begin..end: body(i)
//
// A code other than 0 ends the kernel with it.
#include <utility>

#include "codegen/c/file_emitter.h"
#include "src/ir/walk.h"

namespace tw::codegen {

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

std::string CFileEmitter::pointer(const ir::Buffer& buffer) const {
  return (written_.contains(buffer.id()) ? "" : "const ") + c_type(buffer.element()) + "*";
}

void CFileEmitter::emit_parallel(const ir::For& loop) {
  std::vector<ir::Var> vars = ir::free_vars(loop.body);  // its range it is told
  std::erase_if(vars, [&](const ir::Var& var) { return var.id() == loop.var.id(); });
  const std::vector<ir::Buffer> buffers = ir::free_buffers(loop.body);
  begin_statement({loop.extent});
  const std::string extent = emit(loop.extent).text;
  const std::string function = function_names_.symbol(kernel_name_ + "_parallel_" + c_identifier(loop.var.name()));

  std::string fields = "  const struct tw_context* context;\n", values = "context";
  std::vector<std::string> opening;
  for (const ir::Var& var : vars) {
    const std::string type = c_type(var.type()), name = names_.of(var.id());
    fields += "  " + type + " " + name + ";\n";
    opening.push_back("  const " + type + " " + name + " = captured->" + name + ";");
    values += ", " + name;
  }
  for (const ir::Buffer& buffer : buffers) {
    const std::string type = pointer(buffer), name = names_.of(buffer.id());
    fields += "  " + type + " " + name + ";\n";
    opening.push_back("  " + type + " restrict " + name + " = captured->" + name + ";");
    values += ", " + name;
  }
  const std::string closure = names_.fresh("closure_of_" + loop.var.name());
  line("struct " + function + " " + closure + " = {" + values + "};");
  const std::string code = names_.fresh("code_of_" + loop.var.name());
  line("const int32_t " + code + " = context->parallel_for(context, " + extent + ", " + function + ", &" + closure +
       ");");
  leave_if(code + " != 0", code);
  emit_parallel_body(loop, function, fields, opening);
}

void CFileEmitter::emit_parallel_body(const ir::For& loop, const std::string& function, const std::string& fields,
                                      const std::vector<std::string>& opening) {
  std::vector<std::string> outer_lines = std::exchange(lines_, {});
  const int outer_indent = std::exchange(indent_, 1);
  const Frame outer = std::exchange(frame_, Frame{});
  frame_.in_parallel = true;
  emit_counted_loop("begin", "end", loop);
  const std::string body = joined(lines_);
  std::string head = "struct " + function + " {\n" + fields + "};\n\n";
  head += "static int32_t " + function + "(int64_t begin, int64_t end, void* closure) {\n";
  head += "  const struct " + function + "* captured = closure;\n";
  if (body.find("context") != std::string::npos || !frame_.externs.empty())
    head += "  const struct tw_context* context = captured->context;\n";
  std::vector<std::string> declared;
  for (const auto& [name, declaration] : frame_.externs) declared.push_back(declaration);
  functions_ += head + joined(opening) + joined(declared) + body + "  return 0;\n}\n\n";
  lines_ = std::move(outer_lines);
  indent_ = outer_indent;
  frame_ = outer;
}

}  // namespace tw::codegen
