// Where the walk of sync_check is, and what it keeps of an access.
#pragma once

#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/walk.h"
#include "src/lower/sync_access.h"
#include "src/lower/sync_forms.h"

namespace tw::lower {

// What holds where the walk is.
struct Place {
  std::vector<OwnVariable> own;  // of the thread: its loops, and lets of what it has read
  std::vector<ir::Expr> conditions;
  ir::Substitution values;  // of lets, and of loops whose iteration is known

  Place under(ir::Expr condition) const {
    Place out = *this;
    out.conditions.push_back(std::move(condition));
    return out;
  }
  Place with(const ir::Var& var, ir::Expr value) const {
    Place out = *this;
    out.values.insert_or_assign(var.id(), std::move(value));
    return out;
  }
  Place with_own(const ir::Var& var, ir::Expr extent) const {
    Place out = *this;
    out.own.push_back({var, std::move(extent)});
    return out;
  }
};

// Of a store that arrives later, and of what it reads, how many commits stand between it and the walk: 1 says that its
// group is the last one.
struct Touched : Access {
  AccessForm form;
  std::optional<int64_t> behind;  // none: done
  ir::Expr turn;                  // of the ring's barriers, of a box that arrives then and of who begins it or waits
  uint64_t ring = 0;
  bool waits = false;
  bool of_group = false;  // what a product reads, until a wait that covers it
  bool unfenced = false;  // a store of a thread, which no fence.async of it follows
  bool over = false;      // a barrier follows, but does not end it for products: the fence was not there before it
  int64_t number = 0;     // in the order in which the walk met them, whatever it has learned of them since
};

// What is known of pairs of accesses, each pair judged once.
class Verdicts {
 public:
  const Verdict& of(const Touched& a, const Touched& b, const LaunchIndices& launch, Apart apart,
                    const std::unordered_set<uint64_t>& changing);
  int64_t rows() const { return rows_; }  // that all verdicts took

 private:
  std::map<std::vector<int64_t>, Verdict> known_;  // of two forms, by how their constants differ
  int64_t rows_ = 0;
};

// Of an expression with lanes, the value of one.
ir::Expr lane_of(const ir::Expr& e, const ir::Expr& lane);

}  // namespace tw::lower
