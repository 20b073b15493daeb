"""searchsorted and bucketize: dtypes, promotion, and sequences that are not in order."""

import itertools

import pytest

import pellucid

torch = pytest.importorskip("torch")

NAMES = "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool complex64 uint16"


def told(m, f):
    try:
        made = f(m)
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__, str(error)
    return made.tolist(), str(made.dtype).split(".")[-1]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(NAMES.split(), repeat=2)))
def test_two_dtypes(first, second):
    def f(m):
        edges, values = m.tensor([0, 1, 1, 3]), m.tensor([1, 2, 0, 5])
        return m.searchsorted(edges.to(getattr(m, first)), values.to(getattr(m, second)))

    assert told(pellucid, f) == told(torch, f)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_whole_numbers_are_rounded_to_two_bytes(name):
    def f(m):
        edges = m.tensor([256.0, 258.0, 2048.0, 2050.0]).to(getattr(m, name))
        return m.searchsorted(edges, m.tensor([257, 2049, 2051, 4097]))

    assert told(pellucid, f) == told(torch, f)


@pytest.mark.parametrize("number", [1, 1.5, True, -1, 2**40, 1e9])
@pytest.mark.parametrize("name", NAMES.split())
def test_numbers(name, number):
    for f in (
        lambda m: m.searchsorted(m.tensor([0, 1, 1, 3]).to(getattr(m, name)), number, right=True),
        lambda m: m.bucketize(number, m.tensor([0, 1, 1, 3]).to(getattr(m, name)), out_int32=True),
    ):
        assert told(pellucid, f) == told(torch, f)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("nan", [False, True])
def test_sequences_that_are_not_in_order(right, nan):
    for length, seed in itertools.product((1, 2, 5, 16, 37, 200), range(3)):

        def f(m, length=length, seed=seed):
            m.manual_seed(seed)
            edges, values = m.randn(3, length), m.randn(3, 50)
            if nan:
                edges[edges > 1] = float("nan")
                values[values > 1.5] = float("nan")
            return m.cat(
                [
                    m.searchsorted(edges, values, right=right).flatten(),
                    m.searchsorted(edges, values, right=right, sorter=edges.argsort()).flatten(),
                    m.bucketize(values, edges[0], right=right).flatten(),
                ]
            )

        assert told(pellucid, f) == told(torch, f)
