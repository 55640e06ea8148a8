#include "autotune/measure/verdicts.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <vector>

#include "autotune/measure/small_sizes.h"
#include "codegen/backends.h"
#include "src/ir/interp.h"
#include "src/ir/walk.h"
#include "src/lower/launches.h"
#include "src/support/deep_stack.h"
#include "src/support/rng.h"

namespace tw::autotune {

namespace {

constexpr int64_t kMostSteps = 4'000'000;   // a second or so
constexpr int64_t kMostElements = 1 << 22;  // each of which it keeps some 30 bytes of

bool is_digit(char c) { return isdigit(static_cast<unsigned char>(c)); }
bool is_of_a_name(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The program without the numbers that factors and extents are; how many groups a wait leaves tells slots apart.
std::string structure_of(const ir::Program& loops) {
  std::istringstream lines(ir::to_string(loops));
  std::string out;
  for (std::string line; std::getline(lines, line); out += '\n') {
    const bool waits = line.find("sync ") != line.npos;
    for (size_t at = 0; at < line.size(); ++at) {
      if (waits || !is_digit(line[at]) || (at > 0 && is_of_a_name(line[at - 1]))) {
        out += line[at];
        continue;
      }
      while (at + 1 < line.size() && is_digit(line[at + 1])) ++at;
      out += '#';
    }
  }
  return out;
}

int64_t elements_of(const ir::Buffer& buffer) {
  int64_t elements = 1;
  for (const ir::Expr& extent : buffer.shape()) elements *= ir::as_int(extent).value_or(1);
  return elements;
}

// Of arguments, and of what stands between the launches.
int64_t elements_in_memory(const ir::Program& program) {
  int64_t elements = 0;
  for (const ir::Param& param : program.params) elements += elements_of(param.buffer);
  ir::walk(program.body, [&](const ir::Stmt& s) {
    const auto* a = ir::as<ir::Allocate>(s);
    if (a && a->buffer.scope() == ir::Scope::kGlobal) elements += elements_of(a->buffer);
    return true;
  });
  return elements;
}

// Elements that differ, so that conditions on them do.
std::vector<std::byte> some_bytes(ir::Type type, int64_t elements) {
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes_of(elements)));
  support::Rng rng(1);
  const auto size = static_cast<size_t>(type.bytes());
  for (size_t at = 0; at + size <= bytes.size(); at += size)
    if (rng.below(2))
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, std::byte{0x4b});  // large, of every type
  return bytes;
}

}  // namespace

std::string interpreters_finding(const ir::Program& program, int64_t most_steps) {
  if (!program.scalars.empty()) return "";
  std::vector<std::vector<std::byte>> data;
  std::vector<ir::InterpBuffer> buffers;
  if (elements_in_memory(program) > kMostElements) return "";
  for (const ir::Param& param : program.params)
    data.push_back(some_bytes(param.buffer.element(), elements_of(param.buffer)));
  for (std::vector<std::byte>& bytes : data) buffers.push_back({bytes.data(), bytes.size()});
  const Status said = ir::interpret(program, buffers, {.max_steps = most_steps});
  return said.ok() || said.error().what == ir::stopped_after(most_steps) ? "" : said.error().render();
}

std::string Verdicts::judge(const Scheduled& candidate, const ir::Program& loops) {
  ir::Program program = loops;
  if (const std::optional<Scheduled> small = autotune::at_small_sizes(candidate)) {
    if (Result<ir::Program> made = schedule::to_ir(small->schedule, small->args, loops.name)) {
      program = *std::move(made);
      ++small_;
    }
  }
  return support::with_deep_stack([&] {
    const ir::Program lowered = lower::run_pipeline(codegen::backend_of(target_).passes, program, target_);
    return interpreters_finding(lowered, kMostSteps);
  });
}

std::string Verdicts::of(const Scheduled& candidate, const ir::Program& loops) {
  if (!lower::holds_launch(loops)) return "";
  std::promise<std::string> mine;
  std::shared_future<std::string> verdict;
  {
    const std::scoped_lock lock(mutex_);
    const auto [known, fresh] = known_.try_emplace(structure_of(loops));
    if (!fresh) {
      verdict = known->second;
    } else {
      known->second = mine.get_future().share();
    }
  }
  if (verdict.valid()) return verdict.get();
  try {
    std::string finding = judge(candidate, loops);
    mine.set_value(finding);
    return finding;
  } catch (...) {
    mine.set_value("");  // that it cannot be lowered is for its builder to say
    return "";
  }
}

int Verdicts::structures() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(known_.size());
}

}  // namespace tw::autotune
