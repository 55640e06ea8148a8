// Index maps: where the elements of a tensor stand in memory, and the proof that each has a place of its own.
//
//   [i, j] -> [i // 16, j, i % 16]     i over 0..60, j over 0..30     ==>     memory [4, 30, 16], i padded to 64
//
// An index is a sum of digits, (x // lower) % extent * scale, of a dimension x or of a sum x that counts through its
// digits without a gap (i*30 + j). The map is a bijection onto a box when the digits of every x lie one above the other
// from 1 to its end, every digit is used once, and every index counts through its digits. That covers splits, fusions,
// permutations and mirrors (n - 1 - i) in any order.
//
// A dimension that is split is rounded up to whole parts; where that leaves places for which there is no element, they
// are at its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/bounds.h"

namespace tw::schedule {

// ((x // lower) % extent) * scale of source `of`; mirrored: extent - 1 - that.
struct Digit {
  int of = 0;
  int64_t lower = 1;
  Extent extent;
  int64_t scale = 1;
  bool mirrored = false;
  bool operator==(const Digit&) const = default;
};

// A map over given extents.
struct IndexMap {
  struct Source {
    std::vector<Digit> sum;  // the largest scale first; of a dimension empty
    Extent extent;
    std::vector<Digit> uses;  // by indices and by later sums, the lowest first
  };
  std::vector<Source> sources;              // the dimensions, then sums, each after what it is made of
  std::vector<std::vector<Digit>> indices;  // the largest scale first; those of one value are left out
  std::vector<Extent> extents, padded;      // of the dimensions
  std::vector<Extent> shape;                // of the memory
  bool pads() const;
};

// The map over a tensor of these extents, or why it is none, or pads without a value: a Diagnostic without a line.
Result<IndexMap> index_map(const Layout&, const std::vector<Extent>& extents);

// Where the element `at` stands.
std::vector<ir::Expr> place(const Layout&, const std::vector<ir::Expr>& at);
// Which element stands at a place; beyond the extents where none does.
std::vector<ir::Expr> element_at(const IndexMap&, const std::vector<ir::Expr>& place);

// What places without an element hold.
ir::Expr pad_of(const Layout&, ir::Type);

// "[i // 16, j, i % 16]", over these names.
std::string to_string(const Layout&, const std::vector<std::string>& names);
// "[60, 30] -> [i0 // 16, i1, i0 % 16], pad 0": equal for equal maps.
std::string canonical(const Layout&, const std::vector<Extent>& extents);

// Of each stage: none where it lies as it is defined.
using IndexMaps = std::vector<std::optional<IndexMap>>;

// Over the stages' regions. The Diagnostic names the Step.
Result<IndexMaps> infer_layouts(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Step>& steps);
bool has_layouts(const LoopNest&);

// A placeholder as the kernel reads it; the same buffer where it has no layout.
ir::Buffer packed_buffer(const StageNest& placeholder);

}  // namespace tw::schedule
