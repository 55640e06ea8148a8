"""Declaring what is computed: placeholders, computes, axes and variables."""

import inspect
from types import NoneType

from .. import _core
from ..errors import ArgumentError, DTypeError, ExprError
from ..loops import ThreadAxis
from ._numpy import dtype_name
from .regions import tiles
from .tags import annotated

__all__ = ["compute", "placeholder", "reduce_axis", "size_var", "thread_axis", "var"]


def _named(what, name):
    if not isinstance(name, str):
        raise DTypeError(f"{what}: name must be a string, not {type(name).__name__}")
    return name


def placeholder(shape, dtype=None, name="placeholder", *, strides=None, param=False, range=None):
    """An input of a kernel.

    Parameters: shape, up to 16 extents (one int counts as a shape of rank 1); dtype, default "float32", or that of vectors as
    "float32x2" (docs/dtypes.md#vectors), whose arrays have a last axis of 2; name, for messages and printed code; strides, in
    elements, for arrays that are not compact; param, True for a weight that ``transform_layout``
    may pack: ``f.pack`` makes the packed array once, outside of the kernel; range, of integers, the caller's promise that every
    value lies in (lowest, highest), for which ``tensorize`` with an intrinsic that saturates asks. A call checks the promise
    under ``TW_CHECK_RANGES=1`` or when ``f.check_ranges`` is set, and else believes it.
    Raises: ExprError for extents that are negative, unknown or too many, DTypeError for an unknown dtype, ArgumentError for a
    range that is none.

    >>> A = te.placeholder((128, 64), name="A")
    >>> A.shape, A.dtype
    ((128, 64), 'float32')
    """
    if range is not None and not (isinstance(range, (tuple, list)) and len(range) == 2 and all(map(_fits_int64, range))):
        raise ArgumentError(f"placeholder {name}: range must be two integers (lowest, highest), not {range!r}")
    if not isinstance(param, bool):
        raise ArgumentError(f"placeholder {name}: param must be True or False, not {param!r}")
    dtype = dtype_name("float32" if dtype is None else dtype)
    return _core.placeholder(shape, dtype, _named("placeholder", name), strides, param, None if range is None else tuple(range))


def _fits_int64(value):
    return isinstance(value, int) and -(2**63) <= value < 2**63


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """A tensor by its definition.

    Parameters: shape, up to 16 extents; fcompute, a function of one index per dimension (or of ``*i``) that returns the value of
    an element, or a tuple of values for several outputs of one shape, or of the first indices only that calls an intrinsic with
    regions, ``lambda i: add(A[i, 0:16], B[i, 0:16])``, which computes tiles over the other dimensions: a schedule begins with it
    in the place of their loops; name; tag and attrs, a word and a dict that the operation has as labels: ``C.op.tag``,
    ``C.op.attrs``, where tensors stand by their names; varargs_names, names of the axes that ``*i`` takes.
    Returns: the tensor, or a tuple of them, named C.v0, C.v1, .... Its axes are ``C.op.axis``, named after fcompute's parameters.
    Raises: ExprError if fcompute takes another number of indices, if the definition uses a variable that is no axis of it,
    reads outside a tensor, or holds a reduction inside a larger expression.

    >>> A = te.placeholder((4, 8), name="A")
    >>> B = te.compute((8, 4), lambda i, j: A[j, i] + 1, name="B")
    >>> B.op.body[0]
    A[j, i] + 1.0
    >>> [t.name for t in te.compute((4,), lambda i: (A[i, 0], A[i, 1] > 0), name="C")]
    ['C.v0', 'C.v1']
    >>> te.compute(A.shape, lambda *i: te.exp(A(*i))).op.body[0]
    exp(A[i0, i1])
    """
    _named("compute", name)
    rank = len(shape) if isinstance(shape, (tuple, list)) else 1
    names = _axis_names(fcompute, rank, name, varargs_names)
    if len(names) < rank and names is not _UNKNOWN:
        made = tiles(shape, names, fcompute, name, lambda: _refuse_indices(name, rank, names))
    else:
        made = _core.compute(shape, names, fcompute, name)
    return annotated(f"compute {name}", made, tag, attrs)


def _axis_names(fcompute, rank, name, varargs_names):
    if not callable(fcompute):
        raise ExprError(f"compute {name}: fcompute must be a function of the indices, not {type(fcompute).__name__}")
    try:
        parameters = inspect.signature(fcompute).parameters.values()
    except (TypeError, ValueError):  # a callable written in C
        return _UNKNOWN
    if unfit := [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]:
        raise ExprError(f"compute {name}: fcompute must take indices by position, not by the keyword {unfit[0]}")
    required = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    if rest and len(required) <= rank:
        if varargs_names is not None:
            if len(varargs_names) != rank - len(required) or not all(isinstance(v, str) for v in varargs_names):
                raise ExprError(f"compute {name}: varargs_names must be {rank - len(required)} names, not {varargs_names!r}")
            return required + list(varargs_names)
        return required + [f"{rest[0]}{i}" for i in range(rank - len(required))]
    if len(required) > rank:
        _refuse_indices(name, rank, required)
    return required


_UNKNOWN = []


def _refuse_indices(name, rank, names):
    raise ExprError(
        f"compute {name}: fcompute must take {rank} {'index' if rank == 1 else 'indices'}, one per dimension, not {len(names)}",
        f"its parameters: {', '.join(names) or 'none'}",
        "lambda *i: ... takes any number",
    )


def reduce_axis(dom, name="rv", thread_tag="", span=None):
    """An axis to reduce over.

    Parameters: dom, ``(start, end)``; name. Several computes may share one. An end may depend on axes of the compute, as that of
    ``te.compute((n,), lambda i: te.sum(A[i, k], te.reduce_axis((0, i + 1), "k")))``: the axis then has the ends that it has for
    any of them, and the sum a condition (``where``).

    >>> te.reduce_axis((0, 16), name="k")
    reduce_axis(k: 0..16)
    """
    _named("reduce_axis", name)
    if hasattr(dom, "min") and hasattr(dom, "extent"):
        dom = (dom.min, dom.min + dom.extent)
    if not isinstance(dom, (tuple, list)) or len(dom) != 2:
        raise ExprError(f"reduce_axis {name}: dom must be (start, end), not {dom!r}", "te.reduce_axis((0, n))")
    if thread_tag:
        raise ExprError(f"reduce_axis {name}: thread_tag must be left out, not {thread_tag!r}", "s[C].bind(axis, te.thread_axis(tag)) says it of a loop")
    return _core.reduce_axis(dom[0], dom[1], name)


def thread_axis(dom=None, tag="", name="", span=None):
    """An index of a device, for ``s[C].bind``.

    Parameters: dom, ``(0, n)``, where the loops that are bound to it must have n iterations, or None; tag, "blockIdx.x" and so on to
    "threadIdx.z", or "vthread" ("vthread.x" and so on mean the same), which may also stand in the place of dom; name.

    >>> te.thread_axis("threadIdx.x")
    thread_axis(threadIdx.x)
    >>> te.thread_axis((0, 64), "blockIdx.y")
    thread_axis(blockIdx.y: 0..64)
    >>> te.thread_axis((0, 2), "vthread", name="vx")
    thread_axis(vthread: 0..2)
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if hasattr(dom, "min") and hasattr(dom, "extent"):
        dom = (dom.min, dom.min + dom.extent)
    _named("thread_axis", name)
    if tag not in _TAGS:
        raise ExprError(f"thread_axis: tag must be one of {', '.join(_TAGS)}, not {tag!r}")
    if dom is not None and (not isinstance(dom, (tuple, list)) or len(dom) != 2 or not _is_zero(dom[0]) or not _is_end(dom[1])):
        raise ExprError(f"thread_axis {tag}: dom must be (0, end), not {dom!r}", 'te.thread_axis((0, 64), "threadIdx.x")')
    return ThreadAxis(None if dom is None else tuple(dom), tag.partition(".")[0] if tag.startswith("vthread") else tag, name or tag)


_TAGS = [f"{unit}.{dim}" for unit in ("blockIdx", "threadIdx", "vthread") for dim in "xyz"] + ["vthread"]


def _is_zero(value):
    return isinstance(value, int) and value == 0


def _is_end(value):
    return value >= 0 if isinstance(value, int) else not isinstance(value, (str, float, NoneType))


def var(name="tindex", dtype="int32", span=None):
    """A scalar: the extent of dimensions, or a value that the kernel takes as an argument.

    Parameters: name; dtype, "int32" for extents and subscripts (64 bits inside), or that of the value.
    As an extent it is read off the arrays' shapes at each call, and one kernel runs for every value, 0 included. What no shape
    gives is named among the args of ``tw.build`` and passed as a number.

    >>> n, alpha = te.var("n"), te.var("alpha", "float32")
    >>> A = te.placeholder((n,), name="A")
    >>> C = te.compute((n,), lambda i: A[i] * alpha, name="C")
    >>> f = tw.build([A, alpha, C])
    >>> a, c = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    >>> f(a, 2.0, c)
    >>> c.tolist()
    [0.0, 2.0, 4.0]
    """
    return _core.var(_named("var", name), dtype_name(dtype))


size_var = var
