// What a board says of itself: to clients, who make code for it, and to trackers, whose predicates name these fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/runtime/confinement.h"
#include "src/target/cpu.h"
#include "tensorwright/machine.h"

namespace tw::rpc {

struct BoardDescription {
  MachineDescription machine;
  std::string target;  // what -mcpu=native is there
  target::Cpu cpu;     // what code may use
  std::vector<runtime::Layer> sandbox;
  double memory_mb = 0;
  int64_t page_bytes = 0;
  std::string release;  // of Tensorwright
};

// Tries the sandbox, in a process of its own.
BoardDescription describe_this_board();

// {"hardware":"cortex-a72, 4 cores, ...","cores":4,"target":"llvm ...","sandbox":{"seccomp":"holds",...},...}
std::string to_text(const BoardDescription&);
// Throws tw::Error (kRpc) for what is none.
BoardDescription board_from(std::string_view text);

}  // namespace tw::rpc
