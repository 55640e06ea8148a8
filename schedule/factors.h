// The Factors of a Step: whichever of its fields() are one, or may be.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tensorwright/schedule.h"

namespace tw::schedule {

template <class F>
void for_each_factor(const Step& step, F f) {
  const auto look = [&]<class T>(const T& field) {
    if constexpr (std::is_same_v<T, Factor>) f(field);
    if constexpr (std::is_same_v<T, std::optional<Factor>>)
      if (field) f(*field);
  };
  std::visit([&](const auto& kind) { std::apply([&](const auto&... field) { (look(field), ...); }, kind.fields()); },
             step.kind);
}

// fields() is a tuple of references to const members; this Step is its caller's to change.
template <class F>
void for_each_factor(Step& step, F f) {
  for_each_factor(std::as_const(step), [&](const Factor& factor) { f(const_cast<Factor&>(factor)); });
}

}  // namespace tw::schedule
