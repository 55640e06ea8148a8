// What the files share that bind _core.Schedule: its Steps (primitives.cc), and what Python asks of its nest
// (questions.cc).
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "schedule/refuse.h"
#include "tensorwright/schedule.h"

namespace tw::schedule::binding {

using Names = std::vector<std::string>;
using Line = std::pair<std::string, int>;  // of the user's program

inline SourceLine source_line(const Line& at) { return {at.first, at.second}; }

[[noreturn]] inline void refused(Diagnostic d, const Line& at) {
  d.where = source_line(at);
  throw Error(std::move(d));
}

void bind_primitives(pybind11::class_<Schedule>&);
void bind_questions(pybind11::module_&, pybind11::class_<Schedule>&);

}  // namespace tw::schedule::binding
