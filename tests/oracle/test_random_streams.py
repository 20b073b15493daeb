"""Every fill against PyTorch's CPU build: the values to the bit (or to the ulp stated), and the
state left behind.
"""

import pytest

torch = pytest.importorskip("torch")

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import torch.nn.functional as nn  # noqa: E402

from pellucid.core.streams.distributions import (  # noqa: E402
    bernoulli,
    bernoulli_like,
    cauchy,
    dropout_mask,
    exponential,
    geometric,
    log_normal,
    multinomial,
    rrelu_noise,
)
from pellucid.core.streams.fill import normal, normal_like, uniform  # noqa: E402
from pellucid.core.streams.generator import Generator  # noqa: E402
from pellucid.core.streams.integers import randint, random_integers, randperm  # noqa: E402
from pellucid.core.streams.reject import binomial, dirichlet, poisson, standard_gamma  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of bounds")

SIZES = [0, 1, 2, 3, 15, 16, 17, 31, 32, 100, 799, 801, 1000, 3001]
LARGE = [65535, 65536, 65537, 100000]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
UNSIGNED = ["uint16", "uint32", "uint64"]


def numpy_type(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def first_line(error):
    return str(error).split("\n")[0]


def outcome(call):
    try:
        return call()
    except (RuntimeError, ValueError, NotImplementedError, TypeError) as error:
        return error


def ulps(a, b):
    if a.dtype.kind == "c":
        a, b = (np.ascontiguousarray(x).view(x.real.dtype) for x in (a, b))
    words = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]
    a, b = (np.ascontiguousarray(x).view(words).astype(np.int64) for x in (a, b))
    lowest = np.int64(np.iinfo(words).min)
    a, b = (np.where(x < 0, lowest - x, x) for x in (a, b))
    return int(np.abs(a - b).max(initial=0))


def same(theirs, ours, ulp=0, seed=1234):
    """Both calls give the same array (or the same error), and leave the same state."""
    torch.manual_seed(seed)
    generator = Generator().manual_seed(seed)
    expected, got = outcome(theirs), outcome(lambda: ours(generator))
    if isinstance(expected, Exception):
        assert type(got) is type(expected), got
        assert first_line(expected).startswith(str(got))
        return
    assert not isinstance(got, Exception), got
    expected = to_numpy(expected)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    if ulp:
        assert ulps(got, expected) <= ulp
    else:
        np.testing.assert_array_equal(got, expected)
    assert generator.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()


def each(names=FLOATS):
    return [(name, getattr(torch, name), numpy_type(name)) for name in names]


@pytest.mark.parametrize("size", SIZES + LARGE)
def test_uniform(size):
    for _, theirs, ours in each(FLOATS + COMPLEX):
        same(lambda: torch.rand(size, dtype=theirs), lambda g: uniform(g, (size,), dtype=ours))
        for low, high in ((-0.3, 0.7), (0.0, 0.7), (1000.3, 1001.7), (2.0, 2.0), (-1e-30, 3e4)):
            same(
                lambda: torch.empty(size, dtype=theirs).uniform_(low, high),
                lambda g: uniform(g, (size,), low, high, ours),
            )


@pytest.mark.parametrize("size", SIZES + LARGE)
def test_normal(size):
    for name, theirs, ours in each(FLOATS + COMPLEX):
        ulp = 3 if name in ("float64", "complex128") and size > 3001 else 0
        same(lambda: torch.randn(size, dtype=theirs), lambda g: normal(g, (size,), dtype=ours), ulp)
        same(
            lambda: torch.empty(size, dtype=theirs).normal_(0, 0.02),
            lambda g: normal(g, (size,), 0.0, 0.02, ours),
            ulp and 4,
        )
        if not ulp:
            same(
                lambda: torch.empty(size, dtype=theirs).normal_(1.5, 2.5),
                lambda g: normal(g, (size,), 1.5, 2.5, ours),
            )


def test_normal_by_numpy_alone_and_by_the_kernel(monkeypatch):
    from pellucid.core.streams import math as random_math

    for library in (None, False):
        if library is False:
            monkeypatch.setattr(random_math, "kernel", lambda name, load: None)
        for size in (16, 1000, 70001):
            same(lambda: torch.randn(size), lambda g: normal(g, (size,)))
            same(
                lambda: torch.randn(size).new_empty(size).normal_(1, 3),
                lambda g: _skip_then(g, size),
            )


def _skip_then(generator, size):
    normal(generator, (size,))
    return normal(generator, (size,), 1.0, 3.0)


def test_normal_of_arrays():
    for size in (1, 15, 16, 1000):
        mean, std = torch.linspace(-2, 3, size), torch.linspace(0, 2, size)
        m, s = mean.numpy(), std.numpy()
        same(lambda: torch.normal(mean, 2.5), lambda g: normal_like(g, m, 2.5))
        same(lambda: torch.normal(1.5, std), lambda g: normal_like(g, 1.5, s))
        same(lambda: torch.normal(mean, std), lambda g: normal_like(g, m, s))
        same(
            lambda: torch.normal(mean[:, None], std[:3]),
            lambda g: normal_like(g, m[:, None], s[:3]),
        )
        same(lambda: torch.normal(mean, -std - 1), lambda g: normal_like(g, m, -s - 1))
        same(lambda: torch.normal(mean, std.double()), lambda g: normal_like(g, m, s.astype(float)))


RANGES = [
    (0, 2),
    (0, 10),
    (-5, 5),
    (3, 3),
    (4, 3),
    (0, 256),
    (-128, 127),
    (0, 65504),
    (0, 2**24 + 5),
    (0, 2**28 - 1),
    (0, 2**28),
    (0, 2**28 + 1),
    (-(2**31), 2**31 - 1),
    (-(2**40), 2**40),
    (2**24 + 1, 2**25 + 1),
    (0, 2049),
    (-4099, 4099),
    (0, 65536),
    (0, 2**31),
    (0, 2**32),
    (-(2**62), 2**62),
]


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *UNSIGNED, *FLOATS, "complex64"])
def test_integers(name):
    ((_, theirs, ours),) = each([name])
    for size in (0, 1, 7, 1000, 3001):
        same(
            lambda: torch.empty(size, dtype=theirs).random_(),
            lambda g: random_integers(g, (size,), dtype=ours),
        )
        for low, high in RANGES:
            same(
                lambda: torch.empty(size, dtype=theirs).random_(low, high),
                lambda g: randint(g, (size,), low, high, ours),
            )
        for low in (0, 1, -1, 100, 2**24 - 1, 2**24, -(2**63), -(2**62), 2**40, -(2**15)):
            same(
                lambda: torch.empty(size, dtype=theirs).random_(low, None),
                lambda g: random_integers(g, (size,), low, dtype=ours),
            )


@pytest.mark.parametrize(
    "count", [-1, 0, 1, 2, 3, 100, 255, 256, 1000, 2049, 2050, 40000, 131071, 131072, 140000]
)
def test_randperm(count):
    for _, theirs, ours in each(["bool", *INTEGERS, *UNSIGNED, *FLOATS, "complex64"]):
        same(lambda: torch.randperm(count, dtype=theirs), lambda g: randperm(g, count, ours))


@pytest.mark.parametrize("size", [*SIZES, 100000])
def test_bernoulli_and_dropout(size):
    weights = torch.linspace(0, 1, size)
    for _, theirs, ours in each(["bool", "uint8", "int64", *FLOATS, "uint16", "complex64"]):
        for p in (0.0, 0.3, 0.5, 1.0, 1.5):
            same(
                lambda: torch.empty(size, dtype=theirs).bernoulli_(p),
                lambda g: bernoulli(g, (size,), p, ours),
            )
        for _, weight_type, _ in each():
            w = weights.to(weight_type)
            same(
                lambda: torch.empty(size, dtype=theirs).bernoulli_(w),
                lambda g: bernoulli_like(g, to_numpy(w), (size,), ours),
            )
    for _, theirs, ours in each():
        for p in (0.0, 0.1, 0.5, 0.7, 1.0):
            same(
                lambda: nn.dropout(torch.ones(size, dtype=theirs), p),
                lambda g: dropout_mask(g, (size,), p, ours),
            )


@pytest.mark.parametrize("size", [*SIZES, 100000])
def test_transformed_uniforms(size):
    for name, theirs, ours in each([*FLOATS, "int32", "complex64"]):
        # NumPy's vector loops from 16384 values on
        ulp = 8 if name == "float64" and size > 3001 else 0
        new = lambda kind=theirs: torch.empty(size, dtype=kind)
        for rate in (1.0, 2.5, 0.0, float("nan")):
            same(
                lambda: new().exponential_(rate), lambda g: exponential(g, (size,), rate, ours), ulp
            )
        for std in (2.0, 0.5, 0.0):
            same(
                lambda: new().log_normal_(1.0, std),
                lambda g: log_normal(g, (size,), 1.0, std, ours),
                ulp and 16,
            )
        for sigma in (1.0, 0.0):
            same(
                lambda: new().cauchy_(0.0, sigma),
                lambda g: cauchy(g, (size,), 0.0, sigma, ours),
                ulp,
            )
        if not ulp:
            same(lambda: new().cauchy_(1.5, 2.5), lambda g: cauchy(g, (size,), 1.5, 2.5, ours))
    for _, theirs, ours in each(["bool", *INTEGERS, *FLOATS]):
        for p in (0.1, 0.9, 1.0):
            same(
                lambda: torch.empty(size, dtype=theirs).geometric_(p),
                lambda g: geometric(g, (size,), p, ours),
            )


@pytest.mark.parametrize("size", [1, 2, 17, 100, 3001])
def test_multinomial(size):
    generator = torch.Generator().manual_seed(size)
    for shape in ((size,), (3, size)):
        weights = torch.rand(shape, generator=generator, dtype=torch.float64)
        for name, theirs, _ in each():
            w = weights.to(theirs)
            for count, replacement in (
                (1, False),
                (1, True),
                (7, True),
                (size + 1, False),
                (0, True),
            ):
                same(
                    lambda: torch.multinomial(w, count, replacement),
                    lambda g: multinomial(g, to_numpy(w), count, replacement),
                )
            # equal quotients, usual in the short types, have no order in PyTorch
            if name in ("float32", "float64"):
                for count in (size, size // 2 + 1):
                    same(
                        lambda: torch.multinomial(w, count),
                        lambda g: multinomial(g, to_numpy(w), count),
                    )


def test_multinomial_refuses_what_pytorch_refuses():
    inf, nan = float("inf"), float("nan")
    for weights in (
        [-1.0, 2],
        [inf, 2],
        [nan, 2],
        [0, 0],
        [[0, 0], [1, 2]],
        [[1, 2], [nan, -1]],
        1.0,
        [[[1.0]]],
    ):
        w = torch.tensor(weights, dtype=torch.float32)
        for count, replacement in ((1, True), (2, True), (2, False), (3, False)):
            same(
                lambda: torch.multinomial(w, count, replacement),
                lambda g: multinomial(g, w.numpy(), count, replacement),
            )
    same(
        lambda: torch.multinomial(torch.tensor([1, 2]), 1),
        lambda g: multinomial(g, np.array([1, 2]), 1),
    )


@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0, 9.0, 30.0, 1000.0])
def test_rejection(scale):
    base = torch.rand(300, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * scale
    for _, theirs, _ in each([*FLOATS, "int64"]):
        values = base.to(theirs)
        v = to_numpy(values)
        same(lambda: torch.poisson(values), lambda g: poisson(g, v))
        same(lambda: torch._standard_gamma(values), lambda g: standard_gamma(g, v))
        rows = values.reshape(-1, 4) + 0.25
        same(lambda: torch._sample_dirichlet(rows), lambda g: dirichlet(g, to_numpy(rows)))
        for p in (0.0, 0.1, 0.5, 0.9, 1.0):
            counts, chances = base.round().to(theirs), torch.full((300,), p).to(theirs)
            if theirs != torch.int64:
                same(
                    lambda: torch.ops.aten.binomial(counts, chances),
                    lambda g: binomial(g, to_numpy(counts), to_numpy(chances)),
                )
    same(lambda: torch.poisson(torch.tensor([-1.0])), lambda g: poisson(g, np.array([-1.0])))


def test_rrelu_noise():
    for size in (1, 17, 1000):
        for _, theirs, _ in each([*FLOATS, "int32"]):
            values = torch.linspace(-1, 1, size).to(theirs)

            def reference(values=values):
                noise = torch.ones_like(values)
                torch._C._nn.rrelu_with_noise(values, noise, 0.1, 0.4, True)
                return noise

            same(reference, lambda g: rrelu_noise(g, to_numpy(values), 0.1, 0.4))


LAYOUTS = {
    "contiguous": lambda a: a,
    "permuted": lambda a: a.transpose(2, 0, 1),
    "sliced": lambda a: a[:, ::2],
    "sliced and permuted": lambda a: a[:, 1:3].transpose(1, 0, 2),
    "column": lambda a: a[:, :, 1],
    "channels last": lambda a: a[None].transpose(0, 3, 1, 2),
    "thin": lambda a: a[:, :1].transpose(0, 2, 1),
}
IN_PLACE = {
    "uniform": (lambda t: t.uniform_(-1, 2), lambda g, a: uniform(g, a, -1, 2)),
    "normal": (lambda t: t.normal_(1, 2), lambda g, a: normal(g, a, 1, 2)),
    "exponential": (lambda t: t.exponential_(2), lambda g, a: exponential(g, a, 2)),
    "bernoulli": (lambda t: t.bernoulli_(0.4), lambda g, a: bernoulli(g, a, 0.4)),
    "randint": (lambda t: t.random_(0, 100), lambda g, a: randint(g, a, 0, 100)),
    "bernoulli_like": (
        lambda t: t.bernoulli_(torch.linspace(0, 1, t.shape[-1])),
        lambda g, a: bernoulli_like(g, torch.linspace(0, 1, a.shape[-1]).numpy(), a),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", IN_PLACE)
def test_targets_that_are_not_contiguous(fill, layout):
    theirs, ours = IN_PLACE[fill]
    for name in ("float32", "float64", "complex64"):
        if name == "complex64" and fill not in ("uniform", "normal"):
            continue
        base, target = np.zeros((4, 6, 5), name), np.zeros((4, 6, 5), name)
        view = LAYOUTS[layout](base)
        same(
            lambda: theirs(torch.from_numpy(view)).contiguous(),
            lambda g: ours(g, LAYOUTS[layout](target)).copy(),
        )
        np.testing.assert_array_equal(base, target)  # nothing outside the view was written


def test_a_long_mixture_of_draws():
    torch.manual_seed(5)
    g = Generator().manual_seed(5)
    shape = np.float32(0.7)
    draws = [
        (lambda n: torch.randn(n), lambda n: normal(g, (n,))),
        (lambda n: torch.rand(n), lambda n: uniform(g, (n,))),
        (
            lambda n: torch.randn(n, dtype=torch.float64),
            lambda n: normal(g, (n,), dtype=np.float64),
        ),
        (lambda n: torch.randint(10, (n,)), lambda n: randint(g, (n,), 0, 10)),
        (
            lambda n: torch._standard_gamma(torch.full((n,), 0.7)),
            lambda n: standard_gamma(g, np.full(n, shape)),
        ),
        (lambda n: torch.randperm(n), lambda n: randperm(g, n)),
        (lambda n: torch.empty(n).log_normal_(), lambda n: log_normal(g, (n,))),
        (
            lambda n: torch.poisson(torch.full((n,), 3.0)),
            lambda n: poisson(g, np.full(n, 3.0, np.float32)),
        ),
    ]
    for i in range(160):
        theirs, ours = draws[i % 8]
        size = i * 7 % 23
        np.testing.assert_array_equal(ours(size), theirs(size).numpy())
        assert g.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()


def test_states_travel_both_ways():
    for used in (0, 1, 5, 311, 312, 313, 1000):
        torch.manual_seed(used)
        torch.rand(used)
        torch.randn(3)  # keeps a normal
        g = Generator()
        g.set_state(torch.get_rng_state().numpy())
        np.testing.assert_array_equal(normal(g, (5,)), torch.randn(5).numpy())
        np.testing.assert_array_equal(uniform(g, (700,)), torch.rand(700).numpy())
        torch.set_rng_state(torch.from_numpy(g.get_state()))
        np.testing.assert_array_equal(torch.randn(20).numpy(), normal(g, (20,)))


@pytest.mark.parametrize("seed", [0, -1, 2**32, 2**63, 2**64 - 1, -(2**63), 67280421310721])
def test_seeds(seed):
    theirs, ours = torch.Generator().manual_seed(seed), Generator().manual_seed(seed)
    assert ours.initial_seed() == theirs.initial_seed()
    assert ours.get_state().tobytes() == theirs.get_state().numpy().tobytes()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, "a", 1.5, None, True])
def test_bad_seeds(seed):
    expected, got = (
        outcome(lambda: torch.Generator().manual_seed(seed)),
        outcome(lambda: Generator().manual_seed(seed)),
    )
    assert (type(got), str(got)) == (type(expected), first_line(expected))


def test_the_default_seed():
    assert Generator().initial_seed() == torch.Generator().initial_seed()


def test_bad_states():
    for state in (np.zeros(5056, np.uint8), np.zeros(10, np.uint8), np.zeros(5056, np.float32)):
        expected = outcome(lambda: torch.Generator().set_state(torch.from_numpy(state)))
        got = outcome(lambda: Generator().set_state(state))
        assert type(got) is type(expected)
        assert first_line(expected).startswith(str(got))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_does_not_matter(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for size in (799, 1700, 40000, 70000):
            same(lambda: torch.rand(size), lambda g: uniform(g, (size,)))
            same(lambda: torch.randn(size), lambda g: normal(g, (size,)))
            same(lambda: torch.empty(size).bernoulli_(0.3), lambda g: bernoulli(g, (size,), 0.3))
            same(lambda: torch.empty(size).exponential_(), lambda g: exponential(g, (size,)))
            same(lambda: torch.randperm(size), lambda g: randperm(g, size))
    finally:
        torch.set_num_threads(before)
