// What candidates are checked against: random inputs, and the outputs that they must give.
//
// The expected outputs come from the default schedule, whose result is itself checked: random elements are computed
// again by the interpreter from the declaration. The blobs have the layout of runtime::RunRequest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::autotune {

struct CheckData {
  std::vector<runtime::ArgSpec> args;
  std::vector<double> rtol, atol;
  Blob inputs, reference;
};

// Inputs and tolerances, without anything to compare with yet.
CheckData unchecked_data(const std::vector<te::Tensor>& outputs, const std::vector<runtime::ArgSpec>& specs);

// So many random elements of each output, computed by the interpreter from the declaration; none of one where that is
// too much work. Throws TuneError when it fails.
std::vector<runtime::Probe> probes_of(const std::vector<te::Tensor>& args, const CheckData&, int count);

// What all arguments hold after the default schedule ran on the inputs. Throws TuneError when it fails.
using Compute = std::function<Blob(const Blob& inputs)>;

// `specs` are those of the default schedule. Throws TuneError when its result is not what was declared.
CheckData make_check_data(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args,
                          const std::vector<runtime::ArgSpec>& specs, const Compute&);

// Relative tolerance after summing `length` terms in another order, for values of `type`; 0 for integers. Errors add up
// as the square root of the length, and in part as the length: what lies under a long sum's last bit is lost each time.
double tolerance(ir::Type type, double length);
// That of all stages together, each in the type in which it rounds; operands are exact, and so are copies of them.
double tolerance(const std::vector<te::Tensor>& outputs);
// What floats may differ by more where some stage makes whole numbers: a rounding before it may move one to the next.
double step_tolerance(const std::vector<te::Tensor>& outputs);

}  // namespace tw::autotune
