// Sums of rows on a device: the threads of a block share the terms of a row.
//
//   for i: for k: S[i] += A[i, k]   ==>   blockIdx.x i.o: threadIdx.y i.i: for k.o: threadIdx.x k.i: S[i] += A[i, k]
//
// Neighbouring threads take neighbouring terms, each as many as a vector has; what they have is added up at the end.
// Short rows share a block, and of few long ones blocks share the terms, whose parts are rows for a second launch. A
// reduction to one element is a row too, of any length: it has no other loops that could be bound.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kLeastOfABlock = 4096;  // terms
constexpr int64_t kFewRows = 128;         // blocks that leave some of a device idle

// Whether neighbouring terms are neighbours in memory, or parts of one element, such as 4-bit integers in a byte.
bool runs_along_terms(const Stage& stage) {
  const Access* read = main_read(stage);
  if (read == nullptr) return false;
  const Axis& terms = stage.sums.back();
  if (stride_along(*read, terms) == 1) return true;
  const std::vector<ir::Expr>& at = read->at();
  const auto* parts = at.empty() ? nullptr : ir::as<ir::Binary>(at.back());
  const auto* term = parts && parts->op == ir::BinOp::kFloorDiv ? ir::as<ir::VarRef>(parts->a) : nullptr;
  return term && term->var == terms.var && ir::as_int(parts->b).value_or(0) > 0 &&
         std::none_of(at.begin(), at.end() - 1, [&](const ir::Expr& e) { return ir::uses_var(e, terms.var); });
}

}  // namespace

bool has_few_rows(int64_t rows, int64_t terms) {
  return rows <= kFewRows && parts_of(rows, terms, kLeastOfABlock) >= 2;
}

std::optional<Group> match_device_reduction(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (!stage.reduces() || stage.sums.empty() || stage.elements == 0) return std::nullopt;
  const int64_t terms = stage.sums.back().extent;
  if (stage.data.empty()) return terms > 0 ? std::optional(Group{root, root, {root}}) : std::nullopt;
  if (stage.bodies.size() != 1 || stage.type.is_packed() || !runs_along_terms(stage) || terms < kLeastShared)
    return std::nullopt;
  return Group{root, root, {root}};
}

namespace {

void sum_rows(Sketch& sketch, const std::string& stage, const std::vector<std::string>& data, const std::string& terms,
              const std::string& knobs, const Vectors& vectors) {
  if (!data.empty()) {
    const std::string rows = sketch.fuse(stage, data);
    sketch.step(schedule::Split{stage, rows, sketch.cfg.factor(knobs + ".rows"), {}, ir::Tail::kAuto});
    sketch.bind(stage, rows + ".o", "blockIdx.x");
    sketch.bind(stage, rows + ".i", "threadIdx.y");
  }
  const schedule::Factor threads = sketch.cfg.factor(knobs + ".threads");
  if (vectors.sources.empty() || sketch.cfg.value(knobs + ".vector") == 1) return share(sketch, stage, terms, threads);
  share_vectors(sketch, stage, terms, threads, vectors.sources, sketch.cfg.factor(knobs + ".vector"));
}

}  // namespace

void apply_device_reduction(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const std::string& name = stage.name;
  const Axis& terms = stage.sums.back();
  sketch.cfg.define_knob(name + ".threads", up_to(terms.extent, {128, 32, 64, 256, 512, 1024}));
  if (!stage.data.empty()) sketch.cfg.define_knob(name + ".rows", up_to(stage.elements, {1, 2, 4, 8}));
  const Vectors vectors = vectors_along(sketch.graph, stage, terms);
  if (!vectors.sources.empty()) sketch.cfg.define_knob(name + ".vector", {vectors.lanes, 1});
  const bool few = stage.bodies.size() == 1 && has_few_rows(stage.elements, terms.extent);
  if (few) {
    const int64_t parts = parts_of(stage.elements, terms.extent, kLeastOfABlock);
    sketch.cfg.define_knob(name + ".parts", up_to(terms.extent / kLeastShared, {parts, parts / 2, 2 * parts, 1}));
  }
  if (!few || sketch.cfg.value(name + ".parts") == 1)
    return sum_rows(sketch, name, data_loops(sketch.s, name), terms.name, name, vectors);

  const Parts shared = share_among_blocks(sketch, name, terms.name, sketch.cfg.factor(name + ".parts"));
  sketch.bind(shared.stage, shared.part, shared.data.empty() ? "blockIdx.x" : "blockIdx.z");
  sum_rows(sketch, shared.stage, shared.data, shared.terms, name, vectors);
  sum_rows(sketch, name, data_loops(sketch.s, name), sum_loops(sketch.s, name).back(), name, {});
}

}  // namespace tw::autotune::sketch
