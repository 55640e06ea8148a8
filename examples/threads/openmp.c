/* The default context: compiled with -fopenmp a kernel's parallel loops are OpenMP's, in the team that its settings
 * give. */
#include <stdio.h>

#include "dense_arrays.h"
#include "kernels.h"

static float d[M * N];

int main(void) {
  fill_arrays();
  const int32_t code = acme_dense_run(a, b, bias, d);
  if (code != 0) return printf("code %d\n", (int)code), 1;
  printf("%s\n", is_right(d) ? "right" : "wrong");
  return 0;
}
