"""torch.segment_reduce against PyTorch: values, gradients, refusals."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("initial", [None, 4, 0.5])
def test_values_and_gradients(reduce, initial):
    found = []
    for root in (torch, pellucid):
        x = root.tensor(
            [[1.0, 2.0], [3.0, 4.0], [4.0, 4.0], [5.0, 6.0], [0.0, 7.0]],
            dtype=root.float64,
            requires_grad=True,
        )
        out = root.segment_reduce(x, reduce, lengths=root.tensor([2, 0, 3]), initial=initial)
        (out * root.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
        found.append((out.detach().numpy(), x.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a)


def test_batches_by_lengths_and_offsets():
    for root in (torch, pellucid):
        x = root.arange(6.0).reshape(2, 3)
        for where in (
            {"lengths": root.tensor([[1, 2], [3, 0]])},
            {"offsets": root.tensor([[0, 1, 3], [0, 3, 3]])},
        ):
            assert root.segment_reduce(x, "sum", axis=1, **where).tolist() == [
                [0.0, 3.0],
                [12.0, 0.0],
            ]
        # The first offset need not be 0, nor the last one the end.
        assert root.segment_reduce(
            root.arange(6.0), "sum", offsets=root.tensor([2, 3, 5])
        ).tolist() == [2.0, 7.0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "Either lengths or offsets must be defined"),
        (
            {"reduce": "foo", "lengths": [2]},
            "reduce argument must be either sum, prod, mean, amax or amin, got foo",
        ),
        ({"lengths": [1]}, "Expected all rows of lengths along axis to sum to"),
        ({"lengths": [3, -1]}, "lengths contains negative value!"),
        (
            {"lengths": [2], "axis": 1},
            "Expected axis to be the last dimension of lengths but got 1",
        ),
    ],
)
def test_refusals(how, message):
    for root in (torch, pellucid):
        given = {k: root.tensor(v) if k == "lengths" else v for k, v in how.items()}
        with pytest.raises(RuntimeError, match=message):
            root.segment_reduce(root.ones(2, 3), given.pop("reduce", "sum"), **given)


def test_nothing_to_reduce():
    for root in (torch, pellucid):
        assert root.segment_reduce(root.zeros(0), "max", lengths=root.tensor([0, 0])).tolist() == [
            -np.inf,
            -np.inf,
        ]


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("initial", [None, 2.0])
def test_nan_and_zeros_have_the_gradients_of_pytorch(reduce, initial):
    found = []
    for root in (torch, pellucid):
        x = root.tensor([1.0, float("nan"), 3.0, 0.0, 5.0, 5.0, 0.0], requires_grad=True)
        out = root.segment_reduce(x, reduce, lengths=root.tensor([1, 2, 0, 4]), initial=initial)
        out.sum().backward()
        found.append((out.tolist(), x.grad.tolist()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(b, a)


@pytest.mark.filterwarnings("error")
def test_no_warning_of_another_function():
    pellucid.segment_reduce(pellucid.ones(3), "max", lengths=pellucid.tensor([1, 2]))


def test_a_zero_in_a_long_segment():
    """Each other element's gradient is zero, that of the zero the product of 100,000 others."""
    x = np.random.default_rng(1).uniform(0.5, 1.7, 100_001)
    x[777] = 0
    grads = []
    for library in (torch, pellucid):
        leaf = library.tensor(x, requires_grad=True)
        lengths = library.tensor([1_000, 99_001])
        library.segment_reduce(leaf, "prod", lengths=lengths).log1p().sum().backward()
        grads.append(leaf.grad.numpy())
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-9)
    assert np.count_nonzero(grads[1][:1_000]) == 1
