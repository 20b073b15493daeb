"""An indexed assignment that adds to the same place several times."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Op, Value
from ...rule import Rule

_SUMS = frozenset({"add", "sub"})


class RepeatedIndex(Rule):
    """`out[index] += x` reads all places first and writes them afterwards: of an index that is
    repeated only one addend stays.
    """

    slug = "repeated-index"
    id = "PL113"
    severity = "error"
    summary = "an indexed += loses sums where an index is repeated"
    ops = ("setitem",)

    def on_op(self, op: Op) -> None:
        """`out[index] = out[index] + x`, of which two entries are the same."""
        times = self.count("seen", op.site)
        if times > 8 and times & (times - 1):
            return
        target, value = op.args["input"], op.args["value"]
        parts = _parts(op.args["index"])
        if not parts or not isinstance(value, Value):
            return
        added = value.producer
        if added is None or added.name not in _SUMS:
            return
        read = [
            made
            for v in added.inputs[: 1 if added.name == "sub" else 2]
            if (made := v.producer) is not None and made.name == "getitem"
        ]
        if not any(
            made.args["input"].number == target.number
            and [p.number for p in _parts(made.args["index"])] == [p.number for p in parts]
            for made in read
        ):
            return
        rows = [p.numpy() for p in parts]
        if any(r is None for r in rows):
            return
        places = np.stack([r.ravel() for r in np.broadcast_arrays(*rows)])
        given, left = places.shape[1], np.unique(places, axis=1).shape[1]
        if left == given:
            return
        name, index = op.written("input") or "it", op.written("index") or "index"
        minus = added.name == "sub"
        if isinstance(op.args["index"], Value):
            fix = (
                f"`{name}.index_add_(0, {index}, ...{', alpha=-1' if minus else ''})` adds them all"
            )
        else:
            fix = f"`{name}.index_put_(..., accumulate=True)` adds them all"
        self.report(
            op.site,
            f"the index has {given} entries and only {left} different ones. Where an index is "
            f"repeated, one value is {'subtracted' if minus else 'added'} and the others are "
            "lost.",
            evidence={"entries": given, "different": left, "shape": list(target.shape)},
            fix=fix,
        )


def _parts(index: Any) -> list[Value]:
    """The tensors of whole numbers in an index; none where a mask is among them."""
    parts = [p for p in (index if isinstance(index, tuple) else (index,)) if isinstance(p, Value)]
    return parts if all("int" in p.dtype for p in parts) else []
