#include "src/runtime/find_externs.h"

#include "tensorwright/externs.h"

namespace tw::runtime {

Result<Externs> find_externs(const std::string& kernel, const std::vector<std::string>& symbols) {
  Externs functions;
  for (const std::string& symbol : symbols) {
    functions.push_back(reinterpret_cast<void (*)()>(find_extern(symbol)));
    if (functions.back()) continue;
    return Diagnostic{
        ErrorKind::kBuild,
        kernel + ": calls " + symbol + ", which is not known",
        {},
        {"te.register_extern gives one, or load its library with ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)"}};
  }
  return functions;
}

}  // namespace tw::runtime
