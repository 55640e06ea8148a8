// What is known of the reads of a compute, beside its bodies.
#pragma once

#include <string>
#include <vector>

#include "src/ir/requirement.h"
#include "tensorwright/te.h"

namespace tw::te {

struct ReadNotes {
  std::vector<ir::Requirement> requirements;  // of sizes, without which a read is outside of its tensor
  std::vector<std::string> clamps;            // subscripts that are moved into their tensors, for people
};
void note_reads(const OpNode&, ReadNotes);
ReadNotes notes_of(const OpNode&);
void forget_notes(const OpNode&);

// What a program that computes `roots` requires, as statements before its body: each once, and none that follows from
// the others or from what the parameters' shapes are. Its params are set.
void add_requirements(ir::Program&, const std::vector<Tensor>& roots);

}  // namespace tw::te
