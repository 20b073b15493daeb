"""Runs that a seed does not make reproducible: streams it does not reach, orders that differ
between processes, the clock.
"""

from __future__ import annotations

import ast
import os
import random
import sys
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...events import Called, Op, Seeded, Site, Step
from ...numbers import number_of
from ...recording.signatures import RANDOM
from ...rule import Rule
from ..source.memory import unwritten
from ..source.places import Place, walk
from ..source.places import tree as parsed
from .draws import SEEDING, called, draws, own_stream


class Nondeterminism(Rule):
    """A seed is set, and something random is drawn that it does not cover."""

    slug = "nondeterminism"
    id = "PL803"
    severity = "warning"
    summary = "a seed is set and the run is still not reproducible"
    covered = ("nan-born",)  # of the numbers that stood in memory
    ops = (*sorted(RANDOM),)

    def __init__(self) -> None:
        self._early: Op | None = None  # the first draw before any seed
        self._seeded: dict[str, Seeded] = {}
        self._loaded_before = set(sys.modules)  # by whoever watches
        self._numpy = _state(np.random.get_state())
        self._random = hash(random.getstate())
        # parameters as they were when the seed came
        self._drawn: dict[int, tuple[Any, int, Site | None]] = {}
        self._first: Op | None = None  # the first draw from torch's stream
        # places where a stream was made without a seed, and what is written there
        self._streams: dict[Any, str] = {}
        # places where the hash of something was taken that differs from process to process
        self._hashes: dict[Any, str] = {}
        self._seeds: list[int] = []
        self._begun: set[int] = set()  # numbers of the optimizers that have stepped

    def on_op(self, op: Op) -> None:
        """Draws before the seed."""
        if self._first is None and op.site is not None and not own_stream(op) and draws(op):
            self._first = op
        if (
            self._early is None
            and "torch" not in self._seeded
            and "generator" not in op.args
            and op.site is not None
            and draws(op)
        ):
            self._early = op

    def on_seed(self, event: Seeded) -> None:
        """A stream is seeded with a number of the program's."""
        if isinstance(event.seed, int) and len(self._seeds) < 100:
            self._seeds.append(event.seed)
        if event.library in self._seeded:
            return
        self._seeded[event.library] = event
        if event.library != "torch" or self.step:
            return
        early, self._early = self._early, None
        if early is not None:
            self._late(
                event,
                f"{early.name} in line {early.site.line if early.site is not None else '?'} has drawn",
                early.site,
            )
        else:
            version = self.session.engine.version
            for module in self.session.recorder.names.alive():
                for p in module._parameters.values():
                    if p is not None and p.ndim >= 2 and p.requires_grad:
                        self._drawn[number_of(p)] = (
                            weakref.ref(p),
                            version(p),
                            self.session.recorder.names.site_of(module),
                        )

    def on_step(self, event: Step) -> None:
        """Parameters that were drawn before the seed, and not again after it."""
        drawn, self._drawn = self._drawn, {}
        if not drawn:
            return
        for value in event.optimizer.params():
            ref, version, site = drawn.get(number_of(value.tensor), (None, 0, None))
            # The step itself is one write; what was loaded or drawn anew after the seed has more.
            if (
                ref is not None
                and ref() is value.tensor
                and self.session.engine.version(value.tensor) <= version + 1
            ):
                name = value.parameter or "a parameter"
                self._late(
                    self._seeded["torch"], f"{name} and the rest of its model were drawn", site
                )
                return

    def on_step_begin(self, event: Step) -> None:
        """Parameters whose memory is as it was when it was taken: `nn.Parameter(torch.empty(n))`."""
        if event.optimizer.number in self._begun:
            return
        self._begun.add(event.optimizer.number)
        recorder = self.session.recorder
        for value in event.optimizer.params():
            place = unwritten(recorder, value) if value.producer is None else None
            if place is None:
                continue
            array = value.numpy()
            bad = 0 if array is None else int((~np.isfinite(array)).sum())
            self.report(
                place,
                f"{value.parameter or 'a parameter'} is allocated but never initialized: "
                "training starts with whatever is in memory, which differs from run to run and may be NaN.",
                evidence={"shape": list(value.shape), "step": self.step, "not_finite": bad},
                fix="initialize it: `torch.zeros`, `torch.randn`, or a function of `torch.nn.init` on it",
                covers=(place,),
                severity="error",
            )

    def _late(self, event: Seeded, what: str, site: Site | None) -> None:
        self.report(
            event.site,
            f"torch is seeded here after {what}: those numbers differ from run to run.",
            evidence={"drawn_at": site, "seed": event.seed},
            fix="seed before anything random happens, including the creation of models, which draws their parameters",
        )

    def on_call(self, event: Called) -> None:
        """Streams that are made, hashes that are taken."""
        if event.site is None or len(self._streams) + len(self._hashes) > 100:
            return
        given = [*event.args, *event.kwargs.values()]
        if event.name == "hash":
            if given and _differs(given[0]):
                call = event.site.call
                self._hashes[event.site.key] = call.text if call is not None else event.site.text
        elif event.name in _STREAMS_MADE and all(a is None for a in given):
            self._streams[event.site.key] = (
                event.site.call.text if event.site.call is not None else event.name
            )

    def _moved(self, library: str) -> bool:
        if library == "numpy":
            return _state(np.random.get_state()) != self._numpy
        return library == "random" and hash(random.getstate()) != self._random

    def finish(self) -> None:
        """Streams of NumPy and of Python that were used and never seeded."""
        seeded = self._seeded.get("torch")
        if seeded is None:
            self._never_seeded()
        if seeded is None or not isinstance(seeded.seed, int):
            return
        self._by_the_process(seeded)
        for library, prefix in (("numpy", "np.random.seed"), ("random", "random.seed")):
            if library in self._seeded or not self._moved(library):
                continue
            found = self._use(library)
            if found is not None:
                site, call = found
                self.report(
                    site,
                    f"`{call}` draws from {'NumPy' if library == 'numpy' else 'Python'}'s global generator, which is not seeded: torch.manual_seed "
                    f"in line {seeded.site.line if seeded.site is not None else '?'} does not reach it.",
                    evidence={"seeded_at": seeded.site, "seed": seeded.seed, "stream": library},
                    fix=f"seed it too: `{prefix}({seeded.seed})`",
                )
        for site, text in unordered(self._files()):
            self.report(
                site,
                f"`{text}` numbers the strings of a set, whose order differs from run to run (PYTHONHASHSEED), while torch is seeded.",
                evidence={"seeded_at": seeded.site, "seed": seeded.seed},
                fix="sort the set first: `sorted(...)`",
            )
        for site, call, why in unseeded(self._files()):
            self.report(
                site,
                f"`{call}` {why}, which differs from run to run, while other generators are seeded.",
                evidence={"seeded_at": seeded.site, "seed": seeded.seed},
                fix="seed it, like the other generators",
            )

    def _never_seeded(self) -> None:
        """Other libraries are seeded, and torch, which draws, is not."""
        others = [
            e
            for e in (self._seeded.get("numpy"), self._seeded.get("random"))
            if e is not None and isinstance(e.seed, int)
        ]
        if others and self._first is not None and self.step:
            event = max(others, key=lambda e: e.site.line if e.site is not None else 0)
            self.report(
                event.site,
                f"{'NumPy' if event.library == 'numpy' else 'Python'}'s generator is seeded here, and torch's is not: {self._first.name} in line "
                f"{self._first.site.line if self._first.site is not None else '?'} draws different numbers in each run.",
                evidence={"seed": event.seed, "drawn_at": self._first.site},
                fix=f"seed it too: `torch.manual_seed({event.seed})`",
            )

    def _by_the_process(self, seeded: Seeded) -> None:
        """Hashes, streams without a seed, seeds out of the clock, loops that the clock ends."""
        evidence = {"seeded_at": seeded.site, "seed": seeded.seed}
        for (file, line), text in self._hashes.items():
            if not _only_compared(file, line):
                self.report(
                    Place(file, line),
                    f"`{text}` uses a hash that differs from run to run (PYTHONHASHSEED, addresses), while torch is seeded.",
                    evidence=evidence,
                    fix="use a hash that is always the same: `zlib.crc32(text.encode())`, or number the values in sorted order",
                )
        for (file, line), text in self._streams.items():
            self.report(
                Place(file, line),
                f"`{text}` creates a generator without a seed, which differs from run to run, while others are seeded.",
                evidence=evidence,
                fix="seed it, like the other generators",
            )
        drawn = [s for s in self._seeds if abs(s) >= 1000]
        for file in self._files():
            literals = {
                n.value
                for n in walk(parsed(file) or ast.Module([], []))
                if isinstance(n, ast.Constant)
            }
            if any(s not in literals for s in drawn):
                for place, text in _changing_seeds(file):
                    self.report(
                        place,
                        f"`{text}` computes the seed from something that changes, and that seed was used ({drawn[0]}).",
                        evidence=evidence,
                        fix="use the given number, even if it is 0: `if seed is None`",
                    )
            for place, text, why in _by_clock_or_files(file):
                self.report(
                    place,
                    f"`{text}` {why}, while torch is seeded.",
                    evidence=evidence,
                    fix=_FIXES[why],
                )

    def _files(self) -> list[str]:
        """The script and the modules of the user's that were loaded while it was watched."""
        found = [os.path.abspath(self.session.script)]
        for name, module in list(sys.modules.items()):
            if name in self._loaded_before:
                continue
            file = getattr(module, "__file__", None)
            if (
                isinstance(file, str)
                and file.endswith(".py")
                and not self.session.recorder.is_library(file)
            ):
                found.append(file)
        return [*dict.fromkeys(found)]

    def _use(self, library: str) -> tuple[Site, str] | None:
        """The first call in the user's files that draws from a stream, and its place."""
        return next(
            (found for file in self._files() if (found := self._use_in(file, library)) is not None),
            None,
        )

    def _use_in(self, script: str, library: str) -> tuple[Site, str] | None:
        tree = parsed(script)
        if tree is None:
            return None
        names = {"numpy": _imported(tree, "numpy.random"), "random": _imported(tree, "random")}
        numpy_names = _imported(tree, "numpy")
        waits = {  # how long something waits is no part of the result
            id(c)
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and called(n) == "sleep"
            for a in n.args
            for c in ast.walk(a)
        }
        calls = sorted(
            (n for n in ast.walk(tree) if isinstance(n, ast.Call) and id(n) not in waits),
            key=lambda n: (n.lineno, n.col_offset),
        )
        for n in calls:
            written = ast.unparse(n.func)
            head, _, last = written.rpartition(".")
            of_numpy = head in names["numpy"] or any(
                head == f"{name}.random" for name in numpy_names
            )
            if library == "default_rng":
                hit = (
                    last in ("default_rng", "RandomState")
                    and (of_numpy or not head)
                    and not n.args
                    and not n.keywords
                )
            elif library == "numpy":
                hit = of_numpy and last not in (
                    "seed",
                    "default_rng",
                    "RandomState",
                    "Generator",
                    "get_state",
                    "set_state",
                    "SeedSequence",
                )
            else:
                hit = head in names["random"] and last not in (
                    "seed",
                    "Random",
                    "getstate",
                    "setstate",
                    "SystemRandom",
                )
                hit = hit or not head and written in _imported_from(tree, "random")
            if hit:
                return _Line(script, n.lineno), ast.unparse(n)
        return None


_STREAMS_MADE = frozenset(
    {"default_rng", "RandomState", "Random", "SeedSequence", "PCG64", "MT19937", "Philox"}
)
_CHANGING = frozenset(
    {
        "time",
        "time_ns",
        "perf_counter",
        "urandom",
        "getpid",
        "uuid4",
        "token_bytes",
        "randbits",
        "now",
        "monotonic",
    }
)


def unseeded(files: Iterable[str]) -> Iterator[tuple[Any, str, str]]:
    """Places that make a stream without a seed, or seed one with what differs from run to run."""
    for file in files:
        root = parsed(file)
        for node in walk(root) if root is not None else ():
            if not isinstance(node, ast.Call):
                continue
            name, text = called(node), ast.unparse(node)
            given = [*node.args, *[k.value for k in node.keywords]]
            nothing = all(isinstance(a, ast.Constant) and a.value is None for a in given)
            if name in _STREAMS_MADE and nothing and not text.startswith("self."):
                yield Place(file, node.lineno), text, "creates a generator without a seed"
            elif (
                name in ("seed", "manual_seed") and nothing and isinstance(node.func, ast.Attribute)
            ):
                yield Place(file, node.lineno), text, "seeds a generator from the system"
            elif name in SEEDING and any(
                isinstance(n, ast.Call) and called(n) in _CHANGING
                for a in given
                for n in ast.walk(a)
            ):
                yield Place(file, node.lineno), text, "seeds a generator with a number that changes"
            elif name == "SystemRandom" or text.startswith("secrets."):
                yield Place(file, node.lineno), text, "draws from the system's generator"
        for node in walk(root) if root is not None else ():
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Mod)
                and isinstance(node.left, ast.Call)
            ):
                call = node.left
                inner = call.args[0] if called(call) == "abs" and call.args else call
                plain = (
                    isinstance(inner, ast.Call)
                    and isinstance(inner.func, ast.Name)
                    and inner.func.id == "hash"
                )
                if plain and root is not None and _of_strings(inner, root):
                    yield (
                        Place(file, node.lineno),
                        ast.unparse(node),
                        "takes a number from the hash of a string",
                    )


def unordered(files: Iterable[str]) -> Iterator[tuple[Any, str]]:
    """Places that number or list the elements of a set of strings in the order in which it happens
    to give them.
    """
    for file in files:
        root = parsed(file)
        if root is None:
            continue
        sets = {
            ast.unparse(t): n.value
            for n in walk(root)
            if isinstance(n, ast.Assign) and _is_set(n.value)
            for t in n.targets
        }
        for node in walk(root):
            inner = _in_order(node)
            if inner is None:
                continue
            inner = sets.get(ast.unparse(inner), inner)
            if isinstance(inner, ast.BinOp) and isinstance(
                inner.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
            ):
                inner = next(
                    (
                        sets[t]
                        for side in (inner.left, inner.right)
                        if (t := ast.unparse(side)) in sets
                    ),
                    inner,
                )
            if _is_set(inner) and _of_strings(inner, root) and not _sorted_later(root, node):
                yield Place(file, node.lineno), ast.unparse(node).partition("\n")[0]  # type: ignore[attr-defined]


def _in_order(node: ast.AST) -> ast.expr | None:
    """What a part of the program goes through and keeps the order of: a call, a list made of it, a
    loop that numbers or collects.
    """
    if (
        isinstance(node, ast.Call)
        and called(node) in ("enumerate", "list", "tuple", "zip", "fromkeys", "iter", "join")
        and node.args
    ):
        return node.args[0]
    if isinstance(node, ast.ListComp):
        return node.generators[0].iter
    # of things that are made one after another: layers draw their numbers in this order
    if isinstance(node, ast.DictComp):
        made = any(
            isinstance(n, ast.Call) and called(n)[:1].isupper() for n in ast.walk(node.value)
        )
        return node.generators[0].iter if made or "len(" in ast.unparse(node.value) else None
    if isinstance(node, ast.For):
        for n in ast.walk(ast.Module(node.body, [])):
            if isinstance(n, ast.Call) and called(n) in ("append", "extend"):
                return node.iter
            if (
                isinstance(n, ast.Assign)
                and isinstance(n.targets[0], ast.Subscript)
                and "len(" in ast.unparse(n.value)
            ):
                return node.iter
    return None


def _is_set(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
    ):
        return _is_set(node.left) or _is_set(node.right)
    if isinstance(node, ast.Call) and called(node) in (
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
    ):
        return isinstance(node.func, ast.Attribute) and (
            _is_set(node.func.value) or ast.unparse(node.func.value) == "set"
        )
    return (
        isinstance(node, (ast.SetComp, ast.Set))
        or isinstance(node, ast.Call)
        and called(node) in ("set", "frozenset")
    )


def _differs(thing: Any) -> bool:
    """Whether the hash of something is another one in each run."""
    if isinstance(thing, (str, bytes)):
        return bool(thing)
    if isinstance(thing, (tuple, frozenset)):
        return any(_differs(part) for part in thing)
    return type(thing).__hash__ is object.__hash__ and not isinstance(thing, type)


def _only_compared(file: str, line: int) -> bool:
    """Whether a hash is taken by a `__hash__`, compared, or used as a key alone."""
    root = parsed(file)
    for node in walk(root) if root is not None else ():
        if (
            isinstance(node, ast.FunctionDef)
            and node.name in ("__hash__", "__eq__")
            and node.lineno <= line <= (node.end_lineno or 0)
        ):
            return True
        if isinstance(node, (ast.Compare, ast.Subscript)) and node.lineno == line:
            parts = (
                [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.slice]
            )
            if any(isinstance(p, ast.Call) and called(p) == "hash" for p in parts):
                return True
    return False


def _changing_seeds(file: str) -> Iterator[tuple[Place, str]]:
    """Lines that work out a seed with the clock or the system's random numbers."""
    root = parsed(file)
    for node in walk(root) if root is not None else ():
        parts: list[tuple[int, ast.AST]] = []
        if isinstance(node, ast.FunctionDef) and "seed" in node.name.lower():
            parts = [
                (n.lineno, n.value)
                for n in ast.walk(node)
                if isinstance(n, ast.Return) and n.value is not None
            ]
        elif isinstance(node, ast.Assign) and any(
            "seed" in ast.unparse(t).lower() for t in node.targets
        ):
            parts = [(node.lineno, node.value)]
        elif isinstance(node, ast.keyword) and node.arg is not None and "seed" in node.arg.lower():
            parts = [(node.value.lineno, node.value)]
        for line, value in parts:
            if any(isinstance(n, ast.Call) and called(n) in _CHANGING for n in ast.walk(value)):
                yield Place(file, line), ast.unparse(value)


_CLOCK = "ends by the clock, after a different number of steps in each run"
_LISTING = "lists files in an arbitrary order"
_FINISHED = "returns results in the order in which they happen to finish"
_ADDRESS = "sorts by addresses or hashes, which differ from run to run"
_FIXES = {
    _CLOCK: "count steps or epochs",
    _LISTING: "sort them: `sorted(...)`",
    _FINISHED: "take them in the order in which they were submitted: `pool.map(...)`, `pool.imap(...)`, `[job.result() for job in jobs]`",
    _ADDRESS: "sort by a property of the values: a name, a number",
}


def _by_clock_or_files(file: str) -> Iterator[tuple[Place, str, str]]:
    root = parsed(file)
    if root is None:
        return
    kept = {
        id(c)
        for n in walk(root)
        if isinstance(n, ast.Call) and called(n) in _NO_ORDER
        for a in n.args
        for c in ast.walk(a)
    }
    for node in walk(root):
        if isinstance(node, ast.While):
            clock = any(
                isinstance(n, ast.Call)
                and called(n) in ("time", "perf_counter", "monotonic", "time_ns")
                for n in ast.walk(node.test)
            )
            if clock and any(
                isinstance(n, ast.Call) and called(n) == "backward" for n in ast.walk(node)
            ):
                yield Place(file, node.lineno), f"while {ast.unparse(node.test)}", _CLOCK
        elif isinstance(node, ast.Call):
            name = called(node)
            if (
                name in ("listdir", "scandir", "iterdir", "iglob")
                or name in ("glob", "rglob")
                and node.args
            ):
                if id(node) not in kept and not _sorted_later(root, node):
                    yield Place(file, node.lineno), ast.unparse(node), _LISTING
            elif name in ("as_completed", "imap_unordered"):
                loop = next((n for n in walk(root) if _in_order(n) is node), None)
                if (
                    isinstance(loop, (ast.Call, ast.ListComp, ast.For))
                    and not _sorted_later(root, loop)
                    and not _keyed(loop)
                ):
                    yield Place(file, node.lineno), ast.unparse(node), _FINISHED
            elif name in ("sorted", "sort"):
                for k in node.keywords:
                    body = k.value.body if isinstance(k.value, ast.Lambda) else None
                    by = (
                        called(body)
                        if isinstance(body, ast.Call)
                        else k.value.id
                        if isinstance(k.value, ast.Name)
                        else ""
                    )
                    if k.arg == "key" and by in ("id", "hash"):
                        yield Place(file, node.lineno), ast.unparse(node), _ADDRESS


def _keyed(loop: ast.AST) -> bool:
    """Whether a loop or a list keeps with each result what it belongs to (`names[job]`,
    `(index, row)`): it can be put in order.
    """
    bodies = (
        loop.body
        if isinstance(loop, ast.For)
        else [loop.elt]
        if isinstance(loop, ast.ListComp)
        else []
    )
    target = (
        loop.target
        if isinstance(loop, ast.For)
        else loop.generators[0].target
        if isinstance(loop, ast.ListComp)
        else None
    )
    names = (
        {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} if target is not None else set()
    )
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name) and n.slice.id in names
        for part in bodies
        for n in ast.walk(part)
    )


_NO_ORDER = frozenset(
    {"sorted", "set", "frozenset", "len", "sum", "max", "min", "any", "all", "Counter"}
)


def _of_strings(node: ast.AST, root: ast.AST) -> bool:
    """Whether the elements are strings, as far as the text shows: they come out of `split`, of
    letters, of words in quotes.
    """
    if isinstance(node, ast.Set):
        return all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts)
    names: set[str] = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Call) and called(n) in (
            "split",
            "lower",
            "upper",
            "strip",
            "splitlines",
            "read",
            "findall",
            "join",
            "rsplit",
        ):
            return True
        if isinstance(n, ast.Constant) and isinstance(n.value, str):
            return True
        if isinstance(n, ast.Name):
            names.add(n.id)
    hints = (
        "word",
        "token",
        "text",
        "vocab",
        "char",
        "letter",
        "name",
        "sentence",
        "doc",
        "corpus",
        "tag",
        "label_names",
    )
    if any(hint in name.lower() for name in names for hint in hints):
        return True
    for n in walk(root):
        # over what the names in it run
        loops = [n] if isinstance(n, ast.For) else getattr(n, "generators", [])
        if loops and any(inside is node for inside in ast.walk(n)):
            for loop in loops:
                if names & {t.id for t in ast.walk(loop.target) if isinstance(t, ast.Name)}:
                    names |= {c.id for c in ast.walk(loop.iter) if isinstance(c, ast.Name)}
            if any(hint in name.lower() for name in names for hint in hints):
                return True
        if isinstance(n, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in names for t in n.targets
        ):
            if any(
                isinstance(c, ast.Constant) and isinstance(c.value, str) for c in ast.walk(n.value)
            ):
                return not any(
                    isinstance(c, ast.Call) and called(c) in ("open", "load", "randint", "tensor")
                    for c in ast.walk(n.value)
                )
    return False


def _sorted_later(root: ast.AST, node: ast.AST) -> bool:
    for n in walk(root):
        if (
            isinstance(n, ast.Call)
            and called(n) in ("sorted", "len", "sum", "max", "min")
            and any(c is node for a in n.args for c in ast.walk(a))
        ):
            return True
        if isinstance(n, ast.Assign) and n.value is node:
            titles = {ast.unparse(t) for t in n.targets}
            return any(
                isinstance(c, ast.Call)
                and isinstance(c.func, ast.Attribute)
                and c.func.attr == "sort"
                and ast.unparse(c.func.value) in titles
                for c in walk(root)
            )
    return False


class _Line(Site):
    """A line of the script that is known from its text."""

    __slots__ = ("_file", "_line")

    def __init__(self, file: str, line: int) -> None:
        super().__init__(sys._getframe().f_code, 0)
        self._file = file
        self._line = line

    @property
    def file(self) -> str:
        """The script."""
        return self._file

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self._line


def _imported(tree: ast.AST, module: str) -> set[str]:
    """The names by which a module is known in a script."""
    found = set()
    for n in ast.walk(tree):
        if isinstance(n, ast.Import):
            found |= {a.asname or a.name for a in n.names if a.name == module}
        elif isinstance(n, ast.ImportFrom) and n.module and "." in module:
            owner, _, name = module.rpartition(".")
            found |= {a.asname or a.name for a in n.names if n.module == owner and a.name == name}
    return found


def _imported_from(tree: ast.AST, module: str) -> set[str]:
    """Functions that were imported from a module by name."""
    return {
        a.asname or a.name
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.module == module
        for a in n.names
        if a.name != "seed"
    }


def _state(state: Any) -> int:
    return hash((state[1].tobytes(), state[2]))
