"""The generator and the fills: numbers that PyTorch made, states, splitting, targets, refusals."""

import copy
import hashlib
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.core.streams import generator as random
from pellucid.core.streams import math as random_math
from pellucid.core.streams import mkl as random_mkl
from pellucid.core.streams.distributions import (
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
from pellucid.core.streams.fill import memory_order, normal, normal_like, uniform
from pellucid.core.streams.generator import Generator
from pellucid.core.streams.integers import randint, random_integers, randperm
from pellucid.core.streams.reject import binomial, dirichlet, poisson, standard_gamma

FILLS = {
    "rand": lambda g: uniform(g, (4,)),
    "rand64": lambda g: uniform(g, (3,), dtype=np.float64),
    "rand16": lambda g: uniform(g, (3,), dtype=np.float16),
    "uniform": lambda g: uniform(g, (3,), -0.3, 0.7),
    "randn": lambda g: normal(g, (3,)),
    "randn17": lambda g: normal(g, (17,)),
    "randn64": lambda g: normal(g, (17,), dtype=np.float64)[:4],
    "randn_bf": lambda g: normal(g, (17,), dtype=ml_dtypes.bfloat16).astype(np.float32),
    "randn_c": lambda g: normal(g, (2,), dtype=np.complex64).view(np.float32).reshape(2, 2),
    "normal": lambda g: normal(g, (3,), 1.0, 2.0),
    "randint": lambda g: randint(g, (6,), 0, 10),
    "randint_wide": lambda g: randint(g, (3,), -(2**40), 2**40),
    "random": lambda g: random_integers(g, (2,)),
    "random_u8": lambda g: random_integers(g, (4,), dtype=np.uint8),
    "random_f32": lambda g: random_integers(g, (3,), dtype=np.float32),
    "randperm": lambda g: randperm(g, 8),
    "exponential": lambda g: exponential(g, (3,), 2.0),
    "bernoulli": lambda g: bernoulli(g, (8,), 0.3, bool).astype(int),
    "bernoulli_like": lambda g: bernoulli_like(g, np.full(8, 0.4, np.float32)),
    "dropout": lambda g: dropout_mask(g, (6,), 0.25),
    "geometric": lambda g: geometric(g, (4,), 0.2, np.int64),
    "cauchy": lambda g: cauchy(g, (3,), 1.0, 2.0),
    "log_normal": lambda g: log_normal(g, (3,), 0.0, 0.5),
    "multinomial": lambda g: multinomial(g, np.float32([0.1, 0.2, 0.7]), 6, True),
    "multinomial_without": lambda g: multinomial(g, np.float32([0.1, 0.2, 0.3, 0.4]), 4),
    "poisson": lambda g: poisson(g, np.float32([0.5, 3, 20, 500])),
    "binomial": lambda g: binomial(g, np.float32([5, 40, 300]), np.float32([0.3, 0.6, 0.5])),
    "gamma": lambda g: standard_gamma(g, np.float32([0.3, 1, 8])),
    "dirichlet": lambda g: dirichlet(g, np.float32([1, 2, 3])),
}
# PyTorch 2.13 made these, each after torch.manual_seed(42).
GOLDEN = {
    "rand": [0.8822692632675171, 0.9150039553642273, 0.38286375999450684, 0.9593056440353394],
    "rand64": [0.05815448596142969, 0.06291016742457756, 0.12358607277440903],
    "rand16": [0.88232421875, 0.9150390625, 0.3828125],
    "uniform": [0.5822692513465881, 0.6150039434432983, 0.08286374807357788],
    "randn": [0.33669036626815796, 0.12880940735340118, 0.23446236550807953],
    "randn17": [
        1.9269152879714966,
        -0.1595974713563919,
        -0.4973975419998169,
        0.439589262008667,
        -0.7581311464309692,
        1.078317642211914,
        0.8008005619049072,
        1.680620551109314,
        0.3558599054813385,
        1.2964228391647339,
        0.610466480255127,
        1.334737777709961,
        -0.2316243201494217,
        0.041759490966796875,
        -0.2515752911567688,
        0.859858512878418,
        -0.3097267746925354,
    ],
    "randn64": [0.2995562877502637, 1.504572275678796, 1.2715909667771088, 0.618669993885617],
    "randn_bf": [
        1.9296875,
        1.640625,
        -0.1591796875,
        -0.498046875,
        0.439453125,
        -0.7578125,
        1.078125,
        0.80078125,
        1.6796875,
        1.28125,
        1.296875,
        0.609375,
        1.3359375,
        -0.2314453125,
        0.041748046875,
        -0.251953125,
        0.859375,
    ],
    "randn_c": [
        [0.23807603120803833, 0.09108200669288635],
        [0.16578993201255798, 0.16287004947662354],
    ],
    "normal": [1.673380732536316, 1.25761878490448, 1.4689247608184814],
    "randint": [2, 7, 6, 4, 6, 5],
    "randint_wide": [-658003837517, 395924837646, -640896347065],
    "random": [6909045637428952499, 8314211556539077902],
    "random_u8": [102, 179, 92, 14],
    "random_f32": [14801927.0, 15351016.0, 6423145.0],
    "randperm": [6, 3, 0, 7, 2, 1, 4, 5],
    "exponential": [0.029957007616758347, 0.03248806297779083, 0.06595838814973831],
    "bernoulli": [1, 1, 1, 1, 0, 0, 0, 0],
    "bernoulli_like": [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
    "dropout": [
        1.3333333730697632,
        1.3333333730697632,
        1.3333333730697632,
        1.3333333730697632,
        1.3333333730697632,
        1.3333333730697632,
    ],
    "geometric": [13, 13, 10, 14],
    "cauchy": [-9.82497501373291, -8.987401962280273, -3.8897485733032227],
    "log_normal": [1.1833449602127075, 1.0665239095687866, 1.124379277229309],
    "multinomial": [0, 0, 1, 0, 2, 2],
    "multinomial_without": [3, 1, 2, 0],
    "poisson": [0.0, 1.0, 28.0, 471.0],
    "binomial": [0.0, 30.0, 131.0],
    "gamma": [1.2379944324493408, 0.8415495753288269, 2.665004253387451],
    "dirichlet": [0.24279317259788513, 0.4549908936023712, 0.30221593379974365],
}


def seeded(seed=42):
    return Generator().manual_seed(seed)


@pytest.mark.parametrize("name", FILLS)
def test_numbers_that_pytorch_made(name):
    np.testing.assert_array_equal(
        np.asarray(FILLS[name](seeded()), np.float64), np.array(GOLDEN[name])
    )


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


# PyTorch 2.13, torch.manual_seed(42); SHA-256 of the values
def test_large_draws_that_pytorch_made():
    g = seeded()
    assert digest(normal(g, (70000,))) == "e5d3e03a08849636"
    assert digest(uniform(g, (70000,))) == "e0b9b49293f1ddad"
    assert digest(randperm(g, 140000)) == "35d3e2771e9e343e"


# PyTorch 2.13: manual_seed(42), rand(700), randn(1); SHA-256 of get_rng_state()
def test_a_state_that_pytorch_made():
    g = seeded()
    uniform(g, (700,))
    normal(g, (1,))
    assert digest(g.get_state()) == "f9b6fdb06eceaed0"


@pytest.mark.parametrize("size", [16, 17, 1000, 70001])
def test_numpy_and_the_kernel_agree_on_normals(size, monkeypatch):
    native = normal(seeded(), (size,), 0.5, 2.0)
    monkeypatch.setattr(random_math, "kernel", lambda name, load: None)
    np.testing.assert_array_equal(normal(seeded(), (size,), 0.5, 2.0), native)


def test_numpy_and_the_kernel_agree_on_permutations(monkeypatch):
    native = randperm(seeded(), 140000)
    monkeypatch.setattr(random_math, "kernel", lambda name, load: None)
    monkeypatch.setattr("pellucid.core.streams.integers.kernel", lambda name, load: None)
    np.testing.assert_array_equal(randperm(seeded(), 140000), native)
    np.testing.assert_array_equal(np.sort(native), np.arange(140000))


# States.


@given(st.integers(-(2**63), 2**64 - 1), st.integers(0, 1300), st.integers(0, 5))
def test_a_state_continues_where_it_was_taken(seed, words, normals):
    g = seeded(seed)
    g.words(words)
    normal(g, (normals,))
    other = Generator()
    other.set_state(g.get_state())
    assert other.initial_seed() == g.initial_seed() == seed % 2**64
    assert other.get_state().tobytes() == g.get_state().tobytes()
    for shape in (3, 5, 700):
        np.testing.assert_array_equal(normal(other, (shape,)), normal(g, (shape,)))
        np.testing.assert_array_equal(uniform(other, (shape,)), uniform(g, (shape,)))


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_words_do_not_depend_on_how_they_are_asked_for(first, second):
    g = seeded()
    split = np.concatenate([g.words(first), g.words(second)])
    np.testing.assert_array_equal(split, seeded().words(first + second))


@given(st.integers(0, 400), st.integers(0, 400))
def test_draws_of_one_number_a_value_split(first, second):
    for fill in (
        lambda g, n: uniform(g, (n,), -1.0, 3.0),
        lambda g, n: uniform(g, (n,), dtype=np.float64),
        lambda g, n: randint(g, (n,), 0, 1000),
        lambda g, n: random_integers(g, (n,)),
        lambda g, n: exponential(g, (n,)),
        lambda g, n: bernoulli(g, (n,), 0.4),
        lambda g, n: log_normal(g, (n,), 0.0, 1.0),
    ):
        g = seeded()
        split = np.concatenate([fill(g, first), fill(g, second)])
        np.testing.assert_array_equal(split, fill(seeded(), first + second))


def test_normals_of_fewer_than_16_split_in_pairs():
    g = seeded()
    split = np.concatenate([normal(g, (n,), dtype=np.float64) for n in (1, 3, 4, 7)])
    np.testing.assert_array_equal(split, normal(seeded(), (15,), dtype=np.float64))


def test_manual_seed_forgets_the_kept_normal():
    g = seeded()
    normal(g, (1,))
    assert g.normal is not None
    assert seeded().get_state().tobytes() == g.manual_seed(42).get_state().tobytes()


def test_copies():
    g = seeded()
    normal(g, (3,))
    copies = [g.clone_state(), pickle.loads(pickle.dumps(g)), copy.deepcopy(g)]
    expected = normal(g, (9,))
    for other in copies:
        np.testing.assert_array_equal(normal(other, (9,)), expected)


def test_the_default_generator():
    state = random.default_generator.get_state()
    try:
        assert random.manual_seed("17") is random.default_generator
        assert random.initial_seed() == 17
        assert random.seed() == random.initial_seed() < 2**53
        assert Generator().seed() != Generator().seed()
    finally:
        random.default_generator.set_state(state)


def test_threads_share_a_generator():
    g = seeded()
    parts = []
    threads = [threading.Thread(target=lambda: parts.append(uniform(g, (5000,)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.sort(np.concatenate(parts))
    np.testing.assert_array_equal(together, np.sort(uniform(seeded(), (20000,))))


def test_refused_generators_seeds_and_states():
    with pytest.raises(RuntimeError, match="Device type CUDA is not supported"):
        Generator("cuda:0")
    with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
        Generator().manual_seed(1.5)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        Generator().manual_seed(2**64)
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        Generator().set_state(np.zeros(5056))
    with pytest.raises(RuntimeError, match="Expected a CPUGeneratorImplState of size 5056"):
        Generator().set_state(np.zeros(4, np.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        Generator().set_state(np.zeros(5056, np.uint8))


# Targets.


def test_arrays_are_filled_in_place_in_the_order_of_memory():
    base = np.zeros((3, 4), np.float32)
    assert uniform(seeded(), base.T) is not None
    np.testing.assert_array_equal(base, uniform(seeded(), (3, 4)))
    target = np.zeros((4, 6), np.float32)
    view = target[:, ::2]
    assert exponential(seeded(), view) is view
    np.testing.assert_array_equal(view, exponential(seeded(), (4, 3)))
    assert not target[:, 1::2].any()


def test_a_target_that_is_not_contiguous_gets_normals_one_by_one():
    view = np.zeros((40, 2), np.float32)[:, 0]
    one_by_one = np.concatenate([normal(g, (10,)) for g in [seeded()] for _ in range(4)])
    np.testing.assert_array_equal(normal(seeded(), view), one_by_one)


@given(st.permutations(range(4)), st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_memory_order_undoes_any_permutation(axes, shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    assert memory_order(array.transpose(axes)).ravel().tolist() == array.ravel().tolist()


# Values.


@given(
    st.floats(-(2.0**99), 2.0**99),
    st.floats(2.0**-10, 2.0**99),
    st.sampled_from(["f2", "f4", "f8"]),
)
def test_uniforms_stay_below_the_end(low, span, kind):
    scale = 1e-27 if kind == "f2" else 1.0
    low, high = low * scale, (low + span) * scale
    values = uniform(seeded(), (2000,), low, high, kind)
    assert (values >= np.dtype(kind).type(low)).all()
    assert (values < np.dtype(kind).type(high)).all() or np.dtype(kind).type(low) == np.dtype(
        kind
    ).type(high)


def test_float16_uniforms_never_reach_one():
    values = uniform(seeded(), (200000,), dtype=np.float16)
    assert values.max() < 1


def test_fma_rounds_once():
    from fractions import Fraction

    rng = np.random.default_rng(3)
    for kind in (np.float32, np.float64):
        values = rng.random(200).astype(kind)
        for factor, addend in ((1.7, -0.3), (3e4, -1e-30), (1e-9, 1.0), (0.5, 0.5)):
            got = random_math.fma(values, kind(factor), kind(addend))
            for value, result in zip(values, got, strict=True):
                exact = Fraction(float(value)) * Fraction(float(kind(factor))) + Fraction(
                    float(kind(addend))
                )
                away = [
                    abs(Fraction(float(n)) - exact)
                    for n in (result, *np.nextafter(result, kind([-9e9, 9e9])))
                ]
                assert away[0] == min(away)


def test_the_moments_are_right():
    n = 40000
    for values, mean, variance in (
        (normal(seeded(), (n,), 1.0, 2.0), 1.0, 4.0),
        (exponential(seeded(), (n,), 2.0), 0.5, 0.25),
        (geometric(seeded(), (n,), 0.25), 4.0, 12.0),
        (dropout_mask(seeded(), (n,), 0.2), 1.0, 0.25),
        (poisson(seeded(), np.full(n, 20.0)), 20.0, 20.0),
        (poisson(seeded(), np.full(n, 2.0)), 2.0, 2.0),
        (binomial(seeded(), np.full(n, 50.0), np.full(n, 0.4)), 20.0, 12.0),
        (binomial(seeded(), np.full(n, 5.0), np.full(n, 0.9)), 4.5, 0.45),
        (standard_gamma(seeded(), np.full(n, 0.5)), 0.5, 0.5),
        (standard_gamma(seeded(), np.full(n, 7.0)), 7.0, 7.0),
    ):
        assert abs(values.mean() - mean) < 5 * (variance / n) ** 0.5
        assert abs(values.var() / variance - 1) < 0.1
    rows = dirichlet(seeded(), np.tile([1.0, 2.0, 5.0], (4000, 1)))
    np.testing.assert_allclose(rows.sum(1), 1)
    np.testing.assert_allclose(rows.mean(0), [0.125, 0.25, 0.625], atol=0.01)
    assert abs(np.median(cauchy(seeded(), (n,), 3.0, 1.0)) - 3.0) < 0.05


def test_multinomial_follows_the_weights():
    weights = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]])
    found = multinomial(seeded(), weights, 20000, True)
    counts = np.stack([np.bincount(row, minlength=3) for row in found]) / 20000
    np.testing.assert_allclose(counts, [[0, 0.25, 0.75], [0.5, 0, 0.5]], atol=0.02)
    assert (np.sort(multinomial(seeded(), np.ones((50, 6)), 6)) == np.arange(6)).all()


def test_dropout_draws_nothing_when_all_or_nothing_is_kept():
    g = seeded()
    before = g.get_state().tobytes()
    assert dropout_mask(g, (3,), 0.0).tolist() == [1, 1, 1]
    assert dropout_mask(g, (3,), 1.0).tolist() == [0, 0, 0]
    assert g.get_state().tobytes() == before


def test_rrelu_draws_for_values_that_are_not_positive_only():
    g = seeded()
    noise = rrelu_noise(g, np.array([1.0, -1.0, 2.0, 0.0]), 0.0, 1.0)
    np.testing.assert_array_equal(
        noise, [1, *seeded().uniform53(2)[:1], 1, *seeded().uniform53(2)[1:]]
    )


def test_normal_like_takes_the_dtype_of_the_mean():
    out = normal_like(seeded(), np.zeros((2, 1), np.float32), np.ones(3))
    assert (out.dtype, out.shape) == (np.float32, (2, 3))


REFUSED = [
    (lambda g: uniform(g, (1,), 1.0, 0.0), RuntimeError, "found from=1 > to=0"),
    (
        lambda g: uniform(g, (1,), dtype=int),
        NotImplementedError,
        "\"check_uniform_bounds\" not implemented for 'Long'",
    ),
    (
        lambda g: uniform(g, (1,), 0, 1e9, np.float16),
        RuntimeError,
        "to is out of bounds for c10::Half",
    ),
    (
        lambda g: normal(g, (1,), 0.0, -1.0),
        RuntimeError,
        "normal expects std >= 0.0, but found std -1",
    ),
    (lambda g: normal_like(g, 0.0, np.array([-1.0])), RuntimeError, "all elements of std >= 0.0"),
    (lambda g: randint(g, (1,), 3, 3), RuntimeError, "but got from=3 >= to=3"),
    (
        lambda g: randint(g, (1,), 0, 300, np.uint8),
        RuntimeError,
        "to - 1 is out of bounds for unsigned char",
    ),
    (
        lambda g: randperm(g, 3000, np.float16),
        RuntimeError,
        "n cannot be greater than 2049 for Half type",
    ),
    (lambda g: randperm(g, -1), RuntimeError, "negative dimension -1"),
    (lambda g: bernoulli(g, (1,), 2.0), RuntimeError, "bernoulli_ expects p to be in"),
    (
        lambda g: bernoulli_like(g, np.array([2.0])),
        RuntimeError,
        "Expected p_in >= 0 && p_in <= 1 to be true",
    ),
    (lambda g: bernoulli_like(g, np.array([1])), NotImplementedError, "bernoulli_tensor_cpu_p_"),
    (
        lambda g: exponential(g, (1,), 0.0),
        RuntimeError,
        "exponential_ expects lambda > 0.0, but found lambda=0",
    ),
    (lambda g: cauchy(g, (1,), 0.0, 0.0), RuntimeError, "cauchy_ expects sigma > 0.0"),
    (lambda g: log_normal(g, (1,), 0.0, 0.0), RuntimeError, "log_normal_ expects std > 0.0"),
    (lambda g: geometric(g, (1,), 1.0), RuntimeError, "geometric_ expects p to be in"),
    (lambda g: multinomial(g, np.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
    (lambda g: multinomial(g, np.ones(2), 3), RuntimeError, "without replacement"),
    (lambda g: poisson(g, np.array([-1.0])), RuntimeError, "invalid Poisson rate"),
    (lambda g: poisson(g, np.array([np.inf])), RuntimeError, "expected rate to be finite"),
    (lambda g: binomial(g, np.array([np.nan]), np.array([0.5])), RuntimeError, "found NaN"),
    (
        lambda g: binomial(g, np.float32([1]), np.array([0.5])),
        RuntimeError,
        "Found dtype Double but expected Float",
    ),
    (lambda g: standard_gamma(g, np.array([1])), NotImplementedError, "gamma_cpu"),
    (lambda g: dirichlet(g, np.float16([1])), NotImplementedError, "dirichlet"),
    (
        lambda g: rrelu_noise(g, np.ones(1), 1.0, 0.0),
        RuntimeError,
        "Lower bound should be less than",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused_arguments_leave_the_stream_alone(case):
    call, kind, message = REFUSED[case]
    g = seeded()
    with pytest.raises(kind) as caught:
        call(g)
    assert message in str(caught.value)
    assert g.get_state().tobytes() == seeded().get_state().tobytes()


def test_float_ranges_beyond_the_mantissa_are_warned_of():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        randint(seeded(), (3,), 0, 2**25, np.float32)


# The streams of Intel's MKL.


@pytest.fixture
def mkl_streams():
    random_mkl.set_vendor_streams("mkl")
    yield
    random_mkl.set_vendor_streams("auto")


def test_mcg31_against_its_definition():
    state, expected = 12345, []
    for _ in range(2000):
        expected.append(state)
        state = state * 1132489760 % (2**31 - 1)
    assert random_mkl.states(12345, 2000).tolist() == expected
    assert random_mkl.states(0, 1).tolist() == random_mkl.states(2**31 - 1, 1).tolist() == [1]
    assert random_mkl.states(5, 0).size == 0


# oneMKL 2024.2: viRngBernoulli(0.4), vsRngExponential and vdRngExponential(rate 2)
def test_numbers_that_mkl_made():
    states = random_mkl.states(12345, 1005) / (2**31 - 1)
    assert (states[:12] < 0.4).astype(int).tolist() == [1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert (states[1000:] < 0.4).astype(int).tolist() == [0, 1, 0, 0, 1]

    class Fixed:
        def words(self, count):
            return np.full(count, 12345, np.uint64)

        wide_words = words

    single = random_mkl.exponential(Fixed(), 3, 2.0, np.dtype(np.float32))
    np.testing.assert_allclose(
        single, [6.033278465270996, 0.7622779607772827, 0.4290793836116791], rtol=3e-7
    )
    double = random_mkl.exponential(Fixed(), 3, 2.0, np.dtype(np.float64))
    np.testing.assert_allclose(
        double, [6.033278097554955, 0.7622779731092338, 0.429079378286159], rtol=1e-11
    )


@pytest.mark.usefixtures("mkl_streams")
def test_mkl_streams_take_one_draw_of_the_generator():
    for fill, words in (
        (lambda g: bernoulli(g, (900,), 0.3), 1),
        (lambda g: exponential(g, (900,)), 1),
        (lambda g: exponential(g, (900,), 1.0, np.float64), 2),
    ):
        g, reference = seeded(), seeded()
        fill(g)
        reference.words(words)
        assert g.get_state().tobytes() == reference.get_state().tobytes()
    assert abs(bernoulli(seeded(), (20000,), 0.3).mean() - 0.3) < 0.02
    assert abs(exponential(seeded(), (20000,), 2.0).mean() - 0.5) < 0.02


def test_vendor_streams_are_chosen_by_name():
    with pytest.raises(ValueError, match="auto, mt19937, mkl"):
        random_mkl.set_vendor_streams("amd")
    assert not random_mkl.active()


@pytest.mark.parametrize("count", [1, 3, 15, 16, 17, 64, 100])
def test_few_numbers_are_the_same_with_and_without_native_code(monkeypatch, count):
    draws = {
        "rand": lambda g: uniform(g, (count,)),
        "rand in rows": lambda g: uniform(g, (count, 2)),
        "randn": lambda g: normal(g, (count,)),
        "in place": lambda g: normal(g, np.empty((count, 1), np.float32)),
        "randint": lambda g: randint(g, (count,), -3, 10),
        "wide randint": lambda g: randint(g, (count,), 0, 1 << 40),
        "small dtype": lambda g: randint(g, (count,), 0, 10, np.int8),
        "randperm": lambda g: randperm(g, count),
    }
    for name, draw in draws.items():
        g = Generator().manual_seed(4)
        monkeypatch.setattr(random.config, "kernels", True)
        monkeypatch.setattr(random, "_waiting", [0])  # loaded at once
        monkeypatch.setattr(random_math, "_waiting", [0])
        native = [draw(g), draw(g)]
        g.manual_seed(4)
        monkeypatch.setattr(random.config, "kernels", False)
        monkeypatch.setattr(random_math, "kernel", lambda *_: None)
        plain = [draw(g), draw(g)]
        monkeypatch.undo()
        for a, b in zip(native, plain, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize(
    ("trials", "chance", "drawn"),
    [
        ("inf", 0.5, "[nan, inf, nan, inf]"),  # PyTorch's
        ("3", 1e-320, "[0.0, 0.0, 0.0, 0.0]"),
        ("1e300", 1e-310, "[0.0, 0.0, 0.0, 0.0]"),
    ],
)
def test_binomial_draws_of_endless_trials_and_tiny_chances_end(trials, chance, drawn):
    n, p = (np.full(4, float(v)) for v in (trials, chance))
    assert str(binomial(Generator().manual_seed(1), n, p).tolist()) == drawn


def test_weights_that_do_not_lie_row_by_row():
    # from PyTorch 2.13: the numbers are drawn in the order of the weights in memory
    weights = np.full((4, 3), 0.5, np.float32).T
    drawn = multinomial(Generator().manual_seed(0), weights, 2)
    assert drawn.tolist() == [[2, 3], [2, 3], [3, 0]]
