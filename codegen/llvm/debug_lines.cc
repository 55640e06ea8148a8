#include "codegen/llvm/debug_lines.h"

#include "src/ir/text.h"
#include "src/support/release.h"

namespace tw::codegen {

DebugLines::DebugLines(llvm::Module& module, const ir::Program& program, const SourceText& text)
    : first_line_(text.first_line), lines_(ir::statement_lines(program)), builder_(module) {
  constexpr unsigned kDwarf = 4;
  if (!module.getModuleFlag("Debug Info Version")) {
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", kDwarf);
  }
  file_ = builder_.createFile(text.file, "");
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C99, file_, std::string("Tensorwright ") + support::kRelease,
                             /*isOptimized=*/true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
}

DebugLines::~DebugLines() { builder_.finalize(); }

void DebugLines::enter(llvm::Function* function) {
  llvm::DISubroutineType* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  const auto line = static_cast<unsigned>(first_line_);
  function->setSubprogram(builder_.createFunction(file_, function->getName(), function->getName(), file_, line, type,
                                                  line, llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition));
}

llvm::DebugLoc DebugLines::of(const ir::Stmt& stmt, llvm::Function* function) const {
  const auto found = lines_.find(stmt.get());
  const int line = first_line_ + (found == lines_.end() ? 0 : found->second - 1);
  return llvm::DILocation::get(function->getContext(), static_cast<unsigned>(line), 0, function->getSubprogram());
}

}  // namespace tw::codegen
