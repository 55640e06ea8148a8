"""Products of four warps: schedules that tensorize by wgmma, in the interpreter and by the driver without a device, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import has_nvrtc, needs_fake, run
from test_warp_products import numbers, product

TYPES = {"bf16": ("bfloat16", "float32", 16, ml_dtypes.bfloat16), "f16": ("float16", "float32", 16, np.float16), "s8": ("int8", "int32", 32, np.int8), "tf32": ("float32", "float32", 8, np.float32)}


def by_groups(tensors, intrin, block=(64, 64), groups=(64, 64), step=64, stages=1, by="auto", swizzle="auto", blocks=None):
    """A tile of C for each block, or several of so many, a part of it for each four warps of it, operands by way of swizzled shared memory."""
    A, B, C = tensors
    columns, depth = (int(part) for part in intrin.split(".")[1].removeprefix("m64n").split("k"))
    s = te.create_schedule(C)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    io, jo, i, j = s[C].tile(*C.op.axis, *block)
    ig, i = s[C].split(i, factor=groups[0])
    jg, j = s[C].split(j, factor=groups[1])
    im, i = s[C].split(i, factor=64)
    jm, j = s[C].split(j, factor=columns)
    ko, k = s[C].split(C.op.reduce_axis[0], factor=step)
    km, k = s[C].split(k, factor=depth)
    s[C].reorder(io, jo, ig, jg, ko, km, im, jm, i, j, k)
    tiles = [(io, "blockIdx.y"), (jo, "blockIdx.x")] if blocks is None else [(s[C].fuse(io, jo), "blockIdx.x")]
    for axis, index in (*tiles, (ig, "threadIdx.z"), (jg, "threadIdx.y")):
        s[C].bind(axis, te.thread_axis(index))
    s[AS].compute_at(s[C], ko)
    s[BS].compute_at(s[C], ko)
    s[C].tensorize(i, intrin)
    if stages > 1:
        s[C].pipeline(ko, stages, by)
    if swizzle:
        s[AS].swizzle(swizzle)
        s[BS].swizzle(swizzle)
    if blocks is not None:
        s[C].persistent(tiles[0][0], blocks)
    return s


def check(kind, n, m, depth, transposed=True, target="interp", **asked):
    dtype, out, terms, numpy_type = TYPES[kind]
    columns = asked.pop("columns", 64)
    tensors = product(n, m, depth, dtype, out, transposed)
    s = by_groups(tensors, f"wgmma.m64n{columns}k{terms}.{kind}", **asked)
    a, b = numbers(n, depth, dtype=numpy_type), numbers(*((m, depth) if transposed else (depth, m)), dtype=numpy_type)
    c = np.full((n, m), 7, out)
    tw.build(s, tensors, target=target)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(out) @ (b.astype(out).T if transposed else b.astype(out)))
    return s, tensors


@pytest.mark.parametrize("kind, asked", [
    ("bf16", {}), ("f16", {"columns": 8, "step": 32}), ("f16", {"columns": 24, "m": 48, "block": (64, 48), "groups": (64, 48)}),
    ("s8", {"columns": 32, "step": 128}), ("bf16", {"step": 16}), ("bf16", {"n": 128, "m": 128, "block": (128, 128), "columns": 32}),
    ("bf16", {"transposed": False}), ("f16", {"transposed": False, "columns": 32, "block": (64, 32), "groups": (64, 32)}),
    ("tf32", {"step": 32}), ("tf32", {"step": 16, "columns": 24, "m": 48, "block": (64, 48), "groups": (64, 48)}),
    ("s8", {"step": 32, "swizzle": "32"}), ("f16", {"step": 128}), ("bf16", {"step": 64, "swizzle": "32"}),
])
def test_small_integers_are_exact(kind, asked):
    check(kind, **{"n": 64, "m": 64, "depth": 128, **asked})


@pytest.mark.parametrize("columns, width, swizzle", [(128, 128, "auto"), (256, 256, "auto"), (96, 96, "auto"), (64, 192, "auto"), (64, 64, "32")])
@pytest.mark.parametrize("by", ["tma", "cp.async"])
def test_right_operands_as_they_lie(columns, width, swizzle, by):
    """Rows of several lines are panels of columns, each a box, and a product takes some of them."""
    s, tensors = check("bf16", 64, width, 64, transposed=False, columns=columns, block=(64, width), groups=(64, width), step=32, stages=2, by=by, swizzle=swizzle)
    text = str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))
    line = 32 if swizzle == "32" else {256: 128, 128: 128, 192: 128, 96: 64}[width]
    apart = 32 if columns * 2 > line else 1
    assert f", {line}, {apart})" in text, text
    boxes = 2 * (1 + width * 2 // line) if swizzle == "auto" else 2 * (2 + width * 2 // line)  # A has two lines a row then
    assert text.count('"tma.load"') == (boxes if by == "tma" else 0)


def test_left_operands_as_they_lie():
    """Each four warps have rows of their own, a panel of the tile."""
    A, B = te.placeholder((64, 128), "float16", name="A"), te.placeholder((64, 32), "float16", name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((128, 32), lambda i, j: te.sum(A[k, i].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
    s = by_groups([A, B, C], "wgmma.m64n32k16.f16", block=(128, 32), groups=(64, 32), step=32, stages=2, by="tma")
    a, b, c = numbers(64, 128, dtype="float16"), numbers(64, 32, dtype="float16"), np.zeros((128, 32), "float32")
    tw.build(s, [A, B, C], target="interp")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32").T @ b.astype("float32"))
    assert str(tw.lower(s, [A, B, C], target="cuda -arch=sm_90a")).count('"tma.load"') == 6


@pytest.mark.parametrize("by", ["auto", "tma", "cp.async", "ldg"])
def test_rings_of_operands(by):
    """Threads that store operands fence them; boxes, which auto takes, need no fence, and their products go on while the next ones begin."""
    s, tensors = check("bf16", 64, 64, 256, stages=3, by=by)
    text = str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))
    assert text.count('"wgmma.m64n64k16.bf16"') == 4 and '"wgmma.fence"' in text and '"wgmma.wait", 0' in text
    boxes = by in ("auto", "tma")
    assert ('"fence.async"' in text) != boxes and ('"tma.load"' in text) == boxes and ('"wgmma.wait", 1' in text) == boxes


@pytest.mark.parametrize("stages, by", [(1, ""), (3, "auto"), (2, "ldg")])
def test_float32_is_rounded_where_it_is_kept(stages, by):
    """Tensor cores leave out the bits that te.tf32 rounds off, and no box or cp.async rounds."""
    tensors = product(64, 64, 64, "float32", "float32", True)
    s = by_groups(tensors, "wgmma.m64n64k8.tf32", step=32, stages=stages, by=by)
    rng = np.random.default_rng(1)
    a, b, c = rng.standard_normal((64, 64), "float32"), rng.standard_normal((64, 64), "float32"), np.zeros((64, 64), "float32")
    tw.build(s, tensors, target="interp")(a, b, c)
    x = te.placeholder((64, 64), "float32", name="x")
    rounds = tw.build([x, te.compute((64, 64), lambda i, j: te.tf32(x[i, j]), name="y")], target="interp")
    ra, rb = np.empty_like(a), np.empty_like(b)
    rounds(a, ra)
    rounds(b, rb)
    np.testing.assert_allclose(c, ra.astype("float64") @ rb.T.astype("float64"), rtol=0, atol=2e-5)
    assert np.abs(c - a @ b.T).max() > 2e-4  # as others are
    text = str(tw.lower(s, tensors, target="cuda -arch=sm_90a"))
    assert '"tma.load"' not in text and "later" not in text and '"fence.async"' in text


@pytest.mark.parametrize("by, rule", [("tma", "each value must be an element as it is read"), ("cp.async", "element as it is read")])
def test_float32_is_not_rounded_by_copies_of_the_device(by, rule):
    tensors = product(64, 64, 64, "float32", "float32", True)
    with pytest.raises(tw.ScheduleError, match=rule):
        tw.lower(by_groups(tensors, "wgmma.m64n64k8.tf32", step=32, stages=2, by=by), tensors, target="cuda -arch=sm_90a")


def test_rounded_operands_are_for_one_product():
    A, B, C = product(64, 64, 64, "float32", "float32", True)
    D = te.compute((64, 64), lambda i, j: C[i, j] + A[i, j], name="D")
    s = te.create_schedule(D)
    AS, BS = s.cache_read(A, "shared", [C, D]), s.cache_read(B, "shared", [C])
    block, i, j = *s[D].split(D.op.axis[0], factor=64), D.op.axis[1]
    ty, i = s[D].split(i, factor=16)
    tx, j = s[D].split(j, factor=2)
    s[D].reorder(block, ty, tx, i, j)
    for axis, index in ((block, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        s[D].bind(axis, te.thread_axis(index))
    s[C].set_scope("shared")
    km, k = s[C].split(s[C].op.reduce_axis[0], factor=8)
    s[C].reorder(km, *s[C].op.axis, k)
    s[C].tensorize(s[C].op.axis[0], "wgmma.m64n64k8.tf32")
    for stage in (C, AS, BS):
        s[stage].compute_at(s[D], block)
    with pytest.raises(tw.ScheduleError, match="must be rounded where they are kept, and A.shared is read by others too"):
        tw.lower(s, [A, B, D], target="cuda -arch=sm_90a")


def test_sizes_that_calls_bring_are_copied_by_threads():
    """Rows of an array may then be of any length, which boxes of it may not."""
    n = te.var("n")
    A, B = te.placeholder((64, n * 64), "bfloat16", name="A"), te.placeholder((64, n * 64), "bfloat16", name="B")
    k = te.reduce_axis((0, n * 64), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
    text = str(tw.lower(by_groups([A, B, C], "wgmma.m64n64k16.bf16", stages=3), [A, B, C, n], target="cuda -arch=sm_90a"))
    assert '"wgmma.m64n64k16.bf16"' in text and '"fence.async"' in text and '"tma.load"' not in text


def test_automatic_schedules_take_them():
    def default(arch, columns=128, rows=256, depth=512, **asked):
        tensors = product(rows, columns, depth, "bfloat16", "float32", **asked)
        return tw.build(tensors, target=f"cuda -arch={arch}").source("cuda")

    text = default("sm_90a")
    assert "wgmma_m64n" in text and " tma_load_2d(" in text and "mma_m16n8" not in text.replace("wgmma", "")
    as_it_lies = default("sm_90a", 4096, 4096, transposed=False)  # large tiles, of several lines a row
    assert "k16_bf16<0, 1>(&" in as_it_lies and "], 64)" in as_it_lies
    assert "wgmma_m64n" in default("sm_90a", columns=60)  # a box is filled with zeros past the end
    assert "wgmma" not in default("sm_100") and "wgmma" not in default("sm_90a", depth=508)  # rows of no whole 16 bytes


def test_a_ring_that_is_come_to_again():
    """Batches are done with before its slots are filled from the beginning."""
    A, B = te.placeholder((3, 64, 128), "bfloat16", name="A"), te.placeholder((3, 64, 128), "bfloat16", name="B")
    r, k = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 128), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[r, i, k].astype("float32") * B[r, j, k].astype("float32"), axis=[r, k]), name="C")
    s = te.create_schedule(C)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    io, i = s[C].split(C.op.axis[0], factor=64)
    ko, kt = s[C].split(k, factor=32)
    km, ki = s[C].split(kt, factor=16)
    s[C].reorder(io, r, ko, km, i, C.op.axis[1], ki)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].tensorize(i, "wgmma.m64n64k16.bf16")
    for operand in (AS, BS):
        s[operand].compute_at(s[C], ko)
        s[operand].swizzle()
    s[C].pipeline(ko, 3)
    a, b, c = numbers(3, 64, 128, dtype=ml_dtypes.bfloat16), numbers(3, 64, 128, dtype=ml_dtypes.bfloat16), np.zeros((64, 64), "float32")
    tw.build(s, [A, B, C], target="interp")(a, b, c)
    np.testing.assert_array_equal(c, np.einsum("rik,rjk->ij", a.astype("float32"), b.astype("float32")))
    tw.lower(s, [A, B, C], target="cuda -arch=sm_90a")


def test_what_a_reduction_begins_with_is_added_at_the_end():
    A, B, D = (te.placeholder(shape, dtype, name=name) for shape, dtype, name in (((64, 64), "float16", "A"), ((16, 64), "float16", "B"), ((16,), "float32", "D")))
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((64, 16), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k, init=D[j]), name="C")
    s = by_groups([A, B, C], "wgmma.m64n16k16.f16", block=(64, 16), groups=(64, 16))
    a, b, d, c = numbers(64, 64, dtype="float16"), numbers(16, 64, dtype="float16"), numbers(16, dtype="float32"), np.zeros((64, 16), "float32")
    tw.build(s, [A, B, D, C], target="interp")(a, b, d, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32").T + d)


def test_steps_come_back_and_are_explained():
    tensors = product(128, 128, 128, "bfloat16", "float32")
    s = by_groups(tensors, "wgmma.m64n64k16.bf16", block=(128, 128), stages=3, by="tma")
    assert '"wgmma.m64n64k16.bf16"' in s.to_python()
    assert str(tw.Schedule.from_steps(tensors[2], s.steps)) == str(s)
    told = str(s.explain("cuda -arch=sm_90a"))
    assert "1 block of 512 threads" in told and "tensor cores" in told, told


@pytest.mark.parametrize("asked, why", [
    ({"swizzle": None}, ["must be swizzled, and A.shared is not", "s[A.shared].swizzle()"]),
    ({"transposed": False, "m": 48, "block": (64, 24), "groups": (64, 24), "columns": 24}, ["must have rows of multiples of 32 bytes, and those of B.shared have 48", "64 elements"]),
    ({"transposed": False, "block": (64, 32), "groups": (64, 32), "columns": 16}, ["must be as wide as lines of 64 bytes, or several of them, where rows are steps of the reduction, and that in B.shared has 32"]),
    ({"kind": "s8", "transposed": False}, ["must have the terms along their rows, and B.shared"]),
    ({"block": (32, 64), "groups": (32, 64)}, ["the loops must be those of wgmma.m64n64k16.bf16"]),
])
def test_operands_that_lie_otherwise(asked, why):
    with pytest.raises(tw.ScheduleError) as e:
        check(**{"kind": "bf16", "n": 64, "m": 64, "depth": 128, **asked})
    assert all(part in str(e.value) for part in why) and "tensorize" in str(e.value) and "test_group_products.py" in str(e.value), e.value


def test_operands_in_memory_of_the_device():
    A, B, C = product(64, 64, 64, "bfloat16", "float32")
    s = te.create_schedule(C)
    io, i = s[C].split(C.op.axis[0], factor=64)
    ko, k = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].reorder(io, ko, i, C.op.axis[1], k)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].tensorize(i, "wgmma.m64n64k16.bf16")
    with pytest.raises(tw.ScheduleError, match=r"(?s)must be in shared memory, and A is not.*cache_read\(A, \"shared\", \[C\]\)"):
        tw.lower(s, [A, B, C])


def test_other_devices_have_none():
    tensors = product(64, 64, 128, "bfloat16", "float32")
    s = by_groups(tensors, "wgmma.m64n64k16.bf16")
    for arch in ("sm_80", "sm_100"):
        with pytest.raises(tw.TargetError, match=f"wgmma.m64n64k16.bf16 is an instruction of sm_90a, which {arch} has not"):
            tw.build(s, tensors, target=f"cuda -arch={arch}")


@needs_fake
def test_by_the_driver():
    run("""
        import ml_dtypes
        from test_group_products import by_groups
        from test_warp_products import numbers, product
        tensors = product(128, 64, 256, "bfloat16", "float32")
        f = tw.build(by_groups(tensors, "wgmma.m64n64k16.bf16", stages=3, by="tma"), tensors, target="cuda -arch=sm_90a", name="gemm")
        text = f.source("cuda")
        assert "wgmma_m64n64k16_bf16<0, 0>(&" in text and text.count(" tma_load_2d(") == 5, text
        a, b = numbers(128, 256, dtype=ml_dtypes.bfloat16), numbers(64, 256, dtype=ml_dtypes.bfloat16)
        c = tw.device_array(np.zeros((128, 64), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        assert (c.numpy() == a.astype("float32") @ b.astype("float32").T).all()
    """)


def test_the_assembler_serialises_none(tmp_path):
    """Of sums that are zeroed right before their only products: two tiles of rows for each group, and bytes."""
    if not has_nvrtc(tmp_path):
        pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
    run("""
        from test_group_products import by_groups
        from test_warp_products import product
        rows = product(264, 61, 16, "bfloat16", "float32")
        twice = by_groups(rows, "wgmma.m64n32k16.bf16", block=(128, 64), groups=(128, 32), step=16, stages=5, by="ldg", blocks=1)
        bytes = product(190, 64, 128, "int8", "int32")
        for s, tensors in ((twice, rows), (tw.default_schedule(bytes[2], "cuda -arch=sm_90a"), bytes)):
            f = tw.build(s, tensors, target="cuda -arch=sm_90a")
            assert "wgmma_m64n" in f.source("cuda")
            for of in f.resources:
                assert of["spill_loads"] == of["spill_stores"] == 0 and not of["warnings"], of
    """, TW_CUDA_IMAGES="", TW_CACHE_DIR=str(tmp_path))


def followed(n, m, depth, dtype, out, what):
    """A[n, depth] @ B[m, depth].T, and what is computed of each sum."""
    A, B, k = te.placeholder((n, depth), dtype, name="A"), te.placeholder((m, depth), dtype, name="B"), te.reduce_axis((0, depth), name="k")
    b, R = te.placeholder((m,), name="b"), te.placeholder((n, m), out, name="R")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C")
    of = {"cast": lambda i, j: C[i, j], "bias": lambda i, j: te.max(C[i, j] + b[j], 0.0), "residual": lambda i, j: C[i, j] * 0.5 + R[i, j].astype("float32")}
    D = te.compute((n, m), lambda i, j: of[what](i, j).astype(out), name="D")
    return [A, B, *{"cast": [], "bias": [b], "residual": [R]}[what], D]


FOLLOWED = [(256, 192, 128, "bfloat16", "bfloat16", "cast"), (200, 264, 136, "float16", "float16", "residual"), (130, 136, 200, "bfloat16", "float32", "bias")]


@needs_fake
@pytest.mark.parametrize("asked", FOLLOWED, ids=str)
def test_what_follows_sums_is_computed_by_the_lanes_that_have_them(asked):
    run(f"""
        import ml_dtypes, random
        from test_group_products import followed
        from test_warp_products import numbers
        asked = {asked!r}
        of = dict(bfloat16=ml_dtypes.bfloat16, float16=np.float16, float32=np.float32)
        tensors = followed(*asked)
        n, m, depth, dtype, out, what = asked
        a, b = numbers(n, depth, dtype=of[dtype]), numbers(m, depth, dtype=of[dtype])
        more = [] if what == "cast" else [numbers(m, dtype=np.float32) if what == "bias" else numbers(n, m, dtype=of[out])]
        wanted = a.astype("float32") @ b.astype("float32").T
        wanted = wanted if what == "cast" else np.maximum(wanted + more[0], 0) if what == "bias" else wanted * np.float32(0.5) + more[0].astype("float32")
        space = tw.autotune.Task(tensors, target="cuda -arch=sm_90a").space
        for index in [0, *random.Random(1).sample(range(len(space)), 3)]:
            s, args = space[index].instantiate()
            f = tw.build(s, args, target="cuda -arch=sm_90a")
            text = f.source("cuda")
            assert "wgmma" in text and ("__shared__ float" not in text or space[index].knobs["C.staged"]), space[index].knobs
            d = tw.device_array(np.zeros((n, m), of[out]))
            f(*map(tw.device_array, [a, b, *more]), d)
            assert (d.numpy() == wanted.astype(of[out])).all(), space[index].knobs
    """)
