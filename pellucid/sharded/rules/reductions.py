"""Reductions: over a dimension that is cut they give terms; what needs its dimension whole has it
gathered.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ..placements import REPLICATE, NormPartial, Partial, Placement, Shard
from ..propagate import Candidate, LayoutPlan, OperatorCall, chosen, dims_of, plan, rule, shards


def _left(d: int, dims: list[int], keep: bool) -> int:
    """Where a dimension is in the result."""
    return d if keep else d - sum(k < d for k in dims)


def reduced(
    call: OperatorCall, terms: Any, linear: tuple[str, ...] = (), results: int = 1, dims: Any = None
) -> LayoutPlan:
    """The plan of a reduction over dimensions.

    Args:
        terms: (dimension, mesh dimension) -> what a reduction over it makes of its parts; None
            where it has to be whole.
        linear: for which terms the argument may consist of them.
    """
    spec = call.specs[0]
    over = dims_of(call.get("dim"), spec.ndim) if dims is None else dims
    keep = bool(call.get("keepdim", False))

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        made = []
        if isinstance(p, Partial) and p.reduce_op in linear and type(p) is Partial:
            made.append(Candidate((p,) * results, (p,)))
        for d in shards(spec, i):
            if d not in over:
                made.append(Candidate((Shard(_left(d, over, keep)),) * results, (p,)))
            elif (term := terms(d, i)) is not None:
                made.append(Candidate((term,) * results, (p,)))
        return [*made, Candidate((REPLICATE,) * results, (REPLICATE,))]

    return plan(call, chosen(call, candidates))


def reduction(term: str, call: OperatorCall) -> LayoutPlan:
    """A reduction over dimensions, of whose parts the results are `term` to each other ("": nothing)."""
    spec = call.specs[0]
    whole_numbers = not spec.tensor_meta.dtype.is_floating_point

    def terms(d: int, i: int) -> Placement | None:
        if not term or term == "product" and whole_numbers:
            return None
        if term == "avg" and not call.even(spec.shape, d, i):
            return None
        if term in ("max", "min") and not call.filled(spec.shape, d, i):
            return None
        return Partial(term)

    linear = term in ("sum", "avg") and call.func._opname != "nansum"
    return reduced(call, terms, ("sum", "avg") if linear else ())


rule("sum", "nansum")(partial(reduction, "sum"))
rule("mean")(partial(reduction, "avg"))
rule("prod")(partial(reduction, "product"))
rule("amax", "max.default")(partial(reduction, "max"))
rule("amin", "min.default")(partial(reduction, "min"))
rule("any", "all")(partial(reduction, ""))


@rule(
    "max.dim",
    "min.dim",
    "median.dim",
    "kthvalue",
    "mode",
    "nanmedian.dim",
    "aminmax",
    "var_mean",
    "std_mean",
)
def with_indices(call: OperatorCall) -> LayoutPlan:
    """Two results; the dimension is whole."""
    over = dims_of(call.get("dim"), call.specs[0].ndim)
    return reduced(call, lambda d, i: None, results=2, dims=over)


@rule("argmax", "argmin", "var", "std", "logsumexp", "norm", "count_nonzero", "median", "nanmedian")
def whole(call: OperatorCall) -> LayoutPlan:
    return reduced(call, lambda d, i: None)


def _kept(call: OperatorCall, over: list[int], results: int = 1) -> LayoutPlan:
    """The result has the argument's shape; some dimensions are whole."""
    specs = call.specs
    shape = specs[0].shape

    def candidates(i: int) -> list[Candidate]:
        made = []
        for spec in specs:
            for d in shards(spec, i):
                if d not in over and all(s.ndim == len(shape) for s in specs):
                    made.append(Candidate((Shard(d),) * results, (Shard(d),) * len(specs)))
        return [*made, Candidate((REPLICATE,) * results, (REPLICATE,) * len(specs))]

    return plan(call, chosen(call, candidates))


@rule(
    "_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "cumsum", "cumprod", "logcumsumexp", "_safe_softmax",
    "sort", "topk", "cummax", "cummin", "softmax", "log_softmax", "argsort", "renorm",
)  # fmt: skip
def along(call: OperatorCall) -> LayoutPlan:
    dim = call.get("dim", -1)
    over = dims_of(-1 if dim is None else dim, call.specs[0].ndim)
    return _kept(call, over, len(call.func._schema.returns))


@rule("linalg_vector_norm")
def vector_norm(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]
    order = float(call["ord"])
    over = dims_of(call["dim"], spec.ndim)
    keep = bool(call["keepdim"])

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        made = []
        if (
            isinstance(p, NormPartial)
            and p.norm_type == order
            and set(over) == set(range(spec.ndim))
        ):
            made.append(Candidate((p,), (p,)))  # norms of parts, of which the norm is taken
        for d in shards(spec, i):
            if d not in over:
                made.append(Candidate((Shard(_left(d, over, keep)),), (p,)))
            elif math.isfinite(order) or call.filled(spec.shape, d, i):
                made.append(Candidate((NormPartial(order),), (p,)))
        return [*made, Candidate((REPLICATE,), (REPLICATE,))]

    return plan(call, chosen(call, candidates))
