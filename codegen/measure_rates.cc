#include "codegen/measure_rates.h"

#include <algorithm>
#include <memory>

#include "codegen/backends.h"
#include "codegen/fastest_run.h"
#include "src/ir/parse.h"
#include "src/ir/register_lanes.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

namespace {

constexpr int kChains = 12;                // of arithmetic: more than one core has in flight
constexpr int kSums = 8;                   // of what is read, likewise
constexpr int64_t kSteps = 200'000;        // of each chain: a millisecond or less
constexpr int64_t kMoved = 64 << 20;       // bytes that each core reads from a cache
constexpr int64_t kFewestBytes = 1 << 26;  // of memory that no cache holds
constexpr int64_t kMostBytes = 1 << 28;

// Every task goes on with sums of its own, `steps` times.
constexpr const char* kArithmetic =
    R"(kernel arithmetic(a: TYPE_A[4], b: TYPE_B[GROUP], got: out SUM[tasks, CHAINS, LANES], tasks: size, steps: size):
  for t in 0..tasks parallel:
    alloc sums: SUM[CHAINS, LANES] local
    for c in 0..CHAINS unrolled:
      sums[c, 0 : LANES] = broadcast(SUM(1), LANES)
    for k in 0..steps:
      for c in 0..CHAINS unrolled:
        sums[c, 0 : LANES] = VALUE
    for c in 0..CHAINS unrolled:
      got[t, c, 0 : LANES] = sums[c, 0 : LANES]
)";

// Products of whole tiles, of which a core holds eight: both factors and these sums.
constexpr int kTileSums = 4;
constexpr int64_t kTileSteps = 10'000, kTileBytes = 1024;
constexpr const char* kTileProducts =
    R"(kernel products(a: TYPE_A[TERMS], b: TYPE_B[TERMS], got: out SUM[tasks, CHAINS, 256], tasks: size, steps: size):
  for t in 0..tasks parallel:
    alloc sums: SUM[CHAINS, 256] local
    for c in 0..CHAINS unrolled:
      sums[c, 0 : 256] = broadcast(SUM(1), 256)
    for k in 0..steps:
      for c in 0..CHAINS unrolled:
        sums[c, 0 : 256] = VALUE
    for c in 0..CHAINS unrolled:
      got[t, c, 0 : 256] = sums[c, 0 : 256]
)";

constexpr const char* kReads =
    R"(kernel reads(x: float32[tasks, rows, SUMS, LANES], got: out float32[tasks, SUMS, LANES], tasks: size, rows: size, times: size):
  for t in 0..tasks parallel:
    alloc sums: float32[SUMS, LANES] local
    for c in 0..SUMS unrolled:
      sums[c, 0 : LANES] = 0.0
    for k in 0..times:
      for i in 0..rows:
        for c in 0..SUMS unrolled:
          sums[c, 0 : LANES] = sums[c, 0 : LANES] + x[t, i, c, 0 : LANES]
    for c in 0..SUMS unrolled:
      got[t, c, 0 : LANES] = sums[c, 0 : LANES]
)";

using Words = std::vector<std::pair<std::string, std::string>>;

std::string with_words(std::string text, const Words& words) {
  for (const auto& [word, meaning] : words)
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += meaning.size())
      text.replace(at, word.size(), meaning);
  return text;
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<char[], FreeMemory>;

// Of ones, as float32, or of bytes that are not 0.
Memory memory_of(int64_t bytes) {
  constexpr size_t kPage = 4096;
  const size_t whole = (static_cast<size_t>(bytes) + kPage - 1) / kPage * kPage;
  Memory memory(static_cast<char*>(std::aligned_alloc(kPage, whole)));
  if (!memory) throw Error({ErrorKind::kTune, "calibrate: no memory for " + std::to_string(bytes) + " bytes", {}, {}});
  std::fill_n(reinterpret_cast<float*>(memory.get()), whole / sizeof(float), 1.0f);
  return memory;
}

class Probes {
 public:
  Probes(const Target& target, const MachineDescription& here)
      : target_(target),
        here_(here),
        lanes_(ir::register_lanes(target, ir::Type::f(32))),
        hertz_(here.clock > 0 ? here.clock : here.hardware.hertz),
        out_(memory_of(here.threads * std::max(vectors_bytes(std::max(kChains, kSums)), kTileSums * kTileBytes))) {}

  Rates rates() {
    Rates r;
    r.source = "measured on this machine";
    r.clock = hertz_;
    arithmetic(r);
    reads(r);
    return r;
  }

 private:
  int64_t vectors_bytes(int count) const { return int64_t{4} * count * lanes_; }

  std::shared_ptr<const Module> made(const std::string& text) const {
    const ir::Program program = ir::parse_program(text).value_or_throw();
    const Backend& backend = backend_of(target_);
    return backend.make_module({lower::run_pipeline(backend.passes, program, target_)}, target_, 3);
  }

  // Steps of one chain that a core does in a cycle while `tasks` cores do.
  double steps_a_cycle(const char* text, const Words& words, int64_t operand_bytes, int64_t steps,
                       int64_t tasks) const {
    const auto module = made(with_words(text, words));
    const Memory operands = memory_of(operand_bytes);
    void* const data[] = {operands.get(), operands.get(), out_.get(), &tasks, &steps};
    const double seconds = fastest_run(tasks, [&] { module->kernel()->run(data); });
    return static_cast<double>(steps) / (seconds * hertz_);
  }

  // Vector instructions that a core starts in a cycle while `tasks` cores do.
  double started(const Words& words, int64_t tasks) const {
    Words all = words;
    all.insert(all.end(), {{"CHAINS", std::to_string(kChains)}, {"LANES", std::to_string(lanes_)}});
    return kChains * steps_a_cycle(kArithmetic, all, vectors_bytes(4), kSteps, tasks);
  }

  void arithmetic(Rates& r) const {
    const std::string half = "broadcast(0.5, LANES)", sum = "sums[c, 0 : LANES]";
    const Words adds = {
        {"VALUE", target_.abilities.fma ? "fma(" + sum + ", " + half + ", " + half + ")" : sum + " + " + half},
        {"TYPE_A", "float32"},
        {"TYPE_B", "float32"},
        {"SUM", "float32"},
        {"GROUP", "4"}};
    r.issue = started(adds, 1);
    if (here_.threads > 1) r.all_issue = std::min(1.0, started(adds, here_.threads) / r.issue);
    r.dot_u8i8 = std::max({dots(DotProduct::kU8I8, "dot_u8i8", {"uint8", "int8", "int32"}, 4),
                           dots(DotProduct::kI8I8, "dot_i8i8", {"int8", "int8", "int32"}, 4),
                           dots(DotProduct::kU8U8, "dot_u8u8", {"uint8", "uint8", "int32"}, 4)});
    const Types bfloats = {"bfloat16", "bfloat16", "float32"};
    r.dot_bf16 = std::max(dots(DotProduct::kBF16, "dot_bf16", bfloats, 2),
                          dots(DotProduct::kBF16Odd, "dot_bf16_odd", bfloats, 2));
    if (const std::optional<Tiles>& tiles = target_.abilities.tiles)
      r.tile_rows = tiles->rows * (tiles->bf16 ? tiles_started("tile_bf16", bfloats, 2)
                                               : tiles_started("tile_u8i8", {"uint8", "int8", "int32"}, 4));
  }

  struct Types {
    const char *a, *b, *sum;
  };
  // 0 where the target has no such products.
  double dots(DotProduct kind, const std::string& name, const Types& types, int group) const {
    if (target_.abilities.dot_lanes(kind) == 0) return 0;
    const std::string value = name + "(sums[c, 0 : LANES], a[0 : " + std::to_string(group) + "], b[0 : GROUP])";
    return started({{"VALUE", value},
                    {"TYPE_A", types.a},
                    {"TYPE_B", types.b},
                    {"SUM", types.sum},
                    {"GROUP", std::to_string(group * lanes_)}},
                   1);
  }

  double tiles_started(const std::string& name, const Types& types, int group) const {
    const std::string terms = std::to_string(kTileBytes / 4 * group);
    const Words words = {{"VALUE", name + "(sums[c, 0 : 256], a[0 : TERMS], b[0 : TERMS])"},
                         {"TYPE_A", types.a},
                         {"TYPE_B", types.b},
                         {"SUM", types.sum},
                         {"CHAINS", std::to_string(kTileSums)},
                         {"TERMS", terms}};
    return kTileSums * steps_a_cycle(kTileProducts, words, kTileBytes, kTileSteps, 1);
  }

  // Bytes a second that each of `tasks` cores reads from as many of its own.
  double read(const Module& module, const char* from, int64_t bytes, int64_t tasks) const {
    int64_t rows = std::max<int64_t>(1, bytes / vectors_bytes(kSums)), times = std::max<int64_t>(1, kMoved / bytes);
    void* const data[] = {const_cast<char*>(from), out_.get(), &tasks, &rows, &times};
    const double seconds = fastest_run(tasks, [&] { module.kernel()->run(data); });
    return static_cast<double>(rows * times * vectors_bytes(kSums)) / seconds;
  }

  void reads(Rates& r) const {
    const HardwareDescription& hardware = here_.hardware;
    const int64_t threads = here_.threads;
    const auto module = made(with_words(kReads, {{"SUMS", std::to_string(kSums)}, {"LANES", std::to_string(lanes_)}}));
    const int64_t dram = std::clamp<int64_t>(4 * hardware.l3_bytes, kFewestBytes, kMostBytes);
    const Memory memory = memory_of(dram);
    const char* x = memory.get();
    r.l1_loads = read(*module, x, hardware.l1_bytes / 2, 1) / (vectors_bytes(1) * hertz_);
    r.l2_bytes = read(*module, x, hardware.l2_bytes / 2, 1) / hertz_;
    // Where the cores' shares are no larger than what their L2 holds, there is nothing to tell apart.
    const int64_t l3 = hardware.l3_bytes / 2 / threads;
    if (l3 >= 2 * hardware.l2_bytes) {
      const double alone = read(*module, x, l3, 1);
      r.l3_bytes = alone / hertz_;
      if (threads > 1) r.all_l3 = std::min(1.0, read(*module, x, l3, threads) / alone);
    } else {
      r.l3_bytes = std::min(r.l3_bytes, r.l2_bytes);
    }
    r.core_dram = read(*module, x, dram, 1);
    r.all_dram = std::max(r.core_dram, threads * read(*module, x, dram / threads, threads));
  }

  const Target& target_;
  const MachineDescription& here_;
  const int lanes_;
  const double hertz_;
  const Memory out_;
};

}  // namespace

Rates measure_rates(const Target& target, const MachineDescription& here) { return Probes(target, here).rates(); }

}  // namespace tw::codegen
