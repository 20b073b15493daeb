"""The memory plan: temporaries that are not alive at the same time share an arena, and items run in
an order that keeps few alive.

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
    """First and last position in a schedule at which each temporary is touched; those that `stored`
    lacks have no memory.
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
    """The bytes that a temporary takes of the arena."""
    return -(-max(size, 1) // ALIGN) * ALIGN


def least(lives: Lives) -> int:
    """The bytes that no plan can do without: those of what is alive together, at most."""
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
    """Offsets in an arena, and its size: the smallest of what several orders give.

    In each, one after the other takes the lowest place that is free while it lives. Two overlap
    only if one is dead before the other is first written; the last reader and the next writer may
    not share an item, since an item may write before it has read everything.

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
    lambda size, first, last: (first - last, -size),  # the longest lives
    lambda size, first, last: ((first - last - 1) * size, first),  # the most memory times time
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
    """The same program with its items in such an order."""
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
    """The items in an order in which less memory is alive: neighbors change places where that
    lowers the peak of the two.

    A gradient in a weight that ends an activation's life so comes before the gradient in the input,
    which makes memory. Calls of Python code, decisions and writes to what outlives the step stay
    where they are, and nothing passes them. `leaving` are temporaries that have memory of their
    own.
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

    left: dict[Buffer, int] = {}  # users that are still to come
    for item in made:
        for b in filter(counts, reads[item] | writes[item]):
            left[b] = left.get(b, 0) + 1
    remaining: dict[Buffer, int] = {}

    def change(item: Item) -> tuple[int, int]:
        """Bytes that an item makes, and bytes that nobody needs after it, when it is the next to
        run.
        """
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
    """Results of loops that may lie where an operand lies that nobody reads later: which takes
    whose place.

    A loop reads an element before it writes there, and no other iteration reads it, where both are
    walked alike.
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
    """Whether a loop touches the same bytes of two buffers at the same time."""
    return (
        access.strides == other.strides
        and itemsize(access.dtype) == itemsize(other.dtype)
        and v.offset == out.offset
    )


def joined(lives: Lives, places: dict[Any, Any]) -> tuple[Lives, dict[Any, Any]]:
    """The lives of the places that are left, and whose place each one has in the end."""

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
