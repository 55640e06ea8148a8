// What a tensor expression is made of, as far as a rule wants to know: each stage's kind, who reads it and how.
//
// Facts are those after inlining: a pointwise stage whose repetition costs less than a trip through memory is
// `inlined`, and bodies, reads and readers of the others look through it. A rule may place such a stage itself by
// making it a member of its group. Arithmetic on an operand of a contraction that reads more than one element stays a
// stage, so that the contraction is seen to have two operands; a function inside of the sum, as in
// te.sum(te.exp(A[i, k]) * B[k, j]), becomes one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw::autotune::sketch {

enum class StageKind : uint8_t {
  kInput,        // a placeholder
  kPointwise,    // no reduction: elementwise, broadcasts, gathers, copies, padding
  kReduction,    // any reduction that is no contraction: sums of rows, windows, argmax, matrix times vector
  kContraction,  // by any reducer, of what is made of two reads, each of which is used again along an axis of the other
  kScan,
  kExtern,
};

struct Axis {
  std::string name;
  ir::Var var;
  int64_t extent = 1;
};

// A read of a stage: subscripts over the reader's axes.
struct Access {
  int stage = -1;
  ir::Expr load;
  const std::vector<ir::Expr>& at() const { return ir::as<ir::Load>(load)->at; }
  bool uses(const Axis& axis) const;
  // How many neighbours along the axis read the same: n where it occurs as axis // n only, as the channel of a grouped
  // convolution does; 1 where each reads its own. REQUIRES: uses(axis).
  int64_t shared_along(const Axis& axis) const;
};

struct Stage {
  std::string name;
  StageKind kind = StageKind::kInput;
  ir::Type type;
  bool output = false;
  bool inlined = false;
  bool prologue = false;  // pointwise: arithmetic on several reads whose result a contraction multiplies
  bool strip = false;  // pointwise or a window: its rows are stored while those of the root that reads it are computed
  bool param = false;  // an input that may be packed ahead
  std::vector<int64_t> shape;    // of the outputs
  std::vector<Axis> data, sums;  // data axes (an input has none), reduction axes
  std::vector<ir::Expr> bodies;  // one for each output, with inlined stages expanded
  std::vector<Access> reads;     // distinct ones, in order of occurrence
  std::vector<int> direct;       // stages that it reads itself, before inlining
  std::vector<int> sources;  // of an inlined stage: those that are not inlined and that it reads, through others too
  std::vector<int> readers;  // stages that are not inlined, through inlined ones too
  bool pads = false;         // pointwise: a choice between a read and a constant
  int scan = -1;             // in whose time loop it is computed, as it depends on a state; -1: none
  bool same_shapes = true;   // of a scan: of all states
  bool gathers = false;      // a subscript is read from memory
  bool expensive = false;    // exp and the like
  int64_t elements = 1;      // of one output
  double operations = 1;     // nodes of the bodies, times the iterations of all axes
  bool computed() const { return kind != StageKind::kInput; }
  bool reduces() const { return kind == StageKind::kReduction || kind == StageKind::kContraction; }
};

// The two operands of a contraction, by position in its reads.
struct Product {
  int left = -1, right = -1;
};

struct Graph {
  std::vector<te::Tensor> outputs;
  std::vector<schedule::Step> first;  // of each schedule: without them some stages are not there
  std::vector<Stage> stages;          // producers first
  const Stage& at(int i) const { return stages[static_cast<size_t>(i)]; }
  int find(const std::string& name) const;  // -1 when there is none
};

// An operand of a contraction, copied with its terms side by side (turned.h).
struct Turned {
  schedule::CacheRead copy;
  std::string sum;  // the reader's axis of these terms, which become its innermost ones
};

// REQUIRES: extents are known.
Graph analyse(const std::vector<te::Tensor>& outputs, const Target&);
// The same once these operands are turned.
Graph analyse_turned(const std::vector<te::Tensor>& outputs, const Target&, const std::vector<Turned>&);

// Of a sum of products of two reads, or of anything else made from two of them and from reads that are used again as
// well: te.sum((a[i, k] - m[k]) * b[k, j]), te.sum(te.abs(a[i, k] - b[j, k])).
std::optional<Product> product_of(const Stage&);
// Elements that the read brings while the stage runs.
double touched(const Stage&, const Access&);
// Whether `reader` has no reduction and reads `stage` only where it writes itself: same axes, same order.
bool reads_in_place(const Graph&, int reader, int stage);
// The reduction whose elements `root`, its only reader, reads where it writes itself; -1: none.
int summed_in_place(const Graph&, int root);
// Whether it is the axis itself.
bool is_axis(const ir::Expr&, const Axis&);
// How far a step along the axis moves the read's last subscript, when no other subscript moves: 0 for none that is
// constant.
std::optional<int64_t> stride_along(const Access&, const Axis&);
// How far a subscript goes when the variable takes one step; nothing where nobody knows.
std::optional<int64_t> step_along(const ir::Expr& at, const ir::Var&);
// Bytes between what neighbours along the axis read; 0 where nobody knows.
int64_t bytes_between(const Graph&, const Access&, const Axis&);

}  // namespace tw::autotune::sketch
