"""`save`, `load` and `async_save`: state dictionaries whose tensors may be distributed, for any
number of ranks that read them.

Each rank says which pieces it has. A piece that several have is written by the one with the least
to write. Who reads takes from each stored piece what falls into its own, so the layouts of writer
and reader need not agree.

Source: PyTorch's `torch.distributed.checkpoint`, whose functions these are.
"""

from __future__ import annotations

import copy
import itertools
import threading
import traceback
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...devices import Size
from ...distributed import groups, objects
from ...errors import ArgumentValueError, OperationError, UnsupportedError, warn
from ..dtensor import DTensor
from ..placements import region
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .storage import FileSystemReader, FileSystemWriter, Item, placed


class CheckpointException(BaseException):
    """Some ranks failed to save or to load. All ranks raise it.

    Attributes:
        failures: the errors by rank.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"step": 3}, checkpoint_id=folder, no_dist=True)
    ...     try:
    ...         dcp.load({"epoch": 0}, checkpoint_id=folder, no_dist=True)
    ...     except dcp.CheckpointException as error:
    ...         print(error.failures.keys())
    dict_keys([0])
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """(error, its traceback) by rank."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, trace) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n{trace}{type(error).__name__}: {error}\n"
        return text


class _Planner:
    """Sees the state before it is divided into pieces."""

    state_dict: dict[str, Any]

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Any = None, is_coordinator: bool = False
    ) -> None:
        """Called first. What it leaves in `self.state_dict` is saved, or loaded."""
        self.state_dict, self.metadata = state_dict, metadata
        self.is_coordinator = is_coordinator


class SavePlanner(_Planner):
    """How a state is divided into pieces. A subclass of `DefaultSavePlanner` may define
    `set_up_planner`, which chooses and renames what is saved.

    >>> from pellucid.distributed import checkpoint as dcp
    >>> issubclass(dcp.DefaultSavePlanner, dcp.SavePlanner)
    True
    """


class LoadPlanner(_Planner):
    """How pieces are read into a state. A subclass of `DefaultLoadPlanner` may define
    `set_up_planner`, which chooses and renames what is loaded.

    >>> from pellucid.distributed import checkpoint as dcp
    >>> issubclass(dcp.DefaultLoadPlanner, dcp.LoadPlanner)
    True
    """


class DefaultSavePlanner(SavePlanner):
    """How `save` writes a state; its options are accepted, without effect.

    >>> import tempfile
    >>> import pellucid as torch
    >>> from pellucid.distributed import checkpoint as dcp
    >>> class Half(dcp.DefaultSavePlanner):
    ...     def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
    ...         super().set_up_planner({k: v.half() for k, v in state_dict.items()}, storage_meta, is_coordinator)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2)}, checkpoint_id=folder, planner=Half(), no_dist=True)
    ...     dcp.FileSystemReader(folder).read_metadata().state_dict_metadata["w"].properties.dtype
    torch.float16
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        if not flatten_state_dict:
            raise UnsupportedError(
                "torch.distributed.checkpoint: DefaultSavePlanner(flatten_state_dict=False) is not supported"
            )


class DefaultLoadPlanner(LoadPlanner):
    """How `load` reads a state.

    Args:
        flatten_state_dict, flatten_sharded_tensors: accepted.
        allow_partial_load: leave values alone that the checkpoint does not have. Default: False, an error.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> state = {"step": 0, "new": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"step": 3}, checkpoint_id=folder, no_dist=True)
    ...     planner = dcp.DefaultLoadPlanner(allow_partial_load=True)
    ...     dcp.load(state, checkpoint_id=folder, planner=planner, no_dist=True)
    >>> state
    {'step': 3, 'new': 1}
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load


def _chosen(
    planner: Any, state: dict[str, Any], metadata: Any, is_coordinator: bool
) -> dict[str, Any]:
    """The state that a planner wants.

    Raises:
        NotImplementedError: it is no subclass of the default one, or defines more than
            `set_up_planner`.
    """
    if planner is None:
        return state
    kinds = type(planner).__mro__
    default = next((k for k in (DefaultSavePlanner, DefaultLoadPlanner) if k in kinds), None)
    if default is None:
        raise UnsupportedError(
            f"torch.distributed.checkpoint: {type(planner).__name__}, no subclass of DefaultSavePlanner or DefaultLoadPlanner, is not supported"
        )
    own = {name for kind in kinds[: kinds.index(default)] for name in vars(kind)}
    steps = ("create", "finish", "resolve", "lookup", "transform", "load", "commit")
    refused = sorted(name for name in own if name.startswith(steps))
    if refused:
        raise UnsupportedError(
            f"torch.distributed.checkpoint: a planner's {', '.join(refused)} is not supported; set_up_planner is"
        )
    planner.set_up_planner(state, metadata, is_coordinator)
    found: dict[str, Any] = planner.state_dict
    return found


# ---- states as flat dictionaries -----------------------------------------------------------------
def flattened(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """(values by dotted names, the path of each). Lists are taken apart where they hold tensors or
    dictionaries.

    >>> flattened({"model": {"w": 1}, "betas": [0.9, 0.99]})[0]
    {'model.w': 1, 'betas': [0.9, 0.99]}
    """
    found: dict[str, Any] = {}
    paths: dict[str, tuple[Any, ...]] = {}

    def whole(value: Any) -> bool:
        if isinstance(value, Mapping):
            return False
        return not isinstance(value, list) or not any(
            isinstance(v, Tensor) or isinstance(v, (Mapping, list)) and not whole(v) for v in value
        )

    def visit(path: tuple[Any, ...], value: Any) -> None:
        if isinstance(value, Mapping):
            for k, v in value.items():
                visit((*path, str(k)), v)
        elif whole(value):
            name = ".".join(map(str, path))
            if name in found:
                raise ArgumentValueError(f"duplicated flatten key {name}")
            found[name], paths[name] = value, path
        else:
            for i, v in enumerate(value):
                visit((*path, i), v)

    for k, v in state.items():
        visit((str(k),), v)
    return found, paths


def put(root: Any, path: tuple[Any, ...], value: Any) -> None:
    """Set the value at a path; dictionaries and lists on the way are made."""
    for step, after in itertools.pairwise(path):
        default: Any = [] if isinstance(after, int) else {}
        if isinstance(step, int):
            while len(root) <= step:
                root.append(None)
            if root[step] is None:
                root[step] = default
        elif step not in root:
            matching = next((k for k in root if str(k) == step), None)
            if matching is None:
                root[step] = default
            else:
                step = matching
        root = root[step]
    last = path[-1]
    if isinstance(last, int):
        while len(root) <= last:
            root.append(None)
    elif last not in root:
        last = next((k for k in root if str(k) == last), last)
    root[last] = value


def _states(state: dict[str, Any]) -> dict[str, Any]:
    """Objects with `state_dict()` by what that returns."""
    return {k: v.state_dict() if _stateful(v) else v for k, v in state.items()}


def _stateful(value: Any) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def piece_of(t: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], Any] | None:
    """(offsets, sizes, tensor) of what this rank has of a tensor; None where it has nothing."""
    if not isinstance(t, DTensor):
        return (0,) * t.ndim, tuple(t.shape), t.detach()
    spec = t._spec
    if any(p.is_partial() for p in spec.placements):
        raise ArgumentValueError(
            "Any checkpointing related operations are not supported for DTensor with partial placements!"
        )
    if spec.mesh.get_coordinate() is None:
        return None
    sizes, offsets = region(spec.shape, spec.mesh, spec.placements)
    if 0 in sizes and 0 not in spec.shape:
        return None
    return tuple(offsets), tuple(sizes), t._local_tensor.detach()


class _Ranks:
    """Those that work together: all of a group, or this one alone."""

    def __init__(self, group: Any, alone: bool) -> None:
        self.alone = alone or not groups.is_initialized()
        self.group = None if self.alone else group
        if not alone and self.alone:
            warn(
                "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to save in a single process.",
            )
        self.rank = 0 if self.alone else groups.get_rank(self.group)

    def all(self, what: str, function: Any) -> list[Any]:
        """The results of all ranks.

        Raises:
            torch.distributed.checkpoint.CheckpointException: some of them failed.
        """
        try:
            mine = True, function()
        except Exception as error:
            if self.alone:
                raise CheckpointException(what, {0: (error, traceback.format_exc())}) from error
            mine = False, (_sendable(error), traceback.format_exc())
        if self.alone:
            return [mine[1]]
        results: list[Any] = [None] * groups.get_world_size(self.group)
        objects.all_gather_object(results, mine, self.group)
        failures = {rank: value for rank, (well, value) in enumerate(results) if not well}
        if failures:
            raise CheckpointException(what, failures)
        return [value for _, value in results]


def _sendable(error: Exception) -> Exception:
    """An error that can be pickled."""
    return (
        RuntimeError(f"{type(error).__name__}: {error}")
        if type(error).__module__ != "builtins"
        else type(error)(str(error))
    )


# ---- saving --------------------------------------------------------------------------------------
def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state into a folder, each rank its part; all ranks call it.

    Args:
        state_dict: dictionaries and lists of tensors, `DTensor`s, objects with `state_dict()`, and
            other values.
        checkpoint_id: the folder.
        storage_writer: a `FileSystemWriter` instead.
        planner: a `DefaultSavePlanner`, whose `set_up_planner` may choose what is saved.
        process_group: the ranks; default: all.
        no_dist: write alone.

    Raises:
        torch.distributed.checkpoint.CheckpointException: a rank failed; all of them raise it.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> import tempfile
    >>> import pellucid.distributed.checkpoint as dcp
    >>> folder = tempfile.TemporaryDirectory()
    >>> found = dcp.save({"step": 3}, checkpoint_id=folder.name)
    >>> state = {"step": 0}
    >>> dcp.load(state, checkpoint_id=folder.name)
    >>> state
    {'step': 3}
    >>> folder.cleanup()
    >>> dist.destroy_process_group()
    """
    writer = storage_writer or FileSystemWriter(_folder(checkpoint_id))
    if not isinstance(writer, FileSystemWriter):
        raise UnsupportedError(
            f"torch.distributed.checkpoint: {type(writer).__name__} is not supported; use FileSystemWriter"
        )
    ranks = _Ranks(process_group, no_dist)
    values, paths = flattened(_chosen(planner, _states(state_dict), None, ranks.rank == 0))
    pieces: dict[MetadataIndex, Any] = {}

    def local() -> Any:
        if ranks.rank == 0:
            writer.begin()
        described: list[Any] = []
        for name, value in values.items():
            if not isinstance(value, Tensor):
                index = MetadataIndex(name)
                pieces[index] = value
                described.append((index, None, None, 0))
                continue
            found = piece_of(value)
            if found is not None:
                offsets, sizes, part = found
                index = MetadataIndex(name, offsets)
                pieces[index] = part
                described.append(
                    (index, (str(part.dtype), tuple(value.shape)), sizes, part._array.nbytes)
                )
        return described, paths if ranks.rank == 0 else None

    plans = ranks.all("plan", local)
    metadata, mine = _planned([described for described, _ in plans], plans[0][1], ranks.rank)
    found = ranks.all(
        "write",
        lambda: writer.write(ranks.rank, [Item(index, _whole(pieces[index])) for index in mine]),
    )
    everything = {index: info for each in found for index, info in each.items()}
    metadata.storage_data = everything
    ranks.all("finish", lambda: writer.finish(metadata, everything) if ranks.rank == 0 else None)
    return metadata


def _whole(value: Any) -> Any:
    """A part in memory of its own, so that nothing else is written with it."""
    return value.clone().contiguous() if isinstance(value, Tensor) else value


def _planned(plans: list[Any], paths: Any, rank: int) -> tuple[Metadata, list[MetadataIndex]]:
    """The metadata, and what a rank writes: of pieces that several have, the one with the least to
    write has each.
    """
    from ...dtypes import BY_NAME

    owners: dict[MetadataIndex, list[int]] = {}
    facts: dict[MetadataIndex, Any] = {}
    for k, described in enumerate(plans):
        for index, tensor, sizes, nbytes in described:
            owners.setdefault(index, []).append(k)
            facts.setdefault(index, (tensor, sizes, nbytes))
    load = [0] * len(plans)
    state: dict[str, Any] = {}
    mine = []
    numbers: dict[str, int] = {}
    for index, who in owners.items():
        tensor, sizes, nbytes = facts[index]
        chosen = min(who, key=lambda k: load[k])
        load[chosen] += nbytes
        if tensor is None:
            state[index.fqn] = BytesStorageMetadata()
        else:
            dtype, shape = tensor
            entry = state.setdefault(
                index.fqn,
                TensorStorageMetadata(
                    TensorProperties(BY_NAME[dtype.removeprefix("torch.")]), Size(shape), []
                ),
            )
            numbers[index.fqn] = len(entry.chunks)
            entry.chunks.append(ChunkStorageMetadata(index.offset, Size(sizes)))
        if chosen == rank:
            mine.append(index)
    return Metadata(state, paths), mine


_saving: list[threading.Thread] = []


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: Any = None,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any]:
    """Save a copy of a state in a thread; otherwise as `save`. All ranks call it, and wait for the future before the next call.

    Another process (`AsyncCheckpointerType.PROCESS`) and other ways to copy (`async_stager`) are not supported.

    With several ranks, pass a separate `process_group`: the collectives of a group must have the same order on all ranks.

    Returns:
        a `concurrent.futures.Future` of the checkpoint's metadata.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> state, folder = {"w": torch.ones(2)}, tempfile.TemporaryDirectory()
    >>> saved = dcp.async_save(state, checkpoint_id=folder.name, no_dist=True)
    >>> _ = state["w"].zero_()  # training goes on; the copy is saved
    >>> _ = saved.result()
    >>> dcp.load(state, checkpoint_id=folder.name, no_dist=True)
    >>> state["w"]
    tensor([1., 1.])
    >>> folder.cleanup()
    """
    if getattr(async_checkpointer_type, "name", "THREAD") != "THREAD" or async_stager is not None:
        raise UnsupportedError(
            "torch.distributed.checkpoint: async_save in another process, and async_stager=, are not supported"
        )
    held = copied(_states(state_dict))
    future: Future[Any] = Future()
    own = process_group
    if own is None and not no_dist and groups.is_initialized():
        own = _group_of_saves()

    def run() -> None:
        try:
            future.set_result(
                save(
                    held,
                    checkpoint_id=checkpoint_id,
                    storage_writer=storage_writer,
                    planner=planner,
                    process_group=own,
                    no_dist=no_dist,
                    use_collectives=use_collectives,
                )
            )
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, name="torch.distributed.checkpoint.async_save")
    thread.start()
    return future


_groups_of_saves: list[Any] = []


def _group_of_saves() -> Any:
    """A group of all ranks for saving in the background."""
    if not _groups_of_saves or _groups_of_saves[0].group_name not in groups._state.groups:
        _groups_of_saves[:] = [groups.new_group(group_desc="async_save")]
    return _groups_of_saves[0]


def copied(value: Any) -> Any:
    """A state with tensors of its own."""
    if isinstance(value, Tensor):
        if isinstance(value, DTensor):
            return DTensor(value._local_tensor.detach().clone(), value._spec)
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {k: copied(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([copied(v) for v in value])
    return copy.deepcopy(value)


# ---- loading -------------------------------------------------------------------------------------
def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into a state, in place. All ranks call it.

    Tensors keep their layout, whatever the layout of the saved ones is. Objects with `load_state_dict` are loaded last. The files
    run no code.

    Args:
        state_dict: what to read: its tensors are overwritten, other values are replaced.
        checkpoint_id: the folder.
        storage_reader: a `FileSystemReader` instead.
        planner: `DefaultLoadPlanner(allow_partial_load=True)` ignores keys that the checkpoint does not have.
        process_group: the ranks. Default: all.
        no_dist: read in this process only.

    Raises:
        torch.distributed.checkpoint.CheckpointException: a rank failed: a key is missing, or a size
            differs.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> state = {"w": torch.zeros(2), "step": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2), "step": 3}, checkpoint_id=folder, no_dist=True)
    ...     dcp.load(state, checkpoint_id=folder, no_dist=True)
    >>> state
    {'w': tensor([1., 1.]), 'step': 3}
    """
    reader = storage_reader or FileSystemReader(_folder(checkpoint_id))
    if not isinstance(reader, FileSystemReader):
        raise UnsupportedError(
            f"torch.distributed.checkpoint: {type(reader).__name__} is not supported; use FileSystemReader"
        )
    partial = bool(getattr(planner, "allow_partial_load", False))
    ranks = _Ranks(process_group, no_dist)
    states = _states(state_dict)

    def read() -> None:
        metadata = reader.read_metadata()
        _read(_chosen(planner, states, metadata, ranks.rank == 0), metadata, reader, partial)

    ranks.all("load", read)
    for key, value in state_dict.items():
        if _stateful(value):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _folder(checkpoint_id: Any) -> Any:
    """The folder of a checkpoint.

    Raises:
        RuntimeError: none was given.
    """
    if checkpoint_id is None:
        raise OperationError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
        )
    return checkpoint_id


def _read(
    state: dict[str, Any], metadata: Metadata, reader: FileSystemReader, partial: bool
) -> None:
    values, paths = flattened(state)
    for name, value in values.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if partial:
                continue
            raise OperationError(f"Missing key in checkpoint state_dict: {name}.")
        if not isinstance(value, Tensor):
            if isinstance(entry, TensorStorageMetadata):
                raise OperationError(
                    f"{name} is a tensor in the checkpoint, and {type(value).__name__} in the state_dict"
                )
            put(state, paths[name], reader.read(placed(metadata.storage_data, MetadataIndex(name))))
            continue
        if not isinstance(entry, TensorStorageMetadata):
            raise OperationError(f"{name} is a tensor in the state_dict, and not in the checkpoint")
        if tuple(entry.size) != tuple(value.shape):
            raise ArgumentValueError(
                f"Size mismatch between saved {entry.size} and current: {value.shape} for {name}"
            )
        found = piece_of(value)
        if found is not None:
            _fill(name, found, entry, reader, metadata.storage_data)


def _fill(
    name: str, piece: Any, entry: TensorStorageMetadata, reader: FileSystemReader, storage: Any
) -> None:
    """Copy what falls into a piece from the stored ones."""
    offsets, sizes, target = piece
    missing = int(target._array.size)
    for chunk in entry.chunks:
        low = [max(o, c) for o, c in zip(offsets, chunk.offsets, strict=True)]
        high = [
            min(o + s, c + n)
            for o, s, c, n in zip(offsets, sizes, chunk.offsets, chunk.sizes, strict=True)
        ]
        if any(a >= b for a, b in zip(low, high, strict=True)):
            continue
        stored = reader.read(placed(storage, MetadataIndex(name, chunk.offsets)))
        if not isinstance(stored, Tensor) or tuple(stored.shape) != tuple(chunk.sizes):
            raise OperationError(
                f"the checkpoint's piece of {name} at {tuple(chunk.offsets)} has another form than its .metadata says"
            )
        there: Any = stored[
            tuple([slice(a - c, b - c) for a, b, c in zip(low, high, chunk.offsets, strict=True)])
        ]
        here = (
            target[tuple([slice(a - o, b - o) for a, b, o in zip(low, high, offsets, strict=True)])]
            if low
            else target
        )
        with no_grad():
            here.copy_(there)
        missing -= int(there._array.size)
    if missing > 0:
        raise OperationError(f"the checkpoint lacks {missing} elements of {name}")


def save_state_dict(
    state_dict: Any,
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> Metadata:
    """Deprecated name of `save`, which has an example."""
    return save(
        state_dict,
        storage_writer=storage_writer,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )


def load_state_dict(
    state_dict: Any,
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """Deprecated name of `load`, which has an example."""
    load(
        state_dict,
        storage_reader=storage_reader,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Convert a distributed checkpoint into a file for `torch.load`. One process calls it.

    >>> import pellucid as torch
    >>> import os, tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2)}, checkpoint_id=f"{folder}/dcp", no_dist=True)
    ...     dcp.dcp_to_torch_save(f"{folder}/dcp", f"{folder}/model.pt")
    ...     print(torch.load(f"{folder}/model.pt"))
    {'w': tensor([1., 1.])}
    """
    from ...core.public import FUNCTIONS
    from ...serialization import save as save_file

    reader = FileSystemReader(dcp_checkpoint_dir)
    metadata = reader.read_metadata()
    state: dict[str, Any] = {}
    for name, entry in metadata.state_dict_metadata.items():
        path = (metadata.planner_data or {}).get(name, (name,))
        if isinstance(entry, TensorStorageMetadata):
            whole = FUNCTIONS["torch"]["empty"](tuple(entry.size), dtype=entry.properties.dtype)
            _fill(
                name,
                ((0,) * whole.ndim, tuple(whole.shape), whole),
                entry,
                reader,
                metadata.storage_data,
            )
            put(state, path, whole)
        else:
            put(state, path, reader.read(placed(metadata.storage_data, MetadataIndex(name))))
    save_file(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Convert a file of `torch.save` into a distributed checkpoint. One process calls it.

    >>> import pellucid as torch
    >>> import os, tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"w": torch.ones(2)}, f"{folder}/model.pt")
    ...     dcp.torch_save_to_dcp(f"{folder}/model.pt", f"{folder}/dcp")
    ...     print(sorted(os.listdir(f"{folder}/dcp")))
    ['.metadata', '__0_0.distcp']
    """
    from ...serialization import load as load_file

    save(
        load_file(torch_save_path, map_location="cpu", weights_only=True),
        checkpoint_id=dcp_checkpoint_dir,
        no_dist=True,
    )
