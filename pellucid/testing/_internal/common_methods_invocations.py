"""`torch.testing._internal.common_methods_invocations`: PyTorch's database of operators, which is
not here.
"""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"torch.testing._internal.common_methods_invocations.{name}: PyTorch's database of operators is not part of Pellucid"
    )
