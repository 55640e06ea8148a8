"""Windows and transforms of signals."""

import math

import numpy as np
import onnx

from tensorwright import te

from .forms import axis_of, const, extents, reduced, select


def window(*terms):
    """A sum of cosines over one period: ``terms[0] + terms[1] * cos(w) + ...``"""

    def mapped(c):
        size = int(c.value(0))
        dtype = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(c.attribute("output_datatype", 1))))
        period = size if c.attribute("periodic", 1) else size - 1

        def value(i):
            total = const(terms[0], "float64")
            for k, term in enumerate(terms[1:], 1):
                total = total + const(term, "float64") * te.cos(const(2 * math.pi * k / period, "float64") * i.astype("float64"))
            return total.astype(dtype)

        return te.compute((size,), value)

    return mapped


def circle(c, length, inverse):
    """The cosines and sines of all steps of a transform."""
    angle = (2 if inverse else -2) * math.pi / length * np.arange(length)
    return c.constant(np.cos(angle)), c.constant(np.sin(angle))


def turned(real, imaginary, cosine, sine, part):
    return te.select(part.equal(0), real * cosine - imaginary * sine, real * sine + imaginary * cosine)


def dft(c):
    x, shape = c[0], c.expected[0].shape
    axis = axis_of(int(c.value(2)) if c.has(2) else c.attribute("axis", -2), len(extents(x)))
    inverse = c.attribute("inverse", 0)
    mirrored = inverse and c.attribute("onesided", 0)
    own, complex_in = extents(x)[axis], extents(x)[-1] == 2
    length = int(c.value(1)) if c.has(1) else shape[axis] if mirrored else own
    cosine, sine = circle(c, length, inverse)

    def term(i, by):
        n = by[0]

        def read(part):
            at = te.select(n < own, n, length - n) if mirrored else te.min(n, own - 1)
            number = x(*(at if d == axis else k for d, k in enumerate(i[:-1])), part).astype("float64")
            beyond = -number if mirrored and part else number if mirrored else const(0, "float64")
            return te.select(n < own, number, beyond) if own < length else number

        step = (i[axis] * n) % length
        total = turned(read(0), read(1) if complex_in else const(0, "float64"), cosine(step), sine(step), i[-1])
        return total / const(length, "float64") if inverse else total

    total = reduced(te.sum, shape, [length], term)
    return te.compute(shape, lambda *i: total(*i).astype(x.dtype))


def stft(c):
    x, step, shape = c[0], int(c.value(1)), c.expected[0].shape
    length = int(c.value(3)) if c.has(3) else c.arrays[2].shape[0]
    cosine, sine = circle(c, length, False)

    def term(i, by):
        place, turn = i[1] * step + by[0], (i[2] * by[0]) % length
        imaginary = x(i[0], place, 1).astype("float64") if extents(x)[-1] == 2 else const(0, "float64")
        total = turned(x(i[0], place, 0).astype("float64"), imaginary, cosine(turn), sine(turn), i[3])
        return total * c[2](by[0]).astype("float64") if c.has(2) else total

    total = reduced(te.sum, shape, [length], term)
    return te.compute(shape, lambda *i: total(*i).astype(x.dtype))


def mel_weights(c):
    """Triangles over the bins of a spectrum, between places that are even on the scale of mels and end a step short."""
    bands, length, rate, low, high = (c.value(i).item() for i in range(5))
    first, end = (2595 * math.log10(1 + hertz / 700) for hertz in (low, high))
    mels = first + np.arange(bands + 2) * (end - first) / (bands + 2)
    bins = c.constant(np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate).astype("int32"))
    dtype = str(c.expected[0].dtype)

    def share(a, b):
        return a.astype(dtype) / b.astype(dtype)

    def value(i, j):
        left, top, right = bins(j), bins(j + 1), bins(j + 2)
        one, zero = const(1, dtype), const(0, dtype)
        peak = te.all(left.equal(top), i.equal(top))
        rise, fall = share(i - left, top - left), share(right - i, right - top)
        return select((peak, one), (i < left, zero), (i <= top, rise), (i < right, fall), zero)

    return te.compute(c.expected[0].shape, value)


OPERATORS = {
    "BlackmanWindow": window(0.42, -0.5, 0.08),
    "DFT": dft,
    "HammingWindow": window(25 / 46, -21 / 46),
    "HannWindow": window(0.5, -0.5),
    "MelWeightMatrix": mel_weights,
    "STFT": stft,
}
