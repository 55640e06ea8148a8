// The sandbox of a board's worker, in which hostile code may run: layers, each of which holds by itself, so that what
// one kernel lacks another layer covers.
//
//   confine()  before a request is read and threads are started
//     privileges  none can be gained, and other processes of the same user cannot look inside
//     uid         root has become nobody, without capabilities
//     network     a network of its own, without interfaces
//     mounts      an empty file system is all there is
//     ipc, uts    shared memory, queues and host names of its own
//     landlock    no file can be opened, no address reached, no process outside signalled
//     limits      few descriptors, no core files
//   seal()     once threads run and code is loaded, before any of it runs
//     seccomp     only the system calls of forbid_unneeded_calls()
//
// Descriptors that are open stay so: the channel, and the blobs that come over it. There is no process namespace, as it
// would be for children, which seccomp forbids. What no layer can prevent: a candidate shares its process with those
// who judge it, so it can write any answer to the channel and any time into it. The other side believes no message to
// be well-formed (decode_answer), and no candidate's word on another one, as each has a worker of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/runtime/sandbox.h"

namespace tw::runtime {

struct Layer {
  std::string name;
  std::string why_not;  // "" when it holds
  bool holds() const { return why_not.empty(); }
};

// Both do what this system permits, report each layer, and cannot be undone. confine() is for a process of one thread.
std::vector<Layer> confine();
Layer seal(Talk);

// What both would report here, tried in a process of its own. Throws tw::Error when there can be none.
std::vector<Layer> probe_confinement();

// The first of the names that is not a layer that holds, and why: "landlock: this kernel does not have it". Else "".
std::string lacking(std::span<const Layer>, std::span<const std::string> required);

}  // namespace tw::runtime
