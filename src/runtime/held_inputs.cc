#include "src/runtime/held_inputs.h"

#include <sys/stat.h>

#include <new>

#include "src/runtime/arguments.h"
#include "src/runtime/guarded_buffer.h"

namespace tw::runtime {
namespace {

// Their bytes cannot change: two descriptors of one file are of one blob.
bool is_same(const Blob& a, const Blob& b) {
  struct stat one = {}, other = {};
  if (fstat(a.descriptor(), &one) != 0 || fstat(b.descriptor(), &other) != 0) return false;
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool fits(const std::vector<Uploaded>& inputs, const std::vector<ArgSpec>& args) {
  if (inputs.size() != args.size()) return false;
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].written == static_cast<bool>(inputs[i].memory) ||
        (!args[i].written && args[i].bytes() != inputs[i].memory->bytes()))
      return false;
  return true;
}

}  // namespace

void HeldInputs::hold(const RunRequest& request) try {
  if (is_same(blob_, request.inputs) && fits(inputs_, request.args)) return;
  inputs_.clear();
  blob_ = request.inputs;
  const std::vector<size_t> offsets = argument_offsets(request.args);
  for (size_t i = 0; i < request.args.size(); ++i) {
    Uploaded& input = inputs_.emplace_back();
    if (request.args[i].written) continue;
    input.memory = std::make_unique<GuardedBuffer>(request.args[i].bytes(), i);
    input.memory->upload(static_cast<const char*>(blob_.data()) + offsets[i]);
    input.digest = input.memory->digest();
  }
} catch (const std::bad_alloc&) {
  inputs_.clear();
  blob_ = {};
}

}  // namespace tw::runtime
