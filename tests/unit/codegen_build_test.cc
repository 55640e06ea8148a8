// From te to a function: the whole way, with and without a schedule of the user's.
#include <random>
#include <regex>
#include <sstream>

#include "src/runtime/kernel.h"
#include "tests/unit/depth.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

using ir::Var;
using te::Tensor;

std::vector<Bytes> random_data(const ir::Program& program) {
  std::mt19937 random(1);
  std::vector<Bytes> data;
  for (const ir::Param& param : program.params) {
    int64_t elements = 1;
    for (const ir::Expr& extent : param.buffer.shape()) elements *= *ir::as_int(extent);
    Bytes bytes(static_cast<size_t>(elements * param.buffer.element().bytes()));
    for (size_t i = 0; i + 3 < bytes.size() && param.buffer.element() == ir::Type::f(32); i += 4) {
      const float value = static_cast<float>(random() % 33) / 4 - 4;
      std::memcpy(&bytes[i], &value, 4);
    }
    if (param.buffer.element() != ir::Type::f(32))
      for (unsigned char& byte : bytes)
        byte = param.buffer.element().is_bool() ? random() % 2 : static_cast<unsigned char>(random());
    data.push_back(std::move(bytes));
  }
  return data;
}

// Values are small multiples of 1/4, so sums are exact in any order.
void expect_default_schedule_is_right(const std::vector<Tensor>& outputs, const std::vector<Tensor>& args) {
  const ir::Program naive = te::naive_program(outputs, args);
  const std::vector<Bytes> data = random_data(naive);
  const std::vector<Bytes> expected = run_interpreted(naive, data);
#if TW_LLVM
  const std::vector<const char*> targets = {"llvm -mcpu=native", "llvm -mcpu=x86-64-v3", "llvm"};
#else
  const std::vector<const char*> targets = {"interp"};
#endif
  for (const char* text : targets) {
    const Target on = parse_target(text);
    const schedule::Schedule s = default_schedule(outputs, on);
    const std::vector<Bytes> got = run_compiled(lowered_program(s, args, on, "k"), data, on, 3);
    for (size_t i = 0; i < args.size(); ++i)
      EXPECT_TRUE(same_values(args[i].dtype(), expected[i], got[i])) << args[i].name() << "\n"
                                                                     << schedule::to_string(s);
  }
}

struct Matmul {
  Tensor a, b, c;
  te::IterVar k;
  Matmul(int m, int n, int depth) : k(te::reduce_axis(0, depth, "k")) {
    a = te::placeholder({m, depth}, "float32", "A");
    b = te::placeholder({depth, n}, "float32", "B");
    c = te::compute({m, n}, [&](Var i, Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  }
};

TEST(DefaultSchedule, MatmulsOfAllSizes) {
  for (auto [m, n, depth] :
       {std::tuple{1, 1, 1}, {7, 5, 3}, {6, 64, 8}, {13, 131, 17}, {1, 300, 20}, {100, 1, 9}, {5, 5, 0}, {0, 4, 3}}) {
    const Matmul x(m, n, depth);
    expect_default_schedule_is_right({x.c}, {x.a, x.b, x.c});
  }
}

TEST(DefaultSchedule, EpilogueStaysWithItsTile) {
  const Matmul x(19, 77, 12);
  const Tensor bias = te::placeholder({77}, "float32", "bias");
  const Tensor sum = te::compute({19, 77}, [&](Var i, Var j) { return x.c(i, j) + bias(j); }, "sum");
  const Tensor relu =
      te::compute({19, 77}, [&](Var i, Var j) { return te::max(sum(i, j), te::constant(0, "float32")); }, "relu");
  const std::vector<Tensor> args = {x.a, x.b, bias, relu};
  expect_default_schedule_is_right({relu}, args);
  const std::string text = schedule::to_string(default_schedule({relu}, native()));
  EXPECT_NE(text.find("at relu's loop"), std::string::npos) << text;
}

TEST(DefaultSchedule, ElementwiseAndReductionsOfAllRanks) {
  const Tensor scalar = te::placeholder({}, "float32", "s");
  const Tensor one = te::compute(
      {}, [&](const std::vector<Var>&) { return scalar(std::vector<ir::Expr>{}) * te::constant(2, "float32"); }, "one");
  expect_default_schedule_is_right({one}, {scalar, one});
  for (int n : {0, 1, 3, 16, 70, 5000}) {
    const Tensor a = te::placeholder({n}, "float32", "A");
    const Tensor twice = te::compute({n}, [&](Var i) { return a(i) + a(i); }, "twice");
    const Tensor more = te::compute({n}, [&](Var i) { return twice(i) * twice(i); }, "more");
    expect_default_schedule_is_right({more}, {a, more});
    expect_default_schedule_is_right({twice, more}, {a, more, twice});
    const te::IterVar k = te::reduce_axis(0, n, "k");
    const Tensor total = te::compute({}, [&](const std::vector<Var>&) { return te::sum(a(k), {k}); }, "total");
    expect_default_schedule_is_right({total}, {a, total});
  }
}

TEST(DefaultSchedule, StencilsRowSumsAndTransposes) {
  const Tensor a = te::placeholder({37, 41}, "float32", "A");
  const Tensor padded = te::compute(
      {39, 43},
      [&](Var i, Var j) {
        return te::if_then_else(te::all({ir::Expr(i) >= 1, ir::Expr(i) < 38, ir::Expr(j) >= 1, ir::Expr(j) < 42}),
                                a(ir::Expr(i) - 1, ir::Expr(j) - 1), te::constant(0, "float32"));
      },
      "padded");
  const te::IterVar di = te::reduce_axis(0, 3, "di"), dj = te::reduce_axis(0, 3, "dj");
  const Tensor blur = te::compute(
      {37, 41},
      [&](Var i, Var j) { return te::sum(padded(ir::Expr(i) + ir::Expr(di), ir::Expr(j) + ir::Expr(dj)), {di, dj}); },
      "blur");
  expect_default_schedule_is_right({blur}, {a, blur});
  const te::IterVar k = te::reduce_axis(0, 41, "k");
  const Tensor rows = te::compute({37}, [&](Var i) { return te::max(a(i, k), std::vector<te::IterVar>{k}); }, "rows");
  expect_default_schedule_is_right({rows}, {a, rows});
  const Tensor turned = te::compute({41, 37}, [&](Var i, Var j) { return a(j, i); }, "turned");
  expect_default_schedule_is_right({turned}, {a, turned});
}

#if TW_LLVM
// What stands between the label of the innermost loop with the most multiply-adds and its backward jump.
std::string hottest_loop(const std::string& assembly) {
  std::istringstream lines(assembly);
  std::string best, body;
  size_t most = 0;
  const auto fmas = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("vfmadd"); at != std::string::npos; at = text.find("vfmadd", at + 1)) ++count;
    return count;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".L")) body.clear();
    body += line + "\n";
    if (line.find("\tj") == 0 && fmas(body) > most) {
      most = fmas(body);
      best = body;
    }
  }
  return best;
}

TEST(Build, AccumulatorsStayInRegisters) {
  const Target zen4 = parse_target("llvm -mcpu=znver4");
  const Matmul x(96, 128, 64);
  for (const bool blocked : {false, true}) {
    schedule::Schedule s({x.c});
    s.apply(schedule::Tile{"C", "i", "j", 6, 64});
    if (blocked) s.apply(schedule::Split{"C", "k", schedule::Factor(16), {}});
    s.apply(blocked ? schedule::Reorder{"C", {"k.o", "i.o", "j.o", "k.i", "i.i", "j.i"}}
                    : schedule::Reorder{"C", {"i.o", "j.o", "k", "i.i", "j.i"}});
    s.apply(schedule::Unroll{"C", "i.i"});
    s.apply(schedule::Vectorize{"C", "j.i"});
    const std::string assembly = build(lowered_program(s, {x.a, x.b, x.c}, zen4, "k"), zen4)->source("asm");
    const std::string loop = hottest_loop(assembly);
    const std::regex store(R"(\tvmov\w+\t+%zmm\d+, [^%\n]*\()");
    EXPECT_FALSE(std::regex_search(loop, store)) << loop;
    size_t count = 0;
    for (size_t at = loop.find("vfmadd231ps"); at != std::string::npos; at = loop.find("vfmadd231ps", at + 1)) ++count;
    EXPECT_EQ(count, 24u) << loop;
  }
}
#endif

TEST(Build, InterpRunsTheLoopProgram) {
  const Matmul x(5, 6, 7);
  const auto module = build(schedule::Schedule({x.c}), {x.a, x.b, x.c}, parse_target("interp"), "k");
  std::vector<float> a(35, 1), b(42, 2), c(30);
  void* data[] = {a.data(), b.data(), c.data()};
  EXPECT_EQ(module->kernel()->run(data), 0);
  EXPECT_EQ(c, std::vector<float>(30, 14));
  EXPECT_THROW(module->save("k.o"), Error);
  EXPECT_THROW(module->source("asm"), Error);
}

TEST(Build, AScheduleIsBuiltMoreThanOnce) {
  const Matmul x(12, 32, 8);
  schedule::Schedule s({x.c});
  const std::vector<Tensor> args = {x.a, x.b, x.c};
  const auto first = build(s, args, native(), "k");
  s.apply(schedule::Vectorize{"C", "j"});
  const auto second = build(s, args, native(), "k");
  EXPECT_NE(first->source("ir"), second->source("ir"));
}

TEST(Build, DeepExpressionsAndLongChainsCompile) {
  const Tensor a = te::placeholder({16}, "float32", "A");
  const Tensor wide = te::compute(
      {16},
      [&](Var i) {
        ir::Expr sum = a(i);
        for (int term = 0; term < test::depth(5000); ++term) sum = sum + a(i);
        return sum;
      },
      "wide");
  EXPECT_EQ(build(schedule::Schedule({wide}), {a, wide}, native(), "k")->kernel()->args().size(), 2u);
  Tensor last = a;
  for (int stage = 0; stage < test::depth(2000); ++stage)
    last = te::compute({16}, [&](Var i) { return last(i) + a(i); }, "s" + std::to_string(stage));
  EXPECT_EQ(build(default_schedule({last}, native()), {a, last}, native(), "k")->kernel()->args().size(), 2u);
}

}  // namespace
}  // namespace tw
