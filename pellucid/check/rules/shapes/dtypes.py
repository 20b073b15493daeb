"""Types of numbers: float64 beside float32, integers that wrap, fractions that integers or 16 bits
cannot hold.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import weakref
from typing import Any

import numpy as np

from ...events import (
    VIEWS,
    Batch,
    Computed,
    Converted,
    Failure,
    LoaderInfo,
    Op,
    Site,
    Step,
    Value,
    Written,
    lineage,
    whole_of,
)
from ...rule import Rule, cause_site, distinct, median
from ..labels.labels import _CASTS as CASTS
from ..labels.labels import _before as differentcast
from ..losses.origin import SCORES, Sampled
from ..source.places import Place, assigned_before, attribute_place, tree, walk, written_to
from .sixteen_bits import SHORT, SUMS, SixteenBits

_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "div",
    "where",
    "cat",
    "stack",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "poisson_nll_loss",
    "gaussian_nll_loss",
    "soft_margin_loss",
    "hinge_embedding_loss",
    "cosine_similarity",
    "maximum",
    "minimum",
    "pow",
    "addcmul",
    "lerp",
)
_DIVISIONS = 4  # that left one number each, before one that is computed with is told of
_APART = 8  # between the whole numbers of which a division leaves one
_WHOLE = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
}
_COMPUTED = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "square": np.square,
}
_FILLS = (
    "setitem",
    "copy",
    "fill",
    "full_like",
    "new_full",
    "masked_fill",
    "index_fill",
    "scatter",
)
_PERIODIC = ("remainder", "fmod", "sin", "cos")
_SEEN = 1 << 18  # elements: larger tensors are not compared

_MADE = re.compile(r"\b(zeros|ones|empty|full)(_like)?\(|\bnew_(zeros|ones|empty|full)\(")


class DeviceDtypeMixed(Rule):
    """Numbers of two types that meet without a word, or a type that cannot hold what it is given."""

    slug = "device-dtype-mixed"
    id = "PL111"
    severity = "warning"
    summary = "dtypes mixed silently"
    ops = (
        *dict.fromkeys(
            (
                *_ARITHMETIC,
                *_FILLS,
                *_COMPUTED,
                *CASTS,
                "bitwise_not",
                *SUMS,
                *_PERIODIC,
                "floor_divide",
                "from_numpy",
            )
        ),
    )
    wants_updates = True

    def __init__(self) -> None:
        # numbers of operations with a result that is float64 for a reason that was told
        self._mixed: set[int] = set()
        self._told: set[str] = set()
        self._sampled = Sampled()
        self._sixteen_bits = SixteenBits(self)
        # by number of a cast that left one number of many
        self._flattened: dict[int, tuple[Op, list[float]]] = {}
        # places of divisions that left more than one
        self._divides: set[Site | None] = set()
        # by place: large numbers of which a tensor each was made
        self._single: dict[Any, set[float]] = {}
        # id of a tensor of a batch -> the data set's tensor, or the loader
        self._sources: dict[int, Value | tuple[LoaderInfo, int]] = {}
        self._tensors: dict[int, list[Value] | None] = {}
        self._arrays: list[
            tuple[Any, Any, float]
        ] = []  # (weak reference, place, a number) of arrays that fractions were cut off in
        # by number of the operation that made a tensor of such an array
        self._cut: dict[int, tuple[Any, float]] = {}

    # ---- events ------------------------------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """Operands, results, and what is lost on the way."""
        if op.name in _FILLS:
            self._written(op)
            if op.inplace and op.inputs and op.inputs[0].dtype in SHORT:
                self._sixteen_bits.stored(op)
        if op.name == "from_numpy" or op.name in CASTS:
            if self._arrays:
                self._from_cut(op)
            if op.name != "from_numpy":
                self._cast(op)
            return
        made = op.output
        if made is None:
            return
        if op.name in _PERIODIC:
            self._beyond_digits(op)
            return
        if op.name == "floor_divide" or op.args.get("rounding_mode") is not None:
            self._divided(op, made)
            return
        if self._flattened and made.is_floating_point and op.name in _ARITHMETIC:
            self._meets(op)
        if made.dtype in _WHOLE:
            if op.name in _COMPUTED or op.name == "bitwise_not":
                self._wraps(op, made)
        elif made.dtype in SHORT:
            if op.name in ("add", "sub", "lerp"):
                self._sixteen_bits.stays(op, made)
            if op.name in ("add", *SUMS):
                self._sixteen_bits.drifts(op, made)
        elif made.dtype == "float64":
            self._promoted(op, made)

    def on_error(self, failure: Failure) -> None:
        """Layers refuse it."""
        op = failure.op
        if op is None or op.name not in SCORES:
            return
        floats = [v for v in op.inputs if v.is_floating_point]
        first = floats[0] if floats else None
        other = next((v for v in floats if first is not None and v.dtype != first.dtype), None)
        if first is not None and other is not None:
            wide, narrow = (first, other) if first.itemsize > other.itemsize else (other, first)
            self._tell(op, wide, narrow, True)

    def on_pass(self, event: LoaderInfo) -> None:
        """Tensors of a TensorDataset are the source of the batches'."""
        dataset = event.whole_dataset
        tensors = getattr(dataset, "tensors", None)
        value = self.session.recorder.value
        self._tensors[event.number] = (
            [value(t) for t in tensors] if isinstance(tensors, (tuple, list)) else None
        )

    def on_batch(self, event: Batch) -> None:
        """Which of them a batch's tensors come from."""
        if len(self._sources) > 64:
            self._sources.clear()
        tensors = self._tensors.get(event.loader.number)
        for k, given in enumerate(event.values):
            if given.producer is None:
                known = tensors is not None and len(tensors) == len(event.values)
                self._sources[given.id] = (
                    tensors[k] if known and tensors is not None else (event.loader, k)
                )

    # ---- float64 beside float32 --------------------------------------------------------------------------------------
    def _promoted(self, op: Op, made: Value) -> None:
        if len(op.inputs) < 2 or op.inplace:
            return
        wide, narrow = [], None
        for v in op.inputs:
            if v.ndim == 0 and op.name in _ARITHMETIC[:4]:
                continue  # type promotion ignores it
            if v.dtype == "float64":
                wide.append(v)
            elif v.dtype in ("float32", *SHORT):
                narrow = narrow or v
        mixed = [v for v in wide if v.producer is not None and v.producer.number in self._mixed]
        if mixed or narrow is not None and wide:
            self._mixed.add(op.number)
        fresh = [v for v in wide if v not in mixed]
        if (
            not fresh
            or not made.requires_grad
            or not mixed
            and (narrow is None or not (narrow.requires_grad or wide[0].requires_grad))
        ):
            return
        if fresh and (mixed or narrow is not None):
            self._tell(op, fresh[0], narrow or mixed[0], False)

    def _origin(self, value: Value) -> tuple[Any, Op | None]:
        """Where the numbers became float64, as far as that is known: (place, the operation there)."""
        best: tuple[Any, Op | None] = (None, None)
        for _ in range(60):
            made = value.producer
            if made is None:
                held = self._sources.get(value.id)
                if isinstance(held, Value):
                    value = held
                    continue
                if held is not None:
                    loader, k = held
                    return _sample_line(loader.dataset, self.session.recorder, k) or best[0], None
                if value.is_leaf and value.requires_grad:
                    return self._registered(value) or best[0], best[1]
                return best
            best = cause_site(made), made
            before = [v for v in made.inputs if v.dtype == "float64"]
            if not before or made.number in self._mixed:
                return best
            value = before[0]
        return best

    def _registered(self, value: Value) -> Any:
        recorder, tensor = self.session.recorder, value.tensor
        for module in recorder.names.alive():
            for name, p in module._parameters.items():
                if p is tensor and p is not None:
                    return attribute_place(recorder, module, name)
        return None

    def _tell(self, op: Op, wide: Value, narrow: Value, raised: bool) -> None:
        place, made = self._origin(wide)
        place = place or op.site
        key = str(place)
        if key in self._told:
            return
        self._told.add(key)
        name = next((t for key, v in op.args.items() if v is wide and (t := op.written(key))), None)
        what = (
            f"{name} ({wide.dtype}{list(wide.shape)})"
            if name
            else f"a {wide.dtype} value of shape {list(wide.shape)}"
        )
        self.report(
            place,
            f"{op.name} gets {what} where the model has {narrow.dtype}{list(narrow.shape)}: "
            + (
                "the operation does not convert between them."
                if raised
                else f"the result and everything computed from it become {wide.dtype}."
            ),
            evidence={
                "operation": op.name,
                "wide": f"{wide.dtype}{list(wide.shape)}",
                "narrow": f"{narrow.dtype}{list(narrow.shape)}",
                "made_by": None if made is None else made.name,
                "used_at": str(op.site),
            },
            fix="convert it where it is created: `.float()`, or `dtype=torch.float32` (NumPy's numbers are float64)"
            if wide.dtype == "float64"
            else f"convert it where it is created: `.to(torch.{narrow.dtype})`",
        )

    # ---- integers ----------------------------------------------------------------------------------------------------
    def _wraps(self, op: Op, made: Value) -> None:
        """Results beyond what the type holds begin again at its other end."""
        if made.numel > _SEEN or not self._sampled.due(op.site):
            return
        operands = [op.args.get("input")] + ([op.args["other"]] if "other" in op.args else [])
        arrays = [v.numpy() if isinstance(v, Value) else v for v in operands]
        after = made.numpy()
        if after is None or any(
            a is None or isinstance(a, float) or not isinstance(a, (int, np.ndarray))
            for a in arrays
        ):
            return
        low, high = _WHOLE[made.dtype]
        if op.name == "bitwise_not":
            given = arrays[0]
            if (
                not op.inplace
                and given.size
                and given.max() <= 1
                and given.min() >= 0
                and made.dtype != "bool"
            ):
                self.report(
                    cause_site(op),
                    f"`~` of 0 and 1 in {made.dtype} gives {int(after.max())} and {int(after.min())}: both count as true.",
                    evidence={"dtype": made.dtype, "shape": list(made.shape)},
                    fix="convert the mask to bool before inverting it: `~mask.bool()`, or write `1 - mask`",
                )
            return
        exact = [np.asarray(a, dtype=np.int64) for a in arrays]
        if op.inplace:  # what was there is gone: what came out must lead back to it
            if op.name not in ("add", "sub") or len(exact) != 2:
                return
            past = (
                after.astype(np.int64) - exact[1]
                if op.name == "add"
                else after.astype(np.int64) + exact[1]
            )
            wrong = (past < low) | (past > high)
            values = past + exact[1] if op.name == "add" else past - exact[1]
            count = int(np.sum(wrong))
        else:
            values = _COMPUTED[op.name](*exact)
            count = int(np.sum((values < low) | (values > high)))
        if count:
            k = int(np.argmax((values < low) | (values > high))) if not op.inplace else 0
            example = (
                ""
                if op.inplace
                else f" ({int(values.reshape(-1)[k])} becomes {int(after.reshape(-1)[k])})"
            )
            self.report(
                cause_site(op),
                f"{op.name} overflows {made.dtype}, which holds {low} to {high}, in {count} of {made.numel} elements, so they wrap "
                f"around{example}.",
                evidence={
                    "operation": op.name,
                    "dtype": made.dtype,
                    "elements": count,
                    "of": made.numel,
                },
                fix="convert before the arithmetic, not after it: `.float()` or `.long()`",
            )

    def _written(self, op: Op) -> None:
        """Fractions that are written into a tensor of integers."""
        target = op.inputs[0] if op.inputs else None
        value = op.args.get("value", op.args.get("src", op.args.get("fill_value")))
        if (
            target is None
            or not op.direct  # a library's average of a model rounds the counts of batch norms
            or target.is_floating_point
            or target.dtype == "bool"
            or "complex" in target.dtype
        ):
            return
        made = op.output
        if not op.inplace and (made is None or made.is_floating_point or made.dtype == "bool"):
            return
        if isinstance(value, Value):
            array = value.numpy() if value.is_floating_point and value.numel <= 1 << 16 else None
            lost = array is not None and bool(np.any(array != np.floor(array)))
        else:
            lost = isinstance(value, float) and math.isfinite(value) and value != math.floor(value)
        if lost:
            name = op.written("input") or "the tensor"
            made_at = assigned_before(op.site, name) if op.site is not None else None
            self.report(
                made_at if made_at is not None and _MADE.search(made_at.text) else op.site,
                f"numbers with a fraction are written into {name}, which is {target.dtype}: the fraction is cut off.",
                evidence={
                    "into": f"{target.dtype}{list(target.shape)}",
                    "value": value if isinstance(value, float) else value.dtype,
                },
                fix=f"make {name} float32",
            )

    # ---- NumPy's arrays ----------------------------------------------------------------------------------------------
    def on_computed(self, event: Computed) -> None:
        """Arrays of 8 or 16 bits whose sums and differences begin again at the other end."""
        if event.result.size < 8 or event.result.size > _SEEN or not self._sampled.due(event.site):
            return
        low, high = _WHOLE.get(str(event.result.dtype), (0, 0xFFFF))
        try:
            left, right = (np.asarray(x, dtype=np.int64) for x in (event.left, event.right))
        except (TypeError, ValueError):
            return
        exact = {"+": np.add, "-": np.subtract, "*": np.multiply}[event.sign](left, right)
        wrong = (exact < low) | (exact > high)
        count = int(wrong.sum())
        if count and exact.shape == event.result.shape:
            k = int(np.argmax(wrong.reshape(-1)))
            self.report(
                event.site,
                f"`{event.sign}` overflows {event.result.dtype}, which holds {low} to {high}, in {count} of {exact.size} elements, which wrap "
                f"around ({int(exact.reshape(-1)[k])} becomes {int(event.result.reshape(-1)[k])}).",
                evidence={
                    "operation": event.sign,
                    "dtype": str(event.result.dtype),
                    "elements": count,
                    "of": int(exact.size),
                },
                fix="convert before the arithmetic, not after it: `.astype(np.float32)`",
            )

    def on_write(self, event: Written) -> None:
        """`table[:, k] = fractions` where `table` is an array of whole numbers."""
        target, value = event.target, event.value
        if value is None or event.inplace or target.dtype.kind not in "iu" or target.ndim < 1:
            return
        array = np.asarray(value) if isinstance(value, (float, np.floating, np.ndarray)) else None
        if (
            array is None
            or array.dtype.kind != "f"
            or not 0 < array.size <= _SEEN
            or not np.all(np.isfinite(array))
        ):
            return
        wrong = array != np.floor(array)
        if not wrong.any() or any(held() is target for held, _, _ in self._arrays):
            return
        name = written_to(event.site)
        made = (
            assigned_before(event.site, name)
            if name is not None and event.site is not None
            else None
        )
        number = float(array.reshape(-1)[int(np.argmax(wrong.reshape(-1)))])
        self._arrays = [*self._arrays[-20:], (weakref.ref(target), made or event.site, number)]

    def _from_cut(self, op: Op) -> None:
        """A tensor of such an array that becomes floating point: the fractions were wanted."""
        made, place = op.output, None
        given = next((a.value for a in op.args.values() if type(a).__name__ == "Foreign"), None)
        while isinstance(given, np.ndarray) and place is None:
            place = next(((p, n) for held, p, n in self._arrays if held() is given), None)
            given = given.base
        if place is None and op.inputs and op.inputs[0].producer is not None:
            value = op.inputs[0]
            while (
                value.producer is not None
                and value.producer.name in VIEWS
                and value.producer.inputs
            ):
                value = value.producer.inputs[0]
            place = self._cut.get(value.producer.number) if value.producer is not None else None
        if place is None or made is None:
            return
        if not made.is_floating_point:
            self._cut[op.number] = place
            return
        site, number = place
        self.report(
            site,
            f"numbers with a fraction are written into an integer array: the fraction is cut off ({number:g} becomes "
            f"{int(number)}).",
            evidence={"example": [number, int(number)], "used_at": str(op.site)},
            fix=(
                "use a floating point array: `np.zeros(n, dtype=np.float32)`; `np.zeros_like` "
                "takes the dtype of its argument"
            ),
        )

    def _divided(self, op: Op, made: Value) -> None:
        """Whole numbers of many values, divided so that one of them is left."""
        source = op.inputs[0] if op.inputs else None
        if source is None or "int" not in source.dtype or not 8 <= made.numel <= _SEEN:
            return
        before, after = source.numpy(), made.numpy()
        if before is None or after is None or before.max() - before.min() < _APART:
            return
        if after.min() == after.max():
            self._flattened[op.number] = (
                op,
                [float(before.min()), float(before.max()), float(after.min())],
            )
        else:
            self._divides.add(op.site)

    def _meets(self, op: Op) -> None:
        """What such divisions left is computed with: it becomes a float without a cast."""
        for value in op.inputs:
            if value.is_floating_point:
                continue
            for made in lineage(value, VIEWS, 8):
                flat = self._flattened.get(made.number)
                if flat is None or made.site in self._divides:
                    continue
                del self._flattened[made.number]
                if self.count("meets", made.site) == _DIVISIONS:
                    self._lost_all(*flat)

    # ---- casts -------------------------------------------------------------------------------------------------------
    def _cast(self, op: Op) -> None:
        made = op.output
        if made is None or made.producer is not op or not made.numel:
            return
        source = op.inputs[0] if op.inputs else None
        if (
            source is not None
            and source.is_floating_point
            and made.dtype in SHORT
            and source.is_leaf
            and source.dtype not in SHORT
        ):
            if not op.direct or source.requires_grad:
                self._sixteen_bits.cast = op
        if made.is_floating_point and source is not None and source.producer is not None:
            flat = self._flattened.pop(source.producer.number, None)
            if flat is not None:
                self._lost_all(*flat)
        if (
            made.numel == 1
            and made.dtype == "float32"
            and op.name in ("tensor", "as_tensor")
            and isinstance(op.args.get("data"), (int, float))
        ):
            self._one(op, float(op.args["data"]))
            return
        if (
            made.numel > _SEEN
            or made.requires_grad
            or made.dtype == "bool"
            or not self._sampled.due(op.site)
        ):
            return
        before = differentcast(op)
        after = made.numpy()
        if (
            before is None
            or after is None
            or before.shape != after.shape
            or before.dtype.kind not in "fiu"
            or before.size < 2
        ):
            return
        if not np.all(np.isfinite(before)):
            return
        whole = bool(np.all(before == np.floor(before)))
        if not made.is_floating_point:
            if not whole and before.min() != before.max() and after.min() == after.max():
                self._flattened[op.number] = (
                    op,
                    [float(before.min()), float(before.max()), float(after.min())],
                )
        else:
            self._merges(cause_site(op), before, after, whole)

    def _beyond_digits(self, op: Op) -> None:
        """What is left of a number after a division, or its sine, where its last digit is larger
        than what is asked for.
        """
        x, divisor = op.args.get("input"), op.args.get("other", 2 * math.pi)
        if (
            not isinstance(x, Value)
            or x.dtype not in ("float32", *SHORT)
            or x.numel > _SEEN
            or not isinstance(divisor, (int, float))
        ):
            return
        if x.requires_grad or not self._sampled.due(op.site):
            return
        array = x.numpy()
        if array is None or not array.size or not np.all(np.isfinite(array)):
            return
        size = median(np.abs(array))
        digit = size * {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(x.dtype, 2.0**-23)
        if size and digit > abs(divisor) / 16:
            self.report(
                cause_site(op),
                f"{op.name} of {x.dtype} numbers as large as {size:.0f}, which are {digit:.3g} apart: the result "
                f"for a period of {abs(divisor):.3g} is rounding error.",
                evidence={
                    "operation": op.name,
                    "dtype": x.dtype,
                    "size": size,
                    "digit": digit,
                    "period": abs(divisor),
                },
                fix="take the remainder in int64 or float64, then convert the result",
            )

    def _one(self, op: Op, number: float) -> None:
        """Large numbers that become tensors one at a time."""
        if not 1 << 24 < abs(number) < math.inf or op.site is None:
            return
        seen = self._single.setdefault(op.site, set())
        if len(seen) < 64:
            seen.add(number)
            if len(seen) in (16, 64):
                before = np.array(sorted(seen))
                self._merges(
                    cause_site(op),
                    before,
                    before.astype(np.float32),
                    bool(np.all(before == np.floor(before))),
                )

    def _merges(self, site: Any, before: Any, after: Any, whole: bool) -> None:
        """Large numbers, as times in seconds are, that differ and no longer do after a cast to
        fewer digits.
        """
        to = str(after.dtype)
        short = to in SHORT
        largest = float(np.abs(before).max())
        if (
            largest <= {"float16": 1 << 11, "bfloat16": 1 << 8}.get(to, 1 << 24)
            or short
            and not whole
            or to == "float64"
        ):
            return
        different, left = distinct(before).size, distinct(after).size
        if left < 0.9 * different:
            self.report(
                site,
                f"{to} has too little precision for numbers as large as {largest:.0f}: {different} different ones become {left}.",
                evidence={
                    "from": str(before.dtype),
                    "to": to,
                    "different": different,
                    "left": left,
                },
                fix="subtract a common offset first, or keep them in int64 or float64",
            )

    def on_convert(self, event: Converted) -> None:
        """The same by NumPy."""
        after = event.after
        if (
            not isinstance(after, np.ndarray)
            or after.dtype.kind != "f"
            or after.dtype.itemsize > 4
            or not 2 <= after.size <= _SEEN
        ):
            return
        try:
            before = np.asarray(event.before)
        except ValueError:
            return
        if (
            before.shape == after.shape
            and before.dtype.kind in "fiu"
            and before.dtype.itemsize > 4
            and self._sampled.due(event.site)
        ):
            if np.all(np.isfinite(before)):
                self._merges(event.site, before, after, bool(np.all(before == np.floor(before))))

    def _lost_all(self, op: Op, numbers: list[float]) -> None:
        low, high, left = numbers
        made = op.output
        self.report(
            cause_site(op),
            f"numbers from {low:.3g} to {high:.3g} all become {left:g} here: an integer has no fraction.",
            evidence={
                "operation": op.name,
                "to": made.dtype if made is not None else None,
                "from": [low, high],
            },
            fix="keep fractions in float32",
        )

    def on_step(self, event: Step) -> None:
        """Updates that are rounded away from weights of 16 bits."""
        self._sixteen_bits.step(event)


def _sample_line(dataset: Any, recorder: Any, k: int) -> Any:
    """The line of a data set's `__getitem__` that makes the k-th part of a sample, or gives it."""
    dataset = whole_of(dataset)
    code = getattr(
        inspect.unwrap(getattr(type(dataset), "__getitem__", None) or len), "__code__", None
    )
    if code is None or recorder.is_library(code.co_filename):
        return None
    root = tree(code.co_filename)
    for node in walk(root) if root is not None else ():
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == "__getitem__"
            and abs(node.lineno - code.co_firstlineno) <= 2
        ):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return):
                    return _part_made(inner, code.co_filename, k)
    return None


def _part_made(given: ast.Return, file: str, k: int) -> Any:
    """Where the k-th part of what a function returns got its value: `return x, y` says only its
    name."""
    place, part = Place(file, given.lineno), given.value
    if isinstance(part, (ast.Tuple, ast.List)) and k < len(part.elts):
        part = part.elts[k]
    elif isinstance(part, ast.Dict) and k < len(part.values):
        part = part.values[k]
    if isinstance(part, ast.Name):
        return assigned_before(place, part.id) or place
    return place if part is None else Place(file, part.lineno)
