// Copies of boxes and the barriers that count their bytes, or arrivals, for the shim: as PTX has them, with parities,
// and independently of the interpreter's turns.
#pragma once

#include <map>
#include <vector>

#include "src/runtime/cuda/plan.h"

namespace tw::testing {

// What the text has as a TensorMap: innermost first.
struct alignas(64) BoxMap {
  const unsigned char* array;
  unsigned rank, element_bytes, swizzle;
  unsigned extents[5], box[5];
  long long strides[5];  // bytes
};
static_assert(sizeof(BoxMap) <= 128);
BoxMap box_map(const runtime::cuda::TensorMap&, const void* array, void* const* scalars);

// Of a block. Bytes come as late as they may: when somebody goes on who waited for them.
class BoxCopies {
 public:
  void begin_block() { barriers_.clear(); }
  void init(void* barrier, unsigned arrivals);
  void end(void* barrier);
  void expect(void* barrier, unsigned bytes);
  void arrive(void* barrier);  // one lane of a warp: all of them are an arrival
  void copy(void* to, const BoxMap& map, const int* at, void* barrier);
  bool is_over(void* barrier, unsigned parity);  // and then what came is there

 private:
  struct Copy {
    unsigned char* to;
    BoxMap map;
    int at[5];
  };
  struct Barrier {
    unsigned parity = 0;                 // of the phase that is not over
    unsigned arrivals = 0, pending = 0;  // of lanes, in a phase; that are still to come
    long long bytes = 0;                 // expected, without those that are begun
    std::vector<Copy> copies, done;
  };
  Barrier& of(void* barrier);
  static void go_on(Barrier&);
  static void make(const Copy&);

  std::map<void*, Barrier> barriers_;
};

}  // namespace tw::testing
