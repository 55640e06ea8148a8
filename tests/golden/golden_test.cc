// Golden tests: every tests/golden/**/*.txt is one test, a page of text.
//
//   # what it shows, in one line
//   input
//   ---
//   expected output
//
// An input that begins with `pass: vectorize, unroll` is IR text; the output is the IR after these passes (`print`: as
// parsed, `all`: the whole pipeline), or the error; after `c`, which comes last, the C text without the interface and
// the descriptor that every file has, and after `cuda` the CUDA text without its head, and the plan of its launches.
// `target: ...` may follow on a line of its own. `kernel: softmax, M=3, N=5` is a stock operator; the output is what it
// means (kernel_text.h), and of `space: ...` its automatic space (space_text.h). Any other input is a tensor expression
// with its schedule (te_text.h).
//
// UPDATE_GOLDEN=1 writes the output into the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/c/source.h"
#include "codegen/cuda/source.h"
#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tests/folders.h"
#include "tests/golden/kernel_text.h"
#include "tests/golden/space_text.h"
#include "tests/golden/te_text.h"

namespace tw::golden {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::string before, input, expected;  // comment lines at the top; up to ---; after it
  std::vector<Line> lines;              // of the input
};

Page read_page(const fs::path& path) {
  std::ifstream in(path);
  Page page;
  std::string line;
  bool after = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (after) {
      page.expected += line + "\n";
    } else if (line == "---") {
      after = true;
    } else {
      page.before += line + "\n";
      if (line.starts_with("#") || line.find_first_not_of(' ') == line.npos) continue;
      page.input += line + "\n";
      page.lines.push_back({number, line});
    }
  }
  return page;
}

std::string after_prefix(const std::string& line, std::string_view prefix) {
  const size_t begin = line.find_first_not_of(' ', prefix.size());
  return begin == line.npos ? "" : line.substr(begin);
}

ir::Program run_passes(ir::Program program, const std::string& names, const Target& target) {
  std::istringstream list(names);
  for (std::string name; std::getline(list >> std::ws, name, ',');) {
    if (name == "print" || name == "c" || name == "cuda") continue;
    if (name == "all" || name == "plain") {  // plain: all but the pass lanes
      const auto loops = name == "all" ? lower::PlainLoops::kGetLanes : lower::PlainLoops::kStay;
      program = lower::run_pipeline(lower::passes_for(program, lower::cpu_passes()), program, target, {}, loops);
      continue;
    }
    const lower::Pass* pass = lower::pass_named(name);
    if (pass == nullptr) throw std::runtime_error("no pass " + name);
    program = pass->function(program, target);
  }
  return program;
}

// Lowering is for a CPU; a build without LLVM knows none.
#ifdef TW_LLVM
constexpr const char* kDefaultTarget = "llvm -mcpu=x86-64-v3";
#else
constexpr const char* kDefaultTarget = "interp";
bool needs_llvm(const Page& page) {
  return std::any_of(page.lines.begin(), page.lines.end(), [](const Line& line) {
    return line.text.starts_with("lower:") || line.text.starts_with("space:") ||
           (line.text.starts_with("pass:") && line.text != "pass: print");
  });
}
#endif

std::string c_text(const ir::Program& program, const Target& target) {
  const std::string text = codegen::c_source({program}, target), last_of_interface = "FP_CONTRACT OFF\n#endif\n\n";
  const size_t begin = text.find(last_of_interface) + last_of_interface.size();
  return text.substr(begin, text.find("\nstatic const int64_t tw_", begin) - begin);
}

std::string cuda_text(const ir::Program& program, const Target& target) {
  const codegen::CudaSource source = codegen::cuda_source({program}, target);
  std::vector<std::string> arguments, scalars;
  for (const ir::Param& param : program.params) arguments.push_back(param.buffer.name());
  for (const ir::Var& var : program.scalars) scalars.push_back(var.name());
  const size_t begin = source.text.find("*/\n") + 3;
  return source.text.substr(begin) + "\n" + to_string(source.plans[0], arguments, scalars);
}

std::string run_ir(const Page& page) {
  std::string names = after_prefix(page.lines[0].text, "pass:"), target = kDefaultTarget, text;
  for (size_t i = 1; i < page.lines.size(); ++i) {
    if (page.lines[i].text.starts_with("target:")) {
      target = after_prefix(page.lines[i].text, "target:");
    } else {
      text += page.lines[i].text + "\n";
    }
  }
  try {
    const Target on = Target::parse(target).value_or_throw();
    const ir::Program program = run_passes(ir::parse_program(text).value_or_throw(), names, on);
    if (names.ends_with(", cuda")) return cuda_text(program, on);
    return names.ends_with(", c") ? c_text(program, on) : ir::to_string(program);
  } catch (const Error& error) {
    return error.diagnostic().render() + "\n";
  }
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(fs::path path) : path_(std::move(path)) {}

  void TestBody() override {
    const Page page = read_page(path_);
    ASSERT_FALSE(page.lines.empty()) << path_ << " has no input";
#ifndef TW_LLVM
    if (needs_llvm(page)) GTEST_SKIP() << "built without LLVM";
#endif
    EXPECT_TRUE(page.before.starts_with("# ")) << "the first line of " << path_ << " says what it shows";
    const std::string& first = page.lines[0].text;
    const std::string actual = first.starts_with("pass:")     ? run_ir(page)
                               : first.starts_with("kernel:") ? run_kernel(after_prefix(first, "kernel:"))
                               : first.starts_with("space:")  ? run_space(after_prefix(first, "space:"), page.lines)
                                                              : run_te(path_.filename().string(), page.lines);
    if (actual.starts_with("kernel ")) {
      const Result<ir::Program> back = ir::parse_program(actual);
      ASSERT_TRUE(back.ok()) << back.error().render();
      EXPECT_EQ(ir::to_string(*back), actual) << "does not come back from its text";
    }
    if (const char* update = std::getenv("UPDATE_GOLDEN"); update != nullptr && update == std::string("1")) {
      std::ofstream(path_) << page.before << "---\n" << actual;
      return;
    }
    EXPECT_EQ(actual, page.expected) << "of " << path_ << "; UPDATE_GOLDEN=1 accepts the new text";
  }

 private:
  fs::path path_;
};

const bool kRegistered = [] {
  const fs::path root = fs::path(TW_SOURCE_DIR) / "tests" / "golden";
  std::vector<fs::path> pages;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".txt") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  for (const fs::path& page : pages) {
    const std::string name = fs::relative(page, root).replace_extension().string();
    testing::RegisterTest("Golden", name.c_str(), nullptr, nullptr, page.c_str(), 1,
                          [page] { return new GoldenTest(page); });
  }
  return true;
}();

}  // namespace
}  // namespace tw::golden
