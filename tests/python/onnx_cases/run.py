"""Compiles cases together, by their default schedules and by one random candidate of each space, runs and compares them."""

import random

import numpy as np

import tensorwright as tw

from .case import packed, unpacked
from .documented import BOUNDS, OTHERS

TARGET = "llvm"
RTOL, ATOL = 1e-3, 1e-7  # those of all cases


class Plan:
    """A case with the arguments of its kernels."""

    def __init__(self, case, mapping):
        self.case = case
        outputs = mapping(case)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        self.expected = [(out, want) for out, want in zip(outputs, case.expected, strict=True) if out is not None and want is not None]
        self.given = case.inputs()
        self.tensors = [t for t, _ in self.given] + [t for t, _ in self.expected]
        computed = [t for t, _ in self.expected]
        for tensor, want in self.expected:
            shape = tuple(int(n) for n in tensor.shape)
            assert (shape, tensor.dtype) == (want.shape, str(want.dtype)), f"gives {tensor.dtype}{shape}, not {want.dtype}{want.shape}"
        self.schedules = {"default": tw.default_schedule(computed, TARGET), "random": self.candidate()}

    def candidate(self):
        space = tw.autotune.Task(self.tensors, target=TARGET).space
        schedule, _ = space[random.Random(self.case.name).randrange(len(space))].instantiate()
        return schedule

    def check(self, function, which):
        arrays = [packed(array) for _, array in self.given]
        results = [packed(np.full(want.shape, 7).astype(want.dtype)) for _, want in self.expected]
        function(*arrays, *results)
        for got, (_, want) in zip(results, self.expected, strict=True):
            compare(unpacked(got), self.documented(want), self.case.name, which)

    def documented(self, want):
        name = plain(self.case.name)
        return OTHERS[name][0](self.case.arrays[0]) if name in OTHERS else want


def plain(name):
    """A case that stands there a second time, with its function written out as one node."""
    return name.removesuffix("_expanded")


def compare(got, want, name, which):
    message = f"{name}, {which} schedule"
    rtol, atol, _ = BOUNDS.get(plain(name), (RTOL, ATOL, ""))
    if want.dtype.kind in "biu" or "int" in str(want.dtype):
        np.testing.assert_array_equal(got.astype("int64"), want.astype("int64"), err_msg=message)
        return
    got, want = got.astype("float64"), want.astype("float64")
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=message)


def build(plans):
    """A function for each schedule of each plan, as one module."""
    kernels, places = {}, []
    for n, plan in enumerate(plans):
        for which, schedule in plan.schedules.items():
            kernels[f"{which}_{n}"] = (schedule, plan.tensors)
            places.append((plan, which))
    functions = tw.build(kernels, target=TARGET) if kernels else {}
    return [(plan, which, function) for (plan, which), function in zip(places, functions.values(), strict=True)]
