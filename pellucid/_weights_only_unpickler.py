"""`torch._weights_only_unpickler`: the unpickler of `torch.load(weights_only=True)`, and what it
allows.
"""

from __future__ import annotations

from typing import Any

from .serialization import add_safe_globals as _add_safe_globals  # noqa: F401 (PyTorch's name)
from .serialization import clear_safe_globals as _clear_safe_globals  # noqa: F401 (PyTorch's name)
from .serialization import get_safe_globals as _get_safe_globals  # noqa: F401 (PyTorch's name)
from .serialization import names_in as _names_in
from .serialization import safe_globals as _safe_globals  # noqa: F401 (PyTorch's name)
from .serialization._restricted import ALLOWED as _ALLOWED
from .serialization._restricted import SAFE as _SAFE
from .serialization._restricted import SafeUnpickler as Unpickler
from .serialization._restricted import UnpicklingError as UnpicklingError

__all__ = ["Unpickler", "UnpicklingError", "get_globals_in_pkl", "load"]


def get_globals_in_pkl(file: Any) -> set[str]:
    """The names of the functions and classes in a pickle.

    >>> import io, pickle
    >>> from pellucid._weights_only_unpickler import get_globals_in_pkl
    >>> get_globals_in_pkl(io.BytesIO(pickle.dumps(print, protocol=2)))
    {'__builtin__.print'}
    """
    return {f"{module}.{name}" for module, name in _names_in(file.read())}


def load(file: Any, *, encoding: str = "ASCII") -> Any:
    """What a pickle holds, if it consists of plain containers and allowed names.

    >>> import io, pickle
    >>> from pellucid._weights_only_unpickler import load
    >>> load(io.BytesIO(pickle.dumps({"epoch": 3}, protocol=2)))
    {'epoch': 3}
    """
    return Unpickler(file, encoding=encoding).load()


def _get_allowed_globals() -> dict[str, Any]:
    """What may stand in every file, by name."""
    return {f"{module}.{name}": value for (module, name), value in _ALLOWED.items()}


def _get_user_allowed_globals() -> dict[str, Any]:
    """What the program has allowed, by name."""
    return dict(_SAFE)
