"""Many elements at once: two-byte floats looked up or told by their bits, fills, conversions of
bytes, batch norm by given statistics, means of whole images, writes in place.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import halves, numpy_fast
from pellucid.kernels.indexing import fill
from pellucid.kernels.rows import affine
from pellucid.llvm import target

HALVES = (torch.bfloat16, torch.float16)
native = pytest.mark.skipif(not target.available(), reason="needs native code")


def every(kind):
    return torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(kind)


def same(a, b):
    return np.array_equal(a.float().numpy(), b.float().numpy(), equal_nan=True)


@pytest.mark.parametrize("kind", HALVES, ids=str)
@pytest.mark.parametrize("name", "sin exp2 sigmoid silu tanh log lgamma exp".split())
def test_what_is_looked_up_is_what_few_elements_give(name, kind):
    x = every(kind)
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    made = function(x)
    some = slice(1 << 14, (1 << 14) + 2000)  # and as many, which are computed one by one
    assert same(made[some], function(x[some])) and same(made[::3], function(x[::3]))
    square = x.view(256, 256)
    assert same(function(square.t()), made.view(256, 256).t())
    assert same(function(x[:0]), made[:0])


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_words_that_the_bits_tell(kind):
    x = every(kind)
    wide = x.float().numpy()
    for y, w in ((x, wide), (x[1::2], wide[1::2]), (x[:77], wide[:77])):
        for name in ("isnan", "isinf", "isfinite", "signbit"):
            assert np.array_equal(getattr(y, name)().numpy(), getattr(np, name)(w)), name
        assert same(-y, torch.from_numpy(-w)) and same(y.abs(), torch.from_numpy(abs(w)))
    assert (-x).view(torch.int16).equal(x.view(torch.int16) ^ -0x8000)


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_cubes_are_rounded_as_pytorch_does(kind):
    x = every(kind)
    if kind is torch.float16:
        expected = (x.float() * x.float() * x.float()).to(kind)
    else:
        expected = x * x * x
    assert same(x**3, expected)


@native
@pytest.mark.parametrize(
    "kind", [np.float64, np.float32, np.int16, np.complex64, ml_dtypes.bfloat16, np.int64]
)
def test_fills(kind):
    for n in (fill.LEAST, fill.LEAST + 13):
        memory = np.zeros(n + 64, kind)
        x = memory[32:-32] if n > fill.LEAST else memory[: fill.LEAST]
        assert fill.filled(x, np.array(3, kind)) == (x.size >= fill.LEAST)
        if n == fill.LEAST:
            assert (x == kind(3)).all() and not memory[n:].any()
    made = numpy_fast.full((300, 200), -2, np.dtype(kind))
    assert made.dtype == kind and (made == kind(-2)).all()
    last = np.zeros((8, 70, 80, 3), kind).transpose(0, 3, 1, 2)
    numpy_fast.fill(last, 5)
    assert (last == kind(5)).all()
    parts = np.zeros((400, 400), kind)
    numpy_fast.fill(parts[:, ::2], 7)
    assert (parts[:, ::2] == kind(7)).all() and not parts[:, 1::2].any()


@pytest.mark.parametrize("source", (np.int8, np.uint8))
@pytest.mark.parametrize("wanted", (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
def test_bytes_become_floats(source, wanted):
    x = np.arange(5000).astype(source).reshape(50, 100)
    for y in (x, x.T, x[:, ::3], x[::-1]):
        made = halves.converted(y, np.dtype(wanted))
        assert made.dtype == wanted and np.array_equal(made, y.astype(wanted))


def test_float64_becomes_bfloat16_by_way_of_float32():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000) * np.exp(rng.normal(size=5000) * 50)
    x[:6] = np.inf, -np.inf, np.nan, -0.0, 1e300, 1e-300
    made = halves.converted(x, np.dtype(ml_dtypes.bfloat16))
    with np.errstate(over="ignore"):
        expected = x.astype(np.float32).astype(ml_dtypes.bfloat16)
    assert np.array_equal(made.astype(np.float32), expected.astype(np.float32), equal_nan=True)


@native
@pytest.mark.parametrize("kind", (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
@pytest.mark.parametrize("shape", ((3, 5, 17, 9), (2, 37, 6, 5), (40, 33), (1, 16, 5), (2, 3, 4)))
def test_batch_norm_by_statistics(kind, shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(kind)
    x.reshape(-1)[:3] = np.nan, np.inf, -0.0
    wide = np.float64 if kind is np.float64 else np.float32
    numbers = [rng.random(shape[1]).astype(wide) for _ in range(4)]
    flat = [n.reshape(-1, *(1,) * (len(shape) - 2)) for n in numbers]
    for weight, bias in ((2, 3), (None, 3), (2, None), (None, None)):
        expected = (x.astype(wide) - flat[0]) * flat[1]
        expected = expected if weight is None else expected * flat[2]
        expected = expected if bias is None else expected + flat[3]
        given = [None if k is None else numbers[k] for k in (weight, bias)]
        last = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
        for y in (x, last):
            made = affine.normalized(y, *numbers[:2], *given)
            if made is None:  # short rows are others'
                assert len(shape) > 2 and 2 < shape[1] < 17
                continue
            assert made.strides == y.strides and made.dtype == kind
            assert np.array_equal(
                made.astype(wide), expected.astype(kind).astype(wide), equal_nan=True
            )
    assert affine.normalized(x[..., ::2], *numbers[:2], None, None) is None


@pytest.mark.parametrize("last", (False, True))
@pytest.mark.parametrize("kind", (*HALVES, torch.float32, torch.float64), ids=str)
def test_the_mean_of_whole_images_is_that_of_few(kind, last):
    x = torch.linspace(-1, 3, 4 * 8 * 15 * 16, dtype=torch.float64).view(4, 8, 15, 16).to(kind)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    made = torch.nn.functional.adaptive_avg_pool2d(x, 1)
    few = torch.cat([torch.nn.functional.adaptive_avg_pool2d(y, 1) for y in x[:, :2].split(1)])
    assert made.shape == (4, 8, 1, 1)
    torch.testing.assert_close(made[:, :2], few)


@pytest.mark.parametrize("name", ("int8", "uint8", "int16", "int32", "int64", "complex64"))
def test_writes_in_place_of_every_dtype(name):
    kind = getattr(torch, name)
    x = torch.arange(50).to(kind)
    for method in ("add_", "sub_", "mul_"):
        for other in (x.flip(0), 3):
            made = x.clone()
            assert getattr(made, method)(other) is made and made._version == 1
            assert made.equal(getattr(x, method[:-1])(other))
    with pytest.raises(RuntimeError):
        x.add_(1.5) if name != "complex64" else x.add_(torch.ones(50, dtype=torch.complex128)[:7])
    if name == "uint8":
        assert x.clone().add_(-1)[0] == 255 and x.clone().sub_(200)[0] == 56


@pytest.mark.parametrize("kind", (*HALVES, torch.float32, torch.float64, torch.complex64), ids=str)
def test_what_is_not_finite_is_replaced(kind):
    x = torch.linspace(-3, 3, 5000).to(kind)
    x[:4] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0]).to(kind)
    for given in ({}, {"nan": 2.5}, {"nan": 1, "posinf": 3, "neginf": float("nan")}):
        made = x.nan_to_num(**given)
        few = torch.cat([part.nan_to_num(**given) for part in x.split(1000)])
        assert made.dtype is kind and torch.equal(made[4:], x[4:])
        torch.testing.assert_close(made, few, rtol=0, atol=0, equal_nan=True)


def test_complex_numbers_in_several_steps():
    x = torch.complex(torch.linspace(-3, 3, 5000), torch.linspace(2, -1, 5000))
    y, z = x.flip(0), x.roll(7)
    assert torch.equal(torch.addcmul(x, y, z), x + y * z)
    assert torch.equal(torch.addcmul(x[:1], y, z), x[:1] + y * z)
    assert torch.equal(torch.addcmul(x, y, z, value=2), x + y * z * 2)
    assert torch.equal(x**3, x * x * x)


@pytest.mark.parametrize("kind", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize("stride", (1, 2))
def test_convolution_of_single_pixels_side_by_side(kind, stride):
    x = torch.linspace(-1, 1, 2 * 9 * 20 * 23).view(2, 9, 20, 23).to(kind)
    last = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    x.requires_grad_()
    weight = torch.linspace(-1, 2, 6 * 9).view(6, 9, 1, 1).to(kind)
    for bias in (None, torch.linspace(0, 1, 6).to(kind)):
        made, expected = (
            torch.nn.functional.conv2d(y, weight, bias, stride=stride) for y in (last, x)
        )
        assert made.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(made, expected)
    made.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(last.grad, x.grad)


@pytest.mark.parametrize("last", (False, True))
def test_running_statistics_are_those_of_a_recorded_call(last):
    x = torch.linspace(-1, 3, 4 * 8 * 15 * 16).view(4, 8, 15, 16)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    norms = [torch.nn.BatchNorm2d(8) for _ in range(2)]
    made = norms[0](x)
    with torch.no_grad():
        other = norms[1](x)
    assert made.equal(other)
    assert norms[0].running_mean.equal(norms[1].running_mean)
    assert norms[0].running_var.equal(norms[1].running_var)


@pytest.mark.parametrize("kind", (torch.float32, torch.float64, torch.bfloat16), ids=str)
def test_a_filter_for_each_channel_side_by_side(kind):
    rng = np.random.default_rng(0)
    for channels, size, kernel, options in (
        (33, (20, 23), (3, 3), {"padding": 1}),
        (16, (21, 19), (5, 2), {"padding": (4, 1), "stride": (2, 3)}),
        (70, (9, 40), (3, 3), {"dilation": (3, 2), "padding": (2, 5)}),
        (7, (40, 30), (1, 4), {"padding": (0, 9), "dilation": (1, 4)}),
    ):
        x = torch.from_numpy(rng.normal(size=(2, channels, *size))).to(kind)
        weight = torch.from_numpy(rng.normal(size=(channels, 1, *kernel))).to(kind)
        last = x.contiguous(memory_format=torch.channels_last)
        for bias in (None, torch.from_numpy(rng.normal(size=channels)).to(kind)):
            made, expected = (
                torch.nn.functional.conv2d(y, weight, bias, groups=channels, **options)
                for y in (last, x)
            )
            assert made.is_contiguous(memory_format=torch.channels_last)
            torch.testing.assert_close(made, expected)


@native
@pytest.mark.parametrize("kind", (torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("shape", ((6, 9, 1, 1), (9, 1, 3, 3)))
def test_compiled_convolutions_of_channels_side_by_side_are_native(shape, kind):
    x = torch.linspace(-1, 1, 2 * 9 * 20 * 23).view(2, 9, 20, 23).to(kind)
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    weight = torch.linspace(-1, 2, shape[0] * shape[1] * shape[2] ** 2).view(shape).to(kind)

    def step(x):
        out = torch.nn.functional.conv2d(x, weight, groups=9 // shape[1])
        return out, *torch.autograd.grad(out.square().sum(), [x])

    run = torch.compile(step, fullgraph=True)
    for _ in range(2):
        made, expected = run(x), step(x)
        for a, b in zip(made, expected, strict=True):
            assert a.stride() == b.stride()
            torch.testing.assert_close(a, b)
    parts = run.versions[-1].code.executables
    assert not [item for part in parts for item in part.items if item.kind == "eager"]
