"""Views that had to be gathered, kept in step with what they show.

A view whose parts lie in the memory of the tensor's own parts (`x[:, 0]` of rows that are spread)
is a view by itself. Where the tensor had to be redistributed first (`x[0]`), the ranks have a copy.
What is written to the copy is put into the parts of the tensor, without communication if the copy
is replicated; what is written to the tensor is gathered again when the copy is read next. Writes
count per memory, and on all ranks alike, so that all ranks gather at the same places.

Not seen are writes to parts (`x.to_local().zero_()`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..aten.dispatch import passed_autograd
from ..core.tensor import make_tensor
from ..dtypes import BY_NAME
from .placements import REPLICATE, Partial
from .redistribute import redistributed


class Memory:
    """Where the parts of a tensor, and of the views of it, lie.

    Attributes:
        writes: how many there have been.
        source: what it is a copy of.
    """

    __slots__ = ("source", "writes")

    def __init__(self, source: Source | None = None) -> None:
        self.writes, self.source = 0, source

    def written(self) -> None:
        """A tensor that lies here was written to: what it is a copy of gets the values."""
        self.writes += 1
        if self.source is not None:
            self.source.put()

    def refreshed(self) -> None:
        """A tensor that lies here is to be read: it gets the values of what it is a copy of."""
        if self.source is not None and self.source.take():
            self.writes += 1


class Source:
    """What a copy shows.

    Args:
        base: the tensor.
        made: the copy.
        show: (tensor) -> what the view shows of it, for a distributed tensor or a plain one.
    """

    def __init__(self, base: Any, made: Any, show: Callable[[Any], Any]) -> None:
        self.base, self.show = base, show
        self.local, self.spec = made._local_tensor, made._spec
        self.seen = base._memory.writes

    def take(self) -> bool:
        """Gather again if the tensor was written to; whether that was so."""
        memory = self.base._memory
        memory.refreshed()
        if self.seen == memory.writes:
            return False
        with passed_autograd():
            self.local.copy_(self.show(self.base)._local_tensor)
        self.seen = memory.writes
        return True

    def put(self) -> None:
        """Put the copy's values into the tensor's parts."""
        spec, mesh = self.base._spec, self.spec.mesh
        if mesh.get_coordinate() is not None and not self.local.is_meta:
            full = (REPLICATE,) * mesh.ndim
            value = redistributed(
                self.local._array, mesh, self.spec.placements, full, self.spec.shape
            )
            local = self.base._local_tensor
            whole = local.new_empty_strided(tuple(spec.shape), tuple(spec.stride)).zero_()
            shown = whole.new_empty_strided(
                tuple(spec.shape), tuple(spec.stride), dtype=BY_NAME["bool"]
            ).zero_()
            self.show(whole).copy_(make_tensor(value))
            self.show(shown).fill_(True)
            values = redistributed(whole._array, mesh, full, spec.placements, spec.shape)
            places = [REPLICATE if isinstance(p, Partial) else p for p in spec.placements]
            where = redistributed(shown._array, mesh, full, places, spec.shape)
            local.copy_(make_tensor(values).where(make_tensor(where), local))
        self.base._memory.written()
        self.seen = self.base._memory.writes
