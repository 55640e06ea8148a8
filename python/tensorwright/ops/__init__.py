"""Stock operators: plain tensor expressions over placeholders and other tensors. docs/ops.md lists them.

>>> X, W = te.placeholder((8, 64), name="X"), te.placeholder((64, 16), name="W")
>>> Y = tw.ops.dense(X, W, activation="relu")
>>> f = tw.build([X, W, Y])
"""

from .._missing import of_module as _of_module
from . import activations as _activations
from . import attentions as _attentions
from . import convolutions as _convolutions
from . import gathers as _gathers
from . import named as _named
from . import norms as _norms
from . import pools as _pools
from . import products as _products
from . import quantized as _quantized
from . import reductions as _reductions
from . import shapes as _shapes
from .activations import *  # noqa: F403
from .attentions import *  # noqa: F403
from .convolutions import *  # noqa: F403
from .gathers import *  # noqa: F403
from .named import *  # noqa: F403
from .norms import *  # noqa: F403
from .pools import *  # noqa: F403
from .products import *  # noqa: F403
from .quantized import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shapes import *  # noqa: F403

__all__ = []
for _part in (_activations, _attentions, _convolutions, _gathers, _named, _norms, _pools, _products, _quantized, _reductions, _shapes):
    __all__ += _part.__all__

_SORTED = "nothing sorts; te.extern calls a function that does, and argmax and max give the first"
_PRODUCT = "matmul(a, b) with any batch in front; te.compute and te.sum are any other product"
_ABSENT = {
    **dict.fromkeys(("topk", "sort", "argsort", "unique"), _SORTED),
    **dict.fromkeys(("mm", "bmm", "addmm", "einsum", "dot"), _PRODUCT),
    "linear": "dense(x, w, transpose_w=True, bias=b), for w as PyTorch keeps it",
    "cat": "concat(tensors, axis)",
    "permute": "transpose(x, axes)",
    "view": "reshape(x, shape)",
    "flatten": "reshape(x, shape)",
    "squeeze": "reshape(x, shape)",
    "unsqueeze": "reshape(x, shape)",
    "relu6": "clip(x, 0, 6)",
    "clamp": "clip(x, low, high)",
    "interpolate": "te.compute over X[y // 2, x // 2], or over a weighted sum of neighbours",
    "upsample": "te.compute over X[y // 2, x // 2], or over a weighted sum of neighbours",
    "dropout": "a kernel that infers drops nothing",
    "nn": "operators stand in tw.ops itself",
    "scaled_dot_product_attention": "attention(q, k, v)",
    "exp": "te.exp in a te.compute",
    "abs": "abs(X)",
}
__getattr__ = _of_module("tw.ops", _ABSENT, __all__)
