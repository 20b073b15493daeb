"""Python's number types as `dtype=` arguments: `float` is float64, `int` int64, `bool` bool."""

import pytest

import pellucid as torch

X, I = torch.tensor([1.5, 2.0]), torch.tensor([1, 2])
CALLS = {
    "tensor": lambda k: torch.tensor([1, 0], dtype=k),
    "as_tensor": lambda k: torch.as_tensor(I, dtype=k),
    "asarray": lambda k: torch.asarray([1, 0], dtype=k),
    "scalar_tensor": lambda k: torch.scalar_tensor(1, dtype=k),
    "frombuffer": lambda k: torch.frombuffer(bytearray(8), dtype=k),
    "zeros": lambda k: torch.zeros(2, dtype=k),
    "new_tensor": lambda k: X.new_tensor([1], dtype=k),
    "to": lambda k: X.to(k),
    "to(device, dtype)": lambda k: X.to("cpu", k),
    "to(dtype=)": lambda k: X.to(dtype=k),
    "sum": lambda k: X.sum(dtype=k),
    "prod": lambda k: I.prod(dtype=k),
    "nansum": lambda k: X.nansum(dtype=k),
    "view": lambda k: I.view(k),
    "promote_types": lambda k: torch.empty(0, dtype=torch.promote_types(k, torch.bool)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("kind", "dtype"), [(float, torch.float64), (int, torch.int64), (bool, torch.bool)]
)
def test_a_number_type_is_a_dtype(name, kind, dtype):
    assert CALLS[name](kind).dtype is dtype


def test_where_only_floats_go():
    assert (
        torch.softmax(X, 0, float).dtype
        is torch.norm(X, dtype=float).dtype
        is X.mean(dtype=float).dtype
        is torch.float64
    )
    assert torch.nn.Linear(1, 1).to(float).weight.dtype is torch.float64
    assert torch.finfo(float).bits == torch.iinfo(int).bits == 64
    with pytest.raises(
        TypeError,
        match="nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64",
    ):
        torch.nn.Linear(1, 1).to(int)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.tensor(1, dtype=str),
        lambda: torch.zeros(1, dtype="float32"),
        lambda: X.to(str),
    ],
)
def test_other_types_are_not(call):
    with pytest.raises(TypeError):
        call()
