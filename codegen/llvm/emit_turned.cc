// Tiles that are turned in registers: statements side by side whose vectors run down columns side by side.
//
//   T[0 : 4] = A[ramp(p, s, 4)]             row r: A[p + r*s : 4]
//   T[8 : 4] = A[ramp(p + 1, s, 4)]   ==>   the four rows turned into columns by shuffles
//   ...                                     T[0 : 4] = column 0, T[8 : 4] = column 1, ...
//
// Four loads of whole rows instead of four gathers, of the same elements; rows that no lane wants, of columns that end
// with a predicate, are zeros. The rest of each statement is emitted as ever and finds the column in the cache.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>
#include <bit>

#include "codegen/llvm/emitter.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;
using llvm::Value;

namespace {

constexpr int kBlockBytes = 16;  // within which x86 interleaves elements; all that a vector of ARM's has

const ir::Load& load_of(const Expr& e) { return *ir::as<ir::Load>(e); }
const ir::Ramp& ramp_of(const Expr& load) { return *ir::as<ir::Ramp>(load_of(load).at[0]); }

// How many elements of a column are read: the first of its lanes. 0 where others may be.
int height_of(const Expr& column) {
  const ir::Load& load = load_of(column);
  if (!load.pred) return column.type().lanes;
  const auto* below = ir::as<ir::Binary>(load.pred);
  const auto* lane = below && below->op == ir::BinOp::kLt ? ir::as<ir::Ramp>(below->a) : nullptr;
  const auto first = lane && ir::is_int(lane->stride, 1) ? ir::as_int(lane->base) : std::nullopt;
  const auto end = first ? ir::as_int(below->b) : std::nullopt;
  return end ? static_cast<int>(std::clamp<int64_t>(*end - *first, 0, column.type().lanes)) : 0;
}

// Its loads of columns that are read whatever the values of others.
std::vector<Expr> columns_in(const ir::Store& store) {
  std::vector<Expr> columns;
  ir::walk(store.value, [&](const Expr& e) {
    if (const auto* binary = ir::as<ir::Binary>(e))
      return binary->op != ir::BinOp::kAnd && binary->op != ir::BinOp::kOr;
    if (ir::as<ir::Select>(e) || ir::as<ir::Let>(e)) return false;
    const auto* load = ir::as<ir::Load>(e);
    if (!load) return true;
    const auto* ramp = load->at.size() == 1 ? ir::as<ir::Ramp>(load->at[0]) : nullptr;
    const bool all_are_there = !!load->pred || !store.pred;
    if (!ramp || !all_are_there || ir::has_load(load->at[0]) || e.type().is_bool()) return false;
    const auto stride = ir::as_int(ramp->stride);
    if ((!stride || *stride < -1 || *stride > 1) && height_of(e) > 1) columns.push_back(e);
    return false;
  });
  return columns;
}

// Whether each column of `b` is the one behind that of `a`.
bool side_by_side(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (load_of(a[i]).buffer.id() != load_of(b[i]).buffer.id() || !(a[i].type() == b[i].type())) return false;
    const ir::Ramp &one = ramp_of(a[i]), &other = ramp_of(b[i]);
    if (height_of(a[i]) != height_of(b[i]) || !ir::equal(one.stride, other.stride) ||
        !ir::is_int(ir::simplify(other.base - one.base), 1))
      return false;
  }
  return true;
}

bool writes(const Stmt& stmt, const std::vector<Expr>& loads) {
  for (const Expr& load : loads)
    if (ir::as<ir::Store>(stmt)->buffer.id() == load_of(load).buffer.id()) return true;
  return false;
}

// Elements of two vectors of `lanes`, `lanes` on for those of the second one, for the halves of what a step makes.
struct Shuffle {
  std::vector<int> low, high;
};

// Of blocks of `block` elements, each: those of both vectors in turn.
Shuffle interleaved(int lanes, int block) {
  Shuffle s;
  for (int first = 0; first < lanes; first += block)
    for (int i = 0; i < block; ++i) {
      s.low.push_back(first + i / 2 + (i % 2) * lanes);
      s.high.push_back(first + block / 2 + i / 2 + (i % 2) * lanes);
    }
  return s;
}

// The even blocks of both vectors, and the odd ones.
Shuffle sorted(int lanes, int block) {
  Shuffle s;
  for (int vector = 0; vector < 2; ++vector)
    for (int first = 0; first < lanes; first += 2 * block)
      for (int i = 0; i < block; ++i) {
        s.low.push_back(vector * lanes + first + i);
        s.high.push_back(vector * lanes + first + block + i);
      }
  return s;
}

}  // namespace

// Of so many rows of as many elements, the columns. An element's place is the bits of its row and those of its column:
// each step moves one bit of the row into the lanes, and one of the column out of them.
std::vector<Value*> Emitter::turned(std::vector<Value*> rows, int element_bytes) {
  const int lanes = static_cast<int>(rows.size()), block = std::min(lanes, std::max(1, kBlockBytes / element_bytes));
  const auto step = [&](int apart, const Shuffle& s) {
    for (int i = 0; i < lanes; ++i) {
      if (i & apart) continue;
      Value *a = rows[static_cast<size_t>(i)], *b = rows[static_cast<size_t>(i + apart)];
      rows[static_cast<size_t>(i)] = b_.CreateShuffleVector(a, b, s.low);
      rows[static_cast<size_t>(i + apart)] = b_.CreateShuffleVector(a, b, s.high);
    }
  };
  for (int apart = block / 2; apart > 0; apart /= 2) step(apart, interleaved(lanes, block));
  for (int apart = block; apart < lanes; apart *= 2) step(apart, sorted(lanes, block));
  return rows;
}

// `columns` neighbours of one column: squares of the rows, side by side where the column has more elements than a row.
std::vector<Value*> Emitter::emit_columns(const Expr& first, int columns) {
  const ir::Load& load = load_of(first);
  const ir::Ramp& ramp = ramp_of(first);
  const Memory& memory = frame_.buffers.at(load.buffer.id());
  const ir::Type row = first.type().with_lanes(columns);
  const int height = height_of(first);
  Value *base = emit(ramp.base), *stride = emit(ramp.stride);
  std::vector<std::vector<Value*>> parts(static_cast<size_t>(columns));
  for (int begin = 0; begin < ramp.lanes; begin += columns) {
    std::vector<Value*> rows;
    for (int r = begin; r < begin + columns; ++r) {
      Value* at = b_.CreateAdd(base, b_.CreateMul(stride, index(r)));
      rows.push_back(r < height ? emit_block_load(memory, row, at, 1, nullptr)
                                : llvm::Constant::getNullValue(value_type(row)));
    }
    rows = turned(std::move(rows), first.type().element().bytes());
    for (size_t c = 0; c < rows.size(); ++c) parts[c].push_back(rows[c]);
  }
  std::vector<Value*> whole;
  for (const std::vector<Value*>& part : parts)
    whole.push_back(part.size() == 1 ? part[0] : llvm::concatenateVectors(b_, part));
  return whole;
}

// How many of these statements make a tile, a power of two; 0 where fewer than are worth it do.
int Emitter::tile_of(std::span<const Stmt> stmts) const {
  const auto* store = ir::as<ir::Store>(stmts[0]);
  if (!store) return 0;
  std::vector<Expr> columns = columns_in(*store);
  if (columns.empty()) return 0;
  int most = 1 << 10, widest = 1;
  const std::vector<Expr> all = columns;
  for (const Expr& column : all) {
    const int lanes = column.type().lanes, bytes = column.type().element().bytes();
    most = std::min({most, lanes & -lanes, target_.abilities.vector_bits / (8 * bytes)});
    widest = std::max(widest, bytes);
  }
  int count = writes(stmts[0], all) ? 0 : 1;
  for (; count > 0 && count < most && static_cast<size_t>(count) < stmts.size(); ++count) {
    const auto* next = ir::as<ir::Store>(stmts[static_cast<size_t>(count)]);
    std::vector<Expr> behind = next ? columns_in(*next) : std::vector<Expr>{};
    if (!next || writes(stmts[static_cast<size_t>(count)], all) || !side_by_side(columns, behind)) break;
    columns = std::move(behind);
  }
  const int tile = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  return tile * widest >= kBlockBytes && tile > 1 ? tile : 0;
}

void Emitter::emit_tile(std::span<const Stmt> stmts) {
  CacheLevel level(*this);
  std::vector<std::vector<Expr>> columns;
  for (const Stmt& s : stmts) columns.push_back(columns_in(*ir::as<ir::Store>(s)));
  for (size_t i = 0; i < columns[0].size(); ++i) {
    const std::vector<Value*> values = emit_columns(columns[0][i], static_cast<int>(stmts.size()));
    for (size_t c = 0; c < values.size(); ++c) {
      cache_[columns[c][i].get()] = values[c];
      cached_.push_back(columns[c][i]);
    }
  }
  for (const Stmt& s : stmts) emit_store(*ir::as<ir::Store>(s));
}

void Emitter::emit_sequence(std::span<const Stmt> stmts) {
  while (!stmts.empty()) {
    if (const size_t zeros = zeroed_sums(stmts)) {
      emit_with_zero_sums(stmts[zeros]);
      stmts = stmts.subspan(zeros + 1);
      continue;
    }
    const auto tile = static_cast<size_t>(tile_of(stmts));
    if (tile > 0)
      emit_tile(stmts.first(tile));
    else
      emit(stmts[0]);
    stmts = stmts.subspan(std::max<size_t>(tile, 1));
  }
}

}  // namespace tw::codegen
