// 2,000 malformed texts: programs and Steps as JSON whose bytes were flipped, words swapped, numbers made huge, or ends
// cut off. Each ends in a ParseError (or the error of the Step that it now names), or is read as something that means
// one thing: its text form gives it back, and lowering keeps what the interpreter computes.
#include <cstdlib>
#include <cstring>

#include "src/ir/equal.h"
#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tensorwright/schedule.h"
#include "tests/diff/sampler.h"
#include "tests/faults/malformed.h"

namespace tw::faults {
namespace {

using diff::Random;

constexpr int kPrograms = 1400;
constexpr int kStepTexts = 600;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (const char c : text) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    const bool joins = part && !words.empty() &&
                       (std::isalnum(static_cast<unsigned char>(words.back().back())) || words.back().back() == '_');
    if (joins) {
      words.back() += c;
    } else {
      words.emplace_back(1, c);
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += w;
  return out;
}

std::string with_number(Random& r, std::vector<std::string> words) {
  static const std::vector<std::string> kNumbers = {"9223372036854775807",
                                                    "-9223372036854775808",
                                                    "18446744073709551616",
                                                    "99999999999999999999999",
                                                    "-1",
                                                    "0",
                                                    "4294967296",
                                                    "1e400",
                                                    "nan",
                                                    "1.5"};
  std::vector<size_t> digits;
  for (size_t i = 0; i < words.size(); ++i)
    if (std::isdigit(static_cast<unsigned char>(words[i][0]))) digits.push_back(i);
  if (!digits.empty()) words[r.pick(digits)] = r.chance(50) ? r.pick(kNumbers) : std::to_string(r.below(20));
  return joined(words);
}

// One change, sometimes several.
std::string damaged(Random& r, std::string text) {
  do {
    if (text.empty()) return text;
    const auto at = static_cast<size_t>(r.below(static_cast<int64_t>(text.size())));
    std::vector<std::string> words = words_of(text);
    const auto word = [&]() -> std::string& {
      return words[static_cast<size_t>(r.below(static_cast<int64_t>(words.size())))];
    };
    switch (r.below(8)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << r.below(8)));
        break;
      case 1:
        text[at] = static_cast<char>(r.below(256));
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        std::swap(word(), word());
        text = joined(words);
        break;
      case 4: {
        const std::string other = word();
        word() = other;
        text = joined(words);
        break;
      }
      case 5:
        word().clear();
        text = joined(words);
        break;
      case 6:
        text.insert(at, text.substr(static_cast<size_t>(r.below(static_cast<int64_t>(text.size()))),
                                    static_cast<size_t>(r.below(40))));
        break;
      default:
        text = with_number(r, words);
    }
  } while (r.chance(25));
  return text;
}

struct Counts {
  int texts = 0, refused = 0, judged = 0;
};

// Enough bytes for every parameter, the same each time; small values, so that sums of floats round nowhere.
std::vector<std::vector<std::byte>> memory_for(const ir::Program& p) {
  std::vector<std::vector<std::byte>> out;
  for (const ir::Param& param : p.params) {
    int64_t span = 1, elements = 1;
    for (size_t d = 0; d < param.buffer.rank(); ++d) {
      elements *= *ir::as_int(param.buffer.shape()[d]);
      if (!param.buffer.strides().empty())
        span += (*ir::as_int(param.buffer.shape()[d]) - 1) * std::abs(*ir::as_int(param.buffer.strides()[d]));
    }
    out.emplace_back(static_cast<size_t>(std::max<int64_t>(std::max(span, elements), 0) * 8), std::byte{0});
  }
  return out;
}

Status run(const ir::Program& p, std::vector<std::vector<std::byte>>& memory) {
  std::vector<ir::InterpBuffer> buffers;
  for (auto& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
  return ir::interpret(p, buffers);
}

// A program that was read, with text that nobody wrote on purpose: what runs in the interpreter runs the same lowered.
std::string judge(const ir::Program& p, Counts& counts) try {
  if (!p.scalars.empty() || !is_small(p, 20'000)) return "";
  auto memory = memory_for(p), lowered_memory = memory;
  if (!run(p, memory).ok()) return "";  // reads outside, races, reads what nothing wrote: the program's own mistake
  ++counts.judged;
  const auto target = Target::parse("llvm -mcpu=x86-64");  // without fused multiply-adds, which round differently
  const ir::Program lowered = lower::run_pipeline(lower::passes_for(p, lower::cpu_passes()), p, *target);
  if (const Status ran = run(lowered, lowered_memory); !ran.ok()) return "lowered: " + ran.error().render();
  bool calls = false;  // whose expansions are a few units in the last place apart
  ir::walk(
      p.body, [](const ir::Stmt&) { return true; },
      [&](const ir::Expr& e) { return calls |= ir::as<ir::Call>(e) != nullptr, true; });
  return calls || memory == lowered_memory ? "" : "lowered: another result\n" + ir::to_string(lowered);
} catch (const Error& refused) {
  return untyped(refused.diagnostic());
}

std::string program_fault(const std::string& text, Counts& counts) {
  const Stopwatch watch;
  const auto p = ir::parse_program(text);
  if (const std::string slow = watch.too_long(); !slow.empty()) return slow;
  if (!p.ok()) {
    ++counts.refused;
    return p.error().kind == ErrorKind::kParse ? untyped(p.error()) : "no ParseError: " + p.error().render();
  }
  const auto again = ir::parse_program(ir::to_string(*p));
  if (!again.ok() || !ir::equal(*p, *again)) return "changes in its text form:\n" + ir::to_string(*p);
  const std::string found = judge(*p, counts);
  return found.empty() ? watch.too_long() : found;
}

std::string steps_fault(const std::string& text, const diff::Sample& sample, Counts& counts) {
  const Stopwatch watch;
  const auto steps = schedule::steps_from_json(text);
  if (!steps.ok()) {
    ++counts.refused;
    return steps.error().kind == ErrorKind::kParse ? untyped(steps.error())
                                                   : "no ParseError: " + steps.error().render();
  }
  const auto again = schedule::steps_from_json(schedule::to_json(*steps));
  if (!again.ok() || *again != *steps) return "changes as JSON: " + schedule::to_json(*steps);
  const auto s = schedule::Schedule::from_steps(sample.outputs, *steps);
  const auto p = s.ok() ? schedule::to_ir(*s, sample.args, "kernel", sample.scalars) : Result<ir::Program>(s.error());
  if (const std::string slow = watch.too_long(); !slow.empty()) return slow;
  if (!p.ok()) {
    ++counts.refused;
    return untyped(p.error());
  }
  ++counts.judged;
  return "";
}

// Ten texts of each sample, of which `prepare` makes what `fault` damages and judges.
template <class Prepare, class Fault>
void try_texts(int wanted, const char* what, Prepare prepare, Fault fault) {
  const char* first = std::getenv("TW_SEED");
  Counts counts;
  int failures = 0;
  for (uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 6'000'000; counts.texts < wanted && failures < 5;
       ++seed) {
    Random r(seed);
    const auto prepared = prepare(diff::draw(seed));
    for (int n = 0; n < 10 && counts.texts < wanted; ++n, ++counts.texts) {
      std::string text, found;
      try {
        found = fault(r, prepared, counts, text);
      } catch (const std::exception& e) {
        found = std::string("thrown: ") + e.what();
      }
      if (found.empty()) continue;
      ++failures;
      ADD_FAILURE() << "seed " << seed << ", text " << n << ": " << found << "\n" << text;
    }
  }
  std::printf("%d texts of %s, %d refused, %d judged\n", counts.texts, what, counts.refused, counts.judged);
  EXPECT_GT(counts.refused * 2, counts.texts);
}

int wanted(int otherwise) {
  const char* given = std::getenv("TW_TEXTS");
  return given ? std::atoi(given) : otherwise;
}

TEST(Malformed, ProgramsAreRefusedOrMeanOneThing) {
  struct Programs {
    ir::Program scheduled, lowered;
  };
  try_texts(
      wanted(kPrograms), "programs",
      [](const diff::Sample& sample) {
        const auto s = schedule::Schedule::from_steps(sample.outputs, sample.steps).value_or_throw();
        const ir::Program p = schedule::to_ir(s, sample.args, "kernel", sample.scalars).value_or_throw();
        return Programs{p, lower::run_pipeline(lower::passes_for(p, lower::cpu_passes()), p, Target::host())};
      },
      [](Random& r, const Programs& of, Counts& counts, std::string& text) {
        text = damaged(r, ir::to_string(r.chance(50) ? of.lowered : of.scheduled));
        return program_fault(text, counts);
      });
}

TEST(Malformed, JsonIsRefusedOrRead) {
  try_texts(
      wanted(kStepTexts), "Steps", [](const diff::Sample& sample) { return sample; },
      [](Random& r, const diff::Sample& sample, Counts& counts, std::string& text) {
        text = damaged(r, schedule::to_json(sample.steps));
        return steps_fault(text, sample, counts);
      });
}

}  // namespace
}  // namespace tw::faults
