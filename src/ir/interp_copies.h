// What a thread of a launch has begun to store `later`.
//
//   S[i] = A[j] later   S[i] is on its way: whoever touches it makes a mistake, and who writes A[j], unless it is the
//                       thread's own memory, which is read now
//   sync commit         what was begun since the last one is a group
//   sync wait n         all groups but the last n arrive: a store by this thread, at this time
//
// Because nobody may look in between, it makes no difference when a value arrives: what goes wrong if it is early or
// late is found once and for all.
#pragma once

#include <deque>
#include <vector>

#include "src/ir/interp_memory.h"

namespace tw::ir::interp {

class Copies {
 public:
  void begin(Memory& memory, int64_t at, Value value, const Tasks& tasks);
  void reads(const std::vector<Element>& sources);  // of what was begun last
  void commit() { groups_.emplace_back(); }
  void wait(int64_t but, const Tasks& tasks);
  // At the end of a thread, or of that memory.
  void expect_none(const Tasks& tasks, const Memory* ends = nullptr) const;

 private:
  struct Begun {
    Element to;
    Value value;
  };
  struct Group {
    std::vector<Begun> stores;
    std::vector<Element> sources;
  };

  uint32_t begun() const { return arrived_ + static_cast<uint32_t>(groups_.size()); }  // groups, with the open one

  std::deque<Group> groups_{1};  // the last is still open
  uint32_t arrived_ = 0;         // groups that were waited for
};

}  // namespace tw::ir::interp
