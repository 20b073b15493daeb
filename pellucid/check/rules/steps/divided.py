"""A loss that is a mean and is divided by the number of rows, or of elements, once more."""

from __future__ import annotations

from ...events import Op, Value

_LOOKS = 3  # steps
_FEWEST = 8  # rows: a smaller number may be one of batches whose gradients are added up


class DividedAgain:
    """Looks at the losses of a run."""

    def __init__(self) -> None:
        self._step = -1
        self._count = 0  # backward calls of this step
        self._last: tuple[Op, int] | None = None
        self._steps = 0  # with one backward, of such a loss
        self._others = False  # some backward was of another loss, or several make one step

    def see(self, root: Value, step: int) -> None:
        """A loss that backward is called on."""
        if self._others:
            return
        self._count = self._count + 1 if step == self._step else 1
        self._step = step
        found = _divided(root)
        self._others = found is None or self._count > 1
        self._last, self._steps = found, self._steps + 1

    def found(self) -> tuple[Op, int] | None:
        """(the division, the number), when the loss of every step was such a one."""
        return None if self._others or self._steps < _LOOKS else self._last


def _divided(root: Value) -> tuple[Op, int] | None:
    factor, value, place = 1.0, root, None
    for _ in range(8):
        made = value.producer
        if made is None or not made.inputs:
            return None
        number = made.args.get("other")
        if (
            made.name in ("mul", "div")
            and len(made.inputs) == 1
            and isinstance(number, (int, float))
        ):
            if not number:
                return None
            factor *= number if made.name == "div" else 1 / number
            place = place or made
            value = made.inputs[0]
            continue
        mean = made.name == "mean" and made.args.get("dim") is None
        if not mean and made.args.get("reduction") != "mean":
            return None
        sizes = {made.inputs[0].numel, *made.inputs[0].shape[:1]}
        rows = next((n for n in sizes if n >= _FEWEST and abs(factor - n) < 1e-6 * n), None)
        return (place, rows) if place is not None and rows is not None else None
    return None
