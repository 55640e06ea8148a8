// Automatic spaces of devices: which rules claim what, and candidates against the definition in the interpreter, which
// looks for races and for barriers that threads do not reach together.
#include <map>

#include "autotune/measure/small_sizes.h"
#include "autotune/sketch/sketch.h"
#include "src/ir/interp.h"
#include "src/support/deep_stack.h"
#include "tensorwright/ops.h"
#include "tensorwright/te_functions.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/unit/autotune_sketch_cases.h"
#include "tests/unit/device.h"

namespace tw::autotune {
namespace {

using namespace testing;
using tw::testing::CudaOnHost;

std::vector<std::string> rules(const Args& args, const Target& target = test::device()) {
  std::vector<std::string> names;
  for (const sketch::Claim& claim : sketch::partition(sketch::analyse({args.back()}, target), target))
    names.emplace_back(claim.rule->name);
  return names;
}

// By the text that is made of a program.
std::vector<Bytes> on_host(const ir::Program& lowered, std::vector<Bytes> data) {
  const codegen::CudaSource source = codegen::cuda_source({lowered}, test::device());
  std::vector<void*> at;
  for (Bytes& bytes : data) at.push_back(bytes.data());
  CudaOnHost(source).run(source.plans[0], at, nullptr);
  return data;
}

// Schedules of an expression, lowered for the device: in the interpreter, and as text.
class Definition {
 public:
  Definition(const std::vector<Tensor>& outputs, const Args& args) : naive_(te::naive_program(outputs, args)) {
    for (size_t i = 0; i < naive_.params.size(); ++i) data_.push_back(small_integers(naive_.params[i].buffer, 1 + i));
    expected_ = run_interpreted(naive_, data_);
  }

  void expect_meant(const Scheduled& s, const std::string& who) const {
    const ir::Program lowered = lowered_program(s.schedule, s.args, test::device());
    const std::vector<Bytes> got = run_interpreted(lowered, data_);
    for (size_t i = 0; i < got.size(); ++i) {
      const bool same =
          !naive_.params[i].written || same_values(naive_.params[i].buffer.element(), expected_[i], got[i]);
      EXPECT_TRUE(same) << who;
    }
    EXPECT_TRUE(on_host(lowered, data_) == got) << "the text of " << who;
  }

 private:
  const ir::Program naive_;
  std::vector<Bytes> data_, expected_;
};

class Candidates {
 public:
  explicit Candidates(const Args& args) : task_(task_of(args, test::device())), definition_(task_.outputs(), args) {}
  const Space& space() const { return task_.space(); }
  bool legal(uint64_t index) const { return task_.candidate(index).ok(); }
  std::string text(uint64_t index) const {
    const Scheduled s = task_.candidate(index).value_or_throw();
    return ir::to_string(lowered_program(s.schedule, s.args, test::device()));
  }

  void expect_right(uint64_t index) const {
    const Result<Scheduled> s = task_.candidate(index);
    ASSERT_TRUE(s.ok()) << s.error().render();
    definition_.expect_meant(*s, space().describe(index));
  }

 private:
  const Task task_;
  const Definition definition_;
};

// The first candidate of large sizes, at small ones.
Scheduled expect_right_when_small(const Args& args) {
  const Task task = task_of(args, test::device());
  uint64_t index = 0;
  while (!task.candidate(index).ok()) ++index;
  const Scheduled small = at_small_sizes(task.candidate(index).value_or_throw()).value();
  Definition({small.args.back()}, small.args).expect_meant(small, task.space().describe(index));
  return small;
}

// The first candidate and some others.
void expect_right(const Args& args, int count = 4) {
  const Candidates candidates(args);
  support::Rng rng(1);
  for (int n = 0; n < fewer(count); ++n) {
    uint64_t index = n == 0 ? 0 : rng.below(candidates.space().size());
    for (uint64_t tried = 0; !candidates.legal(index); ++tried) {
      ASSERT_LT(tried, candidates.space().size()) << "no candidate is legal";
      index = (index + 1) % candidates.space().size();
    }
    candidates.expect_right(index);
  }
}

// The first one with the knob's second value; of `parts` blocks share the terms of a product.
void expect_second(const Args& args, const std::string& suffix = ".parts") {
  const Candidates candidates(args);
  const std::vector<Knob>& knobs = candidates.space().knobs();
  const auto knob_at = std::ranges::find_if(knobs, [&](const Knob& knob) { return knob.name.ends_with(suffix); });
  ASSERT_NE(knob_at, knobs.end());
  Digits digits = candidates.space().digits(0);
  digits[static_cast<size_t>(knob_at - knobs.begin())] = 1;
  candidates.expect_right(candidates.space().index(digits));
}

// By the values of knobs, the others having their first; rows are kept by lanes, or not.
void expect_of_rows(const Args& args, int64_t threads, bool by_lanes, int64_t kept = 1) {
  const Candidates candidates(args);
  Digits digits = candidates.space().digits(0);
  const std::vector<Knob>& knobs = candidates.space().knobs();
  for (size_t n = 0; n < knobs.size(); ++n) {
    const auto set = [&](const char* suffix, int64_t value) {
      if (!knobs[n].name.ends_with(suffix)) return;
      const auto at = std::ranges::find(knobs[n].values, std::vector<int64_t>{value}, &KnobValue::numbers);
      ASSERT_NE(at, knobs[n].values.end()) << knobs[n].name;
      digits[n] = static_cast<uint32_t>(at - knobs[n].values.begin());
    };
    set(".threads", threads);
    set("X.kept", kept);
  }
  const uint64_t index = candidates.space().index(digits);
  candidates.expect_right(index);
  EXPECT_EQ(candidates.text(index).find("A.warp") != std::string::npos, by_lanes) << candidates.space().describe(index);
}

// Of which two sums and the result read each element: X = A + |R|, B = X * max X - sum X.
Args rows_that_wait(int rows, int columns, const char* type = "float32") {
  const Tensor A = te::placeholder({rows, columns}, type, "A"), R = te::placeholder({rows, columns}, "float32", "R");
  const te::IterVar k = te::reduce_axis(0, columns, "k"), m = te::reduce_axis(0, columns, "m");
  const Tensor X = te::compute(
      {rows, columns}, [&](Var i, Var j) { return te::astype(A(i, j), "float32") + te::abs(R(i, j)); }, "X");
  const Tensor S = te::compute(
                   {rows}, [&](Var i) { return te::sum(X(i, k), {k}); }, "S"),
               M = te::compute({rows}, [&](Var i) { return te::max(X(i, m), {m}); }, "M");
  return {A, R, te::compute({rows, columns}, [&](Var i, Var j) { return X(i, j) * M(i) - S(i); }, "B")};
}

Args row_sums(int rows, int terms) {
  const Tensor A = te::placeholder({rows, terms}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  return {A, te::compute({rows}, [&](Var i) { return te::sum(A(i, k), {k}); }, "S")};
}

Args column_sums(int terms, int columns, int slices = 1) {
  const Tensor A = te::placeholder({slices, terms, columns}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  return {A, te::compute({slices, columns}, [&](Var i, Var j) { return te::sum(A(i, k, j), {k}); }, "S")};
}

// Of no dimension.
Args one_sum(int terms) {
  const Tensor A = te::placeholder({terms}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  return {A, te::compute({}, [&](const std::vector<Var>&) { return te::sum(A(k), {k}); }, "S")};
}

// Of no dimension: of one element, and of what follows a sum.
Args one_element() {
  const Tensor A = te::placeholder({}, "float32", "A");
  return {A, te::compute(
                 {}, [&](const std::vector<Var>&) { return A(std::vector<Expr>{}) * A(std::vector<Expr>{}); }, "B")};
}
Args square_of_sum(int terms) {
  const Args args = one_sum(terms);
  const Tensor S = args.back();
  return {
      args[0],
      te::compute({}, [&](const std::vector<Var>&) { return S(std::vector<Expr>{}) * S(std::vector<Expr>{}); }, "B")};
}

// Of matrices, or of so many, B as rows of terms or of columns; with a bias and rounded where there is an epilogue.
struct Factors {
  const char *in = "bfloat16", *out = "float32";
  bool rows_of_terms = true, epilogue = false;
  int batch = 1;
  bool tf32 = false;
};
Args product_of(int m, int n, int terms, const Factors& f = {}) {
  const Tensor A = te::placeholder({f.batch, m, terms}, f.in, "A"), bias = te::placeholder({n}, f.out, "bias");
  const Tensor B = f.rows_of_terms ? te::placeholder({f.batch, n, terms}, f.in, "B")
                                   : te::placeholder({f.batch, terms, n}, f.in, "B");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  const auto factor = [&](const Expr& e) { return f.tf32 ? te::tf32(e) : te::astype(e, f.out); };
  const Tensor C = te::compute(
      {f.batch, m, n},
      [&](Var b, Var i, Var j) {
        return te::sum(factor(A(b, i, k)) * factor(f.rows_of_terms ? B(b, j, k) : B(b, k, j)), {k});
      },
      "C");
  if (!f.epilogue) return {A, B, C};
  const auto rounded = [&](Var b, Var i, Var j) { return te::astype(C(b, i, j) + bias(j), f.in); };
  return {A, B, bias, te::compute({f.batch, m, n}, rounded, "D")};
}

// Of one matrix: A * A, or one of the factors turned. Of what is computed from it where it is `made`.
Args square_of(int size, const Factors& f = {}, bool left_turned = false, bool made = false) {
  const Tensor A = te::placeholder({size, size}, f.in, "A"), R = te::placeholder({size, size}, f.in, "R");
  const Tensor X = made ? te::compute({size, size}, [&](Var i, Var j) { return A(i, j) + R(i, j); }, "X") : A;
  const te::IterVar k = te::reduce_axis(0, size, "k");
  const auto factor = [&](const Expr& e) { return f.tf32 ? te::tf32(e) : te::astype(e, f.out); };
  const auto sum = [&](Var i, Var j) {
    return te::sum(factor(left_turned ? X(k, i) : X(i, k)) * factor(f.rows_of_terms ? X(j, k) : X(k, j)), {k});
  };
  const Tensor C = te::compute({size, size}, sum, "C");
  return made ? Args{A, R, C} : Args{A, C};
}

// 16 columns of an image, 16 channels to 8, by windows of 2 x 2.
Args convolution_of_halves() {
  const Tensor D = te::placeholder({1, 3, 17, 16}, "float16", "D"), W = te::placeholder({2, 2, 16, 8}, "float16", "W");
  const te::IterVar r = te::reduce_axis(0, 2, "r"), s = te::reduce_axis(0, 2, "s"), q = te::reduce_axis(0, 16, "q");
  const auto sum = [&](Var n, Var y, Var x, Var c) {
    const Expr row = Expr(y) + Expr(r), column = Expr(x) + Expr(s);
    return te::sum(te::astype(D(n, row, column, q), "float32") * te::astype(W(r, s, q, c), "float32"), {r, s, q});
  };
  return {D, W, te::compute({1, 2, 16, 8}, sum, "C")};
}

// Padded, of 3 x 3; with a bias where there is an epilogue.
Args padded_convolution(int size, int in, int out, int64_t stride = 1, bool epilogue = false) {
  const Tensor D = te::placeholder({2, size, size, in}, "float16", "D"),
               W = te::placeholder({3, 3, in, out}, "float16");
  te::ops::ConvOptions options{.stride = {stride}, .padding = {1}, .out_dtype = "float32"};
  if (!epilogue) return {D, W, te::ops::conv2d(D, W, options)};
  options.bias = te::placeholder({out}, "float32", "bias");
  return {D, W, options.bias, te::ops::conv2d(D, W, options)};
}

// Rows of images lie side by side, and a window slides along them; padded.
Args convolution_of_planes(int in, int out, int size, int kernel, int64_t stride = 1) {
  const Tensor D = te::placeholder({1, in, size, size}, "float32", "D"),
               W = te::placeholder({out, in, kernel, kernel}, "float32", "W");
  return {D, W, te::ops::conv2d(D, W, {.stride = {stride}, .padding = {kernel / 2}, .layout = "NCHW"})};
}

// The same of halves, rounded to them where there is an epilogue.
struct Planes {
  int batch = 1, in = 16, out = 16, height = 9, width = 9, kernel = 3;
  int64_t stride = 1, groups = 1;
  bool epilogue = false;
  const char* type = "float16";
};
Args halves_of_planes(const Planes& p) {
  const std::string out = p.type == std::string("int8") ? "int32" : "float32";
  const Tensor D = te::placeholder({p.batch, p.in, p.height, p.width}, p.type, "D"),
               W = te::placeholder({p.out, p.in / static_cast<int>(p.groups), p.kernel, p.kernel}, p.type, "W"),
               R = te::placeholder({p.out}, out, "R");
  const Tensor C = te::ops::conv2d(
      D, W, {.stride = {p.stride}, .padding = {p.kernel / 2}, .groups = p.groups, .layout = "NCHW", .out_dtype = out});
  if (!p.epilogue) return {D, W, C};
  const auto rounded = [&](const std::vector<Var>& at) {
    return te::astype(te::max(C(at[0], at[1], at[2], at[3]) + R(at[1]), te::constant(0, out)), p.type);
  };
  return {D, W, R, te::compute(C.shape(), rounded, "E")};
}

// C[h, j] = sum over r of Q[h, r] * K[h // group, j, r]: heads of a group share keys.
Args scores_of_groups(int heads, int group, int keys, int size) {
  const Tensor Q = te::placeholder({heads, size}, "float16", "Q"),
               K = te::placeholder({heads / group, keys, size}, "float16", "K");
  const te::IterVar r = te::reduce_axis(0, size, "r");
  const auto sum = [&](Var h, Var j) {
    const Expr key = K(ir::floordiv(h, group), Expr(j), Expr(r));
    return te::sum(te::astype(Q(Expr(h), Expr(r)), "float32") * te::astype(key, "float32"), {r});
  };
  return {Q, K, te::compute({heads, keys}, sum, "C")};
}

Args soft_rows(int rows, int columns) {
  const Tensor A = te::placeholder({rows, columns}, "float32", "A");
  return {A, te::ops::softmax(A)};
}

// B[b, j, i] = A[b, i, j] + other elements of the same place, in some type.
Args transposed(int rows, int columns, int batch = 1, const char* type = "float32") {
  const Tensor A = te::placeholder({batch, rows, columns}, type, "A"), D = te::placeholder({columns, rows}, type, "D");
  return {A, D, te::compute({batch, columns, rows}, [&](Var b, Var i, Var j) { return A(b, j, i) + D(i, j); }, "B")};
}

// B[i, j] = A[i, j] - S[j] of the sums of columns, or of those of rows, A[j, i] - S[j] of another row's.
Args minus_sums(int rows, int columns, bool of_columns, bool turned = false) {
  const Tensor A = te::placeholder({rows, columns}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, of_columns ? rows : columns, "k");
  const Tensor S = te::compute(
      {of_columns ? columns : rows}, [&](Var i) { return te::sum(of_columns ? A(k, i) : A(i, k), {k}); }, "S");
  const auto minus = [&](Var i, Var j) { return (turned ? A(j, i) : A(i, j)) - S(of_columns || turned ? j : i); };
  return {A, te::compute(turned ? std::vector<Expr>{columns, rows} : std::vector<Expr>{rows, columns}, minus, "B")};
}

TEST(SketchDevice, RulesClaimWhatTheyAreFor) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(rules(matmul(64, 64, 64)), Names{"device_contraction"});
  EXPECT_EQ(rules(dense(64, 64, 64)), Names{"device_contraction"});
  EXPECT_EQ(rules(product_of(64, 64, 64)), Names{"device_groups"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {"int8", "int32"})), Names{"device_groups"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {.rows_of_terms = false})), Names{"device_groups"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {"int8", "int32", false})), Names{"device_warps"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {.epilogue = true})), Names{"device_groups"});
  EXPECT_EQ(rules(product_of(48, 64, 64)), Names{"device_warps"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {.in = "float32", .tf32 = true})), Names{"device_groups"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {.in = "float32", .rows_of_terms = false, .tf32 = true})),
            Names{"device_warps"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {.in = "float32", .rows_of_terms = false, .epilogue = true, .tf32 = true})),
            Names{"device_warps"});
  EXPECT_EQ(rules(product_of(64, 64, 64, {"float32", "float32"})), Names{"device_contraction"});
  const Target others = Target::parse("cuda -arch=sm_100").value_or_throw();
  EXPECT_EQ(rules(product_of(64, 64, 64), others), Names{"device_warps"});
  EXPECT_EQ(rules(product_of(65, 60, 25)), Names{"device_warps"});
  EXPECT_EQ(rules(product_of(64, 64, 5)), Names{"device_contraction"});
  EXPECT_EQ(rules(convolution_of_halves()), Names{"device_warps"});
  EXPECT_EQ(rules(soft_rows(200, 8192)), Names{"device_rows"});
  const Names few = rules(soft_rows(5, 8192));  // sums whose terms blocks share
  EXPECT_EQ(std::ranges::count(few, "device_reduction"), 2);
  EXPECT_EQ(std::ranges::count(few, "device_rows"), 0);
  EXPECT_EQ(rules(padded_convolution(9, 16, 8)), Names{"device_warps"});
  EXPECT_EQ(rules(minus_sums(64, 64, false)), Names{"device_rows"});
  const Names of_columns{"device_columns", "device_pointwise"};  // of as many columns as there are rows too
  EXPECT_EQ(rules(minus_sums(64, 60, true)), of_columns);
  EXPECT_EQ(rules(minus_sums(64, 64, true)), of_columns);
  EXPECT_EQ(rules(minus_sums(64, 64, false, true)), rules(minus_sums(64, 60, false, true)));
  EXPECT_EQ(rules(row_sums(64, 64)), Names{"device_reduction"});
  EXPECT_EQ(rules(row_sums(64, 16)), Names{"device_pointwise"});
  EXPECT_EQ(rules(one_sum(7)), Names{"device_reduction"});
  EXPECT_EQ(rules(one_element()), Names{"device_pointwise"});
  EXPECT_EQ(rules(square_of_sum(7)), Names{"device_reduction"});
  EXPECT_EQ(rules(column_sums(64, 64)), Names{"device_columns"});
  EXPECT_EQ(rules(column_sums(16, 64)), Names{"device_pointwise"});
  EXPECT_EQ(rules(column_sums(64, 1 << 18)), Names{"device_pointwise"});
  EXPECT_EQ(rules(transposed(64, 40)), Names{"device_transposed"});
  EXPECT_EQ(rules(transposed(64, 9)), Names{"device_pointwise"});
  EXPECT_EQ(rules(transposed(16, 1 << 22)), Names{"device_transposed"});
  EXPECT_EQ(rules(transposed(1 << 22, 16)), Names{"device_transposed"});  // more blocks than there may be along y
  EXPECT_EQ(rules(transposed(16, 16, 1 << 17)), Names{"device_transposed"});
}

TEST(SketchDevice, Transposes) {
  expect_right(transposed(64, 40), 3);
  expect_right(transposed(33, 70, 2), 3);
  expect_right(transposed(48, 64, 1, "float16"), 3);
  expect_right(transposed(65, 32, 1, "int8"), 2);
  const Tensor A = te::placeholder({40, 40}, "float32", "A"), D = te::placeholder({40, 40}, "float32", "D");
  const auto all = [&](Var i, Var j) { return (A(j, i) + D(j, i)) * A(j, i); };
  expect_right({A, D, te::compute({40, 40}, all, "B")}, 2);
  expect_right({A, te::compute({40, 40}, [&](Var i, Var j) { return A(j, i) + A(i, j); }, "B")}, 2);
}

// Tiles that reach past the end, of rows that are multiples of 16 bytes, and of others.
TEST(SketchDevice, ProductsThatNoTileDivides) {
  expect_right(product_of(65, 40, 72), 2);
  expect_right(product_of(33, 70, 47, {.rows_of_terms = false, .epilogue = true}), 2);
  expect_right(product_of(9, 5, 17, {"int8", "int32"}), 2);
  EXPECT_EQ(rules(product_of(120, 24, 80)), std::vector<std::string>{"device_groups"});
  expect_right(product_of(120, 24, 80), 2);
  expect_right(product_of(120, 40, 72, {.rows_of_terms = false}), 2);
}

// Zeros of the padding and past the end, of two rows of an image and more at once.
TEST(SketchDevice, PaddedConvolutionsOfTensorCores) {
  expect_right(padded_convolution(9, 16, 8), 2);
  expect_right(padded_convolution(14, 24, 20, 1, true), 2);
  expect_right(padded_convolution(11, 9, 7, 2), 2);
}

// Channels lie side by side for tensor cores, by launches of their own where windows slide along rows; in groups too.
TEST(SketchDevice, PlanesOfTensorCores) {
  const std::vector<std::string> planes{"device_planes"};
  EXPECT_EQ(rules(halves_of_planes({})), planes);
  EXPECT_EQ(rules(halves_of_planes({.in = 64, .out = 64, .groups = 4})), planes);
  EXPECT_EQ(rules(halves_of_planes({.in = 3})), std::vector<std::string>{"device_contraction"});
  EXPECT_EQ(rules(halves_of_planes({.in = 64, .out = 64, .groups = 64})), std::vector<std::string>{"device_pointwise"});
  expect_right(halves_of_planes({}), 3);
  expect_right(halves_of_planes({.batch = 2, .in = 24, .out = 20, .height = 7, .width = 14, .epilogue = true}), 3);
  expect_right(halves_of_planes({.in = 9, .out = 33, .height = 5, .width = 11, .stride = 2}), 2);
  expect_right(halves_of_planes({.batch = 2, .in = 32, .out = 24, .height = 3, .width = 16, .kernel = 1}), 3);
  expect_right(halves_of_planes({.in = 17, .out = 16, .height = 4, .width = 10, .kernel = 1, .epilogue = true}), 2);
  expect_right(halves_of_planes({.in = 32, .out = 64, .height = 6, .width = 8, .groups = 2}), 3);
  expect_right(halves_of_planes({.in = 40, .out = 32, .height = 5, .width = 9, .groups = 2, .epilogue = true}), 3);
  expect_right(halves_of_planes({.in = 32, .out = 16, .height = 4, .width = 9, .type = "int8"}), 2);
  expect_second(halves_of_planes({.in = 128, .out = 16, .height = 4, .width = 9}));
  expect_second(halves_of_planes({.in = 128, .out = 16, .height = 4, .width = 9, .epilogue = true}));
}

// A product of a warp has rows of one group.
TEST(SketchDevice, HeadsThatShareKeys) {
  EXPECT_EQ(rules(scores_of_groups(32, 16, 40, 32)), std::vector<std::string>{"device_warps"});
  EXPECT_EQ(rules(scores_of_groups(32, 4, 40, 32)), std::vector<std::string>{"device_contraction"});
  EXPECT_EQ(rules(scores_of_groups(128, 64, 64, 64)), std::vector<std::string>{"device_groups"});
  expect_right(scores_of_groups(32, 16, 40, 32), 2);
  expect_right(scores_of_groups(32, 4, 40, 32), 2);
  expect_right(scores_of_groups(24, 8, 20, 18), 2);
  expect_right(scores_of_groups(128, 64, 64, 64), 2);
}

TEST(SketchDevice, RowsInRegisters) {
  expect_of_rows(rows_that_wait(9, 256), 32, true);
  expect_of_rows(rows_that_wait(9, 256), 64, true);
  expect_of_rows(rows_that_wait(3, 1024), 256, true);
  expect_of_rows(rows_that_wait(3, 1024, "bfloat16"), 128, true, 0);
  expect_of_rows(rows_that_wait(5, 96, "float16"), 32, true);
  expect_of_rows(rows_that_wait(5, 100), 32, false);
}

// A knob that says nothing of rows in registers is none that all have; what has too few registers is no other schedule.
TEST(SketchDevice, NoTwoCandidatesOfRowsAreOneSchedule) {
  for (const auto& [columns, type] : {std::pair(1024, "float32"), std::pair(1024, "bfloat16"),
                                      std::pair(1728, "float32"), std::pair(32768, "bfloat16")}) {
    const Task task = task_of(rows_that_wait(4, columns, type), test::device());
    ASSERT_TRUE(task.candidate(0).ok()) << columns;
    std::map<std::string, uint64_t> seen;
    const auto judge = [&](uint64_t index) {
      const Result<Scheduled> s = task.applied(index);  // whether it is legal takes longer, and only pairs are asked
      if (!s.ok()) return;
      const auto [first, is_new] = seen.emplace(schedule::to_json(s->schedule.steps()), index);
      EXPECT_TRUE(is_new || !task.candidate(index).ok())
          << task.space().describe(first->second) << " and " << task.space().describe(index);
    };
    support::on_deep_stack([&] {  // one for all
      for (uint64_t index = 0; index < task.space().size(); ++index) judge(index);
    });
  }
}

TEST(SketchDevice, Columns) {
  expect_right(column_sums(64, 64));
  expect_right(column_sums(37, 45));
  expect_right(column_sums(1000, 5), 6);  // by several blocks
  expect_right(column_sums(517, 19, 3), 6);
  expect_right(row_sums(3, 20000), 3);
  expect_right(one_sum(9001), 3);
  expect_right(square_of_sum(9001), 4);
  expect_right(square_of_sum(0), 1);
  expect_right(one_element(), 1);
}

// S[t, b, j] of the state before at the same place, at the place before, or of all j by a sum.
enum class Before : uint8_t { kInPlace, kBeside, kSum };
Args scan_of(int times, int rows, int columns, Before before) {
  const Tensor X = te::placeholder({times, rows, columns}, "int32", "X");
  const Tensor state = te::placeholder({times, rows, columns}, "int32", "state");
  const Tensor first = te::compute({1, rows, columns}, [&](Var, Var b, Var j) { return X(0, b, j); }, "first");
  const te::IterVar k = te::reduce_axis(0, columns, "k");
  const Tensor sums = te::compute(
      {times, rows, columns},
      [&](Var t, Var b, Var j) { return te::sum(state(Expr(t) - 1, b, k.var) * X(t, b, j), {k}); }, "sums");
  const auto next = [&](Var t, Var b, Var j) {
    if (before == Before::kSum) return sums(t, b, j) + X(t, b, j);
    return state(Expr(t) - 1, b, before == Before::kBeside ? te::max(Expr(j) - 1, Expr(0)) : Expr(j)) + X(t, b, j);
  };
  return {X, te::scan({first}, {te::compute({times, rows, columns}, next, "next")}, {state}, "S")[0]};
}

// S[t, b, j] of two gates, each a sum over the states before by rows of weights, as recurrent layers have them.
Args recurrent(int times, int rows, int columns) {
  const Tensor X = te::placeholder({times, rows, columns}, "int32", "X"),
               W = te::placeholder({2 * columns, columns}, "int32", "W"),
               state = te::placeholder({times, rows, columns}, "int32", "state");
  const Tensor first = te::compute({1, rows, columns}, [&](Var, Var b, Var j) { return X(0, b, j); }, "first");
  const te::IterVar k = te::reduce_axis(0, columns, "k");
  const auto sum = [&](const std::vector<Var>& at) {
    const Expr row = Expr(at[2]) * columns + Expr(at[3]);
    return te::sum(state(Expr(at[0]) - 1, at[1], k.var) * W(row, k), {k});
  };
  const Tensor gates = te::compute({times, rows, 2, columns}, sum, "gates");
  const auto next = [&](Var t, Var b, Var j) { return gates(t, b, 0, j) - te::max(gates(t, b, 1, j), X(t, b, j)); };
  return {X, W, te::scan({first}, {te::compute({times, rows, columns}, next, "next")}, {state}, "S")[0]};
}

// Of tuples blocks share the terms too: where the least is, which of equal ones the first.
// Terms along several axes, of channels that lie side by side.
TEST(SketchDevice, ColumnsOfSeveralAxes) {
  const auto statistics = [](int n, int y, int x, int channels, const char* type) {
    const Tensor A = te::placeholder({n, y, x, channels}, type, "A");
    const te::IterVar r = te::reduce_axis(0, n, "n"), s = te::reduce_axis(0, y, "y"), t = te::reduce_axis(0, x, "x");
    const auto sum = [&](Var c) { return te::sum(te::astype(A(r, s, t, Expr(c)), "float32"), {r, s, t}); };
    return Args{A, te::compute({channels}, sum, "S")};
  };
  EXPECT_EQ(rules(statistics(4, 7, 7, 64, "float32")), std::vector<std::string>{"device_columns"});
  EXPECT_EQ(rules(statistics(1, 7, 7, 64, "float32")), std::vector<std::string>{"device_pointwise"});
  expect_right(statistics(4, 7, 7, 64, "float32"), 4);
  expect_right(statistics(5, 33, 3, 30, "float32"), 4);
  expect_right(statistics(3, 5, 17, 40, "float16"), 4);
  expect_second(statistics(3, 40, 8, 24, "float32"));
}

TEST(SketchDevice, TuplesWhoseTermsBlocksShare) {
  const auto least = [](std::vector<Expr> shape, int64_t axis) {
    const Tensor A = te::placeholder(std::move(shape), "float32", "A");
    return Args{A, te::ops::argmin(A, {.axis = axis})};
  };
  for (const Args& args : {least({20'000}, 0), least({3, 20'000}, 1), least({1000, 5}, 0)}) {
    EXPECT_NE(Candidates(args).text(0).find(".rf"), std::string::npos);
    expect_right(args, 3);
  }
}

// What is read along the terms and elsewhere too is read where it lies: a thread would keep all between both.
TEST(SketchDevice, SumsOfWhatIsReadInTwoWays) {
  for (const int n : {48, 512}) {
    const Tensor A = te::placeholder({n, n}, "float32", "A"), P = te::placeholder({n}, "float32", "P");
    const te::IterVar k = te::reduce_axis(0, n, "k");
    const auto larger = [](const Expr& a, const Expr& b) { return te::astype(a > b, "float32"); };
    const Args ranks = {A,
                        te::compute({n, n}, [&](Var i, Var j) { return te::sum(larger(A(i, k), A(i, j)), {k}); }, "R")};
    const Args all_pairs = {P, te::compute({n}, [&](Var i) { return te::sum(larger(P(i), P(k)), {k}); }, "R")};
    const Args planes = {A,
                         te::compute({n - 1}, [&](Var i) { return te::sum(A(i, k) * A(Expr(i) + 1, k), {k}); }, "R")};
    for (const Args* args : {&ranks, &all_pairs, &planes}) {
      if (n < 64) expect_right(*args, 3);
      const std::string text = to_string(default_schedule({args->back()}, test::device()));
      EXPECT_EQ(text.find("A.local") != std::string::npos, args == &planes) << text;
      EXPECT_EQ(text.find("P.local"), std::string::npos) << text;
    }
  }
}

TEST(SketchDevice, Scans) {
  using Names = std::vector<std::string>;
  for (const Before before : {Before::kInPlace, Before::kBeside, Before::kSum}) {
    const Args args = scan_of(5, 3, 40, before);
    EXPECT_EQ(rules(args), Names{"device_scan"});
    expect_right(args, 4);
    const std::string text = Candidates(args).text(0);
    EXPECT_EQ(text.find("shared") != std::string::npos, before == Before::kSum) << text;
    EXPECT_EQ(text.find("0..3 blockIdx.x") != std::string::npos, before == Before::kSum) << text;
    EXPECT_EQ(text.find("0..4 blockIdx.x") != std::string::npos, before == Before::kInPlace) << text;
  }
  const std::string text = Candidates(recurrent(3, 2, 40)).text(0);
  EXPECT_NE(text.find("0..2 blockIdx.x"), std::string::npos) << text;
  EXPECT_NE(text.find("threadIdx.y"), std::string::npos) << text;
  expect_right(recurrent(3, 2, 40), 4);
  expect_right(recurrent(4, 1, 33), 2);
  expect_right(scan_of(4, 1, 1, Before::kInPlace), 1);
  expect_right(scan_of(3, 40, 70, Before::kSum), 3);
}

// Two of which share a byte.
TEST(SketchDevice, IntegersOfFourBitsAreStoredByWholeBytes) {
  const Tensor A = te::placeholder({3, 5}, "float32", "A");
  const Task task = task_of(
      {A, te::compute({3, 5}, [&](Var i, Var j) { return te::astype(A(i, j), "uint4"); }, "B")}, test::device());
  for (uint64_t i = 0; i < task.space().size(); ++i) {
    const Result<Scheduled> candidate = task.candidate(i);
    ASSERT_TRUE(candidate.ok()) << candidate.error().render();
    EXPECT_TRUE(schedule::to_ir(candidate->schedule, candidate->args).ok());
  }
}

TEST(SketchDevice, Products) {
  expect_right(matmul(32, 32, 16));
  expect_right(matmul(33, 17, 19));
  expect_right(matmul(20, 24, 100), 3);
  expect_right(matmul(17, 33, 8, true));
  expect_right(batch_matmul(2, 16, 24, 9));
  expect_right(matmul(64, 66, 20), 5);
  expect_right(matmul(65, 64, 24, true), 5);
}

TEST(SketchDevice, ProductsWithAnEpilogue) { expect_right(dense(20, 33, 12)); }

TEST(SketchDevice, ProductsOfTensorCores) {
  expect_right(product_of(64, 32, 64));
  expect_right(product_of(64, 64, 128, {"float16", "float32", false}), 2);
  expect_right(product_of(128, 16, 64, {"int8", "int32"}), 2);
  expect_right(product_of(64, 24, 64, {.in = "float32", .tf32 = true}), 2);
  expect_right(product_of(48, 32, 64));
  expect_right(product_of(32, 64, 32, {"float16", "float32", false}));
  expect_right(product_of(32, 24, 64, {"int8", "int32"}));
  expect_right(product_of(32, 32, 64, {"int8", "int32", false}), 2);
  expect_right(product_of(16, 32, 32, {.batch = 3}), 2);
  expect_right(product_of(64, 64, 32, {.epilogue = true}));
  expect_right(product_of(32, 16, 32, {.rows_of_terms = false, .epilogue = true, .batch = 2}), 2);
  expect_right(convolution_of_halves());
}

// Each factor has tiles of its own in shared memory, small ones of large matrices too.
TEST(SketchDevice, ProductsOfOneMatrix) {
  constexpr Factors kLies{.rows_of_terms = false};
  expect_right(square_of(64), 2);
  expect_right(square_of(64, kLies, true), 2);
  expect_right(square_of(40, kLies), 2);
  expect_right(square_of(64, {.in = "float32", .tf32 = true}), 2);
  expect_right(square_of(48, {"float32", "float32"}), 3);
  expect_right(square_of(33, {"float32", "float32", false}), 2);
  expect_right(square_of(64, {}, false, true), 2);
  expect_second(square_of(264));
  expect_right_when_small(square_of(2048, {.in = "float32", .rows_of_terms = false, .tf32 = true}, true));
  for (const char* type : {"bfloat16", "float32", "float64", "int8"}) {
    const std::string in = type, out = in == "int8" ? "int32" : in == "bfloat16" ? "float32" : in;
    for (const bool turned : {false, true})
      for (const bool rows : {false, true}) {
        const Args args = square_of(1024, {in.c_str(), out.c_str(), rows}, turned);
        const schedule::Schedule s = default_schedule({args.back()}, test::device());
        EXPECT_TRUE(schedule::to_ir(s, args, "kernel").ok()) << type << turned << rows;
        EXPECT_NE(to_string(s).find("A.shared_1"), std::string::npos) << to_string(s);
      }
  }
}

// Of sums of two products each read has tiles of its own, of one tensor as of two.
TEST(SketchDevice, SumsOfTwoProducts) {
  const auto sums = [](int n, int terms, bool symmetric) {
    const Tensor A = te::placeholder({n, terms}, "float32", "A"), D = te::placeholder({n, terms}, "float32", "D");
    const std::vector<Expr> across = symmetric ? A.shape() : std::vector<Expr>{terms, n};
    const Tensor B = te::placeholder(across, "float32", "B"), E = te::placeholder(across, "float32", "E");
    const te::IterVar k = te::reduce_axis(0, terms, "k");
    const auto term = [&](Var i, Var j) {
      return symmetric ? A(i, k) * B(j, k) + B(i, k) * A(j, k) : A(i, k) * B(k, j) - D(i, k) * E(k, j);
    };
    const Tensor C = te::compute({n, n}, [&](Var i, Var j) { return te::sum(term(i, j), {k}); }, "C");
    return symmetric ? Args{A, B, C} : Args{A, B, D, E, C};
  };
  for (const bool symmetric : {true, false}) {
    EXPECT_EQ(rules(sums(64, 64, symmetric)), std::vector<std::string>{"device_contraction"});
    expect_right(sums(40, 24, symmetric), 2);
    expect_second(sums(16, 264, symmetric));
    const std::string text = to_string(default_schedule({sums(1024, 1024, symmetric).back()}, test::device()));
    for (const char* copy : symmetric ? std::array{"A.shared:", "A.shared_1", "B.shared_1"}
                                      : std::array{"A.shared:", "D.shared", "E.shared"})
      EXPECT_NE(text.find(copy), std::string::npos) << text;
  }
}

// What has no part that can be told apart is not shared: a sum under a condition.
TEST(SketchDevice, ProductsOfOneMatrixUnderACondition) {
  const Tensor A = te::placeholder({40, 40}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 40, "k");
  const auto sum = [&](Var i, Var j) { return te::sum(A(i, k) * A(j, k), {k}, Expr(k) < Expr(i)); };
  expect_right({A, te::compute({40, 40}, sum, "C")}, 2);
}

// Even parts and a shorter last one, by four warps, by one and by threads, with an epilogue behind the last launch.
TEST(SketchDevice, ProductsWhoseTermsBlocksShare) {
  expect_second(product_of(64, 64, 512));
  expect_second(product_of(64, 16, 1000));
  expect_second(product_of(20, 12, 261, {.rows_of_terms = false, .epilogue = true}));
  expect_second(product_of(16, 8, 512, {"int8", "int32"}));
  expect_second(matmul(16, 20, 256));
  expect_second(matmul(16, 20, 263));
  expect_second(dense(9, 13, 256));
}

TEST(SketchDevice, ProductsThatAreFollowed) {
  expect_right(product_of(128, 64, 128, {.epilogue = true}), 3);
  expect_second(product_of(128, 64, 128, {.epilogue = true}), ".staged");
  expect_right(product_of(72, 40, 64, {.epilogue = true, .batch = 2}), 2);
}

// Rounded before the product begins, and B turned on that way.
TEST(SketchDevice, FactorsThatAreTurned) {
  const Factors lies{.in = "float32", .rows_of_terms = false, .tf32 = true};
  const std::string small = to_string(expect_right_when_small(product_of(2048, 1024, 512, lies)).schedule);
  EXPECT_NE(small.find("A.global"), std::string::npos) << small;
  EXPECT_NE(small.find("B.global"), std::string::npos) << small;
}

TEST(SketchDevice, ProductsWithAProducer) { expect_second(product_of(128, 64, 256), ".producer"); }

TEST(SketchDevice, Convolutions) {
  expect_right(convolution({.size = 6, .in = 5, .out = 17, .kernel = 3, .pad = 1}), 2);
  expect_right(convolution({.size = 7, .in = 4, .out = 16, .kernel = 1, .stride = 2}), 2);
  expect_right(convolution_of_planes(5, 17, 9, 3), 3);
  expect_right(convolution_of_planes(3, 16, 20, 5, 2), 2);
}

// Of channels that lie side by side: with padding and without, of 16-bit and wider elements, along one axis and two.
TEST(SketchDevice, WindowsOfChannels) {
  const auto depthwise = [](const char* type, int64_t size, int64_t stride, int64_t padding, const char* out) {
    const Tensor D = te::placeholder({2, size, size, 16}, type, "D"), W = te::placeholder({3, 3, 16, 1}, type, "W");
    const te::ops::ConvOptions options{.stride = {stride}, .padding = {padding}, .out_dtype = out};
    return Args{D, W, te::ops::depthwise_conv2d(D, W, options)};
  };
  expect_right(depthwise("float16", 8, 1, 1, "float16"), 3);
  expect_right(depthwise("float32", 7, 1, 1, "float32"), 3);
  expect_right(depthwise("float32", 9, 2, 1, "float32"), 2);
  expect_right(depthwise("float32", 8, 1, 0, "float32"), 2);
  const Tensor A = te::placeholder({3, 10, 8}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 3, "k");
  const auto largest = [&](Var n, Var x, Var c) { return te::max(A(n, Expr(x) + Expr(k), c), {k}); };
  expect_right({A, te::compute({3, 8, 8}, largest, "B")}, 3);
}

TEST(SketchDevice, RowsAndElements) {
  expect_right(row_sums(5, 77));
  expect_right(row_sums(3, 12));
  expect_right(one_sum(7), 2);
  expect_right(one_sum(1), 1);
  const Tensor A = te::placeholder({9, 70}, "float32", "A");
  expect_right({A, te::compute({9, 70}, [&](Var i, Var j) { return A(i, j) * A(i, j); }, "B")});
  expect_right({A, te::compute({70, 9}, [&](Var i, Var j) { return A(j, i); }, "B")});
  const te::IterVar i = te::reduce_axis(0, 9, "i"), k = te::reduce_axis(0, 70, "k");
  expect_right({A, te::compute({1}, [&](Var) { return te::sum(A(i, k), {i, k}); }, "S")});
}

}  // namespace
}  // namespace tw::autotune
