"""The memory plan: temporaries that are not alive together share an arena."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..ir import Buffer, Instruction

ALIGN = 64


def lifetimes(groups: Iterable[Iterable[Instruction]], stored: Container[Buffer] | None = None) -> dict[Buffer, tuple[int, int]]:
    """First and last position in a schedule at which each temporary is touched; those that `stored` lacks have no memory."""
    found: dict[Buffer, tuple[int, int]] = {}
    for k, group in enumerate(groups):
        for i in group:
            for v in (*i.made(), *i.reads()):
                if v.buffer.kind == "temp" and (stored is None or v.buffer in stored):
                    first, _ = found.get(v.buffer, (k, k))
                    found[v.buffer] = (first, k)
    return found


def plan(lives: dict[Buffer, tuple[int, int]]) -> tuple[dict[Buffer, int], int]:
    """Offsets in an arena, and its size: the largest first, each at the lowest place that is free while it lives.

    Two buffers overlap only if one is dead before the other is first written; the last reader and the next writer may not share
    an instruction, since an instruction may write before it has read everything.

    >>> a, b, c = (Buffer("temp", n, k) for k, n in enumerate((100, 64, 100)))
    >>> offsets, size = plan({a: (0, 1), b: (1, 2), c: (2, 3)})
    >>> offsets[a] == offsets[c], size
    (True, 192)
    """
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
    offsets: dict[Buffer, int] = {}
    total = 0
    for buffer, (first, last) in sorted(lives.items(), key=lambda item: (-item[0].size, item[1])):
        size = -(-max(buffer.size, 1) // ALIGN) * ALIGN
        rivals = sorted((o, e) for o, e, f, l in placed if f <= last and first <= l)
        offset = 0
        for low, high in rivals:
            if offset + size <= low:
                break
            offset = max(offset, high)
        offsets[buffer] = offset
        placed.append((offset, offset + size, first, last))
        total = max(total, offset + size)
    return offsets, total
