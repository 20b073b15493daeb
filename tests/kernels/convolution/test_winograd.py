"""Winograd's convolution against the NumPy reference in float64: values, errors beside the direct
kernels', threads, rules.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import config
from pellucid.kernels.convolution import call as kernels
from pellucid.kernels.convolution import reference as reference
from pellucid.kernels.convolution import winograd as conv_winograd
from pellucid.kernels.convolution import winograd_parts, winograd_range
from pellucid.kernels.convolution import winograd_weight as conv_winograd_weight
from pellucid.kernels.convolution.geometry import conv_geometry
from pellucid.llvm import target, threads
from pellucid.llvm.emit import Module, vector
from pellucid.llvm.jit import compile_ir


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def direct(geo, x, w, g, bias=None):
    """What the kernels without Winograd give: forward, gradient in the input, in the weight."""
    args = (geo.stride, geo.pads)
    with config.override(winograd=False):
        return (
            kernels.conv(x, w, *args, bias=bias),
            kernels.conv_input_grad(g, w, x.shape, *args),
            kernels.conv_weight_grad(g, x, w.shape, *args),
        )


def winograd_forward(geo, x, w, bias=None):
    plan = conv_winograd._plan(geo.c, geo.x, geo.o, geo.out, geo.pads[0][0], geo.pads[1][0], False)
    return plan.run(x, w, np.full((len(x), *geo.out_shape[1:]), np.nan, np.float32), bias)


def winograd(geo, x, w, g, bias=None):
    """The same by the plans of Winograd's method, whether the rule would take them or not."""
    (top, _), (left, _) = geo.pads
    back = conv_winograd._plan(geo.o, geo.out, geo.c, geo.x, 2 - top, 2 - left, True)
    weight = conv_winograd_weight._plan(geo.c, geo.x, geo.o, geo.out, top, left)
    return (
        winograd_forward(geo, x, w, bias),
        back.run(g, w, np.full(geo.x_shape, np.nan, np.float32), None),
        weight.run(g, x),
    )


def exact(geo, x, w, g, bias=None):
    x, w, g = (a.astype(np.float64) for a in (x, w, g))
    out = reference.conv(x, w, 1, geo.pads)
    if bias is not None:
        out += bias.reshape(-1, 1, 1)
    return (
        out,
        reference.conv_input_grad(g, w, geo.x_shape, 1, geo.pads),
        reference.conv_weight_grad(g, x, geo.w_shape, 1, geo.pads),
    )


def arrays(x_shape, outputs, padding, seed=0):
    geo = conv_geometry(x_shape, (outputs, x_shape[1], 3, 3), 1, padding)
    return (
        geo,
        normal(seed, x_shape),
        normal(seed + 1, geo.w_shape),
        normal(seed + 2, geo.out_shape),
    )


def close(made, expected, terms):
    """Errors are those of sums of products, up to some tens of roundings; a wrong tap or pixel is
    about 1.
    """
    assert made.dtype == np.float32 and made.shape == expected.shape
    np.testing.assert_allclose(made, expected, rtol=2e-5, atol=2e-5 * terms**0.5)


def tame_taps(w, axis):
    """How far the sums of the taps' absolute values over `axis` differ, in the largest factor that
    is allowed.
    """
    sums = np.abs(w.astype(float)).sum(axis).reshape(-1, 9)
    return (sums.max(1) / sums.min(1)).max() / winograd_range.TAP_SPREAD


def tame_sums(geo, x, g):
    """The same of what the gradient in the weight is made of: the largest of its three quotients."""
    down, across = (-(-size // 4) for size in geo.out)
    sizes = np.zeros((2, geo.n, 4 * down + 2, 4 * across + 2))
    (top, _), (left, _) = geo.pads
    rows, columns = min(geo.x[0], 4 * down + 2 - top), min(geo.x[1], 4 * across + 2 - left)
    sizes[0, :, top : top + rows, left : left + columns] = np.abs(x.astype(float)).sum(1)[
        :, :rows, :columns
    ]
    sizes[1, :, : geo.out[0], : geo.out[1]] = np.abs(g.astype(float)).sum(1)
    taps, bound, sums = np.zeros((3, 3)), 0.0, np.zeros(2)
    for n, i, j in np.ndindex(geo.n, down, across):
        pixels, of_g = (
            sizes[:, n, 4 * i : 4 * i + 6, 4 * j : 4 * j + 6],
            sizes[1, n, 4 * i : 4 * i + 4, 4 * j : 4 * j + 4],
        )
        bound += pixels[0].max() * of_g.max()
        taps += [
            [(pixels[0, a : a + 4, b : b + 4] * of_g).sum() for b in range(3)] for a in range(3)
        ]
    for i in range(down):  # rows of the input that two rows of tiles share count twice
        sums += sizes[0, :, 4 * i : 4 * i + 6].sum(), sizes[1, :, 4 * i : 4 * i + 4].sum()
    with np.errstate(divide="ignore"):
        return max(
            bound / taps.min() / winograd_range.SPREAD,
            *(s.max() * winograd_range.FEWEST / t for s, t in zip(sizes, sums)),
        )


def check(x_shape, outputs, padding, bias=None):
    geo, x, w, g = arrays(x_shape, outputs, padding)
    terms = (9 * geo.c, 9 * geo.o, geo.n * geo.out[0] * geo.out[1])
    ranges = tame_taps(w, 1), tame_taps(w, 0), tame_sums(geo, x, g)
    for made, expected, count, quotient in zip(
        winograd(geo, x, w, g, bias), exact(geo, x, w, g, bias), terms, ranges, strict=True
    ):
        assert abs(quotient - 1) < 1e-5 or (made is None) == (quotient > 1)
        if made is not None:
            close(made, expected, count)


# ---- the parts -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("results", "taps"), [(4, 3), (3, 4)])
def test_transforms_give_the_correlation_of_a_line(results, taps):
    """F(4, 3) and F(3, 4) of one line, in every lane: the algebra, apart from everything around it."""
    module = Module()
    kind = vector("float", 8)
    f = module.function("line", d="ptr", g="ptr", out="ptr")
    d = [f.load(kind, f.d, 8 * i) for i in range(6)]
    g = [f.load(kind, f.g, 8 * i) for i in range(taps)]
    points = [
        a * b
        for a, b in zip(winograd_parts.data_line(f, d), winograd_parts.taps_line(f, g), strict=True)
    ]
    for i, value in enumerate(winograd_parts.result_line(results)(f, points)):
        f.store(value, f.out, 8 * i)
    f.ret()
    line = compile_ir(module.text(), {"line": "aaa"}, "a line")["line"]
    d, g, out = normal(0, (6, 8)), normal(1, (taps, 8)), np.zeros((results, 8), np.float32)
    line(d, g, out)
    np.testing.assert_allclose(
        out,
        [sum(g[k] * d[i + k] for k in range(taps)) for i in range(results)],
        rtol=1e-4,
        atol=2e-5,
    )


@pytest.mark.parametrize("channels", [1, 16, 17, 33, 64, 100, 130])
def test_panels_cover_all_channels_once(channels):
    at = 0
    for first, width in winograd_parts.panels(channels, 16):
        assert first == at and width in winograd_parts.tiles()
        at += width
    assert at == -(-channels // 16)


# ---- values --------------------------------------------------------------------------------------------
@st.composite
def configurations(draw):
    n, c, o = draw(st.integers(1, 4)), draw(st.integers(1, 40)), draw(st.integers(1, 90))
    pads = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(2))
    sizes = tuple(draw(st.integers(max(1, 3 - sum(p)), 21)) for p in pads)
    return (n, c, *sizes), o, pads


@settings(max_examples=60, deadline=None, derandomize=True)
@given(configurations())
def test_random_configurations(configuration):
    check(*configuration)


@pytest.mark.parametrize(
    ("x_shape", "outputs", "padding"),
    [
        ((3, 32, 26, 26), 64, 0),
        ((2, 32, 32, 32), 32, 1),
        ((4, 64, 16, 16), 64, 1),
        ((9, 128, 8, 8), 128, 1),
        ((1, 16, 57, 5), 16, 1),
        ((70, 16, 3, 3), 20, 0),
        ((5, 24, 1, 1), 17, 1),
        ((2, 200, 6, 6), 96, 1),
        ((1, 16, 40, 300), 16, 2),
    ],
    ids=str,
)
def test_shapes_of_networks(x_shape, outputs, padding):
    check(x_shape, outputs, padding, normal(7, (outputs,)))


def test_memory_that_holds_anything_does_no_harm():
    """Working memory is not cleared: NaN in it must neither reach results nor be taken for one of
    them.
    """
    geo, x, w, g = arrays((2, 17, 9, 7), 21, 1)
    wanted = winograd(geo, x, w, g)
    from pellucid.kernels.convolution import memory as conv_memory

    scratch = conv_memory.take(8 << 20)
    scratch.memory.view(np.float32)[:] = np.nan
    conv_memory.give(scratch)
    for made, before in zip(winograd(geo, x, w, g), wanted, strict=True):
        np.testing.assert_array_equal(made, before)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("place", ["x", "w", "g"])
def test_infinities_and_nan_stay_where_the_definition_puts_them(value, place):
    geo, x, w, g = arrays((3, 29, 15, 12), 31, 1)
    assert (
        conv_winograd.forward_plan(geo)
        and conv_winograd.input_grad_plan(geo)
        and conv_winograd_weight.weight_grad_plan(geo)
    )
    {"x": x, "w": w, "g": g}[place].flat[[7, 331]] = value, 2 * value
    made = (
        kernels.conv(x, w, 1, 1),
        kernels.conv_input_grad(g, w, x.shape, 1, 1),
        kernels.conv_weight_grad(g, x, w.shape, 1, 1),
    )
    touched = {"x": (0, 2), "w": (0, 1), "g": (1, 2)}[place]
    for k, (a, b) in enumerate(zip(made, direct(geo, x, w, g), strict=True)):
        if k in touched:
            assert not np.isfinite(b).all()
            np.testing.assert_array_equal(a, b)
        else:
            assert np.isfinite(a).all()


def test_what_overflows_only_on_the_way_is_computed_by_the_definition():
    """One product of 3e38 is finite; the transforms multiply it by up to 2.8, and subtract again."""
    geo, x, w, g = arrays((2, 16, 12, 12), 16, 1)
    x[0, 2, 6, 5], w[:, 2] = 1e20, 0
    w[3, 2, 1, 1] = 3e18
    wanted = direct(geo, x, w, g)
    assert np.isfinite(wanted[0]).all() and wanted[0].max() > 2e38
    assert winograd_forward(geo, x, w) is None
    np.testing.assert_array_equal(kernels.conv(x, w, 1, 1), wanted[0])


# ---- errors --------------------------------------------------------------------------------------------
def errors(made, expected):
    """Largest and root mean square error, in the result's root mean square."""
    size, wrong = np.sqrt((expected**2).mean()), made - expected
    return np.abs(wrong).max() / size, np.sqrt((wrong**2).mean()) / size


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(
    ("x_shape", "outputs", "padding"),
    [
        ((8, 32, 26, 26), 64, 0),
        ((4, 32, 32, 32), 32, 1),
        ((8, 64, 16, 16), 64, 1),
        ((8, 128, 8, 8), 128, 1),
        ((1, 256, 14, 14), 256, 1),
    ],
    ids=str,
)
def test_errors_stay_within_the_stated_factors_of_the_direct_kernels(
    x_shape, outputs, padding, positive
):
    geo, x, w, g = arrays(x_shape, outputs, padding)
    if positive:
        x, g = np.maximum(x, 0), np.maximum(g, 0)
    operands = geo, x, w, g
    for made, plain, expected in zip(
        winograd(*operands), direct(*operands), exact(*operands), strict=True
    ):
        (most, mean), (most_direct, mean_direct) = errors(made, expected), errors(plain, expected)
        assert mean < conv_winograd.BOUND_RMS * mean_direct
        assert most < conv_winograd.BOUND_MAX * most_direct
        assert mean < conv_winograd.BOUND


# ---- numbers of very different sizes --------------------------------------------------------------------
def by_window(geo, x, w, g):
    """What the rule takes: largest errors of all three, in the sum of |x| * |w| that each result is
    made of. Where that is 0, so is the result.
    """
    args = (geo.stride, geo.pads)
    made = (
        kernels.conv(x, w, *args),
        kernels.conv_input_grad(g, w, x.shape, *args),
        kernels.conv_weight_grad(g, x, w.shape, *args),
    )
    found = []
    for a, b, size in zip(
        made, exact(geo, x, w, g), exact(geo, np.abs(x), np.abs(w), np.abs(g)), strict=True
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(np.where(a == b, 0, np.abs(a - b) / size).max())
    return found


def spread(seed, shape, decades=8):
    return 10 ** np.random.default_rng(seed).uniform(-decades, decades, shape).astype(np.float32)


def one(value):
    def change(x, w, g):
        x[1, 3, 7, 6], g[0, 5, 2, 9] = value, value

    return change


def channel_of(which):
    def change(x, w, g):
        {"x": x, "g": g}.get(which, w)[:, 3] *= 1e6

    return change


def zeros_around(x, w, g):
    for a in (x, g):
        keep = a[:, :, 4:7, 5:6].copy()
        a[:] = 0
        a[:, :, 4:7, 5:6] = keep


def dirac(x, w, g):
    w[:] = 0
    w[np.arange(32), np.arange(32), 1, 1] = 1


def times(*factors):
    def change(x, w, g):
        for a, factor in zip((x, w, g), factors, strict=True):
            a *= factor

    return change


MAGNITUDES = {
    "normal": times(1, 1, 1),
    "a pixel of 1e2": one(1e2),
    "a pixel of 1e4": one(1e4),
    "a pixel of 1e8": one(1e8),
    "a pixel of 1e30": one(1e30),
    "a channel of x": channel_of("x"),
    "a channel of g": channel_of("g"),
    "a channel of w": channel_of("w"),
    "taps": times(1, spread(0, (1, 1, 3, 3), 4), 1),
    "results": times(1, spread(0, (32, 1, 1, 1)), spread(1, (1, 32, 1, 1))),
    "weights": times(1, spread(0, (32, 32, 3, 3)), 1),
    "one tap of weights": dirac,
    "pixels": times(spread(0, (3, 1, 14, 15)), 1, spread(1, (3, 1, 14, 15))),
    "elements": times(spread(0, (3, 32, 14, 15)), 1, spread(1, (3, 32, 14, 15))),
    "a ramp": times(
        10 ** np.linspace(-6, 6, 15, dtype="f"), 1, 10 ** np.linspace(-6, 6, 15, dtype="f")
    ),
    "images": times(spread(0, (3, 1, 1, 1)), 1, spread(1, (3, 1, 1, 1))),
    "few pixels": zeros_around,
    "denormal": times(1e-40, 1, 1),
}


@pytest.mark.parametrize("name", MAGNITUDES)
def test_errors_stay_in_proportion_to_each_results_own_window(name):
    """PyTorch is at 1e-6, so are the direct kernels; the transforms alone had errors of 1 for a
    pixel of 1e8.

    Pixels are judged by the sum of their channels. So where each element has a size of its own,
    over 16 decades, a gradient in the weight that few products decide is worse.
    """
    geo, x, w, g = arrays((3, 32, 14, 15), 32, 1, seed=5)
    MAGNITUDES[name](x, w, g)
    assert (
        conv_winograd.forward_plan(geo)
        and conv_winograd.input_grad_plan(geo)
        and conv_winograd_weight.weight_grad_plan(geo)
    )
    *most, in_weight = by_window(geo, x, w, g)
    assert max(most) < 3e-5
    assert in_weight < (3e-4 if name == "elements" else 3e-5)


@pytest.mark.parametrize("value", [1e4, 1e8, 1e30])
def test_a_large_pixel_changes_no_result_without_it(value):
    geo, x, w, g = arrays((2, 32, 18, 13), 32, 1)
    before = kernels.conv(x, w, 1, 1), kernels.conv_input_grad(g, w, x.shape, 1, 1)
    x[1, 4, 9, 7] = g[1, 4, 9, 7] = value
    outside = np.ones(x.shape, bool)
    outside[1, :, 8:11, 6:9] = False
    made = kernels.conv(x, w, 1, 1), kernels.conv_input_grad(g, w, x.shape, 1, 1)
    for a, b in zip(made, before, strict=True):
        assert np.abs(a - b)[outside].max() < 1e-4  # both ways of computing them have such errors


@settings(max_examples=30, deadline=None, derandomize=True)
@given(configurations(), st.booleans())
def test_tiles_by_the_definition(configuration, turned):
    """Random shapes in which no tile is tame: each tile's place, edges, paddings, channels that do
    not fill a group.
    """
    x_shape, outputs, padding = configuration
    geo, x, w, g = arrays(x_shape, outputs, padding)
    w = np.sign(w) * (0.5 + np.abs(w) % 1)  # taps must be tame
    bias = normal(9, (geo.c if turned else outputs,))
    source = (g if turned else x) * spread(3, (geo.n, 1, *(geo.out if turned else geo.x)), 3)
    if turned:
        (top, _), (left, _) = geo.pads
        plan = conv_winograd._plan(geo.o, geo.out, geo.c, geo.x, 2 - top, 2 - left, True)
        expected, shape = reference.conv_input_grad, (geo.x_shape, 1, geo.pads)
        made = plan.run(source, w, np.full(geo.x_shape, np.nan, np.float32), bias)
    else:
        expected, shape = reference.conv, (1, geo.pads)
        made = winograd_forward(geo, source, w, bias)
    wanted = expected(source.astype(float), w.astype(float), *shape) + bias.reshape(-1, 1, 1)
    size = expected(np.abs(source.astype(float)), np.abs(w.astype(float)), *shape) + np.abs(
        bias.reshape(-1, 1, 1)
    )
    assert (np.abs(made - wanted) <= 2e-5 * size).all()


# ---- threads, rules, the switch ------------------------------------------------------------------------
def test_results_do_not_depend_on_threads():
    geo, x, w, g = arrays((5, 40, 19, 18), 72, 1)
    before, made = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3, 5):
            threads.set_num_threads(count)
            made.append(winograd(geo, x, w, g, normal(3, (72,))))
    finally:
        threads.set_num_threads(before)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_each_image_is_computed_as_if_alone():
    geo, x, w, _ = arrays((7, 32, 9, 9), 32, 1)
    whole = kernels.conv(x, w, 1, 1)
    for n in range(7):
        np.testing.assert_array_equal(winograd_forward(geo, x[n : n + 1], w)[0], whole[n])


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "args"),
    [
        ((8, 32, 16, 16), (32, 32, 3, 3), (2, 1)),
        ((8, 32, 16, 16), (32, 32, 3, 3), (1, 2, 2)),
        ((8, 32, 16, 16), (32, 16, 3, 3), (1, 1, 1, 2)),
        ((8, 32, 16, 16), (32, 32, 1, 1), (1, 0)),
        ((8, 32, 16, 16), (32, 32, 5, 5), (1, 2)),
        ((8, 32, 16, 16), (32, 32, 3, 3), (1, 3)),
        ((8, 32, 16, 16), (32, 32, 3, 3), (1, ((-1, 0), (1, 1)))),
        ((8, 3, 32, 32), (32, 3, 3, 3), (1, 1)),
        ((8, 1, 28, 28), (32, 1, 3, 3), (1, 0)),
        ((8, 32, 5, 5), (32, 32, 3, 3), (1, 1)),
        ((8, 1024, 8, 8), (1024, 1024, 3, 3), (1, 1)),
        ((8, 32, 30), (32, 32, 3), (1, 1)),
    ],
    ids=str,
)
def test_other_convolutions_go_the_direct_way(x_shape, w_shape, args):
    geo = conv_geometry(x_shape, w_shape, *args)
    makers = (
        conv_winograd.forward_plan,
        conv_winograd.input_grad_plan,
        conv_winograd_weight.weight_grad_plan,
    )
    assert [plan(geo) for plan in makers] == [None] * 3


def test_the_usual_ones_go_by_winograd_unless_switched_off():
    geo, x, w, g = arrays((8, 32, 16, 16), 32, 1)
    makers = (
        conv_winograd.forward_plan,
        conv_winograd.input_grad_plan,
        conv_winograd_weight.weight_grad_plan,
    )
    assert all(plan(geo) is not None for plan in makers)
    fast = (
        kernels.conv(x, w, 1, 1),
        kernels.conv_input_grad(g, w, x.shape, 1, 1),
        kernels.conv_weight_grad(g, x, w.shape, 1, 1),
    )
    for made, wanted, plain in zip(fast, winograd(geo, x, w, g), direct(geo, x, w, g), strict=True):
        np.testing.assert_array_equal(made, wanted)
        assert not np.array_equal(made, plain)


def test_bias_and_relu():
    geo, x, w, _ = arrays((2, 16, 12, 12), 24, 1)
    b = normal(5, (24,))
    plain = kernels.conv(x, w, 1, 1)
    np.testing.assert_allclose(
        kernels.conv(x, w, 1, 1, bias=b), plain + b.reshape(-1, 1, 1), atol=1e-5
    )
    wanted = np.maximum(plain + b.reshape(-1, 1, 1), 0)
    np.testing.assert_allclose(kernels.conv(x, w, 1, 1, bias=b, relu=True), wanted, atol=2e-4)


NARROW = """
import numpy as np
from pellucid.kernels.convolution import reference
from pellucid.kernels.convolution import call as conv
rng = np.random.default_rng(0)
for x_shape, outputs, padding in (((3, 20, 14, 15), 37, 1), ((2, 16, 9, 23), 16, 0)):
    x, w = rng.standard_normal(x_shape).astype("f"), rng.standard_normal((outputs, x_shape[1], 3, 3)).astype("f")
    out = reference.conv(x.astype(float), w.astype(float), 1, padding)
    g = rng.standard_normal(out.shape).astype("f")
    assert np.abs(conv.conv(x, w, 1, padding) - out).max() < 1e-4
    wide = g.astype(float)
    assert np.abs(conv.conv_input_grad(g, w, x.shape, 1, padding) - reference.conv_input_grad(wide, w, x.shape, 1, padding)).max() < 1e-3
    assert np.abs(conv.conv_weight_grad(g, x, w.shape, 1, padding) - reference.conv_weight_grad(wide, x, w.shape, 1, padding)).max() < 1e-3
"""


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors(bits):
    if bits > target.host().vector_bits:
        pytest.skip("this processor has no such vectors")
    environment = os.environ | {"PELLUCID_VECTOR_BITS": str(bits)}
    subprocess.run([sys.executable, "-c", NARROW], env=environment, check=True)
