"""Runs the text of a program with one library bound to `torch`, writes down all that can be seen of
it, and compares two such records.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import io
import linecache
import math
import random
import re
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

EPSILON = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "complex32": 2.0**-10,
}
DOUBLE = 2.0**-52
JITTERS = (2.0, 2.0, 2.0, 20.0, 20.0, 20.0)  # units in the last place
ORDER = (0, 3, 1, 4, 2, 5)
LIGHT = ("stride", "error text")  # told where nothing worse is found
Leaf = tuple[str, str, Any, float]  # path, kind, value, epsilon


class Jitter:
    """Moves the floating-point values of a tensor by some units in the last place, as another order
    of rounding would.
    """

    def __init__(self, seed: int, units: float, least: float = 0.0) -> None:
        self.draws, self.units, self.least = np.random.default_rng(seed), units, least

    def __call__(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            for part in value:
                self(part)
        array = getattr(value, "_array", None)
        if (
            isinstance(array, np.ndarray)
            and array.size
            and array.flags.writeable
            and array.flags.forc
            and array.dtype.kind not in "biu"
        ):
            name = str(value.dtype).split(".")[-1]
            step = max(EPSILON.get(name, DOUBLE), self.least) * self.units
            with np.errstate(all="ignore"):
                noise = 1 + step * self.draws.uniform(-1, 1, array.shape)
                wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
                # small exact numbers stay
                moved = np.where(wide * 64 == np.round(wide * 64), wide, wide * noise)
                array[...] = moved.astype(array.dtype)
        return value


class _Jittered(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = ast.Call(ast.Name("_jitter", ast.Load()), [node.value], [])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node


class Imports(ast.NodeTransformer):
    """`import torch...` becomes an import of the library that is tested."""

    def __init__(self, package: str) -> None:
        self.package = package

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            if alias.name.split(".")[0] == "torch":
                alias.asname = alias.asname or "torch"
                alias.name = self.package + alias.name[5:]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.module and node.module.split(".")[0] == "torch":
            node.module = self.package + node.module[5:]
        return node


def told(error: BaseException) -> tuple[str, str, str]:
    """The builtin class of an error and its first line: what of it is PyTorch's."""
    name = type(error).__name__
    return "error", name, (str(error).splitlines() or [""])[0]


def reset(torch: Any) -> None:
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.default_generator.manual_seed(7)  # `torch.manual_seed` is slow in PyTorch


def execute(
    text: str,
    package: str,
    compiling: dict[str, Any] | None = None,
    jitter: Jitter | None = None,
) -> list[Leaf]:
    """All that can be seen of a program: what each statement after `program` gives or raises, and
    all variables at the end. `compiling` are the options with which it is compiled, if it is.
    """
    torch = importlib.import_module(package)
    filename = f"<program for {package}{'' if compiling is None else ' compiled'}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    module = types.ModuleType("random_program")
    sys.modules["random_program"] = module
    scope = module.__dict__
    scope.update(_jitter=jitter, told=told)
    tree = ast.parse(text)
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            ast.fix_missing_locations(Imports(package).visit(statement))
    if jitter is not None:
        tree = ast.fix_missing_locations(_Jittered().visit(tree))
    leaves: list[Leaf] = []
    before = {"_jitter", "told", *scope}
    reset(torch)
    called = False
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for number, statement in enumerate(tree.body):
            try:
                exec(builtins.compile(ast.Module([statement], []), filename, "exec"), scope)
            except Exception as error:
                leaves += flat(told(error), f"line {number}")
                continue
            if isinstance(statement, ast.FunctionDef) and statement.name == "program":
                called = True
                if compiling is not None:
                    scope["program"] = torch.compile(scope["program"], **compiling)
            elif (
                called
                and isinstance(statement, ast.Assign)
                and isinstance(statement.targets[0], ast.Name)
            ):
                leaves += flat(scope.get(statement.targets[0].id), f"line {number}")
        leaves += flat(
            [torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_inference_mode_enabled()],
            "modes",
        )
        torch.set_default_dtype(torch.float32)
        leaves += flat(torch.rand(1).item(), "stream")
        for name in [
            name for name in scope if name not in before and name != "program" and name[0] != "_"
        ]:
            if not isinstance(scope[name], (types.ModuleType, types.FunctionType, type)):
                leaves += flat(scope[name], name)
    reset(torch)
    sys.modules.pop("random_program", None)
    linecache.cache.pop(filename, None)
    return leaves


def flat(value: Any, path: str, depth: int = 0) -> list[Leaf]:
    return list(_flat(value, path, depth))


def _flat(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    if depth > 6:
        return
    kind = type(value).__module__.split(".")[0]
    if kind in ("torch", "pellucid") and hasattr(type(value), "grad_fn"):
        try:
            yield from list(_tensor(value, path, depth))
        except RuntimeError as error:  # a view that a write in place spoiled
            yield from _flat(told(error), path, depth)
    elif isinstance(value, (bool, int, str, type(None))):
        yield path, "text" if isinstance(value, str) else "number", value, 0.0
    elif isinstance(value, (float, complex)):
        yield path, "number", np.asarray(value), EPSILON["float32"]
    elif isinstance(value, (tuple, list)):
        yield path, "length", len(value), 0.0
        for index, part in enumerate(value):
            yield from _flat(part, f"{path}[{index}]", depth + 1)
    elif isinstance(value, dict):
        yield path, "keys", [str(key) for key in value], 0.0
        for key, part in value.items():
            yield from _flat(part, f"{path}[{key}]", depth + 1)
    elif kind in ("torch", "pellucid", "random_program") and hasattr(value, "named_parameters"):
        yield path, "training", value.training, 0.0
        yield from _flat(dict(value.named_parameters()), path, depth + 1)
        yield from _flat(dict(value.named_buffers()), path, depth + 1)
        yield from _flat(
            {k: v for k, v in vars(value).items() if type(v) in (int, float, bool)}, path, depth + 1
        )
    elif hasattr(value, "state_dict") and hasattr(value, "step"):
        yield from _flat(value.state_dict(), f"{path}.state", depth + 1)
    elif kind in ("torch", "pellucid") and type(value).__name__ == "dtype":
        yield path, "dtype", str(value).split(".")[-1], 0.0


def _tensor(value: Any, path: str, depth: int) -> Iterator[Leaf]:
    name = str(value.dtype).split(".")[-1]
    shape = tuple(value.shape)
    yield path, "shape", shape, 0.0
    yield path, "dtype", name, 0.0
    # PyTorch says of views made without gradients what it says of their base, as long as it lives.
    own = value.grad_fn is not None or not value._is_view()
    yield path, "requires_grad", value.requires_grad if own else None, 0.0
    yield path, "is_leaf", value.is_leaf, 0.0
    dense = str(value.layout) == "torch.strided"
    if depth < 6 and dense:  # of a gradient, nobody promises them
        strides = tuple(s for s, n in zip(value.stride(), shape, strict=True) if n > 1)
        yield path, "stride", strides if value.numel() else (), 0.0
    torch = sys.modules[
        type(value)
        .__mro__[-2 if type(value).__mro__[-2].__name__ == "Tensor" else 0]
        .__module__.split(".")[0]
    ]
    with torch.no_grad():
        plain = value.detach()
        if not dense:
            yield path, "layout", str(plain.layout), 0.0
            plain = plain.to_dense()
        plain = torch.resolve_neg(torch.resolve_conj(plain))
        wide = (
            torch.complex128
            if plain.is_complex()
            else torch.float64
            if plain.is_floating_point()
            else torch.int64
        )
        # a copy: PyTorch refuses to resize what NumPy looks at
        array = plain.to(wide, copy=True).numpy()
    yield path, "value", array, EPSILON.get(name, DOUBLE) if wide is not torch.int64 else 0.0
    if depth < 6 and (value.is_leaf or value.retains_grad):
        gradient = value.grad
        yield f"{path}.grad", "gradient", gradient is None, 0.0
        if gradient is not None:
            yield from (
                (p, f"gradient {k}" if k == "value" else k, v, e)
                for p, k, v, e in _tensor(gradient, f"{path}.grad", 6)
            )


class Difference:
    def __init__(self, kind: str, detail: str, index: int | None = None) -> None:
        # an index where rounding may explain it
        self.kind, self.detail, self.index = kind, detail, index


def compare(wanted: list[Leaf], found: list[Leaf], skip: tuple[str, ...] = ()) -> list[Difference]:
    """How two records differ; the list ends where they are no longer about the same things."""
    made = []
    for index, (a, b) in enumerate(zip(wanted, found, strict=False)):
        if a[:2] != b[:2] or (a[1] == "value" and a[2].shape != b[2].shape):
            made.append(
                Difference(
                    _errors(wanted, found, index),
                    f"{_said(wanted, index)}, found {_said(found, index)}",
                )
            )
            return made
        path, kind, x, epsilon = a
        y = b[2]
        if kind in skip:
            continue
        if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
            if x.shape != y.shape or not _near(x, y, _room(x, epsilon)):
                made.append(Difference(kind, f"{path}: {_short(x)}, found {_short(y)}", index))
        elif type(x) is not type(y) or x != y:
            if (kind == "stride" and 0 in x) or (kind == "requires_grad" and None in (x, y)):
                # expanded there: of a gradient, say; or a view of what needs no gradient in one of
                # the two
                continue
            soft = kind in ("number", "gradient", "text")
            if (
                kind == "text"
                and index
                and wanted[index - 1][2] == found[index - 1][2]
                and wanted[index - 2][2] == "error"
            ):
                kind = f"error text {_normal(x)}"
            elif kind in ("length", "keys", "shape", "number") or kind == "text":
                kind = _errors(wanted, found, index)
                soft = not kind.startswith(("refused", "accepted"))
            made.append(Difference(kind, f"{path}: {x!r}, found {y!r}", index if soft else None))
            if kind.startswith(("refused", "accepted", "length", "keys")):
                return made
    if not made and len(wanted) != len(found):
        made.append(Difference("length", f"{len(wanted)} facts, found {len(found)}"))
    return made


def _errors(wanted: list[Leaf], found: list[Leaf], index: int) -> str:
    """The kind of a difference, which tells whether one of the two had an error here."""
    mine, theirs = _error(found, index), _error(wanted, index)
    first, second = (_line(leaves, index) for leaves in (wanted, found))
    if first != second:  # a statement after another one, which one of the two has not told of
        mine, theirs = (mine, None) if second < first else (None, theirs)
    if mine and theirs:
        return f"error class {theirs[0]} {_normal(theirs[1])} is {mine[0]} {_normal(mine[1])}"
    if mine:
        return f"refused {mine[0]} {_normal(mine[1])}"
    if theirs:
        return f"accepted {theirs[0]} {_normal(theirs[1])}"
    return wanted[index][1]


def _line(leaves: list[Leaf], index: int) -> float:
    """The number of the statement that a fact is about; those about the end come last."""
    found = re.match(r"line (\d+)", leaves[index][0])
    return int(found[1]) if found else math.inf


def _error(leaves: list[Leaf], index: int) -> tuple[str, str] | None:
    for start in (index, index + 1, index - 1):
        if (
            0 <= start < len(leaves) - 2
            and leaves[start][1] == "text"
            and leaves[start][2] == "error"
        ):
            return leaves[start + 1][2], leaves[start + 2][2]
    return None


def _said(leaves: list[Leaf], index: int) -> str:
    error = _error(leaves, index)
    return (
        f"{error[0]}: {error[1]}"
        if error
        else f"{leaves[index][0]} {leaves[index][1]} {_short(leaves[index][2])}"
    )


def _normal(text: str) -> str:
    return re.sub(r"[^A-Za-z_']+", " ", text)[:60].strip()


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{np.array2string(value.ravel()[:6], precision=6)}{list(value.shape)}"
    return repr(value)[:80]


def _room(x: np.ndarray, epsilon: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        size = np.abs(x)
        largest = size[np.isfinite(size)].max(initial=0.0)
        return 64 * epsilon * (size + 0.25 * largest) + (16 * epsilon if epsilon else 0.0)


def _near(x: np.ndarray, y: np.ndarray, room: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        same = _like(x, y) | (np.abs(x - y) <= room)
    return bool(same.all())


def explained(
    differences: list[Difference], wanted: list[Leaf], found: list[Leaf], jittered: list[list[Leaf]]
) -> list[Difference]:
    """The differences that are larger than what rounding does to the program, or nothing where it
    turns into another one.
    """
    kept = []
    for difference in differences:
        index = difference.index
        if index is None:
            kept.append(difference)
            continue
        x, epsilon = wanted[index][2], wanted[index][3]
        others = [
            leaves[index]
            if index < len(leaves) and leaves[index][:2] == wanted[index][:2]
            else None
            for leaves in jittered
        ]
        if any(other is None for other in others):
            return []
        values = [other[2] for other in others if other is not None]
        if not isinstance(x, np.ndarray):
            if all(type(value) is type(x) and value == x for value in values):
                kept.append(difference)
            else:
                return kept  # a decision that rounding turns: what comes after says nothing
            continue
        if any(value.shape != x.shape for value in values):
            return []
        y = found[index][2]
        with np.errstate(all="ignore"):
            spread = np.max(
                [
                    np.where(
                        np.isfinite(v) & np.isfinite(x),
                        np.abs(v - x),
                        np.where(_like(v, x), 0.0, np.inf),
                    )
                    for v in values
                ],
                axis=0,
            )
            room = np.nan_to_num(_room(x, epsilon), nan=0.0) + (10 if epsilon else 1e9) * spread
            # What rounding moves by as much as it is may as well be no number, and the reverse.
            lost = np.isinf(room) | (~np.isfinite(y) & (spread > 0) & (10 * spread >= np.abs(x)))
        if not _near(np.where(lost, 0, x), np.where(lost, 0, y), room):
            kept.append(difference)
    return kept


def _like(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where two arrays hold the same, or no number; a complex number of which a part is infinite is
    infinity, whatever the other part is.
    """
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return same | (np.isinf(x) & np.isinf(y)) if x.dtype.kind == "c" else same


def judge(
    text: str, wanted: list[Leaf], found: list[Leaf], name: str, skip: tuple[str, ...] = ()
) -> str | None:
    """The first difference that rounding does not explain, as a failure."""
    differences = compare(wanted, found, skip)
    if any(d.index is not None for d in differences):
        # What is computed in fewer digits than its result has shows in no dtype.
        narrow = [
            eps
            for word, eps in (
                ("autocast", 2.0**-7),
                ("bfloat16()", 2.0**-7),
                ("half()", 2.0**-10),
                ("float()", 2.0**-23),
            )
            if word in text
        ]
        others = []
        for seed in ORDER:  # each one explains more: most often a few suffice
            jitter = Jitter(seed, JITTERS[seed], narrow[0] if narrow else 0.0)
            others.append(execute(text, "pellucid", jitter=jitter))
            if seed and not explained(differences, wanted, found, others):
                return None
        if name == "compiled":
            plain = execute(text, "pellucid")
            others += [plain] if len(plain) == len(wanted) else []
        differences = explained(differences, wanted, found, others)
    if not differences:
        return None
    first = min(differences, key=lambda d: d.kind.startswith(LIGHT))
    return f"{name} {first.kind}: {first.detail}"


def kind_of(failure: str) -> str:
    """The kind of difference that a failure of `judge` tells of."""
    return failure.split(":", 1)[0].split(" ", 1)[1]


def seeded(seed: int) -> random.Random:
    return random.Random(seed)
