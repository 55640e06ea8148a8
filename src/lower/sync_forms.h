// Accesses that differ in the constants of their subscripts only: what is known of two of them is known of all pairs
// whose constants differ by as much.
#pragma once

#include <unordered_map>
#include <vector>

#include "src/ir/interval.h"
#include "src/lower/sync_access.h"

namespace tw::lower {

struct AccessForm {
  size_t number;
  std::vector<int64_t> constants;  // one for each subscript
  bool operator==(const AccessForm&) const = default;
};

class AccessForms {
 public:
  // Of an access what says where it is: no variable that it does not use, nor a condition which always holds or of
  // which only `unsure` says that there is one.
  static void reduce(Access& access);

  // Equal numbers: one buffer, subscripts that are equal but for constants, equal conditions and variables.
  AccessForm of(const Access& access, const ir::Bounds& bounds);

 private:
  static bool alike(const Access& a, const Access& b);

  std::vector<Access> forms_;  // without constants
  std::unordered_multimap<uint64_t, size_t> by_hash_;
};

}  // namespace tw::lower
