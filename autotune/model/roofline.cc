#include "autotune/model/roofline.h"

#include <algorithm>

#include "autotune/model/features.h"
#include "src/ir/register_lanes.h"

namespace tw::autotune {
namespace {

// Multiply-adds that a core does in a cycle. Sums are 32 bits wide, except those of doubles.
double multiply_adds(const Target& target, ir::Type operands, const Rates& rates) {
  if (operands.is_float() && operands.bits == 64) return rates.issue * ir::register_lanes(target, operands);
  const auto adds = [&](std::initializer_list<DotProduct> dots) {
    return std::any_of(dots.begin(), dots.end(), [&](DotProduct dot) { return target.abilities.dot_lanes(dot) > 0; });
  };
  const std::optional<Tiles>& tiles = target.abilities.tiles;
  const bool bfloats = operands.code == ir::TypeCode::kBFloat, bytes = !operands.is_float() && operands.bits == 8;
  // A row of sums has each of a row's terms.
  if (tiles && ((bfloats && tiles->bf16) || (bytes && tiles->int8)))
    return rates.tile_rows * tiles->row_bytes / 4.0 * (tiles->row_bytes / operands.bytes());
  const bool pairs = operands.code == ir::TypeCode::kBFloat && adds({DotProduct::kBF16, DotProduct::kBF16Odd});
  const bool fours = !operands.is_float() && operands.bits == 8 &&
                     adds({DotProduct::kU8I8, operands.is_int() ? DotProduct::kI8I8 : DotProduct::kU8U8});
  const bool matrices =
      (pairs && adds({DotProduct::kMatBF16Odd})) || (fours && operands.is_int() && adds({DotProduct::kMatI8I8}));
  const double measured = fours ? rates.dot_u8i8 : pairs ? rates.dot_bf16 : 0;
  return (measured > 0 ? measured : rates.issue) * ir::register_lanes(target, ir::Type::f(32)) *
         (fours   ? 4.0
          : pairs ? 2.0
                  : 1.0) *
         (matrices ? 2.0 : 1.0);
}

// What the maker says of it, for all processors. Its tensor cores take 16-bit floats.
Roofline device_roofline(const schedule::DeviceRates& device, ir::Type operands) {
  const double cycles = device.hertz * device.processors;
  Roofline r;
  r.peak = 2 * cycles * (operands.is_float() && operands.bits == 16 ? device.tensor_products : device.lanes);
  r.bandwidth[schedule::kL2] = device.l2_bytes;
  r.bandwidth[schedule::kDram] = device.memory;
  return r;
}

}  // namespace

double Roofline::roof() const {
  if (flops <= 0) return 0;
  return bytes > 0 ? std::min(peak, intensity() * bandwidth[holds]) : peak;
}

std::string Roofline::bound() const {
  if (roof() >= peak) return "peak";
  return holds == schedule::kDram ? "memory bandwidth" : std::string(schedule::to_string(holds)) + " bandwidth";
}

void Roofline::raise_to(double flops_per_second) {
  if (peak <= 0) return;  // of a machine that is not this one
  peak = std::max(peak, flops_per_second);
  if (flops > 0) bandwidth[holds] = std::max(bandwidth[holds], flops_per_second / flops * bytes);
}

Roofline machine_roofline(const Target& target, ir::Type operands, const MachineDescription& described) {
  const schedule::Machine machine = schedule::describe_machine(target, described);
  if (machine.device) return device_roofline(*machine.device, operands);
  const int threads = machine.threads;
  const double clock = machine.rates.clock > 0 ? machine.rates.clock : described.clock;
  const double cycles = (clock > 0 ? clock : machine.hertz) * threads;
  Roofline r;
  const double cores = threads > 1 ? machine.rates.all_issue : 1, shared = threads > 1 ? machine.rates.all_l3 : 1;
  r.peak = cycles * cores * multiply_adds(target, operands, machine.rates) * (target.abilities.fma ? 2 : 1);
  r.bandwidth[schedule::kL1] = cycles * machine.rates.l1_loads * machine.vector_bits / 8;
  r.bandwidth[schedule::kL2] = cycles * machine.rates.l2_bytes;
  r.bandwidth[schedule::kL3] = cycles * machine.rates.l3_bytes * shared;
  r.bandwidth[schedule::kDram] = std::min(machine.rates.core_dram * threads, machine.rates.all_dram);
  return r;
}

Roofline roofline_of(const Task& task, const MachineDescription& machine) {
  const std::vector<te::Tensor>& args = task.arguments();
  Roofline r = machine_roofline(task.target(), args.empty() ? ir::Type{} : args.front().dtype(), machine);
  r.flops = arithmetic_of(task.outputs());
  for (const te::Tensor& tensor : args) {
    int64_t elements = 1;
    for (const ir::Expr& extent : tensor.shape()) elements *= ir::as_int(extent).value_or(1);
    r.bytes += static_cast<double>(tensor.dtype().bytes_of(elements));
  }
  if (task.target().abilities.device) return r;
  const HardwareDescription& hardware = machine.hardware;
  const double here[] = {hardware.l1_bytes * 1.0 * machine.threads, hardware.l2_bytes * 1.0 * machine.threads,
                         hardware.l3_bytes * 1.0};
  for (const schedule::Level level : {schedule::kL3, schedule::kL2, schedule::kL1})
    if (r.bytes <= here[level - schedule::kL1]) r.holds = level;
  return r;
}

}  // namespace tw::autotune
