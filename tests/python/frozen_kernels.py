"""A source of kernels and a log with records of them, for tests of production builds."""

import json

import tuning_logs

import tensorwright as tw

OPS = '''from tensorwright import te

M, N, K = 9, 17, 33
A, B, bias = te.placeholder((M, K), name="A"), te.placeholder((K, N), name="B"), te.placeholder((N,), name="bias")
k = te.reduce_axis((0, K), name="k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
D = te.compute((M, N), lambda i, j: te.max(C[i, j] + bias[j], 0.0), name="D")
X = te.placeholder((1000,), name="X")
Y = te.compute((1000,), lambda i: X[i] * 2.0 + 1.0, name="Y")
kernels = {"dense": [A, B, bias, D], "scale": [X, Y]}
'''


def declared():
    names = {}
    exec(OPS, names)
    return names["kernels"]


def record(kernels, name, target, candidate, seconds, **options):
    """A line of a log: the candidate at or behind that place of the kernel's space."""
    task = tw.autotune.Task(kernels[name], target=f"llvm -mcpu={target}", name=name)
    while not task._core.is_legal(candidate):
        candidate += 1
    about = {"hash": task._core.hash(), "name": name, "args": [], "flops": 1e6, "bytes": 1e3, "target": str(task.target)}
    return tuning_logs.line(about, candidate, seconds=seconds, steps=json.loads(task._core.steps(candidate)),
                            knobs=json.loads(task._core.describe(candidate)), **options)
