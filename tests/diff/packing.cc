#include "tests/diff/packing.h"

#include "schedule/pack.h"

namespace tw::diff {

Packing::Packing(const Sample& sample, const schedule::Schedule& schedule) : sample_(&sample) {
  for (const schedule::PackedParam& param : schedule::packed_params(schedule))
    for (size_t i = 0; i < sample.args.size(); ++i)
      if (sample.args[i] == param.tensor)
        programs_.emplace_back(i, schedule::pack_program(schedule, param.placeholder, "pack").value_or_throw());
}

Memory Packing::packed(const Memory& arguments, const std::vector<int64_t>& sizes) const {
  Memory all = arguments;
  for (const auto& [i, program] : programs_) {
    int64_t elements = 1;
    const ir::Buffer& to = program.params[1].buffer;
    for (const ir::Expr& extent : to.shape()) elements *= evaluate(extent, sample_->symbols, sizes);
    const Memory both{arguments[i],
                      std::vector<std::byte>(static_cast<size_t>(to.element().bytes_of(elements)), std::byte{0xA5})};
    ir::InterpOptions options{.check_one_value = true};
    options.scalars = scalar_values(*sample_, program.scalars, sizes);
    all[i] = interpret(program, both, options).value_or_throw()[1];
  }
  return all;
}

Result<Memory> Packing::run(const ir::Program& program, const Memory& arguments, const std::vector<int64_t>& sizes,
                            ir::InterpOptions options) const {
  options.scalars = scalar_values(*sample_, program.scalars, sizes);
  const Memory given = packed(arguments, sizes);
  TW_TRY(Memory got, interpret(program, given, options));
  return unpacked(std::move(got), given, arguments);
}

Memory Packing::unpacked(Memory results, const Memory& packed, const Memory& arguments) const {
  for (const auto& [i, program] : programs_)
    if (results[i] == packed[i]) results[i] = arguments[i];
  return results;
}

}  // namespace tw::diff
