// The interpreter's memory: buffers with a shadow that knows which elements were written, and by which parallel
// iteration or thread of a launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/interp_value.h"
#include "src/support/scratch_alignment.h"
#include "tensorwright/ir.h"

namespace tw::ir::interp {

// A mistake of the program, thrown through the interpreter and turned into a Diagnostic at its entry.
struct Fault {
  ErrorKind kind;
  std::string what;
  std::vector<std::string> notes;
};

// Says of a task of a launch which thread it was.
struct ThreadNames {
  virtual ~ThreadNames() = default;
  virtual std::string name(uint32_t task) const = 0;                    // "bx = 3, tx = 5"
  virtual std::string missing_order(uint32_t a, uint32_t b) const = 0;  // why neither comes before the other
};

// Of a launch's tasks between two barriers of the block, which come before what runs all the same.
struct TaskOrder {
  virtual ~TaskOrder() = default;
  virtual bool precedes(uint32_t task) const = 0;
};

struct Element {
  class Memory* memory;
  int64_t at;
};

// What a thread has stored, and the task of it that did.
struct Stored : Element {
  uint32_t task;
};

// Where in the nest of parallel loops the program is. Each iteration of each parallel loop gets a number when it
// begins, and so does what follows a parallel loop; numbers grow with time. Something that happened under number t is
// not ordered before now if some enclosing parallel loop began before t and its present iteration after t.
//
// A launch is a parallel loop over blocks, and in each block one after the other over threads: up to the first barrier,
// from there to the second, and so on. That is all that a barrier of a block means: it orders everything that the
// block's threads did before it ahead of everything that they do after it, and nothing else does.
class Tasks {
 public:
  const ThreadNames* names = nullptr;              // of the launch that runs
  std::vector<Element>* reads = nullptr;           // where somebody wants to know what is read that others may change
  const std::vector<const void*>* seen = nullptr;  // what the thread that runs has waited for
  const uint32_t* fences = nullptr;                // of the thread that runs, and what it has stored without one
  std::vector<Stored>* stored = nullptr;
  const TaskOrder* order = nullptr;  // of the launch that runs
  // Whether memory of another block of the cluster is touched: only what came before the cluster's last barrier, whose
  // last task is `met`, and what is known by arrivals, comes before that.
  bool elsewhere = false;
  uint32_t met = 0;

  void begin_loop() { open_.push_back({last_, last_}); }
  void begin_iteration() {
    open_.back().iteration = ++last_;
    newest_ = last_;
  }
  // The innermost loop's next `count` iterations have numbers of their own: the last one before them.
  uint32_t begin_iterations(int64_t count) {
    newest_ = last_ + static_cast<uint32_t>(count);
    return last_;
  }
  // What follows in the iteration that runs is told apart from what it did before.
  uint32_t begin_part() {
    resume_iteration(++newest_);
    return last_;
  }
  // One of the innermost loop goes on, all of which have begun.
  void resume_iteration(uint32_t task) { open_.back().iteration = open_.back().until = last_ = task; }
  void end_loop() {
    last_ = std::max(last_, newest_) + 1;
    open_.pop_back();
  }
  uint32_t now() const { return last_; }
  bool within_outermost(uint32_t then) const { return !open_.empty() && then > open_.front().loop; }
  bool races(uint32_t then) const {
    if (elsewhere && then > met && !(order && order->precedes(then))) return true;
    for (const Level& level : open_)
      if (then > level.loop && (then < level.iteration || then > level.until))
        return &level != &open_.back() || !order || !order->precedes(then);
    return false;
  }

 private:
  struct Level {
    uint32_t loop, iteration;
    uint32_t until = std::numeric_limits<uint32_t>::max();  // the last number that belongs to the iteration
  };
  std::vector<Level> open_;
  uint32_t last_ = 0, newest_ = 0;
};

class Memory {
 public:
  Memory(std::string name, Type element, bool check_unwritten, bool check_races, bool one_value);

  Memory another() const;  // nothing bound yet

  // Before anything is bound: of sums of a group's products, and of their operands.
  enum class Role : uint8_t { kPlain, kSums, kOperand };
  void set_role(Role role) { role_ = role; }
  // Of a ring that is filled by copies: how many elements a slot has. When copies fill it again, what they leave out of
  // it is gone, as far as copies brought it.
  void set_slot(int64_t elements) { slot_ = elements; }

  // Memory of the caller, or fresh memory whose contents count as unwritten.
  void bind(void* data, std::vector<int64_t> shape, std::vector<int64_t> strides, bool written);
  void allocate(std::vector<int64_t> shape, std::vector<int64_t> strides);

  // Of memory that a block shares. One piece of memory serves all blocks, and each time that a thread comes to the
  // allocation: what it has written is what was written since, by threads that have come there as often.
  void begin_block() { before_block_ = newest_; }
  void enter(uint32_t time, std::vector<int64_t> shape, std::vector<int64_t> strides);  // the first time is 1
  void seen_at(uint32_t time) { generation_ = before_block_ + time; }                   // by a thread that goes on

  const std::string& name() const { return name_; }
  size_t rank() const { return shape_.size(); }
  int64_t extent(size_t d) const { return shape_[d]; }
  int64_t stride(size_t d) const { return strides_[d]; }
  int64_t span() const { return span_; }  // elements from the first to the last, gaps of strides included

  // `at` is within the span.
  Value load(int64_t at, const Tasks& tasks) {
    if (!arriving_.empty()) expect_arrived(at, Access::kReads, tasks);
    if (check_unwritten_ && written_[at] != generation_) unwritten(at, tasks);
    if (role_ == Role::kSums) touched_[at] = *tasks.fences;
    if (slot_ > 0) expect_of_this_turn(at, tasks);
    if (check_races_) {
      note_read(at, tasks);
      if (tasks.reads) tasks.reads->push_back({this, at});
    }
    return read_(data_, at);
  }
  // Of registers that lanes exchange: what nobody has written is handed on as such.
  bool is_written(int64_t at) const { return !check_unwritten_ || written_[at] == generation_; }
  void forget(int64_t at) {
    if (check_unwritten_) written_[at] = 0;
  }
  void store(int64_t at, Value v, const Tasks& tasks) {
    if (!arriving_.empty()) expect_arrived(at, Access::kWrites, tasks);
    if (!held_.empty()) expect_released(at, tasks);
    if (check_races_) note_write(at, tasks);
    if (one_value_ && written_[at] == generation_ && !same(read_(data_, at), v)) rewritten(at);
    if (check_unwritten_) written_[at] = generation_;
    by_threads_ = true;
    if (role_ != Role::kPlain) note_role(at, tasks);
    if (slot_ > 0) group_of_[at] = 0;
    if (by_boxes_) mixed(at);
    write_(data_, at, v);
    if (at == half_used_) write_(data_, at + 1, Value{});
  }

  // A value that is stored later: nobody touches the element until it has arrived. `group`: which of its thread's
  // groups it belongs to, from 1 on.
  void begin_arrival(int64_t at, const Tasks& tasks);
  void begin_arrival(int64_t at, uint32_t group, const Tasks& tasks);
  void arrive(int64_t at, Value v, const Tasks& tasks) {
    arriving_.erase(at);
    store(at, v, tasks);
  }
  void arrive(int64_t at, Value v, uint32_t group, const Tasks& tasks) {
    arrive(at, v, tasks);
    if (slot_ > 0) group_of_[static_cast<size_t>(at)] = group;
  }
  // The same of a box that the device copies: `seen` is what those have waited for who may touch it before all settle.
  void begin_box(int64_t at, const Tasks& tasks);
  void land(int64_t at, Value v, const void* seen);
  void settle(int64_t at, const void* seen);
  [[noreturn]] void on_its_way(int64_t at, const std::string& what, const Tasks& tasks) const;
  // What such a value reads: nobody writes it until then.
  void hold(int64_t at) { ++held_[at]; }
  void release(int64_t at) {
    if (--held_.at(at) == 0) held_.erase(at);
  }

  // Of sums: that nothing has touched the register since the last of so many fences. Of operands: that whoever has
  // stored there has fenced it, before whoever reads it now.
  void expect_fenced_register(int64_t at, uint32_t fences, std::string_view product) const;
  void expect_fenced(int64_t at, std::string_view product, const Tasks& tasks) const;
  void fenced(const Stored&, const Tasks& tasks);

  // For a function that may write from `at` on. Which elements these are is its own affair: of two iterations that give
  // it one address, nobody knows whether they meet.
  void mark_written(int64_t at) {
    if (check_unwritten_) std::fill(written_.begin() + at, written_.begin() + span_, generation_);
  }
  void* address(int64_t at) const { return static_cast<char*>(data_) + shared_by(at) * element_.bytes(); }

  std::string element(int64_t at) const;  // "A[3, 4]"
  void expect_whole() const;              // a fault when some element of the layout was never written

 private:
  // Task numbers; 0: none. A read that races with what follows is one of three: of the innermost loop's tasks the last
  // two tell, as tasks run one after the other, and of the outermost loop's the first.
  struct Accesses {
    uint32_t write = 0, read = 0, earlier_read = 0, first_read = 0;
  };

  void lay_out(std::vector<int64_t> shape, std::vector<int64_t> strides, bool written);
  // What threads must not share: the element, or the byte of two.
  int64_t shared_by(int64_t at) const { return element_.is_packed() ? at / 2 : at; }
  void note_read(int64_t at, const Tasks& tasks);
  void note_write(int64_t at, const Tasks& tasks);
  void note_role(int64_t at, const Tasks& tasks);
  bool same(Value a, Value b) const;  // bit for bit
  [[noreturn]] void unwritten(int64_t at, const Tasks& tasks) const;
  [[noreturn]] void rewritten(int64_t at) const;
  enum class Access : uint8_t { kReads, kWrites };
  void expect_arrived(int64_t at, Access now, const Tasks& tasks) const;
  void expect_released(int64_t at, const Tasks& tasks) const;
  [[noreturn]] void mixed(int64_t at) const;
  void expect_of_this_turn(int64_t at, const Tasks& tasks) const;
  [[noreturn]] void race(int64_t at, Access then, uint32_t task, Access now, const Tasks& tasks) const;

  std::string name_;
  Type element_;
  ReadFn read_;
  WriteFn write_;
  bool check_unwritten_, check_races_, one_value_;
  void* data_ = nullptr;
  std::vector<int64_t> shape_, strides_;
  int64_t span_ = 0;
  bool by_threads_ = false, by_boxes_ = false;  // who has written there
  int64_t half_used_ = -1;  // the last of an odd number of 4-bit integers: the other half of its byte is 0
  struct alignas(kScratchAlignment) Line {
    char bytes[kScratchAlignment];
  };
  std::unique_ptr<Line[]> own_;
  int64_t own_bytes_ = 0;
  uint32_t generation_ = 1;                 // of contents: what an earlier one wrote counts as unwritten
  uint32_t before_block_ = 0, newest_ = 0;  // generations of memory that a block shares
  std::vector<uint32_t> written_;           // by which generation; 0: never
  std::vector<Accesses> accesses_;
  struct Arriving {
    uint32_t task;  // that began to store there
    const void* seen = nullptr;
  };
  std::unordered_map<int64_t, Arriving> arriving_;  // elements
  std::unordered_map<int64_t, int> held_;           // elements, and how many values that are on their way read them
  Role role_ = Role::kPlain;
  std::vector<uint32_t> touched_;  // behind how many fences
  struct Fence {
    uint32_t stored, fenced = 0;  // tasks; 0: not yet
  };
  std::unordered_map<int64_t, Fence> fences_;  // of elements that threads have stored
  // A turn of a slot begins with a copy to what an earlier group of the turn before has filled.
  struct Turn {
    uint32_t group = 0, task = 0;  // with which it began, and whose copy
  };
  int64_t slot_ = 0;                // elements; 0: no ring
  std::vector<uint32_t> group_of_;  // whose copy the element holds; 0: a thread's store, or nothing
  std::vector<Turn> turns_;         // of each slot, the last
};

}  // namespace tw::ir::interp
