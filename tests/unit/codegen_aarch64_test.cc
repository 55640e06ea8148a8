// What code for AArch64 is made of, read from its assembly.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "codegen/llvm/backend.h"
#include "src/ir/parse.h"
#include "tensorwright/build.h"
#include "tests/unit/autotune_templates.h"

namespace tw {
namespace {

#if TW_LLVM

Target core(const std::string& cpu) {
  return Target::parse("llvm -mtriple=aarch64-linux-gnu -mcpu=" + cpu).value_or_throw();
}

std::string assembly(const std::vector<te::Tensor>& args, const Target& target = core("neoverse-n1")) {
  return build(default_schedule({args.back()}, target), args, target, "k")->source("asm");
}

// Instructions of that name, lines of the text that begin with it.
int count(const std::string& text, const std::string& instruction) {
  int found = 0;
  const std::string line = "\n\t" + instruction + "\t";
  for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) ++found;
  return found;
}

int lines_with(const std::string& text, const std::string& words) {
  int found = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

// Of the loops that are one block, from a label to a branch back to it, the one with the most products.
std::string inner_loop(const std::string& text, const std::string& product = "fmla") {
  std::string most, body, label;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("//"));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.ends_with(":")) {
      label = line.substr(0, line.size() - 1), body = "\n";
    } else if (!line.empty()) {
      body += line + "\n";
      const bool back = !label.empty() && (line.ends_with("\t" + label) || line.ends_with(" " + label));
      if (back && count(body, product) > count(most, product)) most = body;
    }
  }
  return most;
}

std::vector<te::Tensor> product(int64_t m, int64_t n, int64_t k, bool transposed = false) {
  const te::Tensor A = transposed ? te::placeholder({k, m}, "float32", "A") : te::placeholder({m, k}, "float32", "A");
  const te::Tensor B = te::placeholder({k, n}, "float32", "B");
  const te::IterVar r = te::reduce_axis(0, k, "k");
  const auto term = [&](te::Var i, te::Var j) { return (transposed ? A(r, i) : A(i, r)) * B(r, j); };
  return {A, B, te::compute({m, n}, [&](te::Var i, te::Var j) { return te::sum(term(i, j), {r}); }, "C")};
}

// Where rows lie side by side, four of them share a register; else four terms of one.
TEST(CodegenAArch64, ProductsTakeLanesOfRegistersThatAreLoadedWhole) {
  for (const char* name : {"cortex-a72", "neoverse-n1", "neoverse-v1 -mattr=-sve"})
    for (const auto& args : {product(257, 513, 512), product(1024, 1024, 1024), product(256, 512, 256, true)}) {
      SCOPED_TRACE(name);
      const std::string loop = inner_loop(assembly(args, core(name)));
      const int fused = count(loop, "fmla"), lanes = lines_with(loop, ".s[");
      const int all = static_cast<int>(std::count(loop.begin(), loop.end(), '\n')) - 1;
      EXPECT_GE(fused, 48);
      EXPECT_EQ(lanes, fused);
      EXPECT_EQ(lines_with(loop, "ld1r"), 0);
      EXPECT_EQ(lines_with(loop, "sp"), 0) << "what does not fit into registers: " << loop;
      EXPECT_LE(all * 100, fused * 130) << loop;
    }
}

// The length is that of the CPU, as the target says it; each 128 bits of a register give a lane.
TEST(CodegenAArch64, SveTakesLanesOfEachQuadword) {
  const Target v1 = core("neoverse-v1");
  for (const auto& args : {product(257, 513, 512), product(1024, 1024, 1024)}) {
    const std::string loop = inner_loop(assembly(args, v1));
    EXPECT_GE(count(loop, "fmla"), 48);
    EXPECT_EQ(lines_with(loop, ".s["), count(loop, "fmla"));
    EXPECT_GE(count(loop, "ld1rqw"), 4);
    EXPECT_EQ(count(loop, "movprfx") + count(loop, "ld1rw") + lines_with(loop, ".4s") + lines_with(loop, "sp"), 0)
        << loop;
  }
  const auto args = product(64, 64, 64);
  EXPECT_GE(lines_with(build(default_schedule({args[2]}, v1), args, v1, "k")->source("llvm"), "vscale_range(2,2)"), 1);
}

TEST(CodegenAArch64, SveLeavesLanesOutByAPredicate) {
  const te::Tensor x = te::placeholder({1003}, "float32", "x");
  const te::Tensor y = te::compute({1003}, [&](te::Var i) { return x(i) * te::constant(3, "float32"); }, "y");
  const std::string text = assembly({x, y}, core("a64fx"));
  EXPECT_GE(count(text, "fmul") + count(text, "fadd"), 1);
  EXPECT_EQ(lines_with(text, "\tfmul\ts") + lines_with(text, ".4s"), 0) << text;
  EXPECT_GE(lines_with(text, "/z, ["), 1);
}

std::string of_floats(te::Expr (*function)(te::Expr), const char* dtype = "float32") {
  const te::Tensor x = te::placeholder({1024}, dtype, "x");
  return assembly({x, te::compute({1024}, [&](te::Var i) { return function(x(i)); }, "y")});
}

TEST(CodegenAArch64, ProductsAreFusedWithTheirSums) {
  for (const char* dtype : {"float32", "float64"}) {
    SCOPED_TRACE(dtype);
    const te::Tensor A = te::placeholder({257, 512}, dtype, "A"), B = te::placeholder({512, 513}, dtype, "B");
    const te::IterVar k = te::reduce_axis(0, 512, "k");
    const te::Tensor C =
        te::compute({257, 513}, [&](te::Var i, te::Var j) { return te::sum(A(i, k) * B(k, j), {k}); }, "C");
    const std::string text = assembly({A, B, C});
    EXPECT_GE(count(text, "fmla"), 32);
    EXPECT_EQ(count(text, "fmul"), 0);
    EXPECT_EQ(count(text, "fadd"), 0);
  }
}

TEST(CodegenAArch64, RoundingIsAnInstruction) {
  EXPECT_GE(count(of_floats(te::floor), "frintm"), 1);
  EXPECT_GE(count(of_floats(te::ceil), "frintp"), 1);
  EXPECT_GE(count(of_floats(te::trunc), "frintz"), 1);
}

TEST(CodegenAArch64, HalvesAreConvertedByInstructions) {
  const auto doubled = [](te::Expr x) { return ir::cast(ir::Type::f(32), x) * te::constant(2, "float32"); };
  const std::string text = of_floats(doubled, "float16");
  EXPECT_GE(count(text, "fcvtl"), 1);
}

struct Dot {
  const char *function, *left, *right, *sum;
  int group;
  const char *feature, *instruction, *by_lane;
};
constexpr Dot kDots[] = {{"dot_i8i8", "int8", "int8", "int32", 4, "dotprod", "sdot", "sdot"},
                         {"dot_u8u8", "uint8", "uint8", "int32", 4, "dotprod", "udot", "udot"},
                         {"dot_u8i8", "uint8", "int8", "int32", 4, "i8mm", "usdot", "sudot"},
                         {"dot_bf16_odd", "bfloat16", "bfloat16", "float32", 2, "bf16", "bfdot", "bfdot"}};

// Of 8 sums, from groups of their own and from one for all.
std::string dot_text(const Dot& dot) {
  const auto many = [](int n) { return std::to_string(n); };
  const std::string a = std::string("A: ") + dot.left + "[" + many(8 * dot.group) + "]",
                    b = std::string("B: ") + dot.right + "[" + many(8 * dot.group) + "]",
                    sums = std::string("out ") + dot.sum + "[8]", whole = many(8 * dot.group);
  return "kernel k(" + a + ", " + b + ", S: " + dot.sum + "[8], C: " + sums + ", D: " + sums +
         "):\n  C[0 : 8] = " + dot.function + "(S[0 : 8], A[0 : " + whole + "], B[0 : " + whole +
         "])\n  D[0 : 8] = " + dot.function + "(C[0 : 8], A[4 : " + many(dot.group) + "], B[0 : " + whole + "])\n";
}

TEST(CodegenAArch64, MatricesAreMultipliedByOneInstruction) {
  const auto text = [](const std::string& in, const std::string& out, const std::string& lanes, const char* function) {
    return "kernel k(A: " + in + "[" + lanes + "], B: " + in + "[" + lanes + "], S: " + out + "[4], C: out " + out +
           "[4]):\n  C[0 : 4] = " + function + "(S[0 : 4], A[0 : " + lanes + "], B[0 : " + lanes + "])\n";
  };
  const auto count_in = [](const std::string& text, const std::string& options, const std::string& instruction) {
    const Target target = Target::parse("llvm -mtriple=aarch64-linux-gnu" + options).value_or_throw();
    return count(build(ir::parse_program(text).value_or_throw(), target)->source("asm"), instruction);
  };
  EXPECT_EQ(count_in(text("int8", "int32", "16", "mat_i8i8"), " -mattr=+i8mm", "smmla"), 1);
  EXPECT_EQ(count_in(text("int8", "int32", "16", "mat_i8i8"), "", "smmla"), 0);
  EXPECT_EQ(count_in(text("bfloat16", "float32", "8", "mat_bf16_odd"), " -mattr=+bf16", "bfmmla"), 1);
  EXPECT_EQ(count_in(text("bfloat16", "float32", "8", "mat_bf16_odd"), "", "bfmmla"), 0);
}

TEST(CodegenAArch64, ProductsAreAddedByOneInstruction) {
  for (const Dot& dot : kDots) {
    SCOPED_TRACE(dot.function);
    const ir::Program program = ir::parse_program(dot_text(dot)).value_or_throw();
    const std::string llvm = "llvm -mtriple=aarch64-linux-gnu";
    const Target with = Target::parse(llvm + " -mattr=+" + dot.feature).value_or_throw(),
                 without = Target::parse(llvm).value_or_throw();
    const std::string text = build(program, with)->source("asm"), plain = build(program, without)->source("asm");
    EXPECT_EQ(
        count(text, dot.instruction) + (std::string(dot.by_lane) != dot.instruction ? count(text, dot.by_lane) : 0), 4)
        << text;
    EXPECT_EQ(lines_with(plain, "dot\t"), 0) << plain;
  }
}

// A register holds four groups of a row: none is loaded by itself. Of several left matrices nothing is packed, so that
// rows are in no matrix of an instruction.
TEST(CodegenAArch64, DotProductsTakeGroupsOfRegistersThatAreLoadedWhole) {
  for (const Dot& dot : kDots) {
    SCOPED_TRACE(dot.function);
    const te::Tensor A = te::placeholder({5, 51, 512}, dot.left, "A"), B = te::placeholder({512, 256}, dot.right, "B");
    const te::IterVar k = te::reduce_axis(0, 512, "k");
    const te::Tensor C = te::compute(
        {5, 51, 256},
        [&](te::Var m, te::Var i, te::Var j) {
          return te::sum(te::astype(A(m, i, k), dot.sum) * te::astype(B(k, j), dot.sum), {k});
        },
        "C");
    const std::string loop = inner_loop(assembly({A, B, C}, core("neoverse-v1 -mattr=-sve")), dot.by_lane);
    const int products = lines_with(loop, "dot\t");
    EXPECT_GE(products, 48) << loop;
    // LLVM 22 does not find the form by lanes of a bfdot whose register is loaded: a dup each, for all products of a
    // row.
    if (dot.group == 4 || codegen::llvm_version().starts_with("19.")) {
      EXPECT_EQ(lines_with(loop, dot.group == 4 ? ".4b[" : ".2h["), products) << loop;
    }
    EXPECT_EQ(lines_with(loop, "ld1r") + lines_with(loop, "sp"), 0) << loop;
  }
}

// Whole vectors are interleaved: LLVM moves parts of them element by element, which took a minute.
TEST(CodegenAArch64, SveTurnsTilesByInterleavingThem) {
  for (const char* type : {"uint8", "int16", "float32"}) {
    const te::Tensor a = te::placeholder({53, 67}, type, "A");
    const te::Tensor turned =
        te::compute({67, 53}, [&](const std::vector<ir::Var>& i) { return a({i[1], i[0]}); }, "B");
    const std::string text = assembly({a, turned}, core("neoverse-v1"));
    EXPECT_GT(count(text, "zip1"), 0) << type;
    EXPECT_LT(std::ranges::count(text, '\n'), 6000) << type;
  }
}

// Cores that multiply signed bytes only: left factors are turned, a register of four groups at once, and what that adds
// to a sum is taken off it behind the loop.
TEST(CodegenAArch64, UnsignedBytesAreTurnedForTheSignedProduct) {
  const te::Tensor A = te::placeholder({256, 512}, "uint8", "A"), B = te::placeholder({512, 256}, "int8", "B");
  const te::IterVar k = te::reduce_axis(0, 512, "k");
  const te::Tensor C = te::compute(
      {256, 256},
      [&](te::Var i, te::Var j) { return te::sum(te::astype(A(i, k), "int32") * te::astype(B(k, j), "int32"), {k}); },
      "C");
  const std::string loop = inner_loop(assembly({A, B, C}, core("neoverse-n1")), "sdot");
  EXPECT_GE(lines_with(loop, ".4b["), 64) << loop;
  EXPECT_LE(lines_with(loop, "eor\t"), 6) << loop;
  EXPECT_EQ(lines_with(loop, "ld1r") + lines_with(loop, "sp"), 0) << loop;
}

// Cores without a product of four bytes: of each register two products make words, which are added by pairs.
TEST(CodegenAArch64, BytesAreMultipliedByPairsWhereNothingTakesFour) {
  for (const char* type : {"int8", "uint8"}) {
    const te::Tensor A = te::placeholder({256, 512}, type, "A"), B = te::placeholder({512, 256}, type, "B");
    const te::IterVar k = te::reduce_axis(0, 512, "k");
    const te::Tensor C = te::compute(
        {256, 256},
        [&](te::Var i, te::Var j) { return te::sum(te::astype(A(i, k), "int32") * te::astype(B(k, j), "int32"), {k}); },
        "C");
    const std::string loop = inner_loop(assembly({A, B, C}, core("cortex-a72")), *type == 'u' ? "uadalp" : "sadalp");
    EXPECT_GE(lines_with(loop, "adalp\t"), 64) << loop;
    EXPECT_EQ(lines_with(loop, "mull\t") + lines_with(loop, "mull2\t"), lines_with(loop, "adalp\t")) << loop;
    EXPECT_LE(4 * lines_with(loop, "tbl\t"), lines_with(loop, "adalp\t")) << loop;
    EXPECT_EQ(lines_with(loop, "shll") + lines_with(loop, "sp"), 0) << loop;
  }
}

// Of windows of rows that lie at constant distances: each access adds its own, and no pointer waits on the stack.
TEST(CodegenAArch64, LoadsAddConstantsToOnePointer) {
  const te::Tensor A = te::placeholder({1, 58, 58, 96}, "float32", "A"),
                   W = te::placeholder({3, 3, 96}, "float32", "W");
  const te::IterVar y = te::reduce_axis(0, 3, "y"), x = te::reduce_axis(0, 3, "x");
  const te::Tensor C = te::compute(
      {1, 56, 56, 96},
      [&](te::Var n, te::Var i, te::Var j, te::Var c) {
        return te::sum(A(n, i + ir::Expr(y), j + ir::Expr(x), c) * W(ir::Expr(y), ir::Expr(x), c), {y, x});
      },
      "C");
  const std::string loop = inner_loop(assembly({A, W, C}));
  EXPECT_GT(count(loop, "fmla"), 36);
  EXPECT_EQ(lines_with(loop, "[sp"), 0) << loop;
}

#else
TEST(CodegenAArch64, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
