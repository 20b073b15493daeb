"""Settings under the names of PyTorch's `torch._dynamo.config` and `torch._inductor.config`:
modules that only accept known attributes.

>>> import pellucid as torch
>>> torch._dynamo.config.suppress_errors = True
>>> torch._dynamo.config.supress_errors = True
Traceback (most recent call last):
    ...
AttributeError: torch._dynamo.config.supress_errors does not exist; close names: suppress_errors
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class Config(ModuleType):
    """A module of settings. Only the settings it was created with can be read and set; setting some
    of them has an effect.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        effects: Mapping[str, Callable[[Any], None]] | None = None,
    ) -> None:
        super().__init__(name, f"Settings that scripts make under the name `{name}`.")
        self.__dict__["_settings"] = {
            key: Config(f"{name}.{key}", value) if isinstance(value, Mapping) else value
            for key, value in settings.items()
        }
        self.__dict__["_first"] = copy.copy(self._settings)
        self.__dict__["_effects"] = dict(effects or {})

    def __getattr__(self, name: str) -> Any:
        settings = self.__dict__.get("_settings", {})
        if name in settings:
            return settings[name]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        close = difflib.get_close_matches(name, settings, n=3)
        raise AttributeError(
            f"{self.__name__}.{name} does not exist"
            + (f"; close names: {', '.join(close)}" if close else "")
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        getattr(self, name)  # raises if it does not exist
        self._settings[name] = value
        if name in self._effects:
            self._effects[name](value)

    def __dir__(self) -> list[str]:
        return [*self._settings, "patch", "get_config_copy"]

    def get_config_copy(self) -> dict[str, Any]:
        """All settings by name; those of a sub-module as "part.name"."""
        found: dict[str, Any] = {}
        for name, value in self._settings.items():
            if isinstance(value, Config):
                found.update(
                    {f"{name}.{key}": inner for key, inner in value.get_config_copy().items()}
                )
            else:
                found[name] = value
        return found

    def patch(self, changes: Any = None, value: Any = None, **named: Any) -> Any:
        """Change settings inside a block or a decorated function: `patch(name=value)`,
        `patch("part.name", value)`, `patch({...})`.
        """
        given = {changes: value} if isinstance(changes, str) else dict(changes or {})
        return self._patched({**given, **named})

    @contextmanager
    def _patched(self, changes: dict[str, Any]) -> Iterator[None]:
        before = {name: self._place(name) for name in changes}
        held = {name: getattr(part, key) for name, (part, key) in before.items()}
        for name, value in changes.items():
            part, key = before[name]
            setattr(part, key, value)
        try:
            yield
        finally:
            for name, value in held.items():
                part, key = before[name]
                setattr(part, key, value)

    def _place(self, name: str) -> tuple[Any, str]:
        part: Any = self
        *parts, key = name.split(".")
        for p in parts:
            part = getattr(part, p)
        return part, key

    def reset(self) -> None:
        """Restore the initial settings."""
        for name, value in self._first.items():
            if isinstance(value, Config):
                value.reset()
            elif self._settings[name] is not value:
                setattr(self, name, value)
