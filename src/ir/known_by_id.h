// What is known of variables, by their ids, of which whatever was learned since some time can be taken back.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tw::ir {

template <class Value>
class KnownById {
 public:
  const Value* find(uint64_t id) const {
    const auto it = known_.find(id);
    return it == known_.end() ? nullptr : &it->second;
  }
  void set(uint64_t id, Value value) {
    note(id);
    known_.insert_or_assign(id, std::move(value));
  }
  void forget(uint64_t id) {
    note(id);
    known_.erase(id);
  }

  size_t now() const { return before_.size(); }
  void back_to(size_t then) {
    for (; before_.size() > then; before_.pop_back()) {
      auto& [id, value] = before_.back();
      if (value) {
        known_.insert_or_assign(id, *std::move(value));
      } else {
        known_.erase(id);
      }
    }
  }

  auto begin() const { return known_.begin(); }
  auto end() const { return known_.end(); }

 private:
  void note(uint64_t id) {
    const Value* value = find(id);
    before_.emplace_back(id, value ? std::optional<Value>(*value) : std::nullopt);
  }

  std::unordered_map<uint64_t, Value> known_;
  std::vector<std::pair<uint64_t, std::optional<Value>>> before_;  // each change, the last one last
};

}  // namespace tw::ir
