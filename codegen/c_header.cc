#include "codegen/c_header.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "codegen/arg_specs.h"
#include "codegen/c/names.h"
#include "codegen/c_abi.h"
#include "codegen/c_context.h"
#include "codegen/c_parameters.h"
#include "codegen/c_size.h"
#include "codegen/cpu_check.h"
#include "codegen/scratch.h"
#include "src/ir/externs.h"
#include "src/ir/requirement.h"
#include "src/ir/tile_products.h"
#include "src/runtime/kernel.h"
#include "src/support/release.h"
#if TW_LLVM
#include "codegen/llvm/backend.h"
#endif

namespace tw::codegen {

namespace {

// The symbol of a program, and its function as C has it.
const char* const kFunction = "(const struct tw_args* args, const struct tw_context* context)";

// What the header says of a kernel, whose variants differ in nothing that a caller sees.
class HeaderPart {
 public:
  explicit HeaderPart(const HeaderKernel& kernel)
      : kernel_(kernel),
        name_(kernel.name),
        program_(kernel.variants[0].program),
        names_(c_names(program_)),
        externs_(ir::extern_symbols(program_)) {
    for (size_t s = 0; s < program_.scalars.size(); ++s)
      sizes_[program_.scalars[s].id()] = "(int64_t)" + names_[program_.params.size() + s];
    for (const HeaderVariant& variant : kernel.variants)
      conditions_.push_back(cpu_condition(variant.target, ir::has_tile_product(variant.program.body)));
  }

  std::string comment() const {
    std::string text = "/* Kernel " + name_ + ":\n";
    for (const HeaderVariant& variant : kernel_.variants)
      text += " *   for " + variant.target.to_string() +
              (variant.origin.empty() ? "" : ": " + c_comment(variant.origin)) + "\n";
    const std::vector<std::string> packers = packer_names(program_);
    for (size_t i = 0; i < program_.params.size(); ++i) {
      const ir::Param& param = program_.params[i];
      text += " *   " + names_[i] + ": " + shape_text(param.outside()) + (param.written ? ", written" : "");
      if (!param.layout.empty())
        text += ", packed " + param.layout + " by " + name_ + packers[i].substr(program_.name.size()) + "_run, " +
                name_ + "_" + names_[i].substr(2) + "_bytes() of them";
      text += "\n";
    }
    for (const ir::Requirement& r : ir::requirements_of(program_))
      text += " *   requires " + c_comment(r.text) + "; else it returns TW_ERROR_SIZES\n";
    for (const std::string& function : externs_) text += " *   externs: " + function + "\n";
    return text + " */\n";
  }

  std::string declarations() const {
    std::string text;
    for (const HeaderVariant& variant : kernel_.variants)
      text += "int32_t " + runtime::kernel_symbol(variant.program.name) + kFunction +
              ";\nextern const struct tw_kernel_descriptor " + runtime::descriptor_symbol(variant.program.name) + ";\n";
    return text;
  }

  std::string functions() const { return choice() + call() + run_in() + run() + workspace() + packed(); }

  std::vector<std::string> defined_names() const {
    std::vector<std::string> names;
    for (const char* of : {"_run", "_run_in", "_call", "_choose", "_translated", "_variant", "_scratch", "_workspace",
                           "_workspace_bytes"})
      names.push_back(name_ + of);
    for (size_t i = 0; i < program_.params.size(); ++i)
      if (!program_.params[i].layout.empty()) names.push_back(bytes_of(i));
    for (const HeaderVariant& variant : kernel_.variants) {
      names.push_back(runtime::kernel_symbol(variant.program.name));
      names.push_back(runtime::descriptor_symbol(variant.program.name));
    }
    return names;
  }

 private:
  bool is_device() const { return kernel_.variants[0].target.abilities.device.has_value(); }
  bool has_one_for_all() const { return conditions_.size() == 1 && conditions_[0].empty(); }

  // Which variant runs here, from 1; one more than there are where none does. The first answer stays.
  std::string choice() const {
    if (has_one_for_all()) return "\nstatic inline int " + name_ + "_variant(void) { return 1; }\n";
    if (is_device()) return choice_of_device();
    std::string text = "\nstatic __attribute__((noinline, cold, unused)) int " + name_ + "_choose(void) {\n";
    for (size_t i = 0; i < conditions_.size(); ++i)
      text += "  if (" + conditions_[i] + ")\n    return " + std::to_string(i + 1) + ";\n";
    text += "  return " + std::to_string(conditions_.size() + 1) + ";\n}\n";
    text += "static inline int " + name_ + "_variant(void) {\n  static int known;\n" +
            "  int variant = __atomic_load_n(&known, __ATOMIC_RELAXED);\n  if (__builtin_expect(variant == 0, 0)) {\n" +
            "    variant = " + name_ + "_choose();\n    __atomic_store_n(&known, variant, __ATOMIC_RELAXED);\n  }\n" +
            "  return variant;\n}\n";
    return text;
  }

  // Each call's thread may be another device's. Where none of the code runs, a newer device's driver translates the
  // best that it can.
  std::string choice_of_device() const {
    std::string text = "\nstatic inline int " + name_ + "_variant(void) {\n";
    for (size_t i = 0; i < conditions_.size(); ++i)
      text += "  if (" + conditions_[i] + ") return " + std::to_string(i + 1) + ";\n";
    text += "  return " + std::to_string(conditions_.size() + 1) + ";\n}\nstatic inline int32_t " + name_ +
            "_translated" + kFunction + " {\n  int32_t code = tensorwright_no_gpu();\n";
    for (const HeaderVariant& variant : kernel_.variants)
      text += "  if (code == TW_ERROR_ARCHITECTURE) code = " + runtime::kernel_symbol(variant.program.name) +
              "(args, context);\n";
    return text + "  return code;\n}\n";
  }

  std::string call() const {
    std::string text = "static inline int32_t " + name_ + "_call" + kFunction + " {\n";
    if (has_one_for_all()) return text + "  return " + runtime::kernel_symbol(program_.name) + "(args, context);\n}\n";
    text += "  static int32_t (*const kernels[])(const struct tw_args*, const struct tw_context*) = {\n";
    for (const HeaderVariant& variant : kernel_.variants)
      text += "      " + runtime::kernel_symbol(variant.program.name) + ",\n";
    return text + "      " + (is_device() ? name_ + "_translated" : "tensorwright_no_cpu") + "};\n  return kernels[" +
           name_ + "_variant() - 1](args, context);\n}\n";
  }

  // The default context, or one of the caller's.
  std::string run() const {
    const std::string given = c_parameters(program_, names_), more = given == "void" ? "" : given + ", ";
    std::string parameters = given, arguments = "&context";
    if (is_device()) parameters = more + "struct CUstream_st* stream";
    if (!externs_.empty()) parameters = more + "void (*const* externs)(void)";  // in the order of the comment
    for (const std::string& name : c_arguments(program_, names_)) arguments += ", " + name;
    std::string text = "static inline int32_t " + name_ + "_run(" + parameters + ") {\n";
    text += externs_.empty() ? "  const " : "  ";
    text += std::string("struct tw_context context = tensorwright_") +
            (is_device() ? "cuda_context(stream);\n" : "default_context();\n");
    if (!externs_.empty()) text += "  context.externs = externs;\n";
    return text + "  return " + name_ + "_run_in(" + arguments + ");\n}\n";
  }

  // Of extents: other scalars may be.
  std::string refuses_negative() const {
    std::string any;
    for (size_t s = 0; s < program_.scalars.size(); ++s) {
      const auto is_extent = [&](const ir::Expr& e) {
        const auto* const v = ir::as<ir::VarRef>(e);
        return v != nullptr && v->var.id() == program_.scalars[s].id();
      };
      const bool extent = std::ranges::any_of(program_.params, [&](const ir::Param& param) {
        return std::ranges::any_of(param.outside().shape(), is_extent);
      });
      if (extent) any += (any.empty() ? "" : " || ") + names_[program_.params.size() + s] + " < 0";
    }
    return any.empty() ? "" : "  if (" + any + ") return TW_ERROR_SIZES;\n";
  }

  std::string run_in() const {
    const std::string given = c_parameters(program_, names_);
    std::ostringstream out;
    out << "static inline int32_t " << name_ << "_run_in(const struct tw_context* context"
        << (given == "void" ? "" : ", " + given) << ") {\n"
        << refuses_negative() << "  void* data[" << names_.size() + 1 << "] = {";
    for (size_t i = 0; i < names_.size(); ++i)
      out << "(void*)" << (i < program_.params.size() ? "" : "&") << names_[i] << ", ";
    out << "NULL};\n  struct tw_args args;\n  args.size = sizeof args;\n  args.version = TW_ABI_VERSION;\n"
        << "  args.data = data;\n"
        << returned() << "}\n";
    return out.str();
  }

  // MemorySanitizer sees no stores of code that it did not compile.
  std::string returned() const {
    std::string marks;
    if (is_device()) return "  return " + name_ + "_call(&args, context);\n";
    for (size_t i = 0; i < program_.params.size(); ++i) {
      if (!program_.params[i].written) continue;
      if (const auto bytes = c_size(span_in_bytes(program_.params[i].outside()), sizes_))
        marks += "    __msan_unpoison(" + names_[i] + ", (size_t)" + *bytes + ");\n";
    }
    const std::string called = name_ + "_call(&args, context)";
    if (marks.empty()) return "  return " + called + ";\n";
    return "#ifdef TENSORWRIGHT_MSAN\n  {\n    const int32_t code = " + called + ";\n" + marks +
           "    return code;\n  }\n#else\n  return " + called + ";\n#endif\n";
  }

  std::string size_parameters() const {
    std::string text;
    for (size_t s = 0; s < program_.scalars.size(); ++s)
      text += std::string(", ") + c_type_of(program_.scalars[s].type()) + " " + names_[program_.params.size() + s];
    return text;
  }
  std::string size_arguments() const {
    std::string text;
    for (size_t s = 0; s < program_.scalars.size(); ++s) text += ", " + names_[program_.params.size() + s];
    return text;
  }

  // What each variant asks its context for; no workspace where a loop decides how much.
  std::string workspace() const {
    if (is_device()) return "";  // its scratch is of the stream's pool
    std::string cases;
    size_t most = 1;
    for (size_t v = 0; v < kernel_.variants.size(); ++v) {
      CNamesOf sizes;
      const ir::Program& program = kernel_.variants[v].program;
      for (size_t s = 0; s < program.scalars.size(); ++s)
        sizes[program.scalars[s].id()] = "(int64_t)" + names_[program_.params.size() + s];
      const std::vector<AskedScratch> asked = asked_scratch(program);
      most = std::max(most, asked.size());
      if (asked.empty()) continue;
      cases += "    case " + std::to_string(v + 1) + ":\n";
      for (size_t i = 0; i < asked.size(); ++i) {
        const auto bytes = c_size(asked[i].bytes, sizes);
        if (!bytes) return "";
        const std::string piece = "      scratch[" + std::to_string(i) + "].";
        cases += piece + "bytes = (size_t)" + *bytes + ";\n" + piece +
                 "count = " + (asked[i].parallel ? "(size_t)threads" : "1") + ";\n";
      }
      cases += "      return " + std::to_string(asked.size()) + ";\n";
    }
    const std::string sizes = size_parameters(), given = size_arguments(), kinds = std::to_string(most);
    std::string unused = "  (void)scratch, (void)threads";
    for (size_t s = 0; s < program_.scalars.size(); ++s) unused += ", (void)" + names_[program_.params.size() + s];
    const std::string scratch = "  struct tensorwright_scratch scratch[" + kinds +
                                "] = {{0, 0}};\n  const size_t kinds = " + name_ + "_scratch(scratch, threads" + given +
                                ");\n";
    std::string text = "static inline size_t " + name_ +
                       "_scratch(struct tensorwright_scratch* scratch, int64_t threads" + sizes + ") {\n" + unused +
                       ";\n";
    text += cases.empty()
                ? "  return 0;\n}\n"
                : "  switch (" + name_ + "_variant()) {\n" + cases + "    default:\n      return 0;\n  }\n}\n";
    text += "static inline size_t " + name_ + "_workspace_bytes(int64_t threads" + sizes + ") {\n" + scratch +
            "  return tensorwright_workspace_bytes(scratch, kinds);\n}\n";
    text += "static inline const struct tw_context* " + name_ +
            "_workspace(void* memory, const struct tw_context* outer, " + "int64_t threads" + sizes + ") {\n" +
            scratch + "  return tensorwright_make_workspace(memory, scratch, kinds, outer);\n}\n";
    return text;
  }

  std::string bytes_of(size_t i) const { return name_ + "_" + names_[i].substr(2) + "_bytes"; }

  // How large an input is that is packed as the variant wants it.
  std::string packed() const {
    std::string text;
    for (size_t i = 0; i < program_.params.size(); ++i) {
      if (program_.params[i].layout.empty()) continue;
      text += "static inline size_t " + bytes_of(i) + "(void) {\n  switch (" + name_ + "_variant()) {\n";
      for (size_t v = 0; v < kernel_.variants.size(); ++v) {
        const auto bytes = c_size(span_in_bytes(kernel_.variants[v].program.params[i].outside()), {});
        if (!bytes) return "";
        text += "    case " + std::to_string(v + 1) + ":\n      return (size_t)" + *bytes + ";\n";
      }
      text += "    default:\n      return 0;\n  }\n}\n";
    }
    return text;
  }

  const HeaderKernel& kernel_;
  const std::string& name_;
  const ir::Program& program_;
  std::vector<std::string> names_, externs_, conditions_;
  CNamesOf sizes_;
};

std::string release() {
  std::string text = std::string("Tensorwright ") + support::kRelease;
#if TW_LLVM
  text += " with LLVM " + llvm_version();
#endif
  return text;
}

const char* const kRules = R"( *
 * NAME_run returns 0, or the code of what failed: TW_ERROR_CPU where this CPU or its system lacks what the code needs,
 * TW_ERROR_SIZES where a size is negative or the kernel does not take it.
 * NAME_run_in is the same in a context of the caller's: with his threads and memory. NAME_workspace makes a context in
 * memory of NAME_workspace_bytes(threads, ..), of which at most so many threads run parallel loops: calls in it allocate
 * nothing. Its threads are those of the context `outer`; NULL: of the default one.
 *
 * NAME_run of a kernel for a GPU takes addresses of its memory and a stream, into whose queue it puts the launches; it waits
 * for nothing.
 *
 * All functions may be called by several threads at once; a workspace serves one call at a time. Outputs must not
 * overlap anything. What is packed is packed once, by the function that is named, and passed to all calls. */
)";

const char* const kNoCpu = R"(
#ifndef TENSORWRIGHT_NO_CPU
#define TENSORWRIGHT_NO_CPU
static inline int32_t tensorwright_no_cpu(const struct tw_args* args, const struct tw_context* context) {
  (void)args;
  (void)context;
  return TW_ERROR_CPU;
}
#endif
)";

const char* const kMemorySanitizer = R"(
#if defined(__has_feature) && !defined(TENSORWRIGHT_MSAN)
#if __has_feature(memory_sanitizer)
#define TENSORWRIGHT_MSAN
#include <sanitizer/msan_interface.h>
#endif
#endif
)";

}  // namespace

std::optional<std::string> name_clash(const std::vector<HeaderKernel>& kernels) {
  std::map<std::string, std::string> defined;  // by which kernel
  for (const HeaderKernel& kernel : kernels)
    for (const std::string& name : HeaderPart(kernel).defined_names()) {
      const auto [at, first] = defined.emplace(name, kernel.name);
      if (first) continue;
      if (at->second == kernel.name && name == kernel.name + "_run")
        return "kernels must have different names, not two " + kernel.name;
      if (at->second == kernel.name) return kernel.name + " would define " + name + " twice: rename what is packed";
      return "kernels " + at->second + " and " + kernel.name + " would both define " + name;
    }
  return std::nullopt;
}

std::string c_header(const std::vector<HeaderKernel>& kernels, const std::string& host) {
  if (const std::optional<std::string> clash = name_clash(kernels))
    throw Error({ErrorKind::kArgument, "header: " + *clash, {}, {}});
  std::string comments, declarations, functions;
  std::set<std::string> questions;
  for (const HeaderKernel& kernel : kernels) {
    const HeaderPart part(kernel);
    comments += part.comment();
    declarations += part.declarations();
    functions += part.functions();
    questions.insert(cpu_functions(kernel.variants[0].target, host));
  }
  return "/* SPDX-License-Identifier: 0BSD\n * Made by " + release() + ".\n" + kRules + comments + c_abi() +
         kDefaultContext + kSizeFunctions + kWorkspace + kNoCpu + kMemorySanitizer +
         std::accumulate(questions.begin(), questions.end(), std::string()) +
         "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + declarations + "#ifdef __cplusplus\n}\n#endif\n" +
         functions;
}

std::string c_header(const std::vector<ir::Program>& programs, const Target& target, const std::string& host) {
  std::vector<HeaderKernel> kernels;
  for (const ir::Program& program : programs) kernels.push_back({program.name, {{target, program, ""}}});
  return c_header(kernels, host);
}

}  // namespace tw::codegen
