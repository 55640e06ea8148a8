// Which line of the programs' text an instruction is of, for debuggers and profilers.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <unordered_map>

#include "codegen/llvm/backend.h"
#include "tensorwright/ir.h"

namespace tw::codegen {

class DebugLines {
 public:
  // `text` holds the program, as to_string shows it. Neither a folder nor who compiles is named.
  DebugLines(llvm::Module&, const ir::Program&, const SourceText& text);
  ~DebugLines();  // completes the module
  DebugLines(const DebugLines&) = delete;

  void enter(llvm::Function*);  // of which code follows
  llvm::DebugLoc of(const ir::Stmt&, llvm::Function*) const;

 private:
  int first_line_;
  std::unordered_map<const ir::StmtNode*, int> lines_;
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
};

}  // namespace tw::codegen
