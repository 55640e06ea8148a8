// Where the tile of an intrinsic lies in memory: from which element on, how far apart its elements are, and whether
// that is what its buffer was declared to be (te::TileBuffer).
//
//   B is 64 by 16, an argument; the tile B[jo*4 : 4, ko*8 : 8]    begins at element jo*64 + ko*8, a multiple of 8
//   B is kept in scratch B[4, 8], computed at ko                   begins at element 0, aligned to 64 bytes
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/storage.h"

namespace tw::schedule {

class TileMemory {
 public:
  TileMemory(const LoopNest&, const Placement&, const NestBounds&, const Arguments&, const ir::Buffer& tensor);

  const std::string& name() const { return stage_.name; }
  // Of what is kept of the tensor: in elements, and the subscripts of its first element.
  std::vector<ir::Expr> strides() const;
  std::vector<ir::Expr> first() const;

  struct Fault {
    std::string rule;
    std::vector<std::string> notes;
  };
  // Of the tile called `tile` that begins at the subscripts `base`; none: it lies as declared.
  std::optional<Fault> fault(const std::string& tile, const te::TileBuffer& declared,
                             const std::vector<ir::Expr>& base) const;

 private:
  std::optional<Fault> scope_fault(const std::string& tile, const te::TileBuffer& declared) const;
  std::optional<Fault> alignment_fault(const std::string& tile, const te::TileBuffer& declared,
                                       const ir::Expr& offset) const;
  bool is_multiple(const ir::Expr& offset, int64_t of) const;
  ir::Expr offset(const std::vector<ir::Expr>& base) const;

  const LoopNest& nest_;
  const NestBounds& all_;
  const int kept_;
  const StageNest& stage_;
  const size_t output_;
  const bool at_root_, given_;  // given: an argument of the kernel
};

}  // namespace tw::schedule
