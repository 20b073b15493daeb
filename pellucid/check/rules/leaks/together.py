"""Find what was done to all rows before the split: scaling with common statistics, adding changed
copies, cutting windows.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...events import Converted, LoaderInfo, Op, Value
from ...rule import Rule, median, tally
from ..source.places import Place
from .records import Evaluation, Learned, Stain
from .rows import common, hashed, matrix, scaled_at, scaled_together

STATISTICS = frozenset(
    "mean std var amin amax min max median quantile std_mean var_mean norm nanmean nanmedian".split()
)
SELECTS = ("getitem", "narrow", "index_select", "split", "chunk", "tensor_split", "masked_select")
REPEATS = ("cat", "repeat", "repeat_interleave", "concat", "concatenate", "vstack", "tile")
_ALIKE = frozenset(
    "add sub mul div clone detach flip roll clamp where to float contiguous mul_ masked_fill dropout".split()
)
TRAIN = re.compile(r"(^|[^a-z])x?(tr|trn|train|training)", re.IGNORECASE)


class Together(Rule):
    """The part of the rule that follows all rows until they are split."""

    def __init__(self) -> None:
        # id of a tensor that a loader gave: loader, data set, indices
        self._batches: dict[int, tuple[LoaderInfo, Any, Any]] = {}
        self._stains: dict[int, Stain] = {}  # by id of a tensor
        self._stained: dict[int, Stain] = {}  # the same by number of a loader
        # rows that were put beside themselves, and the places that led to it
        self._twice: list[tuple[set[int], list[Any]]] = []

    def _copied_rows(self, op: Op) -> None:
        """`cat([x, x[picked]])`: some rows stand there twice."""
        out = op.output
        if (
            out is not None
            and out.ndim >= 2
            and out.is_floating_point
            and not out.requires_grad
            and op.args.get("dim", 0) == 0
        ):
            parts = (
                [v.numpy() for v in op.inputs]
                if op.name in ("cat", "concat", "concatenate", "vstack")
                else [out.numpy()]
            )
            self._twice_in(parts)

    def on_joined(self, event: Converted) -> None:
        """The same of NumPy's arrays."""
        if event.after.ndim < 2 or event.after.dtype.kind != "f" or event.step:
            return
        several = isinstance(event.before, (list, tuple))
        self._twice_in(list(event.before) if several else [event.after])

    def _twice_in(self, parts: list[Any]) -> None:
        """Rows of one part that are in another, or that are in the only part more than once."""
        codes = []
        for part in parts[:8]:
            rows = (
                matrix(part.astype(np.float32))
                if isinstance(part, np.ndarray) and part.dtype.kind == "f"
                else None
            )
            if rows is None or rows.size and np.mean(rows == np.floor(rows)) > 0.5:
                return
            codes.append(hashed(rows))
        if len(codes) == 1:
            found, counts = tally(codes[0])
            found = found[counts > 1]
        else:
            found = np.intersect1d(np.concatenate(codes[1:]), codes[0]) if codes else np.zeros(0)
        if found.size >= 2 and len(self._twice) < 20:
            self._twice.append((set(found.tolist()), self.session.recorder.callers()))

    def _put_twice(self, held: Evaluation) -> Any:
        """Where the rows that both parts have were put beside themselves, before the split."""
        for codes, sites in self._twice:
            if (
                held.leaked
                and len(held.leaked & codes) >= 0.8 * len(held.leaked)
                and held.site is not None
            ):
                return common(sites, held.ways) or sites[0]
        return None

    def _parted(self, stain: Stain) -> Stain:
        """The rows are split now: where the ways to both parted is the line to change."""
        place = common(stain.sites, self.session.recorder.callers())
        stain.site = place or stain.site
        return stain

    def _scaled_by_all(self, op: Op) -> None:
        """`(x - x.mean(0)) / x.std(0)` before training: everything computed from it depends on all
        rows.
        """
        out = op.output
        if (
            not op.inputs
            or out is None
            or out.ndim < 2
            or out.shape[0] < 16
            or len(self._stains) > 500
        ):
            return
        rows = [
            v
            for v in op.inputs
            if v.shape[:1] == out.shape[:1] and v.ndim == out.ndim and not v.requires_grad
        ]
        stained = next((v for v in rows if v.id in self._stains), None)
        if stained is not None:
            self._stains[out.id] = self._stains[stained.id]
            return
        x = next((v for v in rows if v.shape == out.shape and v.is_floating_point), None)
        if (
            x is None
            or op.site is None
            or op.name in ("matmul", "mm")
            or x.producer is not None
            and x.producer.name in SELECTS
        ):
            return
        for other in op.inputs:
            made = other.producer
            while (
                made is not None
                and made.name in ("clamp", "add", "sqrt", "expand", "unsqueeze", "expand_as")
                and made.inputs
            ):
                made = made.inputs[0].producer
            if other is x or made is None or made.name not in STATISTICS or not made.inputs:
                continue
            if made.inputs[0].id == x.id and made.arg("dim") in (0, [0], (0,), None):
                sites = self.session.recorder.callers()
                if sites and made.site is not None and made.site.code is sites[0].code:
                    # what is taken of the training rows alone is the statistic, where it has a line
                    # of its own
                    sites = [
                        made.site,
                        *sites[1:],
                    ]
                self._stains[out.id] = Stain("scaled", op, sites)

    def _repeated(self, op: Op) -> None:
        """`cat([x, x + noise])`: each row several times, as it is or nearly so."""
        out = op.output
        if (
            out is None
            or out.ndim < 2
            or not out.is_floating_point
            or out.requires_grad
            or len(self._stains) > 500
        ):
            return
        if op.name in ("repeat", "repeat_interleave", "tile"):
            base = [op.inputs[0]] * (out.shape[0] // max(1, op.inputs[0].shape[0]))
        else:
            base = [b for v in op.inputs if (b := _base(v)) is not None]
        for v in base:
            if (
                v.ndim != out.ndim
                or v.shape[0] < 24
                or out.shape[0] < 1.5 * v.shape[0]
                or len([b for b in base if b is v or b.id == v.id]) < 2
            ):
                continue
            if (
                op.name.startswith("repeat")
                or op.name == "tile"
                or _near([x for x in op.inputs if (b := _base(x)) is not None and b.id == v.id])
            ):
                self._stains[out.id] = Stain("repeated", op, self.session.recorder.callers())
            return

    def _stain_of(self, value: Value) -> Stain | None:
        place = self._stains.get(value.id)
        if (
            place is None
            and value.producer is not None
            and value.producer.name in SELECTS
            and value.producer.inputs
        ):
            place = self._stains.get(value.producer.inputs[0].id)
        if place is None and value.id in self._batches:
            place = self._stained.get(self._batches[value.id][0].number)
        return place

    def _in_common(self, held: Evaluation, learned: Learned) -> None:
        """Windows that overlap, and what was done to all rows before the split."""
        total, name = len(held.rows), held.name or ""
        # how many such ends a row of values of this kind meets anyway
        by_chance = held.alike**2 * len(learned.grams)
        if (
            total >= 8
            and len(held.windows) >= 0.5 * total
            and by_chance < 0.5
            and not TRAIN.search(name)
        ):
            self.report(
                later(held.made, held.beside) or held.site,
                f"{len(held.windows)} of {total} rows that the model is evaluated on{f' ({name})' if name else ''} are windows of a time series "
                "that overlap a training window: most of their values are in the training data, including the last ones.",
                evidence={
                    "evaluated_at": str(held.site),
                    "rows": total,
                    "overlapping": len(held.windows),
                },
                fix="split the series by time first, with a gap as long as a window, and cut windows out of each part",
            )
            return
        both = {s.kind: s for s in held.stains & learned.stains}
        if "repeated" in both:
            self.report(
                both["repeated"].site,
                "each row is repeated here with small changes, and the rows are split only afterwards: the model is evaluated on "
                "variants of rows that it was trained on.",
                evidence={"evaluated_at": str(held.site), "rows": total},
                fix="split first, and augment only the training rows",
            )
            return
        kind: str | None = None
        place: Any = None
        if "scaled" in both:
            kind, place = "statistics of all rows", both["scaled"].site
        if kind is None and held.kept and learned.kept:
            widths = {rows.shape[1] for rows in (*held.kept, *learned.kept)}
            found = (
                scaled_together(np.concatenate(learned.kept), np.concatenate(held.kept))
                if len(widths) == 1
                else None
            )
            if found is not None:
                kind, place = (
                    f"the {found} of all rows",
                    scaled_at(self.session.recorder.files(self.session.script)) or held.made,
                )
        if kind is not None:
            self.report(
                place,
                f"all rows are scaled with {kind} before the split into training and "
                "evaluation rows: the evaluation rows influence how the training rows are scaled.",
                evidence={"evaluated_at": str(held.site), "rows": total},
                fix="split first, compute mean and standard deviation from the training rows, and use them for both",
                severity="warning",
            )


def _base(value: Value) -> Value | None:
    """What a value is a changed copy of, row by row."""
    for _ in range(12):
        made = value.producer
        if made is None or made.name not in _ALIKE or not made.inputs:
            return value
        before = next(
            (
                v
                for v in made.inputs
                if v.shape[:1] == value.shape[:1] and v.is_floating_point and v.ndim == value.ndim
            ),
            None,
        )
        if before is None:
            return value
        value = before
    return value


def _near(parts: list[Value]) -> bool:
    """Whether what is put together differs row by row much less than the rows of one part differ
    from each other.
    """
    arrays = [
        a.reshape(len(a), -1).astype(np.float64) for v in parts[:3] if (a := v.numpy()) is not None
    ]
    if len(arrays) < 2 or arrays[0].shape != arrays[1].shape or len(arrays[0]) < 24:
        return False
    apart = median(np.linalg.norm(arrays[0] - np.roll(arrays[0], 1, axis=0), axis=1))
    return bool(median(np.linalg.norm(arrays[1] - arrays[0], axis=1)) < 0.5 * apart)


def later(made: Any, beside: set[Any]) -> Any:
    """Of the lines that choose both kinds of rows the last: it has to leave out what the first has
    taken.
    """
    if made is None:
        return None
    near = [
        p
        for p in beside
        if p is not None
        and p.key[0] == made.key[0]
        and 0 < p.key[1] - made.key[1] <= 3
        and isinstance(p, Place)
    ]
    return max(near, key=lambda p: p.key[1]) if near and isinstance(made, Place) else made
