"""Compare rows of data: which are equal, which overlap, how all of them were scaled, which samples
they are.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ...rule import median, tally
from ..source.places import Place, function_around, tree, walk

MOST = 4096  # rows of one call that are looked at
WIDE = 256  # elements of a row
_FACTORS = np.random.default_rng(7).integers(1, 1 << 62, WIDE, dtype=np.uint64) * np.uint64(
    2
) + np.uint64(1)
GRAM = 3  # values in a row that two windows must share to overlap
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _whole(array: Any) -> Any:
    """The bits of an array as integers."""
    array = np.ascontiguousarray(array)
    return array.view(_BITS[array.dtype.itemsize]).astype(np.uint64)


def hashed(array: Any) -> Any:
    """A number for each row of a matrix."""
    mixed = _whole(array)
    mixed ^= mixed >> np.uint64(15)
    return (mixed * _FACTORS[: mixed.shape[1]]).sum(axis=1, dtype=np.uint64)


def matrix(array: Any) -> Any:
    """The first elements of each row of an array with rows, None where there is too little in them
    to compare.
    """
    if array is None or array.dtype.kind not in "fiu" or array.ndim < 2 or not array.size:
        return None
    rows = array[:MOST].reshape(min(len(array), MOST), -1)[:, :WIDE]
    return rows if rows.shape[1] >= (2 if array.dtype.kind == "f" else 4) else None


def pairs(codes: Any) -> tuple[int, int]:
    """(pairs of equal rows, pairs) in one batch: rows that are often equal by nature say nothing
    when they turn up again.
    """
    counts = tally(codes)[1].astype(np.int64)
    return int((counts * (counts - 1)).sum()) // 2, len(codes) * (len(codes) - 1) // 2


def grams(array: Any) -> tuple[set[int], list[int], float] | None:
    """For rows that may be windows of a series: the hashes of all `GRAM` values one after another
    in any of them, those of the last ones of each row, and how often two values of one row are
    equal, which says how much of this is chance."""
    if array.ndim == 3 and 1 in array.shape[1:]:
        array = array.reshape(len(array), -1)
    if array.ndim == 3 and 2 * array.shape[1] <= array.shape[2]:
        array = np.ascontiguousarray(array.transpose(0, 2, 1))  # channels first
    if array.ndim not in (2, 3) or array.dtype.kind != "f" or array.shape[1] < GRAM + 2:
        return None
    rows = array[:1024, :WIDE]
    if rows.ndim == 3:
        rows = rows[:, :, :8]
        bits = (_whole(rows) * _FACTORS[: rows.shape[2]]).sum(axis=2, dtype=np.uint64)
        level = rows[:, :, 0]
    else:
        bits, level = _whole(rows), rows
    last = rows.shape[1] - GRAM + 1
    codes = sum(bits[:, k : k + last] * _FACTORS[k] for k in range(GRAM))
    flat = (level[:, :last] == level[:, 1 : last + 1]) | (
        level[:, :last] == np.floor(level[:, :last])
    )
    ends = [int(c) if not f else 0 for c, f in zip(codes[:, -1], flat[:, -1], strict=True)]
    return set(codes[:, :-1][~flat[:, :-1]].tolist()), ends, _equal_values(bits, level)


def _equal_values(bits: Any, level: Any) -> float:
    """The share of pairs of values in a row that are equal, whole numbers and values that stand
    still (padding) left out: counts, levels and rounded numbers are equal by nature, a measured
    series hardly ever."""
    some = np.linspace(0, len(bits) - 1, min(len(bits), 64)).astype(int)
    bits, level = bits[some], level[some]
    moves = level != np.floor(level)
    moves[:, 1:] &= level[:, 1:] != level[:, :-1]
    both = moves[:, :, None] & moves[:, None, :]
    both &= ~np.eye(bits.shape[1], dtype=bool)
    pairs = int(both.sum())
    return int((both & (bits[:, :, None] == bits[:, None, :])).sum()) / pairs if pairs else 0.0


def samples(dataset: Any, indices: Any) -> tuple[Any, list[int]]:
    """(the data set below all selections, the places in it) of the samples with these indices."""
    for _ in range(8):
        kind = type(dataset).__name__
        if kind == "Subset":
            chosen, dataset = dataset.indices, dataset.dataset
            indices = [int(chosen[i]) for i in indices]
        else:
            break
    return dataset, [int(i) for i in indices]


def scaled_together(trained: Any, held: Any) -> str | None:
    """ "mean and deviation" or "smallest and largest value", when these of both sets of rows
    together are 0 and 1 and those of the rows that were trained on are not: all of them were scaled
    with statistics of all; None otherwise."""
    if (
        trained.ndim != 2
        or trained.shape[1] != held.shape[1]
        or trained.shape[1] < 2
        or len(trained) < 32
        or len(held) < 8
    ):
        return None
    both = np.concatenate([trained, held]).astype(np.float64)
    spread = both.std(axis=0)
    columns = spread > 1e-6
    if columns.sum() < 2:
        return None
    both, trained = both[:, columns], trained[:, columns].astype(np.float64)
    mean, own = np.abs(both.mean(axis=0)), np.abs(trained.mean(axis=0))
    if (
        mean.max() < 0.03 / np.sqrt(len(both))
        and np.abs(both.std(axis=0) - 1).max() < 0.02
        and median(own) > 5 * mean.max()
    ):
        return "mean and deviation"
    low, high = both.min(axis=0), both.max(axis=0)
    if np.abs(low).max() < 1e-5 and np.abs(high - 1).max() < 1e-5:
        if np.any(trained.min(axis=0) > 1e-4) or np.any(trained.max(axis=0) < 1 - 1e-4):
            return "smallest and largest value"
    return None


_SCALES = re.compile(
    r"\.(mean|std|var|min|max|amin|amax|ptp)\(|(mean|std|min|max)\(|fit_transform\(|\.fit\(|scale\(|normali[sz]e\("
)


def scaled_at(files: list[str]) -> Place | None:
    """The line that scales with a mean and a deviation, or the call of the function that does;
    where they have a line of their own and a later one uses them, the line that takes them.
    """
    for file in files:
        root = tree(file)
        taken: dict[str, ast.stmt] = {}  # names of statistics: where they are taken
        statements = [
            node
            for node in (walk(root) if root is not None else ())
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)) and node.value is not None
        ]
        for node in sorted(statements, key=lambda n: n.lineno):
            assert node.value is not None
            text, used = ast.unparse(node.value), _operands(node)
            if _SCALES.search(text) and (used or "fit" in text):
                return _at_the_only_call(file, node)
            if _SCALES.search(text) and isinstance(node, ast.Assign):
                for target in node.targets:
                    taken.update((n.id, node) for n in ast.walk(target) if isinstance(n, ast.Name))
            elif (first := next((taken[n] for n in used if n in taken), None)) is not None:
                return _at_the_only_call(file, first)
    return None


def _operands(node: ast.Assign | ast.AugAssign | ast.Return) -> list[str]:
    """The names (at least "") that take part in a difference or a quotient of a statement."""
    found: list[ast.AST] = [node.value] if isinstance(node, ast.AugAssign) else []
    for n in ast.walk(node):
        if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Sub, ast.Div)):
            found += [n.left, n.right]
    names = [m.id for n in found for m in ast.walk(n) if isinstance(m, ast.Name)]
    return names or [""] * bool(found)


def _at_the_only_call(file: str, node: ast.stmt) -> Place:
    """The only call of the function or method that a statement stands in, else the statement."""
    function, root = function_around(file, node.lineno), tree(file)
    calls = [
        n
        for n in (walk(root) if function is not None and root is not None else ())
        if function is not None
        and isinstance(n, ast.Call)
        and getattr(n.func, "id", getattr(n.func, "attr", "")) == function.name
    ]
    return Place(file, calls[0].lineno if len(calls) == 1 else node.lineno)


def common(first: list[Any], second: list[Any]) -> Any:
    """Of two lists of places that led to two things, innermost first: the place of the first where
    their ways part.
    """
    codes = {id(site.code) for site in second}
    return next((site for site in first if id(site.code) in codes), first[-1] if first else None)
