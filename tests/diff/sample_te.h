// Random tensor expressions.
#pragma once

#include "tensorwright/te.h"
#include "tests/diff/random.h"

namespace tw::diff {

struct Expression {
  std::vector<te::Tensor> outputs, args;
  bool exact = true;  // integers: the order of a sum does not matter
};

// One to four stages over one to three placeholders: elementwise, halos, padding, strides, transposes, reshapes,
// broadcasts, reductions, matrix products, convolutions and gathers, with the sizes that don't divide.
Expression random_expression(Random&);

}  // namespace tw::diff
