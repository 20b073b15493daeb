"""`torch.package`: PyTorch's archives of code and models together, which are not supported.
`torch.save` and `torch.load` are there for models.
"""

from __future__ import annotations

from typing import Any


class _Refusing:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"torch.package.{type(self).__name__} is not supported: save the state_dict with torch.save, and keep the code in a package"
        )


class PackageExporter(_Refusing):
    """Refuses by name."""


class PackageImporter(_Refusing):
    """Refuses by name."""


class PackagingError(Exception):
    """What an export that fails raises."""


class EmptyMatchError(Exception):
    """What a pattern that matches nothing raises."""


def is_from_package(obj: Any) -> bool:
    """Whether an object comes from such an archive: no."""
    return False
