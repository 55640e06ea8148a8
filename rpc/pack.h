// A pack: candidates of a tuning in one file, built for a machine that nothing reaches but the file, with what checks
// them there (docs/boards.md).
//
//   {"twpack":1,"task":{...},"target":"...",...,"blobs":[{"bytes":8120,"checksum":"0123456789abcdef"},...],"checksum":"..."}
//   the blobs' bytes, one after the other
//
// The first line is JSON and sealed as the lines of a log are; each blob has a checksum of its own. Objects that are
// equal, and the reference, are there once. Inputs are not: they follow from their specifications (runtime/inputs.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::rpc {

constexpr int kPackVersion = 1;

// An element of an output that is known from the declaration, by the interpreter.
struct Probe {
  size_t argument = 0;
  int64_t element = 0;  // in row-major order
  double expected = 0;
  bool operator==(const Probe&) const = default;
};

// What outputs are compared with: made where the pack was, or, where it would be large, to be made where it is
// measured.
struct Reference {
  std::optional<Blob> arguments = {};  // laid out as RunRequest::reference; or
  Blob object = {};                    // the default schedule, whose outputs count once they have these elements
  std::vector<Probe> probes = {};
};

struct PackedCandidate {
  std::string record;        // its line of the log without checksum, as far as it is known: JSON
  Blob object = {};          // of no bytes: it could not be built, as the record says
  double lower_bound_s = 0;  // RunRequest's
};

struct Pack {
  std::string task;    // for people: matmul(M=64, ...)
  std::string target;  // as Target::to_string gives it; and what it stands for, as the machine knows few names:
  std::string triple;
  std::vector<std::string> features;
  int sve_bits = 0;
  std::string hardware;  // that the records are of from which the candidates were proposed; empty: of none
  int threads = 0;       // of the kernel; 0: as many as the machine has cores
  std::string kernel;    // its name in the objects
  std::vector<runtime::ArgSpec> args;
  std::vector<double> rtol;
  Reference reference;
  double timeout_s = 10;
  int number = 0, repeat = 0;  // RunRequest's
  int batch = 16;              // candidates between two looks at what is given up at
  int confirm = 4;             // leaders that are timed again at the end
  double best_s = 0;           // among earlier records; 0: none
  std::vector<PackedCandidate> candidates;
};

// Replaces the file or leaves it as it was. Throws tw::Error (kTune).
void write_pack(const Pack&, const std::string& path);
// Throws tw::Error (kTune), which says what is damaged or that the pack is a newer release's.
Pack read_pack(const std::string& path);

}  // namespace tw::rpc
