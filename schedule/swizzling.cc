#include "schedule/swizzling.h"

#include <algorithm>

#include "schedule/group_operands.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

namespace {

constexpr int64_t kPart = Swizzling::kPart, kBanks = 128;  // bytes of all banks together

int64_t row_bytes(const StageNest& stage, const std::vector<Extent>& region) {
  if (stage.data_rank < 2 || stage.buffer().element().is_packed()) return 0;
  return region[static_cast<size_t>(stage.data_rank) - 1].value_or(0) * stage.buffer().element().bytes();
}

int64_t bytes_of(const StageNest& stage, const std::vector<Extent>& region) {
  if (stage.swizzled != kAutoSwizzle) return stage.swizzled;
  const int64_t row = row_bytes(stage, region);
  for (int64_t bytes = kBanks; bytes > kPart; bytes /= 2)
    if (row > 0 && row % bytes == 0) return bytes;
  return 0;
}

}  // namespace

Swizzling swizzling_of(const LoopNest& nest, const Placement& placed, int i, const std::vector<Extent>& region) {
  const StageNest& stage = nest.stage(i);
  const int64_t bytes = bytes_of(stage, region), row = row_bytes(stage, region);
  if (bytes == 0 || row == 0) return {};
  Swizzling out{bytes / kPart, kPart / stage.buffer().element().bytes(), std::max<int64_t>(1, kBanks / row), row};
  int64_t lines = 1;
  for (size_t d = 0; d + 1 < static_cast<size_t>(stage.data_rank); ++d) lines *= region[d].value_or(0);
  if (row == bytes || row % bytes != 0 || lines == 0 || !is_group_operand(nest, placed, i)) return out;
  out.panels = row / bytes;
  out.lines = lines;
  out.row_bytes = bytes;
  out.rows = kBanks / bytes;
  return out;
}

std::vector<Extent> in_panels(const Swizzling& swizzling, std::vector<Extent> region) {
  if (swizzling.panels == 1) return region;
  region.back() = swizzling.parts * swizzling.elements;
  region.insert(region.begin(), swizzling.panels);
  return region;
}

std::vector<ir::Expr> in_panels(const Swizzling& swizzling, std::vector<ir::Expr> at) {
  if (swizzling.panels == 1) return at;
  const ir::Expr column = at.back(), line = swizzling.parts * swizzling.elements;
  at.back() = ir::floormod(column, line);
  at.insert(at.begin(), ir::floordiv(column, line));
  return at;
}

std::vector<ir::Expr> swizzled(const Swizzling& swizzling, const std::vector<Extent>& kept, std::vector<ir::Expr> at) {
  if (swizzling.parts == 0) return at;
  ir::Expr row = 0;
  for (size_t d = 0; d + 1 < at.size(); ++d) row = row * kept[d].expr() + at[d];
  const ir::Expr elements = swizzling.elements;
  const ir::Expr number = ir::floormod(ir::floordiv(row, ir::Expr(swizzling.rows)), ir::Expr(swizzling.parts));
  const ir::Expr part = ir::binary(ir::BinOp::kBitXor, ir::floordiv(at.back(), elements), number);
  at.back() = part * elements + ir::floormod(at.back(), elements);
  return at;
}

int64_t swizzled_byte(const Swizzling& swizzling, int64_t byte) {
  if (swizzling.parts == 0) return byte;
  if (const int64_t row = swizzling.panels * swizzling.row_bytes; swizzling.panels > 1) {
    const int64_t panel = byte % row / swizzling.row_bytes;
    byte = (panel * swizzling.lines + byte / row) * swizzling.row_bytes + byte % swizzling.row_bytes;
  }
  const int64_t row = byte / swizzling.row_bytes, part = byte % swizzling.row_bytes / kPart;
  return row * swizzling.row_bytes + (part ^ row / swizzling.rows % swizzling.parts) * kPart + byte % kPart;
}

Status check_swizzles(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                      const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (!placed.live(i) || stage.swizzled == 0) continue;
    const auto wrong = [&](const std::string& rule) {
      return blame(refuse(Swizzle::kName, rule) << describe(stage), steps, stage.swizzle_by);
    };
    if (placed.launch[i] == kNone || placed.scope[i] != Scope::kShared)
      return wrong("a stage must be in memory that threads share, which " + stage.name + " is not")
             << "set_scope(" + stage.name + ", \"shared\") inside of a launch; other memory has no banks";
    if (!stage.alignments.empty())
      return wrong("a stage must have one way around conflicts of banks, and " + stage.name + " has storage_align too");
    const int64_t row = row_bytes(stage, all.stages[i].extent);
    if (stage.swizzled != kAutoSwizzle && (row == 0 || row % stage.swizzled != 0))
      return wrong("rows must be whole multiples of " + std::to_string(stage.swizzled) + " bytes, and those of " +
                   stage.name + " have " + (row == 0 ? "no such size" : std::to_string(row)))
             << "\"auto\" takes the widest that fits, or none";
  }
  return Unit{};
}

bool has_swizzles(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).swizzled != 0) return true;
  return false;
}

}  // namespace tw::schedule
