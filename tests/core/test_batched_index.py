"""Index tensors under `vmap`: every place, batched or not, against the function run sample by
sample.
"""

import itertools

import pytest

import pellucid as torch
from pellucid.func import grad, vmap

X = torch.arange(5 * 4 * 3 * 2, dtype=torch.float64).reshape(5, 4, 3, 2)
I0 = torch.tensor([2, 0, 1, -1, 2])
I1 = torch.tensor([[0, 2], [1, 1], [2, 0], [-1, 0], [0, 0]])
PLAIN = torch.tensor([1, 0, 1])

PICKS = [
    lambda x, i, j: x[i],
    lambda x, i, j: x[..., i % 2],
    lambda x, i, j: x[i, i],
    lambda x, i, j: x[i, :, i % 2],
    lambda x, i, j: x[j],
    lambda x, i, j: x[:, j],
    lambda x, i, j: x[j, :, j % 2],
    lambda x, i, j: x[i, :, j % 2],
    lambda x, i, j: x[j, i],
    lambda x, i, j: x[:, i, j % 2],
    lambda x, i, j: x[:2, j, None],
    lambda x, i, j: x[PLAIN, j[0]],
    lambda x, i, j: x[1, j],
    lambda x, i, j: x[j.unsqueeze(1)],
    lambda x, i, j: x[i][j],
    lambda x, i, j: x[PLAIN, :, i % 2],
]


@pytest.mark.parametrize("number", range(len(PICKS)))
def test_index_by_samples(number):
    pick = PICKS[number]
    for dims in itertools.product((0, None), repeat=3):
        if dims == (None, None, None):
            continue
        whole = X if dims[0] == 0 else X[0]
        args = [whole, I0 if dims[1] == 0 else I0[0], I1 if dims[2] == 0 else I1[0]]
        result = vmap(pick, in_dims=dims)(*args)
        expected = torch.stack(
            [
                pick(*[a[k] if d == 0 else a for a, d in zip(args, dims, strict=True)])
                for k in range(5)
            ]
        )
        assert torch.equal(result, expected), dims


def test_index_by_two_levels_and_gradients():
    table = torch.randn(7, generator=torch.manual_seed(0), dtype=torch.float64).requires_grad_()
    rows, columns = torch.arange(4), torch.arange(3)
    both = vmap(vmap(lambda i, j: table[i - j + 3], in_dims=(None, 0)), in_dims=(0, None))(
        rows, columns
    )
    expected = table[rows[:, None] - columns + 3]
    assert torch.equal(both, expected)
    (both**2).sum().backward()
    counts = torch.bincount((rows[:, None] - columns + 3).flatten(), minlength=7)
    assert torch.allclose(table.grad, 2 * table.detach() * counts)
    each = vmap(grad(lambda t, i: t[i] * t[i + 1]), in_dims=(None, 0))(table.detach(), rows)
    assert torch.allclose(each[1, 1], table.detach()[2]) and each.shape == (4, 7)


def test_an_index_outside_is_refused():
    with pytest.raises(IndexError, match="out of bounds"):
        vmap(lambda i: torch.ones(3)[i])(torch.tensor([0, 3]))
