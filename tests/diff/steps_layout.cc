// Proposals of transform_layout: a few splits, fusions and mirrors of the dimensions, in some order.
#include <algorithm>
#include <optional>

#include "src/ir/parse.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

struct Index {
  std::string text;
  std::optional<int64_t> extent;  // none: symbolic
  bool whole = true;              // a dimension that nothing was done to
};

class Map {
 public:
  Map(Stepper& s, const StageNest& stage) : random_(s.random()), shows_extents_(stage.is_placeholder()) {
    for (size_t d = 0; d < stage.op->shape().size(); ++d) {
      const std::string name = stage.is_placeholder() ? "ax" + std::to_string(d) : stage.axes[d].name;
      indices_.push_back({name, ir::as_int(stage.op->shape()[d]), true});
      names_.push_back(name);
      variables_.emplace_back(name);
    }
    for (int64_t changes = random_.below(4); changes > 0; --changes) change();
    for (size_t i = indices_.size(); i > 1; --i)
      if (random_.chance(40)) std::swap(indices_[i - 1], indices_[static_cast<size_t>(random_.below(i))]);
  }

  TransformLayout step(const std::string& name) {
    TransformLayout step{name, {}, pads_ || random_.chance(30) ? std::to_string(random_.below(2)) : ""};
    for (const Index& index : indices_)  // as a person would write it, so that it comes back from Python
      step.indices.push_back(ir::to_string(ir::parse_expr(index.text, names_, variables_).value_or_throw()));
    return step;
  }

 private:
  void change() {
    const int64_t kind = random_.below(10);
    const auto at = static_cast<size_t>(random_.below(static_cast<int64_t>(indices_.size())));
    if (shows_extents_ && !indices_[at].extent) return;
    if (kind < 6) return split(at);
    return kind < 8 ? fuse(at) : mirror(at);
  }

  // What is not a whole dimension has no end that could be padded.
  void split(size_t at) {
    const Index old = indices_[at];
    const int64_t by = random_.one_of<int64_t>({1, 2, 3, 4, 4, 8});
    const bool divides = old.extent && *old.extent % by == 0;
    if (!divides && !old.whole) return;
    pads_ |= !divides;
    const std::string text = "(" + old.text + ")", to = std::to_string(by);
    std::optional<int64_t> outer;
    if (old.extent) outer = (*old.extent + by - 1) / by;
    indices_[at] = {text + " // " + to, outer, false};
    indices_.insert(indices_.begin() + static_cast<int64_t>(at) + 1, Index{text + " % " + to, by, false});
  }

  void fuse(size_t at) {
    const auto other = static_cast<size_t>(random_.below(static_cast<int64_t>(indices_.size())));
    const Index inner = indices_[other];
    if (other == at || !inner.extent || *inner.extent == 0) return;
    Index& outer = indices_[at];
    outer.text = "(" + outer.text + ") * " + std::to_string(*inner.extent) + " + (" + inner.text + ")";
    if (outer.extent) outer.extent = *outer.extent * *inner.extent;
    outer.whole = false;
    indices_.erase(indices_.begin() + static_cast<int64_t>(other));
  }

  void mirror(size_t at) {
    Index& index = indices_[at];
    if (!index.extent) return;
    index.text = std::to_string(*index.extent - 1) + " - (" + index.text + ")";
    index.whole = false;
  }

  Random& random_;
  std::vector<Index> indices_;
  std::vector<std::string> names_;
  std::vector<ir::Var> variables_;
  const bool shows_extents_;  // a kernel knows a symbolic extent from the shape of an input that has it
  bool pads_ = false;
};

}  // namespace

// Where only a part of the stage is kept, the map may not fit it.
void transform_layout(Stepper& s, const std::string& name) {
  const StageNest stage = s.stage(name);  // as it is before the step
  if (stage.output || stage.layout || stage.op->shape().empty() || !stage.alignments.empty()) return;
  if (stage.op->scan() || stage.op->external() || (stage.op->dtype().bits == 4 && !stage.is_placeholder())) return;
  if (stage.op->shape().size() > 4) return;
  TransformLayout step = Map(s, stage).step(name);
  if (s.on_device && !stage.is_placeholder() && !step.pad_value.empty()) return;
  if (stage.attach.kind == AttachKind::kRoot && stage.relations.empty()) {
    if (!s.must(step)) return;
  } else if (!s.may(step)) {
    return;
  }
  if (!step.pad_value.empty()) s.count("pad_value");
  if (stage.is_placeholder()) s.count("packed parameter");
}

}  // namespace tw::diff
