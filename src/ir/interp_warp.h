// Products and loads of a warp in the interpreter (src/ir/warp_products.h): what a lane brings, and what all lanes make
// of it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "src/ir/interp_program.h"
#include "src/ir/warp_products.h"

namespace tw::ir::interp {

// A lane reads its fragments, or the row that it names, before it waits for the others, and stores what it gets once it
// goes on.
struct LaneCall {
  std::string_view name;
  int number;  // of the call in the text of the launch
  const WarpProduct* product = nullptr;
  const WarpLoad* load = nullptr;
  int in_word = 1;                   // of a load: elements of four bytes
  std::array<int64_t, 3> offsets{};  // in registers; of a load where the first goes
  std::array<std::vector<Value>, 3> fragments{};
  // Of a group's product: whether each of its operands lies in lines along the terms; a fragment is a share of them.
  std::array<bool, 2> terms_along_lines{};
  int64_t lane = -1;  // of an exchange: whose element this one gets
  size_t lanes() const { return product ? static_cast<size_t>(product->lanes) : kLanesOfWarp; }
};

// Leaves in the first fragment what each lane gets, of an exchange nothing where nothing was there; a Fault where
// registers are at different places.
void together(std::span<LaneCall* const> lanes);

// The next one in the text of the launch that is being prepared.
ExprPtr warp_code(Preparation&, const CallExtern&);

}  // namespace tw::ir::interp
