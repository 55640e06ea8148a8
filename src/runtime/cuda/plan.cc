#include "src/runtime/cuda/plan.h"

namespace tw::runtime::cuda {

namespace {

std::string sizes(const std::array<Formula, 3>& of) {
  std::string text;
  for (const Formula& size : of) {
    const std::string one = ir::to_string(size.expr());
    text += (text.empty() ? "" : " x ") + (one.find(' ') == one.npos ? one : "(" + one + ")");
  }
  return text;
}

std::string name_of(const Operand& operand, const Launch& launch, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& scalars) {
  switch (operand.kind) {
    case OperandKind::kArgument:
      return arguments[operand.number];
    case OperandKind::kScratch:
      return "scratch" + std::to_string(operand.number);
    case OperandKind::kScalar:
      return scalars[operand.number];
    case OperandKind::kMap:
      break;
  }
  const TensorMap& map = launch.maps[operand.number];
  std::string text = name_of(map.of, launch, arguments, scalars) + " by boxes of ";
  for (size_t d = 0; d < map.box.size(); ++d) text += (d ? " x " : "") + std::to_string(map.box[d]);
  return text + (map.swizzle == 0 ? "" : " in " + std::to_string(map.swizzle) + " swizzled bytes");
}

}  // namespace

std::string to_string(const Plan& plan, const std::vector<std::string>& arguments,
                      const std::vector<std::string>& scalars) {
  std::string text;
  for (size_t i = 0; i < plan.scratch.size(); ++i)
    text += "scratch" + std::to_string(i) + ": " + ir::to_string(plan.scratch[i].expr()) + " bytes\n";
  for (const Launch& launch : plan.launches) {
    text += launch.symbol + ": " + sizes(launch.grid) + " blocks of " + sizes(launch.block) + " threads";
    if (launch.shared_bytes > 0) text += ", " + std::to_string(launch.shared_bytes) + " bytes of shared memory";
    for (const Operand& operand : launch.operands) text += ", " + name_of(operand, launch, arguments, scalars);
    if (!ir::is_int(launch.when.expr(), 1)) text += ", if " + ir::to_string(launch.when.expr());
    text += "\n";
  }
  return text;
}

}  // namespace tw::runtime::cuda
