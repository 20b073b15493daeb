"""Arguments that overlap in memory, such as the words of a text and the words that follow them: `step(text[:, :-1], text[:, 1:])`.

They are one input of the program, and each of them is a part of it, so that a write to one is seen in the other. The program holds for
arguments that lie in the same way to each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ..backends.numpy_cpu import address
from .arrays import bounds, owner

Relation = tuple[tuple[int, int, int], ...]


def relation(arrays: list[ndarray]) -> Relation:
    """Which arguments overlap: the position of the first of those that overlap, of another one, and how many bytes it begins after it."""
    found: list[tuple[int, int, int]] = []
    taken: set[int] = set()
    for k in range(len(arrays)):
        if k in taken:
            continue
        group = [k]
        for j in range(k + 1, len(arrays)):
            if j not in taken and any(np.may_share_memory(arrays[i], arrays[j]) for i in group):
                group.append(j)
                taken.add(j)
                found.append((k, j, address(arrays[j]) - address(arrays[k])))
    return tuple(found)


def members(relation: Relation) -> dict[int, list[int]]:
    """The positions of all arguments that overlap, by the first of them."""
    found: dict[int, list[int]] = {}
    for first, other, _ in relation:
        found.setdefault(first, [first]).append(other)
    return found


def memory(arrays: list[ndarray]) -> ndarray | None:
    """The bytes from the first to the last of arrays that overlap; None where they do not belong to one contiguous array."""
    roots = [owner(a) for a in arrays]
    if any(r is not roots[0] for r in roots) or not roots[0].flags.c_contiguous:
        return None
    ends = [bounds(a) for a in arrays]
    start = address(roots[0])
    low, high = min(e[0] for e in ends) - start, max(e[1] for e in ends) - start
    return roots[0].reshape(-1).view(np.uint8)[low:high] if 0 <= low and high <= roots[0].nbytes else None


def handed(arrays: list[Any], groups: dict[int, list[int]]) -> list[Any]:
    """What a program is given: the bytes of all for the first of those that overlap."""
    return [memory([arrays[j] for j in groups[k]]) if k in groups else a for k, a in enumerate(arrays)]
