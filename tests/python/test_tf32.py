"""float32 rounded to 11 bits, by te.tf32: on every target, and by tensor cores where products are of such factors."""

import numpy as np
import pytest

import tensorwright as tw
from programs import TARGETS
from tensorwright import te
from fake_device import has_nvrtc, needs_fake, run

SPECIAL = np.array([0, -0.0, 1, -1, np.inf, -np.inf, 1 + 2**-11, -1 - 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 - 2**-23, 2 - 2**-23, 1e-45,
                    2.0**-137, 2.0**-126, np.finfo("float32").max, -np.finfo("float32").max, 0.1, 1 / 3], "float32")


def rounded(x):
    """To the nearest number of 11 bits, of two the larger one, in float64."""
    fraction, exponent = np.frexp(np.abs(x).astype("float64"))
    exponent = np.maximum(exponent, -125)  # subnormals have as many digits as the least normal number
    unit = np.ldexp(1.0, exponent - 11)
    return (np.sign(x) * np.floor(np.abs(x).astype("float64") / unit + 0.5) * unit).astype("float32")


def values():
    wide = np.random.default_rng(0).integers(0, 2**32, 5000, dtype="uint32").view("float32")
    return np.concatenate([SPECIAL, wide[np.isfinite(wide)]])


def pointwise(n):
    A = te.placeholder((n,), "float32", name="A")
    return A, te.compute((n,), lambda i: te.tf32(A[i]), name="B")


@pytest.mark.parametrize("target", TARGETS)
def test_the_nearest_of_eleven_bits(target):
    x = values()
    A, B = pointwise(len(x))
    s = te.create_schedule(B)
    if target != "interp":
        _, i = s[B].split(B.op.axis[0], factor=8)
        s[B].vectorize(i)
    out = np.empty_like(x)
    tw.build(s, [A, B], target=target)(x, out)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.where(np.isfinite(x), rounded(x), x)
    np.testing.assert_array_equal(out, expected)
    assert np.isinf(out[x == np.finfo("float32").max]).all()
    np.testing.assert_array_equal(np.signbit(out), np.signbit(x))


def test_of_float32_alone():
    for dtype in ("float64", "float16", "bfloat16", "int32"):
        x = te.placeholder((4,), dtype, name="x")
        with pytest.raises(tw.DTypeError, match=r"tf32: expected float32, not x\[i\] of " + dtype):
            te.compute((4,), lambda i: te.tf32(x[i]))
    assert str(te.tf32(te.const(1 + 2**-11, "float32"))) == "tf32(1.0004883)"


def test_a_nan_stays_one():
    A, B = pointwise(4)
    x = np.array([np.nan, -np.nan, 1, 2], "float32")
    x.view("uint32")[1] = 0x7FFFFFFF
    out = np.zeros(4, "float32")
    tw.build(te.create_schedule(B), [A, B], target="interp")(x, out)
    assert np.isnan(out).tolist() == [True, True, False, False]


def factors(m, n, k, transposed=True):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k)).astype("float32"), rng.standard_normal((n, k) if transposed else (k, n)).astype("float32")
    exact = rounded(a).astype("float64") @ (rounded(b).T if transposed else rounded(b)).astype("float64")
    return a, b, exact


def product(m, n, k, transposed=True, **options):
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((n, k) if transposed else (k, n), name="B")
    return [A, B, tw.ops.matmul(A, B, transpose_b=transposed, name="C", **options)]


@pytest.mark.parametrize("transposed", [True, False])
def test_the_space_of_a_device_takes_tensor_cores(transposed):
    """And only where the product says so."""
    plain, tensors = product(64, 64, 64, transposed), product(64, 64, 64, transposed, tf32=True)
    assert "mma" not in tw.default_schedule(plain[2], "cuda -arch=sm_80").to_python()
    s = tw.default_schedule(tensors[2], "cuda -arch=sm_80")
    assert '"mma.m16n8k8.tf32"' in s.to_python()
    a, b, exact = factors(64, 64, 64, transposed)
    c = np.zeros((64, 64), "float32")
    tw.build(s, tensors, target="interp")(a, b, c)
    np.testing.assert_allclose(c, exact, rtol=0, atol=1e-5)
    assert abs(c - a @ (b.T if transposed else b)).max() > 1e-4  # float32 is another product


@pytest.mark.parametrize("target", TARGETS)
def test_a_cpu_multiplies_the_same_numbers(target):
    tensors = product(12, 20, 32, tf32=True)
    a, b, exact = factors(12, 20, 32)
    c = np.zeros((12, 20), "float32")
    tw.build(te.create_schedule(tensors[2]), tensors, target=target)(a, b, c)
    np.testing.assert_allclose(c, exact, rtol=0, atol=1e-5)


def test_convolutions_and_layers_take_it_too():
    X, W, V = te.placeholder((1, 4, 18, 16), name="X"), te.placeholder((3, 3, 16, 32), name="W"), te.placeholder((3, 3, 16, 1), name="V")
    D, E = te.placeholder((4, 18), name="D"), te.placeholder((18, 8), name="E")
    for make, args in ((tw.ops.conv2d, (X, W)), (tw.ops.conv2d_im2col, (X, W)), (tw.ops.depthwise_conv2d, (X, V)),
                       (tw.ops.conv2d_transpose, (X, te.placeholder((3, 3, 16, 8), name="T"))), (tw.ops.dense, (D, E))):
        for asked in (False, True):
            out = make(*args, tf32=asked)
            assert ("tf32(" in str(tw.lower(te.create_schedule(out), [*args, out]))) == asked, make
    with pytest.raises(tw.DTypeError, match="tf32 must be of factors of float32, and x is of bfloat16"):
        tw.ops.dense(te.placeholder((4, 18), "bfloat16", name="H"), E, tf32=True)


def test_a_convolution_on_tensor_cores():
    X, W = te.placeholder((1, 4, 16, 16), name="X"), te.placeholder((3, 3, 16, 32), name="W")
    out = tw.ops.conv2d(X, W, padding=1, tf32=True)
    s = tw.default_schedule(out, "cuda -arch=sm_80")
    assert '"mma.m16n8k8.tf32"' in s.to_python()


@needs_fake
def test_end_to_end_by_the_driver():
    run("""
        from test_tf32 import factors, product
        tensors = product(64, 64, 64, tf32=True)
        f = tw.build(tw.default_schedule(tensors[2], "cuda -arch=sm_80"), tensors, target="cuda -arch=sm_80")
        text = f.source("cuda")
        assert "mma_m16n8k8_tf32(" in text and "ldmatrix_x4_b32(" in text and "cp_async_16(" in text
        a, b, exact = factors(64, 64, 64)
        c = tw.device_array(np.zeros((64, 64), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        np.testing.assert_allclose(c.numpy(), exact, rtol=0, atol=1e-5)
    """)


@needs_fake
def test_four_warps_by_the_driver():
    """Of few tiles and many terms, which blocks may share."""
    run("""
        from test_tf32 import factors, product
        tensors = product(64, 64, 512, tf32=True)
        f = tw.build(tw.default_schedule(tensors[2], "cuda -arch=sm_90a"), tensors, target="cuda -arch=sm_90a")
        assert "k8_tf32(&" in f.source("cuda") and "wgmma" in f.source("cuda")
        a, b, exact = factors(64, 64, 512)
        c = tw.device_array(np.zeros((64, 64), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        np.testing.assert_allclose(c.numpy(), exact, rtol=0, atol=1e-4)
    """)


def test_the_compiler_keeps_them_in_registers(tmp_path):
    """And serialises none: of large tiles, and of a sum that blocks share."""
    if not has_nvrtc(tmp_path):
        pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
    run("""
        from test_tf32 import product
        for sizes in ((4096, 4096, 4096), (512, 512, 16384), (500, 300, 1000)):
            tensors = product(*sizes, tf32=True)
            f = tw.build(tensors, target="cuda -arch=sm_90a")
            assert "wgmma_m64n" in f.source("cuda")
            for of in f.resources:
                assert of["stack_bytes"] == of["spill_loads"] == of["spill_stores"] == 0 and not of["warnings"], (sizes, of)
    """, TW_CUDA_IMAGES="", TW_CACHE_DIR=str(tmp_path))
