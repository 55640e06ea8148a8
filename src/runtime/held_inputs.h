// The inputs of a tuning, in the memory of a process that measures each candidate in a child of its own: the child has
// them from the start, and what it writes to them is its own.
#pragma once

#include <sys/types.h>

#include <vector>

#include "src/runtime/measurement.h"

namespace tw::runtime {

class HeldInputs {
 public:
  // Those of the request, in the place of any other's. Where memory is short none is held.
  void hold(const RunRequest&);
  // In a child: as the candidate gets them, which may do with them what it likes.
  std::vector<Uploaded> take() { return std::move(inputs_); }

 private:
  Blob blob_;  // whose bytes they are; kept, so that its file's number is nobody else's
  std::vector<Uploaded> inputs_;
};

}  // namespace tw::runtime
