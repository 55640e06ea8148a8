#include "tests/diff/jobs.h"

#include <cstring>

#include "src/runtime/frame.h"

namespace tw::diff {

namespace {

using runtime::FrameReader;
using runtime::FrameWriter;

void write(FrameWriter& out, const Memory& memory) {
  out.number(static_cast<int64_t>(memory.size()));
  for (const auto& bytes : memory) out.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Memory read_memory(FrameReader& in) {
  Memory memory;
  for (int64_t n = in.number(); n > 0 && in.ok(); --n) {
    const std::string text = in.text();
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    memory.emplace_back(bytes, bytes + text.size());
  }
  return memory;
}

}  // namespace

std::string encode(const std::vector<Job>& jobs) {
  FrameWriter out;
  out.number(static_cast<int64_t>(jobs.size()));
  for (const Job& job : jobs) {
    out.text(job.kernel).number(static_cast<int64_t>(job.arguments.size()));
    for (const Argument& argument : job.arguments) out.text(argument.name).number(argument.is_input);
    write(out, job.inputs);
    out.numbers({job.scalars.begin(), job.scalars.end()});
  }
  return out.bytes();
}

std::optional<std::vector<Job>> decode_jobs(std::string_view text) {
  FrameReader in(text);
  std::vector<Job> jobs;
  for (int64_t n = in.number(); n > 0 && in.ok(); --n) {
    Job job;
    job.kernel = in.text();
    for (int64_t arguments = in.number(); arguments > 0 && in.ok(); --arguments) {
      Argument argument{in.text(), false};
      argument.is_input = in.number() != 0;
      job.arguments.push_back(std::move(argument));
    }
    job.inputs = read_memory(in);
    const std::vector<int64_t> scalars = in.numbers();
    job.scalars.assign(scalars.begin(), scalars.end());
    jobs.push_back(std::move(job));
  }
  if (!in.complete()) return std::nullopt;
  return jobs;
}

std::string encode(const Ran& ran) {
  FrameWriter out;
  out.number(ran.code).text(ran.damage);
  write(out, ran.memory);
  const uint64_t size = out.bytes().size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + out.bytes();
}

std::vector<Ran> decode_results(std::string_view text) {
  std::vector<Ran> all;
  for (uint64_t size = 0; text.size() >= sizeof size;) {
    std::memcpy(&size, text.data(), sizeof size);
    text.remove_prefix(sizeof size);
    if (size > text.size()) break;
    FrameReader in(text.substr(0, size));
    text.remove_prefix(size);
    Ran ran;
    ran.code = static_cast<int32_t>(in.number());
    ran.damage = in.text();
    ran.memory = read_memory(in);
    if (!in.complete()) break;
    all.push_back(std::move(ran));
  }
  return all;
}

}  // namespace tw::diff
