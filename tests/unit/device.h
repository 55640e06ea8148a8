// The GPU for which tests make code, and judge it without having one.
#pragma once

#include "tensorwright/target.h"

namespace tw::test {

inline const Target& device() {
  static const Target target = Target::parse("cuda -arch=sm_90a").value_or_throw();
  return target;
}

}  // namespace tw::test
