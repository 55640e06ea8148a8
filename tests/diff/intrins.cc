#include "tests/diff/intrins.h"

#include "tensorwright/tensor_intrin.h"

namespace tw::diff {

namespace {

using ir::Expr;

constexpr const char* kPython = R"(
def own_intrin(name):
    _, kind, dtype, n, way = name.split("_")
    n = int(n)
    a, b = te.placeholder((n,), dtype, name="a"), te.placeholder((n,), dtype, name="b")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((1,), lambda i: te.sum(a[k] * b[k] if kind == "dot" else a[k], axis=k), name="c")

    def statements(ins, outs):
        def part(clear, add):
            ib = te.ir_builder.create()
            x, z = [ib.buffer_ptr(t) for t in ins], ib.buffer_ptr(outs[0])
            if clear:
                z[0] = te.const(0, dtype)
            if add:
                with ib.for_range(0, n, name="k") as k:
                    z[0] = z[0] + (x[0][k] * x[1][k] if kind == "dot" else x[0][k])
            return ib.get()

        return {"update": (None, None, part(False, True)), "both": (part(True, True), part(True, False), part(False, True)),
                "adds": (part(False, True), None, None)}[way]

    te.decl_tensor_intrin(c.op, statements, name=name)


)";

std::string declare(const std::string& kind, const std::string& dtype, int64_t n, const std::string& way) {
  const te::Tensor a = te::placeholder({n}, dtype, "a"), b = te::placeholder({n}, dtype, "b");
  const te::IterVar k = te::reduce_axis(0, n, "k");
  const bool dot = kind == "dot";
  const auto term = [&](const Expr& at) {
    const Expr x = ir::load(a.buffer(), {at});
    return dot ? x * ir::load(b.buffer(), {at}) : x;
  };
  const te::Tensor c =
      te::compute({1}, [&](ir::Var) { return te::sum(dot ? a(Expr(k)) * b(Expr(k)) : a(Expr(k)), {k}); }, "c");
  const auto part = [&](bool clear, bool add) {
    const ir::Var at("k");
    std::vector<ir::Stmt> all;
    if (clear) all.push_back(ir::store(c.buffer(), {0}, ir::imm(c.dtype(), 0)));
    if (add) all.push_back(ir::loop(at, n, ir::store(c.buffer(), {0}, ir::load(c.buffer(), {0}) + term(at))));
    return ir::seq(std::move(all));
  };
  te::IntrinBodies does;
  if (way != "update") does.body = part(way == "both", true);
  if (way == "both") does.reset = part(true, false);
  if (way != "adds") does.update = part(false, true);
  const std::string name = "diff_" + kind + "_" + dtype + "_" + std::to_string(n) + "_" + way;
  te::declare_tensor_intrin(c.op(), does, name);
  return name;
}

}  // namespace

const std::vector<std::string>& own_intrins() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const char* kind : {"sum", "dot"})
      for (const char* dtype : {"float32", "int32"})
        for (const int64_t n : {2, 4, 8})
          for (const char* way : {"update", "both", "adds"}) {
            try {
              all.push_back(declare(kind, dtype, n, way));
            } catch (const Error&) {
              if (std::string(way) != "adds") throw;
            }
          }
    return all;
  }();
  return names;
}

std::string python_intrins(const std::vector<schedule::Step>& steps) {
  std::string text;
  for (const schedule::Step& step : steps)
    if (const auto* t = std::get_if<schedule::Tensorize>(&step.kind); t && t->intrin.starts_with("diff_"))
      text += (text.empty() ? std::string(kPython) : "") + "own_intrin(\"" + t->intrin + "\")\n";
  return text;
}

}  // namespace tw::diff
