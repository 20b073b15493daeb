"""Samples of a data set that are changed where they are stored, further in each epoch."""

from __future__ import annotations

import bisect
import weakref
from typing import Any

import numpy as np

from ...events import Op, Written
from ...fingerprint import fingerprint
from ...numbers import number_of
from ...rule import Rule

EPOCHS = 3  # in each of which a sample is another one
KEPT = 256  # samples that are followed
LOOKED = 4096  # elements of a sample that are compared
ITEMS = 100_000  # of a list that is looked through
_OVERWRITE = frozenset({"fill_", "zero_", "copy_"})


class _Stored:
    """The memory of a data set: where its tensors and arrays begin and end."""

    def __init__(self, dataset: Any, tensor: Any) -> None:
        spans = []

        def note(thing: Any, item: bool) -> None:
            if isinstance(thing, tensor):
                size = thing.numel() * thing.element_size()
                spans.append((thing.data_ptr(), size, item))
            elif type(thing) is np.ndarray and thing.dtype.kind == "f":
                spans.append((thing.__array_interface__["data"][0], thing.nbytes, item))
            elif isinstance(thing, (list, tuple)) and len(thing) <= ITEMS:
                for part in thing:
                    note(part, True)
            elif isinstance(thing, dict) and len(thing) <= ITEMS:
                for part in thing.values():
                    note(part, True)

        self.ref = weakref.ref(dataset)
        for name, thing in vars(dataset).items():
            if "cache" not in name and "buf" not in name:
                note(thing, False)
        self._spans = sorted(s for s in spans if s[1])
        self._begins = [s[0] for s in self._spans]

    def sample(self, pointer: int, size: int) -> bool:
        """Whether memory is that of one sample."""
        k = bisect.bisect_right(self._begins, pointer) - 1
        if k < 0:
            return False
        begin, held, item = self._spans[k]
        return pointer + size <= begin + held and (item or size < held)


class SampleChangedInPlace(Rule):
    """What a data set or its transform writes stays in the stored sample."""

    slug = "sample-changed-in-place"
    id = "PL908"
    severity = "error"
    summary = "stored samples are changed in place in each epoch"
    ops = (
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "setitem",
        "clamp",
        "masked_fill",
        "sqrt",
        "neg",
        "exp",
    )

    def __init__(self) -> None:
        self._stored: dict[int, _Stored] = {}
        # by place and memory: the pass, and what was written there
        self._written: dict[Any, list[tuple[int, bytes]]] = {}

    def on_op(self, op: Op) -> None:
        """A write while a sample is fetched."""
        info = self.session.recorder.fetching
        if info is None or not op.inplace or op.site is None or op.spelling in _OVERWRITE:
            return
        target = op.inputs[0].tensor if op.inputs else None
        if target is not None and target.is_floating_point() and target.numel():
            size = target.numel() * target.element_size()
            array = self.session.engine.array(target)
            self._note(info, op.site, target.data_ptr(), size, array, op.name)

    def on_write(self, event: Written) -> None:
        """The same with NumPy, told before the write."""
        info, target = self.session.recorder.fetching, event.target
        if info is None or event.site is None or target.dtype.kind != "f" or not target.size:
            return
        begin = target.__array_interface__["data"][0]
        self._note(info, event.site, begin, target.nbytes, target, "this")

    def _note(self, info: Any, site: Any, begin: int, size: int, array: Any, what: str) -> None:
        dataset = info.whole_dataset
        if array is None or not hasattr(dataset, "__dict__"):
            return
        stored = self._stored.get(number_of(dataset))
        if stored is None or stored.ref() is not dataset:
            stored = self._stored[number_of(dataset)] = _Stored(dataset, self.session.engine.Tensor)
        key = site, begin
        if (
            key not in self._written
            and len(self._written) >= KEPT
            or not stored.sample(begin, size)
        ):
            return
        digest = fingerprint(array.reshape(-1)[:LOOKED])
        held = self._written.setdefault(key, [])
        if held and held[-1][0] == info.passes:
            held.pop()
        held.append((info.passes, digest))
        del held[:-EPOCHS]
        if len({d for _, d in held}) == EPOCHS:
            self.report(
                site,
                f"{what} writes into the sample that the dataset stores, which has changed in "
                f"each of {len(held)} epochs.",
                evidence={"dataset": type(dataset).__name__, "epochs": len(held)},
                fix="change a copy: `x = x + noise` instead of `x += noise`, or `x = x.clone()` first",
            )
