"""A loss that is a mean and is divided by the number of rows, or of elements, once more; and means
whose gradients are added up without a division.
"""

from __future__ import annotations

from ...events import Op, Site, Value

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


class AddedUp:
    """Counts the backward calls on a mean, at one place, that each step has the gradients of."""

    def __init__(self) -> None:
        self._step = -1
        self._now: list[tuple[Site | None, bool]] = []  # of this step: place, whether it is a mean
        self._last: list[tuple[Site | None, bool]] = []

    def see(self, root: Value, site: Site | None, step: int) -> None:
        """A loss that backward is called on."""
        if step != self._step:
            self._last, self._now, self._step = self._now, [], step
        if len(self._now) < 4096:
            self._now.append((site, _is_mean(root)))

    def found(self) -> tuple[Site, int] | None:
        """(the place, how many), when both of the last two steps had as many."""
        site, mean = self._now[0] if self._now else (None, False)
        whole = len(self._now) >= _FEWEST_ADDED and len(self._now) == len(self._last)
        if (
            site is None
            or not mean
            or not whole
            or set(self._now) | set(self._last) != {(site, True)}
        ):
            return None
        return site, len(self._now)


_FEWEST_ADDED = 4


def _is_mean(root: Value) -> bool:
    made = root.producer
    return made is not None and (
        made.name == "mean" and made.args.get("dim") is None or made.args.get("reduction") == "mean"
    )


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
