"""Arguments that share memory, such as `data[:, :-1]` and `data[:, 1:]`, as views of one buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from ...arrays.numpy_cpu import address
from ..trace.arrays import bounds, memory_of, owner
from .memory import stretch

if TYPE_CHECKING:
    from ...ir.program import Value
    from ..trace.tracer import Tracer


class Sharing:
    """Which arguments of a call share memory, and at which distances. Arguments that overlap no
    other one are inputs by themselves.
    """

    def __init__(self, arrays: list[ndarray]) -> None:
        groups: list[list[int]] = []
        for k, a in enumerate(arrays):
            near = [g for g in groups if any(np.may_share_memory(a, arrays[j]) for j in g)]
            groups = [g for g in groups if all(g is not n for n in near)]
            groups.append([*[j for g in near for j in g], k])
        self.groups = sorted(groups)
        self.shared = [g for g in self.groups if len(g) > 1]
        self.strange = any(
            owner(arrays[j]) is not owner(arrays[g[0]]) for g in self.shared for j in g
        )
        self.extents = [_extent([arrays[j] for j in g]) for g in self.shared]

    def declare(self, tracer: Tracer, arrays: list[ndarray]) -> list[Value]:
        """Declare the arguments; each gets a value in its own buffer, or in that of its group."""
        values: dict[int, Value] = {}
        for group in self.groups:
            names = [f"x{k}" if len(arrays) > 1 else "x" for k in group]
            found = tracer.declare_together([arrays[k] for k in group], names)
            values.update(zip(group, found, strict=True))
        return [values[k] for k in range(len(arrays))]

    def given(self, arrays: list[ndarray]) -> list[ndarray]:
        """The arrays to pass to a program: one for each buffer."""
        if not self.shared:
            return arrays
        return [
            arrays[g[0]] if len(g) == 1 else stretch(*_ends([arrays[k] for k in g]))
            for g in self.groups
        ]

    def fits(self, arrays: list[ndarray]) -> bool:
        """Whether the arguments of each group are at the same distances as before. Other arguments
        may have come to overlap (`overlaps`).
        """
        return all(
            _extent([arrays[k] for k in g]) == e
            for g, e in zip(self.shared, self.extents, strict=True)
        ) and all(memory_of(arrays[k]) is memory_of(arrays[g[0]]) for g in self.shared for k in g)

    def overlaps(self, arrays: list[ndarray]) -> bool:
        """Whether arguments of different groups overlap."""
        of = {k: n for n, g in enumerate(self.groups) for k in g}
        return any(
            of[k] != of[j] and np.may_share_memory(a, arrays[j])
            for k, a in enumerate(arrays)
            for j in range(k)
        )


def _ends(arrays: list[ndarray]) -> tuple[ndarray, int, int]:
    """One of the arrays, and the first and the one-past-last address of all."""
    ends = [bounds(a) for a in arrays]
    return arrays[0], min(low for low, _ in ends), max(high for _, high in ends)


def _extent(arrays: list[ndarray]) -> tuple[int, ...]:
    _, low, high = _ends(arrays)
    return (high - low, *[address(a) - low for a in arrays])
