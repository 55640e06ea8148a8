// Runs kernels of a shared object on the CPU that this program is built for, as tests/diff/emulated.cc asks.
//
//   tw-kernels OBJECT JOBS RESULTS    jobs.h says what is in both files; RESULTS is written job by job
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/diff/jobs.h"

int main(int argc, char** argv) try {
  if (argc != 4) return std::fprintf(stderr, "tw-kernels OBJECT JOBS RESULTS\n"), 3;
  std::ostringstream text;
  text << std::ifstream(argv[2], std::ios::binary).rdbuf();
  const auto jobs = tw::diff::decode_jobs(text.str());
  if (!jobs) return std::fprintf(stderr, "%s is no file of jobs\n", argv[2]), 3;
  std::ofstream results(argv[3], std::ios::binary);
  std::shared_ptr<const tw::runtime::Kernel> kernel;
  for (const tw::diff::Job& job : *jobs) {
    if (!kernel || kernel->name() != job.kernel) kernel = tw::runtime::load(argv[1], job.kernel);
    results << encode(run_fenced(*kernel, job.arguments, job.inputs, job.scalars)) << std::flush;
  }
  return results.good() ? 0 : 3;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
