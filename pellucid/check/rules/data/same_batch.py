"""One batch that is used where the next one was meant."""

from __future__ import annotations

import ast
from typing import Any

from ...events import Batch, LoaderInfo, ModuleCall, Site, Step
from ...rule import Rule
from ..source.places import Place, tree, walk

_TIMES = 5  # passes that ended after their first batch
_BATCHES = 3  # in a row that nobody has looked at


class SameBatch(Rule):
    """`next(iter(loader))` begins a new pass each time, and without shuffling its first batch is
    always the same; a loop that computes with the variable of another loop computes with the last
    batch of that one.
    """

    slug = "same-batch"
    id = "PL916"
    severity = "error"
    summary = "the same batch is used again instead of the next one"
    covered = ("data-leak",)

    def __init__(self) -> None:
        # by loader: [passes in a row that ended after the first batch, site, steps at the last]
        self._firsts: dict[int, list[Any]] = {}
        self._owner: dict[int, LoaderInfo] = {}  # by id of a batch's tensor: the loader
        self._held: dict[int, list[int]] = {}
        self._current: LoaderInfo | None = None
        self._stale: dict[int, Any] = {}  # place and tensor of the calls since the last batch
        self._fresh = True
        self._row: list[Any] = [None, None, 0]  # loader, tensor, batches in a row
        self._steps = 0
        self._told: set[Any] = set()

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._steps += 1

    def on_pass(self, event: LoaderInfo) -> None:
        """A loader begins anew."""
        known = self._firsts.setdefault(event.number, [0, None, -1, None])
        if known[3] is not None and known[3] > 0:  # the last pass went beyond its first batch
            known[0] = 0
        known[3] = None

    def on_batch(self, event: Batch) -> None:
        """A batch: was the last one looked at?"""
        loader = event.loader
        known = self._firsts.setdefault(loader.number, [0, None, -1, None])
        known[3] = event.position
        if event.position == 0 and not loader.shuffle and known[2] != self._steps:
            if event.site != known[1]:
                known[0] = 0
            known[0] += 1
            known[1], known[2] = event.site, self._steps
            self._first_again(event, known[0])
        elif event.position:
            known[0] = 0
        if self._current is not None and not self._fresh and len(self._stale) == 1:
            tensor, site = next(iter(self._stale.items()))
            if self._row[:2] == [self._current.number, tensor]:
                self._row[2] += 1
            else:
                self._row = [self._current.number, tensor, 1]
            if self._row[2] == _BATCHES and site is not None and site not in self._told:
                self._told.add(site)
                other = self._owner.get(tensor)
                self.report(
                    site,
                    "in this loop, the model always gets a batch from another loop: the batches of this loop are never used.",
                    evidence={"rounds": _BATCHES},
                    fix="use the variables of this loop",
                    covers=[self._current.site, other.site if other is not None else None],
                )
        self._current, self._stale, self._fresh = loader, {}, False
        for old in self._held.pop(loader.number, ()):
            if self._owner.get(old) is loader and old not in (self._row[1],):
                self._owner.pop(old, None)
        self._held[loader.number] = [v.id for v in event.values]
        for v in event.values:
            self._owner[v.id] = loader

    def on_module_enter(self, call: ModuleCall) -> None:
        """The model is given something: of which loader?"""
        if call.parent is not None or self._current is None or not call.inputs:
            return
        for value in call.inputs:
            owner = self._owner.get(value.id)
            if owner is None or owner is self._current:
                self._fresh = True
            else:
                self._stale[value.id] = call.site

    def _first_again(self, event: Batch, times: int) -> None:
        loader = event.loader.loader
        try:
            several = loader is not None and len(loader) > 1
        except TypeError:
            return
        kind = type(getattr(loader, "sampler", None)).__name__
        if (
            times == _TIMES
            and several
            and self._steps >= _TIMES - 1
            and kind == "SequentialSampler"
            and event.site is not None
        ):
            left = _left_at(event.site)
            if left is not None:
                self.report(
                    left,
                    "this statement ends the loop over the loader in its first iteration, so each pass uses only the first batch.",
                    evidence={"passes": times, "batches": len(loader)},
                    fix="move it out of the loop, by indenting it less",
                )
                return
            self.report(
                event.site,
                "each step starts a new pass through the loader and takes its first batch: the other batches are never used.",
                evidence={"passes": times, "batches": len(loader)},
                fix="for batch in loader: ..., or keep one iterator and call next() on it",
            )


def _left_at(site: Site) -> Place | None:
    """The `return` or `break` that ends the body of a loop over batches, whatever the batch is."""
    root = tree(site.file)
    for loop in walk(root) if root is not None else ():
        if isinstance(loop, ast.For) and loop.lineno == site.line:
            last = loop.body[-1]
            if isinstance(last, (ast.Return, ast.Break)) and len(loop.body) > 1:
                return Place(site.file, last.lineno)
    return None
