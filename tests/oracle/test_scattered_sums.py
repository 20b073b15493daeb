"""Reductions into repeated places: the bits of PyTorch's sums, and the dtypes that it refuses."""

import itertools
import warnings

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

SHAPES = [((15, 12, 13), 0), ((15, 12, 13), 1), ((15, 12, 13), 2), ((5000,), 0), ((300, 40), 0)]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_sums_have_the_bits_of_pytorch(shape, dim, kind):
    found = []
    for root in (torch, pellucid):
        root.manual_seed(0)
        x, src = (root.randn(shape, dtype=getattr(root, kind)) for _ in range(2))
        index = root.randint(0, min(shape[dim], 9), shape)
        line = index.reshape(-1)[: shape[dim]]
        made = [
            x.clone().scatter_add_(dim, index, src),
            x.clone().index_add_(dim, line, src),
            x.clone().index_put_((index.reshape(-1)[: shape[0]],), src, accumulate=True),
        ]
        made += [
            x.clone().scatter_reduce_(dim, index, src, how, include_self=whole)
            for how in ("sum", "prod", "mean")
            for whole in (True, False)
        ]
        found.append([t.numpy().tobytes() for t in made])
    assert found[0] == found[1]


DTYPES = ["complex64", "complex128", "bool", "uint8", "int32", "int64", "float64"]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_dtypes_are_reduced_or_refused_as_in_pytorch(kind, shape):
    def told(root, name, how, whole):
        source = root.arange(1, 1 + shape[0] * (shape[1:] or (1,))[0]).reshape(shape)
        source = source.to(getattr(root, kind))
        line = root.tensor([0, 2, 0, 1])[: shape[0]]
        index = line if name == "index_reduce" else root.zeros(shape, dtype=root.int64)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = getattr(root.ones_like(source), name)(
                    0, index, source, how, include_self=whole
                )
        except Exception as error:
            return type(error).__name__, str(error)
        return made.tolist()

    for name in ("scatter_reduce", "index_reduce"):
        for how in ("sum", "prod", "mean", "amax", "amin"):
            for whole in (True, False):
                given = name, how, whole
                assert told(pellucid, *given) == told(torch, *given), given


@pytest.mark.parametrize("kind", ["bool", "complex64"])
@pytest.mark.parametrize("of", ["bool", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(2, 3), (2,), ()])
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_reductions_that_have_no_kernel_are_refused_after_what_does_not_fit(kind, of, shape):
    """Which of several faults of a call `index_reduce` names."""
    said = []
    for library in (torch, pellucid):
        said.append([])
        for reduce, include_self, source in itertools.product(
            ("prod", "mean", "amax", "amin"), (True, False), (shape, (5,))
        ):
            x = library.ones(shape, dtype=getattr(library, kind))
            y = library.ones(source, dtype=getattr(library, of))
            index = library.tensor([0, 1] if shape else [0])
            try:
                made = library.index_reduce(x, 0, index, y, reduce, include_self=include_self)
                said[-1].append(made.tolist())
            except Exception as error:
                said[-1].append((type(error).__name__, str(error)))
    assert said[1] == said[0]
