"""Operations that a compiled step runs in its own native code: nothing in the schedule is a call of Python, and results, gradients and
errors are eager's for other values than the traced ones.
"""

import math

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

pytestmark = pytest.mark.skipif(not torch.compile(lambda x: x + 1), reason="there is no compiler")
SEEDS = (0, 1, 2)


def floats(*shape, low=-2.0, high=2.0, dtype=torch.float32):
    return lambda g: (torch.rand(shape, generator=g, dtype=dtype) * (high - low) + low).requires_grad_()


def turned(*shape):
    """Transposed in memory."""
    return lambda g: torch.rand(shape[::-1], generator=g).sub(0.5).permute(*reversed(range(len(shape)))).requires_grad_()


def gapped(*shape):
    """Every other element of something larger."""
    return lambda g: torch.rand(*shape[:-1], 2 * shape[-1], generator=g)[..., ::2].detach().requires_grad_()


def whole(high, *shape, low=0, dtype=torch.int64):
    return lambda g: torch.randint(low, high, shape, generator=g, dtype=dtype)


def mask(*shape):
    return lambda g: torch.rand(shape, generator=g) > 0.5


def distinct(n, k):
    return lambda g: torch.randperm(n, generator=g)[:k]


INDEXING = {
    "gather": (lambda x, i: x.gather(1, i), floats(4, 5), whole(5, 4, 3)),
    "gather of fewer rows": (lambda x, i: x.gather(1, i), floats(4, 5, 3), whole(5, 2, 7, 2)),
    "gather at int32": (lambda x, i: x.gather(0, i), floats(4, 5), whole(4, 6, 5, dtype=torch.int32)),
    "gather of a transposed one": (lambda x, i: x.gather(0, i), turned(4, 5), whole(4, 3, 5)),
    "gather at a transposed index": (lambda x, i: x.gather(1, i.t()), gapped(4, 5), whole(5, 3, 4)),
    "gather of doubles": (lambda x, i: x.gather(2, i), floats(2, 3, 4, dtype=torch.float64), whole(4, 2, 3, 9)),
    "gather of integers": (lambda x, i: x.gather(0, i), whole(99, 5), whole(5, 8)),
    "gather of bools": (lambda x, i: x.gather(0, i), mask(5), whole(5, 8)),
    "gather of halves": (lambda x, i: x.detach().half().gather(0, i), floats(5), whole(5, 8)),
    "gather of a vector of ones": (lambda x, i: x.gather(0, i), floats(1), whole(1, 1)),
    "large gather": (lambda x, i: x.gather(1, i), floats(300, 80), whole(80, 300, 120)),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 1), floats(3, 4), whole(4, 3, 2, low=-4)),
    "scatter": (lambda x, i, s: x.scatter(0, i[:3].unsqueeze(1).expand(3, 4), s), floats(6, 4), distinct(6, 4), floats(3, 4)),
    "scatter of a number": (lambda x, i: x.scatter(1, i, 1.5), floats(5, 4), whole(4, 5, 2)),
    "scatter of part of the source": (lambda x, i, s: x.scatter(1, i, s), floats(5, 4), whole(4, 3, 1), floats(4, 3)),
    "scatter_add": (lambda x, i, s: x.scatter_add(0, i, s), floats(5, 4), whole(5, 9, 4), floats(9, 4)),
    "scatter_add of turned ones": (lambda x, i, s: x.scatter_add(1, i, s), turned(5, 4), whole(4, 5, 6), turned(5, 6)),
    "scatter_add of an expanded index": (
        lambda x, i, s: x.scatter_add(0, i.unsqueeze(1).expand(9, 40), s), floats(5, 40), whole(5, 9), floats(9, 40)
    ),
    "scatter_add of integers": (lambda x, i, s: x.scatter_add(0, i, s), whole(9, 5), whole(5, 7), whole(9, 7)),
    "scatter_reduce amax": (
        lambda x, i, s: x.detach().scatter_reduce(0, i, s.detach(), "amax"), floats(5), whole(5, 9), floats(9)
    ),
    "scatter_reduce amin": (
        lambda x, i, s: x.detach().scatter_reduce(1, i, s.detach(), "amin"), floats(2, 5), whole(5, 2, 9), floats(2, 9)
    ),
    "scatter_reduce prod": (
        lambda x, i, s: x.detach().scatter_reduce(0, i, s.detach(), "prod"), floats(5), whole(5, 9), floats(9)
    ),
    "index_select": (lambda x, i: x.index_select(1, i), floats(3, 6, 4), whole(6, 9)),
    "index_select of rows": (lambda x, i: x.index_select(0, i), floats(30, 20), whole(30, 70)),
    "index_add": (lambda x, i, s: x.index_add(1, i, s), floats(3, 6, 4), whole(6, 9), floats(3, 9, 4)),
    "index_add_": (lambda x, i, s: (x * 1).index_add_(0, i, s), floats(5, 2), whole(5, 3), floats(3, 2)),
    "index_copy": (lambda x, i, s: x.index_copy(0, i, s), floats(5, 2), distinct(5, 3), floats(3, 2)),
    "index_fill": (lambda x, i: x.index_fill(0, i, 2.5), floats(5, 2), whole(5, 3, low=-5)),
    "rows": (lambda x, i: x[i], floats(9, 5), whole(9, 4, 3, low=-9)),
    "columns": (lambda x, i: x[:, i], floats(9, 5), whole(5, 7, low=-5)),
    "points": (lambda x, i, j: x[i, j], floats(9, 5), whole(9, 7), whole(5, 7)),
    "points that are broadcast": (lambda x, i, j: x[i, j], floats(9, 5, 3), whole(9, 7, 1), whole(5, 2)),
    "points around a slice": (lambda x, i, j: x[i, :, j], floats(9, 5, 3), whole(9, 7), whole(3, 7)),
    "points behind a slice": (lambda x, i, j: x[:, i, j], floats(9, 5, 3), whole(5, 7), whole(3, 7)),
    "points of a transposed one": (lambda x, i: x[1:, i], turned(9, 5), whole(5, 7)),
    "integers": (lambda x, i: x[i], whole(9, 5), whole(5, 7)),
    "index_put": (lambda x, i, v: x.index_put((i,), v), floats(6, 2), distinct(6, 3), floats(3, 2)),
    "index_put of a row": (lambda x, i, v: x.index_put((i,), v), floats(6, 2), whole(6, 3, low=-6), floats(2)),
    "index_put accumulated": (lambda x, i, v: x.index_put((i,), v, accumulate=True), floats(6), whole(6, 14), floats(14)),
    "assignment": (lambda x, i, v: _assigned(x, i, v), floats(6, 2), distinct(6, 3), floats(3, 2)),
    "embedding": (lambda i, w: F.embedding(i, w), whole(7, 4), floats(7, 3)),
    "embedding of columns": (lambda i, w: F.embedding(i[:, 1], w), whole(7, 4, 3), floats(7, 3)),
    "embedding of a transposed table": (lambda i, w: F.embedding(i, w), whole(7, 4), turned(7, 3)),
    "embedding at int32": (lambda i, w: F.embedding(i, w), whole(7, 4, dtype=torch.int32), floats(7, 3)),
}  # fmt: skip


def _assigned(x, i, v):
    x = x * 1
    x[i] = v
    return x


CASES = {**INDEXING}


def run(f, args):
    """Results, and the gradients of a weighted sum of them."""
    torch.manual_seed(3)
    made = f(*args)
    made = list(made) if isinstance(made, tuple) else [made]
    roots = [o for o in made if o.requires_grad]
    leaves = [a for a in args if a.requires_grad]
    weights = [torch.arange(1.0, o.numel() + 1, dtype=o.dtype).reshape(o.shape).cos() for o in roots]
    return made, torch.autograd.grad(roots, leaves, weights, allow_unused=True) if roots else ()


def called(function):
    """(operation, reason) of all that the versions of a compiled function call from Python."""
    runs = [r for version in function.versions for r in (version.run, version.run_back) if r is not None]
    return [(i.op, item.reason) for r in runs for item in r.items if item.kind == "eager" for i in item.instructions]


@pytest.mark.parametrize("name", CASES)
def test_native_and_eager_for_other_values(name):
    f, *makers = CASES[name]
    inputs = [[make(torch.Generator().manual_seed(seed)) for make in makers] for seed in SEEDS]
    compiled = torch.compile(f, fullgraph=True)
    for args in inputs:
        for a, b in zip(*(sum(map(list, run(g, args)), []) for g in (compiled, f)), strict=True):
            if b is None:
                assert a is None or not a.any()
                continue
            assert a.dtype is b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert len(compiled.versions) == 1 and compiled.versions[0].hits == len(SEEDS) - 1
    assert called(compiled) == []


# Functions with positions that they take and ones that they refuse.
REFUSED = {
    "gather": (lambda x, i: x.gather(0, i), (3,), ([0, 1], [0, 3])),
    "gather, negative": (lambda x, i: x.gather(0, i), (3,), ([0, 1], [0, -1])),
    "scatter": (lambda x, i: x.scatter(0, i, 1.0), (3,), ([0, 1], [3, 0])),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x), (3,), ([0, 1], [7, 0])),
    "index_select": (lambda x, i: x.index_select(0, i), (3,), ([0, 1], [0, 3])),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), (3,), ([0, 1], [-1, 0])),
    "index": (lambda x, i: x[i], (3,), ([0, -3], [0, 3])),
    "index, negative": (lambda x, i: x[:, i], (2, 3), ([0, -3], [-4, 0])),
    "second index": (lambda x, i: x[i, i], (5, 3), ([0, -3], [4, 0])),
    "index_put": (lambda x, i: x.index_put((i,), torch.ones(2)), (3,), ([0, 1], [0, 3])),
    "embedding of a transposed table": (lambda x, i: F.embedding(i, x.t()), (2, 3), ([0, 1], [0, 3])),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 0), (3,), ([0, -3], [0, 3])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_positions_outside_raise_what_eager_execution_raises(name):
    f, shape, given = REFUSED[name]
    x = torch.arange(float(math.prod(shape))).reshape(shape)
    good, bad = map(torch.tensor, given)
    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, good).numpy(), f(x, good).numpy())
    assert called(compiled) == []
    with pytest.raises((IndexError, RuntimeError)) as expected:
        f(x, bad)
    with pytest.raises(type(expected.value)) as found:
        compiled(x, bad)
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]
    assert "test_native_items.py" in str(found.value)
    np.testing.assert_array_equal(compiled(x, good).numpy(), f(x, good).numpy())
