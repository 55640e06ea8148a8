// Reads n floats once, or copies them, by all threads, as fast as the memory gives them: what sums, and functions of rows,
// are measured against.
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

static void copy_part(const float* from, float* to, long n) {
  long i = 0;
  for (; i + 64 <= n; i += 64)
    for (int v = 0; v < 4; ++v) *(vector*)(to + i + 16 * v) = *(const vector*)(from + i + 16 * v);
  for (; i < n; ++i) to[i] = from[i];
}

void tw_peer_copy(const float* from, float* to, long n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; ++t)
    copy_part(from + n / threads * t, to + n / threads * t, t + 1 < threads ? n / threads : n - n / threads * t);
}
