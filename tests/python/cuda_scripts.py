"""What tests of devices build, also in the processes that they start."""

import numpy as np

import tensorwright as tw
from tensorwright import te

BLOCK, THREAD = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")


def random(*shape, dtype="float32"):
    return np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)


def run(s, tensors, *arrays, shape, dtype="float32"):
    """What the kernel writes to its last argument, in the interpreter; the others are `arrays`."""
    out = np.full(shape, 7, dtype)
    tw.build(s, tensors, target="interp")(*arrays, out)
    return out


def bind(s, stage, **axes):
    """Axes of the stage to the indices of a device that they are named by: blockIdx_x=by."""
    for name, axis in axes.items():
        s[stage].bind(axis, te.thread_axis(name.replace("_", ".")))


def pointwise(n=None, vector=1, dtype="float32"):
    """A + B of ``n`` elements, or of any number."""
    n = te.var("n") if n is None else n
    A, B = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C)
    bx, tx = s[C].split(C.op.axis[0], factor=128 * vector)
    if vector > 1:
        tx, lanes = s[C].split(tx, factor=vector)
        s[C].vectorize(lanes)
    s[C].bind(bx, BLOCK)
    s[C].bind(tx, THREAD)
    return s, [A, B, C]


def row_sum(rows, columns, threads=64):
    """The sum of each row, by the threads of a block."""
    A = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), name="k")
    B = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B)
    _, ki = s[B].split(k, factor=threads)
    s[B].bind(B.op.axis[0], BLOCK)
    s[B].bind(ki, THREAD)
    return s, [A, B]


def two_launches(rows, columns):
    """The sum of all, by way of those of the rows, which the call keeps in scratch."""
    A = te.placeholder((rows, columns), name="A")
    k, r = te.reduce_axis((0, columns), name="k"), te.reduce_axis((0, rows), name="r")
    sums = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="sums")
    B = te.compute((1,), lambda _: te.sum(sums[r], axis=r), name="B")
    s = te.create_schedule(B)
    s[sums].bind(sums.op.axis[0], BLOCK)
    s[B].bind(r, THREAD)
    return s, [A, B]


def product(n, m, depth, dtype="float32"):
    A, B = te.placeholder((n, depth), dtype, name="A"), te.placeholder((depth, m), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    return A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


def tiled(A, B, C, block, threads, step):
    """The schedule of TVM's introduction: a tile of C in each thread's registers, tiles of A and B in shared memory."""
    s = te.create_schedule(C)
    AA, BB = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    CC = s.cache_write(C, "local")
    by, yi = s[C].split(C.op.axis[0], factor=block)
    bx, xi = s[C].split(C.op.axis[1], factor=block)
    ty, yi = s[C].split(yi, nparts=threads)
    tx, xi = s[C].split(xi, nparts=threads)
    s[C].reorder(by, bx, ty, tx, yi, xi)
    for axis, thread in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        s[C].bind(axis, te.thread_axis(thread))
    s[CC].compute_at(s[C], tx)
    ko, ki = s[CC].split(CC.op.reduce_axis[0], factor=step)
    s[CC].reorder(ko, ki, *CC.op.axis)
    s[AA].compute_at(s[CC], ko)
    s[BB].compute_at(s[CC], ko)
    return s, AA, BB, CC, ko, ki


def gemm(n, m, depth, block=32, threads=8, step=8):
    """A tiled product whose registers are written out."""
    A, B, C = product(n, m, depth)
    s, _, _, CC, _, _ = tiled(A, B, C, block, threads, step)
    for axis in CC.op.axis:
        s[CC].unroll(axis)
    return s, [A, B, C]


class Interface:
    """An array of another library, as __cuda_array_interface__ shows it: part of a DeviceArray."""

    def __init__(self, array, shape, offset=0, strides=None, stream=None):
        data = array.__cuda_array_interface__["data"][0] + 4 * offset
        self.array = array
        self.__cuda_array_interface__ = dict(shape=shape, typestr="<f4", data=(data, False), version=3, strides=strides, stream=stream)


class Tensor:
    """An array of another library, with __dlpack__ alone."""

    def __init__(self, array, device=(2, 0)):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        import ctypes

        class Managed(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        self.streams.append(stream)
        shape = (ctypes.c_int64 * len(self.array.shape))(*self.array.shape)
        self.kept = Managed(self.array.__cuda_array_interface__["data"][0], *self.device, len(shape), 2, 32, 1, shape, None, 0, None, None)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.kept), b"dltensor", None)


class Exchanged:
    """An array of another library, with DLPack's C functions: what PyTorch has."""

    looked, stream = 0, 0

    def __init__(self, array, device=(2, 0), strides=None, requires_grad=False):
        self.array, self.device, self.strides, self.requires_grad = array, device, strides, requires_grad

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        if self.requires_grad:
            raise BufferError("can't export what requires gradient")
        self.kept = Tensor(self.array, self.device)
        return self.kept.__dlpack__(stream=stream)


def _exchange_api():
    import ctypes

    class Seen(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                    ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

    look_type = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Seen))
    stream_type = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))

    class Api(ctypes.Structure):
        _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("earlier", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                    ("share", ctypes.c_void_p), ("adopt", ctypes.c_void_p), ("look", look_type), ("current_stream", stream_type)]

    def look(given, out):
        Exchanged.looked += 1
        numbers = lambda values: (ctypes.c_int64 * len(values))(*values)
        given.kept = numbers(given.array.shape), numbers(given.strides or [0])
        data = given.array.__cuda_array_interface__["data"][0]
        out[0] = Seen(data, *given.device, len(given.array.shape), 2, 32, 1, given.kept[0], given.kept[1] if given.strides else None, 0)
        return 0

    def current_stream(device_type, device, out):
        out[0] = Exchanged.stream
        return 0

    Exchanged.api = Api(1, 2, None, None, None, None, look_type(look), stream_type(current_stream))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(Exchanged.api), b"dlpack_exchange_api", None)


Exchanged.__dlpack_c_exchange_api__ = _exchange_api()


def refusal(call, *args, **named):
    """The text of the error that a call raises."""
    try:
        call(*args, **named)
    except tw.Error as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it was not refused")
