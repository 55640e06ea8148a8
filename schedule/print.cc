// Steps and schedules as people read them.
//
//   C = output, root                                B.split(i, factor=16, tail=mask)
//     parallel i.o in 0..17  (i = i.o*4 + i.i, tail peel)
//       for k in 0..64  reduction
//         vectorized j.i in 0..16
#include "schedule/print.h"

#include <algorithm>

#include "schedule/layout.h"
#include "schedule/refuse.h"
#include "schedule/unbounded.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/intrin_names.h"

namespace tw::schedule {

namespace {

std::string text_of(const Factor& factor) {
  if (!factor.size.empty()) return factor.size;
  return factor.is_reference() ? factor.knob + "[" + std::to_string(factor.part) + "]" : std::to_string(factor.value);
}

std::string arguments(const Split& s) {
  return s.axis + (s.factor ? ", factor=" + text_of(*s.factor) : "") +
         (s.nparts ? ", nparts=" + text_of(*s.nparts) : "") + ", tail=" + to_string(s.tail);
}
std::string arguments(const Tile& s) {
  return s.x + ", " + s.y + ", " + text_of(s.x_factor) + ", " + text_of(s.y_factor) + ", tail=" + to_string(s.tail);
}
std::string arguments(const Fuse& s) { return join(s.axes); }
std::string arguments(const Reorder& s) { return join(s.axes); }
std::string arguments(const Vectorize& s) { return s.axis; }
std::string arguments(const Unroll& s) { return s.axis; }
std::string arguments(const Parallel& s) { return s.axis; }
std::string arguments(const ComputeAt& s) { return s.consumer + ", " + s.axis; }
std::string arguments(const ComputeRoot&) { return ""; }
std::string arguments(const ComputeInline&) { return ""; }
std::string arguments(const CacheRead& s) {
  return to_string(s.scope) + ", [" + join(s.readers) + "]" + (s.axes.empty() ? "" : ", [" + join(s.axes) + "]");
}
std::string arguments(const CacheWrite& s) { return to_string(s.scope); }
std::string arguments(const Rfactor& s) { return s.axis + ", " + std::to_string(s.factor_axis); }
std::string arguments(const Hoist& s) { return std::to_string(s.operand) + ", " + to_string(s.scope); }
std::string arguments(const Tensorize& s) { return s.axis + ", " + te::readable_intrin(s.intrin); }
std::string arguments(const SetScope& s) { return to_string(s.scope); }
std::string arguments(const StorageAlign& s) {
  return s.axis + ", factor=" + std::to_string(s.factor) + ", offset=" + std::to_string(s.offset);
}
std::string arguments(const DoubleBuffer&) { return ""; }
std::string arguments(const RollingBuffer&) { return ""; }
std::string arguments(const Prefetch& s) {
  return s.source + ", " + s.axis + ", offset=" + std::to_string(s.offset) +
         (s.from.empty() ? "" : ", from=" + s.from) + (s.of.empty() ? "" : " of " + s.of) +
         (s.into.empty() ? "" : ", into=" + s.into);
}
std::string arguments(const Nontemporal&) { return ""; }
std::string arguments(const SetStorePredicate& s) { return s.condition; }
std::string arguments(const TransformLayout& s) {
  return "[" + join(s.indices) + "]" + (s.pad_value.empty() ? "" : ", pad_value=" + s.pad_value);
}
std::string arguments(const Bind& s) { return s.axis + ", " + s.thread; }
std::string arguments(const Pipeline& s) { return s.axis + ", " + text_of(s.stages) + ", by=" + s.by; }
std::string arguments(const Persistent& s) { return s.axis + (s.blocks ? ", blocks=" + text_of(*s.blocks) : ""); }
std::string arguments(const Roles& s) {
  std::string out = "producer=" + text_of(s.producer);
  if (s.consumers) out += ", consumers=" + std::to_string(*s.consumers);
  if (s.producer_registers != 0)
    out += ", registers=(" + std::to_string(s.producer_registers) + ", " + std::to_string(s.consumer_registers) + ")";
  return out;
}
std::string arguments(const Cluster& s) { return s.axis; }
std::string arguments(const Swizzle& s) { return s.bytes; }
std::string arguments(const Pragma& s) { return s.axis + ", " + s.key + ", " + std::to_string(s.value); }

// Inside a product or quotient.
std::string text_of(const Extent& extent) {
  return extent.known() || ir::as<ir::VarRef>(extent.expr()) ? to_string(extent) : "(" + to_string(extent) + ")";
}

// How root axes come from loops: "i = i.o*4 + i.i".
std::string relation_text(const StageNest& stage, const Relation& relation) {
  if (const auto* split = std::get_if<SplitRelation>(&relation)) {
    const Axis &parent = stage.axes[split->parent], &outer = stage.axes[split->outer],
               &inner = stage.axes[split->inner];
    bool even = outer.extent * inner.extent == parent.extent;
    return parent.name + " = " + outer.name + "*" + text_of(inner.extent) + " + " + inner.name +
           (even ? "" : ", tail " + to_string(split->tail));
  }
  const auto& fuse = std::get<FuseRelation>(relation);
  std::string fused = stage.axes[fuse.fused].name, extent = text_of(stage.axes[fuse.inner].extent);
  return stage.axes[fuse.outer].name + " = (" + fused + ") / " + extent + ", " + stage.axes[fuse.inner].name + " = (" +
         fused + ") % " + extent;
}

std::string shape_text(const StageNest& stage) {
  std::vector<std::string> extents;
  for (const ir::Expr& extent : stage.op->shape()) extents.push_back(ir::to_string(extent));
  return " " + ir::to_string(stage.op->dtype()) + "[" + join(extents) + "]";
}

// ", kept as [i // 16, j, i % 16]"
std::string layout_text(const StageNest& stage) {
  if (!stage.layout) return "";
  std::vector<std::string> names;
  for (const ir::Var& dimension : stage.layout->dimensions) {
    const AxisId axis = stage.axis_of(dimension);
    names.push_back(axis == kNone ? dimension.name() : stage.axes[axis].name);
  }
  return ", kept as " + to_string(*stage.layout, names);
}

class Printer {
 public:
  Printer(const LoopNest& nest, const std::vector<Step>& steps)
      : nest_(nest), attached_(nest.size()), unbounded_(unbounded_notes(nest, steps)) {
    for (int i = 0; i < nest.size(); ++i) {
      const Attach& attach = nest.stage(i).attach;
      int parent = attach.kind == AttachKind::kAt ? nest.find_stage(attach.stage) : kNone;
      if (parent != kNone && nest.stage(parent).position(attach_leaf(nest.stage(parent), attach.axis)) != kNone) {
        attached_[parent].push_back(i);
      } else {
        roots_.push_back(i);
      }
    }
  }

  std::string run() {
    for (int i : roots_) stage(i, 0);
    return std::move(out_);
  }

 private:
  void line(int indent, const std::string& text) { out_ += std::string(2 * indent, ' ') + text + "\n"; }

  void stage(int i, int indent) {
    const StageNest& stage = nest_.stage(i);
    if (stage.is_placeholder())
      return line(indent, stage.name + ": placeholder" + shape_text(stage) + layout_text(stage));
    if (stage.attach.kind == AttachKind::kInline) return line(indent, stage.name + ": inlined");
    line(indent, headline(nest_, stage));
    for (const std::string& note : unbounded_[i]) line(indent + 1, "# " + note);
    for (const Relation& relation : stage.relations) line(indent + 1, "# " + relation_text(stage, relation));
    for (size_t level = 0; level < stage.leaves.size(); ++level) {
      line(indent + 1 + static_cast<int>(level), loop(stage, stage.leaves[level]));
      for (int inside : attached_[i])
        if (attach_leaf(stage, nest_.stage(inside).attach.axis) == stage.leaves[level])
          this->stage(inside, indent + 2 + static_cast<int>(level));
    }
    line(indent + 1 + static_cast<int>(stage.leaves.size()), body(stage));
  }

  static std::string loop(const StageNest& stage, AxisId leaf) {
    const Axis& axis = stage.axes[leaf];
    std::string kind = axis.annotation == Annotation::kNone ? "for" : to_string(axis.annotation);
    std::string text = kind + " " + axis.name + " in " + to_string(axis.min) + ".." + to_string(axis.min + axis.extent);
    if (axis.reduction) text += "  reduction";
    if (leaf == stage.cluster.axis) text += "  cluster";
    for (const PragmaNote& note : stage.pragmas)
      if (note.axis == leaf) text += "  " + note.key + "=" + std::to_string(note.value);
    return text;
  }

  std::string body(const StageNest& stage) {
    std::vector<std::string> at;
    for (int d = 0; d < stage.data_rank; ++d) at.push_back(stage.axes[d].name);
    std::vector<std::string> reads;
    for (const ir::Expr& body : stage.bodies)
      ir::walk(body, [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        int source = load ? nest_.find_stage(load->buffer.id()) : kNone;
        if (source != kNone && std::find(reads.begin(), reads.end(), nest_.stage(source).name) == reads.end())
          reads.push_back(nest_.stage(source).name);
        return true;
      });
    return stage.name + "[" + join(at) + "] " + (stage.is_reduction() ? "reduces" : "=") +
           (reads.empty() ? " constant" : " f(" + join(reads) + ")");
  }

  const LoopNest& nest_;
  std::vector<std::vector<int>> attached_;  // stages inside each stage's loops
  std::vector<int> roots_;
  std::vector<std::vector<std::string>> unbounded_;  // notes on each stage
  std::string out_;
};

}  // namespace

bool operator==(const Step& a, const Step& b) {
  if (a.kind.index() != b.kind.index()) return false;
  return std::visit([&]<class K>(const K& kind) { return kind.fields() == std::get<K>(b.kind).fields(); }, a.kind);
}

std::string to_string(const Step& step) {
  return std::visit([]<class K>(const K& kind) { return kind.stage + "." + K::kName + "(" + arguments(kind) + ")"; },
                    step.kind);
}

std::string headline(const LoopNest& nest, const StageNest& stage) {
  std::string head = stage.name + ": " + (stage.output ? "output" : "computed") + shape_text(stage);
  if (stage.attach.kind == AttachKind::kAt) {
    const StageNest& parent = nest.stage(nest.find_stage(stage.attach.stage));
    head += ", at " + parent.name + "'s loop " + parent.axes[attach_leaf(parent, stage.attach.axis)].name;
  }
  if (stage.nontemporal != kNone) head += ", nontemporal";
  return (stage.scope ? head + ", " + to_string(*stage.scope) : head) + layout_text(stage);
}

std::string to_string(const Schedule& schedule) {
  return support::with_deep_stack([&] { return Printer(schedule.nest(), schedule.steps()).run(); });
}

}  // namespace tw::schedule
