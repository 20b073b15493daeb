"""How a tensor lies on one dimension of a mesh: cut (`Shard`), in full (`Replicate`), or as terms
of a sum (`Partial`).

Source: PyTorch's `torch.distributed.tensor.placement_types`, whose names these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..devices import Size
from ..distributed.mesh import DeviceMesh
from ..errors import ArgumentValueError


class Placement:
    """Base class of `Shard`, `Replicate` and `Partial`: how a tensor is laid out along one dimension of a mesh.

    >>> import pellucid as torch
    >>> from pellucid.distributed.tensor import Partial, Replicate, Shard
    >>> [placement.is_shard() for placement in (Shard(0), Replicate(), Partial())]
    [True, False, False]
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along `dim` where that is given."""
        return (
            isinstance(self, Shard)
            and not isinstance(self, _StridedShard)
            and (dim is None or self.dim == dim)
        )

    def is_replicate(self) -> bool:
        """Whether every rank has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks hold terms that are still to be combined."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)

    def _key(self) -> tuple[Any, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return self is other or type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))


class Shard(Placement):
    """Cut along a dimension: n ranks get ceil(size / n) elements each, the last ones fewer or none,
    as by `torch.chunk`.

    >>> Shard(0), Shard(0) == Shard(0)
    (Shard(dim=0), True)
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def _key(self) -> tuple[Any, ...]:
        return (self.dim,)

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How many elements a rank has, and which is its first.

        >>> [Shard.local_shard_size_and_offset(5, 4, rank) for rank in range(4)]
        [(2, 0), (2, 2), (1, 4), (0, 5)]
        """
        low, high = bounds(curr_local_size, num_chunks, rank)
        return high - low, low

    _local_shard_size_and_offset = local_shard_size_and_offset

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(Shard):
    """Cut within what the mesh dimensions to the right have cut before: a shard of a
    tensor-parallel parameter's shard.
    """

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor

    def _key(self) -> tuple[Any, ...]:
        return self.dim, self.split_factor

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Every rank has all of it.

    >>> Replicate()
    Replicate()
    """

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """The ranks hold terms: of a sum ("sum"), a mean ("avg"), a product ("product"), a maximum
    ("max") or a minimum ("min").

    >>> Partial(), Partial("max").is_partial("max")
    (Partial(sum), True)
    """

    ALL_REDUCE_OPS = ("sum", "avg", "product", "max", "min", "band", "bor", "bxor")

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op

    def _key(self) -> tuple[Any, ...]:
        return (self.reduce_op,)

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


class NormPartial(Partial):
    """The ranks hold norms of parts: the whole norm is the p-th root of the sum of their p-th
    powers.
    """

    def __init__(self, norm_type: float) -> None:
        super().__init__("sum")
        self.norm_type = norm_type

    def _key(self) -> tuple[Any, ...]:
        return (self.norm_type,)

    def __repr__(self) -> str:
        return f"_NormPartial(reduce_op={self.reduce_op}, norm_type={self.norm_type})"


REPLICATE = Replicate()
SUM = Partial("sum")


# ---- which part is where -----------------------------------------------------------------------
def bounds(size: int, parts: int, k: int) -> tuple[int, int]:
    """First element, and first after the last, of part k."""
    step = -(-size // parts)
    low = min(size, k * step)
    return low, min(size, low + step)


def orders(placements: Sequence[Placement]) -> dict[int, list[int]]:
    """tensor dimension: the mesh dimensions that cut it, in the order in which they do."""
    found: dict[int, list[int]] = {}
    for later in (False, True):
        for i, p in enumerate(placements):
            if isinstance(p, Shard) and isinstance(p, _StridedShard) is later:
                found.setdefault(p.dim, []).append(i)
    return found


def region(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], where: Any = None
) -> tuple[list[int], list[int]]:
    """Size and offset, in each dimension, of the part of a tensor that a rank has (default: this
    one).
    """
    sizes, offsets = list(shape), [0] * len(shape)
    at = mesh.get_coordinate() if where is None else where
    if at is None:
        return [0] * len(sizes), offsets
    for dim, order in orders(placements).items():
        for i in order:
            low, high = bounds(sizes[dim], mesh.size(i), at[i])
            sizes[dim], offsets[dim] = high - low, offsets[dim] + low
    return sizes, offsets


def local_shape(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The shape of this rank's part."""
    return tuple(region(shape, mesh, placements)[0])


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int],
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    skip_offset: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of this rank's part of a tensor, and the index at which it begins.

    Args:
        global_shape: the shape of the whole tensor.
        mesh: the mesh.
        placements: one for each dimension of the mesh.
        skip_offset: return no offsets.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.tensor import Shard, compute_local_shape_and_global_offset
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> compute_local_shape_and_global_offset((4, 2), mesh, [Shard(0)])  # rank 1 of 2: ((2, 2), (2, 0))
    ((4, 2), (0, 0))
    >>> dist.destroy_process_group()
    """
    sizes, offsets = region(global_shape, mesh, placements)
    return tuple(sizes), () if skip_offset else tuple(offsets)


def normalized(
    placements: Sequence[Placement] | None, ndim: int, mesh: DeviceMesh
) -> tuple[Placement, ...]:
    """Placements with dimensions counted from the front; all `Replicate` where none are given.

    Raises:
        ValueError: several kinds of Partial.
    """
    if placements is None:
        return (REPLICATE,) * mesh.ndim
    made: list[Placement] = []
    for p in placements:
        if isinstance(p, Shard) and p.dim < 0:
            p = (
                _StridedShard(p.dim + ndim, split_factor=p.split_factor)
                if isinstance(p, _StridedShard)
                else Shard(p.dim + ndim)
            )
        made.append(p)
    kinds = {p.reduce_op for p in made if isinstance(p, Partial)}
    if len(kinds) > 1 and kinds != {"sum", "avg"}:
        raise ArgumentValueError(
            f"Mixing different Partial reduce types is not supported. Got placements {tuple(made)} with Partial types {kinds}"
        )
    return tuple(made)


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of a whole distributed tensor.

    >>> import pellucid as torch
    >>> from pellucid.distributed.tensor import TensorMeta
    >>> TensorMeta(torch.Size([2, 3]), (3, 1), torch.float32).stride
    (3, 1)
    """

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


class DTensorSpec:
    """How a tensor is distributed: the mesh, a placement for each of its dimensions, and the shape, strides and dtype of the whole
    tensor.

    >>> import pellucid.distributed as dist
    >>> import pellucid as torch
    >>> from pellucid.distributed.tensor import Replicate, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(torch.ones(2, 3), mesh, [Replicate()])._spec.shape
    torch.Size([2, 3])
    >>> dist.destroy_process_group()
    """

    __slots__ = ("_hash", "mesh", "placements", "tensor_meta")

    def __init__(
        self, mesh: DeviceMesh, placements: Sequence[Placement], tensor_meta: TensorMeta
    ) -> None:
        self.mesh, self.placements, self.tensor_meta = mesh, tuple(placements), tensor_meta
        self._hash: int | None = None

    @property
    def shape(self) -> Any:
        """The whole tensor's shape."""
        return self.tensor_meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The whole tensor's strides."""
        return self.tensor_meta.stride

    @property
    def ndim(self) -> int:
        """Of the tensor."""
        return len(self.tensor_meta.shape)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DTensorSpec)
            and self.placements == other.placements
            and self.tensor_meta == other.tensor_meta
            and self.mesh == other.mesh
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.mesh, self.placements, self.tensor_meta))
        return self._hash

    def __repr__(self) -> str:
        return f"Spec({', '.join(map(str, self.placements))} on {tuple(self.shape)})"


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a tensor that lies row by row."""
    strides, step = [], 1
    for n in reversed(tuple(shape)):
        strides.append(step)
        step *= max(int(n), 1)
    return tuple(reversed(strides))


def meta_of(shape: Sequence[int], dtype: Any, stride: Sequence[int] | None = None) -> TensorMeta:
    """Shape, strides (row by row unless given) and dtype."""
    return TensorMeta(
        Size(shape), tuple(stride) if stride is not None else contiguous_strides(shape), dtype
    )
