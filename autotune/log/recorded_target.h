// Lines of earlier releases name targets with features that code has none of (+cldemote,-pku), the CPU by its model
// number even where the features contradict it, and triples as they were spelled: none where AArch64 was the host.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tensorwright/target.h"

namespace tw::autotune {

// The text that a recorded target has today; as it stands where nobody here can read it. `here` is -mcpu=native, if
// that is where the line was measured: what has the same features then is the same target, whatever its name.
std::string target_today(const std::string& recorded, const Target* here);
// For a line that says it was measured on `hardware`.
std::string target_today(const std::string& recorded, const std::string& hardware);

// Whether a line is of a target, on any machine alike. The CPU that an earlier release named may be called otherwise
// today: what its code may use says whether it is this one.
class OfTarget {
 public:
  explicit OfTarget(const Target& wanted) : wanted_(wanted), text_(wanted.to_string()) {}
  bool operator()(std::string_view line);

 private:
  bool is(const std::string& recorded) const;

  const Target wanted_;
  const std::string text_;
  std::map<std::string, bool> known_;
};

}  // namespace tw::autotune
