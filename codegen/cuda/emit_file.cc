// One CUDA C++ file: the names of types and numbers that it uses, its little functions, the launches.
#include "codegen/c_parameters.h"
#include "codegen/cuda/emitter.h"
#include "codegen/cuda/instructions.h"
#include "src/support/deep_stack.h"

namespace tw::codegen {

namespace {

struct Definition {
  const char *name, *text;
};

// What C's headers would have said.
const Definition kDefinitions[] = {
    {"int8_t", "typedef signed char int8_t;"},
    {"uint8_t", "typedef unsigned char uint8_t;"},
    {"int16_t", "typedef short int16_t;"},
    {"uint16_t", "typedef unsigned short uint16_t;"},
    {"int32_t", "typedef int int32_t;"},
    {"uint32_t", "typedef unsigned int uint32_t;"},
    {"int64_t", "typedef long long int64_t;"},
    {"uint64_t", "typedef unsigned long long uint64_t;"},
    {"INT8_MIN", "#define INT8_MIN (-128)"},
    {"INT8_MAX", "#define INT8_MAX 127"},
    {"UINT8_MAX", "#define UINT8_MAX 255"},
    {"INT16_MIN", "#define INT16_MIN (-32768)"},
    {"INT16_MAX", "#define INT16_MAX 32767"},
    {"UINT16_MAX", "#define UINT16_MAX 65535"},
    {"INT32_MIN", "#define INT32_MIN (-2147483647 - 1)"},
    {"INT32_MAX", "#define INT32_MAX 2147483647"},
    {"UINT32_MAX", "#define UINT32_MAX 4294967295u"},
    {"INT64_MIN", "#define INT64_MIN (-9223372036854775807ll - 1)"},
    {"INT64_MAX", "#define INT64_MAX 9223372036854775807ll"},
    {"UINT64_MAX", "#define UINT64_MAX 18446744073709551615ull"},
    {"INFINITY", "#define INFINITY __int_as_float(0x7f800000)"},
    {"NAN", "#define NAN __int_as_float(0x7fc00000)"},
};

bool is_letter(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool mentions(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_letter(text[at - 1])) && !is_letter(text[at + word.size()])) return true;
  return false;
}

}  // namespace

CudaSource CudaEmitter::file(const std::vector<ir::Program>& programs) {
  std::string head;
  for (const ir::Program& program : programs) {
    head += (head.empty() ? "/* Kernel " : " * Kernel ") + program.name + " for " + target_.to_string() + ".\n";
    for (const ir::Param& param : program.params)
      head += " *   " + c_comment(param.buffer.name()) + ": " + c_comment(shape_text(param.outside())) +
              (param.written ? ", written" : "") + "\n";
    emit_program(program);
  }
  head += " * Compile with --fmad=false: only what says fma is fused. */\n";
  std::string text;
  for (const auto& [name, definition] : vector_types_) text += definition;
  for (const std::string& helper : helpers_.texts()) text += "\n" + helper;
  for (const Instruction& instruction : instructions())
    if (instructions_.contains(instruction.name)) text += instruction.text;
  const std::string aligned = "alignas(" + std::to_string(shared_alignment_) + ") ";
  for (size_t at = functions_.find(kSharedMemory); at != functions_.npos;
       at = functions_.find(kSharedMemory, at + aligned.size() + 1))
    functions_.insert(at, aligned);
  text += functions_;
  std::string known;
  for (const Definition& d : kDefinitions)
    if (mentions(text, d.name)) known += std::string(d.text) + "\n";
  return {head + known + text, std::move(plans_), std::move(functions_of_plans_)};
}

CudaSource cuda_source(const std::vector<ir::Program>& programs, const Target& target) {
  return support::with_deep_stack([&] { return CudaEmitter(target).file(programs); });
}

}  // namespace tw::codegen
