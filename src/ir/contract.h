// The contract of bounds inference: every value that is read was written before, at least once and always with the same
// value, inside its buffer.
//
// What is checked when
//
//   always            verify.h: subscripts have the right number and type; bounds inference itself is by intervals
//   debug builds and  on programs of at most kSteps iterations, whose arguments are then zeros and whose symbolic sizes
//   with TW_VERIFY=1  are 3, the interpreter checks all of it: what to_ir gives, and what the last pass leaves
//   differential      the same on random data, for random schedules of every primitive (tests/diff, oracle `loop
//   tests             program`), and on illegal Steps that were accepted (tests/faults)
//
// A program that is larger, or calls foreign code, is not run: interpreting it would take longer than compiling it.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

// Whether programs are verified as they are made.
bool verifies();

// ok when the program keeps the contract, or is not run. A program as to_ir gives it also gives each element one value,
// but for the buffers named in `changing` (InterpOptions).
enum class ProgramForm : uint8_t { kScheduled, kLowered };
Status check_contract(const Program&, ProgramForm, const std::vector<std::string>& changing = {});

}  // namespace tw::ir
