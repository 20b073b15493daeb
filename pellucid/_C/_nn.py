"""Functions under the names that PyTorch's compiled module `torch._C._nn` has for them."""

from __future__ import annotations

from typing import Any

from ..api.origins import defined_in as _defined_in
from ..dtypes import device as _device
from ..nn.modules._convert import parse_to as _parsed

globals().update(_defined_in("torch._C._nn"))


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory format) of a call of `to`.

    Raises:
        TypeError: arguments that `to` does not take.
    """
    waits_not = bool(kwargs.get("non_blocking", False) or (len(args) > 1 and args[-1] is True))
    kind, where, layout = _parsed(args, dict(kwargs))
    return where if where is None else _device(where), kind, waits_not, layout
