// A pack: candidates of a tuning in one file, built for a machine that nothing reaches but the file, with what checks
// them there (docs/boards.md).
//
//   {"twpack":1,"task":{...},"target":"...",...,"blobs":[{"bytes":8120,"checksum":"0123456789abcdef"},...],"checksum":"..."}
//   the blobs' bytes, one after the other
//
// The first line is JSON and sealed as the lines of a log are; each blob has a checksum of its own. Objects that are
// equal, and the reference, are there once. Inputs are not: they follow from their specifications (runtime/inputs.h).
#pragma once

#include <string>
#include <vector>

#include "rpc/check/checks.h"

namespace tw::rpc {

constexpr int kPackVersion = 1;

struct PackedCandidate {
  std::string record;        // its line of the log without checksum, as far as it is known: JSON
  Blob object = {};          // of no bytes: it could not be built, as the record says
  double lower_bound_s = 0;  // RunRequest's
};

struct Pack {
  std::string task;  // for people: matmul(M=64, ...)
  Checks checks;
  int batch = 16;     // candidates between two looks at what is given up at
  int confirm = 4;    // leaders that are timed again at the end
  double best_s = 0;  // among earlier records; 0: none
  std::vector<PackedCandidate> candidates;
};

// Replaces the file or leaves it as it was. How many bytes it has. Throws tw::Error (kTune).
size_t write_pack(const Pack&, const std::string& path);
// Throws tw::Error (kTune), which says what is damaged or that the pack is a newer release's.
Pack read_pack(const std::string& path);

}  // namespace tw::rpc
