// Reads n floats once, or copies them, by all threads, as fast as the memory gives them: what sums, and functions of
// rows, are measured against. `times` times in a row, for what is so small that a call takes longer than its work.
typedef float vector __attribute__((vector_size(64), aligned(4), may_alias));

__attribute__((noipa)) static float read_part(const float* x, long n) {
  vector sums[8] = {0};
  long i = 0;
  for (; i + 128 <= n; i += 128)
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) sums[v] += *(const vector*)(x + i + 16 * v);
  float total = 0;
  for (; i < n; ++i) total += x[i];
#pragma GCC unroll 8
  for (int v = 1; v < 8; ++v) sums[0] += sums[v];
  for (int lane = 0; lane < 16; ++lane) total += sums[0][lane];
  return total;
}

float tw_peer_read(const float* x, long n, int threads, long times) {
  float total = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
  for (int t = 0; t < threads; ++t)
    for (long again = 0; again < times; ++again)
      total += read_part(x + n / threads * t, t + 1 < threads ? n / threads : n - n / threads * t);
  return total;
}

__attribute__((noipa)) static void copy_part(const float* from, float* to, long n) {
  long i = 0;
  for (; i + 64 <= n; i += 64)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) *(vector*)(to + i + 16 * v) = *(const vector*)(from + i + 16 * v);
  for (; i < n; ++i) to[i] = from[i];
}

void tw_peer_copy(const float* from, float* to, long n, int threads, long times) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; ++t)
    for (long again = 0; again < times; ++again)
      copy_part(from + n / threads * t, to + n / threads * t, t + 1 < threads ? n / threads : n - n / threads * t);
}
