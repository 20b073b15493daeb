"""New tensors of the form of others."""

from __future__ import annotations

from typing import Any

from ..placements import REPLICATE, SUM, local_shape
from ..propagate import Candidate, LayoutPlan, OperatorCall, chosen, plan, rule


@rule("zeros_like", "ones_like", "full_like", "empty_like")
def like(call: OperatorCall) -> LayoutPlan:
    """Cut as the argument is. Only zeros are terms of zeros."""
    spec = call.specs[0]

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        if p.is_partial():
            out = SUM if call.func._opname == "zeros_like" and p == SUM else REPLICATE
            return [Candidate((out,), (p,))]
        return [Candidate((p,), (p,))]

    return plan(call, chosen(call, candidates))


@rule("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided")
def new(call: OperatorCall) -> LayoutPlan:
    """In full, unless the size is the argument's: then cut as that is."""
    spec = call.specs[0]
    sizes = list(call["size"])
    alike = sizes == list(spec.shape)

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        return [Candidate((p if alike and not p.is_partial() else REPLICATE,), (p,))]

    picked = chosen(call, candidates)
    local = list(local_shape(sizes, call.mesh, [c.outs[0] or REPLICATE for c in picked]))
    replaced: dict[int, Any] = {call.names.index("size"): local}
    if call.func._opname == "new_empty_strided":
        from ..placements import contiguous_strides

        replaced[call.names.index("stride")] = list(contiguous_strides(local))
    return plan(call, picked, replaced=replaced)
