// The LLVM back end as the rest of codegen sees it: lowered programs in, bytes out. No LLVM header is needed to use it.
//
// One position-independent ELF object is made of a program. load_object maps those bytes for direct calls; link_shared
// makes the shared object that is measured and deployed of the same bytes. All functions may be called from several
// threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/device_code.h"
#include "tensorwright/build.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

std::string llvm_version();  // 19.1.7

enum class Output { kObject, kAssembly, kLlvm };

// `program` is lowered: no Reduce, subscripts flat, no transcendental function, no half arithmetic. The object has no
// undefined symbol; it defines tw_<name> and tw_<name>_descriptor. Errors are kBuild.
Result<std::string> compile(const ir::Program& program, const Target& target, int opt_level, Output output);
// Several programs of different names, as one object. Code has line tables where it is said in which text each program
// stands.
struct SourceText {
  std::string file;
  int first_line = 1;
};
Result<std::string> compile(std::span<const ir::Program> programs, const Target& target, int opt_level, Output output,
                            std::span<const SourceText> texts = {});

// Kernels for a device as an object of the host's: it holds their image, and tw_<name> launches them by way of the
// context (codegen/device_code.h).
Result<std::string> compile_device(const DeviceCode& code, const Target& host, const Target& device);

// Code in this process. The symbols live as long as the object does.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  virtual void* symbol(std::string_view name) const = 0;  // null when there is none
};
Result<std::shared_ptr<const LoadedCode>> load_object(std::string_view object, std::string_view first_symbol);

// Objects by their names as a static library with an index: no time, no owner.
Result<std::string> archive(const std::vector<std::pair<std::string, std::string>>& objects);

// The bytes of a shared object. A name of its own where one is given: what programs that are linked with it ask for.
Result<std::string> link_shared(std::span<const std::string_view> objects, const std::string& soname = {});
inline Result<std::string> link_shared(std::string_view object) { return link_shared(std::span(&object, 1)); }

// Compiles a kernel, and behind it those that pack for it, and, where this machine can run the code, loads them. Throws
// tw::Error.
std::shared_ptr<const Module> make_llvm_module(const std::vector<ir::Program>& lowered, const Target& target,
                                               int opt_level);

// Several programs as one module, as c_kernels makes them: for tests, which have many small ones.
Result<std::vector<std::shared_ptr<const runtime::Kernel>>> llvm_kernels(const std::vector<ir::Program>& programs,
                                                                         const Target& target, int opt_level);

}  // namespace tw::codegen
