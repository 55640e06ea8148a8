// Stock operators by name, with the sizes of their tensors as parameters: what `tw tune matmul --shape
// M=257,N=513,K=1025` and tw.tune("matmul", M=257, N=513, K=1025) make.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensorwright/te.h"

namespace tw::te::ops {

struct Parameter {
  std::string name;
  std::string meaning;
  std::string standard = {};  // the value of who does not give one; empty: it must be given
};

// Values of parameters, as text: "257", "float32", "true", lists as "1x1". Reading one that is no such value throws
// ArgumentError, which names the kernel and the parameter.
class Values {
 public:
  Values(std::string kernel, std::map<std::string, std::string> texts)
      : kernel_(std::move(kernel)), texts_(std::move(texts)) {}
  const std::string& text(const std::string& name) const { return texts_.at(name); }
  int64_t extent(const std::string& name) const;  // a positive integer
  Expr size(const std::string& name) const;       // that, or, of the text "any", a new variable of that name
  int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  bool flag(const std::string& name) const;                  // true or false, 1 or 0
  std::vector<int64_t> list(const std::string& name) const;  // integers joined by x

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& rule) const;
  std::string kernel_;
  std::map<std::string, std::string> texts_;
};

struct StockKernel {
  std::string name, summary;
  std::vector<Parameter> parameters;
  std::function<std::vector<Tensor>(const Values&)> make;  // placeholders and outputs, in the order of the arguments
};

// All of them, by name.
const std::vector<StockKernel>& kernels();

struct Made {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  // all, in the order of the table
  std::string args_json;                                        // the same as a JSON object
  std::vector<Tensor> args;
  std::vector<std::string> any;  // parameters that vary
};

// Throws ArgumentError for a name or a parameter that does not exist (it lists those that do), and what the operator
// throws.
Made make(const std::string& name, const std::map<std::string, std::string>& given,
          SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
