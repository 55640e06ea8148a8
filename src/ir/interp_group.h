// Products of four warps in the interpreter (src/ir/group_products.h): what a thread has under way.
//
// As with what is stored later it makes no difference when sums arrive: nobody may look before a wait that covers them,
// nor change what the operands are.
#pragma once

#include <vector>

#include "src/ir/interp_memory.h"

namespace tw::ir::interp {

class GroupSums {
 public:
  // The sums that are under way from there on, for a product that goes on with them; null: none are.
  const std::vector<Value>* under_way(const Memory& memory, int64_t at, size_t count) const;
  void begin(Memory& memory, int64_t at, std::vector<Value> values, const Tasks& tasks);
  void reads(std::vector<Element> sources);  // of what was begun last
  void commit();
  void wait(int64_t but, const Tasks& tasks);
  void expect_none(const Tasks& tasks) const;  // at the end of a thread

 private:
  struct Sum {
    Element to;
    std::vector<Value> values;
    int64_t behind = 0;  // batches that have ended since the last product of it began
  };
  struct Operands {
    std::vector<Element> sources;
    int64_t behind = 0;
  };
  std::vector<Sum> sums_;
  std::vector<Operands> operands_;
};

}  // namespace tw::ir::interp
