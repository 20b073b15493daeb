"""Numbers of categories that are given anew for other rows, so that they mean something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import Called, LoaderInfo, Site
from ...rule import Rule
from ..leaks.together import TRAIN
from ..source.places import Place, attribute_place, tree, walk

MOST = 200_000  # rows and entries that are looked at
COMMON = 2  # categories that both have, with other numbers
COLUMNS = 64  # of one table


class _Column:
    """A column whose categories were numbered."""

    __slots__ = ("codes", "rows", "site")

    def __init__(self, codes: dict[Any, int], rows: int, site: Site) -> None:
        self.codes, self.rows, self.site = codes, rows, site


class CodesApart(Rule):
    """The same category has one number in training and another one in validation."""

    slug = "codes-apart"
    id = "PL911"
    severity = "error"
    summary = "categories are numbered differently in training and evaluation"

    def __init__(self) -> None:
        # by how the numbers are given and how many rows a table has: its columns, in order
        self._tables: dict[tuple[str, int], list[_Column]] = {}
        self._sets: dict[type, list[tuple[str, dict[Any, int], Any]]] = {}  # by class

    def on_call(self, event: Called) -> None:
        """The categories of a column are numbered."""
        if event.name not in ("unique", "factorize", "fit_transform") or event.site is None:
            return
        if event.name == "unique" and not event.kwargs.get("return_inverse"):
            return
        given = event.args[0] if event.args else None
        column = np.asarray(given, dtype=object) if isinstance(given, (list, tuple)) else given
        column = column if isinstance(column, np.ndarray) else getattr(column, "to_numpy", list)()
        if not isinstance(column, np.ndarray) or column.ndim != 1 or not 0 < column.size <= MOST:
            return
        names = column.tolist()
        if not all(isinstance(n, str) for n in names):
            return
        order = dict.fromkeys(names if event.name == "factorize" else sorted(set(names)))
        column = _Column({n: k for k, n in enumerate(order)}, len(names), event.site)
        table = self._tables.setdefault((event.name, len(names)), [])
        if len(table) < COLUMNS:
            table.append(column)
            self._compare(event.name, len(table) - 1, column)

    def _compare(self, name: str, k: int, column: _Column) -> None:
        """With the same column of the tables before."""
        for (kind, rows), table in self._tables.items():
            if kind != name or rows == column.rows or k >= len(table):
                continue
            apart = differing(table[k].codes, column.codes)
            if apart:
                self._tell(column.site, apart, table[k].codes, column.codes, table[k].site)
                return

    def on_loader(self, info: LoaderInfo) -> None:
        """Data sets of one class, each with a vocabulary of its own."""
        dataset = info.whole_dataset
        if dataset is None or not hasattr(dataset, "__dict__"):
            return
        held = self._sets.setdefault(type(dataset), [])
        for name, thing in vars(dataset).items():
            if not vocabulary(thing):
                continue
            for other, codes, _ in held:
                apart = differing(codes, thing) if other == name and codes is not thing else []
                if apart:
                    site = attribute_place(self.session.recorder, dataset, name)
                    self._tell(site or info.site, apart, codes, thing, info.site)
                    return
            if len(held) < COLUMNS:
                held.append((name, dict(thing), None))

    def finish(self) -> None:
        """A function that numbers what it is given, called with training rows and with others."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for name, held, trained in numbered_apart(root) if root is not None else ():
                self.report(
                    Place(file, held.lineno),
                    f"`{name}` numbers the categories of these rows anew, as it did for the training rows in line {trained.lineno}: the same "
                    "number stands for another category.",
                    evidence={"training": ast.unparse(trained), "here": ast.unparse(held)},
                    fix="number the categories of the training rows once, and look up all other rows in that numbering",
                )

    def _tell(self, site: Any, apart: list[Any], before: Any, now: Any, other: Any) -> None:
        first = apart[0]
        self.report(
            site,
            f"{first!r} has the number {before[first]} in the earlier rows and {now[first]} "
            "here, because each part numbers its categories separately.",
            evidence={"differing": [str(n) for n in apart[:5]], "other": other},
            fix=(
                "number the categories of the training rows once, and look up all other rows "
                "in that numbering"
            ),
        )


_HELD_OUT = re.compile(
    r"(^|[^a-z])x?(te|tst|test|testing|va|val|valid|validation|dev|eval|held|holdout)([^a-z]|$)",
    re.I,
)


def numbered_apart(root: Any) -> Iterator[tuple[str, ast.Call, ast.Call]]:
    """(name, call with other rows, call with training rows) of functions of a file that return a
    numbering of what they are given, where one function looks up rows in both numberings.
    """
    makers = {f.name for f in walk(root) if isinstance(f, ast.FunctionDef) and _numbers(f)}
    makers |= {
        c.name
        for c in walk(root)
        if isinstance(c, ast.ClassDef)
        and any(
            isinstance(f, ast.FunctionDef) and f.name == "__init__" and _numbers(f) for f in c.body
        )
    }
    calls = [n for n in walk(root) if isinstance(n, ast.Call)]
    names = {
        id(n.value): t.id
        for n in walk(root)
        if isinstance(n, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    for name in makers:
        own = [c for c in calls if getattr(c.func, "id", "") == name and c.args]
        train = [c for c in own if TRAIN.search(ast.unparse(c.args[0]))]
        held = [c for c in own if _HELD_OUT.search(ast.unparse(c.args[0])) and c not in train]
        for one, other in ((h, t) for h in held[:1] for t in train[:1]):
            users = [_users(calls, made, names.get(id(made), "-")) for made in (one, other)]
            if (users[0] & users[1]) - {
                "len",
                "print",
                "set",
                "sorted",
                "list",
                "dict",
                "max",
                ".keys",
                ".items",
                ".values",
            }:
                yield name, one, other


def _users(calls: list[ast.Call], made: ast.Call, name: str) -> set[str]:
    """The functions that are given a numbering, and its own methods."""
    found = set()
    for call in calls:
        if any(a is made or getattr(a, "id", "") == name for a in call.args):
            found.add(ast.unparse(call.func))
        if isinstance(call.func, ast.Attribute):
            of = call.func.value
            if of is made or getattr(of, "id", "") == name:
                found.add("." + call.func.attr)
    return found


def _numbers(function: ast.FunctionDef) -> bool:
    """Whether a function returns a dictionary that numbers what it meets."""
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
    names = {n.id for n in returned if isinstance(n, ast.Name)}
    if function.name == "__init__":
        names = {ast.unparse(n) for n in ast.walk(function) if isinstance(n, ast.Attribute)}
    for node in ast.walk(function):
        if isinstance(node, ast.DictComp) and any(
            isinstance(g.iter, ast.Call) and getattr(g.iter.func, "id", "") == "enumerate"
            for g in node.generators
        ):
            return isinstance(node.value, ast.Name) and isinstance(node.key, ast.Name)
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Subscript):
            table, value = ast.unparse(target.value), ast.unparse(node.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setdefault"
            and len(node.args) == 2
        ):
            table, value = ast.unparse(node.func.value), ast.unparse(node.args[1])
        else:
            continue
        if table in names and value == f"len({table})":
            return True
    return False


def vocabulary(thing: Any) -> bool:
    """Whether a dictionary numbers words."""
    return (
        type(thing) is dict
        and 2 < len(thing) <= MOST
        and all(type(k) is str and type(n) is int for k, n in list(thing.items())[:1000])
        and len(set(list(thing.values())[:1000])) == min(len(thing), 1000)
    )


def differing(before: dict[Any, int], now: dict[Any, int]) -> list[Any]:
    """The categories that both have with other numbers, when these are many."""
    common = [n for n in now if n in before]
    apart = [n for n in common if before[n] != now[n]]
    return apart if len(apart) >= COMMON or common and len(apart) == len(common) else []
