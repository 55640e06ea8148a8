"""Statements of one's own: extern stages, the builder, C functions by symbol, tensor intrinsics."""

import ctypes as _ctypes

from .. import _core
from .._core import Buffer, Stmt, Tensor, TensorIntrin, Var
from ..errors import ArgumentError, DTypeError, ExprError
from . import builder as ir_builder
from .tags import annotated

__all__ = ["Buffer", "Stmt", "TensorIntrin", "call_extern", "decl_buffer", "decl_tensor_intrin", "extern", "ir_builder",
           "register_extern"]


def decl_buffer(shape, dtype="float32", name="buffer", data=None, strides=None, elem_offset=None, scope="", data_alignment=-1,
                offset_factor=0, buffer_type=""):
    """A buffer to write statements over: stands for a tensor in ``te.extern(..., in_buffers=, out_buffers=)`` and in
    ``te.decl_tensor_intrin(..., binds=)``.

    Parameters: shape, extents; dtype; name, of the text form; strides, in elements, None for compact rows, else for each dimension
    a number or a ``te.var``, which stands in the statement for the stride that the tile has: ``strides=[te.var("s"), 1]`` takes
    rows at any distance. The others say where the memory lies that the buffer is bound to, the tile of an intrinsic or the tensor of
    an extern stage, and are proved when a schedule uses it, or refused:
    elem_offset, a ``te.var`` of its own, stands in the statement for the element at which the buffer begins, counted from the
    beginning of the memory that it is a part of, 0 for an extern stage; ``.data`` is then the address of that memory, so that
    ``.data`` and ``.elem_offset`` always name the first element, as ``access_ptr`` does. None: ``.data`` is that of the first element.
    offset_factor, the buffer begins at a multiple of so many elements, at most 1024; 0 and 1, anywhere.
    data_alignment, ``.data`` is a multiple of so many bytes, a power of two up to 64; -1, of what an element has. Scratch is
    aligned to 64 bytes, an argument of the kernel to its elements.
    scope, "local": in scratch of that scope; "global": not in what a Step set to local; "": anywhere.
    data and buffer_type are tvm's for other memories and for broadcasting by strides.
    Raises: ArgumentError for strides that are neither or of another number, for another scope, factor or alignment, for an
    elem_offset that is a number, and for data or a buffer_type; DTypeError for an elem_offset that counts nothing.

    >>> te.decl_buffer((4, 8), name="Ab").strides
    (8, 1)
    >>> te.decl_buffer((4, 8), name="Ab", strides=[te.var("s"), 1]).strides
    (s, 1)
    """
    shape = shape if isinstance(shape, (list, tuple)) else (shape,)
    if scope not in ("", "global", "local"):
        raise ArgumentError(f"decl_buffer {name}: scope must be \"\", \"global\" or \"local\", not {scope!r}",
                            "other memories are those of GPUs")
    if data is not None or buffer_type:
        raise ArgumentError(f"decl_buffer {name}: data and buffer_type must be left out",
                            "the buffer is the memory of a tensor; the schedule says where that is")
    if not (elem_offset is None or isinstance(elem_offset, Var)):
        raise ArgumentError(f"decl_buffer {name}: elem_offset must be a te.var or be left out, not {elem_offset!r}",
                            "the schedule says where the buffer begins, and the variable is told")
    if isinstance(offset_factor, bool) or not isinstance(offset_factor, int) or not 0 <= offset_factor <= _LARGEST_FACTOR:
        raise ArgumentError(f"decl_buffer {name}: offset_factor must be a number of elements, at most {_LARGEST_FACTOR}, "
                            f"not {offset_factor!r}")
    if isinstance(data_alignment, bool) or data_alignment not in _ALIGNMENTS:
        raise ArgumentError(f"decl_buffer {name}: data_alignment must be 1, 2, 4, 8, 16, 32 or 64 bytes, not {data_alignment!r}",
                            "no memory of a kernel is aligned to more than 64 bytes")
    if strides is not None:
        strides = list(strides)
        if len(strides) != len(shape):
            raise ArgumentError(f"decl_buffer {name}: expected one stride for each of the {len(shape)} dimensions, not {len(strides)}")
        for stride in strides:
            if not isinstance(stride, _core.Var) and (isinstance(stride, bool) or not isinstance(stride, int) or stride < 1):
                raise ArgumentError(f"decl_buffer {name}: a stride must be a positive number or a te.var, not {stride!r}")
    buffer = _core._buffer(shape, dtype, name, "argument", strides)
    buffer._tile = _core._tile(buffer, elem_offset, scope, max(data_alignment, 1), max(offset_factor, 1))
    return buffer


_LARGEST_FACTOR = 1024  # elements: memory for the proof of an intrinsic begins after as many rows
_ALIGNMENTS = (-1, 1, 2, 4, 8, 16, 32, 64)


def call_extern(dtype, func_name, *args):
    """A call of a C function: a value inside ``te.compute``, or, with addresses among its arguments, a statement.

    Parameters: dtype, what it returns; func_name, its symbol; args, scalars (an index is passed as an int32),
    ``buffer.access_ptr(...)``, and buffers, which mean their ``data``. The function is found when the kernel is built:
    ``te.register_extern`` gives one, else the process and the libraries that it has loaded with ctypes.RTLD_GLOBAL are searched.
    In a compute it must be pure: how often and in which order it is called depends on the schedule.
    Raises: DTypeError for dtypes that C has not, ArgumentError for a name that is no symbol.

    >>> x = te.placeholder((4,), name="x")
    >>> te.compute((4,), lambda i: te.call_extern("float32", "fabsf", x[i]), name="y").op.body[0]
    call_pure(float32, "fabsf", x[i])
    """
    return _core.call_extern(dtype, func_name, *args)


def register_extern(name, function):
    """Give kernels a C function: from now on ``call_extern`` of this name means it.

    Parameters: name, the symbol; function, a ctypes function (kept alive), its address, or None to take it back. Kernels that
    call what is known by its address only are neither saved nor tuned.
    Raises: ArgumentError for anything else.
    """
    if function is None:
        address = 0
    elif isinstance(function, int):
        address = function
    elif isinstance(function, _ctypes._CFuncPtr):
        address = _ctypes.cast(function, _ctypes.c_void_p).value
    else:
        raise ArgumentError(f"register_extern: function must be a ctypes function or an address, not {function!r}")
    _REGISTERED[name] = function
    _core._register_extern(name, address or 0)


_REGISTERED = {}


def _outputs(name, shape, inputs, dtype):
    several = bool(shape) and isinstance(shape[0], (list, tuple)) if isinstance(shape, (list, tuple)) else False
    shapes = list(shape) if several else [shape if isinstance(shape, (list, tuple)) else (shape,)]
    if dtype is None:
        known = {t.dtype for t in inputs}
        if len(known) != 1:
            raise DTypeError(f"extern {name}: dtype must be given, for the inputs have {len(known)} different ones")
        dtype = known.pop()
    dtypes = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(shapes)
    if len(dtypes) != len(shapes):
        raise ArgumentError(f"extern {name}: expected one dtype for each of the {len(shapes)} outputs, not {len(dtypes)}")
    return list(zip(dtypes, shapes))


def extern(shape, inputs, fcompute, name="extern", dtype=None, in_buffers=None, out_buffers=None, tag="", attrs=None):
    """A stage that the function's statement computes: calls of C functions, or loops of a builder.

    Parameters: shape, of the output, or a list of shapes; inputs, tensors; fcompute, ``(ins, outs) -> statement`` over the
    buffers of the inputs and the outputs; dtype, of the output or one for each, by default that of the inputs; in_buffers and
    out_buffers, ``te.decl_buffer`` to be given to the function instead, whose variables stand for the strides of the tensors; tag
    and attrs as for ``te.compute``.
    Returns: the tensor, or a list of them. The stage is computed whole, at root; what it reads is kept whole in memory.
    A read that may be outside of its tensor is clamped, a store left out (docs/semantics.md#memory); what a C function does with the
    addresses that it is given is not checked.
    Raises: ExprError if the statement writes an input, touches other buffers or an element outside for all sizes, reads an output
    before it has written it, or breaks a rule of types; DTypeError; ArgumentError.

    >>> A = te.placeholder((8,), name="A")
    >>> def double(ins, outs):
    ...     ib = te.ir_builder.create()
    ...     a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    ...     with ib.for_range(0, 8, name="i") as i:
    ...         b[i] = a[i] * 2.0
    ...     return ib.get()
    >>> te.extern((8,), [A], double, name="B")
    Tensor(B: float32[8])
    """
    inputs = list(inputs)
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise ExprError(f"extern {name}: inputs must be tensors, not {tensor!r}")
        _core._of_scalars(f"extern {name}", tensor)
    made = _core._extern(_outputs(name, shape, inputs, dtype), inputs, fcompute, name, in_buffers, out_buffers)
    return annotated(f"extern {name}", made, tag, attrs)


def decl_tensor_intrin(op, fcompute, name="tensor_intrin", binds=None, scalar_params=None, default_buffer_params=None):
    """Declare a tensor intrinsic: a statement that computes a small expression, for ``s[C].tensorize(axis, intrin)``.

    Parameters: op, the operation of a compute over placeholders; fcompute, ``(ins, outs) -> body`` or ``-> (body, reset, update)``:
    the whole expression; the values from which a reduction starts (None: the identity); a tile's worth added to the output. A
    loop of a reduction outside of the tile needs the update. An output holds anything before the body or the reset writes it: a
    body that adds to it is refused, or, beside an update that does the same, left out. Whoever passes an address on to a C function
    finds a tile there that lies as its buffer says, or the tensorize is refused; elements by subscripts may lie anywhere.
    binds, {tensor: te.decl_buffer(...)}, what ins and outs are instead of the tensors' own compact buffers;
    default_buffer_params, offset_factor, data_alignment and scope of ``te.decl_buffer`` for the others. scalar_params, None: a number that the function needs
    stands in the expression or is a constant.
    Returns: the intrinsic. It is known by its content: replaying a log needs the same declaration.
    Raises: ScheduleError if op is of another kind, or if the statements, run on small integers from outputs that hold others, do not
    compute it (where they call a function that is loaded later, tensorize and build raise it); ArgumentError for binds of other
    tensors or shapes, and for scalar_params.

    >>> a, b = te.placeholder((8,), name="a"), te.placeholder((8,), name="b")
    >>> c = te.compute((8,), lambda i: a[i] + b[i], name="c")
    >>> def add(ins, outs):
    ...     ib = te.ir_builder.create()
    ...     x, y, z = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
    ...     with ib.for_range(0, 8, name="i", kind="vectorize") as i:
    ...         z[i] = x[i] + y[i]
    ...     return ib.get()
    >>> te.decl_tensor_intrin(c.op, add, name="add_8").op.name
    'c'
    """
    if unknown := set(default_buffer_params or ()) - {"offset_factor", "data_alignment", "scope"}:
        raise ArgumentError(f"decl_tensor_intrin {name}: default_buffer_params must be offset_factor, data_alignment and scope, "
                            f"not {', '.join(sorted(unknown))}", "binds={tensor: te.decl_buffer(...)} says what is one tensor's own")
    if scalar_params:
        raise ArgumentError(f"decl_tensor_intrin {name}: scalar_params must be left out", "a tile has no arguments but its tensors: "
                            "write the number into the statement, or as a tensor of one element into the expression")
    binds, tensors = dict(binds or {}), [*op.input_tensors, *(op.output(i) for i in range(op.num_outputs))]
    for tensor in tensors:
        _core._of_scalars(f"decl_tensor_intrin {name}", tensor)
    for tensor, buffer in binds.items():
        if not isinstance(tensor, Tensor) or not isinstance(buffer, Buffer):
            raise ArgumentError(f"decl_tensor_intrin {name}: binds must be {{tensor: te.decl_buffer(...)}}, "
                                f"not {{{tensor!r}: {buffer!r}}}")
        if tensor not in tensors:
            raise ArgumentError(f"decl_tensor_intrin {name}: binds must name tensors of op, not {tensor.name}")
        if (tuple(tensor.shape), tensor.dtype) != (tuple(buffer.shape), buffer.dtype):
            raise ArgumentError(f"decl_tensor_intrin {name}: the buffer of {tensor.name} must be {tensor.dtype}{list(tensor.shape)}, "
                                f"not {buffer!r}")
    declared = []
    for tensor in tensors:
        buffer = binds.get(tensor)
        if buffer is None and default_buffer_params:
            buffer = decl_buffer(tensor.shape, tensor.dtype, tensor.name, **default_buffer_params)
        declared.append(buffer)
    return _core._declare_intrin(op, fcompute, name, declared)
