// Which shipped intrinsic computes the inner loops of a contraction.
//
//   for lane in 0..16: for q in 0..4: C[i, lane] += A[i, q] * W[q, lane]      ==>      one instruction
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/intrin_names.h"

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

// As many rows as divide all of them, in one of a tile; 0: too few to be worth its other factor. Those that are packed
// then have rows of zeros behind them.
int64_t rows_of_tile(int64_t most, int64_t rows) {
  constexpr int64_t kFewest = 4;
  for (int64_t m = most; m >= kFewest; --m)
    if (rows % m == 0) return m;
  return 0;
}

// As many groups of terms as divide all of them, where whole tiles do not.
Dot of_terms(Dot dot, int64_t terms) {
  constexpr int64_t kFewest = 4;
  if (!dot.is_tile() || terms % dot.packed != 0) return dot;
  for (int64_t groups = dot.group / dot.packed; groups >= kFewest; --groups)
    if (terms / dot.packed % groups == 0) {
      dot.group = groups * dot.packed;
      break;
    }
  return dot;
}

// As few tiles as there can be, of copies that hold zeros where the last one is not full.
Dot of_copied_terms(Dot dot, int64_t terms) {
  const int64_t tiles = ir::ceil_div(terms, dot.group);
  dot.group = ir::ceil_div(ir::ceil_div(terms, tiles), dot.packed) * dot.packed;
  dot.pads_terms = terms % dot.group != 0;
  return dot;
}

// Whether tiles of fewer terms are faster than dot products of vectors, which need no copy of their sums: in cycles of
// a tile with these rows, as an Intel Xeon was seen to take them; but what a copy with zeros takes is a guess between
// products that were slower by such tiles (2048x48x264 of bytes) and faster (197x1000x1023).
bool saves_cycles(const Dot& dot, int64_t terms, int64_t columns) {
  constexpr double kStep = 16, kCopyOfRow = 6.5, kCopyWithZeros = 13, kRest = 90, kRestOfPacked = 160;
  const double row_of_a_group = dot.left.is_float() ? 2 : 0.5;
  const auto count = [](int64_t n, int64_t by) { return static_cast<double>(ir::ceil_div(n, by)); };
  const auto rows = static_cast<double>(dot.rows), steps = count(terms, dot.group);
  const double saved = rows * count(terms, dot.packed) * row_of_a_group - steps * kStep;
  if (dot.in_place) return saved >= kRest;
  const double copy = dot.pads_terms ? kCopyWithZeros : kCopyOfRow;
  return saved - rows * steps * copy / count(columns, dot.lanes) >= kRestOfPacked;
}

// What whole instructions leave is added by single elements, at the cost of many in one of them: terms in vectors along
// the lanes, columns not.
constexpr int64_t kTermsOfOneLeft = 8, kColumnsOfOneLeft = 32;
constexpr int64_t kMostUnrolled = 4;  // groups of terms
bool leaves_little(int64_t extent, int64_t part, int64_t of_one) { return extent % part * of_one <= extent; }

// Whether rows of the read lie equally far apart in memory.
bool has_even_rows(const Access& read, const Axis& row) {
  int moved = 0;
  for (const ir::Expr& at : read.at()) {
    if (!ir::uses_var(at, row.var)) continue;
    const ir::Expr next = ir::substitute(at, {{row.var.id(), ir::Expr(row.var) + ir::Expr(1)}});
    const auto step = ir::as_int(ir::simplify(next - at));
    if (++moved > 1 || step.value_or(0) <= 0) return false;
  }
  return moved == 1;
}

// Whether padding leaves the pixels of a line, of which the row is one, where they are: before the last axis.
bool has_lines_of(const Stage& padding, const Access& read, const Axis& row) {
  const size_t rank = read.at().size();
  const auto* choice = padding.bodies.size() == 1 ? ir::as<ir::Select>(padding.bodies[0]) : nullptr;
  if (!choice || rank < 2 || padding.data.size() != rank || !ir::uses_var(read.at()[rank - 2], row.var)) return false;
  const auto* load = ir::as<ir::Load>(ir::as<ir::Load>(choice->yes) ? choice->yes : choice->no);
  return load && load->at.size() == rank && ir::uses_var(load->at[rank - 2], padding.data[rank - 2].var);
}

bool has(const Abilities& abilities, const Dot& dot) {
  if (!dot.is_tile()) return abilities.dot_lanes(dot.product) == dot.lanes * dot.rows;
  return abilities.tiles && (dot.left.is_float() ? abilities.tiles->bf16 : abilities.tiles->int8);
}

}  // namespace

bool is_plain_product(const Stage& stage, bool pads) {
  const auto& sum = *ir::as<ir::Reduce>(stage.bodies[0]);
  if (sum.op != ir::ReduceOp::kSum || !!sum.where) return false;
  const auto* product = ir::as<ir::Binary>(sum.sources[0]);
  const auto is_cast_read = [&](const ir::Expr& e) {
    const auto* cast = ir::as<ir::Cast>(e);
    if (!cast || e->type != stage.type) return false;
    const auto* padded = pads ? ir::as<ir::Select>(cast->value) : nullptr;
    return ir::as<ir::Load>(cast->value) || (padded && (ir::as<ir::Load>(padded->yes) || ir::as<ir::Load>(padded->no)));
  };
  return product && product->op == ir::BinOp::kMul && is_cast_read(product->a) && is_cast_read(product->b);
}

namespace {

// Whether the terms of the last two sums lie side by side once a line is copied: channels, all of them, of pixels of
// which each is the next.
bool fill_a_line(const Graph& graph, const Stage& stage, const Roles& roles) {
  if (stage.sums.size() < 2 || roles.lane_dimension < 0 || !graph.at(roles.vectors.source).param) return false;
  if (is_state(stage, roles.broadcast)) return false;
  const Axis &pixels = stage.sums[stage.sums.size() - 2], &channels = stage.sums.back();
  const Access& read = *roles.broadcast.read;
  const std::vector<ir::Expr>& at = read.at();
  const std::vector<int64_t>& weights = graph.at(roles.vectors.source).shape;
  for (const Axis* sum : {&pixels, &channels}) {
    const int dimension = dimension_of(*roles.vectors.read, *sum);
    if (dimension < 0 || weights[static_cast<size_t>(dimension)] != sum->extent) return false;
  }
  const Stage& source = graph.at(roles.broadcast.through < 0 ? roles.broadcast.source : roles.broadcast.through);
  const int last = static_cast<int>(at.size()) - 1;
  if (last < 1 || source.shape.size() != at.size() || source.shape.back() != channels.extent ||
      dimension_of(read, channels) != last)
    return false;
  for (int d = 0; d < last; ++d)
    if (step_along(at[static_cast<size_t>(d)], pixels.var) != (d == last - 1 ? 1 : 0)) return false;
  return true;
}

// Whose terms are those of the last sums, so many.
std::optional<Dot> dot_over(const Graph& graph, const Stage& stage, const Roles& roles, const Target& target,
                            int sums) {
  const bool pads = roles.broadcast.through >= 0 && graph.at(roles.broadcast.through).pads;
  if (stage.sums.empty() || roles.group > 0 || roles.lane_dimension < 0 || roles.vectors.through >= 0 ||
      is_state(stage, roles.vectors) || !is_plain_product(stage, pads))
    return std::nullopt;
  const Axis& last = stage.sums.back();
  if (dimension_of(*roles.vectors.read, last) < 0 || stride_along(*roles.broadcast.read, last) != 1)
    return std::nullopt;
  int64_t terms = last.extent, channels = 0;
  const ir::Type left = ir::as<ir::Load>(roles.broadcast.read->load)->buffer.element(),
                 right = ir::as<ir::Load>(roles.vectors.read->load)->buffer.element();
  const Axis& row = stage.data[static_cast<size_t>(roles.rows)];
  const bool apart = roles.broadcast.source != roles.vectors.source;
  // Rows of a matrix are packed as its columns are; those of a tile, which a window reads, stay where they lie.
  const bool packs_rows = sums == 1 && apart && !is_state(stage, roles.broadcast) && roles.share < 0 &&
                          roles.broadcast.through < 0 && dimension_of(*roles.broadcast.read, row) >= 0 &&
                          dimension_of(*roles.broadcast.read, last) >= 0;
  const bool in_place = apart && (roles.broadcast.through < 0 || pads) && has_even_rows(*roles.broadcast.read, row);
  // An image that is copied has room behind its lines.
  const bool pads_image = in_place && pads && roles.innermost && !packs_rows &&
                          has_lines_of(graph.at(roles.broadcast.through), *roles.broadcast.read, row);
  const auto with_rows = [&](Dot dot) -> std::optional<Dot> {
    if (dot.rows == 1) return dot;
    if (!roles.innermost && !dot.is_tile()) return std::nullopt;  // matrices are laid out as the output is
    if (dot.is_tile()) {
      const int64_t rows = rows_of_tile(dot.rows, row.extent);
      if (rows > 0)
        dot.rows = rows;
      else if (pads_image)
        dot.rows = ir::ceil_div(row.extent, ir::ceil_div(row.extent, dot.rows));
      dot.in_place = !packs_rows;
    }
    const bool whole = in_place && (row.extent % dot.rows == 0 || (dot.is_tile() && pads_image));
    const bool terms_there = terms % (dot.pads ? dot.group * kMostUnrolled : dot.group) == 0;
    dot.may_stay = packs_rows && dot.is_tile() && whole && terms_there;
    const bool taken = packs_rows ? 2 * row.extent > dot.rows : dot.in_place && whole;
    return taken ? std::optional(dot) : std::nullopt;
  };
  const int64_t columns = stage.data[static_cast<size_t>(roles.lanes)].extent;
  const bool is_input =
      sums == 1 && graph.at(roles.broadcast.source).kind == StageKind::kInput && roles.broadcast.through < 0;
  const auto with_ends = [&](Dot dot) -> std::optional<Dot> {
    const bool columns_left = columns % dot.lanes != 0, terms_left = !dot.pads_terms && terms % dot.group != 0;
    if (!columns_left && !terms_left) return dot;
    // A copy, or what is laid out ahead, has zeros behind its last column; what is multiplied by them must be there.
    const bool is_there = dot.rows > 1 || is_input || terms % (dot.group * kMostUnrolled) == 0;
    dot.pads = columns_left && is_there;
    if (!apart || !roles.innermost || (dot.is_tile() && terms_left)) return std::nullopt;
    if (terms_left && !leaves_little(terms, dot.group, kTermsOfOneLeft)) return std::nullopt;
    if (dot.pads) return 2 * columns > dot.lanes ? std::optional(dot) : std::nullopt;
    const bool both = columns_left && terms_left && dot.rows > 1;
    return !both && leaves_little(columns, dot.lanes, kColumnsOfOneLeft) ? std::optional(dot) : std::nullopt;
  };
  const auto of_group = [&](const Dot& whole, const Dot& dot) -> std::optional<Dot> {
    const std::optional<Dot> at_ends = with_ends(dot);
    std::optional<Dot> taken = at_ends ? with_rows(*at_ends) : std::nullopt;
    if (!taken || (taken->group == whole.group && !taken->pads_terms)) return taken;
    // What is packed for few rows alone takes the time, and less of it in the wider panels of vectors.
    const bool few_rows = taken->rows < whole.rows && row.extent < 2 * whole.rows;
    const bool packs_most = left.bits == 8 && few_rows && !graph.at(roles.vectors.source).param;
    return !packs_most && saves_cycles(*taken, roles.terms, columns) ? taken : std::nullopt;
  };
  // Rows that can be read where they lie are; of few rows, which use a tile of the right factor once, its loads count.
  const auto with_terms = [&](const Dot& whole) {
    const std::optional<Dot> dividing = of_group(whole, of_terms(whole, terms));
    if (!whole.is_tile() || !packs_rows) return dividing;
    const Dot fewest = of_copied_terms(whole, terms);
    const bool stays = dividing && (dividing->may_stay || row.extent < 2 * whole.rows);
    if (stays || (dividing && 10 * dividing->group >= 9 * fewest.group)) return dividing;
    const std::optional<Dot> copied = of_group(whole, fewest);
    return copied ? copied : dividing;
  };
  for (const Dot& dot : kDots) {
    if (!has(target.abilities, dot) || left != dot.left || right != dot.right || stage.type != dot.sum) continue;
    if (sums > 1) {
      // Bytes without a dot product of theirs are widened to four times their size, words to twice, which takes no
      // longer than their dot products on an Intel Xeon.
      if (left.bits != 8 && !dot.is_tile()) continue;
      const int64_t by = dot.is_tile() ? dot.packed : 1;
      channels = ir::ceil_div(last.extent, by) * by;
      terms = stage.sums[stage.sums.size() - 2].extent * channels;
    }
    std::optional<Dot> taken = with_terms(dot);
    if (!taken) continue;
    taken->terms = terms, taken->sums = sums, taken->channels = channels;
    if (taken->is_tile()) taken->intrin = te::tile_intrin(dot.intrin, taken->rows, taken->group / taken->packed);
    return taken;
  }
  return std::nullopt;
}

}  // namespace

bool multiplies(const Target& target, ir::Type left, ir::Type right, ir::Type sum) {
  return std::ranges::any_of(kDots, [&](const Dot& dot) {
    return has(target.abilities, dot) && left == dot.left && right == dot.right && sum == dot.sum;
  });
}

std::optional<Dot> dot_of(const Graph& graph, const Stage& stage, const Roles& roles, const Target& target) {
  std::optional<Dot> dot = dot_over(graph, stage, roles, target, 1);
  if ((dot && dot->is_tile()) || !fill_a_line(graph, stage, roles)) return dot;
  const std::optional<Dot> joined = dot_over(graph, stage, roles, target, 2);
  return !dot || (joined && joined->is_tile()) ? joined : dot;
}

}  // namespace tw::autotune::sketch
