#include "tests/cuda_host/cuda_host.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "codegen/c/compiler.h"
#include "codegen/cuda/instructions.h"
#include "src/support/fiber.h"
#include "tests/cuda_host/box_copies.h"
#include "tests/cuda_host/four_warps.h"
#include "tests/cuda_host/warp_product.h"
#include "tests/folders.h"

namespace tw::testing {

namespace {

struct Dim {
  unsigned x, y, z;
};
class Cluster;
struct Host {  // TwHost of cuda_shim.h, which knows no more than the functions
  Dim thread, block;
  unsigned char* shared;
  void (*meet)(Host*, unsigned place);
  void (*copy)(Host*, void* to, const void* from, unsigned bytes);
  void (*commit)(Host*);
  void (*wait)(Host*, unsigned groups);
  void (*load)(Host*, int matrices, bool transposed, void* to, const void* from);
  void (*shuffle)(Host*, void* to, const void* from, unsigned bytes, int lane);
  void (*multiply)(Host*, unsigned product, void* c, const void* a, const void* b);
  void (*multiply_four)(Host*, unsigned type, int n, void* c, const void* a, const void* b, int a_lies, int b_lies,
                        int a_apart, int b_apart);
  void (*commit_four)(Host*);
  void (*wait_four)(Host*, unsigned batches);
  void (*barrier_init)(Host*, void* barrier, unsigned arrivals);
  void (*barrier_end)(Host*, void* barrier);
  void (*expect)(Host*, void* barrier, unsigned bytes);
  void (*arrive)(Host*, void* barrier);
  void (*wait_parity)(Host*, void* barrier, unsigned parity);
  void (*copy_box)(Host*, void* to, const void* map, const int* at, void* barrier, unsigned blocks);
  void (*meet_cluster)(Host*, unsigned place);
  void (*arrive_cluster)(Host*, void* barrier, unsigned blocks);
  Cluster* running;
};

constexpr const char* kDynamic = ") extern __shared__ unsigned char shared_memory[];";
constexpr size_t kAligned = 1024;  // as far as a swizzle looks
constexpr size_t kStack = 128 << 10;

std::string shim() {
  std::ifstream in(TW_SOURCE_DIR "/tests/cuda_host/cuda_shim.h");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Memory of a block whose size the launch says: an array without one, which cannot be static. Instructions are the
// shim's.
std::string as_cpp(std::string text) {
  for (const codegen::Instruction& instruction : codegen::instructions())
    if (const size_t at = text.find(instruction.text); at != text.npos) text.erase(at, instruction.text.size());
  for (size_t at = text.find(kDynamic); at != text.npos; at = text.find(kDynamic)) {
    const size_t begin = text.rfind("alignas(", at);
    text.replace(begin, at + std::strlen(kDynamic) - begin, "unsigned char* const shared_memory = tw_host->shared;");
  }
  return text;
}

// Blocks that run at once: of most launches one.
class Cluster {
 public:
  Cluster(Host& host, const Dim& threads, const Dim& blocks, size_t shared_bytes, void (*body)(void**), void** given)
      : host_(host),
        threads_(threads),
        blocks_(blocks),
        in_block_(size_t{threads.x} * threads.y * threads.z),
        body_(body),
        given_(given) {
    const size_t blocks_in_all = size_t{blocks.x} * blocks.y * blocks.z, count = in_block_ * blocks_in_all;
    for (size_t n = 0; n < blocks_in_all; ++n) memory_.emplace_back(shared_bytes + kAligned, 0xA5);
    for (std::vector<unsigned char>& bytes : memory_)
      shared_.push_back(bytes.data() + (kAligned - reinterpret_cast<uintptr_t>(bytes.data()) % kAligned) % kAligned);
    for (size_t n = 0; n < count; ++n) fibers_.push_back(std::make_unique<support::Fiber>(kStack));
    places_.resize(count);
    copies_.resize(count);
    ended_.resize(count);
    products_.resize(count);
    four_.resize(count);
    under_way_.resize(count / kFour + 1);
  }

  // From this block on, whose indices are multiples of the cluster's.
  void run(const Dim& first, ThreadOrder order) {
    first_ = first;
    boxes.begin_block();
    for (std::deque<FourBatch>& batches : under_way_) batches.clear();
    awaited_.assign(fibers_.size(), std::nullopt);
    ended_.assign(fibers_.size(), 0);
    waiting_.assign(fibers_.size(), true);
    for (std::deque<Group>& groups : copies_) groups.assign(1, {});
    for (size_t n = 0; n < fibers_.size(); ++n) fibers_[n]->begin([this] { body_(given_); });
    places_.assign(fibers_.size(), {0, false});
    std::vector<size_t> blocks = {order == ThreadOrder::kForwards ? 0 : shared_.size() - 1};
    while (!blocks.empty()) blocks = round(blocks, order);
  }

  void meet(unsigned place, bool of_cluster) {
    places_[now_] = {place, of_cluster};
    fibers_[now_]->wait();
  }
  // The same place of another block.
  void* in_block(void* at, size_t block) const {
    return static_cast<unsigned char*>(at) - shared_[now_ / in_block_] + shared_[block];
  }
  size_t blocks() const { return shared_.size(); }

  void multiply(WarpProductKind kind, const LaneFragments& fragments) {
    products_[now_] = {kind, fragments};
    fibers_[now_]->wait();
  }

  void multiply_four(const FourProduct& product) {
    four_[now_] = product;
    fibers_[now_]->wait();
  }
  // As late as may be: operands are read and sums stored when the first of the threads waits for them. Threads of a
  // group end a batch one after the other, so that each counts what it has ended.
  void commit_four() { ++ended_[now_]; }
  void wait_four(unsigned batches) {
    if (now_ / kFour >= under_way_.size()) return;
    std::deque<FourBatch>& all = under_way_[now_ / kFour];
    while (!all.empty() && all.front().number + batches < ended_[now_]) {
      testing::multiply(all.front().product, all.front().sums);
      all.pop_front();
    }
  }

  // Until the barrier has gone on from the phase of this parity.
  void wait_parity(void* barrier, unsigned parity) {
    while (!boxes.is_over(barrier, parity)) {
      awaited_[now_] = {barrier, parity};
      fibers_[now_]->wait();
    }
  }
  BoxCopies boxes;

  // As late as may be: bytes are read and written when they are waited for.
  void copy(void* to, const void* from, unsigned bytes) { copies_[now_].back().push_back({to, from, bytes}); }
  void commit() { copies_[now_].emplace_back(); }
  void wait(unsigned groups) {
    for (std::deque<Group>& all = copies_[now_]; all.size() > groups + size_t{1}; all.pop_front())
      for (const Copy& copy : all.front()) std::memcpy(copy.to, copy.from, copy.bytes);
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    unsigned bytes;
  };
  using Group = std::vector<Copy>;

  struct Product {
    WarpProductKind kind;
    LaneFragments fragments;
  };

  // Each of some threads up to where it waits.
  void go_on(size_t first, size_t count, ThreadOrder order) {
    for (size_t i = 0; i < count; ++i) {
      now_ = first + (order == ThreadOrder::kForwards ? i : count - 1 - i);
      const auto n = static_cast<unsigned>(now_);
      const unsigned t = n % static_cast<unsigned>(in_block_), block = n / static_cast<unsigned>(in_block_);
      host_.thread = {t % threads_.x, t / threads_.x % threads_.y, t / threads_.x / threads_.y};
      host_.block = {first_.x + block % blocks_.x, first_.y + block / blocks_.x % blocks_.y,
                     first_.z + block / blocks_.x / blocks_.y};
      host_.shared = shared_[block];
      products_[now_].reset();
      four_[now_].reset();
      awaited_[now_].reset();
      waiting_[now_] = fibers_[now_]->resume();
    }
  }

  // Whether a warp came to a product, and has it now.
  bool multiply_in_warp(size_t first) {
    const auto warp = std::span(products_).subspan(first, std::min<size_t>(32, end_of_block(first) - first));
    if (std::ranges::none_of(warp, [](const auto& p) { return p.has_value(); })) return false;
    std::array<LaneFragments, 32> lanes{};
    const auto met = [&](const auto& p) { return p && warp[0] && p->kind == warp[0]->kind; };
    if (warp.size() != lanes.size() || !std::ranges::all_of(warp, met))
      throw Error({ErrorKind::kInternal, "a product that the lanes of a warp do not reach together", {}, {}});
    std::ranges::transform(warp, lanes.begin(), [](const auto& p) { return p->fragments; });
    testing::multiply(warp[0]->kind, lanes);
    return true;
  }

  // The same of four warps, whose product is under way then.
  bool multiply_in_four(size_t first) {
    const auto all = std::span(four_).subspan(first, std::min<size_t>(kFour, end_of_block(first) - first));
    if (std::ranges::none_of(all, [](const auto& p) { return p.has_value(); })) return false;
    const auto met = [&](const auto& p) { return p && all[0] && p->is_of(*all[0]); };
    if (all.size() != kFour || !std::ranges::all_of(all, met))
      throw Error({ErrorKind::kInternal, "a product that the threads of four warps do not reach together", {}, {}});
    FourBatch batch{ended_[first], *all[0], {}};
    for (const auto& p : all) batch.sums.push_back(p->c);
    under_way_[first / kFour].push_back(std::move(batch));
    return true;
  }

  // Whether somebody did who waited for bytes, or for others to arrive.
  bool go_on_from_barriers(ThreadOrder order) {
    bool any = false;
    for (size_t n = 0; n < fibers_.size(); ++n) {
      const auto awaited = awaited_[n];
      if (!awaited) continue;
      const bool over = boxes.is_over(awaited->first, awaited->second);
      if (over) go_on(n, 1, order);
      any = any || over;
    }
    return any;
  }

  bool go_on_from_products(ThreadOrder order) {
    bool any = false;
    for (size_t first = 0; first < fibers_.size(); first = next_of(first, 32))
      for (; multiply_in_warp(first); any = true) go_on(first, next_of(first, 32) - first, order);
    for (size_t first = 0; first < fibers_.size(); first = next_of(first, kFour))
      for (; multiply_in_four(first); any = true) go_on(first, next_of(first, kFour) - first, order);
    return any;
  }
  size_t end_of_block(size_t thread) const { return (thread / in_block_ + 1) * in_block_; }
  size_t next_of(size_t first, size_t count) const { return std::min(first + count, end_of_block(first)); }

  // All threads of the blocks that go on up to where they wait, and those of others who waited for them; which blocks
  // go on then.
  std::vector<size_t> round(const std::vector<size_t>& blocks, ThreadOrder order) {
    for (const size_t block : blocks) go_on(block * in_block_, in_block_, order);
    do {
      while (go_on_from_barriers(order)) {
      }
    } while (go_on_from_products(order));
    std::vector<size_t> next, at_cluster;
    size_t ended = 0;
    for (size_t block = 0; block < shared_.size(); ++block) {
      const size_t first = block * in_block_;
      if (awaits(first)) continue;
      for (size_t n = first; n < first + in_block_; ++n)
        if (waiting_[n] != waiting_[first] || (waiting_[n] && places_[n] != places_[first]))
          throw Error({ErrorKind::kInternal, "a barrier that the threads of a block do not reach together", {}, {}});
      ended += waiting_[first] ? 0 : 1;
      if (waiting_[first]) (places_[first].second ? at_cluster : next).push_back(block);
    }
    if (ended == shared_.size()) return {};
    if (!next.empty()) return {order == ThreadOrder::kForwards ? next.front() : next.back()};
    if (at_cluster.size() == shared_.size()) return at_cluster;
    throw Error({ErrorKind::kInternal, "threads wait for bytes, or for others, that do not come", {}, {}});
  }
  bool awaits(size_t first) const {
    const auto block = std::span(awaited_).subspan(first, in_block_);
    return std::ranges::any_of(block, [](const auto& awaited) { return awaited.has_value(); });
  }

  Host& host_;
  const Dim threads_, blocks_;
  const size_t in_block_;  // threads
  Dim first_{};
  std::vector<std::vector<unsigned char>> memory_;
  std::vector<unsigned char*> shared_;  // of each block, as far as a swizzle looks at addresses alike
  void (*const body_)(void**);
  void** const given_;
  std::vector<std::unique_ptr<support::Fiber>> fibers_;
  std::vector<bool> waiting_;
  std::vector<std::pair<unsigned, bool>> places_;  // and whether of the cluster
  std::vector<std::optional<Product>> products_;   // that a thread waits for
  struct FourBatch {
    unsigned number;  // of the batch that it belongs to
    FourProduct product;
    std::vector<void*> sums;
  };
  std::vector<std::optional<FourProduct>> four_;
  std::vector<std::deque<FourBatch>> under_way_;                    // products of each four warps
  std::vector<unsigned> ended_;                                     // batches of each thread
  std::vector<std::optional<std::pair<void*, unsigned>>> awaited_;  // barrier and parity that a thread waits for
  std::vector<std::deque<Group>> copies_;                           // of each thread; the last group is still open
  size_t now_ = 0;
};

void meet(Host* host, unsigned place) { host->running->meet(place, false); }
void meet_cluster(Host* host, unsigned place) { host->running->meet(place, true); }
void copy(Host* host, void* to, const void* from, unsigned bytes) { host->running->copy(to, from, bytes); }
void commit(Host* host) { host->running->commit(); }
void wait(Host* host, unsigned groups) { host->running->wait(groups); }
void load(Host* host, int matrices, bool transposed, void* to, const void* from) {
  const unsigned kind = static_cast<unsigned>(WarpProductKind::kLoad2) + (matrices == 4 ? 2 : 0) + (transposed ? 1 : 0);
  host->running->multiply(static_cast<WarpProductKind>(kind), {to, from, nullptr});
}
void shuffle(Host* host, void* to, const void* from, unsigned bytes, int lane) {
  const LaneNamed named{lane, bytes};
  host->running->multiply(WarpProductKind::kShuffle, {to, from, &named});
}
void multiply(Host* host, unsigned product, void* c, const void* a, const void* b) {
  host->running->multiply(static_cast<WarpProductKind>(product), {c, a, b});
}

void multiply_four(Host* host, unsigned type, int n, void* c, const void* a, const void* b, int a_lies, int b_lies,
                   int a_apart, int b_apart) {
  host->running->multiply_four({type, n, c, a, b, a_lies, b_lies, a_apart, b_apart});
}
void commit_four(Host* host) { host->running->commit_four(); }
void wait_four(Host* host, unsigned batches) { host->running->wait_four(batches); }

void barrier_init(Host* host, void* barrier, unsigned arrivals) { host->running->boxes.init(barrier, arrivals); }
void barrier_end(Host* host, void* barrier) { host->running->boxes.end(barrier); }
void expect(Host* host, void* barrier, unsigned bytes) { host->running->boxes.expect(barrier, bytes); }
void arrive(Host* host, void* barrier) { host->running->boxes.arrive(barrier); }
void wait_parity(Host* host, void* barrier, unsigned parity) { host->running->wait_parity(barrier, parity); }
void copy_box(Host* host, void* to, const void* map, const int* at, void* barrier, unsigned blocks) {
  const BoxMap& box = *static_cast<const BoxMap*>(map);
  if (blocks == 0) return host->running->boxes.copy(to, box, at, barrier);
  for (size_t block = 0; blocks >> block != 0; ++block)
    if ((blocks >> block & 1) != 0)
      host->running->boxes.copy(host->running->in_block(to, block), box, at, host->running->in_block(barrier, block));
}
void arrive_cluster(Host* host, void* barrier, unsigned blocks) {
  for (size_t block = 0; block < blocks; ++block) host->running->boxes.arrive(host->running->in_block(barrier, block));
}

// What stands in the text above a function whose blocks are a cluster: `__cluster_dims__(1, 2, 1)`.
Dim cluster_of(const std::string& text, const std::string& symbol) {
  const size_t at = text.find("\n" + symbol + "(");
  if (at == text.npos) return {1, 1, 1};
  const size_t head = text.rfind("extern", at);
  const size_t dims = text.find("__cluster_dims__(", head);
  Dim out{1, 1, 1};
  if (dims < at) std::sscanf(text.c_str() + dims, "__cluster_dims__(%u, %u, %u)", &out.x, &out.y, &out.z);
  return out;
}

std::string text_of(const Dim& dim) {
  return "{" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) + "}";
}

Dim sizes(const std::array<runtime::cuda::Formula, 3>& formulas, void* const* scalars) {
  unsigned out[3];
  for (size_t d = 0; d < 3; ++d) out[d] = static_cast<unsigned>(std::max<int64_t>(0, formulas[d].evaluate(scalars)));
  return {out[0], out[1], out[2]};
}

void* symbol(void* library, const std::string& name) {
  void* found = dlsym(library, name.c_str());
  TW_CHECK(found != nullptr, "no function " + name + " in the text");
  return found;
}

}  // namespace

CudaOnHost::CudaOnHost(const codegen::CudaSource& source) {
  std::string text = shim() + "#line 1\n" + as_cpp(source.text);
  for (const runtime::cuda::Plan& plan : source.plans)
    for (const runtime::cuda::Launch& launch : plan.launches)
      text += "extern \"C\" void tw_run_" + launch.symbol + "(void** given) { tw_call(" + launch.symbol +
              ", given); }\n" + "extern \"C\" const unsigned tw_cluster_" + launch.symbol +
              "[] = " + text_of(cluster_of(source.text, launch.symbol)) + ";\n";
  // Not optimized: most texts run for less time than it would take.
  library_ =
      codegen::load_c(text, Target::host(), 0, {"-std=c++17", "-O0", "-fno-exceptions", "-fno-rtti", "-x", "c++"})
          .value_or_throw();
}

void CudaOnHost::run(const runtime::cuda::Plan& plan, std::span<void* const> arguments, void* const* scalars,
                     ThreadOrder order) const {
  std::vector<std::vector<unsigned char>> scratch;
  std::vector<void*> scratch_at;
  for (const runtime::cuda::Formula& bytes : plan.scratch)
    scratch_at.push_back(scratch.emplace_back(static_cast<size_t>(bytes.evaluate(scalars)), 0xA5).data());
  for (const runtime::cuda::Launch& launch : plan.launches) {
    if (launch.when.evaluate(scalars) == 0) continue;
    std::vector<void*> given;
    struct alignas(64) Encoded {
      unsigned char bytes[128];
    };
    std::deque<Encoded> maps;
    for (const runtime::cuda::Operand& operand : launch.operands) {
      if (operand.kind == runtime::cuda::OperandKind::kMap) {
        const runtime::cuda::TensorMap& map = launch.maps[operand.number];
        const bool is_scratch = map.of.kind == runtime::cuda::OperandKind::kScratch;
        const BoxMap box = box_map(map, is_scratch ? scratch_at[map.of.number] : arguments[map.of.number], scalars);
        std::memcpy(&maps.emplace_back(), &box, sizeof box);
        given.push_back(&maps.back());
        continue;
      }
      const void* const address = operand.kind == runtime::cuda::OperandKind::kScalar ? scalars[operand.number]
                                  : operand.kind == runtime::cuda::OperandKind::kScratch
                                      ? static_cast<const void*>(&scratch_at[operand.number])
                                      : &arguments[operand.number];
      given.push_back(const_cast<void*>(address));
    }
    Host host{{},      {},          nullptr,       meet,         copy,           commit,       wait,        load,
              shuffle, multiply,    multiply_four, commit_four,  wait_four,      barrier_init, barrier_end, expect,
              arrive,  wait_parity, copy_box,      meet_cluster, arrive_cluster, nullptr};
    *static_cast<Host**>(symbol(library_.get(), "tw_host")) = &host;
    const Dim grid = sizes(launch.grid, scalars), threads = sizes(launch.block, scalars);
    if (threads.x * threads.y * threads.z == 0) continue;
    const auto* dims = static_cast<const unsigned*>(symbol(library_.get(), "tw_cluster_" + launch.symbol));
    const Dim blocks{dims[0], dims[1], dims[2]};
    if (grid.x % blocks.x != 0 || grid.y % blocks.y != 0 || grid.z % blocks.z != 0)
      throw Error({ErrorKind::kInternal, "a grid of no whole clusters", {}, {}});
    Cluster cluster(host, threads, blocks, static_cast<size_t>(launch.shared_bytes),
                    reinterpret_cast<void (*)(void**)>(symbol(library_.get(), "tw_run_" + launch.symbol)),
                    given.data());
    host.running = &cluster;
    for (unsigned z = 0; z < grid.z; z += blocks.z)
      for (unsigned y = 0; y < grid.y; y += blocks.y)
        for (unsigned x = 0; x < grid.x; x += blocks.x) cluster.run({x, y, z}, order);
  }
}

}  // namespace tw::testing
