"""Normalization, embeddings, losses, dropout, convolution, indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.public import FUNCTIONS
from ...core.tensor import make_tensor
from ...distributed import collectives
from ...dtypes import BY_NAME
from ..placements import REPLICATE, SUM, Placement, Shard, meta_of, region
from ..propagate import (
    Candidate,
    LayoutPlan,
    OperatorCall,
    chosen,
    gathered,
    local_sizes,
    plan,
    rule,
    run,
    shards,
)
from ..redistribute import part
from .reductions import _kept


def _named(call: OperatorCall, out: Sequence[Placement], **placements: Placement) -> Candidate:
    """A candidate with the placements of named arguments; what is not named is in full."""
    ins = [
        placements.get(n, REPLICATE)
        for n, v in zip(call.names, call.values, strict=True)
        if call.index(n) >= 0 and v is not None
    ]
    return Candidate(out, ins)


# ---- normalization -------------------------------------------------------------------------------
@rule("native_layer_norm", "_fused_rms_norm")
def layer_norm(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]
    axis = spec.ndim - len(call["normalized_shape"])
    results = 3 if call.func._opname == "native_layer_norm" else 2

    def candidates(i: int) -> list[Candidate]:
        made = [
            _named(call, (Shard(d),) * results, input=Shard(d)) for d in shards(spec, i) if d < axis
        ]
        return [*made, _named(call, (REPLICATE,) * results)]

    return plan(call, chosen(call, candidates))


@rule("native_layer_norm_backward")
def layer_norm_backward(call: OperatorCall) -> LayoutPlan:
    axis = call.specs[1].ndim - len(call["normalized_shape"])

    def candidates(i: int) -> list[Candidate]:
        found = [d for k in (0, 1) for d in shards(call.specs[k], i) if d < axis]
        made = [
            _named(
                call,
                (Shard(d), SUM, SUM),
                grad_out=Shard(d),
                input=Shard(d),
                mean=Shard(d),
                rstd=Shard(d),
            )
            for d in found
        ]
        return [*made, _named(call, (REPLICATE,) * 3)]

    return plan(call, chosen(call, candidates), _metas(call, ("input", "weight", "bias")))


def _metas(call: OperatorCall, names: Sequence[str]) -> list[Any]:
    """Of gradients: shapes and dtypes of the arguments they belong to, None where none is asked
    for.
    """
    mask = call.get("output_mask") or [True] * len(names)
    made = []
    for name, wanted in zip(names, mask, strict=False):
        spec = call[name] if name in call.names else None
        made.append(
            meta_of(spec.shape, spec.tensor_meta.dtype) if wanted and spec is not None else None
        )
    return made


# ---- embeddings ----------------------------------------------------------------------------------
@rule("embedding")
def embedding(call: OperatorCall) -> LayoutPlan:
    weight, indices = call.specs
    rows = weight.shape[0]

    def candidates(i: int) -> list[Candidate]:
        made = [Candidate((Shard(d),), (REPLICATE, Shard(d))) for d in shards(indices, i)]
        made += [
            Candidate((Shard(indices.ndim),), (Shard(1), REPLICATE)),
            Candidate((SUM,), (Shard(0), REPLICATE)),
        ]
        return [*made, Candidate((REPLICATE,), (REPLICATE, REPLICATE))]

    picked = chosen(call, candidates)
    by_rows = [i for i, c in enumerate(picked) if c.ins[0] == Shard(0)]

    def kernel(c: OperatorCall, values: list[Any]) -> Any:
        table, wanted = values[0], values[1]
        if bool((wanted < 0).any()) or bool((wanted >= rows).any()):
            raise IndexError("index out of range in self")
        placements = [Shard(0) if i in by_rows else REPLICATE for i in range(c.mesh.ndim)]
        low = region((rows,), c.mesh, placements)[1][0]
        mine = (wanted >= low) & (wanted < low + len(table))
        if len(table) == 0:
            return table.new_zeros([*wanted.shape, table.shape[1]])
        found = c.func(table, FUNCTIONS["torch"]["where"](mine, wanted - low, 0))
        return found.masked_fill(mine.logical_not().unsqueeze(-1), 0)

    meta = meta_of((*indices.shape, weight.shape[1]), weight.tensor_meta.dtype)
    return plan(call, picked, [meta], kernel=kernel if by_rows else None)


@rule("embedding_dense_backward")
def embedding_dense_backward(call: OperatorCall) -> LayoutPlan:
    grad, indices = call.specs

    def candidates(i: int) -> list[Candidate]:
        made = [
            Candidate((SUM,), (Shard(d), Shard(d)))
            for k in (0, 1)
            for d in shards(call.specs[k], i)
            if d < indices.ndim
        ]
        made += [
            Candidate((Shard(1),), (Shard(grad.ndim - 1), REPLICATE)),
            Candidate((SUM,), (SUM, REPLICATE)),
        ]
        return [*made, Candidate((REPLICATE,), (REPLICATE, REPLICATE))]

    return plan(
        call,
        chosen(call, candidates),
        [meta_of((call["num_weights"], grad.shape[-1]), grad.tensor_meta.dtype)],
    )


# ---- losses --------------------------------------------------------------------------------------
def _channel(spec: Any) -> int:
    return 0 if spec.ndim == 1 else 1


def _of_target(d: int, channel: int) -> int:
    return d if d < channel else d - 1


@rule("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(call: OperatorCall) -> LayoutPlan:
    """Cut along the samples, the loss consists of terms. Of a mean, every term is divided by the
    weight of all samples.
    """
    spec, target = call.specs[0], call.specs[1]
    channel, reduction = _channel(spec), call["reduction"]

    def candidates(i: int) -> list[Candidate]:
        made = []
        for d in shards(spec, i):
            if d != channel:
                loss: Placement = Shard(_of_target(d, channel)) if reduction == 0 else SUM
                weight: Placement = REPLICATE
                made.append(
                    _named(
                        call, (loss, weight), self=Shard(d), target=Shard(_of_target(d, channel))
                    )
                )
        return [*made, _named(call, (REPLICATE, REPLICATE))]

    picked = chosen(call, candidates)
    over = [i for i, c in enumerate(picked) if c.ins[0] != REPLICATE]

    def kernel(c: OperatorCall, values: list[Any]) -> Any:
        changed = list(values)
        changed[c.names.index("reduction")] = 0 if reduction == 0 else 2
        loss, total = run(c.func, changed)
        if reduction == 0:
            return loss, total
        total = make_tensor(total._array.copy())
        for i in over:
            if c.mesh.size(i) > 1:
                collectives.all_reduce(total, group=c.mesh.get_group(i))
        return (loss / total if reduction == 1 else loss), total

    metas = [
        meta_of(target.shape if reduction == 0 else (), spec.tensor_meta.dtype),
        meta_of((), spec.tensor_meta.dtype),
    ]
    return plan(call, picked, metas, kernel=kernel if over else None)


@rule("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[1]
    channel, reduction = _channel(spec), call["reduction"]

    def candidates(i: int) -> list[Candidate]:
        made = []
        for d in shards(spec, i):
            if d != channel:
                rows = Shard(_of_target(d, channel))
                made.append(
                    _named(
                        call,
                        (Shard(d),),
                        self=Shard(d),
                        target=rows,
                        grad_output=rows if reduction == 0 else REPLICATE,
                    )
                )
        return [*made, _named(call, (REPLICATE,))]

    def kernel(c: OperatorCall, values: list[Any]) -> Any:
        changed = list(values)
        changed[c.names.index("reduction")] = 2
        return run(c.func, changed) / values[c.names.index("total_weight")]

    return plan(
        call,
        chosen(call, candidates),
        [spec.tensor_meta],
        kernel=kernel if reduction == 1 else None,
    )


# ---- random numbers ------------------------------------------------------------------------------
def drawn(call: OperatorCall, placements: Sequence[Placement], draw: Any) -> Any:
    """This rank's part of random numbers, which are drawn for the whole tensor: the same numbers as
    in one process.

    Args:
        draw: called without arguments, gives the whole tensor.
    """
    return make_tensor(part(draw()._array, call.mesh, placements))


@rule("native_dropout")
def native_dropout(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        return (
            [Candidate((p, p), (p,))]
            if not p.is_partial()
            else [Candidate((REPLICATE,) * 2, (REPLICATE,))]
        )

    picked = chosen(call, candidates)
    placements = [c.ins[0] for c in picked]

    def kernel(c: OperatorCall, values: list[Any]) -> Any:
        x, p, train = values
        if train is False or p == 0:
            return c.func(x, p, train)
        ones = FUNCTIONS["torch"]["ones"](tuple(spec.shape), dtype=spec.tensor_meta.dtype)
        mask = drawn(c, placements, lambda: c.func(ones, p, train)[1])
        return x * mask / (1 - p) if p < 1 else x * 0, mask

    return plan(call, picked, kernel=kernel)


@rule(
    "normal_", "uniform_", "bernoulli_", "exponential_", "random_", "cauchy_", "log_normal_", "geometric_", "rand_like", "randn_like",
    "randint_like", "bernoulli",
)  # fmt: skip
def random(call: OperatorCall) -> LayoutPlan:
    """Drawn for the whole tensor, of which each rank keeps its part."""
    spec = call.specs[0]
    writes = call.func._opname.endswith("_")

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        if p.is_partial():
            return [] if writes else [Candidate((REPLICATE,), (REPLICATE,) * len(call.specs))]
        return [Candidate((p,), (p,) * len(call.specs))]

    picked = chosen(call, candidates)
    placements = [c.ins[0] for c in picked]

    def kernel(c: OperatorCall, values: list[Any]) -> Any:
        if len(c.specs) > 1 or c.func._opname == "bernoulli":
            from ..redistribute import full_array

            whole = make_tensor(full_array(values[0]._array, c.mesh, placements, spec.shape))
        else:
            whole = FUNCTIONS["torch"]["zeros"](tuple(spec.shape), dtype=spec.tensor_meta.dtype)
        made = drawn(c, placements, lambda: run(c.func, [whole, *values[1:]]))
        if writes:
            values[0].copy_(made)
            return values[0]
        return made

    return plan(call, picked, [spec.tensor_meta] if writes else None, kernel=kernel)


# ---- convolution and pooling ---------------------------------------------------------------------
@rule("convolution")
def convolution(call: OperatorCall) -> LayoutPlan:
    """Cut along the batch."""
    return plan(
        call,
        chosen(
            call,
            lambda i: (
                [_named(call, (Shard(0),), input=Shard(0)), _named(call, (REPLICATE,))]
                if call.specs[0].placements[i] == Shard(0)
                else [_named(call, (REPLICATE,))]
            ),
        ),
    )


@rule("convolution_backward")
def convolution_backward(call: OperatorCall) -> LayoutPlan:
    def candidates(i: int) -> list[Candidate]:
        cut = any(call.specs[k].placements[i] == Shard(0) for k in (0, 1))
        made = (
            [_named(call, (Shard(0), SUM, SUM), grad_output=Shard(0), input=Shard(0))]
            if cut
            else []
        )
        return [*made, _named(call, (REPLICATE,) * 3)]

    metas = _metas(call, ("input", "weight"))
    if call["output_mask"][2]:
        metas.append(
            meta_of(
                call["bias_sizes"] or (call["weight"].shape[0],), call["weight"].tensor_meta.dtype
            )
        )
    else:
        metas.append(None)
    return plan(call, chosen(call, candidates), metas)


@rule(
    "avg_pool2d", "max_pool2d_with_indices", "_adaptive_avg_pool2d", "avg_pool1d", "adaptive_max_pool2d", "avg_pool3d", "upsample_nearest2d",
    "upsample_bilinear2d", "pixel_shuffle",
)  # fmt: skip
def pooling(call: OperatorCall) -> LayoutPlan:
    """Samples and channels may be cut."""
    spec = call.specs[0]
    results = 2 if "max" in call.func._opname else 1
    spatial = 3 if "3d" in call.func._opname else 1 if "1d" in call.func._opname else 2

    def candidates(i: int) -> list[Candidate]:
        made = [
            Candidate((Shard(d),) * results, (Shard(d),))
            for d in shards(spec, i)
            if d < spec.ndim - spatial and call.filled(spec.shape, d, i)
        ]
        return [*made, Candidate((REPLICATE,) * results, (REPLICATE,))]

    return plan(call, chosen(call, candidates))


@rule(
    "avg_pool2d_backward",
    "max_pool2d_with_indices_backward",
    "_adaptive_avg_pool2d_backward",
    "avg_pool3d_backward",
)
def pooling_backward(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]
    spatial = 3 if "3d" in call.func._opname else 2
    short = [
        d
        for d in range(spec.ndim)
        if any(not call.filled(spec.shape, d, i) for i in range(call.mesh.ndim))
    ]
    return _kept(call, [*short, *range(spec.ndim - spatial, spec.ndim)])


# ---- indexing ------------------------------------------------------------------------------------
@rule("gather")
def gather(call: OperatorCall) -> LayoutPlan:
    spec, index = call.specs
    dim = call["dim"] % max(spec.ndim, 1)

    def candidates(i: int) -> list[Candidate]:
        made = []
        for k in (0, 1):
            for d in shards(call.specs[k], i):
                if d != dim and spec.shape[d] == index.shape[d]:
                    made.append(Candidate((Shard(d),), (Shard(d), Shard(d))))
        made += [
            Candidate((Shard(d),), (REPLICATE, Shard(d))) for d in shards(index, i) if d == dim
        ]
        return [*made, Candidate((REPLICATE,), (REPLICATE, REPLICATE))]

    return plan(call, chosen(call, candidates))


@rule("put_along")
def put_along(call: OperatorCall) -> LayoutPlan:
    """The gradient of what was taken along a dimension, which is whole."""
    shape, dim = call["shape"], call["dim"] % max(len(call["shape"]), 1)

    def candidates(i: int) -> list[Candidate]:
        cut = [
            d
            for spec in call.specs
            for d in shards(spec, i)
            if d != dim and all(s.shape[d] == shape[d] for s in call.specs)
        ]
        return [
            *(Candidate((Shard(d),), (Shard(d), Shard(d))) for d in cut),
            Candidate((REPLICATE,), (REPLICATE, REPLICATE)),
        ]

    picked = chosen(call, candidates)
    return plan(
        call, picked, replaced={call.names.index("shape"): local_sizes(call, shape, picked)}
    )


@rule("index_select")
def index_select(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]
    dim = call["dim"] % max(spec.ndim, 1)

    def candidates(i: int) -> list[Candidate]:
        made = [Candidate((Shard(d),), (Shard(d), REPLICATE)) for d in shards(spec, i) if d != dim]
        return [*made, Candidate((REPLICATE,), (REPLICATE, REPLICATE))]

    return plan(call, chosen(call, candidates))


@rule("index")
def index(call: OperatorCall) -> LayoutPlan:
    """x[i] with tensors of indices for leading dimensions; the others, and the indices, may be cut."""
    spec = call.specs[0]
    given = call["indices"]
    used = [k for k, v in enumerate(given) if v is not None]
    leading = used == list(range(len(used)))
    shapes = [tuple(s.shape) for s in call.specs[1:]]
    if any(s.tensor_meta.dtype in (BY_NAME["bool"], BY_NAME["uint8"]) for s in call.specs[1:]):
        return gathered(call)  # the size of the result depends on values
    width = max(map(len, shapes), default=0)
    alike = len(set(shapes)) == 1

    def candidates(i: int) -> list[Candidate]:
        made = []
        if leading:
            for d in shards(spec, i):
                if d not in used:
                    made.append(
                        Candidate(
                            (Shard(d - len(used) + width),), (Shard(d), *[REPLICATE] * len(shapes))
                        )
                    )
            if alike:
                for s in call.specs[1:]:
                    made += [
                        Candidate((Shard(d),), (REPLICATE, *[Shard(d)] * len(shapes)))
                        for d in shards(s, i)
                    ]
        return [*made, Candidate((REPLICATE,), (REPLICATE,) * len(call.specs))]

    return plan(call, chosen(call, candidates))
