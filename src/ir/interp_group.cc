#include "src/ir/interp_group.h"

#include <algorithm>

namespace tw::ir::interp {

const std::vector<Value>* GroupSums::under_way(const Memory& memory, int64_t at, size_t count) const {
  const auto found = std::ranges::find_if(
      sums_, [&](const Sum& sum) { return sum.to.memory == &memory && sum.to.at == at && sum.values.size() == count; });
  return found == sums_.end() ? nullptr : &found->values;
}

void GroupSums::begin(Memory& memory, int64_t at, std::vector<Value> values, const Tasks& tasks) {
  for (Sum& sum : sums_)
    if (sum.to.memory == &memory && sum.to.at == at && sum.values.size() == values.size()) {
      sum = {sum.to, std::move(values)};
      return;
    }
  for (size_t i = 0; i < values.size(); ++i) memory.begin_arrival(at + static_cast<int64_t>(i), tasks);
  sums_.push_back({{&memory, at}, std::move(values)});
}

void GroupSums::reads(std::vector<Element> sources) {
  for (const Element& source : sources) source.memory->hold(source.at);
  operands_.push_back({std::move(sources)});
}

void GroupSums::commit() {
  for (Sum& sum : sums_) ++sum.behind;
  for (Operands& operands : operands_) ++operands.behind;
}

void GroupSums::wait(int64_t but, const Tasks& tasks) {
  for (const Operands& operands : operands_)
    for (const Element& source : operands.sources)
      if (operands.behind > but) source.memory->release(source.at);
  std::erase_if(operands_, [&](const Operands& operands) { return operands.behind > but; });
  for (Sum& sum : sums_)
    for (size_t i = 0; i < sum.values.size() && sum.behind > but; ++i)
      sum.to.memory->arrive(sum.to.at + static_cast<int64_t>(i), sum.values[i], tasks);
  std::erase_if(sums_, [&](const Sum& sum) { return sum.behind > but; });
}

void GroupSums::expect_none(const Tasks& tasks) const {
  if (!sums_.empty()) sums_[0].to.memory->on_its_way(sums_[0].to.at, "its thread ends", tasks);
}

}  // namespace tw::ir::interp
