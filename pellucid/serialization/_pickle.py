"""Pickle's reader and writer as they are written in Python, whose parts subclasses replace.

Type checkers are told here of the parts that the stubs of `pickle` leave out.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:

    class Pickler(pickle._Pickler):
        dispatch: ClassVar[dict[Any, Callable[..., Any]]]
        memo: dict[int, tuple[int, Any]]
        write: Callable[[bytes], object]

        def get(self, i: int) -> bytes: ...
        def memoize(self, obj: Any) -> None: ...
        def save(self, obj: Any, save_persistent_id: bool = True) -> None: ...
        def save_global(self, obj: Any, name: str | None = None) -> None: ...
        def save_reduce(self, func: Any, args: tuple[Any, ...]) -> None: ...
        def save_type(self, obj: Any) -> None: ...

    class Unpickler(pickle._Unpickler):
        dispatch: ClassVar[dict[int, Callable[..., Any]]]
        stack: list[Any]
        append: Callable[[Any], None]

        def load_build(self) -> None: ...
        def pop_mark(self) -> list[Any]: ...

else:
    Pickler, Unpickler = pickle._Pickler, pickle._Unpickler
