"""The schedules that functions for a device have without tuning: nothing that the estimate counts is left out where it could be had."""

import pathlib
import re
import sys

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import ops, te

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from bench import device_defaults as programs  # noqa: E402
from bench.device_defaults import PROGRAMS, row_of, wide  # noqa: E402

ODD = {(127, 129, 4001), (7, 333, 77, 55), (31, 65, 27, 3), (3, 64, 224, 7, 2), (33, 100000), (1001, 1000), (77, 33333), (5, 100003), (7, 11, 13, 17)}


OTHERS = (programs.largest, programs.channel_sum, programs.batch_norm, programs.gather, programs.one_hot, programs.swap_first_two, programs.softmax_of,
          programs.rotary, programs.concat, programs.max_pool, programs.depthwise, programs.bias_gelu, programs.swiglu, programs.slice_of, programs.dequantized,
          programs.avg_pool, programs.linear, programs.masked_scores)


def named(value):
    """The same in every run, as what a test is called must be."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("make, sizes", [p for p in PROGRAMS if p[1] in ODD or p[0] in OTHERS], ids=named)
def test_blocks_banks_and_vectors(make, sizes, capsys):
    short, bound = row_of(make.__name__, sizes, make(*sizes), "cuda -arch=sm_90a")
    assert not short or bound, short


def test_spaces_that_nobody_can_walk_through():
    """Of five products after each other there are more schedules than could be counted: some of them are estimated."""
    x = te.placeholder((128, 256), name="x")
    layers, args = x, [x]
    for n in range(5):
        args.append(te.placeholder((256, 256), name=f"w{n}"))
        layers = ops.matmul(layers, args[-1], name=f"layer{n}")
    assert len(tw.autotune.Task([*args, layers], target="cuda -arch=sm_90a").space) > 10**9
    tw.default_schedule([layers], target="cuda -arch=sm_90a")


def test_stages_that_are_read_in_one_place_are_one_launch():
    x = te.placeholder((1 << 20,), name="x")
    chain = x
    for n in range(40):
        chain = te.compute(x.shape, lambda i, before=chain: before[i] * 2.0 + 1.0, name=f"stage{n}")
    text = tw.build([x, chain], target="cuda -arch=sm_90a").source("cuda")
    assert text.count("__global__") == 1


def test_what_no_schedule_does_better(capsys):
    make, sizes = next(p for p in PROGRAMS if p[1] == (33, 65, 97))
    short, bound = row_of(make.__name__, sizes, make(*sizes), "cuda -arch=sm_90a")
    assert "blocks of 132" in short and "schedules lacks nothing" in bound


def batches(dtype):
    A, B = te.placeholder((70000, 16, 16), dtype, name="A"), te.placeholder((70000, 16, 16), dtype, name="B")
    k = te.reduce_axis((0, 16), name="k")
    return [A, B, te.compute(A.shape, lambda b, i, j: te.sum(A[b, i, k].astype("float32") * B[b, j, k].astype("float32"), axis=k), name="C")]


def rows(dtype):
    A, B = te.placeholder((2_000_000, 64), dtype, name="A"), te.placeholder((8, 64), dtype, name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((2_000_000, 8), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
    return [A, B, te.compute(C.shape, lambda i, j: te.max(C[i, j], 0.0), name="D")]


def images(dtype):
    A, W = te.placeholder((70000, 8, 8, 16), dtype, name="A"), te.placeholder((3, 3, 16, 16), dtype, name="W")
    r, q, c = (te.reduce_axis((0, n), name=name) for n, name in ((3, "r"), (3, "q"), (16, "c")))
    term = lambda n, y, x, f: A[n, y + r, x + q, c].astype("float32") * W[r, q, c, f].astype("float32")  # noqa: E731
    return [A, W, te.compute((70000, 6, 6, 16), lambda *i: te.sum(term(*i), axis=[r, q, c]), name="C")]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("make", [batches, rows, images])
def test_no_more_blocks_along_an_index_than_a_device_has(make, dtype):
    f = tw.build(make(dtype), target="cuda -arch=sm_80")
    grids = re.findall(r"(\d+) x (\d+) x (\d+) blocks", f.source("launches"))
    assert grids and all(int(y) <= 65535 and int(z) <= 65535 for _, y, z in grids), grids


def of_any_size():
    n, m = te.var("n"), te.var("m")
    X, W, k = te.placeholder((n, m), name="X"), te.placeholder((m, 40), name="W"), te.reduce_axis((0, m), name="k")
    total = te.compute((n,), lambda i: te.sum(X[i, k], axis=k), name="total")
    i, j = te.reduce_axis((0, n), name="i"), te.reduce_axis((0, m), name="j")
    return X, {
        "pointwise": ([], te.compute((n, m), lambda i, j: X[i, j] * 2, name="C"), lambda x: x * 2),
        "transpose": ([], te.compute((m, n), lambda j, i: X[i, j], name="C"), lambda x: x.T),
        "rows": ([], te.compute((n, m), lambda i, j: X[i, j] - total[i], name="C"), lambda x: x - x.sum(1, keepdims=True)),
        "columns": ([], te.compute((m,), lambda c: te.sum(X[i, c], axis=i), name="C"), lambda x: x.sum(0)),
        "product": ([W], te.compute((n, 40), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="C"), lambda x, w: x @ w),
        "all": ([], te.compute((), lambda: te.max(X[i, j], axis=[i, j]), name="C"), lambda x: x.max()),
        "scalar": ([], te.compute((1,), lambda _: X[n - 1, m - 1], name="C"), lambda x: x[-1:, -1]),
        "nibbles": ([], te.compute((n, m), lambda i, j: X[i, j].astype("int4"), name="C"), None),
    }


@pytest.mark.parametrize("shape", [(5, 300), (37, 9), (1, 1)])
@pytest.mark.parametrize("name", of_any_size()[1])
def test_of_any_size(name, shape):
    X, programs = of_any_size()
    others, C, expected = programs[name]
    s = tw.default_schedule([C], "cuda -arch=sm_80")
    assert tw.build(s, [X, *others, C], target="cuda -arch=sm_80").source("cuda")
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, shape).astype("float32")
    more = [rng.integers(-4, 5, (shape[1], 40)).astype("float32") for _ in others]
    if expected is None:  # two rows may share a byte
        assert "1 x 1 x 1 threads" in tw.build(s, [X, C], target="cuda -arch=sm_80").source("launches")
        return
    out = np.zeros(np.shape(expected(x, *more)), "float32")
    tw.build(s, [X, *others, C], target="interp")(x, *more, out)
    np.testing.assert_array_equal(out, expected(x, *more))


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("times", [6, te.var("t")], ids=str)
def test_scans(times, shift):
    """States are read in place, or at the place before by one thread."""
    X, state = te.placeholder((times, 20), name="X"), te.placeholder((times, 20), name="state")
    init = te.compute((1, 20), lambda _, i: X[0, i], name="init")
    update = te.compute((times, 20), lambda t, i: state[t - 1, te.max(i - 1, 0) if shift else i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    s = tw.default_schedule([S], "cuda -arch=sm_80")
    launches = tw.build(s, [X, S], target="cuda -arch=sm_80").source("launches")
    assert ("1 x 1 x 1 threads" in launches) == (shift == 1), launches
    x, out = np.random.default_rng(0).integers(-4, 5, (6, 20)).astype("float32"), np.zeros((6, 20), "float32")
    tw.build(s, [X, S], target="interp")(x, out)
    expected = x.copy()
    for t in range(1, 6):
        expected[t] += expected[t - 1, np.maximum(np.arange(20) - shift, 0)]
    np.testing.assert_array_equal(out, expected)


def nibbles(n, m, depth):
    """A product whose right operand is unpacked from bytes on the way."""
    A, P, k = te.placeholder((n, depth), "float16", name="A"), te.placeholder((m, depth // 2), "uint8", name="P"), te.reduce_axis((0, depth), name="k")
    B = te.compute((m, depth), lambda j, q: (((P[j, q // 2].astype("int32") >> (q % 2 * 4)) & 15) - 8).astype("float16"), name="B")
    return A, P, te.compute((n, m), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")


def test_threads_share_terms_that_are_parts_of_bytes(capsys):
    short, bound = row_of("nibbles", (1, 4096, 4096), [nibbles(1, 4096, 4096)[-1]], "cuda -arch=sm_90a")
    assert not short, short
    args = nibbles(1, 7, 320)
    rng = np.random.default_rng(0)
    a, p = rng.integers(-3, 4, (1, 320)).astype("float16"), rng.integers(0, 256, (7, 160)).astype("uint8")
    c = np.zeros((1, 7), "float32")
    s = tw.default_schedule([args[-1]], "cuda -arch=sm_90a")
    assert "threadIdx.x k" in str(s)
    tw.build(s, list(args), target="interp")(a, p, c)
    b = np.stack([p & 15, p >> 4], -1).reshape(7, 320).astype("float32") - 8
    np.testing.assert_array_equal(c, a.astype("float32") @ b.T)


def scaled(m, n, depth, group):
    """A product of float16 and of 4-bit integers, each group of terms with a scale."""
    A, W, S = te.placeholder((m, depth), "float16", name="A"), te.placeholder((n, depth), "int4", name="W"), te.placeholder((n, depth // group), "float16", name="S")
    k = te.reduce_axis((0, depth), name="k")
    term = lambda i, j: wide(A[i, k]) * (wide(W[j, k]) * wide(S[j, k // group]))  # noqa: E731
    return A, W, S, te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=k), name="C")


@pytest.mark.parametrize("m", [16, 256])
def test_operands_of_four_bits_are_shared_as_numbers(m):
    account = programs.Account(tw.default_schedule([scaled(m, 4096, 4096, 128)[-1]], "cuda -arch=sm_90a"), "cuda -arch=sm_90a")
    assert account.total < 5e-4  # where each element was a block's, 2e-3 and 3e-2
    *inputs, C = scaled(m // 8, 24, 64, 16)
    s = tw.default_schedule([C], "cuda -arch=sm_90a")
    assert "C.operand1: computed float32[24, 64], at C" in str(s), str(s)
    rng = np.random.default_rng(11)
    a, w, scale = rng.integers(-3, 4, (m // 8, 64)).astype("float16"), rng.integers(-8, 8, (24, 64)), rng.integers(1, 4, (24, 4)).astype("float16")
    c = np.zeros((m // 8, 24), "float32")
    tw.build(s, [*inputs, C], target="interp")(a, tw.pack_int4(w), scale, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ (w * np.repeat(scale, 16, 1)).T)


def values_of(tensors, *arrays):
    """What the default schedule for a device computes, in the interpreter."""
    out = np.zeros(tuple(tensors[0].shape), str(tensors[0].dtype))
    s = tw.default_schedule(tensors, "cuda -arch=sm_90a")
    tw.build(s, [*programs.arguments(tensors), *tensors], target="interp")(*arrays, out)
    return out


def random(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("make, sizes", [(programs.variance, (200, 600)), (programs.cross_entropy, (200, 513)), (programs.cross_entropy, (200, 1000))], ids=named)
def test_rows_that_end_in_one_element_are_one_launch(make, sizes):
    tensors = make(*sizes)
    f = tw.build([*programs.arguments(tensors), *tensors], target="cuda -arch=sm_90a")
    assert f.source("launches").count("blocks of") == 1, f.source("launches")
    A = random(*sizes)
    if make is programs.variance:
        np.testing.assert_allclose(values_of(tensors, A), A.var(axis=1, ddof=1), rtol=1e-5)
        return
    label = np.random.default_rng(4).integers(0, sizes[1], sizes[0], "int32")
    expected = np.log(np.exp(A).sum(axis=1)) - A[np.arange(sizes[0]), label]
    by_name = {"A": A, "label": label}
    got = values_of(tensors, *[by_name[a.name] for a in programs.arguments(tensors)])
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n, channels, size", [(8, 3, 8), (40, 2, 28), (5, 7, 7), (3, 1, 64)])
def test_sums_over_several_axes_are_one_row(n, channels, size):
    A = np.random.default_rng(5).integers(-4, 5, (n, channels, size, size)).astype("float32")
    np.testing.assert_array_equal(values_of(programs.channel_sum(n, channels, size), A), A.sum(axis=(0, 2, 3)))


@pytest.mark.parametrize("n, m", [(6, 40), (5, 1000), (3, 77)])
def test_threads_share_the_search_for_the_largest(n, m):
    A = np.random.default_rng(6).integers(-4, 5, (n, m)).astype("float32")  # several are the largest
    np.testing.assert_array_equal(values_of(programs.largest(n, m), A), A.argmax(axis=1))


def test_elements_of_rows_are_stored_in_vectors():
    A, at = random(50, 24), np.array([3, 49, 0, 7], "int32")
    got = values_of(programs.gather(50, 24, 4), *[{"A": A, "at": at}[a.name] for a in programs.arguments(programs.gather(50, 24, 4))])
    np.testing.assert_array_equal(got, A[at])
    np.testing.assert_array_equal(values_of(programs.one_hot(4, 20), np.array([3, 19, 0, 7], "int32")), np.eye(20, dtype="float32")[[3, 19, 0, 7]])


def rotated(x, cosine, sine):
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * cosine[:, None] + turned * sine[:, None]


def depthwise_of(x, w):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = x.shape[1:3]
    return sum(padded[:, r : r + rows, q : q + columns] * w[r, q, :, 0] for r in range(3) for q in range(3))


def silu(x):
    return x / (1 + np.exp(-x))


VECTORS_OF_ROWS = {
    "rotary": (lambda: programs.rotary(6, 3, 16, "float32"), [(6, 3, 16), (6, 16), (6, 16)], rotated),
    "rotary of odd halves": (lambda: programs.rotary(5, 2, 6, "float32"), [(5, 2, 6), (5, 6), (5, 6)], rotated),
    "beside": (lambda: programs.concat(1, (7, 16), (7, 8)), [(7, 16), (7, 8)], lambda a, b: np.concatenate([a, b], axis=1)),
    "beside, cut within a vector": (lambda: programs.concat(1, (7, 6), (7, 10)), [(7, 6), (7, 10)], lambda a, b: np.concatenate([a, b], axis=1)),
    "part of rows": (lambda: programs.slice_of(5, 40, 8, 20), [(5, 40)], lambda a: a[:, 8:28]),
    "part of rows, off by one": (lambda: programs.slice_of(5, 40, 9, 20), [(5, 40)], lambda a: a[:, 9:29]),
    "columns": (lambda: programs.columns_of(5, 12, 8), [(5, 12), np.array([3, 11, 0, 7, 7, 1, 2, 5], "int32")], lambda a, at: a[:, at]),
    "two halves of a row": (lambda: programs.swiglu(5, 12, "float32"), [(5, 24)], lambda a: silu(a[:, :12]) * a[:, 12:]),
    "windows": (lambda: programs.max_pool("NHWC", (2, 6, 6, 8), 2, 2, 0), [(2, 6, 6, 8)], lambda a: a.reshape(2, 3, 2, 3, 2, 8).max((2, 4))),
    "each channel by itself": (lambda: programs.depthwise("NHWC", 8, 6, 3), [(1, 6, 6, 8), (3, 3, 8, 1)], depthwise_of),
}


@pytest.mark.parametrize("name", VECTORS_OF_ROWS)
def test_what_is_read_beside_its_place_comes_in_vectors(name):
    make, inputs, expected = VECTORS_OF_ROWS[name]
    tensors = make()
    rng = np.random.default_rng(7)
    given = [rng.integers(-4, 5, x).astype("float32") if isinstance(x, tuple) else x for x in inputs]
    names = {"X": 0, "A": 0, "cosine": 1, "B": 1, "W": 1, "at": 1, "sine": 2}
    got = values_of(tensors, *[given[names[a.name]] for a in programs.arguments(tensors)])
    np.testing.assert_allclose(got, expected(*given), rtol=1e-5, atol=1e-6)


def depthwise_relu(layout):
    shape, weights = ((1, 6, 6, 8), (3, 3, 8, 1)) if layout == "NHWC" else ((1, 8, 6, 6), (8, 1, 3, 3))
    X, W = te.placeholder(shape, name="A"), te.placeholder(weights, name="W")
    return [ops.depthwise_conv2d(X, W, padding=1, layout=layout, bias=te.placeholder((8,), name="bias"), activation="relu")]


def pooled(a):
    return a.reshape(2, 3, 2, 3, 2, -1).mean((2, 4), dtype="float32")


def across(f):
    """The same of images whose channels come first."""
    def of(a, *others):
        return f(a.transpose(0, 2, 3, 1), *(w.transpose(2, 3, 0, 1) if w.ndim == 4 else w for w in others)).transpose(0, 3, 1, 2)
    return of


def activated(a, w, bias):
    return np.maximum(depthwise_of(a, w) + bias, 0)


SMALL_SUMS = {
    "windows": (lambda: programs.avg_pool("NHWC", (2, 6, 6, 8), 2, 2), [(2, 6, 6, 8)], pooled),
    "windows of odd rows": (lambda: programs.avg_pool("NHWC", (2, 6, 6, 7), 2, 2), [(2, 6, 6, 7)], pooled),
    "windows of rows": (lambda: programs.avg_pool("NCHW", (2, 5, 6, 6), 2, 2), [(2, 5, 6, 6)], across(pooled)),
    "depthwise": (lambda: depthwise_relu("NHWC"), [(1, 6, 6, 8), (3, 3, 8, 1), (8,)], activated),
    "depthwise of rows": (lambda: depthwise_relu("NCHW"), [(1, 8, 6, 6), (8, 1, 3, 3), (8,)], across(activated)),
}


@pytest.mark.parametrize("name", SMALL_SUMS)
def test_what_a_thread_adds_up_is_used_where_it_is(name):
    make, shapes, expected = SMALL_SUMS[name]
    tensors = make()
    f = tw.build([*programs.arguments(tensors), *tensors], target="cuda -arch=sm_90a")
    assert f.source("launches").count("blocks of") == 1, f.source("launches")
    given = [np.random.default_rng(8).integers(-4, 5, shape).astype("float32") for shape in shapes]
    names = {"A": 0, "W": 1, "bias": 2}
    got = values_of(tensors, *[given[names[a.name]] for a in programs.arguments(tensors)])
    np.testing.assert_array_equal(got, expected(*given))


@pytest.mark.parametrize("n, m, k", [(70, 72, 40), (8, 64, 48), (9, 130, 31), (33, 35, 16)])
def test_rows_of_a_transposed_operand_lie_in_banks_of_their_own(n, m, k, capsys):
    tensors = programs.linear(n, m, k)
    account = programs.Account(tw.default_schedule(tensors, "cuda -arch=sm_90a"), "cuda -arch=sm_90a")
    assert account.conflicts < 1.02
    rng = np.random.default_rng(9)
    a, w = rng.integers(-4, 5, (n, k)).astype("float32"), rng.integers(-4, 5, (m, k)).astype("float32")
    by_name = {"A": a, "W": w}
    np.testing.assert_array_equal(values_of(tensors, *[by_name[x.name] for x in programs.arguments(tensors)]), a @ w.T)


def test_few_states_of_a_scan_are_in_many_blocks():
    f = tw.build([*programs.arguments(S := programs.running_sum(4096, 1024, 1)), *S], target="cuda -arch=sm_90a")
    assert "128 x 1 x 1 blocks of 32 x 1 x 1 threads" in f.source("launches"), f.source("launches")


def test_one_state_of_a_scan_is_one_threads():
    X = te.placeholder((200,), name="X")
    S = ops.cumsum(X, axis=0)
    assert "1 x 1 x 1 blocks of 1 x 1 x 1 threads" in tw.build([X, S], target="cuda -arch=sm_90a").source("launches")
    x, out = np.random.default_rng(0).integers(-4, 5, 200).astype("float32"), np.zeros(200, "float32")
    tw.build(tw.default_schedule([S], "cuda -arch=sm_90a"), [X, S], target="interp")(x, out)
    np.testing.assert_array_equal(out, x.cumsum())


def test_each_candidate_of_a_scan_can_be_built():
    X = te.placeholder((5, 40), name="X")
    S = ops.cumsum(X, axis=1)
    task = tw.autotune.Task([X, S], target="cuda -arch=sm_90a")
    assert len(task.space) == 20
    for candidate in task.space:
        s, args = candidate.instantiate()
        x, out = np.random.default_rng(0).integers(-4, 5, (5, 40)).astype("float32"), np.zeros((5, 40), "float32")
        tw.build(s, args, target="interp")(x, out)
        np.testing.assert_array_equal(out, x.cumsum(1))


@pytest.mark.parametrize("transposed", [False, True])
def test_what_lies_between_rows_counts_where_memory_of_a_block_ends(transposed):
    """Tiles of float64 would have fitted into a block of sm_89 side by side, and rows are apart for the banks' sake."""
    A, B = te.placeholder((2048, 2048), "float64", name="A"), te.placeholder((2048, 2048), "float64", name="B")
    C = ops.matmul(A, B, transpose_b=transposed)
    s = tw.default_schedule([C], "cuda -arch=sm_89")
    (launch,) = s.explain("cuda -arch=sm_89").launches
    bytes_of_it = int(re.search(r"(\d+) bytes of shared memory", tw.build(s, [A, B, C], target="cuda -arch=sm_89").source("launches"))[1])
    assert launch.shared == pytest.approx(bytes_of_it, abs=64) and "storage_align" in s.to_python()
