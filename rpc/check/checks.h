// What checks the candidates of one task on a machine elsewhere, and the request that runs them there. Packs carry it
// in a file, clients of a board over the network.
//
// Inputs follow from their specifications (runtime/inputs.h) and do not travel, unless somebody wants others; of a
// reference only outputs do (outputs.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::rpc {

struct Checks {
  std::string target;  // as Target::to_string gives it; and what it stands for, as the machine knows few names:
  std::string triple;  // empty: objects alone say what they need
  std::vector<std::string> features = {};
  int sve_bits = 0;
  std::string hardware = {};  // of the records from which the candidates were proposed; empty: there are none
  int threads = 0;            // of the kernel; 0: as many as the machine has cores
  std::string kernel = {};    // its name in the objects
  std::vector<runtime::ArgSpec> args = {};
  std::vector<double> rtol = {};
  std::optional<Blob> inputs = {};     // RunRequest's, where they are others than random_inputs
  std::optional<Blob> reference = {};  // RunRequest's, or
  std::optional<runtime::MadeReference> made_reference = {};
  Blob device_checks = {};  // RunRequest's
  double timeout_s = 10;
  int number = 0, repeat = 0;  // RunRequest's
};

// Of what comes from elsewhere: what no release sends, or "". `arguments` may be asked first, before memory is counted.
std::string unsound_arguments(const Checks&);
std::string unsound(const Checks&);

bool is_for_gpu(const Checks&);

// Of requests for a Runner elsewhere: what all of them have in common.
Checks checks_of(const runtime::RunRequest&);

// The request of a candidate on the machine of this Runner, all but the object and what is the candidate's own. Throws
// tw::Error: kTarget where the machine can't run the code, kTune where it is not the one of the records, has fewer
// cores or too little memory, or where the reference can't be made there.
runtime::RunRequest request_here(const Checks&, runtime::Runner&);
double seconds_for_request(const Checks&);  // that this may take, about

}  // namespace tw::rpc
