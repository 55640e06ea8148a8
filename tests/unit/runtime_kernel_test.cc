#include <gtest/gtest.h>

#include "src/runtime/kernel.h"
#include "tests/unit/compile_c.h"

namespace tw::runtime {
namespace {

using test::compile_c;
using test::Folder;
using test::vector_kernel;

// An output (2, 3), an input (2, 3) and an input (3,) that was declared with stride 2.
std::shared_ptr<const Kernel> three_arguments() {
  const ir::Type f32 = ir::Type::f(32);
  std::vector<ArgSpec> specs = {
      {"A", f32, {2, 3}, {}, false}, {"v", f32, {3}, {2}, false}, {"D", f32, {2, 3}, {}, true}};
  return make_kernel([](const tw_args*, const tw_context*) -> int32_t { return 0; }, specs, "dense", nullptr);
}

class CheckArgs : public testing::Test {
 protected:
  float a_[16] = {}, v_[16] = {}, d_[16] = {};
  std::vector<ArrayView> views_ = {{a_, ir::Type::f(32), {2, 3}, {}, false},
                                   {v_, ir::Type::f(32), {3}, {2}, false},
                                   {d_, ir::Type::f(32), {2, 3}, {}, false}};
  std::string refusal() const {
    const Status status = check_args(*three_arguments(), views_);
    return status.ok() ? "ok" : status.error().render();
  }
};

TEST_F(CheckArgs, TakesWhatFits) { EXPECT_EQ(refusal(), "ok"); }

TEST_F(CheckArgs, Count) {
  views_.pop_back();
  EXPECT_EQ(refusal(), "dense: takes 3 arguments (A, v, D), not 2");
}

TEST_F(CheckArgs, DType) {
  views_[0].dtype = ir::Type::f(64);
  EXPECT_EQ(refusal(), "dense: argument 1 (A): dtype must be float32, not float64");
}

TEST_F(CheckArgs, ShapeAndRank) {
  views_[0].shape = {3, 2};
  EXPECT_EQ(refusal(), "dense: argument 1 (A): shape must be (2, 3), not (3, 2)");
  views_[0].shape = {6};
  EXPECT_EQ(refusal(), "dense: argument 1 (A): rank and shape must be (2, 3), not (6,)");
}

TEST_F(CheckArgs, Order) {
  std::swap(views_[0], views_[1]);
  EXPECT_EQ(refusal(),
            "dense: argument 1 (A): rank and shape must be (2, 3), not (3,)\n"
            "    argument 2 has that shape; the order of arguments is A, v, D");
}

TEST_F(CheckArgs, Strides) {
  views_[0].strides = {1, 2};
  EXPECT_EQ(refusal(),
            "dense: argument 1 (A): must be compact (row-major), not with strides (1, 2) (in elements)\n"
            "    pass a copy, or declare the placeholder with strides");
  views_[0].strides = {3, 1};
  EXPECT_EQ(refusal(), "ok");
  views_[1].strides = {};
  EXPECT_NE(refusal().find("must be strided as declared, (2,)"), std::string::npos);
}

TEST_F(CheckArgs, ReadOnlyOutput) {
  views_[0].read_only = true;
  EXPECT_EQ(refusal(), "ok");
  views_[2].read_only = true;
  EXPECT_EQ(refusal(), "dense: argument 3 (D): an output must be writable, this array is read-only");
}

TEST_F(CheckArgs, OverlapOfAnOutput) {
  views_[2].data = a_ + 5;
  EXPECT_NE(refusal().find(
                "argument 3 (D): an output must not share memory with another argument, it overlaps argument 1 (A)"),
            std::string::npos);
  views_[2].data = a_ + 6;
  EXPECT_EQ(refusal(), "ok");
  views_[2].data = v_ + 4;  // the strided v spans elements 0..4
  EXPECT_NE(refusal().find("overlaps argument 2 (v)"), std::string::npos);
  views_[2].data = v_ + 5;
  EXPECT_EQ(refusal(), "ok");
}

TEST_F(CheckArgs, OneArrayAsTwoInputs) {
  views_[1].data = a_;
  EXPECT_EQ(refusal(), "ok");
}

TEST_F(CheckArgs, AlignmentAndNull) {
  views_[0].data = reinterpret_cast<char*>(a_) + 1;
  EXPECT_NE(refusal().find("must be aligned to its elements (4 bytes)"), std::string::npos);
  views_[0].data = nullptr;
  EXPECT_NE(refusal().find("must have memory"), std::string::npos);
}

TEST(CheckArgsOfSizeOne, StridesOfSizeOneDimensionsAndOfEmptyArraysAreFree) {
  const ir::Type f32 = ir::Type::f(32);
  float x[8] = {};
  const auto run = [](const tw_args*, const tw_context*) -> int32_t { return 0; };
  const auto column = make_kernel(run, {{"x", f32, {4, 1}, {}, true}}, "k", nullptr);
  EXPECT_TRUE(check_args(*column, std::vector<ArrayView>{{x, f32, {4, 1}, {1, 77}, false}}).ok());
  const auto empty = make_kernel(run, {{"x", f32, {4, 0}, {}, true}, {"y", f32, {0}, {}, false}}, "k", nullptr);
  EXPECT_TRUE(
      check_args(*empty, std::vector<ArrayView>{{nullptr, f32, {4, 0}, {5, 9}, false}, {nullptr, f32, {0}, {3}, false}})
          .ok());
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Load, RunsAndTimes) {
  const Folder folder;
  const auto kernel =
      load(compile_c(folder, vector_kernel("scale", 4, "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];")));
  EXPECT_EQ(kernel->name(), "scale");
  ASSERT_EQ(kernel->args().size(), 2u);
  EXPECT_TRUE(kernel->args()[1].written);
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  const std::vector<ArrayView> views = {{x, ir::Type::f(32), {4}, {}, true}, {y, ir::Type::f(32), {4}, {}, false}};
  call(*kernel, views);
  EXPECT_EQ(y[3], 8);
  const Timing timing = time(*kernel, views, {.repeat = 3, .min_repeat_ms = 0.1});
  EXPECT_EQ(timing.runs.size(), 3u);
  EXPECT_GT(timing.median, 0);
}

TEST(Load, MeasuringCanBeForbidden) {
  const Folder folder;
  const auto kernel = load(compile_c(folder, vector_kernel("k", 1, "y[0] = x[0];")));
  float x[1] = {}, y[1] = {};
  const std::vector<ArrayView> views = {{x, ir::Type::f(32), {1}, {}, true}, {y, ir::Type::f(32), {1}, {}, false}};
  setenv("TW_MEASURE", "forbid", 1);
  const std::string refused = message([&] { time(*kernel, views); });
  unsetenv("TW_MEASURE");
  EXPECT_EQ(refused, "time: measuring is forbidden by TW_MEASURE=forbid\n    unset TW_MEASURE to allow it");
}

TEST(Load, AFailingKernelIsAnError) {
  const Folder folder;
  const auto kernel = load(compile_c(folder, vector_kernel("k", 1, "return 7;")));
  float x[1] = {}, y[1] = {};
  const std::vector<ArrayView> views = {{x, ir::Type::f(32), {1}, {}, true}, {y, ir::Type::f(32), {1}, {}, false}};
  EXPECT_EQ(message([&] { call(*kernel, views); }), "k: the call failed: it returned code 7");
}

TEST(Load, RefusesWhatIsNoKernel) {
  const Folder folder;
  EXPECT_EQ(message([&] { load(folder / "none.so"); }), "load: " + (folder / "none.so") + " is not a file");
  std::ofstream(folder / "text.so") << "hello";
  EXPECT_NE(message([&] { load(folder / "text.so"); }).find("text.so has no kernel"), std::string::npos);
  const std::string other = compile_c(folder, "int f(void) { return 1; }", "other");
  EXPECT_NE(message([&] { load(other); }).find("other.so has no kernel"), std::string::npos);
}

TEST(Load, SeveralKernelsNeedAName) {
  const Folder folder;
  std::string two = vector_kernel("first", 1, "y[0] = 1;");
  two += "#define shape shape2\n#define params params2\n" + vector_kernel("second", 1, "y[0] = 2;");
  const std::string path = compile_c(folder, two);
  EXPECT_EQ(load(path, "second")->name(), "second");
  EXPECT_NE(message([&] { load(path); }).find("has several kernels"), std::string::npos);
  EXPECT_NE(message([&] { load(path, "secnd"); }).find("did you mean second"), std::string::npos);
}

TEST(Load, RefusesAnotherAbi) {
  const Folder folder;
  std::string source = vector_kernel("k", 1, "");
  source.replace(source.find("TW_ABI_VERSION, \""), 14, "99");
  EXPECT_NE(message([&] { load(compile_c(folder, source)); }).find("version 99 of the kernel ABI"), std::string::npos);
}

// In a process without a code generator the target's text means nothing; the list of features says it all.
TEST(Load, RefusesWhatTheCpuDoesNotHave) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "skipped: the names are of x86-64";
#endif
  const Folder folder;
  const auto needing = [&](const std::string& name, const std::string& features) {
    std::string source = vector_kernel(name, 8, "");
    const std::string none = "\"llvm -mcpu=x86-64\", \"\"";
    source.replace(source.find(none), none.size(), "\"llvm -mcpu=cpu-of-next-year\", \"" + features + "\"");
    return compile_c(folder, source, name);
  };
  const std::string refused = message([&] { load(needing("later", "avx10.9,rtm,cldemote,amx-avx512")); });
  EXPECT_NE(refused.find("was built for llvm -mcpu=cpu-of-next-year"), std::string::npos) << refused;
  EXPECT_NE(refused.find("this CPU does not have avx10.9, amx-avx512"), std::string::npos) << refused;
  // What objects of earlier releases list beside what code uses.
  load(needing("earlier",
               "64bit,adx,aes,clflushopt,clwb,clzero,cmov,crc32,cx16,cx8,evex512,fsgsbase,fsrm,fxsr,invpcid,mmx,nopl,"
               "pclmul,pku,prfchw,rdpid,rdrnd,rdseed,sahf,sha,shstk,vaes,vpclmulqdq,x87,xsave,xsavec,xsaveopt,xsaves"));
}

// Of what has no fixed length of its own, as SVE: any other would compute with other lanes.
TEST(Load, RefusesAnotherLengthOfVectors) {
  const Folder folder;
  const auto stating = [&](const std::string& name, const std::string& size, const std::string& bits) {
    std::string source = vector_kernel(name, 8, "");
    source.replace(source.find("sizeof(tw_kernel_descriptor)"), 28, size);
    const std::string params = "2, params}";
    source.replace(source.find(params), params.size(), "2, params, .vector_bits = " + bits + "}");
    return compile_c(folder, source, name);
  };
  const std::string refused = message([&] { load(stating("k", "sizeof(tw_kernel_descriptor)", "96")); });
  EXPECT_NE(refused.find("was built for llvm"), std::string::npos) << refused;
  EXPECT_NE(refused.find("this CPU does not have SVE vectors of 96 bits"), std::string::npos) << refused;
  load(stating("any", "sizeof(tw_kernel_descriptor)", "0"));
  load(stating("earlier", "offsetof(tw_kernel_descriptor, vector_bits)", "96"));
}

}  // namespace
}  // namespace tw::runtime
