// The system calls that a process that runs candidates gives up. What is tried all the same ends it with SIGSYS.
#pragma once

#include <cstdint>
#include <string_view>

namespace tw::runtime {

// From now on no thread of this process can start a process or a thread, run a program, signal another process, or
// leave its process group. Limits on the number of processes would not bind root. Returns false where the kernel has no
// such filters.
bool forbid_new_processes();

// What is left to do with the other side: it is told a result, or asks for one call of a kernel after the other.
enum class Talk : uint8_t { kTells, kListens };

// From now on each thread of this process has only the calls of what kernels and their measurement are made of: memory
// that is not executable, waiting and waking, clocks, what goes over descriptors that are there, blobs, its own end.
// Files are refused and not fatal, as malloc looks for one. Threads must have been started and code loaded.
bool forbid_unneeded_calls(Talk);

// Whether these would succeed here.
bool can_forbid_calls();

// What the end of a candidate by SIGSYS says of it.
constexpr std::string_view kTriedNewProcess = "tried to start a process or a thread";
constexpr std::string_view kTriedUnneededCall =
    "made a system call that no kernel needs (for a process, a connection, executable memory or the like)";

}  // namespace tw::runtime
