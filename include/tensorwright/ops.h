// Stock operators: plain tensor expressions over placeholders and other tensors; a schedule, the default one or a tuned
// one, makes them fast. Shapes, dtypes, formulas and errors stand with each.
//
//   Tensor X = placeholder({1, 56, 56, 64}, "float32", "X"), W = placeholder({3, 3, 64, 64}, "float32", "W");
//   Tensor Y = ops::conv2d(X, W, {.padding = {1}, .activation = "relu"});
#pragma once

#include "tensorwright/ops/activation.h"
#include "tensorwright/ops/attention.h"
#include "tensorwright/ops/conv.h"
#include "tensorwright/ops/cumulative.h"
#include "tensorwright/ops/gather.h"
#include "tensorwright/ops/kernels.h"
#include "tensorwright/ops/matmul.h"
#include "tensorwright/ops/norm.h"
#include "tensorwright/ops/pool.h"
#include "tensorwright/ops/quantized.h"
#include "tensorwright/ops/reduction.h"
#include "tensorwright/ops/shape.h"
#include "tensorwright/ops/softmax.h"
