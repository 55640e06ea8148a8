#include "schedule/tile_memory.h"

#include <algorithm>
#include <numeric>

#include "schedule/memory_strides.h"
#include "src/ir/simplify.h"
#include "src/support/scratch_alignment.h"

namespace tw::schedule {

TileMemory::TileMemory(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Arguments& arguments,
                       const ir::Buffer& tensor)
    : nest_(nest),
      all_(all),
      kept_(nest.find_stage(tensor.id())),
      stage_(nest.stage(kept_)),
      output_(static_cast<size_t>(stage_.output_of(tensor.id()))),
      at_root_(placed.parent[kept_] == kNone),
      given_(stage_.is_placeholder() || arguments.contains(kept_)) {}

std::vector<ir::Expr> TileMemory::strides() const {
  return memory_strides(nest_, all_, kept_, output_, given_ || stage_.op->external());
}

std::vector<ir::Expr> TileMemory::first() const {
  const std::vector<ir::Expr>& lo = all_.stages[kept_].lo;
  std::vector<ir::Expr> at(strides().size(), ir::Expr(0));
  if (given_ || stage_.op->external() || stage_.layout) return at;
  for (size_t d = 0; d < std::min(at.size(), lo.size()); ++d) at[d] = lo[d];
  return at;
}

ir::Expr TileMemory::offset(const std::vector<ir::Expr>& base) const {
  const std::vector<ir::Expr> apart = strides(), begin = first();
  ir::Expr sum = 0;
  for (size_t d = 0; d < base.size(); ++d) sum = sum + (base[d] - begin[d]) * apart[d];
  return ir::simplify(sum, all_.ranges);
}

bool TileMemory::is_multiple(const ir::Expr& offset, int64_t of) const {
  return of <= 1 || ir::is_int(ir::simplify(ir::floormod(offset, ir::Expr(of)), all_.ranges), 0);
}

std::optional<TileMemory::Fault> TileMemory::fault(const std::string& tile, const te::TileBuffer& declared,
                                                   const std::vector<ir::Expr>& base) const {
  if (auto elsewhere = scope_fault(tile, declared)) return elsewhere;
  if (declared.offset_factor <= 1 && declared.alignment <= 1) return {};
  const ir::Expr begin = offset(base);
  const std::string factor = std::to_string(declared.offset_factor);
  if (!is_multiple(begin, declared.offset_factor))
    return Fault{"the tile of " + name() + " must begin at a multiple of " + factor +
                     " elements, as offset_factor of " + tile + " says",
                 {"it begins at element " + ir::to_string(begin),
                  "split by a multiple of " + factor + ", or declare offset_factor=1"}};
  return alignment_fault(tile, declared, begin);
}

std::optional<TileMemory::Fault> TileMemory::scope_fault(const std::string& tile,
                                                         const te::TileBuffer& declared) const {
  const Scope scope = stage_.scope.value_or(at_root_ ? Scope::kGlobal : Scope::kLocal);
  if (declared.scope == Scope::kLocal && (given_ || scope != Scope::kLocal))
    return Fault{"the buffer " + tile + " must lie in scratch of scope local, and " + name() + " does not",
                 {"cache_read or cache_write " + name() + " to local, or declare the buffer without a scope"}};
  if (declared.scope == Scope::kGlobal && !given_ && stage_.scope == Scope::kLocal)
    return Fault{"the buffer " + tile + " must lie in memory of scope global, and " + name() + " was set to local",
                 {"set " + name() + " to global, or declare the buffer without a scope"}};
  return {};
}

// An array of the caller's is aligned to its elements, scratch to kScratchAlignment.
std::optional<TileMemory::Fault> TileMemory::alignment_fault(const std::string& tile, const te::TileBuffer& declared,
                                                             const ir::Expr& offset) const {
  if (declared.alignment <= 1) return {};
  const ir::Type element = stage_.buffer().element();
  const int64_t known = given_ ? element.bytes() : kScratchAlignment, bits = declared.alignment * 8;
  const std::string rule = "the tile of " + name() + " must be aligned to " + std::to_string(declared.alignment) +
                           " bytes, as data_alignment of " + tile + " says";
  if (declared.alignment > known)
    return Fault{rule,
                 {name() + " is an array of the caller's, which is aligned to its elements, of " +
                      std::to_string(known) + (known == 1 ? " byte" : " bytes"),
                  "cache_read or cache_write " + name() + ", for scratch is aligned to " +
                      std::to_string(kScratchAlignment) + " bytes, or leave data_alignment out"}};
  const int64_t multiple = bits / std::gcd(bits, element.is_packed() ? int64_t{element.bits} : element.bytes() * 8);
  if (declared.elem_offset || is_multiple(offset, multiple)) return {};
  return Fault{rule,
               {"it begins at element " + ir::to_string(offset) + " of " + ir::to_string(element),
                "split by a multiple of " + std::to_string(multiple) + " elements, or leave data_alignment out"}};
}

}  // namespace tw::schedule
