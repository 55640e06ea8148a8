// A table from expressions to what is known about them, by structure: equal subtrees of unrolled code are looked at
// once.
#pragma once

#include <vector>

#include "src/ir/simplify_linear.h"
#include "tensorwright/ir.h"

namespace tw::ir {

template <class Known>
class Memo {
 public:
  // Null when nothing is known. The pointer is valid until the next insertion.
  const Known* find(const Expr& e) const {
    if (slots_.empty()) return nullptr;
    const uint64_t hash = e.hash();
    for (size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot& s = slots_[at];
      if (!s.key) return nullptr;
      if (s.hash == hash && identical(s.key, e)) return &s.known;
    }
  }

  // `e` must not be in the table.
  void insert(const Expr& e, Known known) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    place({e.hash(), e, std::move(known)});
    ++used_;
  }

  void clear() {
    slots_.clear();
    used_ = 0;
  }

 private:
  struct Slot {
    uint64_t hash;  // here as well, so that probing stays in the table
    Expr key;
    Known known;
  };

  size_t mask() const { return slots_.size() - 1; }

  void place(Slot slot) {
    size_t at = slot.hash & mask();
    while (slots_[at].key) at = (at + 1) & mask();
    slots_[at] = std::move(slot);
  }

  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(old.empty() ? 32 : 4 * old.size());
    for (Slot& s : old)
      if (s.key) place(std::move(s));
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t used_ = 0;
};

}  // namespace tw::ir
