"""`torch.ao.quantization.quantize_fx`: quantization of traced models, which is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import UnsupportedError


def _refusing(name: str) -> None:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"torch.ao.quantization.quantize_fx.{name} is not supported",
            hint="prepare and convert of torch.ao.quantization are",
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Not supported: always raises an error."
    globals()[name] = refused


for _name in (
    "prepare_fx",
    "prepare_qat_fx",
    "convert_fx",
    "convert_to_reference_fx",
    "fuse_fx",
    "quantize_fx",
):
    _refusing(_name)
