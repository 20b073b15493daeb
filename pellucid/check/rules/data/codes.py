"""Numbers of categories that are given anew for other rows, so that they mean something else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Called, LoaderInfo, Site
from ...rule import Rule
from ..source.places import attribute_place

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
    summary = "categories are numbered differently for other rows"

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
