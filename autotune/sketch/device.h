// What several rules for devices have in common, and these rules, each in a file of its own.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"
#include "autotune/sketch/sketch.h"
#include "src/ir/warp_products.h"
#include "src/support/launch_limits.h"

namespace tw::autotune::sketch {

// Of a sum, or its threads would wait for each other longer than they add.
inline constexpr int64_t kLeastShared = 32;

// Whether one of the stages has elements of which two share a byte: a thread has to store both.
bool shares_bytes(const Graph&, const std::vector<int>& stages);

// Neighbouring threads of a block take neighbouring iterations of the loop.
void share(Sketch&, const std::string& stage, const std::string& loop, schedule::Factor threads);

// What a thread reads of neighbouring terms at once, 16 bytes: how many elements these are of the smallest, one where
// nothing lies so, and the sources that the stage reads so itself and in no other way, not through what is inlined.
struct Vectors {
  std::vector<std::string> sources;
  int64_t lanes = 1;
};
Vectors vectors_along(const Graph&, const Stage&, const Axis&);
// What the stage reads of the sources, in registers of each thread: stages for `load_vectors`.
std::vector<std::string> keep_in_registers(Sketch&, const std::string& stage, const std::vector<std::string>& sources);
void load_vectors(Sketch&, const std::string& copy, const Place& at, schedule::Factor lanes);
// As `share`, a thread taking so many neighbouring iterations of a sum, which it adds one after the other; `counted`:
// in a loop that stays one.
void share_vectors(Sketch&, const std::string& stage, const std::string& loop, schedule::Factor threads,
                   const std::vector<std::string>& sources, const schedule::Factor& lanes, bool counted = false);

// Along blockIdx.y and blockIdx.z.
inline constexpr int64_t kMostBlocks = support::kMostBlocksAlong[1];
// Binds the loops over tiles, which stand outermost in this order: `outer` to blockIdx.z, `rows` to blockIdx.y and
// `columns` to blockIdx.x. Where there may be more of the first two than a device has, of so many rows and of tiles
// that have `least` of them, all are blockIdx.x. The innermost loop that is bound.
struct TilesOf {
  int64_t outer, rows, least;
};
std::string bind_tiles(Sketch&, const std::string& stage, const std::vector<std::string>& outer,
                       const std::string& rows, const std::string& columns, const TilesOf&);

// How many blocks are worth sharing a sum's terms, where there are so many without: eight times as many as a device has
// processors, but none has less than `least`; less than two: none.
int64_t parts_of(int64_t blocks, int64_t terms, int64_t least);

inline constexpr double kMostPastEnd = 1.5;     // of all tiles of a product together, times the result
double past_end(int64_t extent, int64_t part);  // how much more than the extent all parts of it are together
// Whether terms along several axes may be counted as one: each is an element of its own.
bool is_one_row(const Stage&);
// So many, or a number above half of it that divides the terms: parts of which one is shorter look at where each ends.
int64_t even_parts(int64_t terms, int64_t parts);
// Whether rows of so many terms are too few for a block each.
bool has_few_rows(int64_t rows, int64_t terms);
// The sum's parts as a stage before it; its loop that counts them, its loops over data, and what is left of the terms.
struct Parts {
  std::string stage, part;
  std::vector<std::string> data;
  std::string terms;
};
Parts share_among_blocks(Sketch&, const std::string& stage, const std::string& terms, schedule::Factor parts);

// Whether both operands are of one stage, as those of a matrix times its transpose are.
bool are_of_one(const Roles&);
// The broadcast one as a stage of its own then, so that each has a copy: one for both would reach from the rows of the
// one to those of the other. For `share_operands`, which inlines it; empty where they are of two, or where there is no
// such part. Before the sums are shared among blocks.
std::string read_apart(Sketch&, const Group&, const Roles&);
// The operands of a contraction in shared memory, for `reader`: what computes one, such as its padding, or a copy of
// what is read in place, with its axes in this order where there is one. Their stages; none of one stage that is not
// read apart.
std::vector<std::string> share_operands(Sketch&, const Group&, const Roles&, const std::string& reader,
                                        const std::string& apart,
                                        const std::array<std::vector<std::string>, 2>& axes = {});

// The first of the products that the stage's sums are of: by the types of both operands, and where whole ones make up
// the result, or what it has along each axis is at least a third of one. Null: none.
enum class Ends : uint8_t { kWhole, kFilled, kUneven };
const ir::WarpProduct* product_for(const Graph&, const Stage&, const Roles&, std::span<const ir::WarpProduct>, Ends);

// Among how many blocks the terms of a product may be shared, by tiles of `unit` terms; one first, and alone where
// tiles of the result are enough. Uneven: of as many as divide the terms rather than of as many as there may be.
std::vector<int64_t> parts_of_product(const Stage&, const Roles&, int64_t processors, int64_t unit, Ends);
// What is tiled: a stage, its loops around the tiles, and those of its sums.
struct TiledSums {
  std::string stage;
  std::vector<std::string> outer, terms;
};
TiledSums whole_sums(const Stage&, const Roles&);
// A part of each sum, as a stage before it; the loop that counts them is the first around the tiles. Then `add_parts`.
TiledSums parts_of_sums(Sketch&, const Stage&, const Roles&, int64_t parts, int64_t unit);
void add_parts(Sketch&, const Group&);
int64_t processors_of(const Target&);

// Whether a rule that stands before the named one in the table of devices takes the stage.
bool is_taken_before(const Graph&, int stage, std::string_view rule);

// What a thread may take of the stage's rows at once, 16 bytes at most of what it writes (device_pointwise.cc); one
// where nothing lies so.
int64_t widest_of_rows(const Graph&, int stage);
// Whether a sum is what the root alone reads, each where it writes, and no rule before the named one takes it.
bool is_a_threads_own(const Graph&, int root, int sum, std::string_view rule);

std::optional<Group> match_device_scan(const Graph&, int root), match_device_groups(const Graph&, int root),
    match_device_planes(const Graph&, int root), match_device_warps(const Graph&, int root),
    match_device_contraction(const Graph&, int root), match_device_rows(const Graph&, int root),
    match_device_reduction(const Graph&, int root), match_device_columns(const Graph&, int root),
    match_device_transposed(const Graph&, int root), match_device_windows(const Graph&, int root),
    match_device_pointwise(const Graph&, int root);
void apply_device_scan(Sketch&, const Group&), apply_device_groups(Sketch&, const Group&),
    apply_device_planes(Sketch&, const Group&), apply_device_warps(Sketch&, const Group&),
    apply_device_contraction(Sketch&, const Group&), apply_device_rows(Sketch&, const Group&),
    apply_device_reduction(Sketch&, const Group&), apply_device_columns(Sketch&, const Group&),
    apply_device_transposed(Sketch&, const Group&), apply_device_windows(Sketch&, const Group&),
    apply_device_pointwise(Sketch&, const Group&);

}  // namespace tw::autotune::sketch
