"""Calls that PyTorch refuses with a message of its own, which must not come out as errors of the
implementation.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("name", ["item", "cfloat", "double"])
def test_methods_called_on_something_else(name):
    with pytest.raises(
        TypeError,
        match=f"^descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a 'str' object",
    ):
        getattr(torch.Tensor, name)("text")


def test_kernels_that_half_complex_numbers_lack():
    with pytest.raises(NotImplementedError, match='^"exp_vml_cpu" not implemented for \'Complex'):
        torch.ones(2).chalf().exp()


@pytest.mark.parametrize(
    ("x", "weight", "message"),
    [
        ((2, 2, 3), (4, 3), "expected input with dimensionality 1 or 2, got 3"),
        ((2, 3), (3,), "expected linear_weight with dimensionality at least 2, got 1"),
        ((2, 3), (4, 5), "expected equal input and linear_weight last dimensions"),
        ((3,), (2, 4, 3), "K-dimensional loss defined by linear_weight shape"),
    ],
)
def test_linear_cross_entropy_shapes(x, weight, message):
    with pytest.raises(RuntimeError, match="^" + message):
        F.linear_cross_entropy(
            torch.zeros(x), torch.zeros(weight), torch.zeros(2, dtype=torch.int64)
        )


def test_gather_from_a_number_is_a_number():
    for _ in range(2):  # in NumPy's way, and in the way of programs in which native code runs
        assert torch.gather(torch.tensor(2.0), 0, torch.tensor(0)).shape == ()
        assert torch.gather(torch.ones(3), 0, torch.tensor(1)).shape == ()
        assert torch.gather(torch.tensor(2.0), -1, torch.tensor([0])).shape == (1,)
        assert torch.gather(torch.ones(2), 0, torch.tensor([1])).shape == (1,)
        torch.gather(torch.ones(300, 30), 0, torch.zeros(300, 30, dtype=torch.int64))


@pytest.mark.parametrize("dim", [2, -1])
def test_the_message_of_split_has_the_dimension_that_was_given(dim):
    x = torch.zeros(1, 2, 3)
    for call in (
        lambda: torch.split(x, [1, 1], dim),
        lambda: x.split_with_sizes([1, 1], dim),
        lambda: torch.unsafe_split_with_sizes(x, [1, 1], dim),
    ):
        with pytest.raises(RuntimeError, match=rf"at dimension {dim}\)"):
            call()
