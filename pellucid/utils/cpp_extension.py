"""`torch.utils.cpp_extension`: extensions in C++ are compiled against PyTorch's library and cannot
be loaded. Each name refuses when used.

Programs that try to build an extension and fall back to Python when that fails find the ImportError
or RuntimeError that they expect.
"""

from __future__ import annotations

import shutil
from typing import Any, NoReturn

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "SyclExtension",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"torch.utils.cpp_extension.{name} is not supported: an extension is compiled against PyTorch's C++ library, which is not here. "
        "Register the operation in Python with torch.library.custom_op, or use the library's own Python implementation."
    )


def load(name: str, sources: Any, *args: Any, **options: Any) -> NoReturn:
    """Refuse: there is no C++ library to build against."""
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **options: Any) -> NoReturn:
    """Refuse: there is no C++ library to build against."""
    _refuse("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **options: Any) -> NoReturn:  # noqa: N802
    """Refuse: there is no C++ library to build against."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **options: Any) -> NoReturn:  # noqa: N802
    """Refuse: there is no C++ library to build against."""
    _refuse("CUDAExtension")


def SyclExtension(name: str, sources: Any, *args: Any, **options: Any) -> NoReturn:  # noqa: N802
    """Refuse: there is no C++ library to build against."""
    _refuse("SyclExtension")


class BuildExtension:
    """A setup script names this class; building with it is refused."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The class itself: options of a build that does not take place."""
        return cls


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> NoReturn:
    """Refuse: there are no headers."""
    _refuse("include_paths")


def library_paths(
    device_type: str = "cpu",
    torch_include_dirs: bool = True,
    cross_target_platform: str | None = None,
) -> NoReturn:
    """Refuse: there are no libraries."""
    _refuse("library_paths")


def is_ninja_available() -> bool:
    """Whether the program ninja is on the path."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise where ninja is missing."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
