#include "schedule/tile_checks.h"

#include <algorithm>
#include <unordered_set>

#include "schedule/lanes.h"
#include "schedule/memory_strides.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/intrin_names.h"

namespace tw::schedule {

TileChecks::TileChecks(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Arguments& arguments,
                       const te::TensorIntrin& intrin, const te::IntrinBodies& does, const TileRegions& regions)
    : nest_(nest),
      placed_(placed),
      all_(all),
      arguments_(arguments),
      intrin_(intrin),
      does_(does),
      regions_(regions),
      name_(te::readable_intrin(intrin.key)) {}

std::optional<TileMemory::Fault> TileChecks::run() {
  if (auto fault = turning()) return fault;
  if (auto fault = memory()) return fault;
  return ranges();
}

std::optional<TileMemory::Fault> TileChecks::turning() const {
  for (const auto& [id, region] : regions_) {
    const int source = nest_.find_stage(region.buffer.id());
    if (source != kNone && has_turning_buffer(nest_.stage(source)))
      return Fault{"the operand " + nest_.stage(source).name + " must not be kept in a buffer that turns",
                   {"its rows do not lie side by side"}};
  }
  return std::nullopt;
}

// Whether every tile lies as its buffer says.
std::optional<TileMemory::Fault> TileChecks::memory() {
  std::unordered_set<uint64_t> given;  // whose address a function takes
  for (const ir::Stmt& s : {does_.body, does_.reset, does_.update})
    if (s)
      ir::walk(
          s, [](const ir::Stmt&) { return true; },
          [&](const ir::Expr& e) {
            const auto* call = ir::as<ir::CallExtern>(e);
            for (size_t i = 0; call && i < call->args.size(); ++i)
              if (const auto* a = ir::as<ir::Address>(call->args[i])) given.insert(a->buffer.id());
            return true;
          });
  std::vector<te::Tensor> tensors = intrin_.op->inputs;
  tensors.push_back(intrin_.op.output());
  for (const te::Tensor& t : tensors) {
    const auto found = regions_.find(t.buffer().id());
    if (found == regions_.end() || nest_.find_stage(found->second.buffer.id()) == kNone) continue;
    const TileRegion& region = found->second;
    const te::TileBuffer& declared = does_.tile(t.buffer());
    if (auto fault = find_strides(declared, region)) return fault;
    if (declared.elem_offset) offsets_.push_back({declared.elem_offset, region.buffer, region.base});
    if (given.contains(t.buffer().id()) || (declared.memory && given.contains(declared.memory.id())))
      if (auto fault = elements(t.buffer(), declared, region)) return fault;
    if (auto fault = memory_of(region.buffer).fault(t.name(), declared, region.base)) return fault;
  }
  return std::nullopt;
}

// The variables that stand for strides of this buffer.
std::optional<TileMemory::Fault> TileChecks::find_strides(const te::TileBuffer& declared, const TileRegion& region) {
  const auto simple = [&](const ir::Expr& e) { return ir::simplify(e, all_.ranges); };
  for (size_t d = 0; d < declared.strides.size(); ++d) {
    const auto* var = ir::as<ir::VarRef>(declared.strides[d]);
    if (!var) continue;
    TileStride stride{var->var, region.buffer, {}};
    for (const std::vector<int64_t>& factor : region.factor) stride.factor.push_back(factor[d]);
    const auto known = std::ranges::find(strides_, stride.var, &TileStride::var);
    if (known == strides_.end()) {
      strides_.push_back(std::move(stride));
    } else if (const ir::Expr a = apart(*known), b = apart(stride); !ir::is_int(simple(a - b), 0)) {
      return Fault{"the strides that " + stride.var.name() + " of " + name_ + " stands for must be equal",
                   {"of " + known->tensor.name() + ": " + ir::to_string(simple(a)),
                    "of " + region.buffer.name() + ": " + ir::to_string(simple(b)), "declare a variable for each"}};
    }
  }
  return std::nullopt;
}

ir::Expr TileChecks::apart(const TileStride& stride) const {
  const std::vector<ir::Expr> in_memory = memory_of(stride.tensor).strides();
  ir::Expr sum = 0;
  for (size_t s = 0; s < stride.factor.size(); ++s) {
    if (stride.factor[s] == 0) continue;
    sum = plus(sum, in_memory[s] * ir::Expr(stride.factor[s]));
  }
  return sum;
}

// A function that is given the tile's address goes on from there.
std::optional<TileMemory::Fault> TileChecks::elements(const ir::Buffer& tile, const te::TileBuffer& declared,
                                                      const TileRegion& region) const {
  const TileMemory memory = memory_of(region.buffer);
  const std::string& name = memory.name();
  if (side_by_side(memory.strides(), tile.shape(), region.factor, declared.strides)) return std::nullopt;
  return Fault{
      "the elements of " + name + " must lie side by side, as those of " + tile.name() + " do, whose address " + name_ +
          " takes",
      {"its function would read or write others",
       "cache_read or cache_write " + name +
           " so that a tile is all that is kept, or let the statement load and store elements by their subscripts",
       "te.decl_buffer(..., strides=[te.var(\"s\"), 1]) in binds= tells the function how far apart rows are"}};
}

// Two neighbouring products of kDotU8I8Sat must fit into 16 bits.
std::optional<TileMemory::Fault> TileChecks::ranges() const {
  bool saturates = false;
  for (const ir::Stmt& s : {does_.body, does_.update})
    if (s)
      ir::walk(
          s, [](const ir::Stmt&) { return true; },
          [&](const ir::Expr& e) {
            const auto* call = ir::as<ir::Call>(e);
            saturates = saturates || (call && call->fn == ir::Fn::kDotU8I8Sat);
            return true;
          });
  if (!saturates) return std::nullopt;
  int64_t product = 1;
  for (const te::Tensor& input : intrin_.op->inputs) {
    const auto region = regions_.find(input.buffer().id());
    if (region == regions_.end()) continue;
    const ir::Buffer& buffer = region->second.buffer;
    const te::Operation op = te::producer(buffer);
    const auto* given = op ? std::get_if<te::Placeholder>(&op->kind) : nullptr;
    const bool unsigned_ = buffer.element().is_uint();
    const auto range = given && given->range ? *given->range
                                             : std::pair<int64_t, int64_t>(unsigned_ ? 0 : -128, unsigned_ ? 255 : 127);
    product *= std::max(std::abs(range.first), std::abs(range.second));
  }
  if (2 * product <= 32767) return std::nullopt;
  return Fault{
      "the operands of " + name_ + " must be known to be small; two products may be as large as " +
          std::to_string(2 * product),
      {"it adds them in 16 bits, which saturate at 32767",
       "te.placeholder(..., range=(-64, 63)) promises what the weights are; avx512_vnni_dot_16x4 needs no promise"}};
}

}  // namespace tw::schedule
