// Takes indices apart into digits, and proves that these cover their dimensions.
#include "schedule/layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

constexpr int64_t kLargestPart = int64_t{1} << 31;
constexpr int kRounds = 16;  // each finds another dimension to round up
constexpr double kMostElements = 1LL << 40;

double elements(const std::vector<Extent>& extents) {
  double count = 1;
  for (const Extent& extent : extents) count *= static_cast<double>(extent.value_or(1));
  return count;
}

// A sum of digits and a constant.
struct Sum {
  std::vector<Digit> digits;
  int64_t base = 0;
};

class Prover {
 public:
  Prover(const Layout& layout, const std::vector<Extent>& extents)
      : layout_(layout), parts_(extents.size(), 1), names_(extents.size()) {
    map_.extents = extents;
    for (size_t d = 0; d < extents.size(); ++d) names_[d] = layout.dimensions[d].name();
  }

  Result<IndexMap> run() {
    for (int round = 0; round < kRounds; ++round) {
      begin();
      bool fine = true;
      for (const ir::Expr& index : layout_.indices) fine = fine && add_index(index);
      if (again_) continue;
      if (!fine || !all_covered()) return none();
      return std::move(map_);
    }
    why_ = "its parts have no common multiple of a sensible size";
    return none();
  }

 private:
  Diagnostic none() const {
    return refuse(TransformLayout::kName, "indices must give each element a place of its own, and leave none free")
           << "[" + join(names_) + "] -> " + to_string(layout_, names_) << why_;
  }

  void begin() {
    again_ = false;
    why_.clear();
    map_.sources.clear();
    map_.indices.clear();
    map_.padded.clear();
    map_.shape.clear();
    for (size_t d = 0; d < parts_.size(); ++d) {
      const Extent &n = map_.extents[d], part = parts_[d];
      map_.padded.push_back(part == 1 ? n : ceil_div(n, part) * part);
      map_.sources.push_back({{}, map_.padded.back(), {}});
    }
  }

  bool wrong(const std::string& why) {
    why_ = why;
    return false;
  }

  // ----------------------------------------------------------------------------------------------------------- sums

  static bool multiplied(int64_t& value, int64_t by) { return !__builtin_mul_overflow(value, by, &value); }

  bool scaled(Sum& sum, int64_t by) {
    bool fits = multiplied(sum.base, by);
    for (Digit& digit : sum.digits) fits = fits && multiplied(digit.scale, by);
    return fits || wrong("a factor is too large");
  }

  bool add(Sum& to, const Sum& term) {
    to.digits.insert(to.digits.end(), term.digits.begin(), term.digits.end());
    return !__builtin_add_overflow(to.base, term.base, &to.base) || wrong("a constant is too large");
  }

  bool read(const ir::Expr& e, Sum& sum) {
    if (const auto value = ir::as_int(e)) return sum.base = *value, true;
    if (const auto* v = ir::as<ir::VarRef>(e)) {
      for (size_t d = 0; d < layout_.dimensions.size(); ++d)
        if (layout_.dimensions[d] == v->var) sum.digits = {whole(static_cast<int>(d))};
      return true;
    }
    const auto* b = ir::as<ir::Binary>(e);
    if (!b) return wrong(ir::to_string(e) + " is no sum, product, quotient or remainder");
    Sum right;
    if (!read(b->a, sum) || !read(b->b, right)) return false;
    switch (b->op) {
      case ir::BinOp::kAdd:
        return add(sum, right);
      case ir::BinOp::kSub:
        return scaled(right, -1) && add(sum, right);
      case ir::BinOp::kMul:
        if (sum.digits.empty()) std::swap(sum, right);
        return right.digits.empty() ? scaled(sum, right.base) : wrong(ir::to_string(e) + " is a product of dimensions");
      case ir::BinOp::kFloorDiv:
      case ir::BinOp::kFloorMod:
        if (!right.digits.empty() || right.base < 1 || right.base > kLargestPart)
          return wrong(ir::to_string(e) + " must divide by a number in 1..2**31");
        return divided(sum, right.base, b->op == ir::BinOp::kFloorDiv);
      default:
        return wrong(ir::to_string(e) + " is no sum, product, quotient or remainder");
    }
  }

  Digit whole(int source) const { return {source, 1, map_.sources[static_cast<size_t>(source)].extent, 1, false}; }

  // Digits of one value left out, scales positive, the largest first. What is cut may be a dimension of one element.
  bool tidy(Sum& sum, bool to_cut = false) {
    const bool keep = to_cut && sum.digits.size() == 1;
    std::erase_if(sum.digits, [&](const Digit& d) { return d.scale == 0 || (d.extent == 1 && !keep); });
    for (Digit& digit : sum.digits) {
      if (digit.scale > 0) continue;
      int64_t last = digit.extent.value_or(0) - 1;
      if (!digit.extent.known() || !multiplied(last, digit.scale) ||
          __builtin_add_overflow(sum.base, last, &sum.base) || !multiplied(digit.scale, -1))
        return wrong("only a dimension of a known extent can be mirrored");
      digit.mirrored = !digit.mirrored;
    }
    std::stable_sort(sum.digits.begin(), sum.digits.end(),
                     [](const Digit& a, const Digit& b) { return a.scale > b.scale; });
    return true;
  }

  // Whether the sum takes each value in 0..its extent once, while its digits run.
  bool counts_through(const Sum& sum, Extent& extent) {
    if (sum.base != 0) return wrong("an index begins at " + std::to_string(sum.base) + ", not at 0");
    extent = 1;
    for (size_t i = sum.digits.size(); i-- > 0;) {
      const Digit& digit = sum.digits[i];
      if (!(extent == digit.scale))
        return wrong("a step of " + std::to_string(digit.scale) + " where the digits below count " + to_string(extent));
      extent = extent * digit.extent;
    }
    return true;
  }

  // ------------------------------------------------------------------------------------------------------- quotients

  bool divided(Sum& sum, int64_t by, bool quotient) {
    if (by == 1) {
      if (!quotient) sum = {};
      return true;
    }
    if (!tidy(sum, true)) return false;
    if (sum.digits.empty()) {
      const int64_t rest = ((sum.base % by) + by) % by;
      sum.base = quotient ? (sum.base - rest) / by : rest;
      return true;
    }
    int64_t step = 0;
    for (const Digit& digit : sum.digits) step = std::gcd(step, digit.scale);
    if (sum.base == 0 && step % by == 0) {  // only multiples
      if (!quotient) sum.digits.clear();
      for (Digit& digit : sum.digits) digit.scale /= by;
      return true;
    }
    if (sum.base != 0 || by % step != 0)
      return wrong("a quotient by " + std::to_string(by) + " does not fall between its digits");
    for (Digit& digit : sum.digits) digit.scale /= step;
    Digit digit = sum.digits[0];
    if ((sum.digits.size() > 1 || digit.mirrored || digit.scale != 1) && !fused(sum, digit)) return false;
    if (!cut(digit, by / step, quotient)) return false;
    digit.scale = quotient ? 1 : step;
    sum.digits = {digit};
    return true;
  }

  // A sum becomes a source of its own.
  bool fused(const Sum& sum, Digit& digit) {
    IndexMap::Source made{sum.digits, 1, {}};
    if (!counts_through(sum, made.extent)) return false;
    auto& all = map_.sources;
    auto known = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.sum == made.sum; });
    if (known == all.end()) known = all.insert(all.end(), made);
    digit = whole(static_cast<int>(known - all.begin()));
    return true;
  }

  // The values of a digit over, or under, a step of `by`.
  bool cut(Digit& digit, int64_t by, bool quotient) {
    const IndexMap::Source& source = map_.sources[static_cast<size_t>(digit.of)];
    const Extent above = Extent(digit.lower) * digit.extent;
    const bool divides = digit.extent.known() && digit.extent.value() % by == 0;
    if (!divides && above == source.extent && !rounded(digit, by)) return false;
    const bool inside = !divides && !(above == source.extent);
    if (inside && (!digit.extent.known() || digit.extent.value() > by))
      return wrong("a step of " + std::to_string(by) + " does not divide the " + to_string(digit.extent) +
                   " values that it cuts");
    if (!quotient) {
      digit.extent = inside ? digit.extent : Extent(by);
    } else if (inside) {
      digit.extent = 1;
    } else {
      digit.extent = ceil_div(digit.extent, by);
      digit.lower *= by;
    }
    return digit.lower <= kLargestPart || wrong("a part of 2**31 is too large");
  }

  // Rounds a dimension up, so that `by` divides the topmost digit of it.
  bool rounded(const Digit& digit, int64_t by) {
    int64_t part = digit.lower * by;  // both at most 2**31
    int dimension = digit.of;
    const IndexMap::Source& source = map_.sources[static_cast<size_t>(digit.of)];
    if (!source.sum.empty()) {
      const Digit& lead = source.sum[0];
      dimension = lead.of;
      const bool topmost = static_cast<size_t>(dimension) < parts_.size() && !lead.mirrored &&
                           Extent(lead.lower) * lead.extent == map_.sources[static_cast<size_t>(dimension)].extent;
      if (!topmost)
        return wrong("a step of " + std::to_string(by) + " does not divide the " + to_string(source.extent) +
                     " values that it cuts");
      if (__builtin_mul_overflow(part / std::gcd(part, lead.scale), lead.lower, &part)) part = kLargestPart + 1;
    }
    int64_t& known = parts_[static_cast<size_t>(dimension)];
    if (known % part == 0) return true;
    if (part <= kLargestPart) known = known / std::gcd(known, part) * part;
    if (std::max(known, part) > kLargestPart) return wrong("its parts have no common multiple of a sensible size");
    again_ = true;
    return true;
  }

  // ------------------------------------------------------------------------------------------------------- the proof

  bool add_index(const ir::Expr& index) {
    Sum sum;
    Extent extent;
    if (!read(index, sum) || !tidy(sum)) return false;
    if (!counts_through(sum, extent)) {
      why_ = ir::to_string(index) + ": " + why_;
      return false;
    }
    map_.shape.push_back(extent);
    map_.indices.push_back(sum.digits);
    return true;
  }

  void use(const std::vector<Digit>& digits) {
    for (const Digit& digit : digits) map_.sources[static_cast<size_t>(digit.of)].uses.push_back(digit);
  }

  bool all_covered() {
    for (const std::vector<Digit>& index : map_.indices) use(index);
    for (size_t s = map_.sources.size(); s-- > 0;) {
      IndexMap::Source& source = map_.sources[s];
      if (!source.sum.empty() && source.uses.empty()) continue;  // its digits may be used alone
      if (!covered(source)) {
        const std::string name = s < names_.size() ? names_[s] : "a sum of dimensions";
        return wrong(name + " must be used whole and once: " + why_);
      }
      use(source.sum);
    }
    return true;
  }

  bool covered(IndexMap::Source& source) {
    std::sort(source.uses.begin(), source.uses.end(), [](const Digit& a, const Digit& b) { return a.lower < b.lower; });
    Extent below = 1;
    for (const Digit& digit : source.uses) {
      if (!(below == digit.lower))
        return wrong("its digits below and from " + std::to_string(digit.lower) + " on overlap or leave a gap");
      below = below * digit.extent;
    }
    return below == source.extent ||
           wrong("its digits count " + to_string(below) + " values of " + to_string(source.extent));
  }

  const Layout& layout_;
  std::vector<int64_t> parts_;  // of which each dimension is made whole
  std::vector<std::string> names_;
  IndexMap map_;
  bool again_ = false;
  std::string why_;
};

}  // namespace

bool IndexMap::pads() const { return padded != extents; }

Result<IndexMap> index_map(const Layout& layout, const std::vector<Extent>& extents) {
  TW_TRY(IndexMap map, Prover(layout, extents).run());
  if (elements(map.padded) > std::max(kMostElements, 2 * elements(extents)))
    return refuse(TransformLayout::kName, "what a map pads must have a size that memory has");
  if (!map.pads() || !layout.pad.empty()) return map;
  std::vector<std::string> names, grown;
  for (size_t d = 0; d < extents.size(); ++d) {
    names.push_back(layout.dimensions[d].name());
    if (!(map.padded[d] == extents[d]))
      grown.push_back(names[d] + " of " + to_string(extents[d]) + " is rounded up to " + to_string(map.padded[d]));
  }
  return refuse(TransformLayout::kName, "pad_value must be given where an index map leaves places free")
         << "[" + join(names) + "] -> " + to_string(layout, names) << join(grown)
         << "pad_value=0 fills them with zeros; or use parts that divide";
}

std::vector<ir::Expr> place(const Layout& layout, const std::vector<ir::Expr>& at) {
  ir::Substitution values;
  for (size_t d = 0; d < at.size(); ++d) values[layout.dimensions[d].id()] = at[d];
  std::vector<ir::Expr> out;
  for (const ir::Expr& index : layout.indices) out.push_back(ir::substitute(index, values));
  return out;
}

std::vector<ir::Expr> element_at(const IndexMap& map, const std::vector<ir::Expr>& place) {
  std::vector<ir::Expr> values(map.sources.size(), 0);
  const auto take_apart = [&](const std::vector<Digit>& digits, const ir::Expr& sum) {
    for (const Digit& digit : digits) {
      ir::Expr value = ir::floormod(ir::floordiv(sum, ir::Expr(digit.scale)), digit.extent.expr());
      if (digit.mirrored) value = digit.extent.expr() - ir::Expr(1) - value;
      ir::Expr& whole = values[static_cast<size_t>(digit.of)];
      whole = whole + value * ir::Expr(digit.lower);
    }
  };
  for (size_t q = 0; q < place.size(); ++q) take_apart(map.indices[q], place[q]);
  for (size_t s = map.sources.size(); s-- > map.extents.size();)
    if (!map.sources[s].uses.empty()) take_apart(map.sources[s].sum, values[s]);
  values.resize(map.extents.size());
  return values;
}

ir::Expr pad_of(const Layout& layout, ir::Type type) {
  const char* text = layout.pad.c_str();
  ir::Type held = type;  // storage types have no constants
  if (type.is_float8()) held = ir::Type::f(32);
  if (type.is_packed()) held.bits = 8;
  if (held.is_float()) return ir::cast(type, ir::float_imm(held, std::strtod(text, nullptr)));
  const auto value =
      held.is_uint() ? static_cast<int64_t>(std::strtoull(text, nullptr, 10)) : std::strtoll(text, nullptr, 10);
  return ir::cast(type, ir::int_imm(held, value));
}

namespace {

std::string text_of(const Layout& layout, const std::vector<ir::Expr>& dimensions) {
  std::vector<std::string> texts;
  for (const ir::Expr& index : place(layout, dimensions)) texts.push_back(ir::to_string(index));
  return "[" + join(texts) + "]";
}

}  // namespace

std::string to_string(const Layout& layout, const std::vector<std::string>& names) {
  std::vector<ir::Expr> dimensions;
  for (size_t d = 0; d < names.size(); ++d) dimensions.emplace_back(ir::Var(names[d]));
  return text_of(layout, dimensions);
}

std::string canonical(const Layout& layout, const std::vector<Extent>& extents) {
  std::vector<std::string> names, shape;
  for (size_t d = 0; d < extents.size(); ++d)
    names.push_back("i" + std::to_string(d)), shape.push_back(to_string(extents[d]));
  Layout simple = layout;
  for (ir::Expr& index : simple.indices) index = ir::simplify(index);
  return "[" + join(shape) + "] -> " + to_string(simple, names) + (layout.pad.empty() ? "" : ", pad " + layout.pad);
}

// ------------------------------------------------------------------------------------------------------- the whole
// nest

bool has_layouts(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).layout) return true;
  return false;
}

ir::Buffer packed_buffer(const StageNest& placeholder) {
  if (!placeholder.layout) return placeholder.buffer();
  const std::vector<ir::Expr>& declared = placeholder.op->shape();
  const IndexMap map = index_map(*placeholder.layout, {declared.begin(), declared.end()}).value_or_throw();
  std::vector<ir::Expr> shape;
  for (const Extent& extent : map.shape) shape.push_back(extent.expr());
  return ir::Buffer(placeholder.buffer().name(), placeholder.buffer().element(), shape, Scope::kArgument);
}

Result<IndexMaps> infer_layouts(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                                const std::vector<Step>& steps) {
  IndexMaps maps(static_cast<size_t>(nest.size()));
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (!stage.layout || !(stage.is_placeholder() || placed.live(i))) continue;
    const Layout& layout = *stage.layout;
    std::vector<Extent> extents(stage.op->shape().begin(), stage.op->shape().end());
    for (int d = 0; d < stage.data_rank; ++d) extents[static_cast<size_t>(d)] = all.stages[i].extent[d];
    auto map = index_map(layout, extents);
    if (!map.ok()) {
      Diagnostic d = blame(std::move(map).error(), steps, layout.step);
      if (stage.attach.kind == AttachKind::kAt)
        d.notes.push_back(stage.name + " is computed at " + stage.attach.stage + ", where only a part of it is kept");
      return d;
    }
    maps[static_cast<size_t>(i)] = *std::move(map);
  }
  return maps;
}

}  // namespace tw::schedule
