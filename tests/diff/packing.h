// The arguments of a sample as its schedule wants them: parameters that transform_layout packs are packed by the
// program that packs them, in the interpreter.
#pragma once

#include "tests/diff/values.h"

namespace tw::diff {

class Packing {
 public:
  Packing() = default;
  Packing(const Sample&, const schedule::Schedule&);

  // Runs a program of the schedule, in the interpreter too.
  Result<Memory> run(const ir::Program&, const Memory& arguments, const std::vector<int64_t>& sizes,
                     ir::InterpOptions options = {}) const;
  Memory packed(const Memory& arguments, const std::vector<int64_t>& sizes) const;
  // The results, with the parameters as they were declared; a parameter that was written is left as it is.
  Memory unpacked(Memory results, const Memory& packed, const Memory& arguments) const;

 private:
  std::vector<int64_t> extents_of(const ir::Program&, const te::Tensor& declared,
                                  const std::vector<int64_t>& sizes) const;

  const Sample* sample_ = nullptr;
  std::vector<std::pair<size_t, ir::Program>> programs_;  // by argument
};

}  // namespace tw::diff
