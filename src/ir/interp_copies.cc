#include "src/ir/interp_copies.h"

namespace tw::ir::interp {

void Copies::begin(Memory& memory, int64_t at, Value value, const Tasks& tasks) {
  memory.begin_arrival(at, begun(), tasks);
  groups_.back().stores.push_back({{&memory, at}, value});
}

void Copies::reads(const std::vector<Element>& sources) {
  for (const Element& source : sources) {
    source.memory->hold(source.at);
    groups_.back().sources.push_back(source);
  }
}

void Copies::wait(int64_t but, const Tasks& tasks) {
  while (std::ssize(groups_) - 1 > but) {
    ++arrived_;
    for (const Element& source : groups_.front().sources) source.memory->release(source.at);
    for (const Begun& begun : groups_.front().stores)
      begun.to.memory->arrive(begun.to.at, begun.value, arrived_, tasks);
    groups_.pop_front();
  }
}

void Copies::expect_none(const Tasks& tasks, const Memory* ends) const {
  for (const Group& group : groups_)
    for (const Begun& begun : group.stores)
      if (ends == nullptr || begun.to.memory == ends)
        begun.to.memory->on_its_way(begun.to.at, ends ? "its memory ends" : "its thread ends", tasks);
}

}  // namespace tw::ir::interp
