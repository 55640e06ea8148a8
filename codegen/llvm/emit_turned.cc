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
#include <optional>

#include "codegen/llvm/emitter.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;
using ir::Type;
using llvm::Value;

namespace {

constexpr int kBlockBytes = 16;  // within which x86 interleaves elements; all that a vector of NEON has

const ir::Load& load_of(const Expr& e) { return *ir::as<ir::Load>(e); }

// A load of elements that lie `stride` apart, or of groups of such: the four bytes that a dot product takes together
// are one element of 32 bits.
struct Column {
  Expr load, base, stride;
  int group = 1, height = 0;  // elements of `load` in one of the column's; of these, those that are read
  Type element;
  int lanes() const { return load.type().lanes / group; }
};

// How many lanes of a load are read: the first of them. 0 where others may be.
int height_of(const ir::Load& load, int lanes) {
  if (!load.pred) return lanes;
  const auto* below = ir::as<ir::Binary>(load.pred);
  const auto* lane = below && below->op == ir::BinOp::kLt ? ir::as<ir::Ramp>(below->a) : nullptr;
  const auto first = lane && ir::is_int(lane->stride, 1) ? ir::as_int(lane->base) : std::nullopt;
  const auto end = first ? ir::as_int(below->b) : std::nullopt;
  return end ? static_cast<int>(std::clamp<int64_t>(*end - *first, 0, lanes)) : 0;
}

std::optional<Column> grouped_column(const Expr& e) {
  const ir::Load& load = load_of(e);
  const auto places = load.pred ? std::nullopt : lane_places(load.at[0]);
  if (!places) return std::nullopt;
  const int lanes = e.type().lanes;
  const auto apart = [&](int lane) { return places->apart[static_cast<size_t>(lane)]; };
  int group = 1;
  while (group < lanes && apart(group) == group) ++group;
  const int bits = group * e.type().bits;
  if (group == 1 || lanes < 2 * group || lanes % group != 0 || (bits != 16 && bits != 32 && bits != 64))
    return std::nullopt;
  const int64_t stride = apart(group);
  for (int lane = 0; lane < lanes; ++lane)
    if (apart(lane) != lane / group * stride + lane % group) return std::nullopt;
  return Column{e, places->base, stride, group, lanes / group, Type::u(bits)};
}

std::optional<Column> column_of(const Expr& e) {
  const ir::Load& load = load_of(e);
  if (load.at.size() != 1 || ir::has_load(load.at[0]) || e.type().is_bool() || e.type().is_scalar())
    return std::nullopt;
  const auto* ramp = ir::as<ir::Ramp>(load.at[0]);
  if (!ramp) return grouped_column(e);
  const auto stride = ir::as_int(ramp->stride);
  const int height = height_of(load, e.type().lanes);
  if (height < 2 || (stride && *stride >= -1 && *stride <= 1)) return std::nullopt;
  return Column{e, ramp->base, ramp->stride, 1, height, e.type().element()};
}

// Its loads of columns that are read whatever the values of others.
std::vector<Column> columns_in(const ir::Store& store) {
  std::vector<Column> columns;
  ir::walk(store.value, [&](const Expr& e) {
    if (const auto* binary = ir::as<ir::Binary>(e))
      return binary->op != ir::BinOp::kAnd && binary->op != ir::BinOp::kOr;
    if (ir::as<ir::Select>(e) || ir::as<ir::Let>(e)) return false;
    const auto* load = ir::as<ir::Load>(e);
    if (!load) return true;
    const bool all_are_there = !!load->pred || !store.pred;
    if (auto column = all_are_there ? column_of(e) : std::nullopt) columns.push_back(*std::move(column));
    return false;
  });
  return columns;
}

// Whether each column of `b` is the one behind that of `a`.
bool side_by_side(const std::vector<Column>& a, const std::vector<Column>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Column &one = a[i], &other = b[i];
    if (load_of(one.load).buffer.id() != load_of(other.load).buffer.id() || !(one.load.type() == other.load.type()) ||
        one.group != other.group || one.height != other.height || !ir::equal(one.stride, other.stride) ||
        !ir::is_int(ir::simplify(other.base - one.base), one.group))
      return false;
  }
  return true;
}

bool writes(const Stmt& stmt, const std::vector<Column>& columns) {
  for (const Column& column : columns)
    if (ir::as<ir::Store>(stmt)->buffer.id() == load_of(column.load).buffer.id()) return true;
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
// each step moves one bit of the row into the lanes, and one of the column out of them. SVE interleaves whole vectors
// only (LLVM moves element by element for others).
std::vector<Value*> Emitter::turned(std::vector<Value*> rows, int element_bytes) {
  const int lanes = static_cast<int>(rows.size()), within = std::max(1, kBlockBytes / element_bytes);
  const int block = target_.sve_bits > 128 ? lanes : std::min(lanes, within);
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

// `count` neighbours of the first column of some: squares of the rows, side by side where the column has more elements
// than a row.
std::vector<Value*> Emitter::emit_columns(const Expr& first, int count) {
  const Column column = *column_of(first);
  const Memory& memory = frame_.buffers.at(load_of(first).buffer.id());
  const Type row = first.type().with_lanes(count * column.group);
  llvm::Type* elements = value_type(column.element.with_lanes(count));
  Value *base = emit(column.base), *stride = emit(column.stride);
  std::vector<std::vector<Value*>> parts(static_cast<size_t>(count));
  for (int begin = 0; begin < column.lanes(); begin += count) {
    std::vector<Value*> rows;
    for (int r = begin; r < begin + count; ++r) {
      Value* at = b_.CreateAdd(base, b_.CreateMul(stride, index(r)));
      rows.push_back(r < column.height ? b_.CreateBitCast(emit_block_load(memory, row, at, 1, nullptr), elements)
                                       : llvm::Constant::getNullValue(elements));
    }
    rows = turned(std::move(rows), column.element.bytes());
    for (size_t c = 0; c < rows.size(); ++c) parts[c].push_back(rows[c]);
  }
  std::vector<Value*> whole;
  for (const std::vector<Value*>& part : parts)
    whole.push_back(
        b_.CreateBitCast(part.size() == 1 ? part[0] : llvm::concatenateVectors(b_, part), value_type(first.type())));
  return whole;
}

// How many of these statements make a tile, a power of two; 0 where fewer than are worth it do.
int Emitter::tile_of(std::span<const Stmt> stmts) const {
  const auto* store = ir::as<ir::Store>(stmts[0]);
  if (!store) return 0;
  std::vector<Column> columns = columns_in(*store);
  if (columns.empty()) return 0;
  int most = 1 << 10, widest = 1;
  const std::vector<Column> all = columns;
  for (const Column& column : all) {
    const int lanes = column.lanes(), bytes = column.element.bytes();
    most = std::min({most, lanes & -lanes, target_.abilities.vector_bits / (8 * bytes)});
    widest = std::max(widest, bytes);
  }
  int count = writes(stmts[0], all) ? 0 : 1;
  for (; count > 0 && count < most && static_cast<size_t>(count) < stmts.size(); ++count) {
    const auto* next = ir::as<ir::Store>(stmts[static_cast<size_t>(count)]);
    std::vector<Column> behind = next ? columns_in(*next) : std::vector<Column>{};
    if (!next || writes(stmts[static_cast<size_t>(count)], all) || !side_by_side(columns, behind)) break;
    columns = std::move(behind);
  }
  const int tile = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  return tile * widest >= kBlockBytes && tile > 1 ? tile : 0;
}

void Emitter::emit_tile(std::span<const Stmt> stmts) {
  CacheLevel level(*this);
  std::vector<std::vector<Column>> columns;
  for (const Stmt& s : stmts) columns.push_back(columns_in(*ir::as<ir::Store>(s)));
  for (size_t i = 0; i < columns[0].size(); ++i) {
    const std::vector<Value*> values = emit_columns(columns[0][i].load, static_cast<int>(stmts.size()));
    for (size_t c = 0; c < values.size(); ++c) {
      cache_[columns[c][i].load.get()] = values[c];
      cached_.push_back(columns[c][i].load);
    }
  }
  for (const Stmt& s : stmts) emit_store(*ir::as<ir::Store>(s));
}

}  // namespace tw::codegen
