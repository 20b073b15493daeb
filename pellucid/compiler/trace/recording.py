"""State shared by the parts of a tracer."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ...core.tensor import Tensor
from ...ir import Buffer, Program, Value
from .refusal import Refusal


@dataclass(slots=True, frozen=True, eq=False)
class NumberInput:
    """An input of the program that each call computes from the numbers at `positions`."""

    buffer: Buffer
    compute: Callable[[list[Any]], Any]
    positions: list[int]
    dtype: np.dtype

    def array(self, numbers: list[Any]) -> ndarray:
        """The input for a call, as an array without dimensions."""
        return np.asarray(self.compute([numbers[k] for k in self.positions]), self.dtype)


class Recording:
    """Declarations of what the parts of a tracer use of the whole. `Tracer` documents and creates
    it.
    """

    _clearing: bool
    _operands: dict[tuple[int, Any], tuple[Any, Tensor]]
    begun: dict[int, tuple[Any, dict[Any, Any], dict[Any, Any]]]
    changed: Callable[[], bool]
    changes: Any
    compares_types: Callable[[], bool]
    cleared: set[int]
    computed: list[NumberInput]
    count: int
    given: dict[Buffer, int]
    inside: Any
    needs_grad: dict[int, bool]
    numbers: list[weakref.ref[Any]]
    outside: bool
    partial: list[tuple[Callable[[list[Any]], Any], list[int]]]
    phase: str
    program: Program
    stepped: dict[int, list[list[tuple[int, dict[str, Any]]]]]
    whole: bool
    witness: Any

    if TYPE_CHECKING:

        @property
        def recording(self) -> bool: ...

        thread: int

        def own(self, place: Value, target: ndarray) -> Value: ...
        def copy(self, target: ndarray, array: ndarray) -> None: ...
        def lookup(self, array: ndarray) -> Value | None: ...
        def tree(self, value: Any, what: str, live: bool = False) -> Any: ...
        def declare(self, array: ndarray, kind: str, name: str) -> Value: ...
        def paused(self) -> AbstractContextManager[None]: ...
        def refuse(self, reason: str, site: Any = None) -> None: ...
        def refused(self, refusal: Refusal) -> None: ...
        def site(self) -> Any: ...
        def value(self, array: ndarray, what: str = "") -> Value: ...
