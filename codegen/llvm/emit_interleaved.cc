// Stores that lie side by side: statements that each write every second, third or fourth element become one.
//
//   P[ramp(p, 4, 16)] = a                  P[p : 64] = a[0], b[0], c[0], d[0], a[1], b[1], ...
//   P[ramp(p + 1, 4, 16)] = b        ==>
//   P[ramp(p + 2, 4, 16)] = c
//   P[ramp(p + 3, 4, 16)] = d
//
// Shuffles and whole stores instead of scatters: channels of a pixel, and panels whose lanes hold the terms of dot
// products side by side. Others of the array may stand between them, as those of a group of vectors do.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/TargetParser/Triple.h>

#include <map>

#include "codegen/llvm/emitter.h"
#include "src/ir/equal.h"
#include "src/ir/register_lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;
using llvm::Value;

namespace {

constexpr size_t kFarthest = 64;  // statements among which a group is looked for

struct Spread {
  const ir::Store* store = nullptr;
  int64_t stride = 0;
  int lanes() const { return store->value.type().lanes; }
  const Expr& base() const { return ir::as<ir::Ramp>(store->at[0])->base; }
};

// A store of vectors for which this is worth it.
std::optional<Spread> spread(const Stmt& stmt, const Target& target) {
  const auto* store = ir::as<ir::Store>(stmt);
  const auto* ramp = store && store->at.size() == 1 ? ir::as<ir::Ramp>(store->at[0]) : nullptr;
  const int64_t stride = ramp ? ir::as_int(ramp->stride).value_or(0) : 0;
  if (stride < 2 || stride > ir::kFewApart || store->value.type().lanes < 4 || store->value.type().is_bool())
    return std::nullopt;
  if (ir::reads(store->value, store->buffer)) return std::nullopt;
  if (!!store->pred && (!target.abilities.masks || ir::reads(store->pred, store->buffer))) return std::nullopt;
  return Spread{store, stride};
}

bool have_one_form(const Spread& a, const Spread& b) {
  const Expr &p = a.store->pred, &q = b.store->pred;
  return a.lanes() == b.lanes() && !p == !q && (!p || ir::equal(p, q));
}

// Whether two stores of the same stride, `apart` elements from each other, write an element both.
bool meet(const Spread& a, const Spread& b, int64_t apart) {
  return apart % a.stride == 0 && apart < a.stride * a.lanes() && -apart < a.stride * b.lanes();
}

}  // namespace

// Of the first of these statements, each of which writes other elements of the array than the others do, those that
// become one store, in the order of their places, and the others alone; nothing where no two become one.
std::vector<std::vector<Stmt>> Emitter::interleaved_of(std::span<const Stmt> stmts) const {
  const std::optional<Spread> first = spread(stmts[0], target_);
  if (!first || frame_.buffers.at(first->store->buffer.id()).slot) return {};
  std::vector<Spread> run;
  std::map<int64_t, size_t> at;  // where they begin, from the first one on
  for (const Stmt& stmt : stmts.first(std::min(stmts.size(), kFarthest))) {
    const std::optional<Spread> next = spread(stmt, target_);
    if (!next || next->stride != first->stride || next->store->buffer.id() != first->store->buffer.id()) break;
    const auto apart = ir::as_int(ir::simplify(next->base() - first->base()));
    const auto meets = [&](const auto& other) { return meet(run[other.second], *next, *apart - other.first); };
    if (!apart || std::ranges::any_of(at, meets)) break;
    at[*apart] = run.size();
    run.push_back(*next);
  }
  std::vector<std::vector<Stmt>> groups;
  bool any = false;
  while (!at.empty()) {
    const auto [place, one] = *at.begin();
    std::vector<Stmt> group;
    for (int64_t i = 0; i < first->stride; ++i) {
      const auto next = at.find(place + i);
      if (next == at.end() || !have_one_form(run[one], run[next->second])) break;
      group.push_back(stmts[next->second]);
    }
    if (std::ssize(group) < first->stride) group.resize(1);
    any = any || group.size() > 1;
    for (size_t i = 0; i < group.size(); ++i) at.erase(place + static_cast<int64_t>(i));
    groups.push_back(std::move(group));
  }
  return any ? groups : std::vector<std::vector<Stmt>>{};
}

void Emitter::emit_interleaved(std::span<const Stmt> stmts) {
  if (stmts.size() == 1) return emit(stmts[0]);
  CacheLevel level(*this);
  frame_.tiles.held.clear();
  const auto& first = *ir::as<ir::Store>(stmts[0]);
  const ir::Type type = first.value.type();
  const int count = static_cast<int>(stmts.size()), lanes = type.lanes;
  const int whole = ir::register_lanes(target_, type.element()), part = lanes % whole == 0 ? whole : lanes;
  std::vector<Value*> values;
  for (const Stmt& s : stmts) values.push_back(emit(ir::as<ir::Store>(s)->value));
  Value *base = emit(ir::as<ir::Ramp>(first.at[0])->base), *mask = first.pred ? emit(first.pred) : nullptr;
  const int64_t multiple = multiple_of(ir::as<ir::Ramp>(first.at[0])->base);
  const Memory& memory = frame_.buffers.at(first.buffer.id());
  for (int lane = 0; lane < lanes; lane += part) {
    std::vector<Value*> some = values;
    const auto mine = llvm::createSequentialMask(static_cast<unsigned>(lane), static_cast<unsigned>(part), 0);
    if (part < lanes)
      for (Value*& value : some) value = b_.CreateShuffleVector(value, mine);
    some = in_turn(std::move(some), part);
    const int stored = part * count / static_cast<int>(some.size());
    for (int v = 0; v < std::ssize(some); ++v) {
      const int from = lane * count + v * stored;
      std::vector<int> wanted;
      for (int l = from; mask && l < from + stored; ++l) wanted.push_back(l / count);
      emit_block_store(memory, type.with_lanes(stored), from == 0 ? base : b_.CreateNSWAdd(base, index(from)),
                       from == 0 ? multiple : 1, some[static_cast<size_t>(v)],
                       mask ? b_.CreateShuffleVector(mask, wanted) : nullptr);
    }
  }
}

// One element of each in turn, as one vector or several. Of three vectors of x86, what goes to the same vector has a
// lane of its own in each: so each is sorted by one shuffle, and the others are choices.
std::vector<Value*> Emitter::in_turn(std::vector<Value*> values, int lanes) {
  const auto count = static_cast<int>(values.size());
  if (count != 3 || lanes % 3 == 0 || !llvm::Triple(module_.getTargetTriple()).isX86())
    return {
        b_.CreateShuffleVector(llvm::concatenateVectors(b_, values),
                               llvm::createInterleaveMask(static_cast<unsigned>(lanes), static_cast<unsigned>(count)))};
  for (int c = 0; c < count; ++c) {
    std::vector<int> from(static_cast<size_t>(lanes));
    for (int lane = 0; lane < lanes; ++lane) from[static_cast<size_t>((lane * count + c) % lanes)] = lane;
    values[static_cast<size_t>(c)] = b_.CreateShuffleVector(values[static_cast<size_t>(c)], from);
  }
  std::vector<Value*> all;
  for (int v = 0; v < count; ++v) {
    const auto of = [&](int lane) { return (v * lanes + lane) % count; };
    std::vector<int> two, three;
    for (int lane = 0; lane < lanes; ++lane) {
      two.push_back(of(lane) == 1 ? lanes + lane : lane);
      three.push_back(of(lane) == 2 ? lanes + lane : lane);
    }
    all.push_back(b_.CreateShuffleVector(b_.CreateShuffleVector(values[0], values[1], two), values[2], three));
  }
  return all;
}

}  // namespace tw::codegen
