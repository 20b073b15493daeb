"""Words of single refusals, which are PyTorch's."""

import subprocess
import sys

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


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.histc(torch.arange(3), 3),
            NotImplementedError,
            "\"histogram_cpu\" not implemented for 'Long'",
        ),
        (
            lambda: torch.histogram(torch.ones(3), 2, range=(4.0, 0.5)),
            RuntimeError,
            "torch.histogramdd: min should not exceed max, but got min 4 max 0.5 for dimension 0",
        ),
        (
            lambda: torch.histogram(torch.tensor([1.0, float("inf")]), 2),
            RuntimeError,
            "torch.histogramdd: dimension 0's range [1, inf] is not finite",
        ),
        (
            lambda: torch.tensor([1, 2]).repeat_interleave(torch.tensor([1.0, 2.0])),
            NotImplementedError,
            "\"repeat_interleave_cpu\" not implemented for 'Float'",
        ),
    ],
)
def test_counts_and_histograms_of_other_types(call, kind, text):
    with pytest.raises(kind) as info:
        call()
    assert str(info.value) == text


def test_words_stay_when_a_kind_of_tensor_is_loaded_after_the_first_error():
    code = """
import warnings
import pellucid as torch
for _ in range(2):
    try:
        torch.nn.functional.relu(None)
    except TypeError as error:
        print(error)
    warnings.simplefilter("ignore")
    torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == second == "relu(): argument 'input' (position 1) must be Tensor, not NoneType"
