#include "tests/diff/compiled.h"

#include "codegen/c/backend.h"
#include "codegen/c/source.h"
#include "codegen/llvm/backend.h"

namespace tw::diff {

namespace {

constexpr size_t kLongestText = 256 << 10;

Target c_target() {
  Target target = Target::host();
  target.kind = std::string("c");  // GCC 12 warns of the assignment of a literal, inlined here
  return target;
}

}  // namespace

#if TW_LLVM
Kernels compile_llvm(const std::vector<ir::Program>& lowered, int opt_level) {
  return codegen::llvm_kernels(lowered, Target::host(), opt_level).value_or_throw();
}
#endif

bool has_c_compiler() { return codegen::has_c_compiler(); }

bool suits_c(const ir::Program& lowered) { return codegen::c_source({lowered}, c_target()).size() <= kLongestText; }

Kernels compile_c(const std::vector<ir::Program>& lowered, bool vectors) {
  return codegen::c_kernels(lowered, c_target(), 2, {vectors ? "-DTW_VECTORS=1" : "-DTW_VECTORS=0"}).value_or_throw();
}

}  // namespace tw::diff
