"""Numbers in the wrong arrangement: reshape for transpose."""

from __future__ import annotations

import math
from typing import Any

from ...events import Backward, Converted, Failure, Op, Site, Value
from ...rule import Rule, cause_site

_RESHAPES = ("view", "reshape", "view_as", "reshape_as", "flatten", "unflatten")
_SAME_ORDER = frozenset(
    (
        *_RESHAPES,
        "squeeze",
        "unsqueeze",
        "contiguous",
        "clone",
        "detach",
        "to",
        "float",
        "double",
        "ravel",
    )
)
_MADE_TO_MEASURE = ("arange", "linspace", "zeros", "ones", "full", "eye")


def groups(
    before: tuple[int, ...], after: tuple[int, ...]
) -> list[tuple[list[int], list[int], list[int]]]:
    """The smallest runs of axes that a reshape turns into each other, axes of 1 left out: (sizes
    before, sizes after, axes after).
    """
    a = [n for n in before if n != 1]
    b = [(n, k) for k, n in enumerate(after) if n != 1]
    found: list[tuple[list[int], list[int], list[int]]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        ins, outs, axes = [a[i]], [b[j][0]], [b[j][1]]
        i, j = i + 1, j + 1
        while math.prod(ins) != math.prod(outs):
            if math.prod(ins) < math.prod(outs):
                if i == len(a):
                    return found
                ins.append(a[i])
                i += 1
            else:
                if j == len(b):
                    return found
                outs.append(b[j][0])
                axes.append(b[j][1])
                j += 1
        found.append((ins, outs, axes))
    return found


def _cuts(sizes: list[int]) -> list[int]:
    """Strides of the axes in elements, without the last one."""
    return [math.prod(sizes[k:]) for k in range(1, len(sizes))]


def _straddles(ins: list[int], outs: list[int], k: int) -> bool:
    """Whether an axis after the reshape has parts of two axes from before, one of them not whole."""
    low, high = math.prod(outs[k + 1 :]), math.prod(outs[k:])
    touched = partial = 0
    for n in range(len(ins)):
        first, last = math.prod(ins[n + 1 :]), math.prod(ins[n:])
        inside = min(last, high) > max(first, low)
        touched += inside
        partial += inside and (first < low or last > high)
    return touched > 1 and partial > 0


class ReshapeNotTranspose(Rule):
    """`view` and `reshape` keep the order of the numbers: they cannot exchange axes."""

    slug = "reshape-not-transpose"
    id = "PL110"
    severity = "error"
    summary = "reshape or view where axes should have been permuted"
    ops = _RESHAPES

    def __init__(self) -> None:
        self._waiting: list[tuple[Site | None, str, dict[str, Any], str]] = []
        self._trains = False

    def on_op(self, op: Op) -> None:
        """An axis comes out at another place than where it went in."""
        made = op.output
        if made is None or made.producer is not op or not op.inputs or made.numel < 2:
            return
        source = first = op.inputs[0]
        while (
            first.producer is not None
            and first.producer.name in _SAME_ORDER
            and first.producer.inputs
        ):
            first = first.producer.inputs[0]
        if (
            not made.requires_grad
            and first.producer is not None
            and first.producer.name in _MADE_TO_MEASURE
        ):
            return
        sizes = self._sizes(op, made)
        found = self._exchanged(source, made, sizes, False)
        if found is None:
            # Flattened before and viewed now: only a whole exchange of axes is certain.
            source = first
            found = self._exchanged(source, made, sizes, True)
        if found is None:
            return
        outs, ins = found
        moved = next(n for n in outs if n in ins)
        written = op.written("input") if op.method and op.direct else None
        message = (
            f"{op.name} from {list(source.shape)} to {list(made.shape)} keeps the order of the numbers: the new axis of size {moved} "
            "mixes pieces of several old axes."
        )
        self._waiting.append(
            (
                cause_site(op),
                message,
                {
                    "from": list(source.shape),
                    "to": list(made.shape),
                    "operation": op.name,
                    "of": written,
                },
                "swap axes with `transpose` or `permute`" + _how(source.shape, made.shape),
            )
        )
        if self._trains:
            self._tell()

    def on_arranged(self, event: Converted) -> None:
        """The same of NumPy's `reshape`, before the numbers become a tensor."""
        before, after = event.before.shape, event.after.shape
        call = event.site.call if event.site is not None else None
        if before == after or len(before) < 3 or call is None or len(self._waiting) > 16:
            return
        texts = list(call.arguments)[0 if call.receiver not in (None, "np", "numpy") else 1 :]
        if len(texts) == 1 and texts[0][:1] in "([":
            texts = texts[0].strip("()[]").split(",")
        texts = texts if len(texts) == len(after) else [""] * len(after)
        for ins, outs, axes in groups(before, after):
            if (
                len(ins) > 1
                and len(outs) > 1
                and sorted(ins) == sorted(outs)
                and ins != outs
                and _mixes(ins, outs, [texts[k] for k in axes], False)
            ):
                moved = outs[0]
                self._waiting.append(
                    (
                        event.site,
                        (
                            f"reshape of an array from {list(before)} to {list(after)} keeps the order of the numbers: the new axis of size {moved} "
                            "mixes pieces of several old axes."
                        ),
                        {"from": list(before), "to": list(after), "operation": "numpy.reshape"},
                        "swap axes with `transpose`" + _how(before, after),
                    )
                )
                if self._trains:
                    self._tell()
                return

    def _exchanged(
        self, source: Value, made: Value, texts: list[str], wholly: bool
    ) -> tuple[list[int], list[int]] | None:
        """Sizes after and before of the axes that got mixed, None when none did."""
        if source.shape == made.shape or source.ndim < 2:
            return None
        for ins, outs, axes in groups(source.shape, made.shape):
            if (
                len(ins) > 1
                and len(outs) > 1
                and _mixes(ins, outs, [texts[k] for k in axes], made.requires_grad and not wholly)
            ):
                return outs, ins
        return None

    def _sizes(self, op: Op, made: Value) -> list[str]:
        """What the user wrote for each axis of the result, "" where that is not clear."""
        call = op.site.call if op.site is not None and op.direct else None
        texts = list(call.arguments) if call is not None else []
        if call is not None and not op.method:
            texts = texts[1:]
        if (
            len(texts) == 1
            and texts[0][:1] in "(["
            and texts[0].count("(") + texts[0].count("[") == 1
        ):
            texts = texts[0].strip("()[]").split(",")
        return (
            texts
            if len(texts) == made.ndim and not any(t.startswith("*") for t in texts)
            else [""] * made.ndim
        )

    def on_backward_begin(self, event: Backward) -> None:
        """The program trains."""
        self._trains = True
        self._tell()

    def on_exception(self, failure: Failure) -> None:
        """Axes in the wrong place may be the reason."""
        self._tell()

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for site, message, evidence, fix in waiting:
            self.report(site, message, evidence=evidence, fix=fix)


def _mixes(ins: list[int], outs: list[int], texts: list[str], learned: bool) -> bool:
    """Whether axes of the same size went in and came out at another stride."""
    exchanged = sorted(ins) == sorted(outs)
    if not exchanged and not (learned and set(ins) & set(outs)):
        return False
    both = sorted({*_cuts(ins), *_cuts(outs)})
    if any(b % a for a, b in zip(both, both[1:], strict=False)):
        return True
    # The sizes also allow another reading, as frames that are stacked: (8, 4) to (4, 8) may be (8
    # // 2, 2 * 4). Then what is written decides.
    if any("//" in text for text in texts):
        return False
    for k, (size, text) in enumerate(zip(outs, texts, strict=True)):
        if (
            size in ins
            and _straddles(ins, outs, k)
            and "*" not in text
            and "/" not in text
            and text.strip() != "-1"
        ):
            return True
    return False


def _how(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    if sorted(before) != sorted(after) or len(set(before)) != len(before):
        return ", and reshape only what is split or joined"
    return f": `.permute({', '.join(str(before.index(n)) for n in after)})`"
