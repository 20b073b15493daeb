"""The inspection functions of the array API standard: what `xp.__array_namespace_info__()` returns.

Source: the array API standard, versions 2023.12 and 2024.12, section "Inspection".
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...core.public import FUNCTIONS
from ...devices import device

_BY_KIND: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_BY_KIND["integral"] = _BY_KIND["signed integer"] + _BY_KIND["unsigned integer"]
_BY_KIND["numeric"] = (
    _BY_KIND["integral"] + _BY_KIND["real floating"] + _BY_KIND["complex floating"]
)


class Info:
    """What the namespace can do, its devices and its dtypes.

    Example:
        >>> import pellucid as torch
        >>> info = torch.ones(1).__array_namespace__().__array_namespace_info__()
        >>> info.devices()
        [device(type='cpu')]
        >>> info.default_dtypes()["real floating"]
        torch.float32
        >>> sorted(info.dtypes(kind="real floating"))
        ['float32', 'float64']
    """

    def capabilities(self) -> dict[str, Any]:
        """`{"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}`."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """The device that new tensors are made on."""
        found: device = FUNCTIONS["torch"]["get_default_device"]()
        return found

    def devices(self) -> list[device]:
        """The devices there are: the CPU."""
        return [device("cpu")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtypes.dtype]:
        """The dtypes of new tensors of floats, complex numbers, integers and indices."""
        real = dtypes.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": dtypes.complex128 if real is dtypes.float64 else dtypes.complex64,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, dtypes.dtype]:
        """The dtypes of a kind ("bool", "signed integer", "real floating", ...), of several kinds,
        or all (None), by name.

        Raises:
            ValueError: the standard has no such kind.
        """
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        if unknown := [k for k in kinds if k not in _BY_KIND]:
            raise ValueError(f"unsupported kind: {unknown[0]!r}")
        return {
            name: getattr(dtypes, "bool_" if name == "bool" else name)
            for k in kinds
            for name in _BY_KIND[k]
        }
