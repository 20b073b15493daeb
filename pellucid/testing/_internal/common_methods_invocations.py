"""`torch.testing._internal.common_methods_invocations`: PyTorch's database of operators, which is
not here.
"""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


class NotHere(AttributeError, NotImplementedError):
    """Says that a name is PyTorch's and not here; `hasattr` and `getattr` take it as usual."""


def __getattr__(name: str) -> Any:
    raise NotHere(
        f"torch.testing._internal.common_methods_invocations.{name}: PyTorch's database of operators is not part of Pellucid"
    )
