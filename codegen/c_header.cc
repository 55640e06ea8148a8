#include "codegen/c_header.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "codegen/arg_specs.h"
#include "codegen/c/names.h"
#include "codegen/c_abi.h"
#include "src/ir/externs.h"
#include "src/ir/requirement.h"
#include "src/ir/tile_products.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

namespace {

const char* const kDefaultContext = R"(
#ifndef TENSORWRIGHT_DEFAULT_CONTEXT
#define TENSORWRIGHT_DEFAULT_CONTEXT
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
static int32_t tensorwright_default_parallel_for(const struct tw_context* self, int64_t n,
                                                 int32_t (*body)(int64_t, int64_t, void*), void* closure) {
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
static void* tensorwright_default_alloc(const struct tw_context* self, size_t bytes) {
  char* whole = (char*)malloc(bytes + 128);
  (void)self;
  if (whole == NULL) return NULL;
  char* aligned = (char*)(((uintptr_t)whole + 128) & ~(uintptr_t)63);
  ((void**)aligned)[-1] = whole;
  return aligned;
}
static void tensorwright_default_release(const struct tw_context* self, void* memory) {
  (void)self;
  free(((void**)memory)[-1]);
}
static inline struct tw_context tensorwright_default_context(void) {
  struct tw_context context;
  context.size = sizeof(struct tw_context);
  context.version = TW_ABI_VERSION;
  context.parallel_for = tensorwright_default_parallel_for;
  context.alloc = tensorwright_default_alloc;
  context.release = tensorwright_default_release;
  context.state = NULL;
  context.externs = NULL;
  return context;
}
#endif
)";

// A system may give a process shorter vectors than the CPU has. rdvl x0, #1: assemblers may not know it by its name.
const char* const kVectorBits = R"(
#ifndef TENSORWRIGHT_VECTOR_BITS
#define TENSORWRIGHT_VECTOR_BITS
#include <sys/auxv.h>
static inline uint32_t tensorwright_vector_bits(void) {
  const unsigned long sve = 1UL << 22;
  uint64_t bytes;
  if ((getauxval(AT_HWCAP) & sve) == 0) return 0;
  __asm__ volatile(".inst 0x04bf5020\n\tmov %0, x0" : "=r"(bytes) : : "x0");
  return (uint32_t)bytes * 8;
}
#endif
)";

// Linux gives AMX's registers to a process that asks (ARCH_REQ_XCOMP_PERM of XTILEDATA); by arch_prctl, which libraries
// have no function for. Where there are none, or not for this process, it refuses.
const char* const kTiles = R"(
#ifndef TENSORWRIGHT_TILES
#define TENSORWRIGHT_TILES
static inline int tensorwright_may_use_tiles(void) {
  static int known; /* 0: nobody has asked; 1: they may be used; 2: not */
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (answer == 0) {
    long code;
    __asm__ volatile("syscall" : "=a"(code) : "a"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
    answer = code == 0 ? 1 : 2;
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }
  return answer == 1;
}
#endif
)";

const char* c_type(ir::Type type) {
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
            c_type(program.params[i].outside().element()) + "* " + names[i];
  }
  add_scalars(program.params.size(), true);
  return text.empty() ? "void" : text;
}

std::string shape_text(const ir::Buffer& buffer) {
  std::string text = to_string(buffer.element()) + "[";
  for (size_t d = 0; d < buffer.rank(); ++d) text += (d ? ", " : "") + ir::to_string(buffer.shape()[d]);
  return text + "]";
}

// What the comment says of a kernel, and its wrapper.
class HeaderPart {
 public:
  HeaderPart(const ir::Program& program, int vector_bits)
      : program_(program), vector_bits_(vector_bits), names_(c_names(program)), externs_(ir::extern_symbols(program)) {}

  std::string comment(const std::vector<std::string>& packers) const {
    std::string text;
    for (size_t i = 0; i < program_.params.size(); ++i) {
      const ir::Param& param = program_.params[i];
      text += " *   " + names_[i] + ": " + shape_text(param.outside()) + (param.written ? ", written" : "");
      if (!param.layout.empty()) text += ", packed " + param.layout + " by " + packers[i] + "_run";
      text += "\n";
    }
    for (const ir::Requirement& r : ir::requirements_of(program_))
      text += " *   requires " + c_comment(r.text) + "; else it returns TW_ERROR_SIZES\n";
    for (const std::string& function : externs_) text += " *   externs: " + function + "\n";
    return text;
  }

  std::string declarations() const {
    return "int32_t " + symbol() + "(const struct tw_args* args, const struct tw_context* context);\n" +
           "extern const struct tw_kernel_descriptor " + runtime::descriptor_symbol(program_.name) + ";\n";
  }

  std::string wrapper() const {
    std::ostringstream out;
    std::string parameters = c_parameters(program_, names_);
    if (!externs_.empty())  // in the order of the comment
      parameters = (parameters == "void" ? "" : parameters + ", ") + "void (*const* externs)(void)";
    out << "\nstatic inline int32_t " << program_.name << "_run(" << parameters << ") {\n";
    if (ir::has_tile_product(program_.body)) out << "  if (!tensorwright_may_use_tiles()) return TW_ERROR_CPU;\n";
    if (vector_bits_ > 0) out << "  if (tensorwright_vector_bits() != " << vector_bits_ << ") return TW_ERROR_CPU;\n";
    out << (externs_.empty() ? "  const " : "  ") << "struct tw_context context = tensorwright_default_context();\n";
    if (!externs_.empty()) out << "  context.externs = externs;\n";
    out << "  void* data[" << names_.size() + 1 << "] = {";
    for (size_t i = 0; i < names_.size(); ++i)
      out << "(void*)" << (i < program_.params.size() ? "" : "&") << names_[i] << ", ";
    out << "NULL};\n  struct tw_args args;\n  args.size = sizeof args;\n  args.version = TW_ABI_VERSION;\n";
    out << "  args.data = data;\n  return " << symbol() << "(&args, &context);\n}\n";
    return out.str();
  }

 private:
  std::string symbol() const { return runtime::kernel_symbol(program_.name); }
  const ir::Program& program_;
  int vector_bits_;
  std::vector<std::string> names_, externs_;
};

}  // namespace

std::string c_header(const std::vector<ir::Program>& programs, const Target& target) {
  const int vector_bits = target.kind == "c" ? 0 : target.sve_bits;  // C is compiled for any
  std::string comment, declarations, wrappers;
  for (const ir::Program& program : programs) {
    const HeaderPart part(program, vector_bits);
    comment += (comment.empty() ? "/* Kernel " : " * Kernel ") + program.name + " for " + target.to_string() + ".\n" +
               part.comment(packer_names(program));
    declarations += part.declarations();
    wrappers += part.wrapper();
  }
  if (programs.size() > 1)
    comment += " * What is packed is packed once, by the function that is named, and passed to all calls.\n";
  comment +=
      " * " + programs[0].name + "_run returns 0, or the code of what failed. Outputs must not overlap anything. */\n";
  const bool tiles = std::any_of(programs.begin(), programs.end(),
                                 [](const ir::Program& program) { return ir::has_tile_product(program.body); });
  if (tiles)
    comment += "/* It needs AMX's registers; where the system does not give them it returns TW_ERROR_CPU. */\n";
  if (vector_bits > 0)
    comment += "/* It needs SVE vectors of " + std::to_string(vector_bits) +
               " bits; where they have another length it returns TW_ERROR_CPU. */\n";
  return comment + c_abi() + kDefaultContext + (tiles ? kTiles : "") + (vector_bits > 0 ? kVectorBits : "") +
         "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + declarations + "#ifdef __cplusplus\n}\n#endif\n" + wrappers;
}

}  // namespace tw::codegen
