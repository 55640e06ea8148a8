// The C header that stands beside saved kernels.
//
// Self-contained: the ABI, the declarations of the kernels and of those that pack for them, contexts, and of each
// kernel functions with one typed pointer per parameter. Nothing of Tensorwright is needed at run time. The functions
// ask what the CPU has before any instruction of a kernel is met, and choose among variants of one kernel; the answer
// is kept where they are compiled, in an atomic integer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// `program` is the lowered one, by whose name the object has it.
struct HeaderVariant {
  Target target;
  ir::Program program;
  std::string origin = {};  // one line, for people
};
// Variants of the same parameters, the best first: the first that the CPU can run is called.
struct HeaderKernel {
  std::string name;  // of NAME_run
  std::vector<HeaderVariant> variants;
};

// What C sees of the kernels is each one's own: which two define one name, else nothing.
std::optional<std::string> name_clash(const std::vector<HeaderKernel>& kernels);

// Of one architecture. kArgument where two kernels define one name. `host` is the triple of what launches those of
// devices.
std::string c_header(const std::vector<HeaderKernel>& kernels, const std::string& host);
std::string c_header(const std::vector<ir::Program>& programs, const Target& target, const std::string& host = {});

}  // namespace tw::codegen
