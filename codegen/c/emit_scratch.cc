// Scratch memory.
//
//   allocate acc: float32[96] local        float acc[96];
//   allocate pack: float32[...] global     float* restrict pack = context->alloc(context, ...);
//                                          ...
//                                          context->release(context, pack);
//
// Whoever leaves early (no memory, a parallel body that failed) first releases what this function holds.
#include "codegen/c/file_emitter.h"
#include "codegen/scratch.h"
#include "src/support/scratch_alignment.h"

namespace tw::codegen {

void CFileEmitter::emit_allocate(const ir::Allocate& alloc) {
  const ir::Buffer& buffer = alloc.buffer;
  const std::string element = c_type(buffer.element()), type = scratch_type(buffer);
  const auto elements = known_elements(buffer);
  const int64_t bytes = elements ? *elements * buffer.element().bytes() : 0;
  const bool is_vector = buffer.rank() == 2 && ir::is_int(buffer.shape()[0], 1);
  const bool fits = is_vector || (elements && fits_on_stack(bytes, frame_.stack_bytes));
  declare_elements(buffer);
  if (is_private(buffer.scope()) && fits) {
    const std::string name = names_.bind(buffer.id(), buffer.name());
    const int64_t count = buffer.rank() == 2 ? *ir::as_int(buffer.shape()[0]) : std::max<int64_t>(*elements, 1);
    const std::string aligned =
        addressed_.contains(buffer.id()) ? " __attribute__((aligned(" + std::to_string(kScratchAlignment) + ")))" : "";
    line(type + " " + name + (is_vector ? "" : "[" + std::to_string(count) + "]") + aligned + ";");
    frame_.stack_bytes += bytes;
    return emit(alloc.body);
  }
  begin_statement(buffer.shape());
  const std::string size = "sizeof(" + element + ")";
  if (elements) return emit_heap_scratch(alloc, std::to_string(*elements) + " * " + size);
  std::string count;
  for (const ir::Expr& extent : buffer.shape())
    count = count.empty() ? emit_extent(extent) : helpers_.size("mul") + "(" + count + ", " + emit_extent(extent) + ")";
  emit_heap_scratch(alloc, helpers_.size("mul") + "(" + count + ", " + size + ")");
}

// Of a register tile (tiles.h) that of its vectors.
std::string CFileEmitter::scratch_type(const ir::Buffer& buffer) {
  if (!is_private(buffer.scope()) || buffer.rank() != 2) return c_type(buffer.element());
  return vector_type(buffer.element(), static_cast<int>(*ir::as_int(buffer.shape()[1])));
}

// Sums and products, whatever the numbers are.
std::string CFileEmitter::emit_extent(const ir::Expr& extent) {
  const auto* b = ir::as<ir::Binary>(extent);
  const bool product = b && b->op == ir::BinOp::kMul, sum = b && b->op == ir::BinOp::kAdd;
  if (!product && !sum) return argument(extent);
  const std::string function = helpers_.size(product ? "mul" : "add");
  const std::string left = emit_extent(b->a);
  return function + "(" + left + ", " + emit_extent(b->b) + ")";
}

void CFileEmitter::emit_heap_scratch(const ir::Allocate& alloc, const std::string& bytes) {
  const std::string name = names_.bind(alloc.buffer.id(), alloc.buffer.name());
  line(scratch_type(alloc.buffer) + "* restrict " + name + " = context->alloc(context, " + bytes + ");");
  leave_if(name + " == NULL", "TW_ERROR_OUT_OF_MEMORY");
  frame_.held.push_back(name);
  emit(alloc.body);
  frame_.held.pop_back();
  line("context->release(context, " + name + ");");
}

void CFileEmitter::leave_if(const std::string& failed, const std::string& code) {
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
