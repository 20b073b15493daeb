"""`torch.utils.model_zoo`: older names of functions of `torch.hub`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..api.attach import missing
from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


class _PlainBar:
    """What stands for tqdm's bar where that package is not there: it counts and shows nothing."""

    def __init__(self, iterable: Any = None, total: int | None = None, **options: Any) -> None:
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self) -> Any:
        for item in self.iterable:
            yield item
            self.update()

    def update(self, n: int = 1) -> None:
        """Count on."""
        self.n += n

    def close(self) -> None:
        """Nothing."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise missing("torch.utils.model_zoo", name, globals())
    try:
        return import_module("tqdm.auto").tqdm
    except ImportError:
        return _PlainBar
