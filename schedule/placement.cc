// Who reads whom, and whether every reader stands inside the loop at which its producer is computed.
#include "schedule/placement.h"

#include <unordered_map>

#include "schedule/left_out.h"
#include "schedule/narrow.h"
#include "schedule/refuse.h"

namespace tw::schedule {

Diagnostic blame(Diagnostic d, const std::vector<Step>& steps, int step) {
  if (step >= 0 && step < static_cast<int>(steps.size())) d.where = steps[step].where;
  return d;
}

namespace {

using Reads = std::vector<std::vector<Read>>;

Reads reads_of(const LoopNest& nest, const std::vector<std::vector<ir::Expr>>& bodies) {
  std::unordered_map<uint64_t, int> stage_of;
  for (int i = 0; i < nest.size(); ++i)
    for (const ir::Buffer& buffer : nest.stage(i).buffers) stage_of[buffer.id()] = i;
  Reads reads(nest.size());
  for (int i = 0; i < nest.size(); ++i)
    for (const ir::Expr& body : bodies[i])
      for (GuardedLoad& found : guarded_loads(body))
        reads[i].push_back(
            {stage_of.at(ir::as<ir::Load>(found.load)->buffer.id()), found.load, std::move(found.holds)});
  return reads;
}

// A state is written after what reads it: it was, at earlier times.
std::vector<int> scans_of(const LoopNest& nest, const Reads& reads) {
  std::vector<int> scans(nest.size(), kNone);
  for (int i = 0; i < nest.size(); ++i) {
    if (nest.stage(i).op->scan()) continue;
    for (const Read& read : reads[i])
      if (int scan = read.source > i ? read.source : scans[read.source]; scan != kNone) scans[i] = scan;
  }
  return scans;
}

class Placer {
 public:
  Placer(const LoopNest& nest, const std::vector<Step>& steps) : nest_(nest), steps_(steps) {}

  Result<Placement> run(const std::vector<int>& wanted) {
    find_reads(wanted);
    placed_.parent.assign(nest_.size(), kNone);
    placed_.level.assign(nest_.size(), kNone);
    placed_.scan = scans_of(nest_, placed_.reads);
    TW_TRY([[maybe_unused]] Unit whole, check_externs());
    for (int i = nest_.size(); i-- > 0;) {  // readers first: their places are known when a producer asks
      if (!placed_.live(i) || nest_.stage(i).attach.kind != AttachKind::kAt) continue;
      TW_TRY([[maybe_unused]] Unit attached, attach(i));
    }
    for (int i = 0; i < nest_.size(); ++i)
      if (int scan = placed_.scan[i]; placed_.live(i) && scan != kNone && !stands_inside(i, scan, 0))
        return too_early(nest_.stage(i), nest_.stage(scan));
    place_in_launches(nest_, placed_);
    return std::move(placed_);
  }

 private:
  // Reads of the stages that are needed; the bodies of the others are dropped.
  void find_reads(const std::vector<int>& wanted) {
    placed_.bodies = inline_bodies(nest_, wanted, Padding::kLeftOut);
    for (std::vector<ir::Expr>& bodies : placed_.bodies)
      if (bodies.size() == 1) bodies[0] = without_identities(bodies[0]);
    placed_.readers.resize(nest_.size());
    placed_.reads = reads_of(nest_, placed_.bodies);
    for (int i = 0; i < nest_.size(); ++i)
      if (const ir::WarpProduct* product = warp_product_of(nest_.stage(i))) round_operands(i, *product);
    std::vector<char> needed(nest_.size(), 0);
    for (int i = 0; i < nest_.size(); ++i) needed[i] = nest_.stage(i).output;
    for (int i : wanted) needed[i] = 1;
    for (int i = nest_.size(); i-- > 0;) {
      if (!needed[i]) {
        placed_.bodies[i] = {};
        placed_.reads[i] = {};
      }
      for (const Read& read : placed_.reads[i]) {
        if (read.source >= i) continue;  // the state of a scan, at an earlier time: nothing has to be computed for it
        std::vector<int>& readers = placed_.readers[read.source];
        if (readers.empty() || readers.back() != i) readers.push_back(i);
        needed[read.source] = 1;
      }
    }
  }

  // What tensor cores read in shared memory themselves they do not round: who keeps it there does, or keeps what is
  // copied to there.
  void round_operands(int stage, const ir::WarpProduct& product) {
    if (product.lanes == ir::kLanesOfWarp || product.operand != product.sum) return;
    for (const Read& read : placed_.reads[stage]) {
      if (!is_kept(read.source)) continue;
      int keeper = read.source;
      for (int copied = copied_by(keeper); copied != kNone; copied = copied_by(keeper)) keeper = copied;
      ir::Expr& body = placed_.bodies[keeper][0];
      const auto* call = ir::as<ir::Call>(body);
      if (!ir::as<ir::Reduce>(body) && !(call && call->fn == ir::Fn::kTF32)) body = ir::call(ir::Fn::kTF32, {body});
    }
  }

  bool is_kept(int stage) const { return !nest_.stage(stage).is_placeholder() && placed_.bodies[stage].size() == 1; }

  // The stage of values that this one copies, and nobody else reads.
  int copied_by(int stage) const {
    if (!ir::as<ir::Load>(placed_.bodies[stage][0])) return kNone;
    const int source = placed_.reads[stage].front().source;
    if (source > stage || !is_kept(source) || nest_.stage(source).output ||
        ir::as<ir::Reduce>(placed_.bodies[source][0]))
      return kNone;
    for (int other = 0; other < nest_.size(); ++other)
      for (const Read& read : placed_.reads[other])
        if (read.source == source && other != stage) return kNone;
    return source;
  }

  // An extern stage finds its inputs in memory, compact, as it declares them.
  Status check_externs() const {
    for (int i = 0; i < nest_.size(); ++i) {
      if (!nest_.stage(i).op->external()) continue;
      for (const te::Tensor& input : nest_.stage(i).op->inputs) {
        const int source = nest_.find_stage(input.op()->buffer_id());
        if (source == kNone) continue;
        const StageNest& stage = nest_.stage(source);
        if (stage.attach.kind == AttachKind::kInline)
          return blame(refuse("compute_inline", "stage must not be read by an extern stage, as " + stage.name +
                                                    " is by " + nest_.stage(i).name)
                           << "the function finds its inputs in memory",
                       steps_, stage.attach.step);
        if (stage.layout)
          return blame(refuse(TransformLayout::kName, "stage must not be read by an extern stage, as " + stage.name +
                                                          " is by " + nest_.stage(i).name)
                           << "the function finds its inputs as they are declared",
                       steps_, stage.layout->step);
        if (!stage.alignments.empty())
          return refuse("storage_align",
                        "stage must not be read by an extern stage, as " + stage.name + " is by " + nest_.stage(i).name)
                 << "the function finds its inputs without gaps";
      }
    }
    return Unit{};
  }

  Diagnostic too_early(const StageNest& stage, const StageNest& scan) {
    return blame(refuse("compute_at", "stage " + stage.name + " must be computed inside the time loop of the scan " +
                                          scan.name + ", whose state it depends on")
                     << describe(scan, 0) << "compute_at " + scan.name + " or a stage that is computed inside of it",
                 steps_, stage.attach.step);
  }

  Status attach(int i) {
    const StageNest& stage = nest_.stage(i);
    int parent = nest_.find_stage(stage.attach.stage);
    TW_CHECK(parent != kNone);
    const StageNest& at = nest_.stage(parent);
    const int level = at.position(attach_leaf(at, stage.attach.axis));
    if (at.attach.kind == AttachKind::kInline)
      return blame(refuse("compute_at", "stage " + stage.name + " must be computed inside a stage that has loops; " +
                                            at.name + " is inlined")
                       << "compute_at a stage that reads " + at.name + " instead",
                   steps_, stage.attach.step);
    for (int reader : placed_.readers[i])
      if (!stands_inside(reader, parent, level)) return outside(stage, at, nest_.stage(reader));
    placed_.parent[i] = parent;
    placed_.level[i] = level;
    return Unit{};
  }

  bool stands_inside(int reader, int parent, int level) const {
    if (reader == parent) return true;
    for (int stage = reader; placed_.parent[stage] != kNone; stage = placed_.parent[stage])
      if (placed_.parent[stage] == parent) return placed_.level[stage] >= level;
    return false;
  }

  Diagnostic outside(const StageNest& stage, const StageNest& at, const StageNest& reader) {
    const AxisId leaf = attach_leaf(at, stage.attach.axis);
    const std::string& loop = at.axes[leaf].name;
    return blame(refuse("compute_at", "the loop " + loop + " of " + at.name + " must enclose everything that reads " +
                                          stage.name + "; " + reader.name + " reads it outside of that loop")
                     << describe(at, leaf)
                     << reader.name + " would find values of " + stage.name + " that nothing has written"
                     << "compute " + reader.name + " at or inside this loop too, or compute " + stage.name +
                            " further out, or at root",
                 steps_, stage.attach.step);
  }

  const LoopNest& nest_;
  const std::vector<Step>& steps_;
  Placement placed_;
};

}  // namespace

AxisId attach_leaf(const StageNest& host, AxisId axis) {
  AxisId innermost = axis;
  for (AxisId leaf : leaves_from(host, axis))
    if (host.position(leaf) > host.position(innermost)) innermost = leaf;
  return innermost;
}

int scan_around(const LoopNest& nest, int stage) {
  bool any = false;
  std::vector<std::vector<ir::Expr>> bodies;
  for (int i = 0; i < nest.size(); ++i) {
    any |= i > stage && nest.stage(i).op->scan();
    bodies.push_back(nest.stage(i).bodies);
  }
  return any ? scans_of(nest, reads_of(nest, bodies))[stage] : kNone;
}

Result<Placement> place(const LoopNest& nest, const std::vector<Step>& steps, const std::vector<int>& wanted) {
  return Placer(nest, steps).run(wanted);
}

}  // namespace tw::schedule
