"""Attention with a score function and a block mask (`torch.nn.attention.flex_attention`).

Queries are processed in runs of blocks that see the same blocks of keys, and only those keys enter
the products, so masked blocks cost nothing. `vmap` maps the functions over batch, head, query and
key, so the tensors that they read (bias tables, document numbers) get their gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ...core.primitive import TENSORS as F
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import seen
from ...errors import ArgumentValueError, OperationError, UnsupportedError
from ..functional import scaled_dot_product_attention
from ._block_mask import DEFAULT_BLOCK as _DEFAULT_SPARSE_BLOCK_SIZE
from ._block_mask import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    over_indices,
    ranges,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
assert _DEFAULT_SPARSE_BLOCK_SIZE  # public projects read it from here


def _identity(
    score: Tensor, batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor
) -> Tensor:
    return score


class AuxRequest(NamedTuple):
    """What else `flex_attention` is to return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Logarithms of the sums of exponentials, and the largest scores, `(B, H, L)` each; None where
    not asked for.
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Settings of GPU kernels; accepted, without effect."""

    BLOCK_M: int
    BLOCK_N: int
    BACKEND: str


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query key^T * scale)) value, over the keys that the mask lets each query
    see.

    A query that sees no key gets zeros. Scores are computed in float32 (in float64 for float64).

    Args:
        query: `(B, Hq, L, E)`. key: `(B, Hkv, S, E)`. value: `(B, Hkv, S, Ev)`.
        score_mod: `score_mod(score, b, h, q_idx, kv_idx)`, a new score from a score and its four
            indices, all without dimensions.
        block_mask: from :func:`create_block_mask`; keys in blocks that are not listed are ignored.
        scale: 1 / sqrt(E) when left out.
        enable_gqa: fewer heads of keys than of queries; each serves a group of them.
        return_lse: return `(output, lse)`; `return_aux=AuxRequest(lse=True)` is the newer form.

    Raises:
        NotImplementedError: tensors that are not 4-dimensional. ValueError: sizes that do not fit
            together, or not to the mask.

    Source: Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention
    Kernels", 2024.

    >>> import pellucid as torch
    >>> from pellucid.nn.attention.flex_attention import create_block_mask, flex_attention
    >>> q = torch.ones(1, 1, 3, 2)
    >>> v = torch.tensor([1.0, 2.0, 3.0]).reshape(1, 1, 3, 1)
    >>> causal = create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 3, 3)
    >>> flex_attention(q, q, v, block_mask=causal).flatten()
    tensor([1.0000, 1.5000, 2.0000])
    """
    if return_lse and return_aux is not None:
        raise ArgumentValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead."
        )
    _check(query, key, value, block_mask, enable_gqa)
    wanted = return_aux if return_aux is not None else AuxRequest(lse=return_lse)
    if query._array.shape[0] != key._array.shape[0]:
        key, value = (t.expand(query._array.shape[0], -1, -1, -1) for t in (key, value))
    groups = query._array.shape[1] // key._array.shape[1]
    if groups > 1:
        key, value = (t.repeat_interleave(groups, 1) for t in (key, value))
    factor = 1.0 / math.sqrt(query._array.shape[-1]) if scale is None else float(scale)
    run = _Run(query, key, value, score_mod, block_mask, factor, wanted)
    out, aux = run.all()
    if return_aux is not None:
        return out, aux
    return (out, aux.lse) if return_lse else out


def _check(query: Any, key: Any, value: Any, mask: Any, gqa: bool) -> None:
    for t in (query, key, value):
        if not isinstance(t, Tensor) or t._array.ndim != 4:
            raise UnsupportedError("NYI: query, key, and value must be 4D tensors")
    (b, heads, queries, e), (bk, kv_heads, keys, ek) = query._array.shape, key._array.shape
    if not query.dtype == key.dtype == value.dtype:
        raise ArgumentValueError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if not query.dtype.is_floating_point:
        raise ArgumentValueError(
            f"flex_attention: expected floating point tensors, got {query.dtype}"
        )
    if not gqa and heads != kv_heads:
        raise ArgumentValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={kv_heads}. Try setting "
            "enable_gqa=True for GQA."
        )
    if gqa and (not kv_heads or heads % kv_heads):
        raise ArgumentValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={kv_heads}."
        )
    if b != bk and (mask is None or bk != 1):
        shown = "None" if mask is None else "not None"
        raise ArgumentValueError(
            f"Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask={shown}, Bq={b}, and "
            f"Bkv={bk}."
        )
    if e != ek:
        raise ArgumentValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={e} and E={ek}."
        )
    if value._array.shape[:3] != key._array.shape[:3]:
        raise OperationError(
            f"flex_attention: expected a value for each key, got {list(key._array.shape)} keys and {list(value._array.shape)} values"
        )
    if mask is None:
        return
    if not isinstance(mask, BlockMask):
        raise ArgumentValueError(
            f"flex_attention: expected block_mask to be a BlockMask, got {type(mask).__name__}"
        )
    if mask.shape[-2] < queries or mask.shape[-1] < keys:
        raise ArgumentValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={queries} and kv_len={keys}. As the block mask was "
            "created for a smaller length than you're using it for, you likely need to create a new block mask."
        )
    if mask.shape[-2:] != (queries, keys):
        raise ArgumentValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={queries} and kv_len={keys}. As the block mask was "
            "created for a larger length than you're using it for, you can either 1. create a new block mask with the correct length, or "
            "2. 'adjust' the existing block mask to the correct length by calling block_mask._adjust(q_len, kv_len). This essentially "
            "'crops' the block mask to the upper left corner, which does not work for all mask_mods!"
        )
    if len(mask.shape) == 4 and (mask.shape[0] not in (1, b) or mask.shape[1] not in (1, heads)):
        raise ArgumentValueError(
            f"flex_attention: a block_mask of {mask.shape[0]} batches and {mask.shape[1]} heads does not fit {b} batches and {heads} heads"
        )


class _Part(NamedTuple):
    """Queries that see the same blocks of keys: ranges of batches, heads and queries, and the
    numbers of the blocks.
    """

    batch: tuple[int, int]
    heads: tuple[int, int]
    queries: tuple[int, int]
    full: tuple[int, ...]
    partial: tuple[int, ...]


class _Run:
    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: Any,
        mask: BlockMask | None,
        scale: float,
        wanted: AuxRequest,
    ) -> None:
        self.query, self.key, self.value = query, key, value
        self.sizes = query._array.shape[:3]
        self.mask, self.scale, self.wanted = mask, scale, wanted
        self.score = (
            None if score_mod is None or score_mod is _identity else over_indices(score_mod, True)
        )
        self.inside = None
        if mask is not None and mask.mask_mod is not noop_mask:
            self.inside = over_indices(mask.mask_mod, False)
        self.work = np.dtype(np.float64 if query._array.dtype == np.float64 else np.float32)

    def all(self) -> tuple[Tensor, AuxOutput]:
        """The parts, put together by queries, then heads, then batches."""
        batches: dict[Any, dict[Any, list[Any]]] = {}
        for part in self.parts():
            batches.setdefault(part.batch, {}).setdefault(part.heads, []).append(self.one(part))
        out, lse, largest = _cat(
            [_cat([_cat(runs, 2) for runs in heads.values()], 1) for heads in batches.values()], 0
        )
        return out, AuxOutput(lse, largest)

    def parts(self) -> Iterator[_Part]:
        """Runs of blocks of queries with the same lists."""
        b, h, queries = self.sizes
        if self.mask is None:
            yield _Part((0, b), (0, h), (0, queries), (0,), ())
            return
        partial = _lists(self.mask.kv_num_blocks, self.mask.kv_indices)
        full = _lists(self.mask.full_kv_num_blocks, self.mask.full_kv_indices)
        tables = {
            at: [(full[at][r] if full else (), rows[r]) for r in range(len(rows))]
            for at, rows in partial.items()
        }
        known = list(tables.values())
        if all(table == known[0] for table in known):
            tables = {(0, 0): known[0]}
        bs = {at[0] for at in tables}
        hs = {at[1] for at in tables}
        high = self.mask.BLOCK_SIZE[0]
        for (i, j), table in tables.items():
            batch = (i, i + 1) if len(bs) > 1 else (0, b)
            heads = (j, j + 1) if len(hs) > 1 else (0, h)
            first = 0
            for row in range(1, len(table) + 1):
                if row == len(table) or table[row] != table[first]:
                    yield _Part(
                        batch, heads, (first * high, min(row * high, queries)), *table[first]
                    )
                    first = row

    def one(self, part: _Part) -> tuple[Any, Any, Any]:
        """(output, lse, largest score) of a part."""
        (b0, b1), (h0, h1), (q0, q1) = part.batch, part.heads, part.queries
        query = self.query[b0:b1, h0:h1, q0:q1]
        key, value = self.key[b0:b1, h0:h1], self.value[b0:b1, h0:h1]
        places = self.places(part.full), self.places(part.partial)
        if self.mask is None:
            index = np.arange(key._array.shape[2])
            hidden = 0
        else:
            index = np.concatenate(places)
            hidden = len(places[1]) if self.inside is not None else 0
            key, value = _picked(key, index), _picked(value, index)
        if not index.size:
            return self.nothing(query, value)
        positions = [*ranges(part.batch, part.heads, part.queries), make_tensor(index)]
        mask = None
        if hidden:
            assert self.inside is not None
            mask = self.inside(*positions[:3], make_tensor(index[-hidden:]))
        if self.score is None and not any(self.wanted) and query._array.dtype == self.work:
            return self.fused(query, key, value, mask, index.size - hidden), None, None
        scores = (
            F.matmul(_cast(query, self.work), _cast(key, self.work).transpose(-2, -1)) * self.scale
        )
        if self.score is not None:
            scores = _cast(self.score(scores, *positions), self.work)
        if mask is not None:
            split = index.size - hidden
            masked = F.where(mask, scores[..., split:], -math.inf)
            scores = masked if not split else F.cat(scores[..., :split], masked, dim=3)
        return self.weighted(scores, value, query._array.dtype)

    def fused(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, split: int
    ) -> Tensor:
        if mask is not None and split:
            shape = (*mask._array.shape[:-1], split)
            mask = F.cat(make_tensor(np.ones(shape, bool)), mask, dim=3)
        return scaled_dot_product_attention(query, key, value, mask, scale=self.scale)

    def weighted(self, scores: Tensor, value: Tensor, kind: Any) -> tuple[Any, Any, Any]:
        largest = scores.detach().amax(-1)
        dead = seen(largest._array, "flex_attention looks for queries that see nothing") == -np.inf
        lse = (
            F.logsumexp(scores, dim=(3,), keepdim=False)
            if self.wanted.lse and not dead.any()
            else None
        )
        if dead.any():
            # Without a score that counts there is no maximum to subtract; such rows get zeros, and
            # no gradient.
            alive = make_tensor(~dead[..., None])
            scores = F.where(alive, scores, 0.0)
            weights = F.where(alive, F.softmax(scores, dim=3), 0.0)
            if self.wanted.lse:
                lse = F.where(
                    make_tensor(dead), -math.inf, F.logsumexp(scores, dim=(3,), keepdim=False)
                )
        else:
            weights = F.softmax(scores, dim=3)
        out = _cast(F.matmul(weights, _cast(value, self.work)), kind)
        return out, lse, largest if self.wanted.max_scores else None

    def places(self, blocks: tuple[int, ...]) -> np.ndarray:
        """The positions of the keys of some blocks."""
        if self.mask is None or not blocks:
            return np.arange(0)
        side, keys = self.mask.BLOCK_SIZE[1], self.key._array.shape[2]
        return np.concatenate([np.arange(k * side, min((k + 1) * side, keys)) for k in blocks])

    def nothing(self, query: Tensor, value: Tensor) -> tuple[Any, Any, Any]:
        """The results of queries that see no key."""
        shape = query._array.shape[:3]
        out = make_tensor(np.zeros((*shape, value._array.shape[-1]), query._array.dtype))
        minus = make_tensor(np.full(shape, -np.inf, self.work))
        return out, minus if self.wanted.lse else None, minus if self.wanted.max_scores else None


def _cast(t: Any, kind: Any) -> Any:
    return t if t._array.dtype == kind else F.cast(t, dtype=kind)


def _cat(rows: list[Any], dim: int) -> tuple[Any, ...]:
    """Results of several parts side by side, kind by kind."""
    if len(rows) == 1:
        return tuple(rows[0])
    return tuple(
        None if column[0] is None else F.cat(*column, dim=dim) for column in zip(*rows, strict=True)
    )


def _picked(t: Tensor, index: np.ndarray) -> Tensor:
    """Keys at some positions: a view where they stand side by side."""
    if index.size and np.array_equal(index, np.arange(index[0], index[0] + index.size)):
        return t[:, :, int(index[0]) : int(index[0]) + index.size]
    return t.index_select(2, make_tensor(index))


def _lists(
    counts: Tensor | None, order: Tensor | None
) -> dict[tuple[int, int], list[tuple[int, ...]]]:
    """The blocks listed in each row, in ascending order, by (batch, head)."""
    if counts is None or order is None:
        return {}
    n, o = seen(counts._array, "flex_attention reads the lists of blocks of its mask"), order._array
    n, o = n.reshape((1,) * (3 - n.ndim) + n.shape), o.reshape((1,) * (4 - o.ndim) + o.shape)
    return {
        (i, j): [tuple(sorted(o[i, j, r, : n[i, j, r]].tolist())) for r in range(n.shape[2])]
        for i, j in np.ndindex(*n.shape[:2])
    }
