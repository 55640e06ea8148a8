// LoopNest: what the Steps applied so far have made of a tensor expression. An immutable value: primitives take one and
// give another; the stages that a Step does not touch are shared.
//
// Invariants: stages stand producers first and have unique names; a stage's leaves are its loops from the outside in;
// an axis is either a leaf or the input of exactly one relation; relations stand in the order in which they were made.
// Extents are those of the whole domain: a stage that is computed inside another's loop runs over less, which only
// to_ir knows.
//
// Facts that a Step brought in keep its number, so that an error about the whole nest can name the Step at fault.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/schedule.h"
#include "tensorwright/tensor_intrin.h"

namespace tw::te {
struct ScanBody;
}

namespace tw::schedule {

// From kBlockX on: the loop is bound to that index of a device. kVirtual: its iterations are threads that one thread of
// the device goes on with side by side (vthreads.h).
enum class Annotation : uint8_t {
  kNone,
  kVectorized,
  kUnrolled,
  kVirtual,
  kParallel,
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,
};
inline constexpr Annotation kDeviceIndices[] = {Annotation::kBlockZ,  Annotation::kBlockY,  Annotation::kBlockX,
                                                Annotation::kThreadZ, Annotation::kThreadY, Annotation::kThreadX};
inline bool is_bound(Annotation annotation) { return annotation >= Annotation::kBlockX; }
inline bool is_thread(Annotation annotation) { return annotation >= Annotation::kThreadX; }
inline bool is_block(Annotation annotation) { return is_bound(annotation) && !is_thread(annotation); }
// Whether iterations are threads, virtual ones or not.
inline bool has_threads(Annotation annotation) { return annotation == Annotation::kVirtual || is_thread(annotation); }
// Whether iterations may run at once, on threads of their own.
inline bool runs_concurrently(Annotation annotation) { return annotation >= Annotation::kParallel; }

using AxisId = int;  // position in StageNest::axes
inline constexpr int kNone = -1;

// How often a loop runs: a number, or an expression over the symbolic extents of the tensor expression.
class Extent {
 public:
  Extent(int64_t n = 1) : value_(n) {}
  explicit Extent(const ir::Expr& e);  // a number when it simplifies to one
  bool known() const { return !symbolic_; }
  int64_t value() const;  // of a known one
  int64_t value_or(int64_t otherwise) const { return symbolic_ ? otherwise : value_; }
  ir::Expr expr() const { return symbolic_ ? symbolic_ : ir::Expr(value_); }
  bool operator==(const Extent&) const;  // for all values of the variables

 private:
  int64_t value_ = 1;
  ir::Expr symbolic_;
};
Extent operator*(const Extent&, const Extent&);
Extent operator+(const Extent&, const Extent&);
Extent ceil_div(const Extent&, const Extent&);  // 0 where the divisor is
std::string to_string(const Extent&);

struct Axis {
  std::string name;  // i, i.o, i*j: unique in its stage
  ir::Var var;       // of the stage's definition; empty for axes that a Step made
  Extent min = 0;    // where a root reduction axis starts
  Extent extent;
  bool reduction = false;
  Annotation annotation = Annotation::kNone;
  int annotated_by = kNone;  // Step
};

// parent = outer * f + inner. f is `factor`, or ceil(extent of parent / parts).
struct SplitRelation {
  AxisId parent, outer, inner;
  Extent factor = 0;  // 0: by parts
  Extent parts = 0;
  Tail tail = Tail::kAuto;
  int step = kNone;
  bool by_parts() const { return !(parts == 0); }
};
// outer = fused / extent of inner, inner = fused % extent of inner.
struct FuseRelation {
  AxisId outer, inner, fused;
  int step = kNone;
};
using Relation = std::variant<SplitRelation, FuseRelation>;

enum class AttachKind : uint8_t { kRoot, kInline, kAt };
struct Attach {
  AttachKind kind = AttachKind::kRoot;
  std::string stage;    // kAt: in this stage
  AxisId axis = kNone;  // kAt: inside this loop of it
  int step = kNone;
};

struct PragmaNote {
  AxisId axis;
  std::string key;
  int64_t value;
};

// The stride of a data axis leaves `offset` when divided by `factor`.
struct Alignment {
  AxisId axis;
  int64_t factor, offset;
};

// At each iteration of `axis` what it would read of `source` `offset` iterations of `from` later is fetched into the
// cache. `from` is a loop around `axis`, of the stage `of`, in whose loops this one is computed, or of this one; empty:
// `axis` itself.
struct PrefetchNote {
  std::string source;
  AxisId axis;
  std::string from, of;
  int64_t offset;
  bool second;  // into the second cache, past the first
  int step;
};

// What the loop's iterations compute in memory that threads share is there `stages` - 1 iterations before.
struct PipelineNote {
  AxisId axis;
  int64_t stages;
  ir::Arrival by;
  int step;
};

// A block computes one tile after the other: `whole` was split into the loop over its tiles and the index of the block.
struct PersistentNote {
  AxisId tiles = kNone, whole = kNone;
  int step = kNone;
};

// Threads of their own fill the rings of the stage's pipeline.
struct RolesNote {
  int step = kNone;       // of none: those who compute do
  int64_t consumers = 0;  // times 128 threads; 0: as many as there are
  int64_t producer_registers = 0, consumer_registers = 0;
};

// The blocks along the axis, which is bound to one of their indices, are a cluster.
struct ClusterNote {
  AxisId axis = kNone;
  int step = kNone;
};

// The loops from `axis` on are one statement of the intrinsic.
struct TensorizeNote {
  AxisId axis = kNone;
  te::TensorIntrinPtr intrin;
  int step = kNone;
};

// Where the elements stand in memory: see layout.h.
struct Layout {
  std::vector<ir::Var> dimensions;  // of a computed stage the variables of its data axes
  std::vector<ir::Expr> indices;    // over them, one for each dimension of the memory
  std::string pad;                  // what places without an element hold; empty: there may be none
  int step = kNone;
};

inline constexpr int64_t kAutoSwizzle = -1;  // as many bytes as fit a row

struct StageNest {
  StageNest();
  TW_DECLARE_VALUE(StageNest);

  std::string name;
  te::Operation
      op;  // for its axes, shapes and types; what is computed is `bodies`, in which cache_read redirects loads
  // One element of each output in terms of the root axes; a Reduce only at the root, then of all of them. Empty for a
  // placeholder and for an extern. Of a scan: select(t < first, init[t, ...], update[t, ...]).
  std::vector<ir::Expr> bodies;
  std::vector<ir::Buffer> buffers;  // of the outputs: loads of them, in any body, read this stage
  bool output = false;
  int data_rank = 0, reduce_rank = 0;  // the first axes are the data axes, then come the reduction axes
  std::vector<Axis> axes;
  std::vector<Relation> relations;
  std::vector<AxisId> leaves;
  Attach attach;
  std::optional<Scope> scope;  // as set_scope or a cache primitive asked; empty: by its place, as placement.h says
  std::vector<PragmaNote> pragmas;
  std::vector<Alignment> alignments;
  std::optional<Layout> layout;  // none: that of the definition
  std::vector<PrefetchNote> prefetches;
  std::vector<PipelineNote> pipelines;
  int64_t swizzled = 0;       // bytes within which a row's parts change places; 0: none do
  int swizzle_by = kNone;     // Step
  PersistentNote persistent;  // of no loop: each block has a tile
  RolesNote roles;
  ClusterNote cluster;                           // of no loop: each block is by itself
  TensorizeNote tensorized;                      // of no axis: not at all
  int double_buffered = kNone, rolling = kNone;  // the Step that asked for it
  ir::Expr store_predicate;                      // over the data axes; empty: every element is stored
  int predicated_by = kNone;                     // Step
  int nontemporal = kNone;                       // the Step by which an output is stored past the caches
  std::vector<std::pair<uint64_t, AxisId>>
      aliases;  // variables of the stage that this one was split off from (cache_write)

  bool is_placeholder() const { return op->is_placeholder(); }
  const ir::Reduce* reduction() const { return bodies.empty() ? nullptr : ir::as<ir::Reduce>(bodies[0]); }
  bool is_reduction() const { return reduction() != nullptr; }
  const ir::Buffer& buffer() const { return buffers.front(); }  // of the first output
  int output_of(uint64_t buffer_id) const;                      // kNone when it is none of them
  AxisId find_axis(std::string_view name) const;                // kNone when there is none
  AxisId axis_of(const ir::Var& var) const;                     // by the variable of a root axis, or its alias
  int position(AxisId) const;                   // among the leaves, from the outside; kNone when not a leaf
  const Relation* relation_from(AxisId) const;  // the relation that consumed the axis; null for a leaf
};

// A size over scalars that a Step gave; the kernel runs where it is 1 or more.
struct PositiveSize {
  ir::Expr size;
  int step;
};

class LoopNest {
 public:
  // The nest before any Step: every stage at root, loops in the order of its definition.
  explicit LoopNest(std::vector<te::Tensor> outputs);
  TW_DECLARE_VALUE(LoopNest);

  const std::vector<te::Tensor>& outputs() const { return *outputs_; }
  // Of the variables of symbolic extents: the shapes of placeholders and outputs are not negative.
  const ir::Bounds& scalars() const { return *scalars_; }
  const std::vector<PositiveSize>& positive_sizes() const { return positive_sizes_; }
  // The scalars that Steps name and the tensor expression does not have.
  const std::vector<ir::Var>& named_scalars() const { return named_scalars_; }
  int size() const { return static_cast<int>(stages_.size()); }
  const StageNest& stage(int i) const { return *stages_[static_cast<size_t>(i)]; }
  int find_stage(std::string_view name) const;  // kNone when there is none
  int find_stage(uint64_t buffer_id) const;     // of any of its outputs
  int steps_applied() const { return steps_applied_; }

  // For primitives, which work on a copy.
  StageNest& edit(int i);  // the stage, no longer shared with other nests
  void insert(int before, StageNest stage);
  std::string unique_name(const std::string& wanted) const;
  void count_step() { ++steps_applied_; }
  void require_positive(const ir::Expr& size);  // by the Step that is being applied
  void add_scalar(const ir::Var& scalar) { named_scalars_.push_back(scalar); }

 private:
  void place_inside(const te::ScanBody&);

  std::shared_ptr<const std::vector<te::Tensor>> outputs_;
  std::shared_ptr<const ir::Bounds> scalars_;
  std::vector<std::shared_ptr<const StageNest>> stages_;
  std::vector<PositiveSize> positive_sizes_;
  std::vector<ir::Var> named_scalars_;
  int steps_applied_ = 0;
};

// A Step applied, or why not. The Diagnostic carries the Step's line.
Result<LoopNest> apply(const LoopNest&, const Step&);

// The axes over which another relation-free stage would run: used by the constructor and by the cache primitives.
// An extent that may be negative for some values of `scalars` counts as 0 there.
StageNest make_stage(std::string name, const te::Operation& op, const ir::Bounds& scalars);

// The leaves that came from `axis` by splits and fuses, in no particular order.
std::vector<AxisId> leaves_from(const StageNest&, AxisId axis);

// The stages whose bodies read stage `i`.
std::vector<int> readers_of(const LoopNest&, int i);

std::string to_string(Annotation);
std::string to_string(Tail);

}  // namespace tw::schedule
