// Floats: the exact products are added to c one after the other, k upwards, in float64; the sum is rounded once. A
// device has an order and a precision of its own, so that both agree where no sum is rounded (docs/semantics.md).

#include "src/ir/interp_warp.h"

#include <bit>

#include "src/ir/interp_launch.h"

namespace tw::ir::interp {

namespace {

// To 11 bits, ties away from zero, as cvt.rna does; a NaN stays one.
float to_tf32(float x) {
  constexpr uint32_t kHalf = 0x1000, kKept = 0xffffe000, kInfinity = 0x7f800000;
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & kInfinity) == kInfinity ? x : std::bit_cast<float>((bits + kHalf) & kKept);
}

// Matrices, row after row.
struct Matrix {
  std::vector<Value> values;
  int columns;
  Value& at(const MatrixPlace<int>& place) {
    return values[static_cast<size_t>(place.row) * static_cast<size_t>(columns) + static_cast<size_t>(place.column)];
  }
};

Value sum_of(const WarpProduct& p, Value c, Matrix& a, Matrix& b, const MatrixPlace<int>& at) {
  Value out{};
  if (!p.sum.is_float()) {
    auto sum = static_cast<uint32_t>(c.i);
    for (int k = 0; k < p.k; ++k) sum += static_cast<uint32_t>(a.at({at.row, k}).i * b.at({k, at.column}).i);
    out.i = static_cast<int32_t>(sum);
    return out;
  }
  const bool rounds = p.operand.bits == 32;
  double sum = c.f;
  for (int k = 0; k < p.k; ++k) {
    const float x = a.at({at.row, k}).f, y = b.at({k, at.column}).f;
    sum += rounds ? static_cast<double>(to_tf32(x)) * to_tf32(y) : static_cast<double>(x) * y;
  }
  out.f = static_cast<float>(sum);
  return out;
}

struct WarpCode final : ExprCode {
  const WarpProduct* product;
  int number;
  std::vector<Subscripts> at;

  Value eval(State& s) const override {
    if (!s.meeting) throw Fault{ErrorKind::kInternal, "interpret: a product of a warp outside of a launch", {}};
    LaneProduct lane{product, number, {}, {}};
    for (const Fragment which : kFragments) {
      const auto f = static_cast<size_t>(which);
      const int count = elements_of(*product, which);
      Memory& memory = *s.memories[at[f].memory()];
      lane.offsets[f] = at[f].offset(s);
      if (lane.offsets[f] + count > memory.span())
        throw Fault{ErrorKind::kInternal,
                    "interpret: " + std::string(product->name) + " takes " + std::to_string(count) + " elements from " +
                        memory.element(lane.offsets[f]) + " on",
                    {"so many are not there"}};
      for (int i = 0; i < count; ++i) lane.fragments[f].push_back(memory.load(lane.offsets[f] + i, s.tasks));
    }
    s.meeting->multiply(lane);
    Memory& sums = *s.memories[at[0].memory()];
    for (size_t i = 0; i < lane.fragments[0].size(); ++i)
      sums.store(lane.offsets[0] + static_cast<int64_t>(i), lane.fragments[0][i], s.tasks);
    return {};
  }
};

}  // namespace

void multiply(std::span<LaneProduct* const> lanes) {
  const WarpProduct& p = *lanes[0]->product;
  for (const LaneProduct* lane : lanes)
    if (lane->offsets != lanes[0]->offsets)
      throw Fault{
          ErrorKind::kInternal,
          "interpret: " + std::string(p.name) + " of fragments that the lanes of a warp have at different places",
          {"a register has one name in an instruction of all lanes"}};
  const auto moved = [&](Fragment which, Matrix& matrix, bool back) {
    const LaneMap map = lane_map(p, which);
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      std::vector<Value>& held = lanes[lane]->fragments[static_cast<size_t>(which)];
      for (size_t i = 0; i < held.size(); ++i) {
        Value& there = matrix.at(place_of(map, static_cast<int>(lane), static_cast<int>(i)));
        (back ? held[i] : there) = back ? there : held[i];
      }
    }
  };
  const auto matrix = [](int rows, int columns) {
    return Matrix{std::vector<Value>(static_cast<size_t>(rows) * static_cast<size_t>(columns)), columns};
  };
  Matrix c = matrix(p.m, p.n), a = matrix(p.m, p.k), b = matrix(p.k, p.n);
  moved(Fragment::kSum, c, false);
  moved(Fragment::kLeft, a, false);
  moved(Fragment::kRight, b, false);
  for (int row = 0; row < p.m; ++row)
    for (int column = 0; column < p.n; ++column)
      c.at({row, column}) = sum_of(p, c.at({row, column}), a, b, {row, column});
  moved(Fragment::kSum, c, true);
}

ExprPtr warp_code(Preparation& preparation, const WarpProduct& product, const CallExtern& call) {
  auto code = std::make_shared<WarpCode>();
  code->product = &product;
  code->number = ++preparation.products;
  for (const Expr& arg : call.args) {
    const auto& address = *as<Address>(arg);
    code->at.emplace_back(preparation, address.buffer, address.at);
  }
  return code;
}

}  // namespace tw::ir::interp
