"""Functions that compute or check past the recorded operations: compiled, their results, gradients
and errors are eager's for other values than the traced ones.
"""

import warnings

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

from .eager_and_compiled import distinct, floats, mask, whole, with_gradients

SEEDS = (0, 1, 2)


def ordered(n):
    return lambda g: torch.rand(n, generator=g).sort()[0]


def dominant(*shape):
    return lambda g: (torch.rand(shape, generator=g) + 3 * torch.eye(shape[-1])).requires_grad_()


def positive(*shape):
    def make(g):
        a = torch.rand(shape, generator=g)
        return (a @ a.mT + 2 * torch.eye(shape[-1])).requires_grad_()

    return make


def starts(g):
    return torch.tensor([0, *torch.randint(0, 7, (3,), generator=g).sort()[0].tolist()])


def factors(n):
    """LU, and where its rows come from."""

    def make(g):
        return torch.linalg.lu_factor(torch.rand(n, n, generator=g))

    return lambda g: make(g)[0].requires_grad_(), lambda g: make(g)[1]


def positions(name, *args):
    def f(x):
        value, index = getattr(F, name)(x, *args, return_indices=True)
        return value, index

    return f


def bag(mode, padding=None, per_index=False):
    def f(index, weight, offsets, w):
        given = w if per_index else None
        return F.embedding_bag(
            index, weight, offsets, mode=mode, padding_idx=padding, per_sample_weights=given
        )

    return f


def unpool(x, seed):
    value, index = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(value * 2, index, 2)


IMAGE = floats(2, 3, 6, 6)
GRID = floats(2, 4, 5, 2, low=-1.3, high=1.3)
BAGS = (whole(7, 9), floats(7, 3), starts, floats(9))
CASES = {
    "constant_pad_nd": (lambda x: torch.constant_pad_nd(x, (1, 2), 3.5), floats(2, 3)),
    "pad with a number": (lambda x: F.pad(x, (1, 1, 0, 2), value=-1.0), floats(2, 3)),
    "masked_fill": (lambda x, m: x.masked_fill(m, -1e9), floats(3, 4), mask(3, 4)),
    "masked_fill with a tensor": (
        lambda x, m, v: x.masked_fill(m, v),
        floats(3, 4),
        mask(3, 4),
        floats(),
    ),
    "index_fill": (lambda x, i: x.index_fill(0, i, 2.5), floats(5, 2), whole(5, 3)),
    "scatter of a number": (lambda x, i: x.scatter(0, i, 1.5), floats(5, 2), whole(5, 3, 2)),
    "scatter_add_": (
        lambda x, i, s: (x * 1).scatter_add_(0, i, s),
        floats(5, 2),
        whole(5, 3, 2),
        floats(3, 2),
    ),
    "index_add_": (
        lambda x, i, s: (x * 1).index_add_(0, i, s),
        floats(5, 2),
        whole(5, 3),
        floats(3, 2),
    ),
    "index_put": (lambda x, i, v: x.index_put((i,), v), floats(6, 2), distinct(6, 3), floats(3, 2)),
    "index_put accumulated": (
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        floats(6),
        whole(6, 4),
        floats(4),
    ),
    "index_put at a mask": (lambda x, m, v: x.index_put((m,), v), floats(4, 5), mask(4), floats(5)),
    "assignment at a mask": (
        lambda x, m, v: _assigned(x, m, v),
        floats(4, 5),
        mask(4, 5),
        floats(),
    ),
    "assignment": (lambda x, i, v: _assigned(x, i, v), floats(6, 2), distinct(6, 3), floats(3, 2)),
    "index_reduce": (
        lambda x, i, s: x.index_reduce(0, i, s, "amax"),
        floats(5, 2),
        whole(5, 4),
        floats(4, 2),
    ),
    "put": (lambda x, i, s: x.put(i, s), floats(2, 4), distinct(8, 3), floats(3)),
    "take": (lambda x, i: x.take(i), floats(2, 4), whole(8, 3, low=-8)),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 1), floats(3, 4), whole(4, 3, 2, low=-4)),
    "masked_scatter": (
        lambda x, m, s: x.masked_scatter(m, s),
        floats(3, 4),
        mask(3, 4),
        floats(12),
    ),
    "masked_scatter_": (
        lambda x, m, s: (x * 1).masked_scatter_(m, s),
        floats(3, 4),
        mask(3, 4),
        floats(12),
    ),
    "one_hot": (lambda i: F.one_hot(i, 5), whole(5, 2, 3)),
    "nonzero_static": (lambda i: torch.nonzero_static(i, size=4), whole(2, 3, 2)),
    "unravel_index": (lambda i: torch.unravel_index(i, (3, 4)), whole(12, 5)),
    "repeat_interleave": (
        lambda x, n: x.repeat_interleave(torch.stack([n, 4 - n]), output_size=4),
        floats(2),
        whole(5),
    ),
    "tril_indices": (lambda x: torch.tril_indices(3, 3) + x.long(), floats(1)),
    "combinations": (lambda x: torch.combinations(x, 3), floats(5)),
    "pdist": (lambda x: torch.pdist(x), floats(4, 3)),
    "max_pool1d": (positions("max_pool1d", 3, 2), floats(2, 3, 9)),
    "max_pool2d": (positions("max_pool2d", 2), IMAGE),
    "max_pool3d": (positions("max_pool3d", 2), floats(2, 4, 4, 4)),
    "adaptive_max_pool2d": (positions("adaptive_max_pool2d", (4, 3)), IMAGE),
    "max_unpool2d": (unpool, IMAGE, floats()),
    "fractional_max_pool2d": (
        lambda x, r: F.fractional_max_pool2d(x, 2, 3, _random_samples=r),
        IMAGE,
        floats(2, 3, 2, low=0, high=1),
    ),
    "nll_loss": (
        lambda x, t, w: F.nll_loss(x, t, w.detach()),
        floats(4, 3),
        whole(3, 4),
        floats(3, low=0.1),
    ),
    "nll_loss of one": (
        lambda x, t, w: F.nll_loss(x, t, w.detach()),
        floats(3),
        whole(3),
        floats(3, low=0.1),
    ),
    "multi_margin_loss": (
        lambda x, t, w: F.multi_margin_loss(x, t, weight=w),
        floats(4, 3),
        whole(3, 4),
        floats(3),
    ),
    "multilabel_margin_loss": (F.multilabel_margin_loss, floats(4, 5), whole(5, 4, 5, low=-1)),
    "gaussian_nll_loss": (F.gaussian_nll_loss, floats(3, 4), floats(3, 4), floats(3, 4, low=0)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), IMAGE, GRID),
    "grid_sample nearest": (
        lambda x, g: F.grid_sample(x, g, "nearest", "reflection", True),
        IMAGE,
        GRID,
    ),
    "grid_sample bicubic": (
        lambda x, g: F.grid_sample(x, g, "bicubic", "reflection", False),
        IMAGE,
        GRID,
    ),
    "embedding_bag sum": (bag("sum", per_index=True), *BAGS),
    "embedding_bag mean": (bag("mean", 2), *BAGS),
    "embedding_bag max": (bag("max", 2), *BAGS),
    "embedding max_norm": (
        lambda i, w: F.embedding(i, w * 1, max_norm=1.0),
        whole(7, 4),
        floats(7, 3),
    ),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.4, True), floats(4, 5)),
    "isclose": (lambda x, y: x.isclose(y, atol=0.5), floats(8), floats(8)),
    "isin": (lambda x, y: torch.isin(x, y), whole(5, 8), whole(5, 2)),
    "bucketize": (lambda x, b: torch.bucketize(x, b), floats(8), ordered(3)),
    "searchsorted": (lambda b, x: torch.searchsorted(b, x, right=True), ordered(6), floats(4)),
    "histc": (lambda x: x.histc(4), floats(12)),
    "histogram": (lambda x: tuple(torch.histogram(x.detach(), 4)), floats(12)),
    "quantile": (lambda x, q: x.quantile(q, dim=0), floats(7, 2), floats(3, low=0, high=1)),
    "nanquantile": (
        lambda x: torch.where(x > 1, float("nan"), x).nanquantile(0.3, interpolation="higher"),
        floats(9),
    ),
    "cov": (
        lambda x, f, a: torch.cov(x, fweights=f, aweights=a),
        floats(2, 5),
        whole(4, 5, low=1),
        floats(5, low=0.1),
    ),
    "istft": (
        lambda x: torch.istft(
            torch.stft(x, 8, window=torch.ones(8), return_complex=True), 8, window=torch.ones(8)
        ),
        floats(16),
    ),
    "cholesky": (torch.linalg.cholesky, positive(2, 3, 3)),
    "lu": (torch.linalg.lu, dominant(2, 3, 3)),
    "lu_solve": (lambda lu, p, b: torch.linalg.lu_solve(lu, p, b), *factors(3), floats(3, 2)),
    "inv_ex": (lambda a: tuple(torch.linalg.inv_ex(a)), dominant(2, 3, 3)),
    "solve_ex": (
        lambda a, b: tuple(torch.linalg.solve_ex(a, b)),
        dominant(2, 3, 3),
        floats(2, 3, 1),
    ),
    "cond": (lambda a: torch.linalg.cond(a, 1), dominant(2, 3, 3)),
    "matrix_power": (lambda a: torch.linalg.matrix_power(a, 0), floats(2, 2)),
    "matrix_rank": (torch.linalg.matrix_rank, floats(2, 3, 3)),
    "ldl_factor": (lambda a: tuple(torch.linalg.ldl_factor(a.detach())), positive(3, 3)),
    "geqrf": (lambda a: tuple(torch.geqrf(a.detach())), floats(4, 3)),
    "logdet": (torch.logdet, floats(3, 3)),
}


def _assigned(x, i, v):
    x = x * 1
    x[i] = v
    return x


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager_for_other_values(name):
    f, *makers = CASES[name]
    inputs = [[make(torch.Generator().manual_seed(seed)) for make in makers] for seed in SEEDS]
    compiled = torch.compile(f, fullgraph=True)
    for args in inputs:
        for a, b in zip(*(with_gradients(g, args) for g in (compiled, f)), strict=True):
            if b is None:
                assert a is None or not a.any()
                continue
            assert a.dtype is b.dtype
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert len(compiled.versions) == 1 and compiled.versions[0].hits == len(SEEDS) - 1


# What a check is made for, by a function that works and values that it refuses.
REFUSED = {
    "index": (
        lambda x, i: x.index_put((i,), torch.ones(2)),
        (torch.zeros(3), torch.tensor([0, 1])),
        (torch.zeros(3), torch.tensor([0, 3])),
    ),
    "flat index": (
        lambda x, i: x.take(i),
        (torch.zeros(3), torch.tensor([0, 1])),
        (torch.zeros(3), torch.tensor([0, 3])),
    ),
    "scattered": (
        lambda x, i: x.clone().index_add_(0, i, torch.ones(2)),
        (torch.zeros(3), torch.tensor([0, 1])),
        (torch.zeros(3), torch.tensor([0, 3])),
    ),
    "class": (lambda i: F.one_hot(i, 3), (torch.tensor([0, 2]),), (torch.tensor([0, 3]),)),
    "margin": (
        lambda x, t: F.multi_margin_loss(x, t),
        (torch.zeros(2, 3), torch.tensor([0, 2])),
        (torch.zeros(2, 3), torch.tensor([0, 3])),
    ),
    "variance": (
        lambda x, v: F.gaussian_nll_loss(x, x, v),
        (torch.zeros(2), torch.ones(2)),
        (torch.zeros(2), -torch.ones(2)),
    ),
    "unpool": (
        lambda x, i: F.max_unpool1d(x, i, 2),
        (torch.zeros(1, 1, 2), torch.tensor([[[0, 3]]])),
        (torch.zeros(1, 1, 2), torch.tensor([[[0, 4]]])),
    ),
    "offsets": (
        lambda o: F.embedding_bag(torch.tensor([0, 1]), torch.ones(2, 2), o),
        (torch.tensor([0, 1]),),
        (torch.tensor([1, 1]),),
    ),
    "repeats": (
        lambda x, n: x.repeat_interleave(n, output_size=3),
        (torch.ones(2), torch.tensor([1, 2])),
        (torch.ones(2), torch.tensor([1, 1])),
    ),
    "negative repeats": (
        lambda x, n: x.repeat_interleave(n, output_size=3),
        (torch.ones(2), torch.tensor([1, 2])),
        (torch.ones(2), torch.tensor([4, -1])),
    ),
    "fractions": (
        lambda x, q: x.quantile(q),
        (torch.ones(2), torch.tensor(0.5)),
        (torch.ones(2), torch.tensor(1.5)),
    ),
    "source": (
        lambda x, m: x.masked_scatter(m, torch.ones(2)),
        (torch.zeros(3), torch.tensor([True, False, True])),
        (torch.zeros(3), torch.ones(3) > 0),
    ),
    "sorter": (
        lambda x, o: torch.searchsorted(x, 0.5, sorter=o),
        (torch.arange(3.0), torch.tensor([0, 1, 2])),
        (torch.arange(3.0), torch.tensor([0, 1, 3])),
    ),
    "weights": (
        lambda w: torch.cov(torch.ones(1, 2), fweights=w),
        (torch.tensor([1, 2]),),
        (torch.tensor([0, 0]),),
    ),
    "cholesky": (
        torch.linalg.cholesky,
        (torch.eye(2).expand(2, 2, 2).clone(),),
        (-torch.eye(2).expand(2, 2, 2).clone(),),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_checks_are_repeated(name):
    f, good, bad = REFUSED[name]
    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        compiled(*good)
    assert compiled.versions[0].hits == 1
    with pytest.raises(Exception) as expected:
        f(*bad)
    with pytest.raises(type(expected.value)) as got:
        compiled(*bad)
    assert str(got.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_matrices_that_turn_out_singular():
    compiled = torch.compile(
        lambda a: (*torch.linalg.inv_ex(a), *torch.linalg.solve_ex(a, torch.ones(2, 2))),
        fullgraph=True,
    )
    for a in (
        torch.eye(2),
        torch.ones(2, 2),
        2 * torch.eye(2),
        torch.eye(2) * torch.tensor([1.0, 0.0]),
    ):
        want = (*torch.linalg.inv_ex(a), *torch.linalg.solve_ex(a, torch.ones(2, 2)))
        for x, y in zip(compiled(a), want, strict=True):
            np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert compiled.versions[0].hits == 3


def test_a_table_is_shrunk_where_it_is():
    weight, other = (torch.nn.Parameter(torch.arange(8.0).reshape(4, 2)) for _ in range(2))
    compiled = torch.compile(lambda i: F.embedding(i, weight, max_norm=1.0), fullgraph=True)
    for index in ([0, 1], [2, 2], [3, 0]):
        index = torch.tensor(index)
        before = weight._version
        assert compiled(index).tolist() == F.embedding(index, other, max_norm=1.0).tolist()
        assert weight.tolist() == other.tolist() and weight._version > before


def test_whether_tensors_are_equal_is_a_decision():
    compiled = torch.compile(
        lambda x, y: x + 1 if torch.equal(x, y) or torch.allclose(x, -y) else x - 1
    )
    for y in ([1.0, 2.0], [1.0, 3.0], [-1.0, -2.0], [1.0, 2.0], [2.0, 2.0]):
        x, y = torch.tensor([1.0, 2.0]), torch.tensor(y)
        assert (
            compiled(x, y).tolist() == (x + 1 if y.abs().tolist() == x.tolist() else x - 1).tolist()
        )
    assert len(compiled.versions) == 3


INDICES = {
    "index of a list": lambda x, n: x * [2.0, 3.0, 5.0][n],
    "int": lambda x, n: x * int(n),
    "row": lambda x, n: x.reshape(3, 2)[n],
    "narrow": lambda x, n: x.narrow(0, n, 2),
    "tensor_split": lambda x, n: torch.tensor_split(x, torch.stack([n, n + 2]))[1],
    "repeats": lambda x, n: x.repeat_interleave(n, output_size=None),
    "repeats of one": lambda x, n: x.repeat_interleave(n.reshape(1)),
}


@pytest.mark.parametrize("name", INDICES)
def test_whole_numbers_of_tensors_are_decisions(name):
    f = INDICES[name]
    compiled = torch.compile(f)
    for n in (1, 2, 0, 1, 2):
        x = torch.arange(6.0) + n
        assert compiled(x, torch.tensor(n)).tolist() == f(x, torch.tensor(n)).tolist()
    assert len(compiled.versions) == 3


SIZES = {
    "one_hot": lambda i: F.one_hot(i),
    "repeat_interleave": lambda i: torch.ones(3).repeat_interleave(i),
    "nonzero": lambda i: i.nonzero(),
    "bincount": lambda i: i.bincount(),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_depend_on_values_run_eagerly(name):
    f = SIZES[name]
    compiled = torch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for i in ([1, 2, 0], [3, 1, 1], [0, 0, 0]):
            assert compiled(torch.tensor(i)).tolist() == f(torch.tensor(i)).tolist()
    assert not compiled.versions
