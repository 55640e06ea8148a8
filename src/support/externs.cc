#include "tensorwright/externs.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

namespace tw {
namespace {

struct Registered {
  std::mutex mutex;
  std::map<std::string, void*> functions;
};

Registered& registered() {
  static Registered* const all = new Registered;
  return *all;
}

void* in_process(const std::string& symbol) { return dlsym(RTLD_DEFAULT, symbol.c_str()); }

}  // namespace

void register_extern(const std::string& symbol, void* function) {
  const std::lock_guard lock(registered().mutex);
  if (function)
    registered().functions[symbol] = function;
  else
    registered().functions.erase(symbol);
}

void* find_extern(const std::string& symbol) {
  const std::lock_guard lock(registered().mutex);
  const auto found = registered().functions.find(symbol);
  return found != registered().functions.end() ? found->second : in_process(symbol);
}

bool extern_is_by_pointer(const std::string& symbol) {
  const std::lock_guard lock(registered().mutex);
  const auto found = registered().functions.find(symbol);
  return found != registered().functions.end() && found->second != in_process(symbol);
}

}  // namespace tw
