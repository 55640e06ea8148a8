// Schedules are data: a std::vector<Step> is the one form that Python issues, the tuner mutates, the log stores and the
// builder replays. A Step names a stage by its unique name and an axis by how it came about (i.o, i.o.i, i*j), never by
// position.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensorwright/te.h"

namespace tw::schedule {

using ir::Scope;
using ir::Tail;

// A positive integer, or an expression over scalars of the kernel by their names ("n // 4"), which the kernel requires
// to be positive, or a reference to a value of a tuner's knob that the candidate fills in ("tile_j"[1]).
// A Step whose Factor is still a reference cannot be applied.
struct Factor {
  int64_t value = 0;
  std::string knob;              // empty: `value` is meant
  int part = 0;                  // which of the knob's values
  std::string size;              // empty: a number or a reference
  std::vector<ir::Var> scalars;  // those that `size` names, where the process has them; neither compared nor stored
  Factor() = default;
  Factor(int64_t v) : value(v) {}
  Factor(std::string k, int p, int64_t v) : value(v), knob(std::move(k)), part(p) {}
  explicit Factor(const ir::Expr& size);
  bool is_reference() const { return !knob.empty(); }
  bool operator==(const Factor& other) const {
    return value == other.value && knob == other.knob && part == other.part && size == other.size;
  }
};

// fields() lists what JSON stores, in order; kName is the Step's name there and in Python.
struct Split {
  static constexpr const char* kName = "split";
  std::string stage, axis;
  std::optional<Factor> factor, nparts;  // exactly one
  Tail tail = Tail::kAuto;
  auto fields() const { return std::tie(stage, axis, factor, nparts, tail); }
};
struct Tile {
  static constexpr const char* kName = "tile";
  std::string stage, x, y;
  Factor x_factor, y_factor;
  Tail tail = Tail::kAuto;
  auto fields() const { return std::tie(stage, x, y, x_factor, y_factor, tail); }
};
// clang-format off: a table
struct Fuse        { static constexpr const char* kName = "fuse";            std::string stage; std::vector<std::string> axes;  auto fields() const { return std::tie(stage, axes); } };
struct Reorder     { static constexpr const char* kName = "reorder";         std::string stage; std::vector<std::string> axes;  auto fields() const { return std::tie(stage, axes); } };
struct Vectorize   { static constexpr const char* kName = "vectorize";       std::string stage, axis;                           auto fields() const { return std::tie(stage, axis); } };
struct Unroll      { static constexpr const char* kName = "unroll";          std::string stage, axis;                           auto fields() const { return std::tie(stage, axis); } };
struct Parallel    { static constexpr const char* kName = "parallel";        std::string stage, axis;                           auto fields() const { return std::tie(stage, axis); } };
struct Bind        { static constexpr const char* kName = "bind";            std::string stage, axis, thread;                   auto fields() const { return std::tie(stage, axis, thread); } };  // thread: "blockIdx.x" .. "threadIdx.z"
struct ComputeAt   { static constexpr const char* kName = "compute_at";      std::string stage, consumer, axis;                 auto fields() const { return std::tie(stage, consumer, axis); } };
struct ComputeRoot { static constexpr const char* kName = "compute_root";    std::string stage;                                 auto fields() const { return std::tie(stage); } };
struct ComputeInline { static constexpr const char* kName = "compute_inline"; std::string stage;                                auto fields() const { return std::tie(stage); } };
struct CacheRead   { static constexpr const char* kName = "cache_read";      std::string stage; Scope scope; std::vector<std::string> readers, axes = {}; auto fields() const { return std::tie(stage, scope, readers, axes); } };  // new stage: "<stage>.<scope>"; axes: of the copy, ax0, ax1, .. in its order; empty: in that of the stage
struct CacheWrite  { static constexpr const char* kName = "cache_write";     std::string stage; Scope scope;                    auto fields() const { return std::tie(stage, scope); } };  // new stage: "<stage>.<scope>"
struct Rfactor     { static constexpr const char* kName = "rfactor";         std::string stage, axis; int64_t factor_axis = 0;  auto fields() const { return std::tie(stage, axis, factor_axis); } };  // new stage: "<stage>.rf"
struct Hoist       { static constexpr const char* kName = "hoist";           std::string stage; int64_t operand = 0; Scope scope = Scope::kGlobal; auto fields() const { return std::tie(stage, operand, scope); } };  // new stage: "<stage>.operand<n>"
struct Tensorize   { static constexpr const char* kName = "tensorize";       std::string stage, axis, intrin;                   auto fields() const { return std::tie(stage, axis, intrin); } };  // intrin: a key of tensor_intrin.h
struct SetScope    { static constexpr const char* kName = "set_scope";       std::string stage; Scope scope;                    auto fields() const { return std::tie(stage, scope); } };
struct Pragma      { static constexpr const char* kName = "pragma";          std::string stage, axis, key; int64_t value = 1;   auto fields() const { return std::tie(stage, axis, key, value); } };
struct StorageAlign { static constexpr const char* kName = "storage_align"; std::string stage, axis; int64_t factor = 1, offset = 0; auto fields() const { return std::tie(stage, axis, factor, offset); } };
struct DoubleBuffer { static constexpr const char* kName = "double_buffer"; std::string stage;                                  auto fields() const { return std::tie(stage); } };
struct Pipeline    { static constexpr const char* kName = "pipeline";        std::string stage, axis; Factor stages = 2; std::string by = "auto"; auto fields() const { return std::tie(stage, axis, stages, by); } };  // by: "auto", "ldg", "cp.async" or "tma"
struct Persistent  { static constexpr const char* kName = "persistent";      std::string stage, axis; std::optional<Factor> blocks;  auto fields() const { return std::tie(stage, axis, blocks); } };  // blocks: none, as many as the device has multiprocessors
struct Roles       { static constexpr const char* kName = "roles";           std::string stage; Factor producer = 1; std::optional<int64_t> consumers; int64_t producer_registers = 0, consumer_registers = 0; auto fields() const { return std::tie(stage, producer, consumers, producer_registers, consumer_registers); } };  // consumers: none, as many as are bound; registers: 0, as they can be shared out
struct Cluster     { static constexpr const char* kName = "cluster";         std::string stage, axis;                           auto fields() const { return std::tie(stage, axis); } };
struct Swizzle     { static constexpr const char* kName = "swizzle";         std::string stage, bytes = "auto";                 auto fields() const { return std::tie(stage, bytes); } };  // bytes: "auto", "none", "32", "64" or "128"
struct RollingBuffer { static constexpr const char* kName = "rolling_buffer"; std::string stage;                                auto fields() const { return std::tie(stage); } };
struct Prefetch    { static constexpr const char* kName = "prefetch";        std::string stage, source, axis; int64_t offset = 1; std::string from, of, into; auto fields() const { return std::tie(stage, source, axis, offset, from, of, into); } };  // from: the loop whose iterations `offset` counts, of the stage `of`; empty: axis itself, this stage; into: "" the first cache, or "L2"
struct Nontemporal { static constexpr const char* kName = "nontemporal";     std::string stage;                                 auto fields() const { return std::tie(stage); } };
struct SetStorePredicate { static constexpr const char* kName = "set_store_predicate"; std::string stage, condition;            auto fields() const { return std::tie(stage, condition); } };  // over the names of the data axes, as GRAMMAR.md writes expressions
// clang-format on
struct TransformLayout {
  static constexpr const char* kName = "transform_layout";
  std::string stage;
  std::vector<std::string> indices;
  std::string pad_value;
  auto fields() const { return std::tie(stage, indices, pad_value); }
};  // over the names of the data axes, of a placeholder ax0, ax1, ...; pad_value "": nothing may be padded

using StepKind = std::variant<Split, Tile, Fuse, Reorder, Vectorize, Unroll, Parallel, ComputeAt, ComputeRoot,
                              ComputeInline, CacheRead, CacheWrite, Rfactor, Hoist, Tensorize, SetScope, Pragma,
                              StorageAlign, DoubleBuffer, RollingBuffer, Prefetch, SetStorePredicate, TransformLayout,
                              Bind, Pipeline, Swizzle, Persistent, Roles, Cluster, Nontemporal>;

struct Step {
  StepKind kind;
  SourceLine where;  // the user's line; neither compared nor stored
  template <class K>
    requires(!std::is_same_v<std::decay_t<K>, Step>)
  Step(K k, SourceLine w = {}) : kind(std::move(k)), where(std::move(w)) {}
  TW_DECLARE_VALUE(Step);
};
bool operator==(const Step&, const Step&);
std::string to_string(const Step&);             // B.split(i, factor=16, tail=mask)
std::string to_json(const std::vector<Step>&);  // one line
Result<std::vector<Step>> steps_from_json(std::string_view);

class LoopNest;  // schedule/loop_nest.h: the state that Steps act on; an immutable value

// A tensor expression with the Steps applied so far. A value: copies are independent and cheap.
class Schedule {
 public:
  explicit Schedule(std::vector<te::Tensor> outputs);
  TW_DECLARE_VALUE(Schedule);

  // Applies a Step or throws ScheduleError; a refused Step leaves the schedule as it was.
  void apply(Step step);
  Status try_apply(Step step);

  // The rules of the whole nest (placement, tails, races). Lowering checks them too.
  Status check() const;

  const std::vector<te::Tensor>& outputs() const;
  const std::vector<Step>& steps() const { return steps_; }
  const LoopNest& nest() const { return *nest_; }
  static Result<Schedule> from_steps(std::vector<te::Tensor> outputs, const std::vector<Step>& steps);

 private:
  std::shared_ptr<const LoopNest> nest_;
  std::vector<Step> steps_;
};

// The loop nest as it now stands, for people.
std::string to_string(const Schedule&);

// Derives the loop program: bounds inference, guards, init and update of reductions, allocations. Parameters are `args`
// (placeholders and outputs, in this order; an intermediate in the list is written out). Refuses what check() refuses.
Result<ir::Program> to_ir(const Schedule&, const std::vector<te::Tensor>& args, std::string name = "kernel",
                          const std::vector<te::ScalarArgument>& scalars = {});

}  // namespace tw::schedule
