"""A plugin of pytest: whatever tests build for ``interp`` is built for a device too, and a call runs both, which must agree: but for
functions, whose expansion may be 2 ulp from what the interpreter says.

With ALSO_FOR_CUDA=compile nothing is called there: what NVRTC makes of the text must keep all in registers.
"""

import os
import re

import numpy as np

import tensorwright as tw

build = tw.build
COMPILES = os.environ.get("ALSO_FOR_CUDA") == "compile"
built = []


def also(*args, target=None, **named):
    function = build(*args, target=target, **named)
    if target != "interp":
        return function
    there = build(*args, target="cuda -arch=sm_90a", **named)
    built.append(there)
    if COMPILES:
        for of in there.resources:
            assert of["stack_bytes"] == of["spill_loads"] == of["spill_stores"] == 0, (of, there.source("cuda"))
        return function

    expanded = re.search(r"\b(exp|pow)\(", str(tw.lower(*args[:2]))) is not None

    def call(*given):
        copies = [tw.device_array(x) if isinstance(x, np.ndarray) else x for x in given]
        function(*given)
        there(*copies)
        for x, copy in zip(given, copies):
            if isinstance(x, np.ndarray):
                if expanded:
                    np.testing.assert_array_max_ulp(copy.numpy(), x, 2)
                else:
                    np.testing.assert_array_equal(copy.numpy(), x)

    return call


tw.build = also


def pytest_unconfigure():
    print(f"{len(built)} built for a device")
