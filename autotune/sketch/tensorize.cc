// Which shipped intrinsic computes the inner loops of a contraction.
//
//   for lane in 0..16: for q in 0..4: C[i, lane] += A[i, q] * W[q, lane]      ==>      one instruction
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

// clang-format off: a table
const Dot kDots[] = {
    {"amx.u8s8",             DotProduct::kU8I8,       ir::Type::u(8),   ir::Type::i(8),   ir::Type::i(32), 16, 64, 16, 4},
    {"amx.s8s8",             DotProduct::kI8I8,       ir::Type::i(8),   ir::Type::i(8),   ir::Type::i(32), 16, 64, 16, 4},
    {"amx.bf16",             DotProduct::kBF16,       ir::Type::bf16(), ir::Type::bf16(), ir::Type::f(32), 16, 32, 16, 2},
    {"avx512_vnni_dot_16x4", DotProduct::kU8I8,       ir::Type::u(8),   ir::Type::i(8),   ir::Type::i(32), 16, 4},
    {"avx512_vnni_s8s8_16x4", DotProduct::kI8I8,      ir::Type::i(8),   ir::Type::i(8),   ir::Type::i(32), 16, 4},
    {"avx_vnni_dot_8x4",     DotProduct::kU8I8,       ir::Type::u(8),   ir::Type::i(8),   ir::Type::i(32), 8,  4},
    {"avx_vnni_s8s8_8x4",    DotProduct::kI8I8,       ir::Type::i(8),   ir::Type::i(8),   ir::Type::i(32), 8,  4},
    {"avx512_bf16_dot_16x2", DotProduct::kBF16,       ir::Type::bf16(), ir::Type::bf16(), ir::Type::f(32), 16, 2},
    {"neon_smmla_2x2x8",     DotProduct::kMatI8I8,    ir::Type::i(8),   ir::Type::i(8),   ir::Type::i(32), 2,  8, 2},
    {"neon_sdot_4x4",        DotProduct::kI8I8,       ir::Type::i(8),   ir::Type::i(8),   ir::Type::i(32), 4,  4},
    {"neon_udot_4x4",        DotProduct::kU8U8,       ir::Type::u(8),   ir::Type::u(8),   ir::Type::i(32), 4,  4},
    {"neon_usdot_4x4",       DotProduct::kU8I8,       ir::Type::u(8),   ir::Type::i(8),   ir::Type::i(32), 4,  4},
    {"neon_bfmmla_2x2x4",    DotProduct::kMatBF16Odd, ir::Type::bf16(), ir::Type::bf16(), ir::Type::f(32), 2,  4, 2},
    {"neon_bfdot_4x2",       DotProduct::kBF16Odd,    ir::Type::bf16(), ir::Type::bf16(), ir::Type::f(32), 4,  2},
};
// clang-format on

// A product of the two reads, each cast to the type of the sums and nothing else. What a stage of its own pads is read
// there.
bool is_plain_product(const Stage& stage, bool pads) {
  const auto* product = ir::as<ir::Binary>(ir::as<ir::Reduce>(stage.bodies[0])->sources[0]);
  const auto is_cast_read = [&](const ir::Expr& e) {
    const auto* cast = ir::as<ir::Cast>(e);
    if (!cast || e->type != stage.type) return false;
    const auto* padded = pads ? ir::as<ir::Select>(cast->value) : nullptr;
    return ir::as<ir::Load>(cast->value) || (padded && (ir::as<ir::Load>(padded->yes) || ir::as<ir::Load>(padded->no)));
  };
  return product && product->op == ir::BinOp::kMul && is_cast_read(product->a) && is_cast_read(product->b);
}

bool has(const Abilities& abilities, const Dot& dot) {
  if (!dot.is_tile()) return abilities.dot_lanes(dot.product) == dot.lanes * dot.rows;
  return abilities.tiles && (dot.left.is_float() ? abilities.tiles->bf16 : abilities.tiles->int8);
}

}  // namespace

std::optional<Dot> dot_of(const Graph& graph, const Stage& stage, const Roles& roles, const Target& target) {
  const bool pads = roles.broadcast.through >= 0 && graph.at(roles.broadcast.through).pads;
  if (stage.sums.empty() || roles.group > 0 || roles.lane_dimension < 0 || roles.vectors.through >= 0 ||
      !is_plain_product(stage, pads))
    return std::nullopt;
  const Axis& terms = stage.sums.back();
  const int grouped = dimension_of(*roles.vectors.read, terms);
  if (grouped < 0 || stride_along(*roles.broadcast.read, terms) != 1) return std::nullopt;
  const ir::Type left = ir::as<ir::Load>(roles.broadcast.read->load)->buffer.element(),
                 right = ir::as<ir::Load>(roles.vectors.read->load)->buffer.element();
  // Rows of a matrix are packed as its columns are.
  const auto takes_rows = [&](const Dot& dot) {
    const Axis& row = stage.data[static_cast<size_t>(roles.rows)];
    return dot.rows == 1 ||
           (row.extent % dot.rows == 0 && roles.innermost && roles.share < 0 && roles.broadcast.through < 0 &&
            roles.broadcast.source != roles.vectors.source && dimension_of(*roles.broadcast.read, row) >= 0 &&
            dimension_of(*roles.broadcast.read, terms) >= 0);
  };
  for (const Dot& dot : kDots)
    if (has(target.abilities, dot) && takes_rows(dot) && left == dot.left && right == dot.right &&
        stage.type == dot.sum && terms.extent % dot.group == 0 &&
        stage.data[static_cast<size_t>(roles.lanes)].extent % dot.lanes == 0)
      return dot;
  return std::nullopt;
}

}  // namespace tw::autotune::sketch
