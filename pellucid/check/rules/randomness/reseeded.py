"""Samples of a data set whose random changes begin with the sample's own number as the seed."""

from __future__ import annotations

import ast
from typing import Any

from ...events import Seeded, Site
from ...rule import Rule
from ..source.places import function_around

_PASSES = 3
_SEEDS = 8  # different ones, each in so many passes


class SeededSamples:
    """`torch.manual_seed(index)` in a `__getitem__`: each pass changes a sample in the same way."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        # by place: seeds and how often each was set, the step of the last one, steps in between
        self._seen: dict[Any, tuple[dict[Any, int], list[int]]] = {}

    def on_seed(self, event: Seeded) -> None:
        """A stream begins anew."""
        site = event.site
        if site is None or not site.function.endswith("__getitem__"):
            return
        seeds, steps = self._seen.setdefault(site.key, ({}, [event.step, 0, 0]))
        if len(seeds) > 4096 or steps[2]:
            return
        seeds[event.seed] = seeds.get(event.seed, 0) + 1
        steps[1] += event.step > steps[0]
        steps[0] = event.step
        times = seeds[event.seed]
        if times < _PASSES or len(seeds) < _SEEDS or steps[1] < 2 * times:
            return  # else the step changes between passes only: no training data
        steps[2] = 1
        if _changes_stored(site):
            self._rule.report(
                site,
                f"each sample seeds the generator with its own index: it gets the same random changes in each of {times} passes, and all other "
                "random numbers of the program restart, too.",
                evidence={"samples": len(seeds), "seed": event.seed},
                fix="seed once, before training. If you need a stream per sample, use generators whose seed also depends on the epoch",
            )


def _changes_stored(site: Site) -> bool:
    """Whether the samples are stored, and only changed: else they are made from their seeds."""
    function = function_around(site.file, site.line)
    arguments = [a.arg for a in function.args.args[1:2]] if function is not None else []
    return function is not None and any(
        isinstance(n, ast.Subscript)
        and ast.unparse(n.value).startswith("self.")
        and ast.unparse(n.slice) in arguments
        for n in ast.walk(function)
    )
