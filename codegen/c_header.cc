#include "codegen/c_header.h"

#include <set>
#include <sstream>

#include "src/ir/externs.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

namespace {

const char* const kAbiText =
#include "kernel_abi_text.inc"
    ;

const char* const kDefaultContext = R"(
#ifndef TENSORWRIGHT_DEFAULT_CONTEXT
#define TENSORWRIGHT_DEFAULT_CONTEXT
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
static int32_t tw_default_parallel_for(const tw_context* self, int64_t n, tw_parallel_body body, void* closure) {
#ifdef _OPENMP
  int32_t code = 0;
  (void)self;
#pragma omp parallel
  {
    const int64_t count = omp_get_num_threads(), i = omp_get_thread_num();
    const int64_t each = n / count, more = n % count;
    const int64_t begin = i * each + (i < more ? i : more), end = begin + each + (i < more);
    const int32_t mine = begin < end ? body(begin, end, closure) : 0;
    if (mine != 0) {
#pragma omp critical
      code = mine;
    }
  }
  return code;
#else
  (void)self;
  return n > 0 ? body(0, n, closure) : 0;
#endif
}
static void* tw_default_alloc(const tw_context* self, size_t bytes) {
  char* whole = (char*)malloc(bytes + 128);
  (void)self;
  if (whole == NULL) return NULL;
  char* aligned = (char*)(((uintptr_t)whole + 128) & ~(uintptr_t)63);
  ((void**)aligned)[-1] = whole;
  return aligned;
}
static void tw_default_release(const tw_context* self, void* memory) {
  (void)self;
  free(((void**)memory)[-1]);
}
static inline tw_context tw_default_context(void) {
  tw_context context;
  context.size = sizeof(tw_context);
  context.version = TW_ABI_VERSION;
  context.parallel_for = tw_default_parallel_for;
  context.alloc = tw_default_alloc;
  context.release = tw_default_release;
  context.state = NULL;
  context.externs = NULL;
  return context;
}
#endif
)";

const char* c_type(ir::Type type) {
  switch (type.code) {
    case ir::TypeCode::kBool:
      return "uint8_t";
    case ir::TypeCode::kInt:
    case ir::TypeCode::kIndex:
      return type.bits == 8 ? "int8_t" : type.bits == 16 ? "int16_t" : type.bits == 32 ? "int32_t" : "int64_t";
    case ir::TypeCode::kUInt:
      return type.bits == 8 ? "uint8_t" : type.bits == 16 ? "uint16_t" : type.bits == 32 ? "uint32_t" : "uint64_t";
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

// Names for C: one each, no keyword, no clash with the wrapper's own. First of the parameters, then of the scalars.
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

// The wrapper's parameters: arrays and scalars in the order of the argument list, then the extents that shapes give.
std::string c_parameters(const ir::Program& program, const std::vector<std::string>& names) {
  std::string text;
  size_t scalar = 0;
  const auto add_scalars = [&](size_t params, bool all) {
    for (; scalar < program.scalars.size(); ++scalar) {
      const bool placed = scalar < program.places.size() && program.places[scalar] <= static_cast<int>(params);
      if (!placed && !all) return;
      text += (text.empty() ? "" : ", ") + std::string(c_type(program.scalars[scalar].type())) + " " +
              names[program.params.size() + scalar];
    }
  };
  for (size_t i = 0; i < program.params.size(); ++i) {
    add_scalars(i, false);
    text += (text.empty() ? "" : ", ") + std::string(program.params[i].written ? "" : "const ") +
            c_type(program.params[i].buffer.element()) + "* " + names[i];
  }
  add_scalars(program.params.size(), true);
  return text.empty() ? "void" : text;
}

std::string shape_text(const ir::Buffer& buffer) {
  std::string text = to_string(buffer.element()) + "[";
  for (size_t d = 0; d < buffer.rank(); ++d) text += (d ? ", " : "") + ir::to_string(buffer.shape()[d]);
  return text + "]";
}

}  // namespace

std::string c_header(const ir::Program& program, const Target& target) {
  const std::vector<std::string> names = c_names(program);
  const std::string symbol = runtime::kernel_symbol(program.name);
  std::ostringstream out;
  out << "/* Kernel " << program.name << " for " << target.to_string() << ".\n";
  for (size_t i = 0; i < program.params.size(); ++i)
    out << " *   " << names[i] << ": " << shape_text(program.params[i].buffer)
        << (program.params[i].written ? ", written" : "") << "\n";
  const std::vector<std::string> externs = ir::extern_symbols(program);
  for (const std::string& function : externs) out << " *   externs: " << function << "\n";
  out << " * " << program.name << "_run returns 0, or the code of what failed. Outputs must not overlap anything. */\n";
  out << kAbiText << kDefaultContext << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  out << "int32_t " << symbol << "(const tw_args* args, const tw_context* context);\n";
  const std::string descriptor = runtime::descriptor_symbol(program.name);
  if (descriptor != "tw_kernel_descriptor" && descriptor != "tw_param_descriptor" &&
      descriptor != "tw_scalar_descriptor")  // of which C has a type
    out << "extern const tw_kernel_descriptor " << descriptor << ";\n";
  out << "#ifdef __cplusplus\n}\n#endif\n\nstatic inline int32_t " << program.name << "_run(";
  std::string parameters = c_parameters(program, names);
  if (!externs.empty())  // in the order of the comment
    parameters = (parameters == "void" ? "" : parameters + ", ") + "void (*const* externs)(void)";
  out << parameters << ") {\n  " << (externs.empty() ? "const " : "") << "tw_context context = tw_default_context();\n";
  if (!externs.empty()) out << "  context.externs = externs;\n";
  out << "  void* data[" << names.size() + 1 << "] = {";
  for (size_t i = 0; i < names.size(); ++i)
    out << "(void*)" << (i < program.params.size() ? "" : "&") << names[i] << ", ";
  out << "NULL};\n  tw_args args;\n  args.size = sizeof args;\n  args.version = TW_ABI_VERSION;\n  args.data = data;\n";
  out << "  return " << symbol << "(&args, &context);\n}\n";
  return out.str();
}

}  // namespace tw::codegen
