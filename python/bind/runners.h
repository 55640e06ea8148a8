// Runners by way of Python: a function that says how long a candidate took which was checked here, and an object that
// has whole runs done elsewhere.
#pragma once

#include <pybind11/pybind11.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/builder.h"
#include "src/runtime/local_runner.h"

namespace tw::bind {

// A candidate runs in a worker first, once, which checks what it computes; how long it takes is what a function of
// Python says: run(index, shared object) -> (seconds of each repeat, "" or why there are none).
class PythonRunner final : public runtime::Runner {
 public:
  PythonRunner(pybind11::object run, std::string description);
  runtime::RunResult run(const runtime::RunRequest&) override;
  MachineDescription machine() const override;
  void cancel() override { local_.cancel(); }

 private:
  std::pair<std::vector<double>, std::string> asked(const runtime::RunRequest&) const;

  const pybind11::object run_;
  const std::string description_;
  runtime::LocalRunner local_;
};

// Compiles where an object of Python says: build(request, seconds) gives what `build_object` did there or, as a str,
// why nobody did; cancel().
class ServedBuilder final : public runtime::Builder {
 public:
  ServedBuilder(pybind11::object server, int slots) : server_(std::move(server)), slots_(slots) {}
  runtime::BuildResult build(const runtime::BuildRequest&, double timeout_s) override;
  int slots() const override { return slots_; }
  void cancel() override;

 private:
  const pybind11::object server_;
  const int slots_;
};

// Runs are an object's of Python, whole, check included: `run_request` in a process elsewhere does what they ask. Used
// are its machine and slots; run(request, blobs), by several threads, which gives the answer and its blobs or, as a
// str, why the run was lost (a blob that comes again is the same object); why_not(target); cancel(). Where it has
// builders, a number, it is a ServedBuilder's too.
class ServedRunner final : public runtime::Runner {
 public:
  explicit ServedRunner(pybind11::object server);
  runtime::RunResult run(const runtime::RunRequest&) override;
  int slots() const override { return slots_; }
  MachineDescription machine() const override { return machine_; }
  std::string why_not(const Target&) const override;
  runtime::Builder* builder() override { return builder_.get(); }
  void cancel() override;

 private:
  pybind11::bytes as_bytes(const Blob&);

  const pybind11::object server_;
  const MachineDescription machine_;
  const int slots_;
  const std::unique_ptr<ServedBuilder> builder_;
  // What checks candidates, of the last tasks, the newest first. The interpreter's lock is its lock.
  std::deque<std::pair<Blob, pybind11::bytes>> known_;
};

void bind_runners(pybind11::module_&);  // after Machine

}  // namespace tw::bind
