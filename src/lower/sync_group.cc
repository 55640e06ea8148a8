#include "src/lower/sync_group.h"

#include <algorithm>

namespace tw::lower {

std::string GroupRegisters::touched(const ir::Buffer& registers) {
  touched_.insert(registers.id());
  return behind_.contains(registers.id()) ? "no wait covers the product that it is the sum of" : "";
}

std::string GroupRegisters::multiplied(const ir::Buffer& sums) {
  const bool fenced = fenced_ && !touched_.contains(sums.id());
  behind_[sums.id()] = 0;
  names_[sums.id()] = sums.name();
  return fenced ? "" : "no wgmma.fence stands between what a thread does to it and the product";
}

std::string GroupRegisters::ended() const {
  return behind_.empty() ? ""
                         : "the launch ends before a wait covers the products of " + names_.at(behind_.begin()->first);
}

void GroupRegisters::fence() {
  fenced_ = true;
  touched_.clear();
}

void GroupRegisters::commit() {
  for (auto& [sums, behind] : behind_) ++behind;
}

void GroupRegisters::wait(int64_t count) {
  std::erase_if(behind_, [&](const auto& sums) { return sums.second > count; });
}

void GroupRegisters::join(const GroupRegisters& other) {
  fenced_ = fenced_ && other.fenced_;
  touched_.insert(other.touched_.begin(), other.touched_.end());
  names_.insert(other.names_.begin(), other.names_.end());
  for (const auto& [sums, behind] : other.behind_) {
    const auto [known, fresh] = behind_.emplace(sums, behind);
    if (!fresh) known->second = std::min(known->second, behind);
  }
}

}  // namespace tw::lower
