"""Functions of the root namespace `torch` for use in this package, which may not import the root."""

from __future__ import annotations

from typing import Any

from ..api import attach as _attach
from ..core.public import FUNCTIONS


class _Functions:
    """`T.empty` is the public function `empty`."""

    def __getattr__(self, name: str) -> Any:
        if name == "linalg":
            value: Any = _Namespace("linalg")
        else:
            value = FUNCTIONS["torch"].get(name)
            if value is None:
                raise AttributeError(f"there is no function torch.{name}")
        setattr(self, name, value)
        return value


class _Namespace:
    def __init__(self, name: str) -> None:
        self._table = FUNCTIONS[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._table[name]
        except KeyError:
            raise AttributeError(name) from None


T = _Functions()
_attach.publish(vars(T), "torch")  # so that function modes are asked here, too
attach = _attach
