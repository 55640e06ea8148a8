// What the text of a device's kernels finds on the device, for the system's C++ compiler; cuda_host.cc puts it before the
// text. Includes nothing, as the text has types of its own by the standard's names.

struct TwDim { unsigned x, y, z; };
// What cuda_host.cc knows of it, in the same order.
struct TwHost {
  TwDim thread, block;
  unsigned char* shared;
  void (*meet)(TwHost*, unsigned place);
  void (*copy)(TwHost*, void* to, const void* from, unsigned bytes);
  void (*commit)(TwHost*);
  void (*wait)(TwHost*, unsigned groups);
  void (*load)(TwHost*, int matrices, bool transposed, void* to, const void* from);
  void (*shuffle)(TwHost*, void* to, const void* from, unsigned bytes, int lane);
  void (*multiply)(TwHost*, unsigned product, void* c, const void* a, const void* b);  // numbers: warp_product.h
  void (*multiply_four)(TwHost*, unsigned type, int n, void* c, const void* a, const void* b, int a_lies, int b_lies,
                        int a_apart, int b_apart);
  void (*commit_four)(TwHost*);
  void (*wait_four)(TwHost*, unsigned batches);
  void (*barrier_init)(TwHost*, void* barrier, unsigned arrivals);
  void (*barrier_end)(TwHost*, void* barrier);
  void (*expect)(TwHost*, void* barrier, unsigned bytes);
  void (*arrive)(TwHost*, void* barrier);
  void (*wait_parity)(TwHost*, void* barrier, unsigned parity);
  void (*copy_box)(TwHost*, void* to, const void* map, const int* at, void* barrier, unsigned blocks);
  void (*meet_cluster)(TwHost*, unsigned place);
  void (*arrive_cluster)(TwHost*, void* barrier, unsigned blocks);
};
extern "C" TwHost* tw_host;
TwHost* tw_host;

#define __global__
#define __device__
#define __grid_constant__
#define __launch_bounds__(...)
#define alignas(n) __attribute__((aligned(n)))  // may stand behind a storage class
#define __shared__ static                       // of a function: blocks run one after the other
#define threadIdx tw_host->thread
#define blockIdx tw_host->block
#define __cluster_dims__(...)
#define __syncthreads() tw_host->meet(tw_host, __LINE__)
#define cluster_sync() tw_host->meet_cluster(tw_host, __LINE__)

// Instructions that have no C form.
static inline void cp_async_4(void* to, const void* from) { tw_host->copy(tw_host, to, from, 4); }
static inline void cp_async_8(void* to, const void* from) { tw_host->copy(tw_host, to, from, 8); }
static inline void cp_async_16(void* to, const void* from) { tw_host->copy(tw_host, to, from, 16); }
static inline void cp_async_commit() { tw_host->commit(tw_host); }
template <int groups>
static inline void cp_async_wait() { tw_host->wait(tw_host, groups); }
template <class T>
static inline void ldmatrix_x2(T* to, const T* from) { tw_host->load(tw_host, 2, false, to, from); }
template <class T>
static inline void ldmatrix_x2_trans(T* to, const T* from) { tw_host->load(tw_host, 2, true, to, from); }
template <class T>
static inline void ldmatrix_x4(T* to, const T* from) { tw_host->load(tw_host, 4, false, to, from); }
template <class T>
static inline void ldmatrix_x4_trans(T* to, const T* from) { tw_host->load(tw_host, 4, true, to, from); }
static inline void ldmatrix_x2_b32(float* to, const float* from) { tw_host->load(tw_host, 2, false, to, from); }
static inline void ldmatrix_x4_b32(float* to, const float* from) { tw_host->load(tw_host, 4, false, to, from); }
static inline unsigned short f32_to_bf16(float value) {
  union { float f; unsigned u; } x = {value};
  if (value != value) return 0x7fff;
  return static_cast<unsigned short>((x.u + 0x7fff + ((x.u >> 16) & 1)) >> 16);
}
static inline unsigned short f32_to_f16(float value) {
  union { _Float16 f; unsigned short u; } x = {static_cast<_Float16>(value)};
  return x.u;
}
static inline float f16_to_f32(unsigned short half) {
  union { unsigned short u; _Float16 f; } x = {half};
  return x.f;
}
template <class Vector>
static inline Vector two_by_two(const unsigned short* from) { return *(const Vector*)from; }
template <int n>
static inline float max_bf16(float most, const unsigned short* at) {
  for (int i = 0; i < n; ++i) {
    union { unsigned u; float f; } x = {static_cast<unsigned>(at[i]) << 16};
    most = most > x.f ? most : x.f;
  }
  return most;
}
template <int n>
static inline float max_f16(float most, const unsigned short* at) {
  for (int i = 0; i < n; ++i) {
    const float next = f16_to_f32(at[i]);
    most = most > next ? most : next;
  }
  return most;
}
template <class T>
static inline void shfl(T* to, const T* from, int lane) { tw_host->shuffle(tw_host, to, from, sizeof(T), lane); }
static inline void mma_m16n8k16_bf16(float* c, const unsigned short* a, const unsigned short* b) {
  tw_host->multiply(tw_host, 0, c, a, b);
}
static inline void mma_m16n8k16_f16(float* c, const unsigned short* a, const unsigned short* b) {
  tw_host->multiply(tw_host, 1, c, a, b);
}
static inline void mma_m16n8k32_s8(int* c, const signed char* a, const signed char* b) {
  tw_host->multiply(tw_host, 2, c, a, b);
}
static inline void mma_m16n8k8_tf32(float* c, const float* a, const float* b) {
  tw_host->multiply(tw_host, 3, c, a, b);
}

// Products of four warps: an operand is where it begins, the bytes of its lines, and how many lines there are from one of
// a step to its next.
struct TwMatrix { const void* at; int line, apart; };
template <int line>
static inline TwMatrix wgmma_matrix(const void* at, int apart = 0) { return {at, line, apart}; }
static inline void wgmma_fence() {}
template <int registers, class T>
static inline void wgmma_sums(T*) {}
static inline void fence_async() {}
template <int registers>
static inline void setmaxnreg_dec() {}
template <int registers>
static inline void setmaxnreg_inc() {}
static inline void wgmma_commit() { tw_host->commit_four(tw_host); }
template <int batches>
static inline void wgmma_wait() { tw_host->wait_four(tw_host, batches); }
// How an operand lies: the bytes of its lines; less than 0 where a line is a step of the terms.
#define TW_OF_HALVES(n, type, number)                                                                \
  template <int a_by_terms, int b_by_terms>                                                          \
  static inline void wgmma_m64n##n##k16_##type(float* c, TwMatrix a, TwMatrix b) {                    \
    tw_host->multiply_four(tw_host, number, n, c, a.at, b.at, a_by_terms ? -a.line : a.line,          \
                           b_by_terms ? -b.line : b.line, a.apart, b.apart);                         \
  }
#define TW_OF_WIDTH(n)                                                                               \
  TW_OF_HALVES(n, bf16, 0) TW_OF_HALVES(n, f16, 1)                                                   \
  static inline void wgmma_m64n##n##k8_tf32(float* c, TwMatrix a, TwMatrix b) {                       \
    tw_host->multiply_four(tw_host, 3, n, c, a.at, b.at, a.line, b.line, a.apart, b.apart);           \
  }
#define TW_OF_BYTES(n)                                                                               \
  TW_OF_WIDTH(n)                                                                                     \
  static inline void wgmma_m64n##n##k32_s8(int* c, TwMatrix a, TwMatrix b) {                          \
    tw_host->multiply_four(tw_host, 2, n, c, a.at, b.at, a.line, b.line, a.apart, b.apart);           \
  }
TW_OF_BYTES(8) TW_OF_BYTES(16) TW_OF_BYTES(24) TW_OF_BYTES(32) TW_OF_WIDTH(40) TW_OF_BYTES(48) TW_OF_WIDTH(56)
TW_OF_BYTES(64) TW_OF_WIDTH(72) TW_OF_BYTES(80) TW_OF_WIDTH(88) TW_OF_BYTES(96) TW_OF_WIDTH(104) TW_OF_BYTES(112)
TW_OF_WIDTH(120) TW_OF_BYTES(128) TW_OF_WIDTH(136) TW_OF_BYTES(144) TW_OF_WIDTH(152) TW_OF_BYTES(160) TW_OF_WIDTH(168)
TW_OF_BYTES(176) TW_OF_WIDTH(184) TW_OF_BYTES(192) TW_OF_WIDTH(200) TW_OF_BYTES(208) TW_OF_WIDTH(216) TW_OF_BYTES(224)
TW_OF_WIDTH(232) TW_OF_BYTES(240) TW_OF_WIDTH(248) TW_OF_BYTES(256)

// Maps are cuda_host.cc's own (Map there); coordinates are innermost first.
struct __attribute__((aligned(64))) TensorMap { unsigned long long opaque[16]; };
static inline void mbarrier_init(unsigned long long* ring, int count, int arrivals) {
  for (int i = 0; i < count; ++i) tw_host->barrier_init(tw_host, ring + i, arrivals);
}
static inline void mbarrier_inval(unsigned long long* ring, int count) {
  for (int i = 0; i < count; ++i) tw_host->barrier_end(tw_host, ring + i);
}
static inline void mbarrier_expect(unsigned long long* barrier, int bytes) { tw_host->expect(tw_host, barrier, bytes); }
static inline void mbarrier_arrive(unsigned long long* barrier) { tw_host->arrive(tw_host, barrier); }
static inline void mbarrier_wait(unsigned long long* barrier, int parity) {
  tw_host->wait_parity(tw_host, barrier, parity);
}
static inline void tma_load_1d(void* to, const TensorMap* map, int c0, unsigned long long* barrier) {
  const int at[] = {c0};
  tw_host->copy_box(tw_host, to, map, at, barrier, 0);
}
static inline void tma_load_2d(void* to, const TensorMap* map, int c0, int c1, unsigned long long* barrier) {
  const int at[] = {c0, c1};
  tw_host->copy_box(tw_host, to, map, at, barrier, 0);
}
static inline void tma_load_3d(void* to, const TensorMap* map, int c0, int c1, int c2, unsigned long long* barrier) {
  const int at[] = {c0, c1, c2};
  tw_host->copy_box(tw_host, to, map, at, barrier, 0);
}
static inline void tma_load_4d(void* to, const TensorMap* map, int c0, int c1, int c2, int c3,
                               unsigned long long* barrier) {
  const int at[] = {c0, c1, c2, c3};
  tw_host->copy_box(tw_host, to, map, at, barrier, 0);
}
static inline void tma_load_5d(void* to, const TensorMap* map, int c0, int c1, int c2, int c3, int c4,
                               unsigned long long* barrier) {
  const int at[] = {c0, c1, c2, c3, c4};
  tw_host->copy_box(tw_host, to, map, at, barrier, 0);
}

// Of blocks of a cluster: those of the mask.
static inline void mbarrier_arrive_cluster(unsigned long long* barrier, unsigned blocks) {
  tw_host->arrive_cluster(tw_host, barrier, blocks);
}
static inline void mbarrier_wait_cluster(unsigned long long* barrier, int parity) {
  tw_host->wait_parity(tw_host, barrier, parity);
}
#define TW_MULTICAST(rank, parameters, ...)                                                                          \
  static inline void tma_multicast_##rank##d parameters {                                                            \
    const int at[] = {__VA_ARGS__};                                                                                  \
    tw_host->copy_box(tw_host, to, map, at, barrier, blocks);                                                        \
  }
TW_MULTICAST(1, (void* to, const TensorMap* map, int c0, unsigned long long* barrier, unsigned short blocks), c0)
TW_MULTICAST(2, (void* to, const TensorMap* map, int c0, int c1, unsigned long long* barrier, unsigned short blocks), c0, c1)
TW_MULTICAST(3, (void* to, const TensorMap* map, int c0, int c1, int c2, unsigned long long* barrier,
                 unsigned short blocks), c0, c1, c2)
TW_MULTICAST(4, (void* to, const TensorMap* map, int c0, int c1, int c2, int c3, unsigned long long* barrier,
                 unsigned short blocks), c0, c1, c2, c3)
TW_MULTICAST(5, (void* to, const TensorMap* map, int c0, int c1, int c2, int c3, int c4, unsigned long long* barrier,
                 unsigned short blocks), c0, c1, c2, c3, c4)

static inline float __int_as_float(int i) { return __builtin_bit_cast(float, i); }
static inline int __float_as_int(float f) { return __builtin_bit_cast(int, f); }
static inline double __longlong_as_double(long long i) { return __builtin_bit_cast(double, i); }
static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float sqrtf(float x) { return __builtin_sqrtf(x); }
static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline float fabsf(float x) { return __builtin_fabsf(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }
static inline float floorf(float x) { return __builtin_floorf(x); }
static inline double floor(double x) { return __builtin_floor(x); }
static inline float ceilf(float x) { return __builtin_ceilf(x); }
static inline double ceil(double x) { return __builtin_ceil(x); }
static inline float rintf(float x) { return __builtin_rintf(x); }
static inline double rint(double x) { return __builtin_rint(x); }
static inline float truncf(float x) { return __builtin_truncf(x); }
static inline double trunc(double x) { return __builtin_trunc(x); }

// A function's parameters are given by their addresses, as to the driver.
template <unsigned long... N>
struct TwNumbers {};
template <class... A, unsigned long... N>
void tw_call(void (*f)(A...), void** given, TwNumbers<N...>) {
  f(*(A*)given[N]...);
}
template <class... A>
void tw_call(void (*f)(A...), void** given) {
  tw_call(f, given, TwNumbers<__integer_pack(sizeof...(A))...>());
}
