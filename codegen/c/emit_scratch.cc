// Scratch memory.
//
//   allocate acc: float32[96] local        float acc[96];
//   allocate pack: float32[...] global     float* restrict pack = context->alloc(context, ...);
//                                          ...
//                                          context->release(context, pack);
//
// Whoever leaves early (no memory, a parallel body that failed) first releases what this function holds.
#include "codegen/c/emitter.h"

namespace tw::codegen {

namespace {

constexpr int64_t kMaxArrayBytes = 64 << 10;
constexpr int64_t kMaxStackBytes = 256 << 10;

// Of a compact buffer of constant shape.
std::optional<int64_t> known_elements(const ir::Buffer& buffer) {
  int64_t elements = 1;
  if (!buffer.strides().empty()) return std::nullopt;
  for (const ir::Expr& extent : buffer.shape()) {
    const auto value = ir::as_int(extent);
    if (!value || __builtin_mul_overflow(elements, *value, &elements)) return std::nullopt;
  }
  return elements;
}

}  // namespace

void CEmitter::declare_elements(const ir::Buffer& buffer) {
  if (const auto elements = known_elements(buffer); elements && *elements > 0) elements_[buffer.id()] = *elements;
}

void CEmitter::emit_allocate(const ir::Allocate& alloc) {
  const ir::Buffer& buffer = alloc.buffer;
  const std::string element = c_type(buffer.element());
  const auto elements = known_elements(buffer);
  const int64_t bytes = elements ? *elements * buffer.element().bytes() : 0;
  const bool fits = elements && bytes <= kMaxArrayBytes && frame_.stack_bytes + bytes <= kMaxStackBytes;
  declare_elements(buffer);
  if (buffer.scope() == ir::Scope::kLocal && fits) {
    const std::string name = names_.bind(buffer.id(), buffer.name());
    if (buffer.rank() == 2) {
      const int64_t vectors = *ir::as_int(buffer.shape()[0]), lanes = *ir::as_int(buffer.shape()[1]);
      const std::string count = vectors == 1 ? "" : "[" + std::to_string(vectors) + "]";
      line(vector_type(buffer.element(), static_cast<int>(lanes)) + " " + name + count + ";");
    } else {
      line(element + " " + name + "[" + std::to_string(std::max<int64_t>(*elements, 1)) + "];");
    }
    frame_.stack_bytes += bytes;
    return emit(alloc.body);
  }
  ir::Expr count(1);
  for (const ir::Expr& extent : buffer.shape()) count = ir::is_int(count, 1) ? extent : count * extent;
  begin_statement({count});
  emit_heap_scratch(alloc, in(count, kMultiplicative) + " * sizeof(" + element + ")");
}

void CEmitter::emit_heap_scratch(const ir::Allocate& alloc, const std::string& bytes) {
  const std::string name = names_.bind(alloc.buffer.id(), alloc.buffer.name());
  line(c_type(alloc.buffer.element()) + "* restrict " + name + " = context->alloc(context, " + bytes + ");");
  leave_if(name + " == NULL", "TW_ERROR_OUT_OF_MEMORY");
  frame_.held.push_back(name);
  emit(alloc.body);
  frame_.held.pop_back();
  line("context->release(context, " + name + ");");
}

void CEmitter::leave_if(const std::string& failed, const std::string& code) {
  if (frame_.held.empty()) return line("if (" + failed + ") return " + code + ";");
  line("if (" + failed + ") {");
  {
    const Indent deeper(*this);
    for (auto name = frame_.held.rbegin(); name != frame_.held.rend(); ++name)
      line("context->release(context, " + *name + ");");
    line("return " + code + ";");
  }
  line("}");
}

}  // namespace tw::codegen
