#include "src/ir/warp_products.h"

#include <algorithm>

namespace tw::ir {

namespace {

// clang-format off: a table
constexpr WarpProduct kProducts[] = {
    {"mma.m16n8k16.bf16", 16, 8, 16, Type::bf16(), Type::f(32)},
    {"mma.m16n8k16.f16",  16, 8, 16, Type::f(16),  Type::f(32)},
    {"mma.m16n8k32.s8",   16, 8, 32, Type::i(8),   Type::i(32)},
    {"mma.m16n8k8.tf32",  16, 8, 8,  Type::f(32),  Type::f(32)},  // operands are rounded to 11 bits first
};
constexpr WarpLoad kLoads[] = {
    {"ldmatrix.x2", 2, false}, {"ldmatrix.x2.trans", 2, true},
    {"ldmatrix.x4", 4, false}, {"ldmatrix.x4.trans", 4, true},
};
// clang-format on

// c, a and b of each lane's own memory, of c what it holds before and after.
std::string product_fault(const WarpProduct& product, const std::vector<Expr>& args) {
  if (args.size() != std::size(kFragments)) return "three addresses expected, of c, a and b";
  for (const Fragment which : kFragments) {
    const auto* a = as<Address>(args[static_cast<size_t>(which)]);
    const Type type = type_of(product, which);
    if (!a || a->buffer.scope() != Scope::kLocal || a->buffer.element() != type)
      return "the address of local memory of " + to_string(type) + " expected, not " +
             to_string(args[static_cast<size_t>(which)]);
    if (!a->read || a->written != (which == Fragment::kSum)) return "inout expected of c, in of a and b";
  }
  return {};
}

// To each lane's own memory, from shared memory.
std::string load_fault(const WarpLoad& load, const std::vector<Expr>& args) {
  const auto* to = args.size() == 2 ? as<Address>(args[0]) : nullptr;
  const auto* from = args.size() == 2 ? as<Address>(args[1]) : nullptr;
  if (!to || !from || to->buffer.scope() != Scope::kLocal || from->buffer.scope() != Scope::kShared || to->read ||
      !to->written || !from->read || from->written)
    return "out of local memory and in of shared memory expected";
  const Type type = to->buffer.element();
  const bool plain = type.bits == 8 || type == Type::f(32);
  if (type != from->buffer.element() || (type.bits != 16 && (!plain || load.transposed)))
    return "elements of " + std::string(load.transposed ? "16 bits" : "8 or 16 bits, or of float32,") +
           " expected, not " + to_string(type) + " and " + to_string(from->buffer.element());
  return {};
}

// To each lane's own memory, from another's.
std::string shuffle_fault(const std::vector<Expr>& args) {
  const bool three = args.size() == 3;
  const auto* to = three ? as<Address>(args[0]) : nullptr;
  const auto* from = three ? as<Address>(args[1]) : nullptr;
  if (!to || !from || to->buffer.scope() != Scope::kLocal || from->buffer.scope() != Scope::kLocal || to->read ||
      !to->written || !from->read || from->written || args[2].type() != Type::index())
    return "out of local memory, in of local memory and the index of a lane expected";
  const Type type = to->buffer.element();
  if (type != from->buffer.element() || type.is_packed())
    return "elements of one type of whole bytes expected, not " + to_string(type) + " and " +
           to_string(from->buffer.element());
  return {};
}

}  // namespace

std::span<const WarpProduct> warp_products() { return kProducts; }

const WarpProduct* warp_product(std::string_view symbol) {
  const auto* found = std::ranges::find(kProducts, symbol, &WarpProduct::name);
  return found == std::end(kProducts) ? nullptr : found;
}

const WarpLoad* warp_load(std::string_view symbol) {
  const auto* found = std::ranges::find(kLoads, symbol, &WarpLoad::name);
  return found == std::end(kLoads) ? nullptr : found;
}

bool is_of_warp(std::string_view symbol) { return warp_product(symbol) || warp_load(symbol) || symbol == kShuffle; }

bool is_of_warp(const Stmt& s) {
  const auto* e = as<Evaluate>(s);
  const auto* c = e ? as<CallExtern>(e->value) : nullptr;
  return c && is_of_warp(c->symbol);
}

std::string warp_fault(const CallExtern& c) {
  if (const WarpProduct* product = warp_product(c.symbol)) return product_fault(*product, c.args);
  if (const WarpLoad* load = warp_load(c.symbol)) return load_fault(*load, c.args);
  return shuffle_fault(c.args);
}

int elements_of(const WarpProduct& p, Fragment which) {
  const int elements = which == Fragment::kSum ? p.m * p.n : which == Fragment::kLeft ? p.m * p.k : p.k * p.n;
  return elements / p.lanes;
}

Type type_of(const WarpProduct& p, Fragment which) { return which == Fragment::kSum ? p.sum : p.operand; }

// As PTX has them, of .row.col: groups of four lanes along m or n, and within a group along k, or n of a sum. What
// stands side by side in a register of 32 bits stands side by side along k.
LaneMap lane_map(const WarpProduct& p, Fragment which) {
  const int beside = 32 / p.operand.bits;
  switch (which) {
    case Fragment::kSum:
      if (p.lanes > kLanesOfWarp)  // a warp for each 16 rows
        return {{{32, 4, 16, 0}, {4, 8, 1, 0}, {1, 4, 0, 2}}, {{1, 2, 0, 1}, {2, 2, 8, 0}, {4, p.n / 8, 0, 8}}};
      return {{{4, 8, 1, 0}, {1, 4, 0, 2}}, {{1, 2, 0, 1}, {2, 2, 8, 0}}};
    case Fragment::kLeft:
      return {{{4, 8, 1, 0}, {1, 4, 0, beside}},
              {{1, beside, 0, 1}, {beside, 2, 8, 0}, {2 * beside, 2, 0, 4 * beside}}};
    case Fragment::kRight:
      return {{{4, 8, 0, 1}, {1, 4, beside, 0}}, {{1, beside, 1, 0}, {beside, 2, 4 * beside, 0}}};
  }
  return {};
}

MatrixPlace<int> place_of(const LaneMap& map, int lane, int element) {
  MatrixPlace<int> out{0, 0};
  const auto add = [&](const std::vector<LaneDigit>& digits, int number) {
    for (const LaneDigit& d : digits) {
      out.row += number / d.divisor % d.radix * d.row;
      out.column += number / d.divisor % d.radix * d.column;
    }
  };
  add(map.of_lane, lane);
  add(map.of_element, element);
  return out;
}

MatrixPlace<Expr> place_of(const LaneMap& map, const Expr& lane, const Expr& element) {
  MatrixPlace<Expr> out{0, 0};
  const auto add = [&](const std::vector<LaneDigit>& digits, const Expr& number) {
    for (const LaneDigit& d : digits) {
      const Expr digit = floormod(floordiv(number, Expr(d.divisor)), Expr(d.radix));
      if (d.row != 0) out.row = out.row + digit * Expr(d.row);
      if (d.column != 0) out.column = out.column + digit * Expr(d.column);
    }
  };
  add(map.of_lane, lane);
  add(map.of_element, element);
  return out;
}

}  // namespace tw::ir
