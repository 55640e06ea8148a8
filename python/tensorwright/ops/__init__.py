"""Stock operators: plain tensor expressions over placeholders and other tensors. docs/ops.md lists them.

>>> X, W = te.placeholder((8, 64), name="X"), te.placeholder((64, 16), name="W")
>>> Y = tw.ops.dense(X, W, activation="relu")
>>> f = tw.build([X, W, Y])
"""

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
