"""Find the operation that produced the first NaN or Inf of the forward pass, and its inputs."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...core import source
from ...core.tensor import Tensor
from .backward import CAME_IN, Fault, largest_of

GROWN = 1e10  # finite values beyond this are themselves a sign that something diverged


_WAYS = {"copy_": "an assignment", "torch.tensor": "the numbers that the tensor was made of"}


class Birth(NamedTuple):
    """An operation whose result holds NaN or Inf that its inputs did not hold; `wanted` when the
    user wrote the Inf down.
    """

    order: int
    nan: bool
    wanted: bool
    fault: Fault


class Entry(NamedTuple):
    """The first use of a value that was bad before anything was watched; `guilty`: it is to blame
    for what it was used in.
    """

    fault: Fault
    guilty: bool


class FiniteNotes:
    """Notes of values that are not finite, by the numbers under which `Watch` knows tensors."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.births: dict[int, Birth] = {}
        # number of a bad value -> numbers of the bad values that it was made of
        self.bad: dict[int, tuple[int, ...]] = {}
        # bad values that nothing noted made: where they were first used
        self.entered: dict[int, Entry] = {}
        # id of the array that has the memory -> that array, and what put a bad value into it
        self._origins: dict[int, tuple[Any, Fault]] = {}
        self._order = 0

    def note(
        self,
        op: Any,
        inputs: Any,
        params: Any,
        number: int,
        out: Tensor,
        numbers: dict[int, int],
        module: str | None,
        diverged: Fault | None = None,
    ) -> None:
        """One result that is not finite; `numbers` are those of the tensors among the inputs that
        are not, by position; `diverged`: the update that made a parameter among them huge.
        """
        self._order += 1
        made = _kinds(out)
        before = [_kinds(x) for x in inputs]
        had_nan, had_inf = any(nan for nan, _ in before), any(inf for _, inf in before)
        site = source.capture(4)
        for position, tensor_number in numbers.items():
            if tensor_number not in self.bad and tensor_number not in self.entered:
                names = getattr(op, "args", ())
                name = names[position] if position < len(names) else f"argument {position}"
                array = inputs[position]._array
                detail = f"its {name} {_count(array)} {CAME_IN}"
                guilty = before[position][0] or inputs[position]._rg
                fault = Fault("nan-forward", op.name, site, detail, module)
                origin = self._origin(array) if before[position][0] else None
                if origin is not None:
                    fault = origin
                self.entered[tensor_number] = Entry(fault, guilty)
        if (made[0] and not had_nan) or (made[1] and not made[0] and not had_inf and not had_nan):
            wanted = not made[0] and any(_is_bad_number(v) for v in (*params.values(), *inputs))
            fault = Fault("nan-forward", op.name, site, _born(op, inputs, out, had_inf), module)
            self.births[number] = Birth(self._order, made[0], wanted, diverged or fault)
            if made[0] and out._node is None:
                self._hold(out._array, fault)
        self.bad[number] = tuple(numbers.values())
        for table in (self.bad, self.births, self.entered):
            while len(table) > self.limit:
                del table[next(iter(table))]

    def overwritten(self, number: int, made_of: int) -> None:
        """A bad value was written into a tensor."""
        self.bad[number] = (*self.bad.get(number, ()), made_of)

    def written(self, array: Any, site: Any, how: str) -> None:
        """A bad value was written into memory, or came with it from outside, on a line."""
        by = _WAYS.get(how, how)
        detail = f"{by} put it there; what was written {_count(array)} {CAME_IN}"
        self._hold(array, Fault("nan-forward", how, site, detail, None))

    def _hold(self, array: Any, fault: Fault) -> None:
        owner = _owner(array)
        if type(owner) is np.ndarray:
            self._origins.setdefault(id(owner), (weakref.ref(owner), fault))
            while len(self._origins) > self.limit:
                del self._origins[next(iter(self._origins))]

    def _origin(self, array: Any) -> Fault | None:
        """What put a NaN into the memory of an array, or into the table that its row was taken of."""
        owner = _owner(array)
        held = self._origins.get(id(owner))
        if held is not None and held[0]() is owner:
            return held[1]
        if type(array) is not np.ndarray or not array.ndim or array.dtype.kind != "f":
            return None
        rows = np.ascontiguousarray(array).reshape(len(array), -1)
        row = rows[np.isnan(rows).any(1)][:1]
        for ref, fault in self._origins.values():
            table = ref()
            if table is None or table.dtype != array.dtype or table.shape[1:] != array.shape[1:]:
                continue
            flat = table.reshape(len(table), -1)
            if ((flat == row) | (np.isnan(flat) & np.isnan(row))).all(1).any():
                return fault
        return None

    def blame(self, number: int) -> tuple[Fault | None, int | None]:
        """The place that made a value NaN or Inf, or the number of the tensor that came in so
        already.
        """
        births: list[Birth] = []
        came: list[int] = []
        seen, stack = {number}, [number]
        while stack:
            at = stack.pop()
            if at in self.births:
                births.append(self.births[at])
            parts = self.bad.get(at, ())
            if at not in self.births and not parts:
                came.append(at)
            for part in parts:
                if part not in seen:
                    seen.add(part)
                    stack.append(part)
        real = sorted((b for b in births if not b.wanted), key=lambda b: b.order)
        # A constant Inf (a mask for softmax) is no mistake in itself; a NaN that came in is, and so
        # is a parameter that overflowed.
        guilty = [c for c in came if c in self.entered and self.entered[c].guilty]
        if guilty:
            return self.entered[min(guilty)].fault, min(guilty)
        chosen = real or sorted(births, key=lambda b: b.order)
        return (chosen[0].fault if chosen else None), None


def _owner(array: Any) -> Any:
    """The array that has the memory of a view."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _kinds(x: Any) -> tuple[bool, bool]:
    """Does a value hold NaN, does it hold Inf?"""
    a = x._array if isinstance(x, Tensor) else x
    if isinstance(a, (float, complex)):
        return bool(np.isnan(a)), bool(np.isinf(a))
    if type(a) is not np.ndarray or a.dtype.kind not in "fcV":
        return False, False
    if a.dtype.kind == "V" or a.dtype.itemsize == 2:
        a = a.astype(np.float32)
    return bool(np.isnan(a).any()), bool(np.isinf(a).any())


def is_finite(x: Any) -> bool:
    """True for a tensor without NaN and Inf, and for everything that is not a tensor."""
    a = x._array if isinstance(x, Tensor) else x
    return not (type(a) is np.ndarray and a.dtype.kind in "fcV") or bool(np.isfinite(a).all())


def _is_bad_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        value = value._array if value._array.size == 1 and value._node is None else 0.0
    return (
        isinstance(value, (float, np.ndarray))
        and np.size(value) == 1
        and not bool(np.isfinite(value))
    )


def _count(a: Any) -> str:
    if type(a) is np.ndarray and (a.dtype.kind == "V" or a.dtype.itemsize == 2):
        a = a.astype(np.float32)
    nan, inf = int(np.isnan(a).sum()), int(np.isinf(a).sum())
    found = " and ".join([f"{nan} NaN"] * bool(nan) + [f"{inf} Inf"] * bool(inf))
    return f"holds {found} among {a.size} element{'s' * (a.size != 1)}"


def count_text(a: Any) -> str:
    """How many NaN and Inf an array holds, in words."""
    return _count(np.asarray(a))


def _born(op: Any, inputs: Iterable[Any], out: Tensor, had_inf: bool) -> str:
    """The input values behind the first bad element: themselves where the operation works element
    by element, else their ranges.
    """
    names = getattr(op, "args", ())
    tensors = [
        (names[k] if k < len(names) else f"argument {k}", x)
        for k, x in enumerate(inputs)
        if x is not None
    ]
    a = np.asarray(out._array)
    where = np.argwhere(~np.isfinite(a))
    index = tuple(map(int, where[0])) if len(where) else ()
    says = "one of its inputs held Inf already" if had_inf else "its inputs were finite"
    sizes = [largest_of(x) for _, x in tensors if isinstance(x, Tensor)]
    if not had_inf and max(sizes, default=0.0) > GROWN:
        says += f", but had grown to {max(sizes):.3g}"
    values: list[str] = []
    for name, x in tensors:
        array = np.asarray(x._array if isinstance(x, Tensor) else x)
        if array.dtype.kind not in "fiub" or not _fits(array.shape, a.shape):
            values = []
            break
        values.append(f"{name} = {np.broadcast_to(array, a.shape)[index]:.6g}")
    if values:
        return f"{says}; the first bad element, at index {list(index)}, was computed from {', '.join(values)}"
    return f"{says}: " + ", ".join(
        f"{name} {range_text(x)}" for name, x in tensors if isinstance(x, Tensor)
    )


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    return len(shape) <= len(into) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(into), strict=False)
    )


def range_text(x: Tensor) -> str:
    """Shape and range of a tensor: `(3, 4) from -1 to 2.5`."""
    a = x._array
    shape = "(" + ", ".join(map(str, a.shape)) + ("," if len(a.shape) == 1 else "") + ")"
    if type(a) is not np.ndarray or not a.size or a.dtype.kind not in "fiub":
        return shape
    return f"{shape} from {float(a.min()):.4g} to {float(a.max()):.4g}"
