// One way for all operators into Python: _core.op_NAME(tensors..., option=value, ...). The options are the fields of
// the operator's options struct, by name; None leaves what the struct says. The functions of the package put signatures
// and docstrings in front.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tuple>

#include "python/bind/bind.h"
#include "tensorwright/ops/number.h"

namespace tw::bind {

[[noreturn]] void refuse_option(const std::string& op, const std::string& option, const char* expected,
                                pybind11::handle value);
// Throws TypeError for options that are no field.
void all_options_known(const std::string& op, const pybind11::dict& left);

void read_option(const std::string& op, const char* name, pybind11::handle value, bool& field);
void read_option(const std::string& op, const char* name, pybind11::handle value, int64_t& field);
void read_option(const std::string& op, const char* name, pybind11::handle value, double& field);
void read_option(const std::string& op, const char* name, pybind11::handle value, te::ops::Number& field);
void read_option(const std::string& op, const char* name, pybind11::handle value, std::string& field);
// A sequence of integers, or one of them.
void read_option(const std::string& op, const char* name, pybind11::handle value, std::vector<int64_t>& field);
// An extent: an integer or an expression of te.var.
void read_option(const std::string& op, const char* name, pybind11::handle value, ir::Expr& field);
void read_option(const std::string& op, const char* name, pybind11::handle value, te::Tensor& field);
template <class T>
void read_option(const std::string& op, const char* name, pybind11::handle value, std::optional<T>& field) {
  read_option(op, name, value, field.emplace());
}
// A tensor, or one value.
template <class T>
void read_option(const std::string& op, const char* name, pybind11::handle value, std::variant<T, te::Tensor>& field) {
  if (pybind11::isinstance<te::Tensor>(value)) {
    read_option(op, name, value, field.template emplace<te::Tensor>());
  } else {
    read_option(op, name, value, field.template emplace<T>());
  }
}

// A positional argument: a Tensor, or a sequence of them.
void read_tensor(const std::string& op, size_t place, pybind11::handle value, te::Tensor& tensor);
void read_tensor(const std::string& op, size_t place, pybind11::handle value, std::vector<te::Tensor>& tensors);

template <class Options>
Options read_options(const std::string& op, pybind11::dict given) {
  Options options;
  options.fields([&](const char* name, auto& field) {
    if (!given.contains(name)) return;
    const pybind11::object value = given.attr("pop")(name);
    if (!value.is_none()) read_option(op, name, value, field);
  });
  all_options_known(op, given);
  return options;
}

template <class Out, class... Args, size_t... I>
Out call_operator(Out (*f)(Args...), const std::string& op, const pybind11::args& tensors,
                  const pybind11::kwargs& options, std::index_sequence<I...>) {
  using All = std::tuple<std::decay_t<Args>...>;
  if (tensors.size() != sizeof...(I))
    throw pybind11::type_error(op + " takes " + std::to_string(sizeof...(I)) + " tensors");
  std::tuple<std::tuple_element_t<I, All>...> inputs;
  (read_tensor(op, I, tensors[I], std::get<I>(inputs)), ...);
  return f(std::get<I>(inputs)..., read_options<std::tuple_element_t<sizeof...(I), All>>(op, options), user_line());
}

// `f` takes tensors, then its options, then the line of the call.
template <class Out, class... Args>
void define_op(pybind11::module_& m, const std::string& op, Out (*f)(Args...)) {
  m.def(("op_" + op).c_str(), [f, op](const pybind11::args& tensors, const pybind11::kwargs& options) {
    return call_operator(f, op, tensors, options, std::make_index_sequence<sizeof...(Args) - 2>());
  });
}

}  // namespace tw::bind
