"""Held-out rows that are changed at random, or scaled by their own statistics."""

from __future__ import annotations

import ast
import re
import weakref
from types import FunctionType
from typing import Any

import numpy as np

from ...events import VIEWS, Backward, Batch, Called, LoaderInfo, ModuleCall, Op, Value, lineage
from ...fingerprint import fingerprint
from ...rule import Rule
from ..data.sampling import shown
from ..data.scaled import standardized
from ..source.places import Place, assigned_before, chooser, function_around, tree, walk

HELD_OUT = re.compile(
    r"(^|_|\b)(val|valid|va|vl|test|te|tst|dev|eval|held|holdout)(_|\b|$)", re.IGNORECASE
)
TRAINING = re.compile(r"(^|_|\b)(train|training|tr|trn)(_|\b|$)", re.IGNORECASE)
ROWS = 64  # of a loader that are followed
CHANGED = 4  # rows
LARGEST = 1 << 22  # elements of a table that is looked at


class _Rows:
    """What a loader gave for some indices: digest of the inputs, and the label."""

    def __init__(self, info: LoaderInfo) -> None:
        self.info = info
        self.seen: dict[int, tuple[bytes, int]] = {}
        self.same = self.other = self.trained = 0
        self.place: Any = None


class ValidationAugmented(Rule):
    """The rows of a loader that only evaluates are others in each pass, because it has the data set,
    or the transform, of the training loader.
    """

    slug = "validation-augmented"
    id = "PL909"
    severity = "error"
    summary = "validation data pass through the random transforms of training"

    def __init__(self) -> None:
        self._loaders: dict[int, _Rows] = {}
        self._common: dict[frozenset[int], str] = {}  # by numbers of two loaders: what both have
        self._now: _Rows | None = None

    def on_batch(self, event: Batch) -> None:
        """Compare rows with those of an earlier pass."""
        held = self._loaders.get(event.loader.number)
        if held is None:
            for other in self._loaders.values():
                shared = in_common(event.loader, other.info)
                if shared is not None:
                    self._common[frozenset((event.loader.number, other.info.number))] = shared
            held = self._loaders[event.loader.number] = _Rows(event.loader)
            held.place = self._place(event.loader)
        self._now = held
        values = event.values
        if held.trained or not event.indices or len(values) < 2:
            return
        rows, count = values[0], len(event.indices)
        labels = next(
            (v for v in values[1:] if v.shape == (count,) and not v.is_floating_point), None
        )
        if labels is None or not rows.is_floating_point or rows.shape[:1] != (count,):
            return
        if len(held.seen) >= ROWS and not any(i in held.seen for i in event.indices):
            return
        x, y = rows.numpy(), labels.numpy()
        for k, index in enumerate(event.indices if x is not None and y is not None else ()):
            if not isinstance(index, int) or len(held.seen) >= ROWS and index not in held.seen:
                continue
            now = (
                fingerprint(x[k]),
                int(y[k]),
            )
            before = held.seen.setdefault(index, now)
            if event.epoch and before[1] == now[1]:
                held.other += before[0] != now[0]
                held.same += before[0] == now[0]

    def on_backward(self, event: Backward) -> None:
        """The last batch was trained on."""
        if self._now is not None:
            self._now.trained += 1
            self._now = None

    def finish(self) -> None:
        """Loaders that only evaluate, and share what changes their rows with one that trains."""
        training = [h.info for h in self._loaders.values() if h.trained >= CHANGED]
        for held in self._loaders.values():
            if held.trained or held.other < max(CHANGED, held.same):
                continue
            pairs = [frozenset((held.info.number, t.number)) for t in training]
            shared = next((self._common[pair] for pair in pairs if pair in self._common), None)
            if shared is None:
                continue
            self.report(
                held.place,
                f"this loader is only used for evaluation, but {held.other} of "
                f"{held.other + held.same} rows differ from the previous pass: {shared}.",
                evidence={"changed": held.other, "same": held.same, "loader": held.info.site},
                fix="give validation its own dataset, without the random transform",
            )

    def _place(self, info: LoaderInfo) -> Any:
        recorder, dataset = self.session.recorder, info.dataset
        part = recorder.parts.get(dataset) if type(dataset).__name__ == "Subset" else None
        return part or _built(info) or info.site


def _built(info: LoaderInfo) -> Place | None:
    """The line that builds the data set of a loader, where it is a variable of the same function."""
    call = info.site.call if info.site is not None else None
    given = call.argument("dataset", ["dataset"], False) if call is not None else None
    if info.site is None or given is None or not re.fullmatch(r"[\w.]+", given):
        return None
    name = type(info.whole_dataset).__name__
    made = assigned_before(info.site, given)
    return made if made is not None and f"{name}(" in made.text else None


def in_common(one: LoaderInfo, other: LoaderInfo) -> str | None:
    """What two loaders have in common that may change rows: in words, or None."""
    a, b = one.whole_dataset, other.whole_dataset
    if a is None or b is None:
        return None
    for name, thing in vars(a).items() if hasattr(a, "__dict__") else ():
        if callable(thing) and not isinstance(thing, type):
            if vars(b).get(name) is thing:
                whose = f"its `{name}`" if a is not b else f"the dataset, with its `{name}`,"
                return f"it shares {whose} with the training loader"
            if type(a) is type(b) and _alike(thing, vars(b).get(name)):
                return f"its `{name}` is of the same kind as that of the training loader"
    if type(a) is type(b) and a is not b:
        for name in _asked_for(type(a)):
            if vars(a).get(name) is True and vars(b).get(name) is True:
                return f"its dataset has `{name}` set, as that of the training loader"
    return None


def _alike(one: Any, other: Any) -> bool:
    """Whether two transforms are of the same class, and compose the same ones."""
    if type(one) is not type(other):
        return False
    if isinstance(one, FunctionType):
        return one.__code__ is other.__code__
    inner = getattr(one, "transforms", None), getattr(other, "transforms", None)
    if not all(isinstance(part, (list, tuple)) for part in inner):
        return inner == (None, None)
    return [type(t) for t in inner[0]] == [type(t) for t in inner[1]]


def _asked_for(kind: type) -> list[str]:
    """The attributes that `__getitem__` of a class has conditions about: `if self.augment:`."""
    code = getattr(getattr(kind, "__getitem__", None), "__code__", None)
    if code is None:
        return []
    function = function_around(code.co_filename, code.co_firstlineno + 1, code.co_firstlineno)
    return [
        part.attr
        for n in (ast.walk(function) if function is not None else ())
        if isinstance(n, (ast.If, ast.IfExp))
        for part in ast.walk(n.test)
        if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self"
    ]


class _Scaled:
    """A table that was standardized: where, and by what."""

    __slots__ = ("evaluated", "means", "place", "ref", "rows", "trained")

    def __init__(self, value: Value, place: Any, means: Any) -> None:
        self.ref = weakref.ref(value.tensor)
        self.rows, self.place, self.means = value.shape[0], place, means
        self.trained = self.evaluated = False


class ValidationStatistics(Rule):
    """Held-out rows are standardized by their own mean and deviation, not by those of training."""

    slug = "validation-statistics"
    id = "PL910"
    severity = "error"
    summary = "validation data are scaled with their own statistics"
    ops = ("div",)

    def __init__(self) -> None:
        self._tables: dict[int, _Scaled] = {}  # by id of the value
        self._batch: list[_Scaled] = []  # that the last batch is made of
        # by id of a scaler: it, its class, where it was fitted, to how many rows and columns
        self._fits: list[tuple[Any, type, Any, tuple[int, ...], str]] = []

    # ---- tensors -----------------------------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """`(x - x.mean(0)) / x.std(0)` of a whole table, outside of any module."""
        parts = standardized(op) if len(self._tables) <= 32 else None
        out = op.output
        if parts is None or out is None:
            return
        table, center, bottom = parts
        if table.ndim < 2 or table.shape[0] < 8 or out.shape != table.shape or table.requires_grad:
            return
        if not over_rows(center, table) or not over_rows(bottom, table):
            return
        rows = table.numpy() if table.numel <= LARGEST else None
        if rows is not None and out.tensor is not None:
            place = chooser(self.session.recorder)
            self._tables[out.id] = _Scaled(out, place, rows.mean(0, dtype=float).reshape(-1))

    def on_batch(self, event: Batch) -> None:
        """A batch of such a table."""
        held = {id(t): s for s in self._tables.values() if (t := s.ref()) is not None}
        tensors = getattr(event.loader.whole_dataset, "tensors", ())
        self._batch = [held[id(t)] for t in tensors if id(t) in held]

    def on_backward(self, event: Backward) -> None:
        """The batch was trained on."""
        for table in self._batch:
            table.trained = True
        self._batch = []

    def on_module_enter(self, call: ModuleCall) -> None:
        """Rows of such a table are given to a model."""
        if call.parent is not None or not self._tables:
            return
        tables = list(self._batch)
        for value in call.inputs[:2]:
            table = self._tables.get(value.id)
            for made in lineage(value, VIEWS, 8) if table is None else ():
                table = table or next(
                    (self._tables[v.id] for v in made.inputs if v.id in self._tables), None
                )
            tables += [table] if table is not None else []
        for table in tables:
            if call.grad_enabled and call.training:
                table.trained = True
            else:
                table.evaluated = True

    # ---- objects with `fit_transform` --------------------------------------------------------------------------------
    def on_call(self, event: Called) -> None:
        """A scaler is fitted."""
        if (
            event.name != "fit_transform"
            or event.owner is None
            or not event.args
            or event.site is None
        ):
            return
        shape: tuple[int, ...] = tuple(getattr(event.args[0], "shape", ()))
        kind = getattr(getattr(event.args[0], "dtype", None), "kind", "f")
        if len(shape) != 2 or kind not in "fiu" or len(self._fits) > 64:
            return
        text = event.site.text
        for owner, cls, site, before, earlier in self._fits:
            if site.line == event.site.line or shape[1] != before[1] or shape[0] == before[0]:
                continue
            again = owner is event.owner
            named = (
                HELD_OUT.search(text) and not TRAINING.search(text) and not HELD_OUT.search(earlier)
            )
            if type(event.owner) is cls and named or again and not TRAINING.search(text):
                self.report(
                    event.site,
                    f"{cls.__name__} was fitted to {before[0]} rows before, and is fitted again "
                    f"to these {shape[0]}, so they are scaled with their own statistics.",
                    evidence={"fitted_at": site, "rows": [before[0], shape[0]]},
                    fix="`transform` with the scaler that was fitted to the training rows",
                )
                break
        self._fits.append((event.owner, type(event.owner), event.site, shape, text))

    def finish(self) -> None:
        """Tables that only evaluate, beside one that trains."""
        self._fits = []
        tables = list(self._tables.values())
        for table in tables:
            if table.trained or not table.evaluated:
                continue
            for other in tables:
                if (
                    other.trained
                    and other.means.shape == table.means.shape
                    and not np.allclose(other.means, table.means, rtol=1e-6)
                ):
                    self._tell(table.place, shown(table.means), shown(other.means))
                    break
        for file in self.session.recorder.files(self.session.script):
            for line in written_out(file):
                self._tell(Place(file, line), "", "")

    def _tell(self, place: Any, own: str, of_training: str) -> None:
        numbers = f" (means {own}; those of the training rows: {of_training})" if own else ""
        self.report(
            place,
            "these rows are only used for evaluation, and are standardized with their own mean "
            f"and deviation{numbers}.",
            evidence={"means": own, "means_of_training": of_training},
            fix="keep the mean and deviation of the training rows, and use them here",
        )


def over_rows(value: Value, table: Value) -> bool:
    """Whether a value is a mean or deviation of a table over its rows."""
    through = VIEWS | {"add", "clamp", "clamp_min", "sqrt", "maximum", "where"}
    for made in lineage(value, through, 12):
        if made.name in ("mean", "std", "var", "std_mean", "var_mean"):
            dims = made.args.get("dim")
            dims = dims if isinstance(dims, (list, tuple)) else () if dims is None else (dims,)
            return (not dims or 0 in dims) and any(v.id == table.id for v in made.inputs)
    return False


def written_out(file: str) -> list[int]:
    """Lines with `(x_val - x_val.mean(0)) / x_val.std(0)`, where another one does so for training."""
    root, held, training = tree(file), [], False
    for node in walk(root) if root is not None else ():
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        top = node.left
        if not (isinstance(top, ast.BinOp) and isinstance(top.op, ast.Sub)):
            continue
        name = ast.unparse(top.left)
        if not re.fullmatch(r"[\w.]+", name):
            continue
        own = {
            ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call) and rows_first(n)
        }
        if not {f"{name}.mean", f"{name}.std"} <= own:
            continue
        if TRAINING.search(name) or not HELD_OUT.search(name):
            training = training or bool(TRAINING.search(name))
        else:
            held.append(node.lineno)
    return held if training else []


def rows_first(call: ast.Call) -> bool:
    """Whether a mean or deviation goes over the rows: of all elements, or along axis 0."""
    axes = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("axis", "dim"))]
    return not axes or "0" in ast.unparse(axes[0]).strip("()").replace(" ", "").split(",")
