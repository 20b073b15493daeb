"""Words of single refusals, which are PyTorch's."""

import pytest

import pellucid as torch

x, f64 = torch.eye(3), torch.eye(3, dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: x[0].stft(), "Tensor.stft() missing 1 required positional argument: 'n_fft'"),
        (
            lambda: x.unflatten(0, (1, 3), 5),
            "Tensor.unflatten() takes 3 positional arguments but 4 were given",
        ),
        (
            lambda: x.scatter(0, torch.zeros(3, 3, dtype=torch.int64), torch.tensor(2)),
            "scatter(): Expected self.dtype to be equal to src.dtype",
        ),
        (
            lambda: torch.cholesky_solve(x, f64),
            "Expected b and A to have the same dtype, but found b of type Float and A of type Double instead.",
        ),
        (
            lambda: torch.triangular_solve(f64, x),
            "Expected b and A to have the same dtype, but found b of type Double and A of type Float instead.",
        ),
        (
            lambda: torch.nn.functional.scaled_dot_product_attention(f64, x, x),
            (
                "Expected query, key, and value to have the same dtype, but got query.dtype: double "
                "key.dtype: float and value.dtype: float instead."
            ),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_texts(call, text):
    with pytest.raises((TypeError, RuntimeError)) as info:
        call()
    assert str(info.value) == text
