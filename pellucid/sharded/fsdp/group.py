"""Parameters that are gathered together: each rank keeps a part of every one, and all of them only
while a module computes.

Whole parameters live in one block of memory. When they are not needed, its pages go back to the
operating system; the addresses stay, so what the graph has saved (views of them, too) is there
again when they are gathered for backward.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import nn
from ...core.function import Function
from ...core.modes import local as modes
from ...core.tensor import Tensor, make_tensor, version_of
from ...distributed import collectives, exchanges
from ...distributed.mesh import DeviceMesh
from ...errors import GraphError, OperationError
from ..dtensor import DTensor, relaid
from ..placements import REPLICATE, DTensorSpec, Placement, Shard, _StridedShard, bounds, meta_of

_ALIGNED = 64


class Data(NamedTuple):
    """The dimensions of a mesh over which parameters are cut and replicated.

    Attributes:
        mesh: of one dimension, or of two: replicated along the first, cut along the second.
    """

    mesh: DeviceMesh

    @property
    def shard(self) -> int:
        """The mesh dimension along which parameters are cut."""
        return self.mesh.ndim - 1

    @property
    def parts(self) -> int:
        """How many parts a parameter has."""
        return self.mesh.size(self.shard)

    @property
    def ranks(self) -> int:
        """Over how many ranks gradients are averaged."""
        return self.mesh.size()

    @property
    def place(self) -> int:
        """Which part this rank has."""
        at = self.mesh.get_coordinate()
        if at is None:
            raise OperationError(
                f"fully_shard: rank {self.mesh.get_rank()} is not in the mesh {self.mesh}"
            )
        return at[self.shard]


class Cut:
    """One parameter.

    Args:
        places: the modules that have it, with the name it has there.
        param: the whole one; of tensor parallel modules a `DTensor`.
        dim: along which dimension it is cut.
    """

    def __init__(
        self, title: str, places: list[tuple[nn.Module, str]], param: Tensor, dim: int, data: Data
    ) -> None:
        self.title, self.places, self.data, self.dim = title, places, data, dim
        self.tensor_parallel = param._spec if isinstance(param, DTensor) else None
        inner = param._local_tensor if isinstance(param, DTensor) else param
        self.shape, self.dtype = tuple(inner.shape), param.dtype
        if not self.shape:
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {title} to a 1D tensor with numel equal to 1."
            )
        low, high = bounds(self.shape[dim], data.parts, data.place)
        if inner.device.type == "meta":
            sizes = list(self.shape)
            sizes[dim] = high - low
            local: Any = inner.detach().new_empty(sizes)
        else:
            array = inner._array[(slice(None),) * dim + (slice(low, high),)]
            local = make_tensor(np.array(array, order="C"))
        self.spec = self._spec(param)
        made = nn.Parameter(DTensor(local, self.spec), param.requires_grad)
        made.__dict__.update({k: v for k, v in param.__dict__.items() if not k.startswith("_")})
        self.sharded: Any = made
        self.array: Any = None  # the whole one's memory, in the group's block
        self.whole: Any = None  # the whole one, while the module has it
        self.pending: np.ndarray | None = None  # the whole gradient, until it is reduced
        self.rows = -(-self.shape[dim] // data.parts)
        self.row = tuple(s for d, s in enumerate(self.shape) if d != dim)
        # elements of a part, filled up
        self.count = self.rows * int(np.prod(self.row, dtype=np.int64))

    def _spec(self, param: Tensor) -> DTensorSpec:
        """The layout on the mesh of data, and of tensor parallelism where there is such."""
        data = self.data
        outer = [REPLICATE] * (data.mesh.ndim - 1)
        if self.tensor_parallel is None:
            return DTensorSpec(
                data.mesh, (*outer, Shard(self.dim)), meta_of(param.shape, param.dtype)
            )
        inner = self.tensor_parallel
        root = data.mesh._get_root_mesh()
        names = (*(data.mesh.mesh_dim_names or ()), *(inner.mesh.mesh_dim_names or ()))
        if (
            not names
            or root is not inner.mesh._get_root_mesh()
            or len(names) != data.mesh.ndim + inner.mesh.ndim
        ):
            raise OperationError(
                "fully_shard: the parameter is a DTensor; its mesh and the data-parallel mesh have to be slices of one mesh with names"
            )
        factor = 1
        for i, p in enumerate(inner.placements):
            if p.is_shard(self.dim):
                factor *= inner.mesh.size(i)
        own: Placement = (
            _StridedShard(self.dim, split_factor=factor) if factor > 1 else Shard(self.dim)
        )
        mesh = root if root.mesh_dim_names == names else root[names]
        return DTensorSpec(mesh, (*outer, own, *inner.placements), inner.tensor_meta)

    def current(self) -> Any:
        """The cut parameter that the module has now: programs may have put another in its place."""
        module, name = self.places[0]
        held = module._parameters[name]
        if held is not self.whole and held is not self.sharded and isinstance(held, DTensor):
            if held.device_mesh != self.spec.mesh or held.placements != self.spec.placements:
                raise OperationError(
                    f"fully_shard: {self.title} was replaced by a DTensor of layout {held.placements}"
                )
            self.sharded, self.spec = held, held._spec
        return self.sharded

    def put(self, param: Any) -> None:
        """Make a parameter that of the modules."""
        for module, name in self.places:
            module._parameters[name] = param

    def piece(self, whole: np.ndarray, k: int) -> np.ndarray:
        """Part k of the whole array, a view with the cut dimension first."""
        low, high = bounds(self.shape[self.dim], self.data.parts, k)
        return np.moveaxis(whole, self.dim, 0)[low:high]

    def own_part(self, x: np.ndarray) -> np.ndarray:
        """This rank's part of an array that has the cut dimension first, and is filled up, as the
        module has it.
        """
        low, high = bounds(self.shape[self.dim], self.data.parts, self.data.place)
        return np.ascontiguousarray(
            np.moveaxis(x.reshape(self.rows, *self.row)[: high - low], 0, self.dim)
        )


class ReleasedBlock:
    """Memory whose pages can be given back while its addresses stay."""

    def __init__(self, size: int) -> None:
        # Pages of shared memory would stay.
        private = (
            {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        )
        self.memory = mmap.mmap(-1, max(size, mmap.PAGESIZE), **private)
        self.bytes = np.frombuffer(self.memory, np.uint8)

    def forget(self) -> None:
        """Give the pages back; they read as zeros."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)


class Group:
    """The parameters that `fully_shard` was called for, which are gathered and whose gradients are
    reduced together.
    """

    def __init__(
        self, cuts: list[Cut], data: Data, policy: Any, reshard_after_forward: bool | int
    ) -> None:
        self.cuts, self.data, self.policy = cuts, data, policy
        self.reshard_after_forward, self.reshard_after_backward = reshard_after_forward, True
        self.sync, self.all_reduce, self.divide_by = True, True, None
        self.whole = False  # whether the modules have whole parameters now
        self.recorded = False  # whether those are joined to a graph
        self.versions: list[Any] = []  # which state of the cut parameters they were gathered from
        self.block: ReleasedBlock | None = None
        for cut in cuts:
            cut.put(cut.sharded)

    # ---- parameters ------------------------------------------------------------------------------
    def _dtype(self, cut: Cut) -> Any:
        wanted = self.policy.param_dtype
        return wanted if wanted is not None and cut.dtype.is_floating_point else cut.dtype

    def _begin(self) -> None:
        """Make the block, and the arrays in it."""
        at = 0
        places = []
        for cut in self.cuts:
            size = int(np.prod(cut.shape, dtype=np.int64)) * self._dtype(cut).itemsize
            places.append((at, size))
            at += -(-size // _ALIGNED) * _ALIGNED
        self.block = ReleasedBlock(at)
        for cut, (begin, size) in zip(self.cuts, places, strict=True):
            cut.array = (
                self.block.bytes[begin : begin + size]
                .view(self._dtype(cut).numpy)
                .reshape(cut.shape)
            )

    def tensor(self, cut: Cut) -> Any:
        """A whole parameter."""
        value: Any = make_tensor(cut.array)
        if cut.tensor_parallel is None:
            return value
        old = cut.tensor_parallel
        return DTensor(
            value,
            DTensorSpec(old.mesh, old.placements, old.tensor_meta._replace(dtype=self._dtype(cut))),
        )

    def unshard(self) -> None:
        """Gather the parameters, and give the modules the whole ones."""
        if not self.cuts:
            return
        sources = [cut.current() for cut in self.cuts]
        versions = [(id(source), version_of(source._local_tensor).count) for source in sources]
        if self.whole and versions == self.versions:
            if modes.grad and not self.recorded:
                self._join()
            return
        self.versions = versions
        for cut, source in zip(self.cuts, sources, strict=True):
            if source._local_tensor.device.type == "meta":
                raise OperationError(
                    "FSDP parameters should be materialized from meta device before training, but the following were still on meta device: "
                    f"{[cut.title]}\nFor example, call module.to_empty(device) to materialize to device and call module.reset_parameters() "
                    "on each module to initialize values."
                )
        if self.block is None:
            self._begin()
        n = self.data.parts
        sizes = [cut.count * self._dtype(cut).itemsize for cut in self.cuts]
        begins = np.cumsum([0, *[-(-s // _ALIGNED) * _ALIGNED for s in sizes]]).tolist()
        sent = np.zeros(begins[-1], np.uint8)
        for cut, source, begin, size in zip(self.cuts, sources, begins, sizes, strict=False):
            local = np.moveaxis(source._local_tensor._array, cut.dim, 0)
            target = sent[begin : begin + size].view(self._dtype(cut).numpy)
            target[: local.size] = local.reshape(-1)
        received = np.empty((n, begins[-1]), np.uint8)
        if n == 1:
            received[0] = sent
        elif begins[-1]:
            collectives.all_gather_into_tensor(
                make_tensor(received.reshape(-1)),
                make_tensor(sent),
                self.data.mesh.get_group(self.data.shard),
            )
        for cut, begin, size in zip(self.cuts, begins, sizes, strict=False):
            for k in range(n):
                piece = cut.piece(cut.array, k)
                part = received[k, begin : begin + size].view(self._dtype(cut).numpy)
                piece[...] = part[: piece.size].reshape(piece.shape)
        self.whole = True
        self._join()

    def _join(self) -> None:
        """Give the modules whole parameters: results of a node, which backward reaches when it has
        passed all that was computed with them.
        """
        self.recorded = modes.grad
        trained = [cut for cut in self.cuts if cut.sharded.requires_grad and self.recorded]
        made = iter(
            _Gathered.apply(self, trained, *[cut.sharded for cut in trained]) if trained else ()
        )
        for cut in self.cuts:
            cut.whole = next(made) if cut in trained else self.tensor(cut)
            cut.whole._is_param = True
            cut.put(cut.whole)

    def reshard(self) -> None:
        """Give the modules the cut parameters, and the memory back."""
        if not self.whole:
            return
        for cut in self.cuts:
            cut.put(cut.sharded)
            cut.whole = None
        assert self.block is not None
        self.block.forget()
        self.whole = False

    # ---- gradients -------------------------------------------------------------------------------
    def arrived(self, cuts: Sequence[Cut], grads: Sequence[Any]) -> None:
        """Take the whole gradients of parameters; average them, and give the memory back."""
        if not self.whole:
            raise GraphError(
                f"fully_shard: the gradient of {cuts[0].title} was computed after its parameters were given back. The loss depends on a "
                "tensor that the module's forward does not return (an attribute, say): return it, or use reshard_after_forward=False"
            )
        for cut, grad in zip(cuts, grads, strict=True):
            if grad is None:
                continue
            if isinstance(grad, DTensor):
                assert cut.tensor_parallel is not None
                grad = relaid(grad, cut.tensor_parallel.placements)._local_tensor
            reduced = self.policy.reduce_dtype
            array = grad._array
            if reduced is not None and array.dtype != reduced.numpy:
                array = array.astype(reduced.numpy)
            cut.pending = (
                array.copy()
                if cut.pending is None and not self.sync
                else array
                if cut.pending is None
                else cut.pending + array
            )
        self.recorded = False
        if self.sync:
            self.reduce()
        if self.reshard_after_backward:
            self.reshard()

    def reduce(self) -> None:
        """Average the gradients that are there, and give each rank its part of them."""
        by_dtype: dict[Any, list[Cut]] = {}
        for cut in self.cuts:
            if cut.pending is not None:
                by_dtype.setdefault(cut.pending.dtype, []).append(cut)
        for dtype, cuts in by_dtype.items():
            self._reduce(dtype, cuts)

    def _reduce(self, dtype: Any, cuts: Sequence[Cut]) -> None:
        data, n = self.data, self.data.parts
        begins = np.cumsum([0, *[cut.count for cut in cuts]]).tolist()
        sent = np.zeros((n, begins[-1]), dtype)
        for cut, begin in zip(cuts, begins, strict=False):
            assert cut.pending is not None
            for k in range(n):
                piece = cut.piece(cut.pending, k)
                sent[k, begin : begin + piece.size] = piece.reshape(-1)
        own = np.empty(begins[-1], dtype)
        if n == 1:
            own[...] = sent[0]
        elif own.size:
            exchanges.reduce_scatter_tensor(
                make_tensor(own),
                make_tensor(sent.reshape(-1)),
                group=data.mesh.get_group(data.shard),
            )
        if data.mesh.ndim > 1 and data.mesh.size(0) > 1 and self.all_reduce and own.size:
            collectives.all_reduce(make_tensor(own), group=data.mesh.get_group(0))
        factor = self.divide_by or data.ranks
        for cut, begin in zip(cuts, begins, strict=False):
            part = cut.own_part(own[begin : begin + cut.count])
            if factor != 1:
                part = (
                    part / np.asarray(factor, np.float32 if part.dtype.itemsize < 4 else part.dtype)
                ).astype(part.dtype)
            cut.pending = None
            value = DTensor(make_tensor(part.astype(cut.dtype.numpy, copy=False)), cut.spec)
            if cut.sharded.grad is None:
                cut.sharded.grad = value
            else:
                cut.sharded.grad._local_tensor.add_(value._local_tensor)
            for hook in tuple((cut.sharded._x or {}).get("post_accumulate", {}).values()):
                hook(cut.sharded)


class _Gathered(Function):
    """From the cut parameters to the whole ones."""

    @staticmethod
    def forward(ctx: Any, group: Group, cuts: list[Cut], *sharded: Any) -> Any:
        ctx.group, ctx.cuts = group, cuts
        ctx.set_materialize_grads(False)
        return tuple([group.tensor(cut) for cut in cuts])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.group.arrived(ctx.cuts, grads)
        return None, None, *[None] * len(grads)
