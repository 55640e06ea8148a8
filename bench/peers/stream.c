// Reads n floats once, by all threads, as fast as the memory gives them: what a sum is measured against.
typedef float vector __attribute__((vector_size(64), aligned(4), may_alias));

static float read_part(const float* x, long n) {
  vector sums[8] = {0};
  long i = 0;
  for (; i + 128 <= n; i += 128)
    for (int v = 0; v < 8; ++v) sums[v] += *(const vector*)(x + i + 16 * v);
  float total = 0;
  for (; i < n; ++i) total += x[i];
  for (int v = 0; v < 8; ++v)
    for (int lane = 0; lane < 16; ++lane) total += sums[v][lane];
  return total;
}

float tw_peer_read(const float* x, long n, int threads) {
  float total = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
  for (int t = 0; t < threads; ++t)
    total += read_part(x + n / threads * t, t + 1 < threads ? n / threads : n - n / threads * t);
  return total;
}
