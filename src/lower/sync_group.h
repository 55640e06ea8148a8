// Registers of a group's products (src/ir/group_products.h) on a way through a launch, by the arrays they are in.
#pragma once

#include <map>
#include <string>
#include <unordered_set>

#include "tensorwright/ir.h"

namespace tw::lower {

class GroupRegisters {
 public:
  // Each says what is wrong; nothing where nothing is.
  std::string touched(const ir::Buffer& registers);  // by a thread
  std::string multiplied(const ir::Buffer& sums);
  std::string ended() const;

  void fence();
  void commit();
  void wait(int64_t count);
  void join(const GroupRegisters& other);  // what may be, on one way or the other

 private:
  bool fenced_ = false;                   // at all
  std::unordered_set<uint64_t> touched_;  // since the last fence
  std::map<uint64_t, int64_t> behind_;    // of sums that are under way, how many batches ended since
  std::map<uint64_t, std::string> names_;
};

}  // namespace tw::lower
