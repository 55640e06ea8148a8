// The roles of a contraction's axes and operands, which the rules for matrix products and convolutions share.
//
//   C[i, j] = sum over k of A[i, k] * B[k, j]          rows i     lanes j     broadcast A   vectors B
//   C[n, y, x, c] = sum of D[n, y+r, x+s, q] * W[r, s, q, c]   rows y, x   lanes c     broadcast D   vectors W
//   C[n, c, y, x] = the same, x short                          rows y, x   lanes c     broadcast D   vectors W
//
// Lanes are the output's innermost axis, or another one where that is too short for vectors. The operand that runs
// along them is read in vectors, the other one is broadcast; an axis that moves only the latter repeats the vectors, so
// it gives the rows of a register tile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

struct Operand {
  int source = -1;   // the stage in memory
  int through = -1;  // the stage that the contraction reads it by and that the rule places; -1: none
  const Access* read = nullptr;
  // A stage that stays one is both; subscripts are then those of the contraction itself.
  bool prologue() const { return through >= 0 && through == source; }
};

// Whether it is the state of the scan in whose time the contraction is computed: it is read where it lies.
inline bool is_state(const Stage& contraction, const Operand& operand) {
  return operand.source >= 0 && operand.source == contraction.scan;
}

// Positions of data axes of the contraction, which are also those of its epilogue.
struct Roles {
  Operand broadcast, vectors;
  int lanes = -1;
  bool innermost = true;    // the lanes are the output's innermost axis
  int64_t group = 0;        // so many neighbouring lanes read the same of the broadcast operand; 0: all do
  int64_t row_group = 0;    // so many neighbouring rows read the same of the vectors' operand; 0: all do
  int rows = -1;            // of the register tile: the innermost axis that moves only the broadcast operand
  int share = -1;           // the next one further out; -1: there is none
  std::vector<int> outer;   // all others, from the outside in
  int lane_dimension = -1;  // of the vectors' operand, where the lanes stand alone in one of its subscripts
  bool contiguous = false;  // lanes lie side by side in that operand
  int64_t terms = 1;        // of a sum
  int64_t repeats = 1;      // iterations of the outer axes that read the same vectors
};
// With the output's innermost axis as lanes; and with the axis that costs least, which has roles where the first has.
std::optional<Roles> roles_of(const Graph&, int contraction);
std::optional<Roles> best_roles(const Graph&, int contraction, const Target&);
// Of one row, of which no vector is used again: where the other factor is a parameter, and groups of its terms are
// multiplied by one instruction.
std::optional<Roles> roles_of_one_row(const Graph&, int contraction, const Target&);
// The dimension in which the axis stands alone; -1 where there is none, or where other subscripts use it too.
int dimension_of(const Access&, const Axis&);

// An instruction that adds `group` neighbouring terms for each of `lanes` columns, of so many rows. Of a tile so many
// of them as are packed lie side by side in the right factor; its rows, no more than those, may be read where they lie:
// those of a window always, those of a matrix where they `may_stay`.
struct Dot {
  std::string intrin;
  DotProduct product;
  ir::Type left, right, sum;
  int64_t lanes, group, rows = 1, packed = 0;
  int64_t terms = 0;
  int sums = 1;  // whose terms these are: of several, they lie side by side as the channels of neighbouring pixels do
  int64_t channels = 0;  // of such a pixel, in a copy: more than there are, where zeros make them whole
  bool in_place = false, may_stay = false;
  bool pads = false;        // lines of the right factor are rounded up to whole lanes
  bool pads_terms = false;  // both factors are copies whose terms are rounded up to whole groups
  bool packs_rows() const { return rows > 1 && !in_place; }
  bool is_tile() const { return packed > 0; }
  int64_t side_by_side() const { return is_tile() ? packed : group; }
};
// Loops of the copy that a panel for dot products is, [groups, lane, term], and where its elements lie in the source.
struct DotPanel {
  std::string stage, groups, lane, term;
  int64_t columns, group;  // extents of `lane` and `term`
  int64_t lanes;           // elements in a register
  bool lanes_in_place;     // side by side in the source, too; else the terms are
  bool pads;               // its lines are rounded up to whole vectors
};
bool vectorize_dot_panel(Sketch&, const DotPanel&);  // whether there are vectors that make it

std::optional<Dot> dot_of(const Graph&, const Stage& contraction, const Roles&, const Target&);
// Whether the target has such an instruction for factors of these types.
bool multiplies(const Target&, ir::Type left, ir::Type right, ir::Type sum);
// Whether lines end in several vectors, each half as long as the one before: where there are no masks.
bool ends_in_vectors(const Stage& contraction, const Roles&, const Target&);
// Whether these are computed as a whole one, for nobody: where what they read is copied in the tasks, with room behind
// it.
bool pads_lanes(const Graph&, const Stage& contraction, const Roles&, const Target&);
// A product of the two reads, each cast to the type of the sums and nothing else. What a stage of its own pads is read
// there.
bool is_plain_product(const Stage& contraction, bool pads);

// What a register tile has: registers, of which each may hold so many neighbours of the broadcast operand, for products
// that take one of them; 1: each value that is broadcast fills a register.
struct Registers {
  int count;
  int64_t held = 1;
  int64_t most_rows = 30;     // that have a register each
  int64_t block = 1;          // of so many rows each is a register of sums, and of so many columns; tiles then leave no
  int64_t block_columns = 1;  // rest
  bool whole_tiles = false;   // are registers of their own, and so are the factors of each
  int64_t sets = 1;           // of the L1 to which the rows of a tile belong in turn
  int64_t row_group = 0;      // the rows of a tile divide it; 0: they may be any
  int64_t more_at_end = 0;    // vectors that the end of a line takes, where it is several of powers of two
};
Registers registers_of(const Graph&, const Stage&, const Roles&, const Target&, const std::optional<Dot>& = {});

// Sizes [rows, columns] of register tiles: columns in whole vectors, or all that there are unless `whole` asks for
// whole vectors; the best guess first. Accumulators, a row of vectors and what is broadcast fit into the registers.
// Of a plane of so many lines with few rows each [rows, columns, lines], where any tile has more than one of them.
std::vector<std::string> register_tiles(int64_t rows, int64_t columns, int64_t lanes, const Registers&, bool whole,
                                        int64_t lines = 1);

}  // namespace tw::autotune::sketch
