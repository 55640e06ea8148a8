// The interpreter's memory: buffers with a shadow that knows which elements were written, and by which parallel
// iteration.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
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

// Where in the nest of parallel loops the program is. Each iteration of each parallel loop gets a number when it
// begins, and so does what follows a parallel loop; numbers grow with time. Something that happened under number t is
// not ordered before now if some enclosing parallel loop began before t and its present iteration after t.
class Tasks {
 public:
  void begin_loop() { open_.push_back({last_, last_}); }
  void begin_iteration() { open_.back().iteration = ++last_; }
  void end_loop() {
    open_.pop_back();
    ++last_;
  }
  uint32_t now() const { return last_; }
  bool races(uint32_t then) const {
    for (const Level& level : open_)
      if (then > level.loop && then < level.iteration) return true;
    return false;
  }

 private:
  struct Level {
    uint32_t loop, iteration;
  };
  std::vector<Level> open_;
  uint32_t last_ = 0;
};

class Memory {
 public:
  Memory(std::string name, Type element, bool check_unwritten, bool check_races, bool one_value);

  // Memory of the caller, or fresh memory whose contents count as unwritten.
  void bind(void* data, std::vector<int64_t> shape, std::vector<int64_t> strides, bool written);
  void allocate(std::vector<int64_t> shape, std::vector<int64_t> strides);

  const std::string& name() const { return name_; }
  size_t rank() const { return shape_.size(); }
  int64_t extent(size_t d) const { return shape_[d]; }
  int64_t stride(size_t d) const { return strides_[d]; }
  int64_t span() const { return span_; }  // elements from the first to the last, gaps of strides included

  // `at` is within the span.
  Value load(int64_t at, const Tasks& tasks) {
    if (check_unwritten_ && !written_[at]) unwritten(at);
    if (check_races_) note_read(at, tasks);
    return read_(data_, at);
  }
  void store(int64_t at, Value v, const Tasks& tasks) {
    if (check_races_) note_write(at, tasks);
    if (one_value_ && written_[at] && !same(read_(data_, at), v)) rewritten(at);
    if (check_unwritten_) written_[at] = 1;
    write_(data_, at, v);
    if (at == half_used_) write_(data_, at + 1, Value{});
  }

  // For a function that may write from `at` on. Which elements these are is its own affair: of two iterations that give
  // it one address, nobody knows whether they meet.
  void mark_written(int64_t at) {
    if (check_unwritten_) std::fill(written_.begin() + at, written_.begin() + span_, uint8_t{1});
  }
  void* address(int64_t at) const { return static_cast<char*>(data_) + shared_by(at) * element_.bytes(); }

  std::string element(int64_t at) const;  // "A[3, 4]"
  void expect_whole() const;              // a fault when some element of the layout was never written

 private:
  struct Accesses {  // task numbers; 0: none
    uint32_t write = 0, read = 0, earlier_read = 0;
  };

  void lay_out(std::vector<int64_t> shape, std::vector<int64_t> strides, bool written);
  // What threads must not share: the element, or the byte of two.
  int64_t shared_by(int64_t at) const { return element_.is_packed() ? at / 2 : at; }
  void note_read(int64_t at, const Tasks& tasks);
  void note_write(int64_t at, const Tasks& tasks);
  bool same(Value a, Value b) const;  // bit for bit
  [[noreturn]] void unwritten(int64_t at) const;
  [[noreturn]] void rewritten(int64_t at) const;
  [[noreturn]] void race(int64_t at, const char* how) const;

  std::string name_;
  Type element_;
  ReadFn read_;
  WriteFn write_;
  bool check_unwritten_, check_races_, one_value_;
  void* data_ = nullptr;
  std::vector<int64_t> shape_, strides_;
  int64_t span_ = 0;
  int64_t half_used_ = -1;  // the last of an odd number of 4-bit integers: the other half of its byte is 0
  struct alignas(kScratchAlignment) Line {
    char bytes[kScratchAlignment];
  };
  std::unique_ptr<Line[]> own_;
  int64_t own_bytes_ = 0;
  std::vector<uint8_t> written_;
  std::vector<Accesses> accesses_;
};

}  // namespace tw::ir::interp
