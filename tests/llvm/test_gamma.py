"""The gamma function's logarithm and its first two derivatives in native code, against values that
were computed with 50 digits, and at every edge; angles of two-byte floats.
"""

import math

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import numpy_cpu as xp
from pellucid.kernels.pointwise import activations
from pellucid.llvm import target
from pellucid.llvm.math import ulps

pytestmark = pytest.mark.skipif(not target.available(), reason="needs a compiler")
NAMES = ("lgamma", "digamma", "trigamma")
# x, lgamma(x), digamma(x), trigamma(x)
EXACT = [
    (1e-300, 690.7755278982137, -9.999999999999999e299, math.inf),
    (3e-17, 38.04533429223067, -3.3333333333333332e16, 1.1111111111111111e33),
    (0.001, 6.907178885383853, -1000.5755719318103, 1000001.6425331958),
    (0.25, 1.2880225246980774, -4.2274535333762655, 17.19732915450711),
    (0.5, 0.5723649429247001, -1.9635100260214235, 4.934802200544679),
    (0.75, 0.20328095143129538, -1.0858608797864722, 2.5418796476716063),
    (0.9999999990686774, 5.375739798578573e-10, -0.5772156664334971, 1.6449340690872318),
    (1.0000009536743164, -5.504750066148867e-07, -0.5772140961712544, 1.6449317741095888),
    (1.25, -0.09827183642181316, -0.22745353337626542, 1.1973291545071107),
    (1.46163, -0.12148629053362353, -2.0756283887224574e-06, 0.9676741448771682),
    (1.5, -0.12078223763524522, 0.03648997397857652, 0.9348022005446793),
    (1.9, -0.03898427592308336, 0.35618416116405965, 0.6879720582426356),
    (1.9999999403953552, -2.5199908964510793e-08, 0.42278429665740047, 0.6449340909352872),
    (2.25, 0.1248717148923966, 0.5725464666237345, 0.5573291545071107),
    (2.5, 0.2846828704729192, 0.7031566406452432, 0.49035775610023485),
    (2.75, 0.47521466691493713, 0.8189010249754326, 0.43757125764893073),
    (3.5, 1.2009736023470743, 1.103156640645243, 0.3303577561002349),
    (4.4, 2.3161034914248577, 1.3636854834260885, 0.2550362074744146),
    (5.6, 4.119913457533529, 1.6308319195144647, 0.19545842600853003),
    (6.5, 5.662562059857142, 1.792911330399933, 0.16628453574995825),
    (7.59, 7.71014755329481, 1.9595113733767389, 0.14081150751213375),
    (8.4999, 9.549059248843433, 2.080078333689705, 0.12483967538948655),
    (8.5, 9.549267257300997, 2.08009081757942, 0.12483811891892602),
    (8.51, 9.570074404790265, 2.081338421188441, 0.12468266736726316),
    (9.25, 11.143400119951712, 2.1695966825786157, 0.11416188455670626),
    (17.3, 31.51562417817529, 2.821526423539867, 0.05950625643629068),
    (100.7, 362.3567752034306, 4.607172338628299, 0.00997995708772044),
    (100000.5, 1051293.4654351394, 11.512925464974396, 9.999999999916666e-06),
    (3000000000000000.0, 1.0391216605073637e17, 35.63738868357879, 3.333333333333334e-16),
    (1e200, 4.595170185988091e202, 460.51701859880916, 1e-200),
    (2.5e305, 1.7555118602376452e308, 703.2047440950581, 4e-306),
    (-1e-300, 690.7755278982137, 9.999999999999999e299, math.inf),
    (-3e-17, 38.04533429223067, 3.3333333333333332e16, 1.1111111111111111e33),
    (-0.001, 6.908333317515028, 999.4211381978913, 1000001.6473414317),
    (-0.25, 1.589575312551186, 2.9141391202135276, 18.541879647671607),
    (-0.5, 1.2655121234846454, 0.03648997397857652, 8.934802200544679),
    (-0.999, 6.908179385717436, -999.5745709308084, 1000002.6445361981),
    (-1.3, 1.2024757863901114, 2.8825405488661673, 14.53687624413708),
    (-2.1, 1.5317138081950856, 10.630354435334326, 102.97574361008327),
    (-3.25, -0.6231534513209986, 4.46627587235028, 19.474085068082154),
    (-4.4999, -2.812922924103154, 1.612060174617581, 9.670259027217499),
    (-4.5, -2.813084081769316, 1.6110931485817512, 9.67026201409973),
    (-4.51, -2.828711412363854, 1.5143560680839552, 9.680404642542458),
    (-5.75, -4.624612415302172, -1.3079492390435958, 19.579547136931335),
    (-6.99, -3.899676921281728, -97.95278993176899, 10003.157203384151),
    (-20.2, -41.26457001936857, 7.354262231189926, 28.518551551758094),
    (-170.6, -708.4624470872853, 4.121484273472508, 10.90572174270895),
    (-1234.5, -7556.52459250083, 7.118826276380449, 9.868794684534409),
]
INF, NAN = math.inf, math.nan
POLES = [0.0, -0.0, -1.0, -2.0, -4.0, -5.0, -6.0, -1e15, -1.7e308, INF, -INF, NAN]
AT_POLES = {
    "lgamma": [INF] * 11 + [NAN],
    "digamma": [-INF, INF] + [NAN] * 7 + [INF, NAN, NAN],
    "trigamma": [INF] * 9 + [0.0, NAN, NAN],
}


@pytest.mark.parametrize("name", NAMES)
def test_within_five_ulp_but_for_zeros_of_the_function(name):
    x, exact = np.array([(row[0], row[1 + NAMES.index(name)]) for row in EXACT]).T
    got = getattr(activations, name)(x)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(exact))
    kept = np.isfinite(exact)
    away = np.abs(got - exact)[kept]
    near_one_or_two = (np.abs(x - 1.5) <= 1) & (name == "lgamma")
    allowed = 5 * np.spacing(np.abs(exact)) + np.where(near_one_or_two, 0, 4e-16)
    # the distance to a pole decides below zero
    allowed += np.where(x < 0, 4 * np.spacing(np.maximum(np.abs(x), np.abs(exact))), 0)
    assert (away <= allowed[kept]).all(), (x[kept], away / allowed[kept])


@pytest.mark.parametrize("name", NAMES)
def test_float32_within_two_ulp(name):
    x, exact = np.array([(row[0], row[1 + NAMES.index(name)]) for row in EXACT]).T
    held = x.astype(np.float32) == x
    got = getattr(activations, name)(x[held].astype(np.float32))
    assert held.sum() > 10 and ulps(got, exact[held]).max() <= 2


@pytest.mark.parametrize("kind", (np.float32, np.float64))
@pytest.mark.parametrize("name", NAMES)
def test_poles_and_ends(name, kind):
    x = np.array(POLES, np.float64).astype(kind)
    if kind is np.float32:  # too far for it
        x[8] = np.finfo(kind).min
    np.testing.assert_array_equal(getattr(activations, name)(x), AT_POLES[name])
    for k in range(x.size):  # by itself, without lanes of another kind beside it
        np.testing.assert_array_equal(getattr(activations, name)(x[k : k + 1]), AT_POLES[name][k])


@pytest.mark.parametrize("kind", (np.float32, np.float64, np.float16, ml_dtypes.bfloat16))
@pytest.mark.parametrize("name", NAMES)
def test_lengths_steps_and_results_in_place(name, kind):
    x = np.linspace(-6.3, 30, 999).astype(kind)
    run = getattr(activations, name)
    whole = run(x).astype(np.float64)
    for part in (np.s_[:0], np.s_[:1], np.s_[:3], np.s_[5:12], np.s_[::7], np.s_[::-2]):
        np.testing.assert_array_equal(run(x[part]).astype(np.float64), whole[part])
    out = np.zeros(999, kind)
    assert run(x, out=out) is out
    np.testing.assert_array_equal(out.astype(np.float64), whole)
    run(x, out=x)
    np.testing.assert_array_equal(x.astype(np.float64), whole)


@pytest.mark.parametrize("name", NAMES)
def test_two_byte_floats_are_those_of_float32_rounded_once(name):
    for kind in (np.float16, ml_dtypes.bfloat16):
        x = np.arange(1 << 16, dtype=np.uint16).view(kind)
        wide = getattr(activations, name)(x.astype(np.float32)).astype(kind)
        got = getattr(activations, name)(x)
        np.testing.assert_array_equal(got.astype(np.float64), wide.astype(np.float64))


@pytest.mark.parametrize("name", NAMES)
def test_without_native_code_the_numbers_are_the_same(name, monkeypatch):
    x = np.concatenate([np.linspace(-9.7, 60, 501), np.array(POLES[:-2])])
    made = getattr(xp, name)(x)
    monkeypatch.setattr("pellucid.config.kernels", False)
    np.testing.assert_allclose(getattr(xp, name)(x), made, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", (torch.float32, torch.float64, torch.bfloat16, torch.float16))
def test_of_tensors(kind):
    x = torch.linspace(0.1, 9, 60_000).to(kind).requires_grad_()
    for call in (torch.lgamma, torch.digamma, lambda x: torch.polygamma(1, x)):
        made = call(x)
        assert made.dtype is kind
        before = torch.get_num_threads()
        torch.set_num_threads(3 - before if before < 3 else 1)
        try:
            assert torch.equal(call(x), made)
        finally:
            torch.set_num_threads(before)
        assert torch.equal(call(x.detach()[:37]), made[:37])  # few numbers, another way
        step = torch.compile(call)
        for _ in range(3):
            torch.testing.assert_close(step(x), made, rtol=0, atol=0)
    (slope,) = torch.autograd.grad(torch.lgamma(x).sum(), x)
    assert torch.equal(slope, torch.digamma(x))
    (slope,) = torch.autograd.grad(torch.digamma(x).sum(), x)
    assert torch.equal(slope, torch.polygamma(1, x))


def test_second_derivatives():
    x = torch.tensor([0.3, 1.5, 4.0, 11.0, -3.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.lgamma, x)
    assert torch.autograd.gradgradcheck(torch.lgamma, x)
    assert torch.autograd.gradcheck(torch.digamma, x)


# ---- angles -----------------------------------------------------------------------------------
VALUES = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 3e-39, -3e-39, 3e38, -3e38, 1e-45, 0.3, -7.0]


def test_angles_within_two_ulp():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    few = np.array(VALUES, np.float32)
    y = np.concatenate([bits, rng.normal(size=200_000), np.repeat(few, few.size)])
    x = np.concatenate([bits[::-1], rng.normal(size=200_000), np.tile(few, few.size)])
    y, x = y.astype(np.float32), x.astype(np.float32)
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    got = activations.arctan2(y, x)
    worst = ulps(got, exact)
    at = worst.argmax()
    assert worst[at] <= 2, (y[at], x[at])
    kept = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(got)[kept], np.signbit(exact)[kept])


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
@pytest.mark.parametrize("size", (0, 1, 33, 70_000))
def test_angles_of_two_byte_floats(kind, size):
    rng = np.random.default_rng(1)
    y, x = (torch.from_numpy(rng.normal(size=size)).to(kind) for _ in range(2))
    for k, value in enumerate(VALUES[: size // 3]):
        y[k], x[-1 - k] = value, value
    made = torch.atan2(y, x)
    assert made.dtype is kind
    exact = torch.atan2(y.double(), x.double())
    eps = torch.finfo(kind).eps
    torch.testing.assert_close(made.double(), exact, rtol=eps, atol=1e-7, equal_nan=True)
    assert torch.equal(torch.atan2(y.flip(0), x.flip(0)).flip(0).nan_to_num(), made.nan_to_num())
    out = torch.empty_like(y)
    torch.atan2(y, x, out=out)
    torch.testing.assert_close(out, made, rtol=0, atol=0, equal_nan=True)
    step = torch.compile(torch.atan2)
    for _ in range(3):
        torch.testing.assert_close(step(y, x), made, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ("logaddexp", "xlogy"))
def test_functions_of_two_numbers_in_double_precision(name):
    rng = np.random.default_rng(2)
    x, y = (torch.from_numpy(rng.normal(size=9000) * 30) for _ in range(2))
    y = y.abs() if name == "xlogy" else y
    x[:6] = torch.tensor([INF, -INF, NAN, 0.0, 0.0, -INF])
    y[:6] = torch.tensor([INF, -INF, 0.0, 0.0, NAN, 5.0 if name == "logaddexp" else 0.5])
    made = getattr(torch, name)(x, y)
    few = torch.cat(
        [getattr(torch, name)(x[k : k + 100], y[k : k + 100]) for k in range(0, 9000, 100)]
    )
    torch.testing.assert_close(made, few, rtol=2e-15, atol=1e-15, equal_nan=True)
    step = torch.compile(getattr(torch, name))
    for _ in range(3):
        torch.testing.assert_close(step(x, y), made, rtol=2e-15, atol=1e-15, equal_nan=True)
