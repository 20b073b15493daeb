"""The generated convolution kernels against the NumPy reference in float64, over many shapes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import config
from pellucid.kernels.convolution import call as kernels
from pellucid.kernels.convolution import lanes as conv_lanes
from pellucid.kernels.convolution import plan as conv_plan
from pellucid.kernels.convolution import reference as reference
from pellucid.kernels.convolution import tiles as conv_kernels
from pellucid.kernels.convolution import weight as conv_weight
from pellucid.kernels.convolution import winograd as conv_winograd
from pellucid.kernels.convolution import winograd_weight as conv_winograd_weight
from pellucid.kernels.convolution.geometry import conv_geometry
from pellucid.kernels.pooling import call as pool
from pellucid.kernels.pooling import reference as pool_reference
from pellucid.llvm import target, threads

pytestmark = pytest.mark.skipif(not target.available(), reason="needs a compiler for kernels")


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(made, expected, terms, dtype=np.float32):
    """Within a few roundings of sums of `terms` products of normal numbers."""
    assert made is not None and made.dtype == dtype and made.shape == expected.shape
    one = 2e-6 if dtype == np.float32 else 4e-15
    np.testing.assert_allclose(made, expected, rtol=5 * one, atol=one * (terms**0.5 + 1) * 4)


def check(x_shape, w_shape, *args):
    x, w = normal(0, x_shape), normal(1, w_shape)
    geo = conv_geometry(x_shape, w_shape, *args)
    g = normal(2, geo.out_shape)
    x64, w64, g64 = (a.astype(np.float64) for a in (x, w, g))
    terms, pixels = geo.c_group * geo.taps, geo.n * int(np.prod(geo.out))
    forward = reference.conv(x64, w64, *args)
    of_input = reference.conv_input_grad(g64, w64, x_shape, *args)
    of_weight = reference.conv_weight_grad(g64, x64, w_shape, *args)
    for image, weight, grad in ((x, w, g), (x64, w64, g64)):
        kind = image.dtype
        close(kernels.conv(image, weight, *args), forward, terms, kind)
        made = kernels.conv_input_grad(grad, weight, x_shape, *args)
        close(made, of_input, geo.o_group * geo.taps, kind)
        close(kernels.conv_weight_grad(grad, image, w_shape, *args), of_weight, pixels, kind)


@st.composite
def configurations(draw):
    dims = draw(st.sampled_from([1, 2, 2, 2, 3]))
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    channels, outputs = (
        draw(st.integers(1, 5)),
        draw(st.sampled_from([1, 2, 3, 5, 6, 7, 8, 12, 17])),
    )
    longest = {1: 70, 2: 20, 3: 8}[dims]

    def sizes(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    kernel, dilation = sizes(1, 5 if dims < 3 else 3), sizes(1, 2)
    stride = draw(st.sampled_from([(1,) * dims, (2,) * dims, sizes(1, 4)]))
    padding = draw(
        st.sampled_from(
            [(0,) * dims, sizes(0, 3), tuple(zip(sizes(0, 2), sizes(0, 3), strict=True))]
        )
    )
    least = max((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    x = (draw(st.integers(1, 4)), groups * channels, *sizes(least, max(least, longest)))
    return x, (groups * outputs, channels, *kernel), stride, padding, dilation, groups


@settings(max_examples=150, deadline=None, derandomize=True)
@given(configurations())
def test_random_configurations(configuration):
    check(*configuration)


@pytest.mark.parametrize(
    "configuration",
    [
        ((3, 1, 28, 28), (32, 1, 3, 3), 1, 0, 1, 1),
        ((2, 3, 32, 32), (32, 3, 3, 3), 1, 1, 1, 1),
        ((2, 32, 16, 16), (64, 32, 3, 3), 2, 1, 1, 1),
        ((5, 64, 8, 8), (64, 64, 3, 3), 1, 1, 1, 1),
        ((2, 16, 14, 14), (80, 16, 1, 1), 1, 0, 1, 1),
        ((2, 32, 16, 16), (64, 32, 1, 1), 2, 0, 1, 1),
        ((2, 6, 14, 14), (16, 6, 5, 5), 1, 0, 1, 1),
        ((2, 3, 40, 40), (8, 3, 7, 7), 2, 3, 1, 1),
        ((2, 40, 9, 9), (40, 1, 3, 3), 1, 1, 1, 40),
        ((2, 8, 9, 9), (16, 1, 3, 3), 2, 1, 1, 8),
        ((2, 5, 130), (24, 5, 7), 3, 2, 1, 1),
        ((1, 2, 1, 1), (3, 2, 1, 1), 1, 0, 1, 1),
        ((1, 2, 3, 3), (3, 2, 3, 3), 5, 4, 1, 1),
        ((1, 2, 6, 6), (3, 2, 2, 2), 1, ((-1, 0), (0, -2)), 1, 1),
        ((1, 70, 9, 9), (3, 70, 4, 4), 3, 1, 2, 1),
        ((3, 40, 8, 8), (112, 40, 3, 3), 1, 1, 1, 1),
        ((3, 34, 4, 4), (68, 17, 3, 3), 1, 1, 1, 2),
        ((7, 20, 5, 5), (96, 20, 3, 3), 1, 1, 1, 1),
        ((2, 72, 91, 83), (72, 36, 1, 1), 1, 0, 1, 2),
        ((2, 48, 9, 9), (64, 48, 3, 3), 2, 1, 1, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("winograd", [False, True])
def test_shapes_of_networks(configuration, winograd):
    with config.override(winograd=winograd):
        check(*configuration)


def test_bias_and_relu():
    x, w, b = normal(0, (2, 3, 9, 9)), normal(1, (10, 3, 3, 3)), normal(2, (10,))
    plain = kernels.conv(x, w, 1, 1)
    np.testing.assert_allclose(
        kernels.conv(x, w, 1, 1, bias=b), plain + b.reshape(-1, 1, 1), atol=1e-5
    )
    np.testing.assert_allclose(
        kernels.conv(x, w, 1, 1, bias=b, relu=True),
        np.maximum(plain + b.reshape(-1, 1, 1), 0),
        atol=1e-5,
    )
    shape = (2, 3, 18, 18)
    g, turned = normal(3, (2, 10, 9, 9)), normal(4, (3,))
    plain = kernels.conv_input_grad(g, w, shape, 2, 1)
    np.testing.assert_allclose(
        kernels.conv_input_grad(g, w, shape, 2, 1, bias=turned),
        plain + turned.reshape(-1, 1, 1),
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=str)
def test_two_byte_floats_are_rounded_once(dtype):
    x, w, b = (normal(i, s).astype(dtype) for i, s in enumerate([(2, 4, 9, 8), (6, 2, 3, 3), (6,)]))
    args = (2, 1, 1, 2)
    out = kernels.conv(x, w, *args, bias=b)
    wide = [a.astype(np.float32) for a in (x, w, b)]
    assert out.dtype == dtype and np.array_equal(
        out, kernels.conv(*wide[:2], *args, bias=wide[2]).astype(dtype)
    )
    g = out.astype(np.float32)
    grad = kernels.conv_input_grad(out, w, x.shape, *args)
    assert grad.dtype == dtype and np.array_equal(
        grad, kernels.conv_input_grad(g, wide[1], x.shape, *args).astype(dtype)
    )
    grad = kernels.conv_weight_grad(out, x, w.shape, *args)
    assert grad.dtype == dtype and np.array_equal(
        grad, kernels.conv_weight_grad(g, wide[0], w.shape, *args).astype(dtype)
    )
    assert kernels.conv(x, wide[1], *args) is None


def test_nan_and_infinity_stay_where_they_belong():
    x, w = normal(0, (1, 2, 12, 12)), normal(1, (9, 2, 3, 3))
    x[0, 0, 5, 5], x[0, 1, 9, 2] = np.nan, np.inf
    out = kernels.conv(x, w, 1, 1, relu=True)
    touched = np.zeros((12, 12), bool)
    touched[4:7, 4:7] = touched[8:11, 1:4] = True
    assert (
        np.array_equal(np.isfinite(out[0]).all(0), ~touched)
        or np.isfinite(out[0][:, ~touched]).all()
    )
    assert np.isnan(out[0, :, 4:7, 4:7]).all()
    for o in (1, 9):  # lanes over pixels, lanes over channels
        grad = kernels.conv_weight_grad(np.ones((1, o, 10, 10), np.float32), x, (o, 2, 3, 3))
        expected = reference.conv_weight_grad(
            np.ones((1, o, 10, 10)), x.astype(float), (o, 2, 3, 3)
        )
        assert np.array_equal(np.isnan(grad), np.isnan(expected)) and np.array_equal(
            np.isinf(grad), np.isinf(expected)
        )


def test_inputs_that_are_not_contiguous():
    x, w = (
        normal(0, (2, 9, 9, 3)).transpose(0, 3, 1, 2),
        normal(1, (3, 3, 3, 8)).transpose(3, 2, 0, 1),
    )
    exact = reference.conv(x.astype(float), w.astype(float), 2, 1)
    close(kernels.conv(x, w, 2, 1), exact, 27)
    g = np.broadcast_to(np.float32(1), exact.shape)
    close(
        kernels.conv_input_grad(g, w, x.shape, 2, 1),
        reference.conv_input_grad(g, w.astype(float), x.shape, 2, 1),
        72,
    )
    close(
        kernels.conv_weight_grad(g, x, w.shape, 2, 1),
        reference.conv_weight_grad(g, x.astype(float), w.shape, 2, 1),
        50,
    )


def test_results_do_not_depend_on_threads():
    x, w = normal(0, (7, 4, 11, 11)), normal(1, (20, 4, 3, 3))
    g = normal(2, (7, 20, 6, 6))
    before = threads.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            results.append(
                (
                    kernels.conv(x, w, 2, 1),
                    kernels.conv(x[:1], w, 2, 1),
                    kernels.conv_input_grad(g, w, x.shape, 2, 1),
                    kernels.conv_weight_grad(g, x, w.shape, 2, 1),
                    kernels.conv_weight_grad(g, x[:, :1], (20, 1, 3, 3), 2, 1),
                )
            )
    finally:
        threads.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.fixture
def fresh_plans():
    """Clears what was planned and compiled, before and after."""
    caches = [
        function
        for module in (
            conv_kernels,
            conv_plan,
            conv_lanes,
            conv_weight,
            conv_winograd,
            conv_winograd_weight,
            kernels,
            pool,
        )
        for function in vars(module).values()
        if hasattr(function, "cache_clear")
    ]
    for function in caches:
        function.cache_clear()
    yield
    for function in caches:
        function.cache_clear()


def test_large_input_in_several_blocks(fresh_plans, monkeypatch):
    monkeypatch.setattr(conv_plan, "CACHE_BYTES", 16 << 10)
    check((5, 3, 30, 31), (17, 3, 3, 3), 1, 1, 1, 1)
    check((5, 3, 30, 31), (17, 3, 3, 3), 2, 1, 1, 1)


@pytest.fixture(params=[("x86", 256), ("arm", 128)], ids=str)
def other_processor(request, fresh_plans, monkeypatch):
    """Kernels as other processors get them, run on this one."""
    arch, bits = request.param
    real = target.host()
    if bits > real.vector_bits:
        pytest.skip("this processor has no vectors that wide")
    threads.team()  # the workers are this processor's
    other = target.Target(arch, real.cpu, real.features, bits, f"{real.key} as {arch} {bits}")
    monkeypatch.setattr(target, "host", lambda: other)


@pytest.mark.parametrize(
    "configuration",
    [
        ((2, 3, 12, 13), (11, 3, 3, 3), 1, 1, 1, 1),
        ((2, 3, 12, 13), (11, 3, 3, 3), 1, 0, 1, 1),
        ((2, 4, 13, 12), (18, 2, 3, 2), 2, 1, 1, 2),
        ((3, 24, 8, 8), (40, 24, 3, 3), 1, 1, 1, 1),
        ((2, 5, 40), (6, 5, 4), 3, 2, 2, 1),
        ((1, 2, 6, 7, 5), (9, 2, 2, 3, 2), 1, (1, 0, 1), 1, 1),
        ((2, 6, 9, 9), (6, 1, 3, 3), 1, 1, 1, 6),
        ((2, 6, 9, 9), (20, 6, 1, 1), 1, 0, 1, 1),
        # Rows of results that are shorter than a vector, read where they are: nothing before the
        # first may be written.
        ((1, 4, 7, 6), (2, 4, 5, 5), 1, 0, 1, 1),
        ((2, 3, 9, 7), (4, 3, 2, 4), 1, 0, 1, 1),
        ((2, 3, 9, 3), (4, 3, 2, 1), 1, 0, 1, 1),
        ((2, 3, 5, 6, 4), (4, 3, 3, 3, 3), 1, 0, 1, 1),
        ((1, 3, 7, 3, 2), (4, 3, 1, 1, 1), 1, 0, 1, 1),
        ((1, 3, 7, 3, 2), (4, 3, 3, 1, 1), 1, 0, 1, 1),
    ],
    ids=str,
)
def test_other_processors(other_processor, configuration):
    check(*configuration)


@pytest.mark.parametrize("args", [(2,), (3, 2, 1), (2, 3, 0, 2), ((3, 2), 1, 1, 1, True)], ids=str)
def test_pooling_on_other_processors(other_processor, args):
    x = normal(0, (2, 3, 13, 14))
    x[0, 0, 3], x[1, 1, :, 5] = np.nan, -np.inf
    values, index = pool.max_pool(x, *args)
    expected, places = pool_reference.max_pool(x, *args)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(index, places)
    grad = pool.max_pool_grad(values, index, x.shape)
    np.testing.assert_allclose(
        grad, pool_reference.max_pool_grad(values, places, x.shape), rtol=1e-5
    )


def test_transpose_for_other_processors(other_processor):
    test_transpose(17, 33)
    test_transpose(8, 16)


def test_python_threads_do_not_share_scratch():
    cases = [((3, 4, 9 + i, 10), (8 + i, 4, 3, 3)) for i in range(6)] + [
        ((4, 16, 8, 8), (64, 16, 3, 3))
    ]
    inputs = [(normal(i, x), normal(i + 50, w)) for i, (x, w) in enumerate(cases)]

    def work(i):
        x, w = inputs[i % len(inputs)]
        out = kernels.conv(x, w, 1, 1)
        return (
            out,
            kernels.conv_input_grad(out, w, x.shape, 1, 1),
            kernels.conv_weight_grad(out, x, w.shape, 1, 1),
        )

    alone = [work(i) for i in range(len(inputs))]
    with ThreadPoolExecutor(6) as pool:
        for i, made in enumerate(pool.map(work, range(20 * len(inputs)))):
            assert all(
                np.array_equal(a, b) for a, b in zip(made, alone[i % len(inputs)], strict=True)
            )


def test_what_does_not_apply_gives_none():
    x, w = np.zeros((1, 2, 5, 5), np.int64), np.zeros((3, 2, 3, 3), np.int64)
    assert kernels.conv(x, w) is None
    assert kernels.conv(x.astype(np.float64), w.astype(np.float32)) is None
    assert kernels.conv(x.astype(np.float32)[:0], w.astype(np.float32)) is None
    g = np.zeros((1, 3, 3, 3), np.int64)
    assert kernels.conv_input_grad(g, w, x.shape) is None
    assert kernels.conv_weight_grad(g, x, w.shape) is None
    with pytest.raises(RuntimeError, match="to have 2 channels"):
        kernels.conv(np.zeros((1, 3, 5, 5), np.float32), w.astype(np.float32))
    with pytest.raises(RuntimeError, match="Expected grad_output of shape"):
        kernels.conv_weight_grad(np.zeros((1, 3, 4, 3), np.float32), x.astype(np.float32), w.shape)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 40), (16, 16), (17, 33), (50, 5)])
def test_transpose(rows, columns):
    source, result = normal(0, (rows, columns + 3)), np.zeros((columns, rows + 2), np.float32)
    transpose = conv_kernels.turning()["transpose"]
    transpose(source.ctypes.data, columns + 3, result.ctypes.data, rows + 2, rows, columns)
    assert np.array_equal(result[:, :rows], source[:, :columns].T) and not result[:, rows:].any()


NARROW = """
import numpy as np
from pellucid.kernels.convolution import reference
from pellucid.kernels.convolution import call as conv
rng = np.random.default_rng(0)
for x_shape, w_shape in (((1, 1, 2, 5), (1, 1, 1, 2)), ((2, 3, 9, 11), (5, 3, 3, 3)), ((1, 2, 3, 5, 6), (3, 2, 2, 1, 2)), ((1, 2, 40), (3, 2, 4))):
    x, w = rng.standard_normal(x_shape).astype("f"), rng.standard_normal(w_shape).astype("f")
    out = reference.conv(x.astype(float), w.astype(float))
    assert np.abs(conv.conv(x, w) - out).max() < 1e-4, (x_shape, w_shape)
"""


@pytest.mark.parametrize("bits", [128, 256])
def test_inputs_read_where_they_are_with_narrower_vectors(bits):
    """The last vector moves back to end inside; what it passes over is a gap between rows, unless
    these are as wide as the input's.
    """
    if bits > target.host().vector_bits:
        pytest.skip("this processor has no such vectors")
    environment = os.environ | {"PELLUCID_VECTOR_BITS": str(bits)}
    subprocess.run([sys.executable, "-c", NARROW], env=environment, check=True)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_kernels_larger_than_the_input_are_added_window_by_window(dims):
    """Output times kernel would be the square of the work (minutes for a kernel of 100 cubed)."""
    side = {1: 4000, 2: 120, 3: 24}[dims]
    g, w = normal(0, (2, 4, *(3,) * dims)), normal(1, (4, 5, *(side,) * dims))
    x_shape = (2, 5, *(side + 2,) * dims)
    assert kernels.input_grad_plans("float", g.shape, w.shape, x_shape, 1, 0, 1, 1)[0] is None
    assert kernels.conv_input_grad(g, w, x_shape) is None
    made = reference.conv_input_grad(g, w, x_shape)
    x = normal(2, x_shape)
    # the transposed map of the convolution
    direct = np.sum(reference.conv(x, w).astype(np.float64) * g)
    assert np.isclose(np.sum(made.astype(np.float64) * x), direct, rtol=1e-4, atol=1e-2)
