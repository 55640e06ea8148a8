// Objects -> a static library, with the index by which linkers find symbols.
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codegen/llvm/backend.h"

namespace tw::codegen {

Result<std::string> archive(const std::vector<std::pair<std::string, std::string>>& objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const auto& [name, bytes] : objects)
    members.emplace_back(llvm::MemoryBufferRef(bytes, name));  // deterministic: owner and time are 0
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> made =
      llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                 /*Deterministic=*/true, /*Thin=*/false);
  if (!made)
    return Diagnostic{ErrorKind::kBuild, "build: cannot make an archive: " + llvm::toString(made.takeError()), {}, {}};
  return (*made)->getBuffer().str();
}

}  // namespace tw::codegen
