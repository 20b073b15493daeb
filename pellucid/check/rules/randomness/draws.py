"""What an operation has drawn at random, and the calls that seed streams."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...events import VIEWS, Op, Value
from ...fingerprint import fingerprint
from ...recording.signatures import RANDOM

DROPOUT = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
)
SEEN = 32  # elements that a draw must have to be compared
SEEDING = frozenset(
    {
        "seed",
        "manual_seed",
        "default_rng",
        "seed_all",
        "seed_everything",
        "RandomState",
        "Random",
        "set_seed",
    }
)


def draws(op: Op) -> bool:
    """Whether the operation has drawn random numbers."""
    return op.name not in DROPOUT or bool(op.arg("training", True) and op.arg("p", 0.5))


def own_stream(op: Op) -> bool:
    """Whether numbers are drawn from a generator that the call was given."""
    return op.args.get("generator") is not None


def _bits(flags: Any) -> int:
    return int.from_bytes(np.packbits(flags[:64]).tobytes(), "big")


class Print:
    """What was drawn: a digest of the values, or of dropout which elements were kept, as far as
    that can be seen.
    """

    __slots__ = ("digest", "dropped", "first", "known", "first_known")

    def __init__(self, digest: bytes | None, dropped: Any = None, known: Any = None) -> None:
        self.digest = digest
        self.dropped = dropped
        self.known = known
        # the same of the first elements, as bits: most draws differ at once
        self.first = 0 if dropped is None else _bits(dropped)
        self.first_known = 0 if known is None else _bits(known)

    def same(self, other: Print) -> bool:
        """Whether both are the same draw; an element that was zero before says nothing of the mask."""
        if self.digest is not None or other.digest is not None:
            return self.digest == other.digest
        if (self.first ^ other.first) & self.first_known & other.first_known:
            return False
        if self.dropped.shape != other.dropped.shape:
            return False
        both = self.known & other.known
        return (
            int(both.sum()) >= SEEN
            and bool((self.dropped[both] == other.dropped[both]).all())
            and bool(self.dropped[both].any())
        )


def print_of(op: Op) -> Print | None:
    """The print of a draw; None when it was too little to tell."""
    out = op.output
    array = out.numpy() if out is not None else None
    if array is None or array.size < SEEN:
        return None
    array = array.reshape(-1)[:2048]
    if op.name not in DROPOUT:
        return Print(fingerprint(array)) if array.min() != array.max() else None
    x = op.args.get("input")
    before = x.numpy() if isinstance(x, Value) and not op.inplace else None
    if before is None:
        return None
    known = before.reshape(-1)[:2048] != 0
    return Print(None, array == 0, known)


def drawn_numbers(value: Value) -> Value | None:
    """The random numbers that a value is, up to a factor and its shape; None when it is something
    else.
    """
    for _ in range(8):
        made = value.producer
        if made is None:
            return None
        if made.name in RANDOM and made.name not in DROPOUT:
            return value
        if made.name not in VIEWS and made.name not in ("mul", "div", "neg") or not made.inputs:
            return None
        value = made.inputs[0]
    return None


def called(call: ast.Call) -> str:
    """The name of what is called, without what stands before the last dot."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
