// What leaves the process: objects, shared objects and their C headers.
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "src/runtime/kernel.h"
#include "tests/unit/command.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

// Uses what tempts a compiler to call a library: copies, fills, divisions, wide and narrow casts.
constexpr const char* kTempting =
    R"(kernel NAME(A: float32[4096], B: int64[4096], C: out float32[4096], D: out int64[4096]):
  for i in 0..4096:
    C[i] = 0.0
  for i in 0..4096:
    C[i] = A[i]
  for i in 0..256:
    C[i * 16 : 16] = sqrt(abs(A[i * 16 : 16])) + float32(B[i * 16 : 16])
  for i in 0..4096 parallel:
    alloc t: int64[64] global
    for j in 0..64:
      t[j] = B[j] // (B[i] + 3i64)
    D[i] = t[i % 64] + int64(A[i])
)";

ir::Program named(const std::string& name) {
  std::string text = kTempting;
  return parse(text.replace(text.find("NAME"), 4, name));
}

std::string in_temp(const std::string& name) {
  static const test::Folder folder;
  return folder / name;
}

TEST(CodegenExport, NoUndefinedSymbolForAnyCpu) {
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3", "znver5"})
    for (int opt_level : {0, 3}) {
      const std::string path = in_temp(cpu) + ".o";
      build(named("k"), parse_target(std::string("llvm -mcpu=") + cpu), opt_level)->save(path);
      EXPECT_EQ(test::output_of("nm -u " + path), "") << cpu << " O" << opt_level;
    }
}

TEST(CodegenExport, NamesOfTheLibraryCollideWithNothing) {
  for (const char* name : {"exp", "main", "malloc", "k", "_start", "int"}) {
    const std::string path = in_temp(name) + ".so";
    build(named(name), native())->save(path);
    EXPECT_EQ(runtime::load(path)->name(), name);
  }
  const auto first = build(named("k"), native()), second = build(named("k"), native());
  EXPECT_NE(first->kernel(), second->kernel());
}

TEST(CodegenExport, BadNamesAndPathsAreRefused) {
  ir::Program p = named("k");
  for (const char* name : {"", "two words", "1st", "a-b", "caf\xc3\xa9"}) {
    p.name = name;
    EXPECT_THROW(build(p, native()), Error) << name;
  }
  const auto module = build(named("k"), native());
  EXPECT_THROW(module->save(in_temp("k.dll")), Error);
  EXPECT_THROW(module->save("/nowhere/at/all/k.o"), Error);
  EXPECT_THROW(module->save("/nowhere/at/all/k.so"), Error);
  EXPECT_THROW(module->source("wasm"), Error);
  module->save(in_temp("after.so"));  // a linker that failed once still links
}

TEST(CodegenExport, DescriptorSaysWhatTheProgramSays) {
  const std::string path = in_temp("described.so");
  build(parse("kernel k(A: float32[3, 5], C: out bool[]):\n  C[] = A@[7] > 1.0\n"), native())->save(path);
  const auto kernel = runtime::load(path);
  ASSERT_EQ(kernel->args().size(), 2u);
  EXPECT_EQ(kernel->args()[0].name, "A");
  EXPECT_EQ(kernel->args()[0].shape, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(kernel->args()[1].dtype, ir::Type::boolean());
  EXPECT_TRUE(kernel->args()[1].written);
  EXPECT_TRUE(kernel->args()[1].shape.empty());
}

// The generated header and the object, with a C compiler and nothing of ours.
TEST(CodegenExport, HeaderRunsTheKernelFromPlainC) {
  if (test::output_of("gcc --version").starts_with("exit status")) GTEST_SKIP() << "skipped: no gcc";
  build(named("dense"), native())->save(in_temp("dense.o"));
  std::ofstream(in_temp("main.c"))
      << "#include \"dense.h\"\n"
         "#include <stdio.h>\n"
         "static float a[4096], c[4096];\nstatic int64_t b[4096], d[4096];\n"
         "int main(void) {\n"
         "  for (int i = 0; i < 4096; ++i) { a[i] = 4; b[i] = 7; }\n"
         "  int32_t code = dense_run(a, b, c, d);\n"
         "  printf(\"%d %g %g %d %d\", (int)code, c[0], c[4095], (int)d[0], (int)d[4095]);\n"
         "  return 0;\n}\n";
  for (const char* how : {"gcc -std=c99 -Wall -Wextra -Werror", "gcc -fopenmp", "g++ -x c++ -Wall"}) {
    const std::string program = in_temp("main");
    const std::string source =
        std::string(how).starts_with("g++") ? in_temp("main.c") + " -x none " : in_temp("main.c") + " ";
    ASSERT_EQ(test::output_of(std::string(how) + " -o " + program + " " + source + in_temp("dense.o")), "") << how;
    EXPECT_EQ(test::output_of(program), "0 9 9 4 4") << how;
  }
}

// Where the system gives no registers for tiles the wrapper says so, and no instruction of theirs is met.
TEST(CodegenExport, HeaderAsksForTiles) {
  if (test::output_of("gcc --version").starts_with("exit status")) GTEST_SKIP() << "skipped: no gcc";
  const Target with = parse_target("llvm -mcpu=sapphirerapids");
  build(parse(R"(kernel tiles(A: int8[1024], B: int8[1024], C: out int32[256]):
  for i in 0..16:
    C[i * 16 : 16] = broadcast(0i32, 16)
  C[0 : 256] = tile_i8i8(C[0 : 256], A[0 : 1024], B[0 : 1024])
)"),
        with)
      ->save(in_temp("tiles.o"));
  std::ofstream(in_temp("tiles_main.c")) << R"(#include "tiles.h"
#include <stdio.h>
static int8_t a[1024], b[1024];
static int32_t c[256];
int main(void) {
  for (int i = 0; i < 1024; ++i) a[i] = 1, b[i] = 2;
  int32_t code = tiles_run(a, b, c);
  int32_t again = tiles_run(a, b, c);
  printf("%d %d %d", (int)code, (int)again, (int)c[255]);
  return 0;
}
)";
  const bool here = with.missing_here().empty(), tiles = Target::host().has("amx-tile");
  if (tiles && !here) GTEST_SKIP() << "skipped: a CPU with tiles that is no Sapphire Rapids";
  for (const char* how : {"gcc -std=c99 -Wall -Wextra -Werror", "g++ -x c++ -Wall -Wextra -Werror"}) {
    const std::string source = in_temp("tiles_main.c") + (how[1] == '+' ? " -x none " : " ");
    ASSERT_EQ(test::output_of(std::string(how) + " -o " + in_temp("tiles") + " " + source + in_temp("tiles.o")), "")
        << how;
    EXPECT_EQ(test::output_of(in_temp("tiles")), here ? "0 0 128" : "3 3 0") << how;
  }
}

// Two kernels of one object, called through one header.
TEST(CodegenExport, SeveralKernelsAreOneObjectWithOneHeader) {
  const te::Tensor a = te::placeholder({64}, "float32", "A");
  const auto declared = [&](const std::string& name, float factor) {
    const te::Tensor b = te::compute({64}, [&](ir::Var i) { return a(i) * te::constant(factor, "float32"); }, "B");
    return KernelDeclaration{name, schedule::Schedule({b}), {a, b}, {}};
  };
  const auto module = build(std::vector{declared("twice", 2), declared("thrice", 3)}, Target::host());
  ASSERT_EQ(module->kernels().size(), 2u);
  EXPECT_EQ(module->kernels()[1]->name(), "thrice");
  module->save(in_temp("both.o"));
  std::ofstream(in_temp("both_main.c")) << R"(#include "both.h"
int main(void) {
  float a[64], b[64], c[64];
  for (int i = 0; i < 64; ++i) a[i] = (float)i;
  if (twice_run(a, b) != 0 || thrice_run(a, c) != 0) return 1;
  for (int i = 0; i < 64; ++i)
    if (b[i] != 2 * a[i] || c[i] != 3 * a[i]) return 2;
  return tw_thrice_descriptor.param_count == 2 ? 0 : 3;
}
)";
  const std::string folder = in_temp("");
  EXPECT_EQ(
      test::output_of("cc -Wall -Wextra -Werror -o " + folder + "both " + folder + "both_main.c " + folder + "both.o"),
      "");
  EXPECT_EQ(test::output_of(folder + "both"), "");
  for (const char* second : {"k", "k_descriptor"}) {
    try {
      build(std::vector{declared("k", 2), declared(second, 3)}, Target::host());
      ADD_FAILURE() << second;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kArgument);
      EXPECT_NE(std::string(e.what()).find("build: kernels"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(build(std::vector<KernelDeclaration>{}, Target::host()), Error);
}

TEST(CodegenExport, ForeignCpusCompileButDoNotRun) {
  const auto module = build(named("k"), parse_target("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1"));
  const auto kernel = module->kernel();
  EXPECT_EQ(kernel->name(), "k");
  EXPECT_EQ(kernel->args().size(), 4u);
  std::vector<void*> nothing(4);
  try {
    kernel->run(nothing.data());
    ADD_FAILURE() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostic().kind, ErrorKind::kTarget);
    const std::string text = error.diagnostic().render();
    EXPECT_NE(text.find("llvm -mcpu=neoverse-n1 -mtriple=aarch64-unknown-linux-gnu"), std::string::npos) << text;
    EXPECT_NE(text.find("it is a x86_64-pc-linux-gnu"), std::string::npos) << text;
  }
  module->save(in_temp("arm.o"));
  module->save(in_temp("arm.so"));
  EXPECT_NE(module->source("asm").find("ret"), std::string::npos);
}

TEST(CodegenExport, SourcesShowTheirKind) {
  const auto module = build(named("k"), native());
  EXPECT_TRUE(module->source("ir").starts_with("kernel k("));
  EXPECT_NE(module->source("llvm").find("@tw_k("), std::string::npos);
  EXPECT_NE(module->source("asm").find("tw_k:"), std::string::npos);
}

#else
TEST(CodegenExport, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
