// What a client asks of a board besides its key: conditions on what boards say of themselves.
//
//   cores >= 4 and sandbox.seccomp and "dotprod" in features
//
//   predicate = nothing, which every board meets | condition { "and" condition }
//   condition = FIELD              it is true or, of a layer of the sandbox, holds
//             | FIELD OP VALUE     OP: == != < <= > >=, of which numbers alone take the last four
//             | TEXT "in" FIELD    a list has it
//   FIELD     = a name of the description, those inside of others after a point
//   VALUE     = a number | TEXT | true | false
//   TEXT      = "..." or '...'
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rpc/tracker/facts.h"

namespace tw::rpc {

class Predicate {
 public:
  // An error (kRpc) shows the place.
  static Result<Predicate> parse(std::string_view text);

  // "" where the board meets it; else what it lacks: "cores is 2, not >= 4".
  std::string lacking(const Facts&) const;
  const std::string& text() const { return text_; }

 private:
  enum class Op : uint8_t { kHolds, kEqual, kUnequal, kLess, kAtMost, kMore, kAtLeast, kIn };
  using Value = std::variant<bool, double, std::string>;
  struct Condition {
    std::string field;
    Op op = Op::kHolds;
    Value value = true;
  };
  class Parser;
  static std::string lacking(const Condition&, const Facts&);

  std::string text_;
  std::vector<Condition> conditions_;
};

}  // namespace tw::rpc
