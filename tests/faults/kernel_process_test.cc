// A kernel in a process of its own, which is this program, started again: calls that are right, and kernels that are
// not.
#include "src/runtime/kernel_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "src/runtime/kernel_service.h"
#include "src/support/subprocess.h"
#include "tests/unit/compile_c.h"

namespace tw::runtime {
namespace {

constexpr int kElements = 1000;
constexpr const char* kServe = "--serve-kernel";
constexpr const char* kTwice = "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];";
const ir::Type kF32 = ir::Type::f(32);

Blob object_of(const std::string& body, const std::string& name = "twice") {
  static const test::Folder folder;  // of the test alone: the same program serves kernels, and is killed
  return Blob::read(test::compile_c(folder, test::vector_kernel(name, kElements, body), name, "-nostdlib -Wl,-z,defs"));
}

std::unique_ptr<KernelProcess> started(const Blob& object, const std::string& name = "") {
  const WorkerCommand command{"/proc/self/exe", {kServe}, true};
  auto kernel = std::make_unique<KernelProcess>(command);
  kernel->load({object, name, 2});
  return kernel;
}

class KernelInAProcess : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
  }
};

class Arrays {
 public:
  Arrays() {
    auto* const x = reinterpret_cast<float*>(x_.data());
    std::iota(x, x + kElements, 0.0f);
  }
  static CallKernel call() { return {{{1, kF32, {kElements}, {}}, {2, kF32, {kElements}, {}}}, {}}; }
  KernelProcess::Memories memories() const { return {{1, &x_}, {2, &y_}}; }
  float y(int i) const { return reinterpret_cast<const float*>(y_.data())[i]; }

 private:
  SharedMemory x_{kElements * sizeof(float)}, y_{kElements * sizeof(float)};
};

template <class Run>
std::string refused(ErrorKind kind, Run run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "nothing was refused";
}

void expect_in(const std::string& part, const std::string& whole) {
  EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

TEST_F(KernelInAProcess, CallsWriteToMemoryThatIsShared) {
  const auto kernel = started(object_of(kTwice));
  EXPECT_EQ(kernel->summary().name, "twice");
  ASSERT_EQ(kernel->summary().args.size(), 2u);
  EXPECT_TRUE(kernel->summary().args[1].written);
  const Arrays arrays;
  for (int again = 0; again < 3; ++again) EXPECT_TRUE(kernel->call(Arrays::call(), arrays.memories(), 10).empty());
  for (const int i : {0, 1, kElements - 1}) EXPECT_EQ(arrays.y(i), 2.0f * static_cast<float>(i));
}

TEST_F(KernelInAProcess, CallsAreTimed) {
  const auto kernel = started(object_of(kTwice));
  const Arrays arrays;
  CallKernel call = Arrays::call();
  call.timing = {.number = 5, .repeat = 7, .min_repeat_ms = 0};
  const std::vector<double> runs = kernel->call(call, arrays.memories(), 10);
  EXPECT_EQ(runs.size(), 7u);
  for (const double seconds : runs) EXPECT_GT(seconds, 0);
  call.cooldown_s = 0.001;
  EXPECT_EQ(kernel->call(call, arrays.memories(), 10).size(), 7u);
}

TEST_F(KernelInAProcess, ArgumentsAreCheckedAsInACallOfOnesOwn) {
  const auto kernel = started(object_of(kTwice));
  const Arrays arrays;
  CallKernel call = Arrays::call();
  call.arrays.pop_back();
  expect_in("twice: takes 2 arguments (x, y), not 1",
            refused(ErrorKind::kArgument, [&] { kernel->call(call, arrays.memories(), 10); }));
  call = Arrays::call();
  call.arrays[0].shape = {kElements - 1};
  expect_in("argument 1 (x): shape must be (1000,), not (999,)",
            refused(ErrorKind::kArgument, [&] { kernel->call(call, arrays.memories(), 10); }));
  call = Arrays::call();
  call.arrays[0].dtype = ir::Type::i(32);
  expect_in("dtype must be float32", refused(ErrorKind::kDType, [&] { kernel->call(call, arrays.memories(), 10); }));
  call = Arrays::call();
  call.arrays[1].memory = 1;
  expect_in("must not share memory", refused(ErrorKind::kArgument, [&] { kernel->call(call, arrays.memories(), 10); }));
  EXPECT_TRUE(kernel->call(Arrays::call(), arrays.memories(), 10).empty()) << "it is as it was";
}

TEST_F(KernelInAProcess, AnArrayLiesInItsMemory) {
  const auto kernel = started(object_of(kTwice));
  const Arrays arrays;
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> outside = {
      {{kElements + 1}, {}}, {{kHuge, kHuge}, {}},    {{-1}, {}}, {{kElements}, {2}}, {{kElements}, {-1}},
      {{2, 2}, {1}},         {{2, 2}, {kHuge, kHuge}}};
  for (const auto& [shape, strides] : outside) {
    CallKernel call = Arrays::call();
    call.arrays[0].shape = shape;
    call.arrays[0].strides = strides;
    expect_in("reaches beyond its memory",
              refused(ErrorKind::kArgument, [&] { kernel->call(call, arrays.memories(), 10); }));
  }
  CallKernel call = Arrays::call();
  call.arrays[0].memory = 3;
  expect_in("there is no memory 3", refused(ErrorKind::kBuild, [&] { kernel->call(call, arrays.memories(), 10); }));
}

TEST_F(KernelInAProcess, ObjectsThatAreNoKernelsAreRefused) {
  expect_in("", refused(ErrorKind::kBuild, [] { started(Blob("no object")); }));
  expect_in("has no kernel thrice", refused(ErrorKind::kBuild, [] { started(object_of(kTwice), "thrice"); }));
}

TEST_F(KernelInAProcess, OneThatCrashesIsNamedAndGone) {
  const auto kernel = started(object_of("*(volatile int*)8 = 1;", "crashes"));
  const Arrays arrays;
  expect_in("crashed: SIGSEGV",
            refused(ErrorKind::kTune, [&] { kernel->call(Arrays::call(), arrays.memories(), 10); }));
  expect_in("load it again", refused(ErrorKind::kTune, [&] { kernel->call(Arrays::call(), arrays.memories(), 10); }));
}

TEST_F(KernelInAProcess, OneThatHangsIsEnded) {
  const auto kernel = started(object_of("for (;;) *(volatile float*)y = 1;", "hangs"));
  const Arrays arrays;
  expect_in("did not return within 0.2 s",
            refused(ErrorKind::kTune, [&] { kernel->call(Arrays::call(), arrays.memories(), 0.2); }));
}

#if defined(__x86_64__)
TEST_F(KernelInAProcess, OneThatForksIsEnded) {
  const auto kernel = started(object_of("__asm__ volatile(\"syscall\" :: \"a\"(57));", "forks"));
  const Arrays arrays;
  expect_in("a system call that no kernel needs",
            refused(ErrorKind::kTune, [&] { kernel->call(Arrays::call(), arrays.memories(), 10); }));
}
#endif

TEST(SharedMemory, KeepsItsSize) {
  const SharedMemory memory(100);
  EXPECT_NE(ftruncate(memory.descriptor(), 10), 0);
  EXPECT_NE(ftruncate(memory.descriptor(), 1000), 0);
}

}  // namespace
}  // namespace tw::runtime

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], tw::runtime::kServe) == 0)
    return tw::runtime::serve_kernel(tw::support::kChannel, tw::runtime::without_dynamic_linker(), {});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
