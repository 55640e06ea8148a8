// What the arithmetic of this machine gives: chains of independent multiply-adds in registers, by all threads.
#include <immintrin.h>

enum { kChains = 16, kLanes = 16 };

// Each returns the arithmetic of one call (a multiply-add counts as two): `rounds` rounds of kChains instructions a
// thread.
#define PEAK(name, type, zero, step, per_instruction)                                                     \
  double name(long rounds, int threads) {                                                                 \
    _Pragma("omp parallel for num_threads(threads) schedule(static)") for (int t = 0; t < threads; ++t) { \
      type sums[kChains];                                                                                 \
      _Pragma("GCC unroll 16") for (int c = 0; c < kChains; ++c) sums[c] = zero;                          \
      for (long r = 0; r < rounds; ++r) {                                                                 \
        _Pragma("GCC unroll 16") for (int c = 0; c < kChains; ++c) {                                      \
          sums[c] = step(sums[c]);                                                                        \
          __asm__ volatile("" : "+v"(sums[c]));                                                           \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
    return (double)per_instruction * kChains * rounds * threads;                                          \
  }

#ifdef __AVX512F__
#define FMA(x) _mm512_fmadd_ps(x, _mm512_set1_ps(0.5f), _mm512_set1_ps(1.0f))
PEAK(tw_peer_peak_f32, __m512, _mm512_setzero_ps(), FMA, 2 * kLanes)
#endif
#ifdef __AVX512VNNI__
#define DOT8(x) _mm512_dpbusd_epi32(x, _mm512_set1_epi8(1), _mm512_set1_epi8(2))
PEAK(tw_peer_peak_u8s8, __m512i, _mm512_setzero_si512(), DOT8, 8 * kLanes)
#endif
#ifdef __AVX512BF16__
#define DOT16(x) _mm512_dpbf16_ps(x, (__m512bh)_mm512_set1_epi16(0x3f80), (__m512bh)_mm512_set1_epi16(0x3f80))
PEAK(tw_peer_peak_bf16, __m512, _mm512_setzero_ps(), DOT16, 4 * kLanes)
#endif
