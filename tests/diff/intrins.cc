#include "tests/diff/intrins.h"

#include "tensorwright/externs.h"
#include "tensorwright/tensor_intrin.h"

namespace tw::diff {

namespace {

using ir::Expr;

// c[at_c] += the sum or the product, by the memory of each buffer and the element at which its tile begins.
template <class T>
int32_t add_sum(T* c, int32_t at_c, const T* a, int32_t at_a, int32_t n) {
  for (int32_t k = 0; k < n; ++k) c[at_c] += a[at_a + k];
  return 0;
}
template <class T>
int32_t add_dot(T* c, int32_t at_c, const T* a, int32_t at_a, const T* b, int32_t at_b, int32_t n) {
  for (int32_t k = 0; k < n; ++k) c[at_c] += a[at_a + k] * b[at_b + k];
  return 0;
}

std::string function_of(const std::string& kind, const std::string& dtype) { return "diff_add_" + kind + "_" + dtype; }

void register_functions() {
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  register_extern(function_of("sum", "float32"), address(add_sum<float>));
  register_extern(function_of("sum", "int32"), address(add_sum<uint32_t>));
  register_extern(function_of("dot", "float32"), address(add_dot<float>));
  register_extern(function_of("dot", "int32"), address(add_dot<uint32_t>));
}

// An update by such a function; the output comes first.
te::IntrinBodies by_function(const std::string& kind, const std::vector<te::Tensor>& tensors, int64_t n) {
  te::IntrinBodies does;
  std::vector<Expr> args;
  for (const te::Tensor& t : tensors) {
    te::TileBuffer& tile = does.tiles[t.buffer().id()];
    tile.elem_offset = te::var("at_" + t.name());
    tile.memory = ir::Buffer(t.name() + "_data", t.dtype(), {Expr(1)}, ir::Scope::kArgument);
    args.push_back(ir::address_of(tile.memory, {Expr(0)}, true, t == tensors[0]));
    args.push_back(ir::cast(ir::Type::i(32), Expr(tile.elem_offset)));
  }
  args.push_back(ir::imm(ir::Type::i(32), n));
  const std::string function = function_of(kind, to_string(tensors[0].dtype()));
  does.update = ir::evaluate(ir::call_extern(ir::Type::i(32), function, args));
  return does;
}

constexpr const char* kPython = R"(
import ctypes

functions = []


def own_function(kind, dtype):
    """Adds to c[at_c], by the memory of each buffer and the element at which its tile begins."""
    array = ctypes.POINTER(ctypes.c_float if dtype == "float32" else ctypes.c_int32)

    @ctypes.CFUNCTYPE(ctypes.c_int32, *[array, ctypes.c_int32] * (3 if kind == "dot" else 2), ctypes.c_int32)
    def add(c, at_c, a, at_a, *rest):
        for k in range(rest[-1]):
            c[at_c] += a[at_a + k] * (rest[0][rest[1] + k] if kind == "dot" else 1)
        return 0

    functions.append(add)
    te.register_extern(f"diff_add_{kind}_{dtype}", add)


def own_intrin(name):
    _, kind, dtype, n, way = name.split("_")
    n = int(n)
    a, b = te.placeholder((n,), dtype, name="a"), te.placeholder((n,), dtype, name="b")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((1,), lambda i: te.sum(a[k] * b[k] if kind == "dot" else a[k], axis=k), name="c")
    tensors = [a, b] if kind == "dot" else [a]
    if way == "from":
        own_function(kind, dtype)

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

        if way == "from":
            memory = [part for t in (outs[0], *ins) for part in (t.data, t.elem_offset)]
            return None, None, te.call_extern("int32", f"diff_add_{kind}_{dtype}", *memory, n)
        return {"update": (None, None, part(False, True)), "both": (part(True, True), part(True, False), part(False, True)),
                "adds": (part(False, True), None, None)}[way]

    binds = {t: te.decl_buffer(t.shape, dtype, name=t.name, elem_offset=te.var("at_" + t.name)) for t in (*tensors, c)}
    te.decl_tensor_intrin(c.op, statements, name=name, binds=binds if way == "from" else None)


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
  if (way == "both" || way == "adds") does.body = part(way == "both", true);
  if (way == "both") does.reset = part(true, false);
  if (way == "both" || way == "update") does.update = part(false, true);
  if (way == "from")
    does = by_function(kind, dot ? std::vector<te::Tensor>{c, a, b} : std::vector<te::Tensor>{c, a}, n);
  const std::string name = "diff_" + kind + "_" + dtype + "_" + std::to_string(n) + "_" + way;
  te::declare_tensor_intrin(c.op(), does, name);
  return name;
}

}  // namespace

const std::vector<std::string>& own_intrins() {
  static const std::vector<std::string> names = [] {
    register_functions();
    std::vector<std::string> all;
    for (const char* kind : {"sum", "dot"})
      for (const char* dtype : {"float32", "int32"})
        for (const int64_t n : {2, 4, 8})
          for (const char* way : {"update", "both", "from", "adds"}) {
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
