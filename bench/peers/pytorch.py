"""PyTorch as a peer, eager: what its users call, on the arrays of the row. It allocates its results, as for its users.

Weights that are parameters have the layout that PyTorch asks its users for (channels last), made outside the clock.
"""
import numpy as np

from bench.peers.onednn import Missing


def load():
    try:
        import torch
    except ImportError as error:
        raise Missing("PyTorch is not installed: ./dev setup --peers") from error
    return torch


def tensor(torch, x):
    """x itself, without a copy; NumPy has no bfloat16 of its own."""
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype.name == "bfloat16" else torch.from_numpy(x)


def matmul(torch, a, b, _):
    x, w = tensor(torch, a), tensor(torch, b)
    if a.dtype == np.int8:
        return lambda: torch._int_mm(x, w)
    return lambda: torch.mm(x, w)


def conv2d(torch, x, weights, _, stride, padding):
    last = torch.channels_last
    data = tensor(torch, x).permute(0, 3, 1, 2)
    depthwise = weights.ndim == 3
    w = tensor(torch, weights[:, :, None] if depthwise else weights)
    w = (w.permute(3, 2, 0, 1)).contiguous(memory_format=last)
    groups = data.shape[1] if depthwise else 1
    return lambda: torch.nn.functional.conv2d(data, w, stride=stride, padding=padding, groups=groups)


def softmax(torch, x, _):
    data = tensor(torch, x)
    return lambda: torch.softmax(data, 1)


def layer_norm(torch, x, scale, shift, epsilon, _):
    data, factor, offset = (tensor(torch, a) for a in (x, scale, shift))
    return lambda: torch.nn.functional.layer_norm(data, data.shape[1:], factor, offset, epsilon)
