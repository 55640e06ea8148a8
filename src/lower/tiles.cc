#include "src/lower/tiles.h"

#include <utility>
#include <vector>

#include "src/ir/equal.h"
#include "src/ir/lane_rows.h"
#include "src/ir/tile_products.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

namespace {

Expr lanes(int n) { return ramp(0, 1, n); }

// Rows of memory.
struct Operand {
  Buffer buffer;
  LaneRows rows;
  int columns;

  Expr part(const Expr& row, const Expr& first, int count) const {
    return load(buffer, {ramp(rows.base + row * rows.stride + first, 1, count)});
  }
  // All of it, as many lanes as `value` has.
  Expr at(const Expr& value) const {
    const int n = value.type().lanes;
    const Expr row = floordiv(lanes(n), broadcast(columns, n)), column = floormod(lanes(n), broadcast(columns, n));
    return broadcast(rows.base, n) + row * broadcast(rows.stride, n) + column;
  }
  Expr like(const Expr& value) const { return load(buffer, {at(value)}); }
};

std::optional<Operand> in_memory(const Expr& value, int columns) {
  const auto* l = as<Load>(value);
  if (!l || l->at.size() != 1 || static_cast<bool>(l->pred)) return {};
  const std::optional<LaneRows> rows = lane_rows(l->at[0], columns);
  if (!rows) return {};
  return Operand{l->buffer, *rows, columns};
}

// A zero of the same sign for a denormal number.
Expr flushed(const Expr& x) {
  const Type bits = Type::i(32, x.type().lanes);
  const Expr word = reinterpret(bits, x);
  const Expr small = eq(binary(BinOp::kBitAnd, word, int_imm(bits, 0x7f800000)), int_imm(bits, 0));
  return select(small, reinterpret(x.type(), binary(BinOp::kBitAnd, word, int_imm(bits, INT32_MIN))), x);
}

// The products of one tile.
class Product {
 public:
  Product(const Call& call, Operand sums, Operand left, Operand right)
      : fn_(call.fn),
        form_(dot_form(call.fn, call.args)),
        sums_(std::move(sums)),
        left_(std::move(left)),
        right_(std::move(right)) {}

  Stmt by_rows() const {
    const Var i("i");
    const Stmt row = fn_ == Fn::kTileBF16 ? bfloat_row(i) : byte_row(i);
    return loop(i, form_.rows, row);
  }

 private:
  Stmt byte_row(const Var& i) const {
    const Fn fn = fn_ == Fn::kTileU8I8 ? Fn::kDotU8I8 : Fn::kDotI8I8;
    const Var k("k");
    const Buffer row = scratch("row");
    const Stmt term = set(row, call(fn, {get(row), left(i, k), right(k)}));
    return allocate(row, seq({set(row, old_sums(i)), loop(k, terms(), term), new_sums(i, get(row))}));
  }

  // The first terms of all pairs have sums of their own, and so have the second ones: beside each stands a product of
  // zeros, which is -0 and changes nothing.
  Stmt bfloat_row(const Var& i) const {
    const Var k("k");
    const Buffer first = scratch("first"), second = scratch("second");
    const Expr none = float_imm(Type::f(32, form_.columns), 0);
    const auto add = [&](const Buffer& sums, int which) {
      return set(sums, call(Fn::kDotBF16, {get(sums), only(which, left(i, k), INT16_MIN), only(which, right(k), 0)}));
    };
    const Expr both = flushed(get(first) + get(second));
    const Stmt body = seq({set(first, none), set(second, none), loop(k, terms(), seq({add(first, 0), add(second, 1)})),
                           new_sums(i, flushed(flushed(old_sums(i)) + both))});
    return allocate(first, allocate(second, body));
  }

  // Of each pair one term, and in the other's place these bits.
  static Expr only(int which, const Expr& pairs, int64_t other) {
    const int n = pairs.type().lanes;
    const Type bits = Type::i(16, n);
    const Expr mine = eq(floormod(lanes(n), broadcast(2, n)), broadcast(which, n));
    return reinterpret(pairs.type(), select(mine, reinterpret(bits, pairs), int_imm(bits, other)));
  }

  int terms() const { return form_.group / form_.packed; }
  Expr left(const Var& i, const Var& k) const { return left_.part(i, Expr(k) * Expr(form_.packed), form_.packed); }
  Expr right(const Var& k) const { return right_.part(k, 0, form_.columns * form_.packed); }
  Expr old_sums(const Var& i) const { return sums_.part(i, 0, form_.columns); }
  Stmt new_sums(const Var& i, const Expr& value) const { return store(sums_.buffer, as<Load>(old_sums(i))->at, value); }

  Buffer scratch(const char* name) const { return Buffer(name, form_.sum, {Expr(form_.columns)}, Scope::kLocal); }
  Expr get(const Buffer& row) const { return load(row, {lanes(form_.columns)}); }
  Stmt set(const Buffer& row, const Expr& value) const { return store(row, {lanes(form_.columns)}, value); }

  const Fn fn_;
  const DotForm form_;
  const Operand sums_, left_, right_;
};

class Pass {
 public:
  explicit Pass(const Target& target) : tiles_(target.abilities.tiles) {}

  Stmt visit(const Stmt& s) const {
    if (const Call* c = tile_product(s)) return product(s, *as<Store>(s), *c);
    return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
  }

 private:
  bool has(Fn fn) const { return tiles_ && (fn == Fn::kTileBF16 ? tiles_->bf16 : tiles_->int8); }

  Stmt product(const Stmt& s, const Store& st, const Call& c) const {
    const DotForm form = dot_form(c.fn, c.args);
    std::vector<Stmt> all;
    std::vector<Buffer> copies;
    const auto operand = [&](const char* name, const Expr& value, int columns, bool in_place) {
      const std::optional<Operand> rows = in_place ? in_memory(value, columns) : std::nullopt;
      if (rows) return *rows;
      const int n = value.type().lanes;
      copies.push_back(Buffer(name, value.type().element(), {Expr(n)}, Scope::kLocal));
      all.push_back(store(copies.back(), {lanes(n)}, value));
      return Operand{copies.back(), {0, columns}, columns};
    };
    const auto* old = as<Load>(c.args[0]);
    const bool stays = !st.pred && old && old->buffer == st.buffer && equal(old->at[0], st.at[0]);
    const auto apart = [&](const Expr& factor) {
      return !as<Load>(factor) || !(as<Load>(factor)->buffer == st.buffer);
    };
    const Operand sums = operand("sums", c.args[0], form.columns, stays);
    const Operand left = operand("left", c.args[1], form.group, apart(c.args[1]));
    const Operand right = operand("right", c.args[2], form.columns * form.packed, apart(c.args[2]));
    if (copies.empty() && has(c.fn)) return s;
    if (has(c.fn))
      all.push_back(store(sums.buffer, {sums.at(c.args[0])},
                          call(c.fn, {sums.like(c.args[0]), left.like(c.args[1]), right.like(c.args[2])})));
    else
      all.push_back(Product(c, sums, left, right).by_rows());
    if (!(sums.buffer == st.buffer)) all.push_back(store(st.buffer, st.at, sums.like(c.args[0]), st.pred));
    Stmt out = seq(std::move(all));
    for (const Buffer& copy : copies) out = allocate(copy, out);
    return out;
  }

  const std::optional<Tiles> tiles_;
};

}  // namespace

Program tiles(const Program& p, const Target& target) {
  Program out = p;
  out.body = Pass(target).visit(p.body);
  return out;
}

}  // namespace tw::lower
