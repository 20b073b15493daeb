"""Where the storages of a file go: what belongs to which device, and functions that users add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.meta import MetaArray
from ..ops.shape.storage import UntypedStorage
from ._rebuild import shown

Tagger = Callable[[Any], str | None]
Restorer = Callable[[Any, str], Any]
# (priority, what tags a storage, what takes a storage to where a tag says), lowest priority first
PACKAGES: list[tuple[int, Tagger, Restorer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Restorer) -> None:
    """Have functions asked where storages belong, before those with a larger `priority`.

    Args:
        tagger: gives a storage's tag, None where it is not its own.
        deserializer: gives the storage in the place of a tag, None for the tags of others.

    Example:
        >>> import pellucid as torch
        >>> kept = PACKAGES.copy()
        >>> to_cpu = lambda storage, tag: storage if tag.startswith("npu") else None
        >>> torch.serialization.register_package(11, lambda storage: None, to_cpu)
        >>> torch.serialization.default_restore_location(torch.UntypedStorage(2), "npu:0").nbytes()
        2
        >>> PACKAGES[:] = kept
    """
    PACKAGES.append((priority, tagger, deserializer))
    PACKAGES.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The name of the place where a storage is.

    >>> import pellucid as torch
    >>> torch.serialization.location_tag(torch.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in PACKAGES:
        tag = tagger(storage)
        if tag:
            return tag
    return str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage in the place that a tag names.

    Raises:
        RuntimeError: there is no such place.

    >>> import pellucid as torch
    >>> torch.serialization.default_restore_location(torch.UntypedStorage(4), "meta").device
    device(type='meta')
    """
    for _, _, deserializer in PACKAGES:
        found = deserializer(storage, location)
        if found is not None:
            return found
    kind = location.partition(":")[0]
    if kind == "cpu":
        return storage
    if kind == "meta":
        return UntypedStorage(MetaArray((storage.nbytes(),), np.uint8))
    if kind in ("cuda", "mps", "xpu", "hpu"):
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. If you are running "
            "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {shown(location)})"
    )


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages of a name such as `torch.FloatStorage`."""
    return storage_type
