"""Python numbers where a dtype is given: what does not fit is refused, with PyTorch's words,
wherever a number may stand.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pellucid as torch

NAN, INF = float("nan"), float("inf")
NAMES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int32": "int",
    "int64": "int64_t",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "complex64": "c10::complex<float>",
}
FILLS: dict[str, Callable[[torch.dtype, complex], torch.Tensor]] = {
    "full": lambda dtype, value: torch.full((1,), value, dtype=dtype),
    "full_like": lambda dtype, value: torch.full_like(torch.zeros(1, dtype=dtype), value),
    "fill_": lambda dtype, value: torch.zeros(1, dtype=dtype).fill_(value),
    "fill_diagonal_": lambda dtype, value: torch.zeros(1, 1, dtype=dtype).fill_diagonal_(value),
    "masked_fill": lambda dtype, value: torch.zeros(1, dtype=dtype).masked_fill(
        torch.tensor([True]), value
    ),
    "scatter": lambda dtype, value: torch.zeros(1, dtype=dtype).scatter(
        0, torch.tensor([0]), value
    ),
    "index_fill": lambda dtype, value: torch.zeros(1, dtype=dtype).index_fill(
        0, torch.tensor([0]), value
    ),
    "constant_pad_nd": lambda dtype, value: torch.constant_pad_nd(
        torch.zeros(0, dtype=dtype), (1, 0), value
    ),
}


@pytest.mark.parametrize("fill", list(FILLS))
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("uint8", 256), ("uint8", -256), ("uint8", -1.0), ("uint8", 255.5), ("int8", 127.5), ("int8", -129), ("int32", 1e10), ("int64", NAN),
        ("int64", -INF), ("int64", 1e19), ("float16", 65520), ("float16", -1e10), ("bfloat16", 1e40), ("float32", 3.5e38),
        ("complex64", 1e40),
    ],
)  # fmt: skip
def test_a_number_that_its_dtype_does_not_hold_is_refused(
    fill: str, dtype: str, value: complex
) -> None:
    with pytest.raises(
        RuntimeError, match=f"value cannot be converted to type {NAMES[dtype]} without overflow"
    ):
        FILLS[fill](getattr(torch, dtype), value)


@pytest.mark.parametrize("fill", list(FILLS))
def test_numbers_that_fit(fill: str) -> None:
    made = FILLS[fill]
    assert (
        made(torch.uint8, -255).item() == 1
        and made(torch.int8, 127.0).item() == 127
        and made(torch.bool, NAN).item() is True
    )
    assert (
        made(torch.float16, INF).item() == INF
        and made(torch.float16, NAN).isnan()
        and made(torch.float16, 65504).item() == 65504
    )
    assert (
        made(torch.bfloat16, 1 << 63).item() == 2.0**63
        and made(torch.complex64, 1e30).item() == torch.tensor(1e30).item()
    )
    for value in (1 << 64, -(1 << 70)):
        with pytest.raises(
            OverflowError,
            match="int too big to convert"
            if value > 0
            else "can't convert negative int to unsigned",
        ):
            made(torch.float32, value)


@pytest.mark.parametrize(
    "index", [0, torch.tensor([0]), torch.tensor([True])], ids=["number", "indices", "mask"]
)
def test_numbers_that_are_assigned(index: object) -> None:
    def assigned(dtype: torch.dtype, value: complex) -> torch.Tensor:
        x = torch.zeros(1, dtype=dtype)
        x[index] = value
        return x

    for dtype, value in (
        (torch.int8, 127.5),
        (torch.uint8, 1e10),
        (torch.int64, NAN),
        (torch.float32, 1e40),
        (torch.complex64, 1e40),
    ):
        with pytest.raises(RuntimeError, match="value cannot be converted to type"):
            assigned(dtype, value)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        assigned(torch.int8, 1 << 63)
    # In two-byte floats the number is a tensor first, which is then converted.
    assert (
        assigned(torch.float16, 1e10).item()
        == assigned(torch.bfloat16, 1e40).item()
        == assigned(torch.float32, INF).item()
        == INF
    )
    assert (
        assigned(torch.uint8, -1).item() == 255
        and assigned(torch.int8, 1.9).item() == 1
        and assigned(torch.bool, 5).item() is True
    )


def test_numbers_of_where_clamp_and_tensor() -> None:
    keep = torch.tensor([False])
    assert torch.where(keep, torch.zeros(1, dtype=torch.uint8), -1).item() == 255
    assert torch.where(keep, torch.zeros(1, dtype=torch.float16), 1e10).item() == INF
    for dtype, value in ((torch.uint8, 300), (torch.float32, 1e40), (torch.int64, 1e40)):
        with pytest.raises(RuntimeError, match="value cannot be converted to type"):
            torch.where(keep, torch.zeros(1, dtype=dtype), value)
    for dtype, value in ((torch.float16, 1e10), (torch.float32, 1e40), (torch.int8, 300)):
        with pytest.raises(RuntimeError, match="value cannot be converted to type"):
            torch.ones(1, dtype=dtype).clamp(value)
    for name, value in (
        ("uint8", 256),
        ("uint8", -1.0),
        ("int8", 127.5),
        ("int32", NAN),
        ("int64", 1e19),
        ("int16", [1, 1 << 20]),
    ):
        with pytest.raises(
            RuntimeError, match=f"value cannot be converted to type {name} without overflow"
        ):
            torch.tensor(value, dtype=getattr(torch, name))
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor([1 << 63], dtype=torch.int64)
    assert torch.tensor([-255, 255], dtype=torch.uint8).tolist() == [1, 255]


def test_tensors_of_one_number_that_do_not_fit() -> None:
    x, large = torch.zeros(1, dtype=torch.int8), torch.tensor(300)
    for call in (
        lambda: x.masked_fill(x == 0, large),
        lambda: x.index_fill(0, torch.tensor([0]), large),
        lambda: x.__setitem__(x == 0, large),
    ):
        with pytest.raises(
            RuntimeError, match="value cannot be converted to type int8_t without overflow"
        ):
            call()
    assert x.fill_(large).item() == 44
    with pytest.raises(
        RuntimeError,
        match=r"index_fill_\(\): Converting complex Scalar to non-complex type is not supported",
    ):
        x.index_fill(0, torch.tensor([0]), 1j)
    with pytest.raises(RuntimeError, match="Index has to be a vector/scalar"):
        x.index_fill(0, torch.tensor([[0]]), 1)
    with pytest.raises(TypeError, match="received an invalid combination of arguments"):
        x.index_fill(0, torch.tensor([0]), None)
