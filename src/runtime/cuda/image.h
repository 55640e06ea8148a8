// The code of a module for one architecture of devices, and what its compiler said of each function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tw::runtime::cuda {

// Of a function, as ptxas states it.
struct Resources {
  std::string function;
  int registers = 0;                                           // of a thread
  int64_t shared_bytes = 0;                                    // that the function declares
  int64_t stack_bytes = 0, spill_stores = 0, spill_loads = 0;  // of a thread, in bytes
  std::vector<std::string> warnings = {};                      // "C7510: Potential Performance Loss: ..."
  bool operator==(const Resources&) const = default;
};

struct Image {
  std::string arch;
  std::string cubin;
  std::string log;  // of the compiler
  std::string ptx;  // which drivers of newer devices translate; empty: it uses what only the architecture has
};

// What the log says of each function, in its order.
std::vector<Resources> resources_in(const std::string& log);

// Why code is not worth a run, whatever it computes: the status of its record, "spills" or "serialised", and for people
// which function it is and what the compiler says.
struct Unfit {
  std::string status, why;
};
std::optional<Unfit> unfit(const std::vector<Resources>&);

}  // namespace tw::runtime::cuda
