// The target "c": what its text may contain, how it is compiled, what leaves the process.
#include <cstdlib>
#include <fstream>

#include "codegen/c/backend.h"
#include "codegen/c/source.h"
#include "src/lower/pipeline.h"
#include "src/runtime/kernel.h"
#include "tests/diff/fenced_memory.h"
#include "tests/unit/command.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

std::string in_temp(const std::string& name) {
  static const test::Folder folder;
  return folder / name;
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Copies, fills, parallel loops, scratch, divisions, vectors that live long, and what else tempts a compiler.
constexpr const char* kTempting =
    R"(kernel NAME(A: float32[4096], B: int64[4096], C: out float32[4096], D: out int64[4096]):
  for i in 0..4096:
    C[i] = 0.0
  for i in 0..4096:
    C[i] = A[i]
  for i in 0..256:
    alloc t: float32[32] local
    t[0 : 16] = A[i * 16 : 16]
    t[16 : 16] = t[0 : 16] * 2.0
    C[i * 16 : 16] = sqrt(abs(A[i * 16 : 16])) + float32(B[i * 16 : 16]) + t[16 : 16] - t[0 : 16] * 2.0
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

struct Data {
  std::vector<float> a = std::vector<float>(4096, 4), c = std::vector<float>(4096);
  std::vector<int64_t> b = std::vector<int64_t>(4096, 7), d = std::vector<int64_t>(4096);
  int32_t run(const runtime::Kernel& kernel) {
    void* data[] = {a.data(), b.data(), c.data(), d.data()};
    return kernel.run(data);
  }
};

class CodegenC : public testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::has_c_compiler()) GTEST_SKIP() << "skipped: no C compiler";
  }
};

TEST_F(CodegenC, RunsLikeAnyOtherModule) {
  const auto module = build(named("k"), parse_target("c -mcpu=native"));
  Data data;
  EXPECT_EQ(data.run(*module->kernel()), 0);
  EXPECT_EQ(data.c[4095], 9);
  EXPECT_EQ(data.d[4095], 4);
  EXPECT_EQ(module->target().kind, "c");
  EXPECT_TRUE(module->source("ir").starts_with("kernel k("));
  EXPECT_THROW(module->source("llvm"), Error);
  EXPECT_NE(build(named("k"), native())->source("c").find("tw_k("), std::string::npos);
}

TEST_F(CodegenC, TextIsPlainC99WithoutWarnings) {
  for (const char* cpu : {"x86-64", "x86-64-v4"}) {
    const Target on = parse_target(std::string("c -mcpu=") + cpu);
    write(in_temp("plain.c"),
          codegen::c_source({lower::run_pipeline(lower::cpu_passes(), named("k"), on), named("other")}, on));
    for (const char* compiler : {"gcc", "clang-19"}) {
      if (test::output_of(std::string(compiler) + " --version").starts_with("exit status")) continue;
      for (const char* vectors : {"-DTW_VECTORS=0", "-DTW_VECTORS=1"})
        EXPECT_EQ(test::output_of(std::string(compiler) + " -std=c99 -pedantic -Wall -Wextra -Werror -O1 -c " +
                                  vectors + " -o " + in_temp("plain.o ") + in_temp("plain.c")),
                  "");
    }
  }
}

TEST_F(CodegenC, NoUndefinedSymbolForAnyCpu) {
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"})
    for (const int opt_level : {0, 3}) {
      const std::string path = in_temp(cpu) + ".o";
      build(lower::run_pipeline(lower::cpu_passes(), named("k"), parse_target("c")),
            parse_target(std::string("c -mcpu=") + cpu), opt_level)
          ->save(path);
      EXPECT_EQ(test::output_of("nm -u " + path), "") << cpu << " O" << opt_level;
    }
}

TEST_F(CodegenC, NamesCollideWithNothing) {
  for (const char* name : {"exp", "main", "kernel", "args", "context", "param", "int", "parallel_body", "_start"}) {
    const std::string path = in_temp(name) + ".so";
    build(named(name), parse_target("c"))->save(path);
    Data data;
    const auto kernel = runtime::load(path);
    EXPECT_EQ(kernel->name(), name);
    EXPECT_EQ(data.run(*kernel), 0);
    EXPECT_EQ(data.c[1], 9);
  }
  const char* const text = R"(kernel k(int: float32[8], A.b: float32[8], l: float32[8], min_f32: out float32[8]):
  for do in 0..8:
    min_f32[do] = min(int[do], A.b[do]) + l[do]
  min_f32[0 : 4] = min_f32[0 : 4] + l[0 : 4]
)";
  std::vector<float> ones(8, 1), twos(8, 2), out(8);
  void* data[] = {ones.data(), twos.data(), twos.data(), out.data()};
  EXPECT_EQ(build(parse(text), parse_target("c"))->kernel()->run(data), 0);
  EXPECT_EQ(out, (std::vector<float>{5, 5, 5, 5, 3, 3, 3, 3}));
}

TEST_F(CodegenC, HeaderOfAKernelWithTheDefaultNameCompiles) {
  build(named("kernel"), parse_target("c"))->save(in_temp("default.c"));
  write(in_temp("main.c"),
        "#include \"default.h\"\n#include <stdio.h>\n"
        "static float a[4096], c[4096];\nstatic int64_t b[4096], d[4096];\n"
        "int main(void) {\n  printf(\"%d\", (int)kernel_run(a, b, c, d));\n  return 0;\n}\n");
  EXPECT_EQ(test::output_of("cc -std=c99 -o " + in_temp("main ") + in_temp("main.c ") + in_temp("default.c") +
                            " -lm && " + in_temp("main")),
            "0");
}

TEST_F(CodegenC, BadPathsAreRefused) {
  const auto module = build(named("k"), parse_target("c"));
  EXPECT_THROW(module->save(in_temp("k.dll")), Error);
  for (const char* name : {"k.c", "k.o", "k.so"})
    EXPECT_THROW(module->save(std::string("/nowhere/at/all/") + name), Error);
}

std::string saving_says(const Module& module, const std::string& path) {
  try {
    module.save(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostic().kind, ErrorKind::kBuild);
    return error.diagnostic().render();
  }
  return "";
}

TEST_F(CodegenC, ForeignCpusGiveTextAndTakeACrossCompiler) {
  const auto module = build(named("k"), parse_target("c -mtriple=aarch64-linux-gnu"));
  EXPECT_THROW(module->kernel()->run(nullptr), Error);
  module->save(in_temp("arm.c"));
  EXPECT_NE(module->source("c").find("aarch64"), std::string::npos);
  const char* before = std::getenv("CC");
  const std::string kept = before ? before : "";
  setenv("CC", "gcc", 1);
  EXPECT_NE(saving_says(*module, in_temp("arm.o")).find("gcc makes no code for aarch64-unknown-linux-gnu"),
            std::string::npos);
  unsetenv("CC");
  const std::string said = saving_says(*module, in_temp("arm.o"));
  if (std::system("command -v aarch64-linux-gnu-gcc >/dev/null") != 0)
    EXPECT_NE(said.find("no C compiler for aarch64-unknown-linux-gnu"), std::string::npos) << said;
  else
    EXPECT_EQ(said, "");
  if (before) setenv("CC", kept.c_str(), 1);
}

TEST_F(CodegenC, ForeignCpusHaveAVariableOfTheirOwn) {
  const auto module = build(named("k"), parse_target("c -mtriple=riscv64-linux-gnu"));
  setenv("CC_riscv64_linux_gnu", "gcc", 1);
  const std::string wrong = saving_says(*module, in_temp("riscv.o"));
  EXPECT_NE(wrong.find("gcc"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("the variable CC_riscv64_linux_gnu names another compiler"), std::string::npos) << wrong;
  setenv("CC_riscv64_linux_gnu", "no_such_compiler", 1);
  const std::string none = saving_says(*module, in_temp("riscv.o"));
  EXPECT_NE(none.find("no C compiler for riscv64-unknown-linux-gnu"), std::string::npos) << none;
  EXPECT_NE(none.find("riscv64-linux-gnu-gcc on the PATH (Debian: apt-get install gcc-riscv64-linux-gnu), or another "
                      "one's name in CC_riscv64_linux_gnu"),
            std::string::npos)
      << none;
  unsetenv("CC_riscv64_linux_gnu");
}

TEST_F(CodegenC, ACompilerThatFailsIsATypedError) {
  const char* before = std::getenv("CC");
  const std::string kept = before ? before : "";
  for (const char* compiler : {"/bin/false", "/nowhere/cc", "no_such_compiler"}) {
    setenv("CC", compiler, 1);
    try {
      build(named("k"), parse_target("c"));
      ADD_FAILURE() << compiler;
    } catch (const Error& error) {
      EXPECT_EQ(error.diagnostic().kind, ErrorKind::kBuild);
      EXPECT_NE(error.diagnostic().render().find("CC"), std::string::npos) << error.diagnostic().render();
    }
  }
  before ? setenv("CC", kept.c_str(), 1) : unsetenv("CC");
}

TEST_F(CodegenC, ManyProgramsAreOneFile) {
  std::vector<ir::Program> programs(12, named("k"));
  const auto kernels = codegen::c_kernels(programs, parse_target("c")).value_or_throw();
  ASSERT_EQ(kernels.size(), 12u);
  for (const auto& kernel : kernels) {
    Data data;
    EXPECT_EQ(data.run(*kernel), 0);
    EXPECT_EQ(data.d[17], 4);
  }
}

TEST_F(CodegenC, ATileThatIsTooLargeForTheStackKeepsItsVectors) {
  constexpr const char* kText = R"(kernel k(A: float32[16], C: out float32[16]):
  alloc t: float32[32768] local
  for i in 0..2048:
    t[i * 16 : 16] = A[0 : 16] * 2.0
  C[0 : 16] = t[32752 : 16]
)";
  std::vector<float> in(16, 1.5f), out(16);
  void* data[] = {in.data(), out.data()};
  EXPECT_EQ(build(parse(kText), parse_target("c -mcpu=native"))->kernel()->run(data), 0);
  EXPECT_EQ(out[15], 3.0f);
}

TEST_F(CodegenC, GuardedReadsStopAtTheEndOfTheArray) {
  constexpr const char* kText = R"(kernel k(A: float32[22], C: out float32[2]):
  alloc t: float32[2] local
  t[0 : 2] = 0.0
  for k in 0..8:
    t[0 : 2] = t[0 : 2] + A[k + lanes(2) * 11]
  for k in 0..8:
    if k < 3:
      t[0 : 2] = t[0 : 2] + A[k + 8 + lanes(2) * 11]
  C[0 : 2] = t[0 : 2]
)";
  const std::vector<float> in(22, 1.0f);
  const auto bytes = std::as_bytes(std::span(in));
  const auto kernels =
      codegen::c_kernels({parse(kText)}, parse_target("c -mcpu=native"), 3, {"-DTW_VECTORS=0"}).value_or_throw();
  for (const bool at_end : {false, true}) {
    const diff::FencedMemory fenced(bytes, at_end);
    std::vector<float> out(2);
    void* data[] = {fenced.data(), out.data()};
    EXPECT_EQ(kernels[0]->run(data), 0);
    EXPECT_EQ(out, std::vector<float>({11, 11}));
  }
}

TEST_F(CodegenC, LongSumsAndDiamondsCompile) {
  const ir::Buffer a("A", ir::Type::f(32), {16}, ir::Scope::kArgument),
      c("C", ir::Type::f(32), {16}, ir::Scope::kArgument);
  const ir::Var i("i");
  ir::Expr chain = ir::load(a, {i}), diamond = ir::load(a, {i});
  for (int term = 0; term < 2000; ++term) chain = chain + ir::load(a, {i});
  for (int level = 0; level < 40; ++level)
    diamond = ir::select(diamond < ir::float_imm(ir::Type::f(32), 1e30), diamond + diamond, diamond);
  for (const ir::Expr& value : {chain, diamond}) {
    const ir::Program p{"k", {{a, false}, {c, true}}, ir::loop(i, 16, ir::store(c, {i}, value))};
    std::vector<float> in(16, 1), out(16);
    void* data[] = {in.data(), out.data()};
    EXPECT_EQ(build(p, parse_target("c"))->kernel()->run(data), 0);
    EXPECT_EQ(out[3], value.same_as(chain) ? 2001.0f : 1099511627776.0f);
  }
}

}  // namespace
}  // namespace tw
