#include "codegen/c/tiles.h"

#include <optional>
#include <unordered_map>

#include "src/ir/walk.h"

namespace tw::codegen {

using namespace ir;

namespace {

// e / lanes where that is exact for every value of the variables.
std::optional<Expr> quotient(const Expr& e, int64_t lanes) {
  if (const auto value = as_int(e)) return *value % lanes ? std::nullopt : std::optional(Expr(*value / lanes));
  const auto* b = as<Binary>(e);
  if (!b) return std::nullopt;
  if (b->op == BinOp::kMul) {
    const auto factor = as_int(b->b);
    if (!factor || *factor % lanes) return std::nullopt;
    return *factor == lanes ? b->a : b->a * Expr(*factor / lanes);
  }
  if (b->op != BinOp::kAdd && b->op != BinOp::kSub) return std::nullopt;
  const auto x = quotient(b->a, lanes), y = quotient(b->b, lanes);
  if (!x || !y) return std::nullopt;
  return binary(b->op, *x, *y);
}

// Which vector an access names: `base` of a subscript base + l.
std::optional<Expr> vector_of(const Expr& at, const For& lanes) {
  const int64_t count = *as_int(lanes.extent);
  const auto is_lane = [&](const Expr& e) {
    const auto* v = as<VarRef>(e);
    return v && v->var == lanes.var;
  };
  if (is_lane(at)) return Expr(0);
  const auto* sum = as<Binary>(at);
  if (!sum || sum->op != BinOp::kAdd || !is_lane(sum->b) || uses_var(sum->a, lanes.var)) return std::nullopt;
  return quotient(sum->a, count);
}

// Per local buffer the lanes of its vectors, as long as every access seen agrees; 0 when one did not.
class Accesses {
 public:
  explicit Accesses(const Stmt& body) { visit(body, nullptr, 0); }

  int64_t lanes_of(const Buffer& buffer) const {
    const auto found = lanes_.find(buffer.id());
    const auto elements = as_int(buffer.shape()[0]);
    if (found == lanes_.end() || found->second < 2 || !elements || *elements % found->second) return 0;
    return found->second & (found->second - 1) ? 0 : found->second;
  }

 private:
  void visit(const Stmt& s, const For* lanes, int parallel_depth) {
    const auto see = [&](const Buffer& buffer, const std::vector<Expr>& at) {
      const bool block = lanes && depth_[buffer.id()] == parallel_depth && is_private(buffer.scope()) &&
                         at.size() == 1 && vector_of(at[0], *lanes).has_value();
      const int64_t count = block ? *as_int(lanes->extent) : 0;
      const auto [known, fresh] = lanes_.try_emplace(buffer.id(), count);
      if (!fresh && known->second != count) known->second = 0;
    };
    const auto loads = [&](const Expr& e) {
      walk(e, [&](const Expr& inner) {
        if (const auto* l = as<Load>(inner)) see(l->buffer, l->at);
        return true;
      });
      return e;
    };
    if (const auto* st = as<Store>(s)) see(st->buffer, st->at);
    const auto* loop = as<For>(s);
    if (loop && loop->kind == ForKind::kVectorized) lanes = loop;
    parallel_depth += loop && runs_concurrently(loop->kind);
    if (const auto* alloc = as<Allocate>(s)) depth_[alloc->buffer.id()] = parallel_depth;
    map_children(
        s,
        [&](const Stmt& child) {
          visit(child, lanes, parallel_depth);
          return child;
        },
        loads);
  }

  std::unordered_map<uint64_t, int64_t> lanes_;
  std::unordered_map<uint64_t, int> depth_;  // parallel loops around the allocation: others see an address only
};

class TileWriter {
 public:
  explicit TileWriter(const Accesses& accesses) : accesses_(accesses) {}

  Stmt visit(const Stmt& s, const For* lanes) {
    if (const auto* alloc = as<Allocate>(s); alloc && is_private(alloc->buffer.scope())) {
      if (const int64_t count = accesses_.lanes_of(alloc->buffer)) {
        BufferNode node = *alloc->buffer.operator->();
        node.shape = {Expr(*as_int(node.shape[0]) / count), Expr(count)};
        const Buffer tile(node);
        tiles_.emplace(tile.id(), tile);
        return allocate(tile, visit(alloc->body, lanes));
      }
    }
    const auto* loop = as<For>(s);
    if (loop && loop->kind == ForKind::kVectorized) lanes = loop;
    const auto on_expr = [&](const Expr& e) {
      if (!lanes) return e;
      return rewrite(e, [&](const Expr& inner) {
        const auto* l = as<Load>(inner);
        const auto tile = l ? tiles_.find(l->buffer.id()) : tiles_.end();
        return tile == tiles_.end() ? inner : load(tile->second, subscripts(l->at, *lanes), l->pred);
      });
    };
    if (const auto* st = as<Store>(s); st && tiles_.contains(st->buffer.id()))
      return store(tiles_.at(st->buffer.id()), subscripts(st->at, *lanes), on_expr(st->value),
                   st->pred ? on_expr(st->pred) : Expr());
    return map_children(s, [&](const Stmt& child) { return visit(child, lanes); }, on_expr);
  }

 private:
  static std::vector<Expr> subscripts(const std::vector<Expr>& at, const For& lanes) {
    return {*vector_of(at[0], lanes), Expr(lanes.var)};
  }

  const Accesses& accesses_;
  std::unordered_map<uint64_t, Buffer> tiles_;
};

}  // namespace

Program tiles_of_vectors(const Program& program) {
  const Accesses accesses(program.body);
  Program out = program;
  out.body = TileWriter(accesses).visit(program.body, nullptr);
  return out;
}

}  // namespace tw::codegen
