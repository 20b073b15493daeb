"""The memory plan: temporaries that are not alive at the same time share memory in an arena, and
items are ordered so that few are alive.

Anything with a `size` in bytes takes memory: temporaries of the program, and workspace of kernels.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from ...ir import Buffer, Instruction, Program, Value
from ...kernels.pointwise.loop import Access, Loop
from ...kernels.pointwise.values import itemsize
from .context import Context
from .fuse import Item

ALIGN = 128
Lives = dict[Any, tuple[int, int]]


def lifetimes(
    groups: Iterable[Iterable[Instruction]], stored: Container[Buffer] | None = None
) -> Lives:
    """The first and last position in a schedule at which each temporary is used. Temporaries that
    are not in `stored` have no memory.
    """
    found: Lives = {}
    for k, group in enumerate(groups):
        for i in group:
            for v in (*i.made(), *i.reads()):
                if v.buffer.kind == "temp" and (stored is None or v.buffer in stored):
                    first, _ = found.get(v.buffer, (k, k))
                    found[v.buffer] = (first, k)
    return found


def room_of(size: int) -> int:
    """The bytes that a temporary of `size` bytes occupies in the arena."""
    return -(-max(size, 1) // ALIGN) * ALIGN


def least(lives: Lives) -> int:
    """A lower bound for any plan: the largest total size of temporaries that are alive together."""
    change: dict[int, int] = {}
    for thing, (first, last) in lives.items():
        change[first] = change.get(first, 0) + room_of(thing.size)
        change[last + 1] = change.get(last + 1, 0) - room_of(thing.size)
    most = now = 0
    for k in sorted(change):
        now += change[k]
        most = max(most, now)
    return most


def plan(lives: Lives) -> tuple[dict[Any, int], int]:
    """Offsets in an arena, and its size: the smallest that several orders of placement give.

    In each order, temporaries are placed one by one at the lowest offset that is free during their
    lifetime. Two may overlap only if one is dead before the other is first written. The last reader
    of one and the writer of the other must not be in the same item, since an item may write before
    it has read everything.

    >>> a, b, c = (Buffer("temp", n, k) for k, n in enumerate((100, 64, 100)))
    >>> offsets, size = plan({a: (0, 1), b: (1, 2), c: (2, 3)})
    >>> offsets[a] == offsets[c], size
    (True, 256)
    """
    bound, best = least(lives), None
    for order in _ORDERS:
        made = _placed(lives, sorted(lives, key=lambda thing: order(thing.size, *lives[thing])))
        if best is None or made[1] < best[1]:
            best = made
        if best[1] == bound:
            break
    assert best is not None
    return best


_ORDERS = (
    lambda size, first, last: (-size, first, last),
    lambda size, first, last: (first - last, -size),  # the longest lifetime first
    # the largest size times lifetime first
    lambda size, first, last: ((first - last - 1) * size, first),
    lambda size, first, last: (first, -last, -size),
    lambda size, first, last: (-last, first, -size),
)


def _placed(lives: Lives, order: Sequence[Any]) -> tuple[dict[Any, int], int]:
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
    offsets: dict[Any, int] = {}
    total = 0
    for thing in order:
        (first, last), size = lives[thing], room_of(thing.size)
        offset = 0
        for low, high in sorted((o, e) for o, e, f, l in placed if f <= last and first <= l):
            if offset + size <= low:
                break
            offset = max(offset, high)
        offsets[thing] = offset
        placed.append((offset, offset + size, first, last))
        total = max(total, offset + size)
    return offsets, total


# ---- the order of items ----------------------------------------------------------------------------------
SWEEPS = 20


def reorder_items(program: Program, context: Context) -> Program:
    """Reorder the items so that less memory is alive at a time."""
    items: list[Item] = program.items or []
    leaving = {v.buffer for v in (*program.inputs, *program.outputs)}
    return program.but(items=ordered(items, stored_by(items), leaving))


def stored_by(items: Iterable[Item]) -> set[Buffer]:
    """The buffers that items store to."""
    found = {v.buffer for item in items if item.kind == "loop" for v in item.stored}
    return found | {
        v.buffer
        for item in items
        if item.kind != "loop"
        for i in item.instructions
        for v in i.made()
    }


def ordered(
    items: Sequence[Item], stored: Container[Buffer], leaving: Container[Buffer]
) -> list[Item]:
    """Reorder items so that less memory is alive: neighbors are swapped if that lowers their peak.

    For example, the gradient of a weight, after which an activation is dead, then comes before the
    gradient of the input, which needs new memory. Python calls, decisions and writes to memory that
    outlives the step stay in place, and nothing moves across them. `leaving` are temporaries that
    have memory of their own.
    """
    made = list(items)
    reads = {item: {v.buffer for i in item.instructions for v in i.reads()} for item in made}
    writes = {item: {v.buffer for i in item.instructions for v in i.made()} for item in made}
    fixed = {
        item
        for item in made
        if item.kind in ("eager", "update") or any(b.kind != "temp" for b in writes[item])
    }
    fixed |= {item for item in made if any(i.kind in ("call", "decide") for i in item.instructions)}

    def counts(b: Buffer) -> bool:
        return b.kind == "temp" and b in stored and b not in leaving

    left: dict[Buffer, int] = {}  # number of remaining users
    for item in made:
        for b in filter(counts, reads[item] | writes[item]):
            left[b] = left.get(b, 0) + 1
    remaining: dict[Buffer, int] = {}

    def change(item: Item) -> tuple[int, int]:
        """The bytes that an item allocates, and the bytes that are dead after it, if it runs next."""
        touched = [b for b in reads[item] | writes[item] if b in left]
        made = sum(room_of(b.size) for b in touched if remaining[b] == left[b])
        return made, sum(room_of(b.size) for b in touched if remaining[b] == 1)

    for _ in range(SWEEPS):
        changed = False
        remaining.update(left)
        for k, after in enumerate(made[1:]):
            item = made[k]
            if not (
                item in fixed
                or after in fixed
                or writes[item] & (reads[after] | writes[after])
                or reads[item] & writes[after]
            ):
                first, second = change(item), change(after)
                if max(second[0], second[0] - second[1] + first[0]) < max(
                    first[0], first[0] - first[1] + second[0]
                ):
                    made[k], made[k + 1] = after, item
                    changed = True
            for buffer in reads[made[k]] | writes[made[k]]:
                if buffer in remaining:
                    remaining[buffer] -= 1
        if not changed:
            break
    return made


# ---- results in the place of operands ------------------------------------------------------------------
def replaced(
    items: Sequence[Item], loops: dict[Item, tuple[Loop, list[Value]]], lives: Lives
) -> dict[Any, Any]:
    """Results of loops that can reuse the memory of an operand which nothing reads later: result ->
    operand.

    This is safe if the loop accesses both with the same strides: it reads an element before it
    writes there, and no other iteration reads it.
    """
    found: dict[Any, Any] = {}
    for k, item in enumerate(items):
        if item.kind != "loop" or any(n.instruction.writes for n in item.nodes):
            continue
        loop, values = loops[item]
        reads: dict[Buffer, list[tuple[Access, Value]]] = {}
        for access, v in zip(loop.reads, values, strict=False):
            reads.setdefault(v.buffer, []).append((access, v))
        dying = [b for b in reads if b in lives and lives[b][1] == k and lives[b][0] < k]
        for write, out in zip(loop.writes, values[len(loop.reads) :], strict=False):
            if out.buffer not in lives or lives[out.buffer][0] != k or not out.whole:
                continue
            for b in dying:
                if room_of(b.size) == room_of(out.buffer.size) and all(
                    _alike(a, v, write.access, out) for a, v in reads[b]
                ):
                    found[out.buffer] = b
                    dying.remove(b)
                    break
    return found


def _alike(access: Access, v: Value, other: Access, out: Value) -> bool:
    """Whether a loop accesses the same byte offsets of two buffers at the same time."""
    return (
        access.strides == other.strides
        and itemsize(access.dtype) == itemsize(other.dtype)
        and v.offset == out.offset
    )


def joined(lives: Lives, places: dict[Any, Any]) -> tuple[Lives, dict[Any, Any]]:
    """The merged lifetimes after `replaced`, and the buffer in whose place each one finally lies."""

    def root(thing: Any) -> Any:
        while thing in places:
            thing = places[thing]
        return thing

    roots = {thing: root(thing) for thing in lives}
    made: Lives = {}
    for thing, (first, last) in lives.items():
        before = made.get(roots[thing], (first, last))
        made[roots[thing]] = (min(first, before[0]), max(last, before[1]))
    return made, roots
