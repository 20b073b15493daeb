"""What PyTorch warns of around TorchScript: that it is deprecated, and what a trace does not see."""

from __future__ import annotations

import warnings
from typing import Any

from ..errors import warn
from ..overrides import TorchFunctionMode


def deprecated(name: str, instead: str = "switch to `torch.compile` or `torch.export`") -> None:
    """Warn that a function of `torch.jit` is deprecated: at a line of the library, as PyTorch does,
    so that Python shows it only where somebody asks for such warnings.
    """
    text = f"`torch.jit.{name}` is deprecated. Please {instead}."
    warnings.warn(text, DeprecationWarning, stacklevel=1)


class TracerWarning(Warning):
    """A trace may not hold for other inputs."""

    __module__ = f"{__package__}._trace"

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Leave out the warnings that come from PyTorch's own modules; here there are none."""


_CONVERTED = {
    "__bool__": "boolean",
    "__int__": "integer",
    "__index__": "index",
    "__float__": "float",
    "__complex__": "complex",
    "item": "number",
    "tolist": "list",
}
_CONSTANTS = ("tensor", "as_tensor", "from_numpy")
_SHAPES = {
    "__iter__": (
        "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't change the number of "
        "iterations executed (and might lead to errors or silently give incorrect results)."
    ),
    "__len__": (
        "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be tensor.shape[0]. Passing a "
        "tensor of different shape might lead to errors or silently give incorrect results."
    ),
}


class LeavingTensors(TorchFunctionMode):
    """While a function is traced: warns where its values leave the tensors."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in _CONVERTED or name in ("numpy", "__array__"):
            what = f"Python {_CONVERTED[name]}" if name in _CONVERTED else "NumPy array"
            warn(
                f"Converting a tensor to a {what} might cause the trace to be incorrect. We can't record the data flow of Python values, "
                "so this value will be treated as a constant in the future. This means that the trace might not generalize to other "
                "inputs!",
                TracerWarning,
            )
        elif name in _SHAPES:
            warn(_SHAPES[name], TracerWarning)
        elif name in _CONSTANTS:
            warn(
                f"torch.{name} results are registered as constants in the trace. You can safely ignore this warning if you use this "
                "function to create tensors out of constant variables that would be the same every time you call this function. In "
                "any other case, this might cause the trace to be incorrect.",
                TracerWarning,
            )
        return func(*args, **(kwargs or {}))
