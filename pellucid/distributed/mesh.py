"""`torch.distributed.device_mesh`: the ranks as a grid, with one process group for each row
along each dimension.

Source: PyTorch's `torch.distributed.device_mesh`, whose names and messages these are.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, ArgumentValueError, ContractError, OperationError, warn
from . import groups
from .groups import ProcessGroup


class _Entered(threading.local):
    def __init__(self) -> None:
        self.meshes: list[DeviceMesh] = []


_entered = _Entered()


def current_mesh() -> DeviceMesh:
    """The mesh of the surrounding `with mesh:` block.

    Raises:
        RuntimeError: there is no such block.

    >>> import pellucid.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> with mesh:
    ...     print(dist.device_mesh._mesh_resources.get_current_mesh() is mesh)
    True
    >>> dist.destroy_process_group()
    """
    if not _entered.meshes:
        raise OperationError("No device mesh is currently active!")
    return _entered.meshes[-1]


class _Resources:
    """`_mesh_resources`, of which libraries ask for the current mesh."""

    get_current_mesh = staticmethod(current_mesh)

    @staticmethod
    def get_root_mesh(device_mesh: DeviceMesh) -> DeviceMesh:
        """The mesh that a mesh is a slice of."""
        return device_mesh._get_root_mesh()


resources = _Resources()


class DeviceMesh:
    """A grid of ranks. Collectives run along one of its dimensions.

    All ranks create it in the same order, even those that are not in it.

    Args:
        device_type: "cpu".
        mesh: the ranks, nested lists or a tensor.
        mesh_dim_names: a name for each dimension, for slicing: `mesh["tp"]`.

    Attributes:
        mesh: the ranks, an int32 tensor.
        ndim, shape: those of the grid.

    Raises:
        RuntimeError: more ranks than the world has.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))
    >>> mesh.shape, mesh.get_local_rank("tp")
    ((1, 1), 0)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _rank: int | None = None,
    ) -> None:
        if isinstance(mesh, Tensor):
            ranks = np.array(mesh.detach()._array, np.int32)
        else:
            ranks = np.array(mesh, np.int32)
        self._ranks = ranks
        self._type = device_type
        self._names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self._names is not None and len(self._names) != ranks.ndim:
            raise OperationError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(self._names)} and len(mesh_shape):{ranks.ndim}."
            )
        self._root: DeviceMesh | None = None
        self._flattened: dict[str, DeviceMesh] = {}
        self._groups: list[ProcessGroup | None] = []
        if not groups.is_initialized():
            groups.init_process_group()
        self._rank = groups.get_rank() if _rank is None else _rank
        self._where = _place(ranks, self._rank)
        if _init_backend:
            if ranks.size > groups.get_world_size():
                raise OperationError(
                    f"Mesh should not be bigger than default world size {groups.get_world_size()}, but found {ranks.size} ranks!"
                )
            self._groups = [self._group_of(ranks, dim) for dim in range(ranks.ndim)]

    def _group_of(self, ranks: np.ndarray, dim: int) -> ProcessGroup | None:
        """This rank's group along a dimension; all ranks make all the groups of it."""
        whole = groups.default_group()
        lines = np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist()
        if lines == [list(whole.ranks)]:
            return whole
        mine = None
        name = f"mesh_{self._names[dim] if self._names else f'dim_{dim}'}"
        for line in lines:
            made = groups.new_group(line, group_desc=name, sort_ranks=False)
            if self._rank in line:
                mine = made
        return mine

    @classmethod
    def _with(
        cls,
        device_type: str,
        ranks: np.ndarray,
        names: Any,
        made: list[ProcessGroup | None],
        root: DeviceMesh | None,
    ) -> DeviceMesh:
        """A mesh whose groups are there."""
        self: DeviceMesh = cls.__new__(cls)
        self._ranks, self._type, self._names, self._groups = ranks, device_type, names, made
        self._root, self._flattened, self._rank = root, {}, groups.get_rank()
        self._where = _place(ranks, self._rank)
        return self

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Any = None
    ) -> DeviceMesh:
        """The mesh of a group, or of a group for each dimension (then with `mesh`, the ranks).

        Raises:
            ValueError: `mesh` does not fit the groups.
        """
        names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if isinstance(group, ProcessGroup):
            line = groups.get_process_group_ranks(group)
            given = (
                None
                if mesh is None
                else np.array(mesh._array if isinstance(mesh, Tensor) else mesh, np.int32)
            )
            if given is not None and given.tolist() != line:
                raise ArgumentValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {line}")
            return DeviceMesh._with(device_type, np.array(line, np.int32), names, [group], None)
        made = list(group)
        if not made:
            raise ArgumentValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ArgumentValueError("Must pass mesh if passing multiple ProcessGroups")
        if mesh_dim_names is None:
            raise ArgumentValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        ranks = np.array(mesh._array if isinstance(mesh, Tensor) else mesh, np.int32)
        if ranks.ndim != len(made):
            raise ArgumentValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got "
                f"mesh {ranks.tolist()} and {len(made)} ProcessGroups"
            )
        return DeviceMesh._with(device_type, ranks, names, made, None)

    # ---- what it is ----
    @property
    def device_type(self) -> str:
        """The type of device; "cpu"."""
        return self._type

    @property
    def mesh(self) -> Tensor:
        """The ranks in their grid."""
        return make_tensor(self._ranks.copy())

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dimensions."""
        return self._names

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks along each dimension."""
        return tuple(self._ranks.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks, in all or along a dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def get_rank(self) -> int:
        """This process's rank in the world."""
        return groups.get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this process stands in the grid; None when it is not there."""
        return self._where

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._where is not None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's place along a dimension."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        return groups.get_rank(self.get_group(0 if mesh_dim is None else mesh_dim))

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The process group of this rank's line along a dimension, which may be left out where
        there is one.

        Raises:
            RuntimeError: there are several dimensions. KeyError: no such name.
        """
        if not self._groups:
            raise OperationError("DeviceMesh process groups not initialized!")
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead.",
            )
        if isinstance(mesh_dim, str) and mesh_dim in self._get_root_mesh()._flattened:
            return self._get_root_mesh()._flattened[mesh_dim].get_group()
        found = self._groups[self._dim(0 if mesh_dim is None else mesh_dim)]
        assert found is not None
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def _dim(self, mesh_dim: int | str) -> int:
        if isinstance(mesh_dim, str):
            if self._names is None:
                raise KeyError("No `mesh_dim_names` found.")
            if mesh_dim not in self._names:
                raise KeyError(
                    f"Mesh dimension '{mesh_dim}' does not exist.",
                    f"Available mesh dimensions are: mesh_dim_names={self._names}",
                )
            return self._names.index(mesh_dim)
        if not isinstance(mesh_dim, int):
            raise ContractError(f"mesh_dim must be an int, got {type(mesh_dim)}")
        return mesh_dim

    # ---- parts ----
    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh along the named dimensions in which this rank is.

        Raises:
            RuntimeError: the mesh has no names. KeyError: no such name, or names not in the mesh's
                order.
        """
        if not self._names:
            raise OperationError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if wanted == self._names:
            return self
        root = self._get_root_mesh()
        flattened = root._flattened if self is root else {}
        valid = [*self._names, *flattened]
        if not all(name in valid for name in wanted):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are {valid}."
            )
        if len(wanted) == 1 and wanted[0] in flattened:
            return flattened[wanted[0]]
        if any(name in flattened for name in wanted):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. A flattened dimension is sliced alone."
            )
        dims = [self._names.index(name) for name in wanted]
        if dims != sorted(set(dims)):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Mesh dim indices should be in ascending order."
            )
        return self._part(dims)

    def _part(self, dims: list[int]) -> DeviceMesh:
        at: tuple[Any, ...] = self._where if self._where is not None else (0,) * self.ndim
        ranks = self._ranks[tuple([slice(None) if k in dims else at[k] for k in range(self.ndim)])]
        names = None if self._names is None else tuple([self._names[k] for k in dims])
        return DeviceMesh._with(
            self._type, ranks, names, [self._groups[k] for k in dims], self._get_root_mesh()
        )

    def _flatten(
        self, mesh_dim_name: str | None = None, backend_override: Any = None
    ) -> DeviceMesh:
        """The same ranks in one dimension, with a group of its own. All ranks of the root mesh call
        it.
        """
        if not self._names:
            raise OperationError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self._names)
        if self.ndim == 1 and name in self._names:
            return self
        root = self._get_root_mesh()
        if name in (root._names or ()):
            raise ArgumentValueError(f"{name} already exists for submesh of the {root}. ")
        if name in root._flattened:
            return root._flattened[name]
        assert root._names is not None
        dims = [root._names.index(n) for n in self._names]
        rest = [k for k in range(root.ndim) if k not in dims]
        lines = root._ranks.transpose([*rest, *dims]).reshape(-1, self._ranks.size)
        mine, own = None, None
        for line in lines.tolist():
            whole = groups.default_group()
            made = (
                whole
                if line == list(whole.ranks)
                else groups.new_group(line, group_desc=f"mesh_{name}", sort_ranks=False)
            )
            if self._rank in line:
                mine, own = made, line
        ranks = np.array(own if own is not None else lines[0], np.int32)
        root._flattened[name] = DeviceMesh._with(self._type, ranks, (name,), [mine], root)
        return root._flattened[name]

    def _get_all_submeshes(self, mesh_dim_name: str) -> list[DeviceMesh]:
        dim = self._dim(mesh_dim_name)
        lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
        return [
            DeviceMesh._with(
                self._type, line, (mesh_dim_name,), [self._groups[dim]], self._get_root_mesh()
            )
            for line in lines
        ]

    # ---- Python ----
    def _key(self) -> tuple[Any, ...]:
        return self._ranks.tobytes(), self._ranks.shape, self._type, self._names

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __enter__(self) -> DeviceMesh:
        _entered.meshes.append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _entered.meshes.pop()

    def __repr__(self) -> str:
        shown = (
            f"({', '.join(f'{k}={v}' for k, v in zip(self._names, self.shape, strict=True))})"
            if self._names
            else f"{self.shape}"
        )
        steps = tuple([_step(self._ranks, k) for k in range(self.ndim)])
        text = f"DeviceMesh({shown}, '{self._type}', stride={steps}"
        if os.environ.get("TORCH_DISTRIBUTED_DEBUG", "") == "DETAIL":
            text += f", Mesh: {self._ranks.tolist()}"
        return text + ")"

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # its groups belong to the process

    def __reduce__(self) -> Any:
        return _again, (self._type, self._ranks.tolist(), self._names)


def _again(device_type: str, ranks: Any, names: Any) -> DeviceMesh:
    """A mesh from a file: without groups."""
    return DeviceMesh(device_type, ranks, mesh_dim_names=names, _init_backend=False)


def _place(ranks: np.ndarray, rank: int) -> tuple[int, ...] | None:
    found = np.argwhere(ranks == rank)
    if len(found) > 1:
        raise ContractError(f"rank {rank} stands {len(found)} times in the mesh {ranks.tolist()}")
    return tuple([int(k) for k in found[0]]) if len(found) else None


def _step(ranks: np.ndarray, dim: int) -> int:
    """How far neighbors along a dimension are apart."""
    if ranks.shape[dim] < 2:
        return math.prod(ranks.shape[dim + 1 :])
    first, second = (np.take(ranks, k, axis=dim).flat[0] for k in (0, 1))
    return int(second - first)


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """The mesh of the first ranks, row by row, in a grid of a shape. All ranks of the world call
    it.

    Args:
        mesh_shape: how many ranks along each dimension.
        mesh_dim_names: a name for each dimension.

    Raises:
        RuntimeError: names repeat or do not fit the shape, the device has an index, or there are
            too few ranks.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    >>> mesh["tp"].size()
    1
    >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise OperationError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise OperationError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not isinstance(device_type, str):
        raise ArgumentTypeError(
            f"init_device_mesh(): device_type must be str, not {type(device_type).__name__}"
        )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    if backend_override is not None:
        warn(
            "init_device_mesh: backend_override is ignored: there is one way to communicate",
        )
    ranks = np.arange(math.prod(mesh_shape), dtype=np.int32).reshape(tuple(mesh_shape))
    return DeviceMesh(
        device_type,
        ranks.tolist(),
        mesh_dim_names=None if mesh_dim_names is None else tuple(mesh_dim_names),
    )
