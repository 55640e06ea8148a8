// What a process that runs candidates gives up.
#pragma once

namespace tw::runtime {

// From now on no thread of this process can start a process or a thread, run a program, signal another process, or
// leave its process group: trying ends it with SIGSYS. Limits on the number of processes would not bind root. Returns
// false where the kernel has no such filters.
bool forbid_new_processes();

// Whether it would succeed here.
bool can_forbid_new_processes();

}  // namespace tw::runtime
