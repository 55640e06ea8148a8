// Copies of boxes and the barriers that count them (src/ir/async_copies.h), of the block that runs.
// Who waits for a turn that others arrive at knows of all that they did before.
//
// As with what is stored later it makes no difference when bytes arrive: nobody may look before a turn is over and
// waited for, nor change what is read. A thread that has waited sees the box; others do after the block's next barrier.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/interp_memory.h"

namespace tw::ir::interp {

class Barriers {
 public:
  struct Copied {
    Element to;
    Value value;
  };
  struct Box {
    std::vector<Copied> elements;
    std::vector<Element> sources;
    int64_t bytes = 0;
  };
  // A turn of a ring, at the barrier that it has.
  struct Turn {
    Memory* ring;
    int64_t at, slots, number;
    int64_t phase() const { return number / slots; }
  };

  void begin_block() { all_.clear(); }
  void init(const Turn&, int64_t arrivals);
  void end(const Turn&);
  // By a thread that has waited for these.
  void expect(const Turn&, int64_t bytes, const std::vector<const void*>& seen);
  void copy(const Turn&, Box box, const Tasks&);
  // What a thread has done, by the last task of each thread that it knows to be done, and what it has waited for.
  struct Knowledge {
    std::vector<uint32_t> tasks;
    std::vector<const void*> seen;
    void add(const Knowledge& other);
  };
  bool arrive(const Turn&, int64_t thread, const Knowledge&);  // whether the turn is over now
  const Knowledge& of_arrivals(const Turn&) const;             // of a turn that is over
  bool is_over(const Turn&) const;
  // By a thread that waits for a turn that is over; `seen` is what it has waited for.
  void see(const Turn&, std::vector<const void*>& seen);
  void meet();  // all threads of the block: what one has waited for all see
  void expect_none(const Tasks&) const;
  std::string why_not_over(const Turn&) const;

 private:
  struct Phase {
    std::vector<Box> boxes;
    bool seen = false, by_all = false;
    std::vector<int64_t> threads;  // that have arrived
    Knowledge done;
  };
  struct Barrier {
    int64_t phase = 0;                  // that is not over
    bool begun = false;                 // somebody has said how much comes
    int64_t expected = 0, arrived = 0;  // bytes
    int64_t threads = 0;                // that arrive in a turn; 0: bytes are counted
    std::shared_ptr<Phase> now, last;
  };
  Barrier& of(const Turn&);
  const Barrier& of(const Turn&) const;
  Barrier& to_begin(const Turn&);
  void go_on(const Turn&, Barrier&);

  std::map<std::pair<Memory*, int64_t>, Barrier> all_;
  std::vector<std::shared_ptr<Phase>> apart_;  // seen by some threads
};

std::string name_of(const Barriers::Turn&);  // "turn 4 of full"

}  // namespace tw::ir::interp
