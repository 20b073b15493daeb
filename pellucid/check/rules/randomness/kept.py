"""Random numbers that were drawn once, where a function or a data set keeps what it has made: in a
default of an argument, and behind a cache.
"""

from __future__ import annotations

import ast
import re
import weakref
from typing import Any

from ...events import Batch, LoaderInfo, Op, Site
from ...recording.signatures import RANDOM
from ...rule import Rule
from ..source.places import Place, function_around, tree, walk
from .draws import own_stream

STEPS = 4
_AUGMENTS = re.compile(r"augment|jitter|transform|random|noise|flip|crop|distort", re.IGNORECASE)
_MASKS = re.compile(
    r"mask|drop|hide|keep|noise|noisy|corrupt|perturb|augment|jitter", re.IGNORECASE
)
_CACHES = re.compile(r"cache|memo|stored|loaded|prepared", re.IGNORECASE)


class _Default:
    """A random tensor that is the default of an argument."""

    __slots__ = ("place", "ref", "steps")

    def __init__(self, tensor: Any, place: Place) -> None:
        self.ref, self.place = weakref.ref(tensor), place
        self.steps: list[int] = []


class RandomDefaults:
    """Follows tensors that were drawn where a function is defined."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._held: dict[int, _Default] = {}  # by id of the value
        self._places: dict[Site, Place | None] = {}  # of draws outside of functions

    def see(self, op: Op) -> None:
        """Something is drawn, or computed."""
        site = op.site
        if site is None or not (self._held or op.name in RANDOM):
            return
        if op.name in RANDOM or any(v.id in self._held for v in op.inputs):
            out = op.output
            if site.code.co_argcount == 0 and out is not None and out.tensor is not None:
                if site not in self._places:
                    self._places[site] = default_at(site)
                place = self._places[site]
                if place is not None:
                    self._held[out.id] = _Default(out.tensor, place)
                    return
        for value in op.inputs:
            held = self._held.get(value.id)
            if held is None or held.ref() is not value.tensor or op.output is None:
                continue
            if value.shape != op.output.shape or value.ndim < 2 or value.shape[0] < 2:
                continue
            step = self._rule.step
            if held.steps[-1:] != [step] and len(held.steps) < STEPS:
                held.steps.append(step)
                if len(held.steps) == STEPS:
                    self._rule.report(
                        held.place,
                        "the default of this argument was drawn only once, when the function "
                        f"was defined: it is the same in each of {STEPS} steps.",
                        evidence={"shape": list(value.shape), "used_at": site},
                        fix="use `None` as the default, and draw inside the function",
                    )


def default_at(site: Site) -> Place | None:
    """The function whose default is computed at a place."""
    root = tree(site.file)
    for node in walk(root) if root is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None and default.lineno <= site.line <= (default.end_lineno or 0):
                    return Place(site.file, default.lineno)
    return None


class _Cached:
    """Draws behind a cache: where it is, the loader, and the last pass in which something was drawn."""

    __slots__ = ("count", "last", "loader", "place")

    def __init__(self, place: Place, loader: LoaderInfo) -> None:
        self.place, self.loader = place, loader
        self.count = self.last = 0


class CachedDraws:
    """Follows what data sets draw at random inside a function that keeps its results."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._held: dict[Any, _Cached] = {}  # by place of the draw
        self._without: set[Any] = set()  # places of draws that no cache is around
        self.told: set[Any] = set()  # places of draws that were reported

    def see(self, op: Op) -> None:
        """Something is drawn."""
        recorder = self._rule.session.recorder
        info = recorder.fetching
        if info is None or op.name not in RANDOM or op.site is None or own_stream(op):
            return
        if op.site in self._without:
            return
        held = self._held.get(op.site)
        if held is None:
            place = next(
                (p for s in recorder.callers() if (p := cache_around(s)) is not None), None
            )
            if place is None or len(self._held) > 64:
                self._without.add(op.site)
                return
            held = self._held[op.site] = _Cached(place, info)
        held.count += 1
        held.last = max(held.last, info.passes)

    def on_batch(self, event: Batch) -> None:
        """A pass begins: was anything drawn in the one before?"""
        if event.epoch < 2 or event.position or not self._held:
            return
        for site, held in list(self._held.items()):
            if held.loader is event.loader and held.last == 1:
                del self._held[site]
                self._without.add(site)
                self.told.add(site)
                self._rule.report(
                    held.place,
                    f"the random draws inside are cached: {held.count} draws in the first "
                    "epoch, none since. Each sample is the same in all epochs.",
                    evidence={"drawn_at": site, "epochs": event.epoch},
                    fix=(
                        "cache only what is read and decoded, and apply random changes outside "
                        "of the cache"
                    ),
                )


def changes_inputs(site: Site | None) -> bool:
    """Whether the function around a place masks what it is given, or adds noise, as far as its names
    tell.
    """
    function = function_around(site.file, site.line) if site is not None else None
    return function is not None and bool(_MASKS.search(ast.unparse(function)))


def cache_around(site: Site) -> Place | None:
    """Where the function around a place keeps its results, when it augments something."""
    function = function_around(site.file, site.line)
    if function is None or not _AUGMENTS.search(ast.unparse(function)):
        return None
    for decorator in function.decorator_list:
        if "cache" in ast.unparse(decorator):
            return Place(site.file, decorator.lineno)
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Subscript) and isinstance(node, ast.Assign):
            name = ast.unparse(target.value)
            read = [
                n
                for n in ast.walk(function)
                if isinstance(n, (ast.Subscript, ast.Compare, ast.Call))
                and n is not target
                and name in ast.unparse(n)
            ]
            if _CACHES.search(name) and read:
                return Place(site.file, node.lineno)
    return None
