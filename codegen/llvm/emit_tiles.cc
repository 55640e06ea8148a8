// Products of whole tiles in the registers that x86 has for them.
//
//   for k in 0..n:                             ldtilecfg; tileloadd tmm0, C[t]
//     C[t] = tile_bf16(C[t], A[k], B[k])  ==>  for k in 0..n:
//                                                tileloadd tmm1, A[k]; tileloadd tmm2, B[k]
//                                                tdpbf16ps tmm0, tmm1, tmm2
//                                              tilestored C[t], tmm0; tilerelease
//
// The registers are configured around the largest statement that calls nobody, for whoever is called may use them, too;
// of tasks that call nobody around all that a thread does: some take less time than this. A loop keeps the sums that
// all of its iterations add to, and products one after the other keep theirs. Factors are held, as long as statements
// follow one another, until others need their registers. Where sums have fewer rows than a register, or left factors
// fewer terms, some registers are configured to be those of sums, others those of left factors, and the rest is left
// for right ones. Sums that are made zero right before they are added to are made so in registers: a load would wait
// for the stores.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "codegen/scratch.h"
#include "src/ir/equal.h"
#include "src/ir/lane_rows.h"
#include "src/ir/simplify.h"
#include "src/ir/tile_products.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Fn;
using ir::Stmt;
using llvm::Value;

namespace {

constexpr int kColumns = 16;          // of sums; as many rows and groups of terms have whole registers
constexpr int kLeft = 4, kRight = 6;  // the first registers of factors, where these are not whole

const ir::Load& load_of(const Expr& e) { return *ir::as<ir::Load>(e); }
bool same(const Expr& a, const Expr& b) {
  return load_of(a).buffer == load_of(b).buffer && ir::equal(load_of(a).at[0], load_of(b).at[0]);
}

// Whether two tiles of one buffer surely have no element in common.
bool apart(const ir::Load& a, const ir::Load& b) {
  const auto one = ir::lane_rows(a.at[0], kColumns), other = ir::lane_rows(b.at[0], kColumns);
  if (!one || !other) return false;
  const auto distance = ir::as_int(ir::simplify(other->base - one->base)), stride = ir::as_int(one->stride);
  if (!distance || !stride || stride != ir::as_int(other->stride)) return false;
  const auto rows_of = [](const ir::Load& tile) { return tile.at[0].type().lanes / kColumns; };
  for (int64_t rows = 1 - rows_of(a); rows < rows_of(b); ++rows)
    if (std::abs(*distance + rows * *stride) < kColumns) return false;
  return true;
}

bool is_zero(const Expr& value) {
  const auto* all = ir::as<ir::Broadcast>(value);
  const Expr& one = all ? all->value : value;
  const auto* real = ir::as<ir::FloatImm>(one);
  return real ? real->value == 0 && !std::signbit(real->value) : ir::is_int(one, 0);
}

// Of a store of zeros to successive elements: the first of them and how many.
std::optional<std::pair<int64_t, int>> zeros_of(const ir::Store& store) {
  const auto* lanes = store.at.size() == 1 ? ir::as<ir::Ramp>(store.at[0]) : nullptr;
  const auto first = lanes && ir::is_int(lanes->stride, 1) ? ir::as_int(lanes->base) : std::nullopt;
  if (!first || !!store.pred || !is_zero(store.value)) return {};
  return std::pair(*first, lanes->lanes);
}

// How many statements in front are products of tiles.
size_t products_in_front(std::span<const Stmt> stmts) {
  return static_cast<size_t>(std::ranges::find_if_not(stmts, ir::tile_product) - stmts.begin());
}

// What statements do to the tiles that they add to, once or for each value of a variable.
struct TileSums {
  std::vector<Expr> tiles;  // loads; of the products in the order of their statements
  bool fine = true;

  TileSums(std::span<const Stmt> stmts, const ir::Var* over) {
    if (over) bound_.insert(over->id());
    for (const Stmt& stmt : stmts)
      ir::walk(stmt, [&](const Stmt& s) {
        note(s);
        return fine;
      });
    for (const Expr& tile : tiles) {
      const ir::Load& load = load_of(tile);
      fine = fine && !touched_.contains(load.buffer.id());
      for (const uint64_t id : ir::used_vars(load.at[0])) fine = fine && !bound_.contains(id);
      for (const Expr& other : tiles)
        fine = fine && (tile.same_as(other) || !(load.buffer == load_of(other).buffer) || apart(load, load_of(other)));
    }
  }

 private:
  void note(const Stmt& s) {
    if (const auto* f = ir::as<ir::For>(s)) bound_.insert(f->var.id());
    if (const auto* l = ir::as<ir::LetStmt>(s)) bound_.insert(l->var.id());
    if (ir::as<ir::If>(s) || ir::as<ir::Allocate>(s)) fine = false;
    const ir::Call* product = ir::tile_product(s);
    if (product) {
      const Expr& sums = product->args[0];
      const bool known = std::any_of(tiles.begin(), tiles.end(), [&](const Expr& tile) { return same(tile, sums); });
      if (!known) tiles.push_back(sums);
      touch(product->args[1]);
      touch(product->args[2]);
      return;
    }
    if (const auto* store = ir::as<ir::Store>(s)) touched_.insert(store->buffer.id());
    ir::map_children(s, [](const Stmt& child) { return child; }, [&](const Expr& e) { return touch(e), e; });
  }

  void touch(const Expr& value) {
    ir::walk(value, [&](const Expr& e) {
      if (const auto* load = ir::as<ir::Load>(e)) touched_.insert(load->buffer.id());
      if (const auto* address = ir::as<ir::Address>(e)) touched_.insert(address->buffer.id());
      return true;
    });
  }

  std::unordered_set<uint64_t> bound_, touched_;
};

}  // namespace

// ------------------------------------------------------------------------------------------------------ configuration

bool Emitter::calls_others(const Stmt& stmt) const {
  bool calls = false;
  ir::walk(
      stmt,
      [&](const Stmt& s) {
        const auto* loop = ir::as<ir::For>(s);
        const auto* alloc = ir::as<ir::Allocate>(s);
        calls = calls || (loop && runs_concurrently(loop->kind) && !frame_.in_parallel) || (alloc && !is_slot(*alloc));
        return !calls;
      },
      [&](const Expr& e) { return calls = calls || ir::as<ir::CallExtern>(e), !calls; });
  return calls;
}

// In a statement, where all have the same.
std::optional<Emitter::TileSize> Emitter::size_of_tiles(const Stmt& stmt) const {
  std::optional<TileSize> size;
  bool equal = true;
  ir::walk(stmt, [&](const Stmt& s) {
    const ir::Call* product = ir::tile_product(s);
    if (!product) return equal;
    const TileSize here = {ir::rows_of_tile(*product), ir::groups_of_tile(*product)};
    equal = equal && size.value_or(here) == here;
    size = here;
    return equal;
  });
  return equal ? size : std::nullopt;
}

bool Emitter::begins_tiles(const Stmt& stmt) const {
  return has_tiles_ && !frame_.tiles.size && size_of_tiles(stmt) && !calls_others(stmt);
}

// What `inside` emits holds no other products than the statement.
void Emitter::with_tiles(const Stmt& stmt, const std::function<void()>& inside) {
  namespace I = llvm::Intrinsic;
  const auto release = [&] { b_.CreateCall(compat::intrinsic(module_, I::x86_tilerelease, {})); };
  const TileSize size = *size_of_tiles(stmt);
  b_.CreateCall(compat::intrinsic(module_, I::x86_ldtilecfg, {}), {tile_configuration(size)});
  llvm::BasicBlock* outer_way_out = frame_.way_out;
  frame_.way_out = block("release_tiles");
  {
    llvm::IRBuilder<>::InsertPointGuard stay(b_);
    b_.SetInsertPoint(frame_.way_out);
    release();
    b_.CreateBr(outer_way_out);
  }
  frame_.tiles.size = size;
  inside();
  frame_.tiles = {};
  frame_.way_out = outer_way_out;
  release();
}

// Of palette 1: 16 bytes of header, the bytes of a row of 16 registers, their rows.
llvm::Constant* Emitter::tile_configuration(TileSize size) {
  const auto fewer = [](const char* of, int n) { return n == kColumns ? "" : of + std::to_string(n); };
  const std::string name = "tw_tiles" + fewer("_m", size.rows) + fewer("_k", size.groups);
  if (llvm::GlobalVariable* known = module_.getNamedGlobal(name)) return known;
  constexpr size_t kBytes = 64, kRowBytes = 16, kRows = 48;
  const Tiles& tiles = *target_.abilities.tiles;
  std::vector<uint8_t> bytes(kBytes, 0);
  bytes[0] = 1;
  for (int i = 0; i < tiles.registers; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool left = kLeft <= i && i < kRight;
    bytes[kRowBytes + 2 * at] = static_cast<uint8_t>(left ? tiles.row_bytes / kColumns * size.groups : tiles.row_bytes);
    bytes[kRows + at] = static_cast<uint8_t>(i < kRight ? size.rows : size.groups);
  }
  auto* data = llvm::ConstantDataArray::get(c_, bytes);
  auto* global =
      new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, name);
  global->setAlignment(llvm::Align(kBytes));
  return global;
}

// ----------------------------------------------------------------------------------------------------------- products

void Emitter::move_tile(llvm::Intrinsic::ID instruction, int number, const Expr& tile, int columns) {
  const ir::Load& load = load_of(tile);
  const auto rows = ir::lane_rows(load.at[0], columns);
  TW_CHECK(rows, "a tile of " + load.buffer.name() + " that is not made of rows");
  CacheLevel level(*this);  // ends before the nodes that it knows
  const ir::Type element = load.buffer.element();
  Value* at = address(frame_.buffers.at(load.buffer.id()), element, emit(rows->base));
  Value* row_bytes = b_.CreateMul(emit(rows->stride), index(element.bytes()));
  b_.CreateCall(compat::intrinsic(module_, instruction, {}), {tile_number(number), at, row_bytes});
}

Value* Emitter::tile_number(int number) { return b_.getInt8(static_cast<uint8_t>(number)); }

// First and end of those that hold such tiles, and no sums that stay.
std::pair<int, int> Emitter::registers_for(TileRole role) const {
  const auto [rows, groups] = *frame_.tiles.size;
  const int free = static_cast<int>(frame_.tiles.sums.size()), all = target_.abilities.tiles->registers;
  if (rows == kColumns && groups == kColumns) return {free, all};
  if (role == TileRole::kRight) return {kRight, all};
  if (groups == kColumns) return {free, kRight};
  return role == TileRole::kLeft ? std::pair(kLeft, kRight) : std::pair(free, kLeft);
}

// A register whose factor nobody has used for longest.
int Emitter::free_tile(TileRole role) {
  std::vector<HeldTile>& held = frame_.tiles.held;
  const auto [first, end] = registers_for(role);
  for (int i = first; i < end; ++i)
    if (std::none_of(held.begin(), held.end(), [&](const HeldTile& h) { return h.number == i; })) return i;
  const auto oldest =
      std::find_if(held.begin(), held.end(), [&](const HeldTile& h) { return first <= h.number && h.number < end; });
  const int number = oldest->number;
  held.erase(oldest);
  return number;
}

int Emitter::held_tile(const Expr& factor, TileRole role) {
  const int rows = role == TileRole::kLeft ? frame_.tiles.size->rows : frame_.tiles.size->groups;
  std::vector<HeldTile>& held = frame_.tiles.held;
  const auto [first, end] = registers_for(role);
  const auto found = std::find_if(held.begin(), held.end(), [&](const HeldTile& h) {
    return first <= h.number && h.number < end && same(h.tile, factor);
  });
  HeldTile it = found != held.end() ? *found : HeldTile{factor, -1};
  if (found != held.end()) {
    held.erase(found);
  } else {
    it.number = free_tile(role);
    move_tile(llvm::Intrinsic::x86_tileloadd64, it.number, factor, factor.type().lanes / rows);
  }
  held.push_back(it);
  return it.number;
}

void Emitter::emit_tile_product(const ir::Call& call) {
  namespace I = llvm::Intrinsic;
  const Expr& tile = call.args[0];
  const std::vector<Expr>& sums = frame_.tiles.sums;
  const auto kept = std::find_if(sums.begin(), sums.end(), [&](const Expr& s) { return same(s, tile); });
  const bool stays = kept != sums.end();
  const int left = held_tile(call.args[1], TileRole::kLeft);
  const int right = held_tile(call.args[2], TileRole::kRight);
  const int sum = stays ? static_cast<int>(kept - sums.begin()) : free_tile(TileRole::kSums);
  if (!stays) move_tile(I::x86_tileloadd64, sum, tile, kColumns);
  const I::ID id = call.fn == Fn::kTileBF16   ? I::x86_tdpbf16ps
                   : call.fn == Fn::kTileU8I8 ? I::x86_tdpbusd
                                              : I::x86_tdpbssd;
  b_.CreateCall(compat::intrinsic(module_, id, {}), {tile_number(sum), tile_number(left), tile_number(right)});
  if (!stays) move_tile(I::x86_tilestored64, sum, tile, kColumns);
}

// Those that statements add to, once or for each value of a variable, to stay in registers meanwhile.
std::vector<Expr> Emitter::sums_of(std::span<const Stmt> stmts, const ir::Var* over) const {
  if (!frame_.tiles.size || !frame_.tiles.sums.empty() || std::ranges::none_of(stmts, ir::has_tile_product)) return {};
  const TileSums all(stmts, over);
  const auto [first, end] = registers_for(TileRole::kSums);
  int most = end - first;  // one is left for each factor that has the same
  for (const TileRole factor : {TileRole::kLeft, TileRole::kRight}) most -= registers_for(factor).second == end ? 1 : 0;
  return all.fine && std::ssize(all.tiles) <= most ? all.tiles : std::vector<Expr>{};
}

std::vector<Expr> Emitter::sums_in_front(std::span<const Stmt> stmts) const {
  const auto* loop = stmts.empty() ? nullptr : ir::as<ir::For>(stmts[0]);
  return loop ? sums_of({&loop->body, 1}, &loop->var) : sums_of(stmts.first(products_in_front(stmts)), nullptr);
}

// How many stores in front do nothing but make the sums of what adds behind them zero, all of them.
size_t Emitter::zeroed_sums(std::span<const Stmt> stmts) const {
  std::unordered_set<int64_t> zero;
  size_t count = 0;
  for (; count < stmts.size(); ++count) {
    const auto* store = ir::as<ir::Store>(stmts[count]);
    const auto zeros = store ? zeros_of(*store) : std::nullopt;
    if (!zeros || !(store->buffer == ir::as<ir::Store>(stmts[0])->buffer)) break;
    for (int i = 0; i < zeros->second; ++i) zero.insert(zeros->first + i);
  }
  size_t in_tiles = 0;
  for (const Expr& tile : count > 0 ? sums_in_front(stmts.subspan(count)) : std::vector<Expr>{}) {
    const ir::Load& load = load_of(tile);
    const auto rows = ir::lane_rows(load.at[0], kColumns);
    const auto base = ir::as_int(rows->base), stride = ir::as_int(rows->stride);
    if (!base || !stride || !(load.buffer == ir::as<ir::Store>(stmts[0])->buffer)) return 0;
    const int elements = tile.type().lanes;
    for (int i = 0; i < elements; ++i)
      if (!zero.contains(*base + i / kColumns * *stride + i % kColumns)) return 0;
    in_tiles += static_cast<size_t>(elements);
  }
  return in_tiles == zero.size() ? count : 0;
}

// Sums in front that begin as zero, or to which products add that no loop stands around. Gives how many statements that
// were.
size_t Emitter::emit_sums(std::span<const Stmt> stmts) {
  const size_t zeros = zeroed_sums(stmts), products = products_in_front(stmts.subspan(zeros));
  frame_.tiles.zero = zeros > 0;
  if (products == 0) {
    if (zeros > 0) emit(stmts[zeros]);
    return zeros > 0 ? zeros + 1 : 0;
  }
  std::vector<Expr> sums = sums_in_front(stmts.subspan(zeros));
  if (sums.empty()) return 0;
  begin_sums(std::move(sums));
  for (const Stmt& product : stmts.subspan(zeros, products)) emit(product);
  end_sums();
  return zeros + products;
}

void Emitter::begin_sums(std::vector<Expr> sums) {
  frame_.tiles.held.clear();
  frame_.tiles.sums = std::move(sums);
  if (!std::exchange(frame_.tiles.zero, false)) return move_sums(llvm::Intrinsic::x86_tileloadd64);
  for (size_t i = 0; i < frame_.tiles.sums.size(); ++i)
    b_.CreateCall(compat::intrinsic(module_, llvm::Intrinsic::x86_tilezero, {}), {tile_number(static_cast<int>(i))});
}

void Emitter::end_sums() {
  move_sums(llvm::Intrinsic::x86_tilestored64);
  frame_.tiles.sums.clear();
}

void Emitter::move_sums(llvm::Intrinsic::ID instruction) {
  for (size_t i = 0; i < frame_.tiles.sums.size(); ++i)
    move_tile(instruction, static_cast<int>(i), frame_.tiles.sums[i], kColumns);
}

}  // namespace tw::codegen
