// Proposals that make stages or take them away.
#include "schedule/operands.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

void cache_write(Stepper& s, const std::string& name) {
  if (!s.stage(name).is_placeholder()) s.must(CacheWrite{name, s.scope()});
}

// The loops as they stand become the axes of the new stage.
void relayout(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  bool changed = !stage.relations.empty() || s.reordered.contains(name);
  if (stage.is_placeholder() || !changed || stage.layout) return;
  if (s.must(CacheWrite{name, s.scope()})) s.count("cache_write of changed loops");
}

void cache_read(Stepper& s, const std::string& name) {
  std::vector<std::string> readers = s.direct_readers(name);
  if (readers.empty()) return;
  if (readers.size() > 1 && s.random().chance(50)) readers.resize(1);
  std::vector<std::string> axes;
  const size_t rank = s.stage(name).op->outputs[0].shape.size();
  for (size_t d = s.random().chance(25) ? rank : 0; d-- > 0;) axes.push_back("ax" + std::to_string(d));
  if (s.must(CacheRead{name, s.scope(), readers, axes}) && axes.size() > 1) s.count("cache_read of other axes");
}

void hoist(Stepper& s, const std::string& name) {
  const auto operands = static_cast<int64_t>(schedule::operands_of(s.stage(name)).size());
  if (operands > 0) s.may(Hoist{name, s.random().below(operands), s.scope()});
}

void compute_inline(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.is_placeholder() || stage.output || stage.is_reduction()) return;
  if (s.must(ComputeInline{name})) s.inlined.insert(name);
}

}  // namespace tw::diff
