/* Inputs of the dense layer that these examples run, and whether its output is right: relu(a @ b + bias), of whole
 * numbers so that every order of the sums is exact. */
#ifndef DENSE_ARRAYS_H
#define DENSE_ARRAYS_H

enum { M = 128, N = 96, K = 64 };
static float a[M * K], b[K * N], bias[N];

static inline void fill_arrays(void) {
  int i;
  for (i = 0; i < M * K; ++i) a[i] = (float)(i * 7 % 11) - 5;
  for (i = 0; i < K * N; ++i) b[i] = (float)(i * 5 % 13) - 6;
  for (i = 0; i < N; ++i) bias[i] = (float)(i % 3);
}

static inline int is_right(const float* d) {
  int i, j, k;
  for (i = 0; i < M; ++i) {
    for (j = 0; j < N; ++j) {
      float sum = bias[j];
      for (k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      if (d[i * N + j] != (sum > 0 ? sum : 0)) return 0;
    }
  }
  return 1;
}

#endif
