"""Samples that are changed at random once, before training or in its first epoch, and are then the
same in all epochs.
"""

from __future__ import annotations

import re
from types import CodeType

from ...events import Batch, LoaderInfo, Op, Site
from ...rule import Rule

_AUGMENTS = re.compile(
    r"augment|jitter|distort|perturb|cut_?out|elastic|random_?(crop|flip|eras|shift|rotat|affine|scale|mask|noise)",
    re.IGNORECASE,
)
_HELD_OUT = re.compile(r"val|test|dev|eval|held", re.IGNORECASE)


class _Function:
    """Calls of one function that changes samples: the place of the first, how many there were, how
    many rows each gave, in which steps.
    """

    __slots__ = ("calls", "drawn", "last", "place", "rows")

    def __init__(self, place: Site, drawn: Site) -> None:
        self.place = place
        self.drawn = drawn
        self.calls = 0
        self.rows = 0
        self.last = 0  # the step of the last call


class AugmentedOnce:
    """Follows functions whose names say that they augment samples."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._functions: dict[CodeType, _Function] = {}
        # by length of a data set: loaders that were gone through more than once
        self._loaders: dict[int, LoaderInfo] = {}
        self._last: dict[int, int] = {}  # by number of a loader: the step of its last batch

    def see(self, op: Op) -> None:
        """Something is drawn."""
        site, out = op.site, op.output
        if site is None or out is None:
            return
        held = self._functions.get(site.code)
        if held is None:
            if len(self._functions) > 100 or not _AUGMENTS.search(site.code.co_name):
                return
            around = [s for s in self._rule.session.recorder.callers() if s.code is not site.code]
            if not around:
                return
            held = self._functions[site.code] = _Function(around[0], site)
        held.calls += site == held.drawn  # several draws of one call count once
        held.rows = max(held.rows, out.shape[0] if out.ndim > 1 else 1)
        held.last = op.step

    def on_batch(self, event: Batch) -> None:
        """A data set is gone through, again perhaps."""
        info, data = event.loader, event.loader.dataset
        self._last[info.number] = event.step
        if event.epoch and data is not None and hasattr(data, "__len__"):
            self._loaders[len(data)] = info

    def finish(self, told: set[Site]) -> None:
        """Say which functions were not called again, without the draws that were told already."""
        for held in self._functions.values():
            if held.drawn in told:
                continue
            for count, info in self._loaders.items():
                again = self._last.get(info.number, 0) - held.last
                if (
                    count not in (held.calls, held.rows)
                    or again < max(3, held.last)
                    or _HELD_OUT.search(info.name or "")
                    or _HELD_OUT.search(held.place.text.partition("=")[0])
                ):
                    continue
                self._rule.report(
                    held.place,
                    f"`{held.drawn.code.co_name}` augments the samples here only once, so each sample is the same in all {info.passes} epochs.",
                    evidence={
                        "samples": count,
                        "last_drawn_in_step": held.last,
                        "epochs": info.passes,
                    },
                    fix="keep the unchanged samples, and augment them in `__getitem__`",
                    severity="warning",
                )
                break
