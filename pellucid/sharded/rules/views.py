"""Views and their like: where the dimensions go, and with them the cuts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..placements import REPLICATE, Partial, Placement, Shard, local_shape
from ..propagate import Candidate, LayoutPlan, OperatorCall, chosen, plan, rule, shards


def moved(
    call: OperatorCall, where: Callable[[int, int], int | None], results: int = 1, **more: Any
) -> LayoutPlan:
    """The plan of an operator of one tensor that moves dimensions.

    Args:
        where: (dimension of the argument, mesh dimension) -> the result's dimension; None where it
            must be whole.
    """
    spec = call.specs[0]

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        made = []
        if isinstance(p, Partial):
            made.append(Candidate((p,) * results, (p,)))
        for d in shards(spec, i):
            to = where(d, i)
            if to is not None:
                made.append(Candidate((_at(p, to),) * results, (p,)))
        return [*made, Candidate((REPLICATE,) * results, (REPLICATE,))]

    return plan(call, chosen(call, candidates), **more)


def _at(p: Placement, dim: int) -> Placement:
    """The same cut of another dimension."""
    from ..placements import _StridedShard

    return (
        _StridedShard(dim, split_factor=p.split_factor)
        if isinstance(p, _StridedShard)
        else Shard(dim)
    )


def groups(shape: Sequence[int], sizes: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of the argument and of the result of a view that hold the same elements.

    >>> groups((6, 4), (2, 3, 4))
    [([0], [0, 1]), ([1], [2])]
    """
    found, i, j = [], 0, 0
    while i < len(shape) or j < len(sizes):
        a, b = [], []
        left = right = 1
        if i < len(shape):
            a.append(i)
            left = shape[i]
            i += 1
        if j < len(sizes) and (a or sizes[j] == 1):
            b.append(j)
            right = sizes[j]
            j += 1
        while left != right:
            if left < right and i < len(shape):
                left *= shape[i]
                a.append(i)
                i += 1
            elif j < len(sizes):
                right *= sizes[j]
                b.append(j)
                j += 1
            else:
                break
        found.append((a, b))
    return found


@rule("view.default", "_unsafe_view", "reshape", "_reshape_alias")
def view(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]
    shape = tuple(spec.shape)
    sizes = list(call.values[1])
    if -1 in sizes:
        rest = math.prod([s for s in sizes if s != -1])
        sizes[sizes.index(-1)] = math.prod(shape) // max(rest, 1)
    known = (
        groups(shape, sizes)
        if math.prod(shape)
        else [([d], [d]) for d in range(len(shape))]
        if list(shape) == sizes
        else []
    )
    parts = {
        d: math.prod(
            [call.mesh.size(i) for i in range(call.mesh.ndim) if d in list(shards(spec, i))]
        )
        for d in range(len(shape))
    }

    def where(d: int, i: int) -> int | None:
        for a, b in known:
            if d in a:
                outer = [k for k in a if shape[k] != 1] or a
                inner = [k for k in b if sizes[k] != 1] or b
                if not inner or outer[0] != d:
                    return None
                if len(outer) == 1 and len(inner) == 1:
                    return inner[0]  # the same dimension
                return (
                    inner[0]
                    if shape[d] % parts[d] == 0 and sizes[inner[0]] % parts[d] == 0
                    else None
                )
        return None

    made = moved(call, where)
    assert made.outs is not None
    out = made.outs[0]
    assert out is not None
    return made._replace(replaced={1: list(local_shape(sizes, call.mesh, out.placements))})


@rule("view.dtype")
def view_dtype(call: OperatorCall) -> LayoutPlan:
    last = call.specs[0].ndim - 1
    return moved(call, lambda d, i: d if d != last else None)


@rule("t")
def t(call: OperatorCall) -> LayoutPlan:
    return moved(call, lambda d, i: 1 - d if call.specs[0].ndim == 2 else d)


@rule("transpose.int", "swapaxes", "swapdims", "transpose_")
def transpose(call: OperatorCall) -> LayoutPlan:
    n = call.specs[0].ndim
    a, b = call.values[1] % max(n, 1), call.values[2] % max(n, 1)
    return moved(call, lambda d, i: b if d == a else a if d == b else d)


@rule("permute")
def permute(call: OperatorCall) -> LayoutPlan:
    n = call.specs[0].ndim
    order = [d % n for d in call.values[1]]
    return moved(call, lambda d, i: order.index(d))


@rule("unsqueeze", "unsqueeze_")
def unsqueeze(call: OperatorCall) -> LayoutPlan:
    at = call.values[1] % (call.specs[0].ndim + 1)
    return moved(call, lambda d, i: d + (d >= at))


@rule("squeeze")
def squeeze(call: OperatorCall) -> LayoutPlan:
    shape = call.specs[0].shape
    dims = call.get("dim", None)
    chosen_dims = (
        range(len(shape))
        if dims is None
        else [d % max(len(shape), 1) for d in (dims if isinstance(dims, list) else [dims])]
    )
    gone = [d for d in chosen_dims if shape[d] == 1]
    # a part may have one element where the whole has more: say which ones go
    if call.func._overloadname == "default":
        made = moved(call, lambda d, i: None if d in gone else d - sum(k < d for k in gone))

        def kernel(c: OperatorCall, values: list[Any]) -> Any:
            x = values[0]
            for d in reversed(gone):
                x = x.squeeze(d)
            return x

        return made._replace(kernel=kernel)
    made = moved(call, lambda d, i: None if d in gone else d - sum(k < d for k in gone))

    def kernel_of_dims(c: OperatorCall, values: list[Any]) -> Any:
        x = values[0]
        for d in sorted(gone, reverse=True):
            x = x.squeeze(d)
        return x if gone else x.detach()

    return made._replace(kernel=kernel_of_dims)


@rule("expand")
def expand(call: OperatorCall) -> LayoutPlan:
    shape = tuple(call.specs[0].shape)
    sizes = list(call.values[1])
    lead = len(sizes) - len(shape)
    whole = [shape[k - lead] if s == -1 else s for k, s in enumerate(sizes)]
    made = moved(call, lambda d, i: d + lead if shape[d] == whole[d + lead] else None)
    assert made.outs is not None
    out = made.outs[0]
    assert out is not None
    return made._replace(replaced={1: list(local_shape(whole, call.mesh, out.placements))})


@rule(
    "split",
    "split_with_sizes",
    "chunk",
    "unsafe_split",
    "unsafe_chunk",
    "split_with_sizes_copy",
    "unsafe_split_with_sizes",
)
def split(call: OperatorCall) -> LayoutPlan:
    dim = call["dim"] % call.specs[0].ndim
    return moved(call, lambda d, i: d if d != dim else None)


@rule("unbind")
def unbind(call: OperatorCall) -> LayoutPlan:
    dim = call["dim"] % call.specs[0].ndim
    return moved(call, lambda d, i: None if d == dim else d - (d > dim))


@rule("select.int")
def select(call: OperatorCall) -> LayoutPlan:
    dim = call["dim"] % call.specs[0].ndim
    return moved(call, lambda d, i: None if d == dim else d - (d > dim))


@rule("slice.Tensor")
def slice_(call: OperatorCall) -> LayoutPlan:
    spec = call.specs[0]
    dim = call["dim"] % spec.ndim
    size = spec.shape[dim]
    start, end = call["start"], call["end"]
    all_of_it = (
        call["step"] == 1
        and (start is None or start == 0 or start <= -size)
        and (end is None or end >= size)
    )
    return moved(call, lambda d, i: d if d != dim or all_of_it else None)


@rule("select_backward", "slice_backward", "diagonal_backward", "unfold_backward")
def select_backward(call: OperatorCall) -> LayoutPlan:
    """The gradient is put into zeros of the whole size: other dimensions may be cut."""
    sizes = list(call["input_sizes"])
    n = len(sizes)
    name = call.func._opname
    if name in ("diagonal_backward", "unfold_backward"):
        return plan(call, chosen(call, lambda i: [Candidate((REPLICATE,), (REPLICATE,))]))
    dim = call["dim"] % n
    if name == "select_backward":
        made = moved(call, lambda d, i: d + (d >= dim))
    else:
        whole = call.specs[0].shape[dim] == sizes[dim]
        made = moved(call, lambda d, i: d if d != dim or whole else None)
    assert made.outs is not None
    out = made.outs[0]
    assert out is not None
    return made._replace(
        replaced={
            call.names.index("input_sizes"): list(local_shape(sizes, call.mesh, out.placements))
        }
    )


@rule("cat", "stack")
def cat(call: OperatorCall) -> LayoutPlan:
    name = call.func._opname
    shapes = [tuple(s.shape) for s in call.specs]
    n = len(shapes)
    ndim = max(map(len, shapes)) + (name == "stack")
    dim = call["dim"] % ndim
    legacy = any(len(s) == 1 and s[0] == 0 for s in shapes) and ndim > 1

    def candidates(i: int) -> list[Candidate]:
        made: list[Candidate] = []
        for spec in call.specs:
            p = spec.placements[i]
            if isinstance(p, Partial) and all(s.placements[i] == p for s in call.specs):
                made.append(Candidate((p,), (p,) * n))
            for d in shards(spec, i):
                if (
                    legacy
                    or name == "cat"
                    and d == dim
                    or any(len(s) != spec.ndim or s[d] != spec.shape[d] for s in shapes)
                ):
                    continue
                made.append(
                    Candidate((Shard(d + (name == "stack" and d >= dim)),), (Shard(d),) * n)
                )
        return [*made, Candidate((REPLICATE,), (REPLICATE,) * n)]

    return plan(call, chosen(call, candidates))


@rule(
    "flip",
    "roll",
    "tril",
    "triu",
    "constant_pad_nd",
    "repeat",
    "unfold",
    "diagonal",
    "diag_embed",
    "diag",
    "repeat_interleave.self_int",
)
def dims_whole(call: OperatorCall) -> LayoutPlan:
    """The dimensions that it works along are whole, others may be cut."""
    spec, name = call.specs[0], call.func._opname
    n = spec.ndim
    if name == "flip":
        dims = {d % n for d in call["dims"]}
    elif name == "roll":
        dims = {d % n for d in call["dims"]} or set(range(n))
    elif name in ("tril", "triu"):
        dims = {n - 2, n - 1}
    elif name == "constant_pad_nd":
        dims = {n - 1 - k for k in range(len(call["pad"]) // 2)}
    else:
        dims = set(range(n))
    linear = name != "constant_pad_nd" or call["value"] == 0

    def candidates(i: int) -> list[Candidate]:
        p = spec.placements[i]
        made = [Candidate((p,), (p,))] if isinstance(p, Partial) and linear else []
        made += [Candidate((p,), (p,)) for d in shards(spec, i) if d not in dims]
        return [*made, Candidate((REPLICATE,), (REPLICATE,))]

    return plan(call, chosen(call, candidates))
