// Whether the tiles of an intrinsic lie in memory as it says, and hold what it may be given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/tile_match.h"
#include "schedule/tile_memory.h"

namespace tw::schedule {

// What a variable of the statements stands for: by how much the address of the tensor's element changes when its
// subscripts change by `factor`.
struct TileStride {
  ir::Var var;
  ir::Buffer tensor;
  std::vector<int64_t> factor;
};

// What a variable of the statements stands for: the element of the tensor's memory that has these subscripts.
struct TileOffset {
  ir::Var var;
  ir::Buffer tensor;
  std::vector<ir::Expr> base;
};

class TileChecks {
 public:
  TileChecks(const LoopNest&, const Placement&, const NestBounds&, const Arguments&, const te::TensorIntrin&,
             const te::IntrinBodies&, const TileRegions&);

  std::optional<TileMemory::Fault> run();
  // What the variables of the statements stand for, once they have been checked.
  const std::vector<TileStride>& strides() const { return strides_; }
  const std::vector<TileOffset>& offsets() const { return offsets_; }

 private:
  using Fault = TileMemory::Fault;
  std::optional<Fault> turning() const;
  std::optional<Fault> memory();
  std::optional<Fault> find_strides(const te::TileBuffer& declared, const TileRegion&);
  std::optional<Fault> elements(const ir::Buffer& tile, const te::TileBuffer& declared, const TileRegion&) const;
  std::optional<Fault> ranges() const;
  ir::Expr apart(const TileStride&) const;
  TileMemory memory_of(const ir::Buffer& tensor) const { return {nest_, placed_, all_, arguments_, tensor}; }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const Arguments& arguments_;
  const te::TensorIntrin& intrin_;
  const te::IntrinBodies& does_;
  const TileRegions& regions_;
  const std::string name_;
  std::vector<TileStride> strides_;
  std::vector<TileOffset> offsets_;
};

}  // namespace tw::schedule
