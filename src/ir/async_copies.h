// Boxes of tensors that a device copies to shared memory by itself, and the barriers that say when they are there, as
// calls by name within a launch:
//
//   call(int32, "mbarrier.init", address(out full[0]), 3)
//   call(int32, "mbarrier.expect", address(inout full[0]), 3, turn, 8192)
//   call(int32, "tma.load", address(out P[turn % 3, 0, 0]), address(in A[0, 0]), address(inout full[0]), 3, turn, 128,
//        row, 64, 4096, 512, column, 64, 512, 1)
//   call(int32, "mbarrier.wait", address(inout full[0]), 3, turn)
//   call(int32, "mbarrier.inval", address(out full[0]), 3)
//
// In a launch whose blocks are a cluster a load may bring its box to all of them, each of which counts it, and threads
// may arrive at a turn in all of them, as here of 2 blocks, each of which begins half of what all read:
//
//   call(int32, "tma.multicast", address(out B[turn % 3, by * 32, 0]), .., by * 32 + column, 32, 4096, 512, row, 64,
//   ..) call(int32, "mbarrier.arrive.cluster", address(inout free[0]), 3, turn)       // init counts the threads of
//   both
//
// It goes to the same place in each. All come to the same loads and barriers, and what a block does to another begins
// behind a barrier of the cluster that stands behind `init`, and is over at the last one.
//
// Where some threads copy for others, these say by barriers of another ring that they have read what came:
//
//   call(int32, "mbarrier.init", address(out free[0]), 3, 256)
//   call(int32, "mbarrier.arrive", address(inout free[0]), 3, turn)
//   call(int32, "mbarrier.wait", address(inout free[0]), 3, turn - 3)
//
// A ring of barriers, here three, has turns 0, 1, 2, ..: turn t is the t / 3th phase of barrier t % 3, so that slots
// and parities follow from turns. One thread begins a turn, once: it says how many bytes come, and begins copies of so
// many. Who waits for the turn goes on when all of them are there, and sees them; who has not waited sees them after a
// barrier of the block behind that. A turn begins when all have waited for the one that has the barrier before it.
//
// A turn of a ring that counts arrivals is over when so many threads, whole warps, have come to `arrive`, each once:
// who waits for it then finds done what they did before. Turns before the first are over from the beginning.
//
// A load: where the box goes, which is `swizzle` bytes of each row as `swizzle` of a schedule has them (0: as they
// come); where the tensor begins; the turn; and of each dimension of the tensor, outermost first, where the box begins,
// how many elements it has, how many the tensor has, and how far apart they are. What is outside of the tensor is 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

enum class AsyncOp : uint8_t { kInit, kEnd, kExpect, kLoad, kWait, kArrive };

struct BoxAxis {
  Expr at;
  int64_t box = 1;
  Expr extent, stride;  // of the tensor, in elements
};
struct AsyncCall {
  AsyncOp op = AsyncOp::kInit;
  Address ring{};
  int64_t slots = 0;
  Expr turn;             // but of init and inval
  int64_t bytes = 0;     // of expect
  int64_t arrivals = 0;  // of init: threads in a turn; 0: bytes are counted
  Address to{}, from{};  // of a load, as is what follows
  int64_t swizzle = 0;
  std::vector<BoxAxis> axes;
  bool in_cluster = false;  // of a load or an arrival: in all blocks of the cluster
};

inline constexpr int64_t kBoxUnit = 16, kMostOfBox = 256, kMostBoxAxes = 5;  // bytes, elements
inline constexpr int64_t kSwizzles[] = {0, 32, 64, 128};
inline constexpr int64_t kMostInCluster = 8;  // blocks, of which every device that has clusters runs so many at once

bool is_async(std::string_view symbol);
bool is_async(const Stmt&);
bool is_wait(const Stmt&);                      // for a turn
bool reaches_cluster(std::string_view symbol);  // other blocks of the cluster
bool reaches_cluster(const Stmt&);
std::string async_fault(const CallExtern&);  // empty where it is such a call as above
AsyncCall async_call(const CallExtern&);     // of one without a fault
std::optional<AsyncCall> async_call(const Stmt&);

Stmt async_stmt(const AsyncCall&);

int64_t elements_of(const AsyncCall& load);  // of its box
// What the place of a box must be a multiple of, in bytes: a swizzle counts rows by address.
int64_t box_alignment(int64_t swizzle);
// Where a byte of shared memory goes, whose address, from such a multiple on, is this one.
int64_t swizzled_address(int64_t swizzle, int64_t byte);

}  // namespace tw::ir
