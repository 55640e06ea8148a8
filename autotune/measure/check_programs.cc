#include "autotune/measure/check_programs.h"

#include "codegen/backends.h"
#include "src/lower/pipeline.h"
#include "src/runtime/device_checks.h"
#include "src/support/deep_stack.h"
#include "tensorwright/schedule.h"

namespace tw::autotune {

namespace {

constexpr int64_t kParts = runtime::kCheckParts, kThreads = 256;
// The host's tolerance may be rounded to another last bit: what is nearly too far is left to it.
constexpr double kSurely = 1 - 0x1p-40;
constexpr double kLargest = 1e300;  // finite, whatever the type

// Neighbouring threads look at neighbouring elements, each at every kParts-th.
te::Tensor sum_of_parts(int64_t elements, const std::function<ir::Expr(const ir::Expr& at)>& term) {
  const te::IterVar k = te::reduce_axis(0, (elements + kParts - 1) / kParts, "k");
  return te::compute(
      {kParts},
      [&](te::Var part) {
        const ir::Expr at = ir::Expr(k) * kParts + part;
        return te::sum(term(at), {k}, at < elements);
      },
      "parts");
}

ir::Program lowered(const te::Tensor& parts, std::vector<te::Tensor> args, size_t argument, const Target& target) {
  args.push_back(parts);
  schedule::Schedule s({parts});
  s.apply(schedule::Split{"parts", "i", schedule::Factor(kThreads), {}, ir::Tail::kAuto});
  s.apply(schedule::Bind{"parts", "i.o", "blockIdx.x"});
  s.apply(schedule::Bind{"parts", "i.i", "threadIdx.x"});
  const ir::Program loops = schedule::to_ir(s, args, runtime::check_kernel(argument)).value_or_throw();
  const lower::Passes& passes = codegen::backend_of(target).passes;
  return support::with_deep_stack([&] { return lower::run_pipeline(passes, loops, target); });
}

// As src/runtime/compare.cc has it, but for NaN beside NaN, which the host is asked about.
ir::Program comparison(const runtime::ArgSpec& spec, size_t argument, const Target& target) {
  const int64_t elements = spec.elements();
  const std::string type = ir::to_string(spec.dtype);
  const te::Tensor got = te::placeholder({elements}, type, "got"),
                   expected = te::placeholder({elements}, type, "expected"),
                   tolerances = te::placeholder({2}, "float64", "tolerances");
  const bool exact = !spec.dtype.is_float() && !spec.dtype.is_float8();
  const te::Tensor wrong = sum_of_parts(elements, [&](const ir::Expr& at) {
    const auto differs = [](const ir::Expr& same) {
      return te::select(same, te::constant(0, "int32"), te::constant(1, "int32"));
    };
    if (exact) return differs(ir::eq(got(at), expected(at)));
    const ir::Expr g = te::astype(got(at), "float64"), e = te::astype(expected(at), "float64");
    const ir::Expr far = (tolerances(1) + tolerances(0) * te::abs(e)) * te::constant(kSurely, "float64");
    const ir::Expr is_near = te::abs(g - e) <= far, is_finite = te::abs(e) <= te::constant(kLargest, "float64");
    return differs(te::any({ir::eq(g, e), te::all({is_near, is_finite})}));
  });
  return lowered(wrong, {got, expected, tolerances}, argument, target);
}

// The sum of values times odd numbers of their own: one that changes changes it.
ir::Program digest(const runtime::ArgSpec& spec, size_t argument, const Target& target) {
  const auto bytes = static_cast<int64_t>(spec.bytes());
  const bool words = bytes % 4 == 0;
  const te::Tensor values = te::placeholder({words ? bytes / 4 : bytes}, words ? "uint32" : "uint8", "values");
  const te::Tensor digests = sum_of_parts(words ? bytes / 4 : bytes, [&](const ir::Expr& at) {
    return te::astype(values(at), "uint64") *
           (te::astype(at, "uint64") * te::constant(2, "uint64") + te::constant(1, "uint64"));
  });
  return lowered(digests, {values}, argument, target);
}

}  // namespace

std::vector<ir::Program> check_programs(const std::vector<runtime::ArgSpec>& args, const Target& target) {
  std::vector<ir::Program> programs;
  if (!target.abilities.device) return programs;
  for (size_t i = 0; i < args.size(); ++i)
    if (runtime::is_checked_on_device(args[i]))
      programs.push_back(args[i].written ? comparison(args[i], i, target) : digest(args[i], i, target));
  return programs;
}

}  // namespace tw::autotune
