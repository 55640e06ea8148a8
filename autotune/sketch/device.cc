#include "autotune/sketch/device.h"

#include <algorithm>

#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"
#include "schedule/machine.h"
#include "schedule/operands.h"
#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

// Of a factor what the product converts by itself: the operand of a conversion, or of a rounding by te.tf32.
ir::Expr converted_by(const ir::WarpProduct& product, const ir::Expr& factor) {
  if (product.operand == product.sum) {
    const auto* call = ir::as<ir::Call>(factor);
    return call && call->fn == ir::Fn::kTF32 ? call->args[0] : ir::Expr();
  }
  const auto* cast = ir::as<ir::Cast>(factor);
  return cast ? cast->value : ir::Expr();
}

// It converts what has the operand's type: an element, or one of a stage that stays.
bool is_operand(const Graph& graph, const Operand& operand, const ir::Expr& factor, const ir::WarpProduct& product) {
  const ir::Expr value = converted_by(product, factor);
  if (!value || value.type() != product.operand) return false;
  return operand.through < 0 ? ir::as<ir::Load>(value) != nullptr : graph.at(operand.through).type == product.operand;
}

}  // namespace

bool shares_bytes(const Graph& graph, const std::vector<int>& stages) {
  return std::ranges::any_of(stages, [&](int stage) {
    return graph.at(stage).type.is_packed() ||
           std::ranges::any_of(graph.at(stage).bodies, [](const ir::Expr& body) { return body.type().is_packed(); });
  });
}

void share(Sketch& sketch, const std::string& stage, const std::string& loop, schedule::Factor threads) {
  sketch.split(stage, loop, std::move(threads));
  sketch.bind(stage, loop + ".i", "threadIdx.x");
}

namespace {

// Whether both read of one row, or of rows that are a few apart: what is kept of both is all between them.
bool are_close(const Access& one, const Access& other) {
  constexpr int64_t kClose = 4;
  for (size_t d = 0; d + 1 < one.at().size(); ++d)
    if (std::abs(ir::as_int(ir::simplify(one.at()[d] - other.at()[d])).value_or(kClose)) >= kClose) return false;
  return true;
}

}  // namespace

namespace {

// The inlined stage by which alone `reader` reads the source; empty where it reads it itself, or by several.
std::string only_way(const Graph& graph, const std::string& reader, int source) {
  std::string found;
  for (const Stage& stage : graph.stages) {
    if (std::ranges::find(stage.direct, source) == stage.direct.end()) continue;
    const bool reads = stage.readers.size() == 1 && graph.at(stage.readers[0]).name == reader;
    if (stage.name == reader || (stage.inlined && reads && !found.empty())) return "";
    if (stage.inlined && reads) found = stage.name;
  }
  return found;
}

}  // namespace

Vectors vectors_along(const Graph& graph, const Stage& stage, const Axis& along) {
  constexpr int64_t kBytes = 16;
  Vectors found;
  int64_t least = kBytes;  // of an element
  const auto lies_so = [&](const Access& read) {
    const std::vector<ir::Expr>& at = read.at();
    const auto* last = at.empty() ? nullptr : ir::as<ir::VarRef>(at.back());
    return last && last->var == along.var &&
           std::none_of(at.begin(), at.end() - 1, [&](const ir::Expr& e) { return ir::uses_var(e, along.var); });
  };
  for (const Access& read : stage.reads)
    if (const ir::Type type = graph.at(read.stage).type; lies_so(read))
      least = std::min<int64_t>(least, type.is_packed() ? 2 : type.bytes());  // 4-bit integers come as words
  const int64_t lanes = kBytes / least;
  if (lanes < 2 || along.extent % lanes != 0) return found;
  for (const Access& read : stage.reads) {
    const Stage& source = graph.at(read.stage);
    if (!lies_so(read) || source.shape.back() % lanes != 0) continue;
    found.lanes = lanes;
    const bool all_lie_so = std::ranges::all_of(stage.reads, [&](const Access& other) {
      return other.stage != read.stage || (lies_so(other) && are_close(read, other));
    });
    const bool direct = std::ranges::find(stage.direct, read.stage) != stage.direct.end();
    if (all_lie_so && (direct || !only_way(graph, stage.name, read.stage).empty()) &&
        std::ranges::find(found.sources, source.name) == found.sources.end())
      found.sources.push_back(source.name);
  }
  return found;
}

std::vector<std::string> keep_in_registers(Sketch& sketch, const std::string& stage,
                                           const std::vector<std::string>& sources) {
  std::vector<std::string> copies;
  for (const std::string& source : sources) {
    std::string reader = stage;
    for (const Stage& of : sketch.graph.stages)  // or its parts, which read as it does
      if (stage == of.name || stage.starts_with(of.name + ".rf"))
        if (const std::string way = only_way(sketch.graph, of.name, sketch.graph.find(source)); !way.empty())
          reader = way;
    copies.push_back(sketch.cache_read(source, {reader}, ir::Scope::kLocal));
  }
  return copies;
}

void load_vectors(Sketch& sketch, const std::string& copy, const Place& at, schedule::Factor lanes) {
  sketch.step(schedule::ComputeAt{copy, at.consumer, at.axis});
  const std::string last = data_loops(sketch.s, copy).back();
  sketch.step(schedule::Vectorize{copy, sketch.split(copy, last, std::move(lanes)).inner});
}

void share_vectors(Sketch& sketch, const std::string& stage, const std::string& loop, schedule::Factor threads,
                   const std::vector<std::string>& sources, const schedule::Factor& lanes, bool counted) {
  const std::vector<std::string> copies = keep_in_registers(sketch, stage, sources);
  sketch.split(stage, loop, lanes);
  share(sketch, stage, loop + ".o", std::move(threads));
  if (!counted) sketch.step(schedule::Unroll{stage, loop + ".i"});
  for (const std::string& copy : copies) load_vectors(sketch, copy, {stage, loop + ".o.i"}, lanes);
}

std::string bind_tiles(Sketch& sketch, const std::string& stage, const std::vector<std::string>& outer,
                       const std::string& rows, const std::string& columns, const TilesOf& all) {
  if (all.outer > kMostBlocks || all.rows > kMostBlocks * all.least) {
    std::vector<std::string> loops = outer;
    loops.insert(loops.end(), {rows, columns});
    const std::string tile = sketch.fuse(stage, loops);
    sketch.bind(stage, tile, "blockIdx.x");
    return tile;
  }
  if (!outer.empty()) sketch.bind(stage, sketch.fuse(stage, outer), "blockIdx.z");
  sketch.bind(stage, rows, "blockIdx.y");
  sketch.bind(stage, columns, "blockIdx.x");
  return columns;
}

int64_t parts_of(int64_t blocks, int64_t terms, int64_t least) {
  constexpr int64_t kProcessors = 128, kBlocksOfEach = 8;  // memory is full of reads that are on their way
  return std::min(kBlocksOfEach * kProcessors / std::max<int64_t>(1, blocks), terms / least);
}

double past_end(int64_t extent, int64_t part) {
  return static_cast<double>(ir::ceil_div(extent, part) * part) / static_cast<double>(extent);
}

Parts share_among_blocks(Sketch& sketch, const std::string& stage, const std::string& terms, schedule::Factor parts) {
  sketch.split_in(stage, terms, std::move(parts));
  Parts made{rfactor(sketch, stage, terms + ".o", 0), {}, {}, {}};
  made.data = data_loops(sketch.s, made.stage);
  made.part = made.data.front();
  made.data.erase(made.data.begin());
  for (const std::string& loop : sum_loops(sketch.s, made.stage))
    if (loop.starts_with(terms)) made.terms = loop;
  return made;
}

namespace {

// What the contraction reads itself.
int stage_of(const Operand& operand) { return operand.through >= 0 ? operand.through : operand.source; }

// Different reads of the stage, in order of occurrence.
std::vector<ir::Expr> reads_of(const schedule::StageNest& reader, const schedule::StageNest& source) {
  std::vector<ir::Expr> reads;
  for (const ir::Expr& body : reader.bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (load && source.output_of(load->buffer.id()) != schedule::kNone &&
          std::ranges::none_of(reads, [&](const ir::Expr& known) { return ir::equal(known, e); }))
        reads.push_back(e);
      return true;
    });
  return reads;
}

bool has(const ir::Expr& e, const ir::Expr& part) {
  bool found = false;
  ir::walk(e, [&](const ir::Expr& inner) {
    found = found || ir::equal(inner, part);
    return !found;
  });
  return found;
}

}  // namespace

bool are_of_one(const Roles& roles) { return stage_of(roles.broadcast) == stage_of(roles.vectors); }

std::string read_apart(Sketch& sketch, const Group& group, const Roles& roles) {
  if (!are_of_one(roles)) return "";
  const std::string &name = sketch.graph.at(group.anchor).name, &source = sketch.graph.at(stage_of(roles.vectors)).name;
  const auto stage = [](const schedule::Schedule& s, const std::string& of) -> const schedule::StageNest& {
    return s.nest().stage(s.nest().find_stage(of));
  };
  const std::vector<ir::Expr> reads = reads_of(stage(sketch.s, name), stage(sketch.s, source));
  if (reads.size() != 2) return "";
  const ir::Expr& broadcast = reads[roles.broadcast.read < roles.vectors.read ? 0 : 1];
  const std::vector<ir::Expr> operands = schedule::operands_of(stage(sketch.s, name));
  for (size_t n = 0; n < operands.size(); ++n) {
    if (!has(operands[n], broadcast)) continue;
    const schedule::Hoist step{name, static_cast<int64_t>(n), ir::Scope::kGlobal};
    schedule::Schedule with = sketch.s;
    if (!with.try_apply(step).ok() || reads_of(stage(with, name), stage(with, source)).size() != 1) return "";
    sketch.step(step);
    const schedule::LoopNest& nest = sketch.s.nest();
    return nest.stage(nest.find_stage(name) - 1).name;
  }
  return "";
}

std::vector<std::string> share_operands(Sketch& sketch, const Group& group, const Roles& roles,
                                        const std::string& reader, const std::string& apart,
                                        const std::array<std::vector<std::string>, 2>& axes) {
  std::vector<std::string> copies;
  const bool of_one = are_of_one(roles);
  const auto copy = [&](const std::string& name, const std::string& from, const std::vector<std::string>& order) {
    copies.push_back(sketch.cache_read(name, {from}, ir::Scope::kShared, order));
  };
  for (const Operand* operand : {&roles.broadcast, &roles.vectors}) {
    const bool first = operand == &roles.broadcast;
    const int stage = stage_of(*operand);
    const std::string& name = sketch.graph.at(stage).name;
    if ((operand->through >= 0 && !group.has(stage)) || (of_one && apart.empty())) continue;
    if (of_one || !group.has(stage)) {
      copy(name, of_one && first ? apart : reader, axes[first ? 0 : 1]);
    } else {
      copies.push_back(name);
      sketch.step(schedule::SetScope{name, ir::Scope::kShared});
    }
  }
  if (!apart.empty()) sketch.step(schedule::ComputeInline{apart});
  if (const int stage = stage_of(roles.vectors); of_one && group.has(stage))
    sketch.step(schedule::ComputeInline{sketch.graph.at(stage).name});
  return copies;
}

int64_t processors_of(const Target& target) { return schedule::describe_machine(target, {}).device->processors; }

const ir::WarpProduct* product_for(const Graph& graph, const Stage& stage, const Roles& roles,
                                   std::span<const ir::WarpProduct> products, Ends ends) {
  if (stage.sums.empty() || roles.group > 0 || stage.bodies.size() != 1) return nullptr;
  if (are_of_one(roles) && stage.scan >= 0) return nullptr;                        // of which no part is hoisted
  const auto divides = [&](int64_t rows) { return roles.row_group % rows == 0; };  // a group's rows; all are none's
  const auto* sum = ir::as<ir::Reduce>(stage.bodies[0]);
  const auto* product = sum ? ir::as<ir::Binary>(sum->sources[0]) : nullptr;
  if (!product || product->op != ir::BinOp::kMul || sum->op != ir::ReduceOp::kSum || !!sum->where) return nullptr;
  const auto fits = [&](const Axis& axis, int64_t unit) {
    return ends == Ends::kWhole ? axis.extent % unit == 0 : 3 * axis.extent >= unit;
  };
  for (const ir::WarpProduct& warp : products) {
    const bool operands =
        (is_operand(graph, roles.broadcast, product->a, warp) && is_operand(graph, roles.vectors, product->b, warp)) ||
        (is_operand(graph, roles.vectors, product->a, warp) && is_operand(graph, roles.broadcast, product->b, warp));
    const bool large = fits(stage.data[static_cast<size_t>(roles.rows)], warp.m) &&
                       fits(stage.data[static_cast<size_t>(roles.lanes)], warp.n) && fits(stage.sums.back(), warp.k);
    if (stage.type == warp.sum && operands && large && divides(warp.m)) return &warp;
  }
  return nullptr;
}

}  // namespace tw::autotune::sketch
