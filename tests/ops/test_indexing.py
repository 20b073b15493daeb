"""Indexing, gathering and scattering without an oracle: placement rules, repeated places, gradients
against differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import scatter

RNG = np.random.default_rng(3)


def differences(function, x, step=1e-6):
    """The gradient of a scalar function of a float64 tensor by central differences."""
    out = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        up, down = x.detach().numpy().copy(), x.detach().numpy().copy()
        up[place] += step
        down[place] -= step
        out[place] = (function(torch.tensor(up)).item() - function(torch.tensor(down)).item()) / (
            2 * step
        )
    return out


INDEX = torch.tensor([[0, 2, 1], [2, 2, 0]])
ROWS = torch.tensor([2, 0, 2])
OTHER = torch.tensor(RNG.standard_normal((3, 3)))
WEIGHTS = torch.tensor(RNG.standard_normal(200))
FUNCTIONS = {
    "gather": lambda x: x.gather(1, INDEX),
    "scatter": lambda x: OTHER.scatter(0, INDEX[:1], x[:1]) * x,
    "scatter_add": lambda x: OTHER.scatter_add(1, INDEX, x[:2]),
    "scatter_prod": lambda x: x.scatter_reduce(1, INDEX, x[:2] * 2, "prod"),
    "scatter_mean": lambda x: x.scatter_reduce(1, INDEX, x[:2] * 2, "mean", include_self=False),
    "scatter_amax": lambda x: x.scatter_reduce(0, INDEX, x[:2] * 2, "amax"),
    "index_select": lambda x: x.index_select(1, ROWS),
    "index_add": lambda x: OTHER.index_add(0, ROWS, x, alpha=3),
    "index_copy": lambda x: x.index_copy(1, ROWS[:2], x[:, 1:] * 5),
    "index_fill": lambda x: x.index_fill(0, ROWS, x[0, 0]),
    "index_put": lambda x: x.index_put((ROWS, ROWS), x[0], accumulate=True),
    "mixed": lambda x: x[ROWS, :, None][:, [0, 2]],
    "mask": lambda x: x[OTHER > 0] ** 2,
    "masked_fill": lambda x: x.masked_fill(OTHER > 0, x[1, 1]),
    "masked_scatter": lambda x: x.masked_scatter(OTHER > 0, x * 3),
    "take": lambda x: x.take(INDEX),
    "put": lambda x: x.put(ROWS, x[0] * 2, accumulate=True),
    "take_along_dim": lambda x: x.take_along_dim(INDEX[:, :1], 0),
    "repeat": lambda x: x.repeat(2, 1, 2),
    "repeat_interleave": lambda x: torch.cat(
        [x.repeat_interleave(2, 1), x.repeat_interleave(ROWS[:3], 0)[:, [0, 0, 1, 1, 2, 2]]]
    ),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "as_strided": lambda x: (x * 1).as_strided((3, 3), (2, 1), 1),
    "pad": lambda x: torch.constant_pad_nd(x, (1, -1, 0, 2), 4.0),
    "reflect": lambda x: torch.nn.functional.pad(x[None], (2, 1), "reflect"),
    "circular": lambda x: torch.nn.functional.pad(x[None], (2, -1), "circular"),
    "slice_scatter": lambda x: OTHER.slice_scatter(x[:, ::2], 1, 0, None, 2) * x,
    "roll_flip_rot": lambda x: torch.rot90(x.roll((1, 2), (0, 1)).flip(0), 3),
    "triangles": lambda x: x.tril(-1) * 2 + x.triu(1),
    "diagonals": lambda x: torch.diag_embed(x.diagonal(1), -1) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    def function(x):
        y = FUNCTIONS[name](x)
        return (y * y * WEIGHTS[: y.numel()].reshape(y.shape)).sum()

    x = torch.tensor(RNG.standard_normal((3, 3)), requires_grad=True)
    (g,) = torch.autograd.grad(function(x), x)
    np.testing.assert_allclose(g.numpy(), differences(function, x), rtol=1e-5, atol=1e-7)


def test_picked_dimensions_stand_where_pytorch_puts_them():
    x = torch.zeros(2, 3, 4)
    i = torch.tensor([0, 1])
    assert x[0, :, i].shape == (3, 2)  # an integer is no index tensor; NumPy's rule gives (2, 3)
    assert x[i, :, i].shape == (2, 3)
    assert x[:, i, i].shape == (2, 2)
    assert x[:, i].shape == (2, 2, 4)
    assert x[i, None, i].shape == (2, 1, 4)
    # True picks as well, and apart from i: both go to the front
    assert x[None, i, ..., True].shape == (2, 1, 3, 4)
    assert x[torch.tensor(1)]._is_view() and not x[torch.tensor([1])]._is_view()


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.int64, np.int8, np.complex64]
)
@pytest.mark.parametrize(
    "shape, count",
    [((5,), 9), ((4, 3), 300), ((7, 40), 90), ((300, 2), 50), ((3, 0), 4), ((6, 2, 3), 0)],
)
def test_adding_to_places_that_repeat(shape, count, dtype):
    index = RNG.integers(-shape[0], shape[0], count)
    values = RNG.integers(-3, 4, (count, *shape[1:])).astype(dtype)
    out, want = np.ones(shape, dtype), np.ones(shape, dtype)
    scatter.add_at(out, (index,), values)
    np.add.at(want, index, values)
    np.testing.assert_allclose(out, want)


@pytest.mark.parametrize(
    "index",
    [
        "(slice(None), I, J)",
        "(I, slice(None), J)",
        "(I, J)",
        "(slice(None), M)",
        "(I[:, None], J)",
        "(B, I)",
    ],
)
def test_adding_through_mixed_indices(index):
    names = {
        "I": RNG.integers(0, 3, 5),
        "J": RNG.integers(0, 3, 5),
        "M": RNG.random((3, 3)) > 0.5,
        "B": np.array([True, False, True]),
    }
    names["I"] = names["I"][:2] if "B" in index else names["I"]
    index = eval(index, names)
    out, want = np.zeros((3, 3, 3)), np.zeros((3, 3, 3))
    values = RNG.standard_normal(out[index].shape)
    scatter.add_at(out, index, values)
    np.add.at(want, index, values)
    np.testing.assert_allclose(out, want)


def test_refused_assignments_change_nothing():
    x = torch.arange(6.0).reshape(2, 3)
    for write in (
        lambda: x.__setitem__(torch.tensor([0, 5]), 1.0),
        lambda: x.__setitem__(0, torch.zeros(4)),
        lambda: x.index_add_(0, torch.tensor([0, 7]), torch.ones(2, 3)),
        lambda: x.scatter_(1, torch.tensor([[0, 9]]), 1.0),
        lambda: x.index_put_((torch.tensor([1]),), torch.tensor([1])),
        lambda: x.masked_fill_(torch.tensor([True, False]), 1.0),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            write()
    assert x.flatten().tolist() == [0, 1, 2, 3, 4, 5] and x._version == 0


def test_error_names_index_and_dimension():
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 1 with size 3"):
        torch.zeros(2, 3)[0, 7]
    with pytest.raises(IndexError, match=r"The shape of the mask \[3\] at index 0 does not match"):
        torch.zeros(2, 3)[torch.tensor([True, False, True])]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 2"):
        torch.zeros(2, 3)[0, 0, 0]


def test_a_slice_of_one_row_is_changed_in_place():
    x = torch.arange(6.0).view(3, 2)
    x[1:2] += 1
    x[1:2, 1:2] *= 2
    assert x.tolist() == [[0, 1], [3, 8], [4, 5]]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[1:2] = x.view(-1)[1:3]


@pytest.mark.parametrize("shape", [(4,), (2, 4), (3, 1), (2, 3, 4), (20, 30), (70, 70)])
def test_gather_of_few_and_of_many(shape):
    for x in (RNG.standard_normal(shape), RNG.standard_normal(shape[::-1]).T):
        for dim in range(-len(shape), len(shape)):
            picked = list(shape)
            picked[dim] = 3
            index = RNG.integers(0, shape[dim], picked)
            got = torch.gather(torch.from_numpy(x), dim, torch.from_numpy(index))
            assert np.array_equal(got.numpy(), np.take_along_axis(x, index, dim))
            for wrong in (-1, shape[dim]):
                bad = index.copy()
                bad.flat[-1] = wrong
                with pytest.raises(RuntimeError, match="out of bounds"):
                    torch.gather(torch.from_numpy(x), dim, torch.from_numpy(bad))


@pytest.mark.parametrize("diagonal", [-5, -1, 0, 1, 5])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (0, 3), (2, 2, 3)])
def test_triangles(shape, diagonal):
    x = RNG.standard_normal(shape)
    x.reshape(-1)[:1] = np.nan  # what is left out is 0, whatever it was
    for y in (x, x.swapaxes(-1, -2)):
        before = y.copy()
        t = torch.from_numpy(y)
        assert np.array_equal(t.tril(diagonal).numpy(), np.tril(y, diagonal), equal_nan=True)
        assert np.array_equal(t.triu(diagonal).numpy(), np.triu(y, diagonal), equal_nan=True)
        assert np.array_equal(y, before, equal_nan=True)


def test_an_index_tensor_of_one_element_picks_a_number_with_its_gradient():
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    at = torch.tensor(2)
    (x[1][at] * 3).backward()
    assert x.grad.nonzero().tolist() == [[1, 2]]
    x[at].sum().backward()
    assert x.grad[2].tolist() == [1.0, 1.0, 1.0, 1.0]
