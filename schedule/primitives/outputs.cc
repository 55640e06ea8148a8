// The outputs of the stages that primitives add.
#include "schedule/primitives/primitives.h"

namespace tw::schedule::primitives {

std::vector<te::Output> renewed(std::vector<te::Output> outputs, const std::string& name) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].buffer_id = ir::Buffer::fresh_id();
    outputs[i].name = outputs.size() == 1 ? name : name + ".v" + std::to_string(i);
  }
  return outputs;
}

std::vector<te::Tensor> outputs_of(const te::Operation& op) {
  std::vector<te::Tensor> all;
  for (size_t i = 0; i < op->outputs.size(); ++i) all.push_back(op.output(i));
  return all;
}

}  // namespace tw::schedule::primitives
