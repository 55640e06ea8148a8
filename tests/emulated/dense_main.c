/* Runs relu(A @ B + bias) of 9x17x33 as tw-probe saved it: "right", or the first element that is wrong. */
#include <stdio.h>

#include "dense.h"

enum { M = 9, N = 17, K = 33 };
static float a[M * K], b[K * N], bias[N], d[M * N];

static void whole_numbers(float* values, int count, int seed) {
  for (int i = 0; i < count; ++i) values[i] = (float)((i * 7 + seed) % 11) - 5;
}

int main(void) {
  whole_numbers(a, M * K, 1);
  whole_numbers(b, K * N, 2);
  whole_numbers(bias, N, 3);
  const int32_t code = dense_run(a, b, bias, d);
  if (code != 0) return printf("code %d\n", (int)code), 1;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = bias[j];
      for (int k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      if (d[i * N + j] != (sum > 0 ? sum : 0)) return printf("D[%d, %d] is %g\n", i, j, d[i * N + j]), 1;
    }
  }
  return printf("right\n"), 0;
}
