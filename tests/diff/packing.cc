#include "tests/diff/packing.h"

#include "schedule/pack.h"

namespace tw::diff {

Packing::Packing(const Sample& sample, const schedule::Schedule& schedule) : sample_(&sample) {
  for (const schedule::PackedParam& param : schedule::packed_params(schedule))
    for (size_t i = 0; i < sample.args.size(); ++i)
      if (sample.args[i] == param.tensor)
        programs_.emplace_back(i, schedule::pack_program(schedule, param.placeholder, "pack").value_or_throw());
}

// The scalars of a program that packs: each is an extent of the array that it reads.
std::vector<int64_t> Packing::extents_of(const ir::Program& program, const te::Tensor& declared,
                                         const std::vector<int64_t>& sizes) const {
  std::vector<int64_t> values;
  for (const ir::Var& scalar : program.scalars) {
    const std::vector<ir::Expr>& shape = program.params[0].buffer.shape();
    size_t d = 0;
    while (!(ir::as<ir::VarRef>(shape.at(d)) && ir::as<ir::VarRef>(shape[d])->var == scalar)) ++d;
    values.push_back(evaluate(declared.shape()[d], sample_->symbols, sizes));
  }
  return values;
}

Memory Packing::packed(const Memory& arguments, const std::vector<int64_t>& sizes) const {
  Memory all = arguments;
  for (const auto& [i, program] : programs_) {
    const std::vector<int64_t> extents = extents_of(program, sample_->args[i], sizes);
    int64_t elements = 1;
    const ir::Buffer& to = program.params[1].buffer;
    for (const ir::Expr& extent : to.shape()) elements *= evaluate(extent, program.scalars, extents);
    const Memory both{arguments[i],
                      std::vector<std::byte>(static_cast<size_t>(to.element().bytes_of(elements)), std::byte{0xA5})};
    ir::InterpOptions options{.check_one_value = true};
    options.scalars.assign(extents.begin(), extents.end());
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
