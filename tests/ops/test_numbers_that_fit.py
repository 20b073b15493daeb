"""Numbers that become elements: they fit the dtype, or it is said."""

import pytest

import pellucid as torch

BYTES = torch.tensor([200, 180, 3], dtype=torch.uint8)


@pytest.mark.parametrize(
    "write",
    [
        lambda u: u.map_(u, lambda a, b: a + b),
        lambda u: u.apply_(lambda a: a + 100),
        lambda u: torch.nn.functional.threshold(u, 2, 300),
        lambda u: torch.nn.functional.threshold(u, -0.5, 1),
        lambda u: torch.nn.functional.threshold(u, 2, -256),
    ],
)
def test_bytes_that_overflow(write):
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type uint8_t without overflow"
    ):
        write(BYTES.clone())


def test_negative_bytes_count_from_the_end():
    assert BYTES.clone().apply_(lambda a: -a).tolist() == [56, 76, 253]
    assert torch.nn.functional.threshold(BYTES, 180, -1).tolist() == [200, 255, 255]


@pytest.mark.parametrize(
    "value", [torch.ones(1), torch.ones(2), torch.ones((), requires_grad=True)]
)
def test_only_plain_scalars_are_numbers(value):
    for name, fill in (
        ("full", lambda: torch.full((2,), value)),
        ("full_like", lambda: torch.full_like(torch.zeros(2), value)),
        ("new_full", lambda: torch.zeros(2).new_full((2,), value)),
    ):
        with pytest.raises(TypeError) as error:
            fill()
        assert (
            str(error.value).splitlines()[0]
            == f"{name}(): argument 'fill_value' (position 2) must be Number, not Tensor"
        )
    assert torch.full((2,), torch.tensor(3)).tolist() == [3, 3]


def test_a_step_that_is_no_number():
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(1, 3, float("nan"))
    assert torch.arange(1, 3, float("inf")).numel() in (0, 1)


def test_a_sparse_scalar_is_dense_again():
    assert torch.tensor(2.0).to_sparse().to_dense().item() == 2.0
    assert torch.tensor(0.0).to_sparse().to_dense().item() == 0.0


def test_singular_matrices_have_no_compact_factorisation():
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(RuntimeError, match=r"torch.linalg.lu_factor: U\[2,2\] is zero"):
        torch.linalg.lu_factor(singular)
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[2,2\] is zero"):
        torch.linalg.lu_factor(torch.stack([torch.eye(2), singular]))
    assert torch.linalg.lu_factor_ex(singular).info.item() == 2


def test_the_determinant_of_what_is_not_finite_has_a_gradient():
    for bad in (float("nan"), float("inf")):
        x = torch.stack([torch.eye(2), torch.tensor([[1.0, bad], [0.0, 1.0]])]).requires_grad_()
        torch.linalg.det(x).sum().backward()
        assert torch.allclose(x.grad[0], torch.eye(2))
        assert x.grad[1].isnan().all()


def test_a_level_between_two_numbers_of_two_bytes_is_not_rounded():
    x = torch.tensor([0.1], dtype=torch.bfloat16, requires_grad=True)  # which is more than 0.1
    y = torch.nn.functional.threshold(x, 0.1, 20.0)
    y.sum().backward()
    assert y.item() == x.item() and x.grad.item() == 1.0
    half = torch.tensor([0.1], dtype=torch.float16)  # which is less
    assert torch.nn.functional.threshold(half, 0.1, 20.0).item() == 20.0
