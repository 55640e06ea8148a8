// C functions that kernels call, by symbol. A symbol is looked up among those that were registered, then in the process
// and the libraries that it has loaded for all (RTLD_GLOBAL).
#pragma once

#include <string>

namespace tw {

// From now on the symbol means this function; null takes it back. What only a pointer gives has a meaning in this
// process only: kernels that call it are neither saved nor tuned nor sent to others. Safe from several threads.
void register_extern(const std::string& symbol, void* function);

void* find_extern(const std::string& symbol);          // null when there is none
bool extern_is_by_pointer(const std::string& symbol);  // registered, and not what the process would find

}  // namespace tw
