"""Products of four warps, a tile for each iteration of a loop over blocks: what tests of rings, roles and clusters schedule alike."""

import ml_dtypes
import numpy as np

import tensorwright as tw
from tensorwright import te
from test_warp_products import numbers, product

X, Y = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")


def operands(n, m, depth):
    tensors = product(n, m, depth, "bfloat16", "float32")
    return tensors, numbers(n, depth, dtype=ml_dtypes.bfloat16), numbers(m, depth, dtype=ml_dtypes.bfloat16)


def tiled(tensors, rows=64, columns=64, step=64, stages=3, by="tma", groups=False, beside=None):
    """Tiles of `rows` x `columns`, with operands in rings. `groups`: each four warps have 64 rows. `beside`, (which, count): so many tiles of a
    column of them ("rows") or of a row ("columns") are neighbours along blockIdx.y.
    Returns: the schedule, the loop over tiles, the one over neighbours."""
    A, B, C = tensors
    s = te.create_schedule(C)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    io, jo, i, j = s[C].tile(*C.op.axis, rows, columns)
    shared_out, neighbour = [], None
    if groups:
        group, i = s[C].split(i, factor=64)
        shared_out.append(group)
    if beside is not None:
        which, count = beside
        outer, neighbour = s[C].split(io if which == "rows" else jo, factor=count)
        io, jo = outer, jo if which == "rows" else io
    ko, k = s[C].split(C.op.reduce_axis[0], factor=step)
    km, k = s[C].split(k, factor=16)
    s[C].reorder(*([] if neighbour is None else [neighbour]), io, jo, *shared_out, ko, km, i, j, k)
    tile = s[C].fuse(io, jo)
    s[C].bind(tile, X)
    if neighbour is not None:
        s[C].bind(neighbour, Y)
    if groups:
        s[C].bind(group, te.thread_axis("threadIdx.y"))
    s[C].tensorize(i, f"wgmma.m64n{columns}k16.bf16")
    for operand in (AS, BS):
        s[operand].compute_at(s[C], ko)
        s[operand].swizzle()
    s[C].pipeline(ko, stages, by)
    return s, tile, neighbour


def check(s, tensors, a, b, target="interp"):
    """That C is the product; returns the program for a device."""
    c = np.full([int(n) for n in tensors[2].shape], 7, "float32")
    tw.build(s, tensors, target=target)(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T)
    return str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))


def check_written_and_read(s, tensors):
    """As Steps, and as the Python that makes them."""
    assert str(tw.Schedule.from_steps(tensors[-1], s.steps)) == str(s)
    exec(s.to_python(), {"te": te, "tw": tw, **{tensor.op.name: tensor for tensor in tensors}}, names := {})
    assert str(names["s"]) == str(s)
