// Maps an object's bytes into this process with JITLink. One session for all kernels; each kernel has a library of its
// own, so that two kernels of one name never meet.
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/compat.h"
#include "codegen/llvm/machine.h"

namespace tw::codegen {

namespace orc = llvm::orc;

namespace {

struct Session {
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  std::atomic<uint64_t> count{0};
  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session(std::move(control)), layer(session, session.getExecutorProcessControl().getMemMgr()) {}
};

// Never destroyed: kernels may be called until the process is gone.
Session& the_session() {
  static Session* session = [] {
    initialize_llvm();
    auto control = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
    TW_CHECK(static_cast<bool>(control), llvm::toString(control.takeError()));
    return new Session(std::move(*control));
  }();
  return *session;
}

class JitCode : public LoadedCode {
 public:
  explicit JitCode(orc::JITDylib& library) : library_(library) {}
  ~JitCode() override { llvm::consumeError(the_session().session.removeJITDylib(library_)); }

  void* symbol(std::string_view name) const override {
    orc::ExecutionSession& session = the_session().session;
    auto found = session.lookup({&library_}, session.intern(llvm::StringRef(name.data(), name.size())));
    if (found) return found->getAddress().toPtr<void*>();
    llvm::consumeError(found.takeError());
    return nullptr;
  }

 private:
  orc::JITDylib& library_;
};

}  // namespace

Result<std::shared_ptr<const LoadedCode>> load_object(std::string_view object, std::string_view first_symbol) {
  Session& s = the_session();
  orc::JITDylib& library = s.session.createBareJITDylib("kernel" + std::to_string(s.count++));
  auto code = std::make_shared<JitCode>(library);
  auto bytes = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "kernel");
  if (llvm::Error error = s.layer.add(library, std::move(bytes)))
    return Diagnostic{
        ErrorKind::kBuild, "build: the object cannot be loaded: " + llvm::toString(std::move(error)), {}, {}};
  auto found =
      s.session.lookup({&library}, s.session.intern(llvm::StringRef(first_symbol.data(), first_symbol.size())));
  if (!found)
    return Diagnostic{
        ErrorKind::kBuild, "build: the object cannot be linked: " + llvm::toString(found.takeError()), {}, {}};
  return std::shared_ptr<const LoadedCode>(std::move(code));
}

}  // namespace tw::codegen
