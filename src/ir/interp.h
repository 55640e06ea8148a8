// The interpreter: the reference for meaning, never for speed. Runs any stage of lowering: the naive program of an
// unscheduled tensor expression (Reduce inside expressions), scheduled loops, vectorised and predicated loads and
// stores.
//
// It checks every access against its buffer, reports reads of memory that nothing wrote, and in parallel loops reports
// data races (two iterations touch one element and at least one writes).
//
// Of a launch it runs block by block, and the threads of a block one after the other from barrier to barrier. It
// reports what is a mistake in any order of them: two threads that touch one element, one of which writes, with no
// barrier of their block in between; a barrier where not all of them meet, each in the same iteration of the loops
// around it; and of what is stored later, whoever touches it before it has arrived, writes what it reads, or ends
// without waiting for it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

struct InterpBuffer {
  void* data;  // elements of the parameter's type, compact row-major (or by the buffer's strides), 4-bit integers two
               // to a byte
  size_t bytes;
};

struct InterpOptions {
  bool check_unwritten = true;  // outputs count as unwritten at entry
  bool check_races = true;
  // The contract of bounds inference, for programs as to_ir gives them: outputs are written whole, and an element is
  // given one value only. A buffer that some store updates (its value reads the element that it writes) may change, and
  // so may those of these names: rolling and double buffers, whose slots come round again, and sums, as a condition in
  // the value may write the element's subscripts in another way. What the passes from `accumulators` on make of a
  // reduction does not show that any more.
  bool check_one_value = false;
  std::vector<std::string> changing = {};
  std::vector<uint64_t> scalars = {};  // of the program, in order: the low bytes hold a value of the scalar's type
  // Of the blocks of a launch and, after each barrier, of their threads. A program without races does the same in all.
  enum class Order : uint8_t { kAscending, kDescending, kShuffled };
  Order order = Order::kAscending;
  uint64_t seed = 0;      // of kShuffled
  int64_t max_steps = 0;  // stop with a Diagnostic after so many stores, left out ones too, and eight
                          // elements of memory that is made as one; 0: no limit
};

// What the Diagnostic of max_steps says.
std::string stopped_after(int64_t steps);

// One buffer per parameter. ok, or what went wrong where (kind kInternal: a wrong program; kArgument: a wrong buffer).
Status interpret(const Program&, std::span<const InterpBuffer>, const InterpOptions& = {});

}  // namespace tw::ir
