// Floats: the exact products are added to c one after the other, k upwards, in float64; the sum is rounded once. A
// device has an order and a precision of its own, so that both agree where no sum is rounded (docs/semantics.md).

#include "src/ir/interp_warp.h"

#include "src/ir/interp_index.h"
#include "src/ir/interp_launch.h"
#include "src/ir/tf32.h"

namespace tw::ir::interp {

namespace {

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

void expect_launch(const State& s) {
  if (!s.meeting) throw Fault{ErrorKind::kInternal, "interpret: a call of a warp outside of a launch", {}};
}

void expect_inside(std::string_view name, const Memory& memory, int64_t from, int64_t count) {
  if (from + count <= memory.span()) return;
  throw Fault{ErrorKind::kInternal,
              "interpret: " + std::string(name) + " takes " + std::to_string(count) + " elements from " +
                  memory.element(from) + " on",
              {"so many are not there"}};
}

std::vector<Value> elements(std::string_view name, Memory& memory, int64_t from, int64_t count, const State& s) {
  expect_inside(name, memory, from, count);
  std::vector<Value> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(memory.load(from + i, s.tasks));
  return out;
}

void keep(const LaneCall& lane, Memory& to, const State& s) {
  for (size_t i = 0; i < lane.fragments[0].size(); ++i)
    to.store(lane.offsets[0] + static_cast<int64_t>(i), lane.fragments[0][i], s.tasks);
}

struct LoadCode final : ExprCode {
  const WarpLoad* load;
  int number, bytes;
  std::vector<Subscripts> at;

  Value eval(State& s) const override {
    expect_launch(s);
    const int row = kMatrixRowBytes / bytes;
    Memory &to = *s.memories[at[0].memory()], &from = *s.memories[at[1].memory()];
    LaneCall lane{load->name, number, nullptr, load, 4 / bytes};
    lane.offsets[0] = at[0].offset(s);
    expect_inside(load->name, to, lane.offsets[0], int64_t{load->matrices} * lane.in_word);
    const int64_t begin = at[1].offset(s);
    if (begin % row != 0)
      throw Fault{ErrorKind::kInternal,
                  "interpret: " + std::string(load->name) + " from " + from.element(begin) + " on",
                  {"a row begins at a multiple of " + std::to_string(kMatrixRowBytes) + " bytes"}};
    if (s.thread % kLanesOfWarp < load->matrices * kMatrixRows)
      lane.fragments[1] = elements(load->name, from, begin, row, s);
    s.meeting->meet(lane);
    keep(lane, to, s);
    return {};
  }
};

struct ShuffleCode final : ExprCode {
  int number;
  std::vector<Subscripts> at;
  ExprPtr lane;

  Value eval(State& s) const override {
    expect_launch(s);
    Memory &to = *s.memories[at[0].memory()], &from = *s.memories[at[1].memory()];
    LaneCall call{kShuffle, number};
    call.offsets = {at[0].offset(s), at[1].offset(s), 0};
    call.lane = lane->eval(s).i;
    if (call.lane < 0 || call.lane >= kLanesOfWarp)
      throw Fault{ErrorKind::kInternal,
                  "interpret: shfl of " + from.element(call.offsets[1]) + " of lane " + std::to_string(call.lane),
                  {"a warp has lanes 0 to " + std::to_string(kLanesOfWarp - 1)}};
    if (from.is_written(call.offsets[1])) call.fragments[1] = {from.load(call.offsets[1], s.tasks)};
    s.meeting->meet(call);
    if (call.fragments[0].empty()) to.forget(call.offsets[0]);
    keep(call, to, s);
    return {};
  }
};

struct WarpCode final : ExprCode {
  const WarpProduct* product;
  int number;
  std::vector<Subscripts> at;

  Value eval(State& s) const override {
    expect_launch(s);
    LaneCall lane{product->name, number, product};
    for (const Fragment which : kFragments) {
      const auto f = static_cast<size_t>(which);
      lane.offsets[f] = at[f].offset(s);
      lane.fragments[f] =
          elements(product->name, *s.memories[at[f].memory()], lane.offsets[f], elements_of(*product, which), s);
    }
    s.meeting->meet(lane);
    keep(lane, *s.memories[at[0].memory()], s);
    return {};
  }
};

// Each gets four bytes of each matrix, where it holds them in a product, or where it would of the transposed one.
void exchange(std::span<LaneCall* const> lanes) {
  const WarpLoad& load = *lanes[0]->load;
  const auto in_word = static_cast<size_t>(lanes[0]->in_word);
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    for (size_t matrix = 0; matrix < static_cast<size_t>(load.matrices); ++matrix)
      for (size_t i = 0; i < in_word; ++i) {
        const size_t across = lane / 4, along = lane % 4 * in_word + i;
        const size_t row = load.transposed ? along : across, column = load.transposed ? across : along;
        lanes[lane]->fragments[0].push_back(lanes[matrix * kMatrixRows + row]->fragments[1][column]);
      }
}

void shuffle(std::span<LaneCall* const> lanes) {
  for (LaneCall* lane : lanes) lane->fragments[0] = lanes[static_cast<size_t>(lane->lane)]->fragments[1];
}

// The first half of the lanes have all elements of an operand in turn, line after line.
void gather(std::span<LaneCall* const> lanes, Fragment which, int64_t line, bool terms_along_lines, Matrix& matrix) {
  const auto f = static_cast<size_t>(which);
  const size_t readers = lanes.size() / 2, elements = matrix.values.size();
  for (size_t n = 0; n < elements; ++n) {
    const int of_line = static_cast<int>(n) / static_cast<int>(line),
              in_line = static_cast<int>(n) % static_cast<int>(line);
    const bool straight = (which == Fragment::kLeft) == terms_along_lines;
    matrix.at({straight ? of_line : in_line, straight ? in_line : of_line}) =
        lanes[n % readers]->fragments[f][n / readers];
  }
}

void multiply(std::span<LaneCall* const> lanes) {
  const WarpProduct& p = *lanes[0]->product;
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
  if (p.lanes == kLanesOfWarp) {
    moved(Fragment::kLeft, a, false);
    moved(Fragment::kRight, b, false);
  } else {
    const auto [left, right] = lanes[0]->terms_along_lines;
    gather(lanes, Fragment::kLeft, left ? p.k : p.m, left, a);
    gather(lanes, Fragment::kRight, right ? p.k : p.n, right, b);
  }
  for (int row = 0; row < p.m; ++row)
    for (int column = 0; column < p.n; ++column)
      c.at({row, column}) = sum_of(p, c.at({row, column}), a, b, {row, column});
  moved(Fragment::kSum, c, true);
}

template <class Code>
ExprPtr with_addresses(Preparation& preparation, std::shared_ptr<Code> code, const CallExtern& call) {
  code->number = ++preparation.warp_calls;
  for (const Expr& arg : call.args)
    if (const auto* address = as<Address>(arg)) code->at.emplace_back(preparation, address->buffer, address->at);
  return code;
}

}  // namespace

void together(std::span<LaneCall* const> lanes) {
  for (const LaneCall* lane : lanes)
    if (lane->offsets != lanes[0]->offsets)
      throw Fault{
          ErrorKind::kInternal,
          "interpret: " + std::string(lane->name) + " of fragments that the lanes of a warp have at different places",
          {"a register has one name in an instruction of all lanes, and an operand one place"}};
  if (lanes[0]->load) return exchange(lanes);
  if (lanes[0]->lane >= 0) return shuffle(lanes);
  multiply(lanes);
}

ExprPtr warp_code(Preparation& preparation, const CallExtern& call) {
  if (const WarpLoad* load = warp_load(call.symbol)) {
    auto code = std::make_shared<LoadCode>();
    code->load = load;
    code->bytes = as<Address>(call.args[0])->buffer.element().bytes();
    return with_addresses(preparation, std::move(code), call);
  }
  if (call.symbol == kShuffle) {
    auto code = std::make_shared<ShuffleCode>();
    code->lane = preparation.expr(call.args[2]);
    return with_addresses(preparation, std::move(code), call);
  }
  auto code = std::make_shared<WarpCode>();
  code->product = warp_product(call.symbol);
  return with_addresses(preparation, std::move(code), call);
}

}  // namespace tw::ir::interp
