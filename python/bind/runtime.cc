// Kernels, timing and threads.

#include "tensorwright/runtime.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "codegen/cuda/module.h"
#include "codegen/cuda/nvrtc.h"
#include "python/bind/bind.h"
#include "python/bind/device_arrays.h"
#include "python/bind/function.h"
#include "python/bind/packed.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using runtime::ArgSpec;
using runtime::Timing;

py::tuple tuple(const std::vector<int64_t>& values) {
  py::tuple result(values.size());
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[i];
  return result;
}

// Numbers, and text where an extent is symbolic.
py::tuple tuple(const std::vector<int64_t>& values, const std::vector<ir::Expr>& symbols) {
  py::tuple result = tuple(values);
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!ir::as_int(symbols[i])) result[i] = ir::to_string(symbols[i]);
  return result;
}

std::string text(const ArgSpec& spec) {
  std::string shape = "(";
  for (size_t d = 0; d < spec.shape.size(); ++d)
    shape += (d ? ", " : "") +
             (spec.symbolic_shape.empty() ? std::to_string(spec.shape[d]) : ir::to_string(spec.symbolic_shape[d]));
  return spec.name + ": " + ir::to_string(spec.dtype) + shape + (spec.shape.size() == 1 ? ",)" : ")") +
         (spec.written          ? " (output)"
          : spec.layout.empty() ? ""
                                : " (packed)");
}

std::string text(const Function& f) {
  std::string out = "<tensorwright.Function " + f.kernel().name() + "(";
  for (size_t i = 0; i < f.kernel().args().size(); ++i) out += (i ? ", " : "") + text(f.kernel().args()[i]);
  return out + ")>";
}

std::string text(const Timing& timing) {
  char buffer[96];
  std::snprintf(buffer, sizeof(buffer), "TimingResult(median=%.4g s, spread=%.1f %%, runs=%zu)", timing.median,
                100 * timing.spread, timing.runs.size());
  return buffer;
}

const Module& module_of(const Function& f, const char* what) {
  if (f.module()) return *f.module();
  throw Error(Diagnostic{ErrorKind::kArgument,
                         std::string(what) + ": " + f.kernel().name() +
                             " was loaded from a file, only a function that tw.build made has this",
                         {},
                         {}});
}

void call(const Function& f, const py::args& arrays, const py::kwargs& named) {
  py::object stream = py::none();
  const bool has_stream = named.contains("stream");
  if (has_stream) stream = named["stream"];
  if (named.size() > (has_stream ? 1 : 0)) {
    throw Error(Diagnostic{ErrorKind::kArgument,
                           f.kernel().name() + ": arguments have positions, not names",
                           {},
                           {"call it as " + text(f)}});
  }
  f.call(arrays, stream);
}

py::list resources(const Function& f) {
  const auto* module = dynamic_cast<const codegen::CudaModule*>(&module_of(f, "resources"));
  if (!module) refuse(ErrorKind::kArgument, "resources: " + f.kernel().name() + " is no function of target cuda");
  py::list all;
  for (const runtime::cuda::Resources& of : module->resources()) {
    py::dict row;
    row["function"] = of.function;
    row["registers"] = of.registers;
    row["shared_bytes"] = of.shared_bytes;
    row["stack_bytes"] = of.stack_bytes;
    row["spill_stores"] = of.spill_stores;
    row["spill_loads"] = of.spill_loads;
    row["warnings"] = of.warnings;
    all.append(row);
  }
  return all;
}

Timing time(const Function& f, const py::args& arrays, int number, int repeat, double min_repeat_ms) {
  return f.time(arrays, {.number = number, .repeat = repeat, .min_repeat_ms = min_repeat_ms});
}

void bind_results(py::module_& m) {
  py::class_<ArgSpec>(m, "ArgSpec", "What a kernel expects of one argument.")
      .def_readonly("name", &ArgSpec::name)
      .def_property_readonly("dtype", [](const ArgSpec& s) { return ir::to_string(s.dtype); })
      .def_property_readonly(
          "shape", [](const ArgSpec& s) { return tuple(s.shape, s.symbolic_shape); },
          "A symbolic extent is shown as text.")
      .def_property_readonly(
          "strides",
          [](const ArgSpec& s) -> py::object {
            return s.strides.empty() ? py::object(py::none()) : py::object(tuple(s.strides, s.symbolic_strides));
          },
          "In elements; None for compact row-major.")
      .def_property_readonly(
          "layout", [](const ArgSpec& s) { return s.layout; },
          "How it is packed, as text; \"\" for an array as declared.")
      .def_property_readonly("is_output", [](const ArgSpec& s) { return s.written; })
      .def("__repr__", [](const ArgSpec& s) { return text(s); });
  py::class_<Timing>(m, "TimingResult", "Seconds per call: the median, the spread around it, and every repeat.")
      .def_readonly("median", &Timing::median)
      .def_readonly("spread", &Timing::spread, "(90th - 10th percentile) / median.")
      .def_readonly("runs", &Timing::runs)
      .def("__repr__", [](const Timing& t) { return text(t); });
}

// The overload for arguments of other types than the one before takes.
auto otherwise(const char* rule) {
  return [rule](const py::args& given, const py::kwargs& named) {
    std::vector<std::string> notes;
    for (const auto& [name, value] : named) notes.push_back(std::string(py::str(name)) + " was " + described(value));
    if (named.empty() && !given.empty()) notes.push_back("the last one given: " + described(given[given.size() - 1]));
    throw Error(Diagnostic{ErrorKind::kArgument, rule, {}, std::move(notes)});
  };
}

void bind_function(py::module_& m) {
  py::class_<ReplayedCall>(m, "Graph", "A call of a device's function that is replayed: what ``f.graph(..)`` returns.")
      .def("__call__", &ReplayedCall::run, py::arg("stream") = py::none())
      .def("__repr__", [](const ReplayedCall& call) {
        return "<tensorwright.Graph of " + call.kernel->name() + " on cuda:" + std::to_string(call.ordinal) + ">";
      });
  py::class_<Function>(m, "Function", R"(A compiled kernel.

``f(a, b, out)`` runs it on NumPy arrays, PyTorch CPU tensors or anything with ``__dlpack__``, in place and without copies;
outputs are among the arguments. A function of target ``cuda`` takes arrays in a device's memory instead: of PyTorch, of CuPy,
anything with ``__dlpack__`` or ``__cuda_array_interface__``, and of ``tw.device_array``. It runs where they are, on the stream
that is current in the library that they are of, or on ``stream=``, and returns before it is done.)")
      .def("__call__", &call)
      .def("time", &time, py::arg("number") = 0, py::arg("repeat") = 5, py::arg("min_repeat_ms") = 1.0,
           R"(Run the kernel on these arrays and time it.

Parameters: the arrays of a call; number, calls per repeat (0: as many as last min_repeat_ms); repeat, how many times.
Returns: TimingResult, in seconds per call.
Raises: TuneError under TW_MEASURE=forbid, and what a call raises.)")
      .def("graph", &Function::graph,
           R"(Capture a call of a function of target ``cuda``, to replay it with a single call of the driver.

``g = f.graph(a, b, out)`` runs nothing; ``g()`` runs the launches on these arrays, whose contents may have changed meanwhile.

Parameters: the arrays and scalars of a call; g keeps the arrays, and has scratch of its own.
Returns: a Graph. ``g(stream=None)``: as for a call.
Raises: ArgumentError for a function of another target, and what a call raises.)")
      .def("pack", &Function::pack, py::arg("param"), py::arg("array"),
           R"(Bring an array into the layout that the kernel wants for a parameter, once and outside of all calls.

``transform_layout`` of a ``te.placeholder(..., param=True)`` gives the kernel another parameter than was declared; ``pack`` makes
it. Where the schedule packs nothing the array itself comes back, so that code need not know which schedule was found.

Parameters: param, the parameter's name or its number among ``f.args``; array, as declared.
Returns: a PackedArray, which calls take in the place of that parameter; the array where nothing is packed.
Raises: ArgumentError for a name that is none, for outputs, and for an array that is not as declared; DTypeError.)")
      .def_property_readonly("packed_params", &Function::packed_params, "The names of the parameters that are packed.")
      .def_property("check_ranges", &Function::checks_ranges, &Function::check_ranges,
                    R"(Whether calls check the ranges that placeholders promise; at first whether TW_CHECK_RANGES=1.)")
      .def("time", otherwise("time: number and repeat must be integers, min_repeat_ms a number"))
      .def_property_readonly("name", [](const Function& f) { return f.kernel().name(); })
      .def_property_readonly(
          "args", [](const Function& f) { return f.kernel().args(); }, "ArgSpec of each argument.")
      .def(
          "source", [](const Function& f, const std::string& kind) { return module_of(f, "source").source(kind); },
          py::arg("kind") = "ir",
          "The code as text: \"ir\" (the lowered loop program), \"c\" (the same as C99), \"llvm\" or \"asm\"; of "
          "target cuda "
          "\"cuda\" (CUDA C++) and \"launches\" (how many blocks and threads run it, and on what).")
      .def("source", otherwise("source: kind must be one string"))
      .def(
          "save",
          [](const Function& f, const std::filesystem::path& path) {
            const Module& module = module_of(f, "save");
            const py::gil_scoped_release released;
            module.save(path.string());
          },
          py::arg("path"), "Write a .o or .so (target c: or .c) with a C header beside it.")
      .def("save", otherwise("save: path must be one string or path"))
      .def_property_readonly("resources", &resources,
                             R"(Of target cuda: what each function of the code takes of the device.

A list of dicts: function, registers (of a thread), shared_bytes (that it declares), stack_bytes, spill_stores and spill_loads (of a
thread), warnings (of ptxas).
Raises: BuildError where there was no compiler.)")
      .def_property_readonly("target", [](const Function& f) { return module_of(f, "target").target().to_string(); })
      .def("__repr__", [](const Function& f) { return text(f); });
}

}  // namespace

void bind_runtime(py::module_& m) {
  bind_packed(m);
  bind_device(m);
  m.def("_look_for_nvrtc_in", &codegen::look_for_nvrtc_in);
  bind_results(m);
  bind_function(m);
  m.def(
      "load",
      [](const std::filesystem::path& path, const std::string& name) {
        return Function(runtime::load(path.string(), name));
      },
      py::arg("path"), py::arg("name") = "", R"(Load a kernel from a shared object that f.save("name.so") wrote.

Parameters: path; name, which kernel, when there are several.
Raises: BuildError when there is no such kernel or this CPU cannot run it.)");
  m.def("load", otherwise("load: path must be a string or path, name a string"));
  m.def("num_threads", &runtime::num_threads,
        "Threads that a parallel loop uses: set_num_threads, TW_NUM_THREADS, or the cores and the cgroup's quota.");
  m.def("set_num_threads", &runtime::set_num_threads, py::arg("n"), "Use n threads from the next kernel on.");
  m.def("set_num_threads", otherwise("set_num_threads: n must be one integer"));
  m.def("park_threads", &runtime::park_threads, "Let idle threads sleep at once instead of after a short spin.");
}

}  // namespace tw::bind
