// The examples of contexts over people's own threads (examples/threads), built as they stand there and run.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/files.h"
#include "codegen/library.h"
#include "tests/folders.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/command.h"
#include "tests/unit/folder.h"

namespace tw {
namespace {

#if TW_LLVM

struct Example {
  const char *file, *compiler, *libraries, *package;
};
void PrintTo(const Example& example, std::ostream* out) { *out << example.file; }

class CodegenContexts : public testing::TestWithParam<Example> {};

TEST_P(CodegenContexts, RunTheKernel) {
  const Example& example = GetParam();
  if (test::output_of(std::string("echo | ") + example.compiler + " -fsyntax-only -").starts_with("exit status"))
    GTEST_SKIP() << "skipped: " << example.package << " is not installed";
  const auto d = autotune::testing::declare_dense(128, 96, 64);
  codegen::LibraryKernel dense{"dense", {}};
  for (const char* text : {"llvm -mcpu=x86-64", "llvm -mcpu=x86-64-v3"}) {
    const Target target = Target::parse(text).value_or_throw();
    schedule::Schedule s({d.D});
    s.apply(schedule::Split{"D", "i", 16, {}});
    s.apply(schedule::Parallel{"D", "i.o"});
    s.apply(schedule::ComputeAt{"C", "D", "i.o"});
    dense.variants.push_back({target, lowered_program(s, {d.A, d.B, d.bias, d.D}, target, "dense"), ""});
  }
  const test::Folder folder;
  for (const codegen::LibraryFile& file : codegen::make_library({dense}, {"kernels", "acme_"}).value_or_throw())
    codegen::write_file(folder / file.name, file.bytes);
  ASSERT_EQ(test::output_of(std::string(example.compiler) + " -O2 -Wall -Wextra -Werror -I" + folder.path() +
                            " -I" TW_SOURCE_DIR "/examples/threads -o " + folder / "example" +
                            " " TW_SOURCE_DIR "/examples/threads/" + example.file + " -x none " +
                            folder / "libkernels.a" + " " + example.libraries),
            "");
  EXPECT_EQ(test::output_of(folder / "example"), "right\n");
}

INSTANTIATE_TEST_SUITE_P(Examples, CodegenContexts,
                         testing::Values(Example{"openmp.c", "gcc -std=c99 -fopenmp -x c", "", "gcc"},
                                         Example{"std_thread.cc", "g++ -std=c++17 -pthread -x c++", "", "g++"},
                                         Example{"tbb.cc", "g++ -std=c++17 -include tbb/parallel_for.h -x c++", "-ltbb",
                                                 "TBB (Debian: libtbb-dev)"},
                                         Example{"event_loop.cc", "g++ -std=c++17 -pthread -x c++", "", "g++"}),
                         [](const testing::TestParamInfo<Example>& info) {
                           const std::string name = info.param.file;
                           return name.substr(0, name.find('.'));
                         });

#else
TEST(CodegenContexts, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
