"""Matrix products and attention. A product over a dimension that is cut gives terms of a sum."""

from __future__ import annotations

from ...dtypes import BY_NAME
from ..placements import REPLICATE, SUM, Placement, Shard, TensorMeta, meta_of
from ..propagate import Candidate, LayoutPlan, OperatorCall, chosen, plan, rule
from .pointwise import on


def _products(batch: int) -> list[tuple[Placement, Placement, Placement]]:
    """(result, first, second) of a product of matrices with `batch` dimensions before them."""
    found: list[tuple[Placement, Placement, Placement]] = [(REPLICATE, REPLICATE, REPLICATE)]
    found += [(Shard(d), Shard(d), Shard(d)) for d in range(batch)]
    found += [
        (Shard(batch), Shard(batch), REPLICATE),
        (Shard(batch + 1), REPLICATE, Shard(batch + 1)),
        (SUM, Shard(batch + 1), Shard(batch)),
        (SUM, SUM, REPLICATE),
        (SUM, REPLICATE, SUM),
    ]
    return found


@rule("mm", "bmm")
def product(call: OperatorCall) -> LayoutPlan:
    batch = call.specs[0].ndim - 2
    return plan(
        call, chosen(call, lambda i: [Candidate((out,), (a, b)) for out, a, b in _products(batch)])
    )


@rule("addmm", "baddbmm")
def added_product(call: OperatorCall) -> LayoutPlan:
    added, a, b = call.specs
    batch = a.ndim - 2
    whole = (*a.shape[:-1], b.shape[-1])

    def candidates(i: int) -> list[Candidate]:
        made = []
        for out, p, q in _products(batch):
            first: Placement = (
                on(tuple(added.shape), whole, out.dim) if isinstance(out, Shard) else out
            )
            made.append(Candidate((out,), (first, p, q)))
        return made

    return plan(call, chosen(call, candidates))


@rule("mv", "dot", "vdot")
def product_with_vector(call: OperatorCall) -> LayoutPlan:
    last = call.specs[0].ndim - 1
    made = [
        Candidate((REPLICATE,), (REPLICATE, REPLICATE)),
        Candidate((SUM,), (Shard(last), Shard(0))),
    ]
    if last:
        made.append(Candidate((Shard(0),), (Shard(0), REPLICATE)))
    return plan(call, chosen(call, lambda i: made))


@rule("addmv")
def added_product_with_vector(call: OperatorCall) -> LayoutPlan:
    made = [Candidate((REPLICATE,), (REPLICATE,) * 3), Candidate((SUM,), (SUM, Shard(1), Shard(0)))]
    if tuple(call.specs[0].shape) == (call.specs[1].shape[0],):
        made.append(Candidate((Shard(0),), (Shard(0), Shard(0), REPLICATE)))
    return plan(call, chosen(call, lambda i: made))


def _attention(call: OperatorCall, metas: list[TensorMeta | None]) -> LayoutPlan:
    """Attention: batch and heads may be cut, for all tensors alike."""
    sources, results = ("query", "key", "value"), len(metas)
    first = call.specs[call.index(sources[0])]

    def candidates(i: int) -> list[Candidate]:
        made = [Candidate((REPLICATE,) * results, (REPLICATE,) * len(call.specs))]
        for d in (0, 1):
            if any(
                s.shape[d] != first.shape[d] for s in (call.specs[call.index(n)] for n in sources)
            ):
                continue  # fewer heads of keys
            ins = []
            for name, value in zip(call.names, call.values, strict=True):
                k = call.index(name)
                if k < 0 or value is None:
                    continue
                ins.append(
                    on(tuple(value.shape), tuple(first.shape), d)
                    if name == "attn_mask" and value.ndim == 4
                    else REPLICATE
                    if name == "attn_mask"
                    else Shard(d)
                )
            made.append(Candidate((Shard(d),) * results, ins))
        return made

    return plan(call, chosen(call, candidates), metas)


@rule("_scaled_dot_product_flash_attention_for_cpu")
def attention(call: OperatorCall) -> LayoutPlan:
    query, value = call["query"], call["value"]
    dtype = query.tensor_meta.dtype
    norms = dtype if dtype.itemsize >= 4 else BY_NAME["float32"]
    return _attention(
        call,
        [meta_of((*query.shape[:-1], value.shape[-1]), dtype), meta_of(query.shape[:-1], norms)],
    )


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(call: OperatorCall) -> LayoutPlan:
    return _attention(
        call,
        [
            meta_of(call[name].shape, call[name].tensor_meta.dtype)
            for name in ("query", "key", "value")
        ],
    )
