"""What an operator does with distributed tensors: in which layout it wants its arguments, and which
layout its results have.

A rule says for one dimension of a mesh which layouts of arguments and results go together
(`Candidate`). For each dimension of the mesh the candidate is taken that costs the least to reach,
so a product of a tensor cut by rows with one in full stays cut by rows, and nothing is
communicated. `RULES` holds the rules. An operator without one gets its arguments in full, and every
rank computes the whole result (`gathered`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..aten.overload import OpOverload, bound
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..distributed.mesh import DeviceMesh
from ..errors import OperationError
from .placements import (
    REPLICATE,
    SUM,
    DTensorSpec,
    Partial,
    Placement,
    Shard,
    TensorMeta,
    local_shape,
    meta_of,
)
from .redistribute import cost


class Candidate(NamedTuple):
    """Layouts that go together on one dimension of a mesh."""

    outs: Sequence[Placement | None]  # a placement for each result
    ins: Sequence[Placement]  # a placement for each tensor among the arguments, lists taken apart


class LayoutPlan(NamedTuple):
    """What is done for a call with arguments of these layouts."""

    # the layout for each tensor argument; None where it may stay
    ins: list[tuple[Placement, ...] | None]
    outs: (
        list[DTensorSpec | None] | None
    )  # None: in full, with the shapes that they turn out to have
    replaced: dict[int, Any]  # arguments that are other ones for a part: sizes
    kernel: Callable[..., Any] | None  # in the operator's place: (call, local arguments) -> results
    several: bool  # whether the operator returns several results


class OperatorCall:
    """An operator and its arguments, as rules see them.

    Attributes:
        values: all arguments in the schema's order, defaults filled in; a tensor is its
            `DTensorSpec`.
        specs: those of the tensors, lists taken apart.
    """

    def __init__(self, func: OpOverload, values: list[Any], mesh: DeviceMesh) -> None:
        self.func, self.values, self.mesh = func, values, mesh
        self.names = [a.name for a in func._schema.arguments]
        self.specs: list[DTensorSpec] = []
        self.place: dict[int, int] = {}  # argument -> index of its (first) tensor
        for k, v in enumerate(values):
            if isinstance(v, DTensorSpec):
                self.place[k] = len(self.specs)
                self.specs.append(v)
            elif isinstance(v, (list, tuple)) and any(isinstance(x, DTensorSpec) for x in v):
                self.place[k] = len(self.specs)
                self.specs += [x for x in v if isinstance(x, DTensorSpec)]

    def __getitem__(self, name: str) -> Any:
        return self.values[self.names.index(name)]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, if the operator has it."""
        return self[name] if name in self.names else default

    def index(self, name: str) -> int:
        """Which of the tensors an argument is; -1 where none is given."""
        return self.place.get(self.names.index(name), -1) if name in self.names else -1

    def _ways(self, dim: int, i: int) -> list[int]:
        """Over how many ranks a dimension is cut, one mesh dimension after the other, if it is on
        `i`.
        """
        others = {
            j
            for spec in self.specs
            for j, p in enumerate(spec.placements)
            if isinstance(p, Shard) and p.dim == dim
        }
        return [self.mesh.size(j) for j in sorted({*others, i})]

    def even(self, shape: Sequence[int], dim: int, i: int) -> bool:
        """Whether all ranks get equal parts of a dimension that is cut along mesh dimension `i`."""
        return shape[dim] % math.prod(self._ways(dim, i)) == 0

    def filled(self, shape: Sequence[int], dim: int, i: int) -> bool:
        """Whether all ranks get a part of a dimension, cut along mesh dimension `i`, that is not
        empty.
        """
        left = shape[dim]
        for n in self._ways(dim, i):
            left -= -(-left // n) * (n - 1)  # the last rank's part
        return left > 0


Rule = Callable[[OperatorCall], "LayoutPlan"]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of operators ("mm.default", or "mm" for all its overloads)."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def gathered(call: OperatorCall) -> LayoutPlan:
    """All arguments in full, and so the results."""
    return LayoutPlan(
        [
            None if all(p.is_replicate() for p in s.placements) else (REPLICATE,) * call.mesh.ndim
            for s in call.specs
        ],
        None,
        {},
        None,
        len(call.func._schema.returns) > 1,
    )


# ---- choosing ----------------------------------------------------------------------------------
def bytes_of(spec: DTensorSpec) -> int:
    """How many bytes the whole tensor has."""
    return math.prod(spec.shape) * int(spec.tensor_meta.dtype.itemsize)


def chosen(call: OperatorCall, candidates: Callable[[int], list[Candidate]]) -> list[Candidate]:
    """For each dimension of the mesh the candidate that costs the least.

    Args:
        candidates: those for a dimension of the mesh, the preferred ones first.
    """
    made = []
    for i in range(call.mesh.ndim):
        best, least = None, math.inf
        for c in candidates(i):
            total = 0.0
            for spec, wanted in zip(call.specs, c.ins, strict=True):
                total += cost(spec.placements[i], wanted, bytes_of(spec), call.mesh.size(i))
            if total < least:
                best, least = c, total
        if best is None:
            raise OperationError(
                f"{call.func}: in-place operations that require placement changes are not supported: "
                f"{[s.placements for s in call.specs]}"
            )
        made.append(best)
    return made


def plan(
    call: OperatorCall,
    picked: Sequence[Candidate],
    metas: Sequence[TensorMeta | None] | None = None,
    *,
    replaced: dict[int, Any] | None = None,
    kernel: Callable[..., Any] | None = None,
) -> LayoutPlan:
    """The plan of a candidate for each dimension of the mesh; the results' shapes and dtypes are
    computed without data unless given.
    """
    ins: list[tuple[Placement, ...] | None] = []
    for k, spec in enumerate(call.specs):
        wanted = tuple([c.ins[k] for c in picked])
        ins.append(None if wanted == spec.placements else wanted)
    several, shapes = shaped(call) if metas is None else (len(metas) > 1, list(metas))
    outs: list[DTensorSpec | None] = []
    for k, meta in enumerate(shapes):
        placements = [c.outs[k if len(c.outs) > 1 else 0] for c in picked]
        known = [p for p in placements if p is not None]
        outs.append(
            None
            if meta is None or len(known) < len(placements)
            else DTensorSpec(call.mesh, known, meta)
        )
    return LayoutPlan(ins, outs, replaced or {}, kernel, several)


def shaped(call: OperatorCall) -> tuple[bool, list[TensorMeta | None]]:
    """Whether there are several results, and their shapes, strides and dtypes, from running the
    operator without data.
    """
    torch = FUNCTIONS["torch"]

    def stand_in(v: Any, device: str) -> Any:
        if isinstance(v, DTensorSpec):
            made = torch["empty_strided"](
                tuple(v.shape), tuple(v.stride), dtype=v.tensor_meta.dtype, device=device
            )
            return made if device == "meta" else made.zero_()
        if isinstance(v, (list, tuple)) and any(isinstance(x, DTensorSpec) for x in v):
            return [stand_in(x, device) for x in v]
        return v

    try:
        made = run(call.func, [stand_in(v, "meta") for v in call.values], device="meta")
    except (TypeError, AttributeError):
        # an operator that looks at values: it gets zeros, once for each layout
        made = run(call.func, [stand_in(v, "cpu") for v in call.values])
    several = isinstance(made, (tuple, list))
    flat = list(made) if several else [made]
    return several, [
        meta_of(t.shape, t.dtype, t.stride()) if isinstance(t, Tensor) else None for t in flat
    ]


def run(func: OpOverload, values: Sequence[Any], device: str | None = None) -> Any:
    """Call an operator with all its arguments in the schema's order."""
    args, kwargs = [], {}
    for a, v in zip(func._schema.arguments, values, strict=True):
        if a.kwarg_only:
            if a.name == "device" and device is not None:
                v = device
            if v is not None or a.required:
                kwargs[a.name] = v
        else:
            args.append(v)
    return func(*args, **kwargs)


def same(out: Placement, n: int) -> Candidate:
    """One layout for all `n` tensors and the result."""
    return Candidate((out,), (out,) * n)


def replicated(call: OperatorCall, results: int = 1) -> Candidate:
    """Everything in full."""
    return Candidate((REPLICATE,) * results, (REPLICATE,) * len(call.specs))


def dims_of(value: Any, ndim: int) -> list[int]:
    """The dimensions that an argument names, counted from the front; all where it is None or empty."""
    if value is None or isinstance(value, (list, tuple)) and not value:
        return list(range(ndim))
    return [d % max(ndim, 1) for d in (value if isinstance(value, (list, tuple)) else [value])]


def local_sizes(
    call: OperatorCall, shape: Sequence[int], picked: Sequence[Candidate], k: int = 0
) -> tuple[int, ...]:
    """The shape of this rank's part of result k."""
    return local_shape(shape, call.mesh, [c.outs[k] or REPLICATE for c in picked])


def shards(spec: DTensorSpec, i: int) -> Iterator[int]:
    """The dimensions along which a tensor is cut on mesh dimension `i`: one, or none."""
    p = spec.placements[i]
    if isinstance(p, Shard):
        yield p.dim


__all__ = [
    "SUM",
    "OperatorCall",
    "Candidate",
    "Partial",
    "LayoutPlan",
    "bound",
    "chosen",
    "plan",
    "rule",
]
