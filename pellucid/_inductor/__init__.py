"""Names of PyTorch's `torch._inductor` that scripts use: its settings, which are kept and change
nothing, and a few questions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import UnsupportedError
from . import config

__all__ = [
    "aot_compile",
    "aoti_compile_and_package",
    "aoti_load_package",
    "config",
    "cudagraph_mark_step_begin",
    "list_mode_options",
    "list_options",
    "standalone_compile",
]


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"torch._inductor.{name} is not supported: programs are compiled in the process that runs "
            "them, and no library of native code is written",
            hint="torch.compile compiles, and torch.export.save writes a program to a file",
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refuse: native code stays in the process."
    return refuse


aot_compile = _refusing("aot_compile")
aoti_compile_and_package = _refusing("aoti_compile_and_package")
aoti_load_package = _refusing("aoti_load_package")
standalone_compile = _refusing("standalone_compile")


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no graphs of a device."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The settings that a mode of `torch.compile` changes, by mode; for a mode, its own.

    >>> list_mode_options("default")
    {}
    """
    modes: dict[str, dict[str, Any]] = {
        "default": {},
        "lite": {},
        "reduce-overhead": {"triton.cudagraphs": True},
        "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
        "max-autotune": {
            "max_autotune": True,
            "triton.cudagraphs": True,
            "coordinate_descent_tuning": True,
        },
    }
    try:
        return modes if mode is None else modes[mode]
    except KeyError:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(modes)}"
        ) from None


def list_options() -> list[str]:
    """The names of the settings."""
    return [name for name in dir(config) if not name.startswith("_")]
