"""`torch.export.decomp_utils`: the table of functions that stand for operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import UnsupportedError

__all__ = ["CustomDecompTable"]


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """What `torch.export.default_decompositions()` gives: the functions that stand for operators.

    It holds those that a program puts there. Operators that PyTorch composes of others are always
    taken apart and have no entry, so none can be taken out.
    """

    def pop(self, key: Any, *default: Any) -> Any:
        """Take a function out.

        Raises:
            NotImplementedError: it is none that a program put there, so the operator cannot be kept.
        """
        if key not in self and not default:
            raise UnsupportedError(f"run_decompositions() cannot keep {key}")
        return super().pop(key, *default)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def copy(self) -> CustomDecompTable:
        """Another table with the same functions."""
        return CustomDecompTable(self)

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """The functions as a plain dictionary."""
        return dict(self)
