"""Data workers that all draw the same random numbers."""

from __future__ import annotations

import ast
import functools
import inspect
import random
from collections.abc import Iterator
from types import CodeType
from typing import Any

import numpy as np

from ...events import Batch, LoaderInfo, Site, whole_of
from ...fingerprint import fingerprint
from ...rule import Rule
from ..source.places import Place, assignments
from ..source.places import tree as parsed
from .draws import SEEDING, called

_STREAMS = (np.random.Generator, np.random.RandomState, random.Random)
_OWN = frozenset(
    "initial_seed get_worker_info getpid urandom time time_ns seed randint entropy SeedSequence".split()
)


def _is_stream(thing: Any) -> bool:
    return (
        isinstance(thing, _STREAMS)
        and not isinstance(thing, random.SystemRandom)
        or (type(thing).__name__ == "Generator" and hasattr(thing, "initial_seed"))
    )


def _reached(thing: Any, depth: int = 4, path: str = "") -> Iterator[tuple[str, Any]]:
    """Random streams held by an object, by attribute path."""
    if _is_stream(thing):
        yield path, thing
        return
    if (
        depth == 0
        or isinstance(thing, (str, bytes, int, float, np.ndarray))
        or type(thing).__name__ in ("Tensor", "Parameter")
    ):
        return
    if isinstance(thing, (list, tuple)):
        for k, item in enumerate(thing[:16]):
            yield from _reached(item, depth - 1, f"{path}[{k}]")
    elif not isinstance(thing, type) and hasattr(thing, "__dict__"):
        for name, item in list(vars(thing).items()):
            yield from _reached(item, depth - 1, f"{path}.{name}" if path else name)


def _codes(thing: Any, method: bool = True) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """Code that makes samples: `__getitem__` and what it calls on itself, transforms."""
    kinds = (
        [
            k
            for k in type(thing).__mro__
            if k.__module__.partition(".")[0] not in ("torch", "builtins", "pellucid")
        ]
        if method
        else []
    )
    for kind in kinds:
        for item in vars(kind).values():
            function = inspect.unwrap(item) if callable(item) else None
            if hasattr(function, "__code__") and function.__name__ != "__init__":
                yield function.__code__, function.__globals__
    if hasattr(thing, "__code__"):
        yield thing.__code__, thing.__globals__


class SameWorkerSeed(Rule):
    """Every worker of a DataLoader is a copy of the process, with a copy of its random streams."""

    slug = "same-worker-seed"
    id = "PL802"
    severity = "error"
    summary = "the same random numbers in every DataLoader worker"

    def __init__(self) -> None:
        # by number of a loader: digests of the last batches of this pass
        self._given: dict[int, list[bytes]] = {}
        self._equal: dict[int, int] = {}
        self._kinds: dict[int, type] = {}  # classes of data sets, by number of a loader

    def on_batch(self, event: Batch) -> None:
        """The same batch from one worker after another."""
        loader = event.loader
        if (
            loader.workers < 2
            or event.position >= 64
            or not event.values
            or self._equal.get(loader.number, 0) > 1
        ):
            return
        arrays = [a for v in event.values if (a := v.numpy()) is not None and a.size]
        if not any(a.dtype.kind == "f" and a.size >= 4 and a.min() < a.max() for a in arrays):
            return
        digest = fingerprint(*arrays)
        known = self._given.setdefault(loader.number, [])
        if not event.position:
            known.clear()
        if digest in known[1 - loader.workers :]:
            self._equal[loader.number] = count = self._equal.get(loader.number, 0) + 1
            if count == 2:
                self.report(
                    _seeded_in(self._kinds.get(loader.number), self.session.recorder)
                    or loader.site,
                    f"the {loader.workers} workers of this loader return the same batches, one after another: each iterates over the same numbers.",
                    evidence={"workers": loader.workers, "loader_at": loader.site},
                    fix="let each worker take its share, and seed it with its number: `torch.utils.data.get_worker_info().id`",
                )
        known.append(digest)

    def on_pass(self, loader: LoaderInfo) -> None:
        """Workers are started."""
        self._kinds[loader.number] = type(loader.dataset)
        if loader.workers < 2 or loader.passes > 0:
            return
        initial = getattr(loader.loader, "worker_init_fn", None)
        if initial is not None:
            found = _constant_seed(initial)
            if found is not None:
                site, call = found
                self.report(
                    site,
                    f"every one of the {loader.workers} workers is seeded with the same number here: `{call}` does not depend on the worker.",
                    evidence={"loader_at": loader.site, "workers": loader.workers, "call": call},
                    fix="give each worker its own seed: `torch.initial_seed() % 2**32`, or add the worker's number",
                )
            return  # it may well seed what the data set holds
        for name, place in self._streams(loader.dataset):
            self.report(
                place or loader.site,
                f"each of the {loader.workers} workers gets a copy of {name}, in the same state: all draw the same random numbers.",
                evidence={"workers": loader.workers, "stream": name, "loader_at": loader.site},
                fix="create the generator in the worker: seed it from `torch.initial_seed()` in a `worker_init_fn` (or draw with torch, whose "
                "generator is seeded differently in every worker)",
            )
            return

    def _streams(self, dataset: Any) -> Iterator[tuple[str, Any]]:
        dataset = whole_of(dataset)
        things = (
            [dataset, *[t for t in vars(dataset).values() if callable(t)]]
            if hasattr(dataset, "__dict__")
            else [dataset]
        )
        used: set[str] = set()
        for thing in things:
            for code, scope in _codes(thing):
                names = set(code.co_names)
                if "get_worker_info" in names or "initial_seed" in names:
                    return
                used |= names
                for name in code.co_names:
                    if _is_stream(scope.get(name)):
                        yield (
                            f"`{name}`",
                            next(
                                (
                                    Place(code.co_filename, n.lineno)
                                    for n in assignments(code.co_filename, name)
                                ),
                                None,
                            ),
                        )
        for path, _ in _reached(dataset):
            parts = path.replace("[", ".").split(".")
            if set(parts) & used:
                yield f"`{type(dataset).__name__}.{path}`", _assigned(dataset, parts)


def _seeded_in(kind: Any, recorder: Any) -> Place | None:
    """The line in a data set's own code that makes a stream, or else the function that gives its
    samples.
    """
    for name in ("__iter__", "__getitem__"):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if code is None or recorder.is_library(code.co_filename):
            continue
        tree = parsed(code.co_filename)
        owner = _definition(tree, code) if tree is not None else None
        calls = (
            [n for n in ast.walk(owner) if isinstance(n, ast.Call) and called(n) in SEEDING]
            if owner is not None
            else []
        )
        return Place(code.co_filename, calls[0].lineno if calls else code.co_firstlineno)
    return None


def _assigned(owner: Any, parts: list[str]) -> Place | None:
    """Where the class of an object assigns the attribute at the end of a path from it."""
    for part in parts[:-1]:
        owner = owner[int(part[:-1])] if part.endswith("]") else getattr(owner, part, None)
    for kind in type(owner).__mro__:
        code = getattr(vars(kind).get("__init__"), "__code__", None)
        if code is not None:
            found = next(
                assignments(code.co_filename, f"self.{parts[-1]}", code.co_firstlineno), None
            )
            if found is not None:
                return Place(code.co_filename, found.lineno)
    return None


def _constant_seed(function: Any) -> tuple[Site, str] | None:
    """A seeding call in a `worker_init_fn` whose argument does not depend on the worker: (place,
    what is called).
    """
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    if code is None:
        return None
    tree = parsed(code.co_filename)
    owner = None if tree is None else _definition(tree, code)
    if owner is None:
        return None
    arguments = owner.args
    own = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]} - {
        "self"
    }
    statements = owner.body if isinstance(owner.body, list) else [owner.body]
    nodes = [n for statement in statements for n in ast.walk(statement)]
    for node in nodes:  # names made of what is the worker's own, in order
        if isinstance(node, ast.Assign) and _depends(node.value, own):
            own |= {
                t.id for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name)
            }
    seeds = [n for n in nodes if isinstance(n, ast.Call) and called(n) in SEEDING and n.args]
    if not seeds or any(_depends(a, own) for n in seeds for a in n.args):
        return None
    first = seeds[0]
    for index, position in enumerate(code.co_positions()):
        if position[0] == first.lineno:
            return Site(code, 2 * index), ast.unparse(first)
    return None


def _definition(tree: ast.AST, code: CodeType) -> Any:
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    for n in found:
        first = min([n.lineno, *[d.lineno for d in getattr(n, "decorator_list", [])]])
        if first == code.co_firstlineno and getattr(n, "name", "<lambda>") == code.co_name:
            return n
    return None


def _depends(node: ast.AST, own: set[str]) -> bool:
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and n.id in own:
            return True
        if isinstance(n, ast.Call) and called(n) in _OWN:
            return True
    return False
