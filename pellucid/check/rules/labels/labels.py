"""Labels: their dtype, their range, and on which axis the classes lie."""

from __future__ import annotations

import ast
import math
import re
import weakref
from collections import deque
from typing import Any

import numpy as np

from ...events import (
    ARITHMETIC,
    VIEWS,
    Batch,
    Converted,
    Failure,
    LoaderInfo,
    Op,
    Read,
    Site,
    Value,
    Written,
)
from ...numbers import number_of
from ...rule import Rule, distinct
from ..losses.origin import Sampled, compared
from ..source.places import Place, assigned_before, receiver, tree, walk, written_to
from .resized import mixed_classes

CLASS_LOSSES = ("cross_entropy", "nll_loss", "nll_loss2d")
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
_CASTS = frozenset(
    "to type type_as long int short char byte half bfloat16 float double tensor as_tensor".split()
)
_WRITES = ("copy", "setitem", "fill", "index_fill", "masked_fill", "scatter", "full_like")
_LOOKED_AT = 1 << 20  # elements: larger labels are not compared


def named(op: Op, name: str, otherwise: str) -> str:
    return op.written(name) or otherwise


def class_axis_of(x: Value) -> int:
    return 1 if x.ndim > 1 else 0


class LabelDtype(Rule):
    """Labels of a type that the loss does not take, or that cannot hold them."""

    slug = "label-dtype"
    id = "PL208"
    severity = "error"
    summary = "labels of a wrong or lossy dtype"
    covered = ("label-range", "device-dtype-mixed")
    ops = (
        *CLASS_LOSSES,
        *REGRESSION,
        *BINARY,
        *_CASTS,
        "one_hot",
        "multi_margin_loss",
        "from_numpy",
        "asarray",
        "bool",
        "sub",
        "mul",
        *_WRITES,
    )

    def __init__(self) -> None:
        # by height and width: where class numbers of masks were averaged
        self._mixed: dict[tuple[int, ...], Op] = {}
        # (weak reference, values, what was lost, place) of arrays
        self._arrays: list[tuple[Any, Any, dict[str, Any], Any]] = []
        # by number of the cast
        self._lossy: dict[int, tuple[Site | None, str, dict[str, Any]]] = {}
        self._sampled = Sampled()
        self._tensors: dict[int, list[Value] | None] = {}  # by number of a loader
        self._cut_tensors: dict[int, list[Value]] = {}  # by the same
        # lossy casts since the last batch, by the type of the result
        self._recent: dict[str, int] = {}
        # id of a tensor that a loader gave -> the cast of a sample in it
        self._cast_batches: dict[int, int] = {}
        # id of a tensor that a loader gave -> the data set's tensor
        self._batches: dict[int, Value] = {}
        # [values before, what was lost, place, labels seen] of arrays of True and False
        self._collapsed: list[list[Any]] = []
        self._wrapped: list[
            list[Any]
            # [values before, what was lost, place, labels seen] of arrays too short for their
            # numbers
        ] = []
        # by number of a loader: ids of the arrays that its data set has
        self._owned: dict[int, set[int]] = {}
        self._cut: set[int] = set()  # results of `int(3.7)` since the last batch
        # (number, result, key of `_lossy`) of `int(3.7)`
        self._whole: deque[tuple[int, int, int]] = deque(maxlen=4096)

    # ---- what raises ----------------------------------------------------------------------------------------------------
    def on_error(self, failure: Failure) -> None:
        """A loss refused its labels because of their type."""
        op = failure.op
        if op is None or op.name not in (*CLASS_LOSSES, *BINARY, "one_hot", "multi_margin_loss"):
            return
        if self._lossy:
            self._used(op)
        scores = op.args.get("input", op.args.get("tensor"))
        target = scores if op.name == "one_hot" else op.args.get("target")
        if not isinstance(target, Value) or not isinstance(scores, Value):
            return
        name = (
            named(op, "target", "the target")
            if op.name != "one_hot"
            else named(op, "tensor", "its argument")
        )
        given = receiver(name)
        if op.name in BINARY:
            if target.is_floating_point or target.shape != scores.shape:
                return
            wanted, fix = f"{scores.dtype}, like its input", f"give it `{given}.float()`"
        elif (
            op.name == "cross_entropy"
            and target.shape == scores.shape
            and scores.ndim > 1
            and not target.is_floating_point
        ):
            wanted = "class indices with one dimension less, or probabilities with a floating point dtype"
            fix = f"give it `{given}.float()` if these are one-hot rows, or the class indices, `{given}.argmax(dim=1)`"
        elif target.dtype not in ("int64", "uint8") and (
            op.name == "one_hot" or target.ndim < max(scores.ndim, 2)
        ):
            wanted, fix = "class indices of type int64", f"make the labels int64: `{given}.long()`"
        else:
            return
        self.report(
            op.site,
            f"{op.name} expects {wanted}; {name} is {target.dtype}.",
            evidence={
                "loss": op.name,
                "target": f"{target.dtype}{list(target.shape)}",
                "input": f"{scores.dtype}{list(scores.shape)}",
            },
            fix=fix,
        )

    # ---- what loses -----------------------------------------------------------------------------------------------------
    def on_pass(self, event: LoaderInfo) -> None:
        """Tensors of a TensorDataset are the source of the batches'."""
        dataset = event.whole_dataset
        self._owned[event.number] = {
            number_of(a)
            for a in getattr(dataset, "__dict__", {}).values()
            if isinstance(a, np.ndarray)
        }
        kind, value = self.session.engine.Tensor, self.session.recorder.value
        held = [value(t) for t in getattr(dataset, "__dict__", {}).values() if isinstance(t, kind)]
        # tensors of the data set's own that fractions were cut off in
        self._cut_tensors[event.number] = [
            v
            for v in held
            if v.producer is not None
            and self._lossy.get(v.producer.number, ("", ""))[1] == "truncates"
        ]
        tensors = getattr(dataset, "tensors", None)
        self._tensors[event.number] = (
            [self.session.recorder.value(t) for t in tensors]
            if isinstance(tensors, (tuple, list))
            else None
        )

    def on_batch(self, event: Batch) -> None:
        """Which of them a batch's tensors come from."""
        tensors = self._tensors.get(event.loader.number)
        if tensors is None and self._arrays:
            self._of_data_set(event)
        recent, self._recent = self._recent, {}
        whole, self._cut = self._cut, set()
        # samples that the data set's own code has cast, put together without a trace
        if tensors is None:
            for given in event.values:
                found = recent.get(given.dtype) or self._cut_before(event, given)
                if found is None and given.dtype == "int64" and whole and given.numel <= 4096:
                    found = self._all_cut(given, whole)
                # PyTorch's collation makes tensors of numbers by an operation
                made = given.producer
                if found is not None and (made is None or made.name == "tensor"):
                    self._cast_batches[given.id] = found
        if len(self._cast_batches) > 64:
            self._cast_batches.pop(next(iter(self._cast_batches)))
        if tensors is None or len(tensors) != len(event.values):
            return
        if len(self._batches) > 64:
            self._batches.clear()
        for given, tensor in zip(event.values, tensors, strict=True):
            self._batches[given.id] = tensor

    def on_read(self, event: Read) -> None:
        """`int(y[i])` in a data set, of a number with a fraction."""
        if event.how == "int" and event.value.is_floating_point and event.value.numel == 1:
            array = event.value.numpy()
            before = float(array.reshape(-1)[0]) if array is not None else 0.0
            if before != math.floor(before) and math.isfinite(before):
                kind = {
                    "from": event.value.dtype,
                    "to": "int64",
                    "changed": 1,
                    "of": 1,
                    "example": [before, float(int(before))],
                }
                self._lossy[-event.number] = (
                    event.site,
                    "truncates",
                    {"what": "truncates", "constant": False, **kind},
                )
                self._recent["int64"] = -event.number

    def on_convert(self, event: Converted) -> None:
        """A cast of NumPy's that changes numbers."""
        after = event.after
        if isinstance(after, (int, np.generic)):
            self._cut_to_whole(float(event.before), int(after), event.site)
            return
        if (
            after.dtype.kind not in "iufb"
            or after.dtype.itemsize > 2
            and after.dtype.kind == "f"
            or not 0 < after.size <= _LOOKED_AT
        ):
            return
        try:
            before = np.asarray(event.before)
        except ValueError:
            return
        if before.shape != after.shape or before.dtype.kind not in "fiu":
            return
        found = _lost(before, after, str(after.dtype))
        if found is not None and after.dtype.kind == "b":
            self._collapsed = [*self._collapsed[-8:], [distinct(before), found, event.site, 0]]
        elif found is not None:
            self._arrays = [
                *self._arrays[-20:],
                (weakref.ref(after), distinct(after), found, event.site),
            ]
            if found["what"] == "wraps":
                self._wrapped = [*self._wrapped[-8:], [distinct(before), found, event.site, 0]]

    def _cut_to_whole(self, before: float, after: int, site: Site | None) -> None:
        """`int(3.7)`: a sample or a list made from such numbers has lost their fractions."""
        number = -self.session.recorder.number()
        kind = {
            "from": "float64",
            "to": "int64",
            "changed": 1,
            "of": 1,
            "example": [before, float(after)],
        }
        self._lossy[number] = site, "truncates", {"what": "truncates", "constant": False, **kind}
        self._cut.add(after)
        self._whole.append((number, after, number))
        if len(self._lossy) > 8000:
            for key in list(self._lossy)[:4000]:
                del self._lossy[key]

    def on_write(self, event: Written) -> None:
        """`levels[i] = 0.7` where `levels` is an array of whole numbers; `ids[i] = 300` where it
        has 8 bits.
        """
        target, value = event.target, event.value
        if value is None or event.inplace or target.dtype.kind not in "iu":
            return
        array = (
            np.asarray(value) if isinstance(value, (int, float, np.generic, np.ndarray)) else None
        )
        if array is None or array.dtype.kind not in "fiu" or not 0 < array.size <= _LOOKED_AT:
            return
        known = next((entry for entry in self._arrays if entry[0]() is target), None)
        if known is not None and known[2]["changed"] > 64:
            return
        with np.errstate(invalid="ignore"):
            found = _lost(
                array.reshape(-1), array.reshape(-1).astype(target.dtype), str(target.dtype)
            )
        if found is None or found["what"] == "rounds":
            return
        if known is not None:
            known[2]["changed"] += found["changed"]
            return
        written = written_to(event.site)
        made = (
            assigned_before(event.site, written)
            if written is not None and event.site is not None
            else None
        )
        found |= {"of": int(target.size), "written_at": event.site}
        self._arrays = [*self._arrays[-20:], (weakref.ref(target), None, found, made or event.site)]

    def _array(self, array: Any) -> Any:
        """What was lost on the way to an array, itself or what it is a part of."""
        known = {id(held): entry for entry in self._arrays if (held := entry[0]()) is not None}
        part = array
        while part is not None:
            if id(part) in known:
                return known[id(part)]
            part = getattr(part, "base", None)
        # A selection of rows is a copy; it has no other numbers than those that it was made of.
        for entry in reversed(self._arrays):
            values = (
                entry[1]
                if entry[1] is not None
                else held
                if (held := entry[0]()) is not None
                else None
            )
            if (
                values is not None
                and values.dtype == array.dtype
                and array.size
                and np.isin(array.reshape(-1)[:200], values).all()
            ):
                return entry
        return None

    def _of_data_set(self, event: Batch) -> None:
        """Numbers out of an array of the data set's that fractions were cut off in."""
        owned = self._owned.get(event.loader.number, set())
        for entry in self._arrays:
            held = entry[0]()
            if held is None or entry[2]["what"] != "truncates" or number_of(held) not in owned:
                continue
            for given in event.values:
                made = given.producer
                plain = made is None or made.name in ("tensor", "as_tensor", "stack")
                array = (
                    given.numpy()
                    if plain and given.ndim and given.shape[1:] == held.shape[1:]
                    else None
                )
                if array is not None and array.size > 1 and np.isin(array, held).all():
                    number = -self.session.recorder.number()
                    self._lossy[number] = entry[3], "truncates", entry[2]
                    self._cast_batches[given.id] = number

    def _cut_before(self, event: Batch, given: Value) -> int | None:
        """The cast that a batch's numbers went through when the data set was made."""
        for held in self._cut_tensors.get(event.loader.number, ()):
            before, array = held.numpy(), given.numpy()
            fits = given.is_floating_point and given.ndim and given.shape[1:] == held.shape[1:]
            if not fits or before is None or array is None or array.size < 2:
                continue
            if np.isin(array, before).all() and held.producer is not None:
                return held.producer.number
        return None

    def _all_cut(self, given: Value, whole: set[int]) -> int | None:
        """The key of a number cut to a whole one, if a batch has no other numbers than such."""
        array = given.numpy()
        seen = set() if array is None else set(array.reshape(-1).tolist())
        if not seen or not seen <= whole or len(seen) < 2:
            return None
        return next((key for _, v, key in reversed(self._whole) if v in seen), None)

    def _listed(self, op: Op) -> int | None:
        """The key of a number cut to a whole one, if a tensor is made of a list of such numbers."""
        data = op.args.get("data")
        if (
            not isinstance(data, list)
            or not 1 < len(data) <= len(self._whole)
            or not all(type(v) is int for v in data)
        ):
            return None
        last = list(self._whole)[-len(data) :]
        return last[0][0] if [v for _, v, _ in last] == data else None

    def on_op(self, op: Op) -> None:
        """A cast that changes numbers, and a loss that gets what is left of them."""
        if (
            self._whole
            and op.name in ("tensor", "as_tensor")
            and (key := self._listed(op)) is not None
        ):
            self._lossy[op.number] = self._lossy[key]
            return
        if self._arrays and op.name in ("from_numpy", "tensor", "as_tensor", "asarray"):
            given = next((a.value for a in op.args.values() if type(a).__name__ == "Foreign"), None)
            held = self._array(given) if isinstance(given, np.ndarray) else None
            if held is not None:
                self._lossy[op.number] = held[3], held[2]["what"], held[2]
                return
        if op.name in _WRITES:
            self._written_into(op)
        elif op.name in _CASTS or op.name == "bool":
            self._cast(op)
            made = op.output
            if made is not None and made.ndim > 1 and (mixed := mixed_classes(made)) is not None:
                self._mixed[made.shape[-2:]] = mixed
        else:
            if self._collapsed and op.name in CLASS_LOSSES:
                self._two_left(op)
            if self._wrapped and op.name in CLASS_LOSSES:
                self._none_beyond(op)
            if op.name in CLASS_LOSSES and self._sampled.due(op.site):
                self._narrow(op)
                self._resized(op)
            if self._lossy:
                self._used(op)

    def _two_left(self, op: Op) -> None:
        """Class numbers that went through an array of True and False: all labels are 0 and 1, and
        there are more classes.
        """
        both = compared(op)
        if both is None or not both[0].ndim:
            return
        classes, labels = both[0].shape[class_axis_of(both[0])], both[1].numpy()
        for entry in self._collapsed:
            values = entry[0]
            if (
                labels is None
                or not labels.size
                or labels.dtype.kind not in "iu"
                or labels.max() > 1
                or labels.min() < 0
            ):
                entry[3] = -(1 << 40)  # labels beyond them are seen
            elif values.size <= classes and values.max() < classes and values.max() > 1:
                entry[3] += labels.size
                if entry[3] - labels.size < 64 <= entry[3]:
                    self._tell(op, entry[2], "collapses", entry[1])

    def _none_beyond(self, op: Op) -> None:
        """Class numbers that were cut to a short type, stored and read again: no label is ever
        beyond it, though many should be.
        """
        both = compared(op)
        if both is None or not both[0].ndim:
            return
        classes, labels = both[0].shape[class_axis_of(both[0])], both[1].numpy()
        for entry in self._wrapped:
            values, found = entry[0], entry[1]
            high = {"uint8": 255, "int8": 127, "int16": 32767}.get(found["to"])
            if (
                high is None
                or not high < values.max() < classes
                or values.min() < 0
                or values.max() < 0.8 * classes
            ):
                continue
            if (
                labels is None
                or not labels.size
                or labels.dtype.kind not in "iu"
                or labels.max() > high
            ):
                entry[3] = -(1 << 40)  # labels beyond it are seen
                continue
            entry[3] += labels.size
            # How likely it is that so many labels meet none of those that the type cannot hold.
            share, enough = found["changed"] / found["of"], entry[3] - labels.size
            if share * enough < 20 <= share * entry[3]:
                self._tell(op, entry[2], "wraps", found)

    def _written_into(self, op: Op) -> None:
        """Fractions that are written into whole numbers, which may be targets."""
        target = op.inputs[0] if op.inputs else None
        value = op.args.get("value", op.args.get("src", op.args.get("fill_value")))
        made = op.output
        if (
            target is None
            or target.is_floating_point
            or target.dtype == "bool"
            or made is None
            or made.is_floating_point
        ):
            return
        array = (
            value.numpy()
            if isinstance(value, Value) and value.is_floating_point and value.numel <= _LOOKED_AT
            else value
        )
        array = np.asarray(array) if isinstance(array, (float, np.ndarray)) else None
        if array is None or not array.size or not np.all(np.isfinite(array)):
            return
        wrong = array != np.floor(array)
        if wrong.any():
            k = float(array.reshape(-1)[int(np.argmax(wrong.reshape(-1)))])
            evidence = {
                "what": "truncates",
                "from": "float32",
                "to": target.dtype,
                "changed": int(wrong.sum()),
                "of": int(array.size),
                "example": [k, float(int(k))],
                "constant": False,
                "written_at": op.site,
            }
            self._lossy[op.number] = _made_whole(target) or op.site, "truncates", evidence

    def _narrow(self, op: Op) -> None:
        """Class numbers out of a type that does not go as far as there are classes."""
        both = compared(op)
        if both is None or both[1].is_floating_point or not both[0].ndim:
            return
        scores, target = both
        classes = scores.shape[class_axis_of(scores)]
        value, held = target, None
        for _ in range(40):
            high = {"uint8": 255, "int8": 127, "int16": 32767}.get(value.dtype)
            if high is not None and high < classes - 1:
                held = value
            made = value.producer
            if made is None:
                source = self._batches.get(value.id)
                if source is None:
                    break
                value = source
            elif made.name in VIEWS or made.name in _CASTS or made.name in ("cat", "stack"):
                before = made.inputs[0] if made.inputs else None
                if before is None:
                    break
                value = before
            else:
                break
        if held is None:
            return
        made = held.producer
        site: Any = made.site if made is not None else op.site
        if made is None or made.name in ("from_numpy", "tensor", "as_tensor", "asarray"):
            site = narrowed_at(self.session.recorder.files(self.session.script), held.dtype) or site
        self.report(
            site,
            f"these are labels of {op.name} with {classes} classes, and {held.dtype} ends at "
            f"{ {'uint8': 255, 'int8': 127, 'int16': 32767}[held.dtype] }: higher classes cannot be represented.",
            evidence={"to": held.dtype, "classes": classes, "loss": str(op.site)},
            fix="keep class indices in int64",
        )

    def _resized(self, op: Op) -> None:
        """A mask whose classes were interpolated."""
        target = op.args.get("target")
        if not isinstance(target, Value) or target.is_floating_point:
            return
        # samples are put together without a trace
        made = mixed_classes(target) or self._mixed.get(target.shape[-2:])
        if made is not None:
            self.report(
                made.site,
                f"these are labels of {op.name}, but {made.name} averages neighboring class numbers: between the classes 1 and 3 it writes class 2.",
                evidence={"mode": made.args.get("mode"), "loss": str(op.site)},
                fix='resize masks with mode="nearest"',
            )

    def _cast(self, op: Op) -> None:
        made = op.output
        if (
            made is None
            or made.producer is not op
            or made.numel > _LOOKED_AT
            or made.numel == 0
            or made.requires_grad
        ):
            return
        if made.dtype not in (
            "int64",
            "int32",
            "int16",
            "int8",
            "uint8",
            "float16",
            "bfloat16",
            "bool",
        ) or not self._sampled.due(op.site):
            return
        before = _before(op)
        after = made.numpy()
        if (
            before is None
            or after is None
            or before.shape != after.shape
            or before.dtype.kind not in "fiu"
        ):
            return
        found = _lost(before, after, made.dtype)
        if found is None:
            return
        self._lossy[op.number] = op.site, found["what"], found
        self._recent[made.dtype] = op.number
        if len(self._lossy) > 1000:
            self._lossy.pop(next(iter(self._lossy)))

    def _used(self, op: Op) -> None:
        value = (
            op.args.get("input", op.args.get("tensor"))
            if op.name == "one_hot"
            else op.args.get("target")
        )
        if op.name == "mul":  # a cross entropy by hand: target * log_softmax(scores)
            sides = [v for v in op.inputs if not v.requires_grad]
            logs = next((v for v in op.inputs if v.requires_grad), None)
            if len(op.inputs) != 2 or len(sides) != 1 or logs is None or not _is_log(logs):
                return
            value = sides[0]
        if op.name == "sub":  # a loss by hand: prediction - target
            sides = [v for v in op.inputs if not v.requires_grad]
            if (
                len(op.inputs) != 2
                or len(sides) != 1
                or not next(v for v in op.inputs if v.requires_grad).producer
            ):
                return
            value = sides[0]
        scaled = False
        for _ in range(40):
            if not isinstance(value, Value):
                return
            made = value.producer
            cast = self._cast_batches.get(value.id)
            if made is None and cast is None:
                value = self._batches.get(value.id)
                continue
            found = self._lossy.get(cast if cast is not None else made.number)
            if found is not None:
                # fractions may have been cut off to count in larger units; not all there was
                if not scaled or found[1] == "wraps" or _nothing_left(found[2]):
                    self._tell(op, *found)
                return
            if made is None or not made.inputs:
                return
            if (made.name in ARITHMETIC or made.name == "clamp") and len(made.inputs) == 1:
                scaled = scaled or made.name != "clamp"
            elif (
                made.name not in VIEWS
                and made.name not in _CASTS
                and made.name not in ("cat", "stack")
            ):
                return
            value = made.inputs[0]

    def _tell(self, loss: Op, site: Site | None, what: str, evidence: dict[str, Any]) -> None:
        classes = loss.name in CLASS_LOSSES or loss.name == "one_hot"
        before, after = evidence["example"]
        merged = evidence.get("distinct", 0)
        if classes and what == "truncates" and not _nothing_left(evidence):
            scores = loss.args.get("input")
            if not merged or not isinstance(scores, Value) or not scores.ndim:
                return
            if merged != scores.shape[class_axis_of(scores)]:
                return  # numbers put into bins, as a rule; not as many of them as there are classes
        if what == "collapses" and not classes:
            return
        why = {
            "collapses": "keeps only whether a number is 0",
            "truncates": "cuts off the fraction",
            "wraps": f"cannot hold them: {evidence['to']} is too small",
            "rounds": "has too few digits for whole numbers of this size",
        }[what]
        said = (
            "values that are compared with a prediction"
            if loss.name in ("sub", "mul")
            else f"labels of {loss.name}"
        )
        self.report(
            site,
            f"these are {said}, and the cast from {evidence['from']} to {evidence['to']} changes "
            f"{evidence['changed']} of {evidence['of']}: it {why} ({before:g} becomes {after:g}).",
            evidence={
                **{k: v for k, v in evidence.items() if k not in ("constant", "what", "distinct")},
                "loss": str(loss.site),
            },
            fix="map each value to its own number before the cast: `(2 * x).long()` for halves, or "
            "`torch.unique(x, return_inverse=True)[1]`"
            if what == "truncates" and classes and not evidence["constant"]
            else "keep regression targets and soft labels in float32"
            if what == "truncates"
            else "keep class indices in int64",
            covers=[loss.site, site, evidence.get("written_at")],
        )


def _nothing_left(evidence: dict[str, Any]) -> bool:
    """Whether a cast made all numbers equal that were shares of one, up to a few."""
    return bool(evidence["constant"]) and 0 <= evidence["example"][0] <= 1


def _made_whole(value: Value) -> Site | None:
    """Where a tensor of whole numbers was made empty, to be filled later; None for one that had
    numbers of its own.
    """
    for _ in range(4096):
        made = value.producer
        if made is None or not made.inputs or not made.inplace:
            break
        value = made.inputs[0]
    made = value.producer
    return (
        made.site
        if made is not None
        and made.name.removeprefix("new_").removesuffix("_like")
        in ("zeros", "empty", "full", "ones")
        else None
    )


def _is_log(value: Value) -> bool:
    made = value.producer
    while made is not None and made.name in ("neg", "clamp", *VIEWS) and made.inputs:
        made = made.inputs[0].producer
    return made is not None and made.name in ("log_softmax", "log", "logsigmoid")


def _shares(before: Any) -> bool:
    """Whether numbers lie between 0 and 1."""
    return bool(before.size >= 16 and before.min() >= 0 and before.max() <= 1)


def _lost(before: Any, after: Any, to: str) -> dict[str, Any] | None:
    """What a cast changes: "what" (truncates, wraps, rounds, collapses) and the evidence; None when
    it keeps what matters.
    """
    with np.errstate(invalid="ignore"):
        changed = before.astype(np.float64) != after.astype(np.float64)
        entire = before == np.floor(before)
    whole = bool(np.all(entire))
    what = "wraps" if whole else "truncates"
    if after.dtype.kind == "b":
        if not whole or distinct(before).size <= 2:
            return None
        what = "collapses"
    elif after.dtype.kind == "f":
        # Of a table with columns of several kinds the whole numbers alone.
        changed &= entire & (np.abs(before) > (256 if to == "bfloat16" else 2048))
        what = "rounds"
    if not changed.any():
        return None
    if what == "wraps" and before.dtype.kind == "f" and not np.all(np.isfinite(before)):
        return None
    k = int(np.argmax(changed.reshape(-1)))
    return {
        "what": what,
        "from": str(before.dtype),
        "to": to,
        "changed": int(changed.sum()),
        "of": int(changed.size),
        "example": [float(before.reshape(-1)[k]), float(after.reshape(-1)[k])],
        "constant": bool(after.min() == after.max() and before.min() != before.max())
        or _shares(before)
        and float(changed.mean()) >= 0.9,
        "distinct": int(distinct(before).size) if what == "truncates" and before.size > 1 else 0,
    }


def narrowed_at(files: list[str], dtype: str) -> Any:
    """The line that makes an array of that type: `.astype("uint8")`, `dtype=np.uint8`."""
    for file in files:
        root = tree(file)
        found = []
        for node in walk(root) if root is not None else ():
            if isinstance(node, ast.Call):
                given = [k.value for k in node.keywords if k.arg == "dtype"]
                if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
                    given += node.args[:1]
                for g in given:
                    if ast.unparse(g).strip("'\"").split(".")[-1] == dtype:
                        found.append(Place(file, node.lineno))
        if found:
            return next(
                (p for p in found if re.search(r"label|target|class|\by\b", p.text)), found[0]
            )
    return None


def _before(op: Op) -> Any:
    """The numbers that a cast got, as an array."""
    if op.name in ("tensor", "as_tensor"):
        data = op.args.get("data")
        if isinstance(data, Value):
            return data.numpy()
        if type(data).__name__ == "Foreign":
            data = data.value
        if not isinstance(data, (list, tuple, int, float, np.ndarray)) or isinstance(data, bool):
            return None
        try:
            array = np.asarray(data)
        except ValueError:
            return None
        return array if array.dtype.kind in "fiu" else None
    source = op.inputs[0] if op.inputs else None
    return source.numpy() if source is not None and source.alive else None
