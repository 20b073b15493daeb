"""Convolution on NumPy against loops over every index in float64, and its gradients as the
transposed linear maps.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest

from pellucid.kernels.convolution import reference as conv_reference
from pellucid.kernels.convolution.geometry import transposed_input_shape

CASES = [
    # x, w, stride, padding, dilation, groups
    ((2, 3, 7), (4, 3, 3), 1, 0, 1, 1),
    ((2, 4, 9), (6, 2, 2), 2, 1, 2, 2),
    ((1, 2, 5, 6), (3, 2, 3, 2), (2, 1), (1, 2), 1, 1),
    ((2, 3, 6, 5), (3, 1, 3, 3), 1, 1, 1, 3),
    ((1, 2, 7, 7), (2, 2, 2, 3), (3, 2), ((0, 2), (1, 0)), (2, 1), 1),
    ((1, 2, 6, 6), (2, 2, 1, 1), 2, 0, 1, 1),
    ((1, 2, 4, 5, 6), (2, 2, 2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
]


def normal(seed, shape, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def loops(x, w, stride, padding, dilation, groups):
    """The definition, one product at a time."""
    dims = x.ndim - 2
    stride, dilation = (np.broadcast_to(v, dims) for v in (stride, dilation))
    pads = [
        p if isinstance(p, tuple) else (p, p)
        for p in ((padding,) * dims if isinstance(padding, int) else padding)
    ]
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    sizes = [
        (s - d * (k - 1) - 1) // t + 1
        for s, k, t, d in zip(padded.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    per_group = w.shape[0] // groups
    for index in np.ndindex(out.shape):
        n, o, *at = index
        for c, *tap in np.ndindex(w.shape[1:]):
            where = [a * s + t * d for a, s, t, d in zip(at, stride, tap, dilation, strict=True)]
            out[index] += w[(o, c, *tap)] * padded[(n, o // per_group * w.shape[1] + c, *where)]
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conv_is_the_definition(case):
    x_shape, w_shape, *args = case
    x, w = normal(0, x_shape), normal(1, w_shape)
    np.testing.assert_allclose(conv_reference.conv(x, w, *args), loops(x, w, *args), atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_the_transposed_maps(case):
    # conv is linear in x and in w, so <g, conv(dx, w)> = <grad_x, dx> for every dx, and likewise
    # for w.
    x_shape, w_shape, *args = case
    x, w = normal(0, x_shape), normal(1, w_shape)
    g = normal(2, conv_reference.conv(x, w, *args).shape)
    for seed in (3, 4):
        dx, dw = normal(seed, x_shape), normal(seed, w_shape)
        grad_x = conv_reference.conv_input_grad(g, w, x_shape, *args)
        grad_w = conv_reference.conv_weight_grad(g, x, w_shape, *args)
        assert (g * conv_reference.conv(dx, w, *args)).sum() == pytest.approx((grad_x * dx).sum())
        assert (g * conv_reference.conv(x, dw, *args)).sum() == pytest.approx((grad_w * dw).sum())


@pytest.mark.parametrize(
    "dtype", ["int32", "int64", "complex128", "float16", ml_dtypes.bfloat16], ids=str
)
def test_dtypes_are_kept(dtype):
    x = np.arange(2 * 2 * 5 * 5).reshape(2, 2, 5, 5) % 7 - 3
    w = np.arange(3 * 2 * 3 * 3).reshape(3, 2, 3, 3) % 5 - 2
    exact = loops(x, w, 1, 1, 1, 1)
    args = (1, 1, 1, 1)
    out = conv_reference.conv(x.astype(dtype), w.astype(dtype), *args)
    assert out.dtype == np.dtype(dtype)
    assert np.array_equal(out.astype(np.complex128), exact.astype(dtype).astype(np.complex128))
    g = exact.astype(dtype)
    assert conv_reference.conv_input_grad(g, w.astype(dtype), x.shape, *args).dtype == np.dtype(
        dtype
    )
    assert conv_reference.conv_weight_grad(g, x.astype(dtype), w.shape, *args).dtype == np.dtype(
        dtype
    )


def test_negative_padding_crops():
    x, w = normal(0, (1, 2, 8, 9)), normal(1, (3, 2, 3, 3))
    cropped = conv_reference.conv(x[:, :, 1:-2, 2:], w)
    args = (1, ((-1, -2), (-2, 0)))
    np.testing.assert_allclose(conv_reference.conv(x, w, *args), cropped)
    g = normal(2, cropped.shape)
    grad = np.zeros(x.shape)
    grad[:, :, 1:-2, 2:] = conv_reference.conv_input_grad(g, w, (1, 2, 5, 7))
    np.testing.assert_allclose(conv_reference.conv_input_grad(g, w, x.shape, *args), grad)


def test_blocks_of_images_do_not_change_results(monkeypatch):
    x, w = normal(0, (5, 3, 8, 8)), normal(1, (4, 3, 3, 3))
    whole = conv_reference.conv(x, w)
    g = normal(2, whole.shape)
    grads = (
        conv_reference.conv_input_grad(g, w, x.shape),
        conv_reference.conv_weight_grad(g, x, w.shape),
    )
    monkeypatch.setattr(conv_reference, "_BLOCK_ELEMENTS", 3 * 9 * 36 * 2)
    np.testing.assert_allclose(conv_reference.conv(x, w), whole)
    np.testing.assert_allclose(conv_reference.conv_input_grad(g, w, x.shape), grads[0])
    np.testing.assert_allclose(conv_reference.conv_weight_grad(g, x, w.shape), grads[1])


@pytest.mark.parametrize("output_padding", [0, 1])
def test_transposed_convolution_shape(output_padding):
    shape = transposed_input_shape((2, 4, 5, 6), (4, 3, 3, 2), (2, 3), 1, output_padding, 1, 1)
    assert shape == (2, 3, 9 + output_padding, 15 + output_padding)
    assert (
        conv_reference.conv_input_grad(
            normal(0, (2, 4, 5, 6)), normal(1, (4, 3, 3, 2)), shape, (2, 3), 1
        ).shape
        == shape
    )


def test_shapes_that_do_not_fit():
    x, w = np.zeros((1, 3, 4, 4)), np.zeros((2, 3, 3, 3))
    with pytest.raises(
        RuntimeError,
        match="expected input\\[1, 2, 4, 4\\] to have 3 channels, but got 2 channels instead",
    ):
        conv_reference.conv(x[:, :2], w)
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        conv_reference.conv(x[:, :, :2], w)
    with pytest.raises(RuntimeError, match="Expected grad_output of shape"):
        conv_reference.conv_input_grad(np.zeros((1, 2, 3, 3)), w, x.shape)
    with pytest.raises(RuntimeError, match="stride"):
        conv_reference.conv(x, w, (1, 1, 1))
    with pytest.raises(RuntimeError, match="output padding must be smaller"):
        transposed_input_shape((1, 2, 4), (2, 1, 3), 1, 0, 1)


def test_finite_differences():
    x, w = normal(0, (1, 2, 5, 5)), normal(1, (2, 2, 3, 3))
    args = (2, 1, 1, 1)
    g = normal(2, conv_reference.conv(x, w, *args).shape)
    grads = (
        conv_reference.conv_input_grad(g, w, x.shape, *args),
        conv_reference.conv_weight_grad(g, x, w.shape, *args),
    )
    for array, grad in zip((x, w), grads, strict=True):
        for index in itertools.islice(np.ndindex(array.shape), 0, None, 3):
            kept = array[index]
            values = []
            for step in (1e-5, -1e-5):
                array[index] = kept + step
                values.append((g * conv_reference.conv(x, w, *args)).sum())
            array[index] = kept
            assert grad[index] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("images, channels", [(0, 2), (3, 0)])
def test_nothing_to_add_up_gives_zeros(images, channels):
    x, w = np.zeros((images, channels, 5, 5)), np.zeros((4, channels, 3, 3))
    out = conv_reference.conv(x, w)
    assert out.shape == (images, 4, 3, 3) and not out.any()
    assert conv_reference.conv_input_grad(out, w, x.shape).shape == x.shape
    grad = conv_reference.conv_weight_grad(out, x, w.shape)
    assert grad.shape == w.shape and not grad.any()


def test_input_gradient_window_by_window(monkeypatch):
    """Adding up windows and adding up taps are two ways to one sum, in chunks of any size."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        dims = rng.integers(1, 4)
        k, out, stride, dilation = (
            tuple(map(int, rng.integers(1, most, dims))) for most in (7, 5, 4, 3)
        )
        pads = tuple((int(a), int(b)) for a, b in rng.integers(-1, 3, (dims, 2)))
        sizes = [
            (o - 1) * s + d * (t - 1) + 1 - a - b
            for o, s, d, t, (a, b) in zip(out, stride, dilation, k, pads, strict=True)
        ]
        if min(sizes) < 1:
            continue
        groups, per_in, per_out, images = rng.integers(1, 4, 4)
        g = rng.standard_normal((images, groups * per_out, *out))
        w = rng.standard_normal((groups * per_out, per_in, *k))
        args = ((images, groups * per_in, *sizes), stride, pads, dilation, groups)
        monkeypatch.setattr(conv_reference, "_BLOCK_ELEMENTS", int(rng.choice([1, 50, 1 << 20])))
        made = []
        for few in (False, True):
            monkeypatch.setattr(conv_reference, "few_windows", lambda geo, few=few: few)
            made.append(conv_reference.conv_input_grad(g, w, *args))
        np.testing.assert_allclose(made[1], made[0], atol=1e-12)
