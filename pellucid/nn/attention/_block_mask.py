"""Which blocks of queries and keys see each other: `BlockMask`, and masks made from functions of
four indices.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.tensor import Tensor, make_tensor
from ...errors import ArgumentValueError, IndexOutOfRangeError, OperationError
from ...func import vmap

Mod = Callable[..., Tensor]
DEFAULT_BLOCK = 128
_CELLS = 1 << 22  # entries of a mask that are computed at a time

# One vmap for each index, the last one innermost. Score functions take the score first.
_MAPPED = (
    (None, None, None, 0),
    (None, None, 0, None),
    (None, 0, None, None),
    (0, None, None, None),
)


def over_indices(mod: Mod, with_score: bool) -> Mod:
    """A function of single indices (and of a score, with dimensions for all four) as one of index
    ranges.
    """
    for dims in _MAPPED:
        mod = vmap(mod, in_dims=(0, *dims) if with_score else dims)
    return mod


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that lets everything through."""
    return batch.new_ones(size=(), dtype=_bool())


def _bool() -> Any:
    return make_tensor(np.zeros((), bool)).dtype


def _combined(mods: tuple[Mod, ...], start: bool, join: Callable[[Any, Any], Any]) -> Mod:
    if not all(callable(mod) for mod in mods):
        raise OperationError(f"All inputs should be callable mask_mods: {mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_full((), start, dtype=_bool())
        for mod in mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask function that is true where all of them are.

    Raises:
        RuntimeError: something that cannot be called.

    >>> from pellucid.nn.attention.flex_attention import and_masks, create_mask
    >>> band = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(band, 1, 1, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """
    return _combined(mask_mods, True, lambda a, b: a & b)


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask function that is true where one of them is; see :func:`and_masks`."""
    return _combined(mask_mods, False, lambda a, b: a | b)


def positional(mod: Mod) -> int:
    """How many arguments without defaults a function takes."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(mod).parameters.values()
    return sum(p.default is inspect.Parameter.empty for p in parameters if p.kind in kinds)


def ranges(*sizes: Any) -> list[Tensor]:
    """Index tensors, one for each `(start, stop)`."""
    return [make_tensor(np.arange(start, stop)) for start, stop in sizes]


def create_mask(
    mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The mask `(B, H, Q_LEN, KV_LEN)` of a mask function: true where a query sees a key.

    Args:
        mod_fn: `mask_mod(b, h, q_idx, kv_idx)`, or `score_mod(score, b, h, q_idx, kv_idx)`, which
            hides what it makes -inf.
        B, H: None stands for 1.

    Raises:
        AssertionError: a function of another number of arguments.

    >>> from pellucid.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    count = positional(mod_fn)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    places = ranges(*((0, size) for size in shape))
    if count == 4:
        return over_indices(mod_fn, False)(*places)
    scores = over_indices(mod_fn, True)(make_tensor(np.zeros(shape, np.float32)), *places)
    return ~scores.isneginf()


def _sides(block: Any) -> tuple[int, int]:
    if isinstance(block, int):
        return block, block
    rows, columns = block
    return int(rows), int(columns)


def _ordered(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Booleans `(..., rows, columns)` as (how many are true in each row, their columns, then the
    others).
    """
    order = np.argsort(~dense, axis=-1, kind="stable")
    return dense.sum(-1, dtype=np.int32), order.astype(np.int32)


def _dense(counts: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The reverse of `_ordered`."""
    dense = np.zeros(order.shape, bool)
    known = np.arange(order.shape[-1]) < counts[..., None]
    np.put_along_axis(dense, order.astype(np.int64), known, -1)
    return dense


def _pair(dense: np.ndarray) -> tuple[Tensor, Tensor]:
    counts, order = _ordered(dense)
    return make_tensor(counts), make_tensor(order)


_Pair = tuple[Tensor | None, Tensor | None]  # what a mask without such blocks lacks
_NONE: _Pair = (None, None)
_TENSORS = (
    "kv_num_blocks",
    "kv_indices",
    "full_kv_num_blocks",
    "full_kv_indices",
    "q_num_blocks",
    "q_indices",
    "full_q_num_blocks",
    "full_q_indices",
)


class BlockMask:
    """A block-sparse attention mask: for each block of queries, the blocks of keys that it sees,
    either in full or in part (then `mask_mod` decides for each pair).

    Args:
        seq_lengths: numbers of queries and keys.
        kv_num_blocks: int32 `(B, H, rows)`, how many blocks of keys a block of queries sees in
            part.
        kv_indices: int32 `(B, H, rows, columns)`, which ones, in the leading entries of each row.
        full_kv_num_blocks, full_kv_indices: the same for blocks that are seen in full; None without
            them.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same lists by blocks of
            keys.
        BLOCK_SIZE: queries and keys in a block.
        mask_mod: `mask_mod(b, h, q_idx, kv_idx)`.

    Made by :func:`create_block_mask`, as a rule.

    >>> from pellucid.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256)
    >>> mask.shape, mask.sparsity()
    ((1, 1, 256, 256), 25.0)
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK, DEFAULT_BLOCK),  # noqa: N803
        mask_mod: Mod = noop_mask,
    ) -> None:
        if kv_indices._array.ndim < 2:
            raise OperationError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK,  # noqa: N803
        mask_mod: Mod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from the lists of blocks of keys; the lists by blocks of keys are made from them.

        Args:
            mask_mod: what holds inside the blocks that are seen in part; all of it is seen when
                left out.
            seq_lengths: whole blocks when left out.

        Raises:
            RuntimeError: lists with too few dimensions. AssertionError: one list of full blocks
                without the other.
        """
        if kv_indices._array.ndim < 2:
            raise OperationError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        rows, columns = _sides(BLOCK_SIZE)
        shape = kv_indices._array.shape
        part = full = _NONE
        if compute_q_blocks:
            part = _pair(_dense(kv_num_blocks._array, kv_indices._array).swapaxes(-1, -2))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full = _pair(
                    _dense(full_kv_num_blocks._array, full_kv_indices._array).swapaxes(-1, -2)
                )
        return cls(
            seq_lengths or (shape[-2] * rows, shape[-1] * columns),
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *part,
            *full,
            (rows, columns),
            mask_mod or noop_mask,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Lengths, lists of blocks, block size and mask function; the pairs of numbers one by one
        with `flatten`.
        """
        tensors = tuple(getattr(self, name) for name in _TENSORS)
        if flatten:
            return (*self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch, heads, queries, keys."""
        return (*self.kv_indices._array.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of entries of the mask, visible or not."""
        return int(np.prod(self.shape))

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and blocks of queries. `mask_mod` is not cut with it:
        give the part its own.

        Raises:
            IndexError: a number outside, or more than three indices.

        >>> from pellucid.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, 2, 3, 256, 256)[0, 1:].shape
        (1, 2, 256, 256)
        """
        items = index if isinstance(index, tuple) else (index,)
        own = self.kv_num_blocks._array.shape
        if ... in [i for i in items if not isinstance(i, Tensor)]:
            at = next(k for k, i in enumerate(items) if i is ...)
            items = (*items[:at], *[slice(None)] * (len(own) - len(items) + 1), *items[at + 1 :])
        if len(items) > len(own):
            raise IndexOutOfRangeError(
                f"too many indices for a BlockMask: it has {len(own)} dimensions of blocks of queries"
            )
        kept = []
        for item, size in zip(items, own, strict=False):
            if isinstance(item, int):
                if not -size <= item < size:
                    raise IndexOutOfRangeError(
                        f"index {item} is out of bounds for a dimension of BlockMask with size {size}"
                    )
                item = slice(item % size, item % size + 1)
            kept.append(item)
        cut = tuple(kept)
        counts, order = self.kv_num_blocks[cut], self.kv_indices[cut]
        full = _NONE
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            full = self.full_kv_num_blocks[cut], self.full_kv_indices[cut]
        return BlockMask.from_kv_blocks(
            counts,
            order,
            *full,
            self.BLOCK_SIZE,
            _cut_mask,
            self.seq_lengths,
            self.q_indices is not None,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The same mask for other lengths: blocks are left out, or empty ones added."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])

        def fitted(counts: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
            dense = _dense(counts._array, order._array)
            new = np.zeros((*dense.shape[:-2], rows, columns), bool)
            high, wide = min(rows, dense.shape[-2]), min(columns, dense.shape[-1])
            new[..., :high, :wide] = dense[..., :high, :wide]
            return _pair(new)

        part = fitted(self.kv_num_blocks, self.kv_indices)
        full = _NONE
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            full = fitted(self.full_kv_num_blocks, self.full_kv_indices)
        return BlockMask.from_kv_blocks(
            *part,
            *full,
            self.BLOCK_SIZE,
            self.mask_mod,
            (new_q_len, new_kv_len),
            self.q_indices is not None,
        )

    def seen(self) -> np.ndarray:
        """Booleans `(B, H, rows, columns)`: blocks seen in part or in full."""
        dense = _dense(self.kv_num_blocks._array, self.kv_indices._array)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _dense(self.full_kv_num_blocks._array, self.full_kv_indices._array)
        return dense

    def to_dense(self) -> Tensor:
        """int32 `(B, H, rows, columns)`: 1 where a block is seen, in part or in full."""
        return make_tensor(self.seen().astype(np.int32))

    def sparsity(self) -> float:
        """The percentage of entries in blocks that need not be computed."""
        computed = int(self.kv_num_blocks._array.sum())
        if self.full_kv_num_blocks is not None:
            computed += int(self.full_kv_num_blocks._array.sum())
        return 100 * (1 - computed * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to(self, device: Any) -> BlockMask:
        """The mask with its lists on a device."""
        moved: dict[str, Any] = {
            name: None if t is None else t.to(device)
            for name, t in ((n, getattr(self, n)) for n in _TENSORS)
        }
        return BlockMask(
            self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture: two characters for a block, dark where it is seen, gray where only part of the
        blocks under it are.

        Args:
            grid_size: at most so many cells down and across; -1 for one cell per block.
            limit: at most so many batches and heads.
        """
        dense = self.seen()
        high, wide = dense.shape[-2:]
        if isinstance(grid_size, int):
            grid_size = (grid_size, grid_size)
        down, across = (
            size if grid < 0 else min(grid, size)
            for grid, size in zip(grid_size, (high, wide), strict=True)
        )
        step, side = -(-high // max(down, 1)), -(-wide // max(across, 1))
        lines = []
        for number, at in enumerate(np.ndindex(*dense.shape[:-2])):
            if number >= limit:
                lines += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            lines.append(str(at))
            for row in range(0, high, step):
                cells = [dense[at][row : row + step, c : c + side] for c in range(0, wide, side)]
                lines.append(
                    "".join("██" if cell.all() else "░░" if cell.any() else "  " for cell in cells)
                )
            lines.append("")
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        sizes = [
            f"    {n}={None if getattr(self, n) is None else getattr(self, n).shape},\n"
            for n in _TENSORS
        ]
        return (
            f"BlockMask(\n{''.join(sizes)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )


def _cut_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    raise OperationError(
        "Cannot use mask_mod from a sliced BlockMask. Assign mask_mod to the part: part.mask_mod = a function of the part's own indices"
    )


def create_block_mask(
    mask_mod: Mod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:  # noqa: N803
    """The blocks in which a mask function is true somewhere, and those in which it is true
    everywhere.

    Args:
        mask_mod: `mask_mod(b, h, q_idx, kv_idx)`, true where a query sees a key.
        B, H: batches and heads that the mask tells apart; None where it is the same for all.
        BLOCK_SIZE: queries and keys in a block.
        separate_full_blocks: list the blocks that are true everywhere apart; `mask_mod` is not
            asked there.

    Raises:
        AssertionError: no function of four arguments. ValueError: a block size below 1.

    Source: Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention
    Kernels", 2024.

    >>> from pellucid.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 384, 384).to_dense()[0, 0]
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    if not callable(mask_mod) or positional(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = _sides(BLOCK_SIZE)
    if rows < 1 or columns < 1:
        raise ArgumentValueError(
            f"create_block_mask: BLOCK_SIZE must be positive, got {BLOCK_SIZE}"
        )
    b, h = B or 1, H or 1
    high, wide = -(-Q_LEN // rows), -(-KV_LEN // columns)
    counts = np.zeros((b, h, high, wide), np.int64)
    mapped = over_indices(mask_mod, False)
    starts = np.arange(wide) * columns
    step = max(1, _CELLS // max(1, b * h * KV_LEN * rows))  # blocks of queries at a time
    for first in range(0, high, step):
        q = (first * rows, min((first + step) * rows, Q_LEN))
        values = mapped(*ranges((0, b), (0, h), q, (0, KV_LEN)))._array
        edges = np.arange(0, q[1] - q[0], rows)
        # A byte for each row, added up by blocks: first across, then down.
        across = (
            np.add.reduceat(values.astype(np.int64), starts, axis=-1)
            if wide
            else values.astype(np.int64)
        )
        counts[:, :, first : first + step] = np.add.reduceat(across, edges, axis=-2)
    full = counts == rows * columns
    part, whole = (
        (_pair((counts > 0) & ~full), _pair(full))
        if separate_full_blocks
        else (_pair(counts > 0), _NONE)
    )
    return BlockMask.from_kv_blocks(*part, *whole, (rows, columns), mask_mod, (Q_LEN, KV_LEN))
