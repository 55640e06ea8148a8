// One C file: what the kernels need, the kernels, and their descriptors.
#include <algorithm>
#include <set>

#include "codegen/arg_specs.h"
#include "codegen/c/file_emitter.h"
#include "codegen/c/lanes.h"
#include "codegen/c/source.h"
#include "codegen/c/tiles.h"
#include "codegen/c_abi.h"
#include "codegen/c_parameters.h"
#include "src/ir/externs.h"
#include "src/ir/scalars.h"
#include "src/ir/tile_products.h"
#include "src/ir/walk.h"
#include "src/lower/simplify.h"
#include "src/lower/tiles.h"
#include "src/runtime/kernel.h"
#include "src/support/deep_stack.h"

namespace tw::codegen {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (byte < 32 || byte > 126 || c == '?') {
      const char octal[] = {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                            static_cast<char>('0' + (byte & 7))};
      out.append(octal, sizeof octal);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string numbers(const std::vector<ir::Expr>& values) {
  std::string text;
  for (const ir::Expr& value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(ir::as_int(value).value_or(-1));
  return text;
}

constexpr const char* kLanes = " * A loop over l, the lanes, is one vector statement of the schedule.\n";
constexpr const char* kHowToCompile = " * Compile with -std=c99 -O2 -fwrapv -fno-math-errno -ffp-contract=off. */\n";

// gcc before 14 takes a load under a mask of numbers for a blend with the whole vector, and reads past the array's end.
constexpr const char* kNoMasks = R"(
#if defined __GNUC__ && !defined __clang__ && __GNUC__ < 14 && defined __AVX512VL__
#pragma GCC optimize("no-tree-loop-if-convert")
#endif
)";

// Sums of rows that are not there are neither begun nor stored: gcc does not see that both conditions are one.
constexpr const char* kBegunIfStored = R"(
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
)";

constexpr const char* kVectors = R"(
#if !defined TW_VECTORS && defined __GNUC__
#define TW_VECTORS 1
#endif
)";

constexpr const char* kPrefetch = R"(
#ifdef __GNUC__
#define TW_PREFETCH(address, near) __builtin_prefetch(address, 0, near)
#else
#define TW_PREFETCH(address, near) ((void)0)
#endif
)";

constexpr const char* kPrefetchWritten = R"(
#ifdef __GNUC__
#define TW_PREFETCH_WRITTEN(address, near) __builtin_prefetch(address, 1, near)
#else
#define TW_PREFETCH_WRITTEN(address, near) ((void)0)
#endif
)";

constexpr const char* kInTurn = R"(
#if defined __GNUC__ && !defined __clang__ /* no vectors of the iterations around it */
#define TW_IN_TURN __asm__ volatile("")
#else
#define TW_IN_TURN ((void)0)
#endif
)";

}  // namespace

std::string CFileEmitter::vector_type(ir::Type element, int lanes) {
  const std::string name = type_suffix(element) + "x" + std::to_string(lanes);
  const std::string type = c_type(element), bytes = std::to_string(element.bytes() * lanes);
  const std::pair<std::string, std::string> row{
      "typedef " + type + " " + name + " __attribute__((vector_size(" + bytes + ")));\n",
      "typedef " + type + " " + name + "[" + std::to_string(lanes) + "];\n"};
  if (std::find(vector_types_.begin(), vector_types_.end(), row) == vector_types_.end()) vector_types_.push_back(row);
  return name;
}

void CFileEmitter::look_through(const ir::Program& program) {
  written_.clear();
  addressed_.clear();
  fuses_ = false;
  ir::walk(
      program.body,
      [&](const ir::Stmt& s) {
        if (const auto* store = ir::as<ir::Store>(s)) written_.insert(store->buffer.id());
        return true;
      },
      [&](const ir::Expr& e) {
        if (const auto* address = ir::as<ir::Address>(e); address && address->written)
          written_.insert(address->buffer.id());
        if (const auto* call = ir::as<ir::Call>(e); call && call->fn == ir::Fn::kFma) fuses_ = true;
        if (const auto* call = ir::as<ir::CallExtern>(e))
          for (const ir::Expr& arg : call->args)
            if (const auto* address = ir::as<ir::Address>(arg)) addressed_.insert(address->buffer.id());
        return true;
      });
}

void CFileEmitter::emit_kernel(const ir::Program& program) {
  kernel_name_ = runtime::kernel_symbol(program.name);
  look_through(program);
  externs_ = ir::extern_symbols(program);
  frame_ = Frame{};
  lines_.clear();
  indent_ = 1;
  const CNames::Block block(names_);
  const std::vector<ir::Buffer> used = ir::free_buffers(program.body);
  for (size_t i = 0; i < program.params.size(); ++i) {
    const ir::Buffer& buffer = program.params[i].buffer;
    declare_elements(buffer);
    if (std::find(used.begin(), used.end(), buffer) == used.end()) continue;
    const std::string name = names_.bind(buffer.id(), buffer.name());
    line(pointer(buffer) + " restrict " + name + " = args->data[" + std::to_string(i) + "];");
  }
  for (size_t s = 0; s < program.scalars.size(); ++s) {
    const ir::Var& var = program.scalars[s];
    const std::string type = c_type(var.type()), name = names_.bind(var.id(), var.name());
    const std::string at = "*(const " + type + "*)args->data[" + std::to_string(program.params.size() + s) + "]";
    if (ir::uses_var(program.body, var))
      line("const " + type + " " + name + " = " + at + (var.type().is_bool() ? " != 0;" : ";"));
  }
  for (const auto& [id, range] : ir::scalar_bounds(program)) bounds_[id] = range;
  const size_t opening = lines_.size();
  emit(program.body);
  const auto mentions = [&](const char* word) {
    return std::any_of(lines_.begin(), lines_.end(), [&](auto& text) { return text.find(word) != std::string::npos; });
  };
  for (const auto& [name, declaration] : frame_.externs) lines_.insert(lines_.begin(), declaration);
  const auto unused = [&](const char* word) { lines_.insert(lines_.begin(), "  (void)" + std::string(word) + ";"); };
  const bool context_used = mentions("context");
  if (opening == 0) unused("args");
  if (!context_used) unused("context");
  functions_ += "int32_t " + kernel_name_ + "(const struct tw_args* args, const struct tw_context* context) {\n";
  for (const std::string& text : lines_) functions_ += text + "\n";
  functions_ += "  return 0;\n}\n";
}

void CFileEmitter::emit_descriptor(const ir::Program& program, const Target& target) {
  const std::string symbol = runtime::kernel_symbol(program.name);
  std::string rows;
  for (size_t i = 0; i < program.params.size(); ++i) {
    const ir::Buffer& buffer = program.params[i].outside();
    const ir::Type type = buffer.element();
    const auto array = [&](const char* what, const std::vector<ir::Expr>& values) -> std::string {
      if (values.empty()) return "NULL";
      const std::string name = function_names_.symbol(symbol + "_" + what + "_" + std::to_string(i));
      functions_ += "static const int64_t " + name + "[] = {" + numbers(values) + "};\n";
      return name;
    };
    const std::string shape = array("shape", buffer.shape()), strides = array("strides", buffer.strides());
    rows += "    {" + quoted(buffer.name()) + ", " + std::to_string(static_cast<int>(type.code)) + ", " +
            std::to_string(type.bits) + ", " + (program.params[i].written ? "1" : "0") + ", " +
            std::to_string(buffer.rank()) + ", " + shape + ", " + strides + "},\n";
  }
  const auto table = [&](const std::string& type, const char* what, const std::string& lines) -> std::string {
    if (lines.empty()) return "NULL";
    const std::string name = function_names_.symbol(symbol + "_" + what);
    functions_ += "static const " + type + " " + name + "[] = {\n" + lines + "};\n";
    return name;
  };
  const std::vector<runtime::ScalarSpec> scalars = scalar_specs(program);
  std::string scalar_rows;
  for (const runtime::ScalarSpec& scalar : scalars)
    scalar_rows += "    {" + quoted(scalar.var.name()) + ", " +
                   std::to_string(static_cast<int>(scalar.var.type().code)) + ", " +
                   std::to_string(scalar.var.type().bits) + ", " + std::to_string(scalar.place) + "},\n";
  const auto texts = [](const std::vector<std::string>& list) {
    std::string lines;
    for (const std::string& text : list) lines += "    " + (text.empty() ? "NULL" : quoted(text)) + ",\n";
    return lines;
  };
  const std::string params = table("struct tw_param_descriptor", "params", rows);
  const std::string scalar_table = table("struct tw_scalar_descriptor", "scalars", scalar_rows);
  const std::string extents = table("char* const", "extents", texts(extent_texts(program)));
  const std::string externs = table("char* const", "externs", texts(externs_));
  const std::string layouts = table("char* const", "layouts", texts(layout_texts(program)));
  const std::string packers = table("char* const", "packers", texts(packer_names(program)));
  std::string requirement_rows;
  const std::vector<ir::Requirement> required = numbered_requirements(program);
  for (const ir::Requirement& r : required)
    requirement_rows += "    {" + quoted(ir::to_string(r.test)) + ", " + quoted(r.text) + "},\n";
  const std::string requirements = table("struct tw_requirement_descriptor", "requirements", requirement_rows);
  std::string features;  // in pieces, one a line
  size_t start = 0;
  for (const std::string& feature : target.features) {
    if (features.size() - start + feature.size() > 100) {
      features += "\"\n    \"";
      start = features.size();
    }
    features += feature + (&feature == &target.features.back() ? "" : ",");
  }
  functions_ += "const struct tw_kernel_descriptor " + runtime::descriptor_symbol(program.name) +
                " = {\n    sizeof(struct tw_kernel_descriptor), TW_ABI_VERSION, " + quoted(program.name) + ", " +
                quoted(target.to_string()) + ",\n    \"" + features + "\",\n    " +
                std::to_string(program.params.size()) + ", " + params + ", " + std::to_string(scalars.size()) + ", " +
                scalar_table + ", " + extents + ", " + std::to_string(externs_.size()) + ", " + externs + ", " +
                layouts + ", " + packers + ", " + std::to_string(required.size()) + ", " + requirements + ", 0};\n";
}

std::string CFileEmitter::file(const std::vector<ir::Program>& programs, const Target& target) {
  std::string head;
  for (const ir::Program& program : programs) {
    head += (head.empty() ? "/* Kernel " : " * Kernel ") + program.name + " for " + target.to_string() + ".\n";
    for (const ir::Param& param : program.params)
      head += " *   " + c_comment(param.buffer.name()) + ": " + c_comment(shape_text(param.outside())) +
              (param.written ? ", written" : "") + (param.layout.empty() ? "" : ", packed " + c_comment(param.layout)) +
              "\n";
    functions_ += "\n";
    emit_kernel(tiles_of_vectors(lanes_as_loops(program)));
    functions_ += "\n";
    emit_descriptor(program, target);
  }
  std::string out = head + (int_vars_.empty() ? "" : kLanes) + kHowToCompile;
  if (helpers_.math()) out += "#include <math.h>\n";
  out += bare_c_abi();
  out += kNoMasks;
  out += kBegunIfStored;
  out += "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n";
  if (helpers_.prefetch()) out += kPrefetch;
  if (helpers_.prefetch_written()) out += kPrefetchWritten;
  if (helpers_.in_turn()) out += kInTurn;
  if (!vector_types_.empty()) {
    out += kVectors + std::string("#if TW_VECTORS\n");
    for (const auto& [vector, array] : vector_types_) out += vector;
    out += "#else\n";
    for (const auto& [vector, array] : vector_types_) out += array;
    out += "#endif\n";
  }
  for (const std::string& helper : helpers_.texts()) out += "\n" + helper;
  return out + functions_;
}

// C has no words for products of tiles: what was lowered for a CPU that has them does them by rows.
std::string c_source(const std::vector<ir::Program>& programs, const Target& target) {
  return support::with_deep_stack([&] {
    Target without = target;
    without.abilities.tiles = {};
    std::vector<ir::Program> by_rows;
    for (const ir::Program& program : programs)
      by_rows.push_back(ir::has_tile_product(program.body) ? lower::simplify(lower::tiles(program, without), without)
                                                           : program);
    return CFileEmitter().file(by_rows, target);
  });
}

}  // namespace tw::codegen
