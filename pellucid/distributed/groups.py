"""Process groups: the world, subgroups, and the ranks in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..core import source, tracing
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContractError,
    OperationError,
    UnsupportedError,
)
from . import rendezvous
from .job import world
from .job.stores import FileStore, PrefixStore, Store, TCPStore
from .transport.engine import Channel


class Backend(str):
    """The name of a communication backend. All names for the CPU mean MPI here.

    >>> Backend("GLOO"), Backend.NCCL
    ('gloo', 'nccl')
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    MPI = "mpi"
    UCC = "ucc"
    FAKE = "fake"
    backend_list: list[str] = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    default_device_backend_map: dict[str, str] = {
        "cpu": "gloo",
        "cuda": "nccl",
        "xpu": "xccl",
        "mps": "gloo",
    }

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ArgumentValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(
        cls, name: str, func: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """Not supported: backends of others are not supported."""
        raise UnsupportedError(
            f"torch.distributed: Backend.register_backend({name!r}) is not supported"
        )


_ON_PROCESSORS = ("gloo", "mpi", "ucc", "undefined")


def backend_named(name: Any) -> Backend:
    """The backend of `init_process_group`, checked.

    Raises:
        RuntimeError: NCCL or XCCL, which need devices. AssertionError: no such name.
    """
    if name is None:
        return Backend("gloo")
    chosen = Backend(name)
    parts = dict(part.split(":", 1) for part in chosen.split(",") if ":" in part)
    on_processor = parts.get("cpu", "" if parts else str(chosen))
    if on_processor in ("nccl", "xccl") or parts and not on_processor:
        raise OperationError(
            f"Distributed package doesn't have {(on_processor or next(iter(parts.values()))).upper()} built in"
        )
    if on_processor == "fake":
        raise UnsupportedError("torch.distributed: the backend 'fake' is not supported")
    if on_processor not in _ON_PROCESSORS:
        raise ContractError(f"Unknown backend type {on_processor}")
    return chosen


class ProcessGroup(tracing.Fixed):
    """Some of the ranks, which communicate with each other.

    Attributes:
        ranks: their ranks in the world, in the group's order.
        channel: what their collectives run on.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> world = dist.group.WORLD
    >>> world.rank(), world.size()
    (0, 1)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        channel: Channel,
        backend: Backend,
        timeout: timedelta,
        name: str,
        desc: str,
        store: Store | None,
    ) -> None:
        self.channel, self.backend_name, self.timeout = channel, backend, timeout
        self.ranks = channel.ranks
        self.group_name, self.group_desc, self.store = name, desc, store
        self.bound_device_id = None
        # who is given the works of collectives: `_coalescing_manager`
        self.coalescing: list[Callable[[str, Any], None]] = []

    def rank(self) -> int:
        """This process's rank in the group."""
        return self.channel.rank

    def size(self) -> int:
        """How many ranks there are."""
        return self.channel.size

    def name(self) -> str:
        """The backend's name."""
        return str(self.backend_name)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long collectives wait from now on."""
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"<torch.distributed.ProcessGroup {self.group_name}: ranks {self.ranks}>"


class _Default(type):
    """Gives `group.WORLD`."""

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 (PyTorch's name)
        """The group of all processes; None before `init_process_group`."""
        return _state.default

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:  # noqa: N802
        _state.default = value


class group(metaclass=_Default):  # noqa: N801 (PyTorch's name)
    """`group.WORLD`, the group of all processes.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.group.WORLD.size()
    1
    >>> dist.destroy_process_group()
    """


class GroupMember(metaclass=_Default):
    """`WORLD` is the default group; `NON_GROUP_MEMBER` is what `new_group` returns to ranks outside the group.

    >>> import pellucid.distributed as dist
    >>> store = dist.HashStore()
    >>> dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    >>> dist.new_group([0]) is not dist.GroupMember.NON_GROUP_MEMBER
    True
    >>> dist.destroy_process_group()
    """

    NON_GROUP_MEMBER = -100


class _State:
    default: ProcessGroup | None = None
    groups: dict[str, ProcessGroup]
    made = 0  # groups so far, which names them alike on all ranks

    def __init__(self) -> None:
        self.groups = {}
        self.local: dict[str, int] = {}  # how often the same ranks have made a group of their own


_state = _State()
_MISSING = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


def default_group() -> ProcessGroup:
    """The group of all processes.

    Raises:
        ValueError: there is none.
    """
    if _state.default is None:
        raise ArgumentValueError(_MISSING)
    return _state.default


def group_of(group: Any) -> ProcessGroup:
    """The group that an argument means; None: the world."""
    if group is None:
        return default_group()
    if isinstance(group, ProcessGroup):
        if group.channel.engine.closed or group.group_name not in _state.groups:
            raise ArgumentValueError("Invalid process group specified")
        return group
    raise ArgumentValueError("Invalid process group specified")


def is_member(group: Any) -> bool:
    """Whether this process is in a group; `new_group` returns a number to those that are not."""
    return group != GroupMember.NON_GROUP_MEMBER or isinstance(group, ProcessGroup)


def _rank_not_in_group(group: Any) -> bool:
    return not is_member(group)


def is_initialized() -> bool:
    """Whether `init_process_group` was called.

    >>> is_initialized()
    False
    """
    return _state.default is not None


def is_available() -> bool:
    """Whether distributed training is possible, that is, whether mpi4py is installed.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> isinstance(dist.is_available(), bool)
    True
    """
    return world.installed()


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Join this process to the default process group. All processes call this.

    Args:
        backend: "gloo", "mpi", "ucc" or nothing: MPI in each case. "nccl" needs CUDA.
        init_method: where to meet: "env://" (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT),
            "tcp://host:port" or "file:///path"; default env.
        timeout: how long collectives, and this call, wait for other ranks; default 30 minutes.
        world_size, rank: how many there are, and which one this is.
        store: meet in this store; excludes `init_method`.

    Raises:
        ValueError: it was called before, or arguments are missing. NotImplementedError: mpi4py or
            an MPI is not installed.
        torch.distributed.DistNetworkError: rank 0 cannot listen, or cannot be reached.
        torch.distributed.DistStoreError: ranks did not come; the message names them.

    >>> import pellucid.distributed as dist
    >>> dist.init_process_group("nccl", rank=0, world_size=1)
    Traceback (most recent call last):
        ...
    RuntimeError: Distributed package doesn't have NCCL built in...
    """
    if _state.default is not None:
        raise ArgumentValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise ContractError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise ArgumentTypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    chosen = backend_named(backend)
    if device_id is not None:
        _check_device(device_id)
    limit = timeout or rendezvous.DEFAULT_TIMEOUT
    named = store is not None or init_method is not None or "RANK" in os.environ or rank >= 0
    meeting = (
        None
        if rendezvous.under_mpi() and not named
        else rendezvous.meet(init_method, rank, world_size, store, limit)
    )
    entered = world.enter(meeting, limit)
    _state.made += 1
    title = "the default group" if _state.made == 1 else f"the default group ({_state.made})"
    channel = entered.channel_of(list(range(entered.size)), title, limit.total_seconds())
    assert channel is not None
    own = meeting.store if meeting is not None and meeting.store is not None else None
    shared = own or TCPStore(
        entered.host, entered.port, timeout=limit, wait_for_workers=False, token=rendezvous.token()
    )
    made = ProcessGroup(
        channel,
        chosen,
        limit,
        str(_state.made - 1),
        "default_pg",
        PrefixStore("default_pg", shared),
    )
    _state.groups[made.group_name] = _state.default = made


def _check_device(device_id: Any) -> None:
    """Raise PyTorch's errors: there are no accelerators."""
    if device_id.type == "cpu" or device_id.index is None:
        raise ArgumentValueError(
            "init_process_group device_id parameter must be an accelerator with an index"
        )
    raise ArgumentValueError(
        f"device_id {device_id} does not match the current compilation's accelerator support: None. "
        "Please use a different compiled version that supports your accelerator."
    )


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Create a process group of some of the ranks. All ranks call this in the same order, even those that
    are not in the group.

    Args:
        ranks: the group's ranks. Default: None, all.
        timeout: the limit for the group's collectives. Default: that of the default group.
        use_local_synchronization: only the group's ranks call this, and wait for each other. Default: False.

    Returns:
        The group; `GroupMember.NON_GROUP_MEMBER` if this rank is not in it.

    Raises:
        ValueError: a rank does not exist, or is given twice.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> pair = dist.new_group([0])
    >>> dist.get_process_group_ranks(pair)
    [0]
    >>> dist.destroy_process_group()
    """
    whole = default_group()
    size = whole.size()
    chosen = list(range(size)) if ranks is None else list(ranks)
    if sort_ranks:
        chosen.sort()
    for rank in chosen:
        if not 0 <= rank < size:
            raise ArgumentValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    if len(set(chosen)) != len(chosen):
        raise ArgumentValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    if len(chosen) > size:
        raise ArgumentValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    limit = timeout or whole.timeout
    named = backend_named(backend) if backend is not None else whole.backend_name
    entered = world.current()
    assert entered is not None
    if use_local_synchronization and whole.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    if use_local_synchronization:
        name = _meet_among(chosen, whole, limit)
        return _registered(
            entered.channel_among(chosen, f"group {name}"), named, limit, name, group_desc
        )
    _state.made += 1
    line = source.describe(source.capture(2))
    where = f" made at {os.path.basename(line.file)}:{line.line}" if line is not None else ""
    title = f"group {_state.made - 1} (ranks {', '.join(map(str, chosen))}{where})"
    channel = entered.channel_of(chosen, title, limit.total_seconds())
    if channel is None:
        return GroupMember.NON_GROUP_MEMBER
    return _registered(channel, named, limit, str(_state.made - 1), group_desc)


def _registered(
    channel: Channel, backend: Backend, limit: timedelta, name: str, desc: str | None
) -> ProcessGroup:
    """A group of some ranks, which functions find by its name."""
    store = PrefixStore(f"group_{name}", default_group().store.underlying_store)  # type: ignore[union-attr]
    made = ProcessGroup(channel, backend, limit, name, desc or "undefined", store)
    _state.groups[name] = made
    return made


def _meet_among(ranks: list[int], whole: ProcessGroup, limit: timedelta) -> str:
    """Wait for the other ranks of a group that only they make; the group's name."""
    among = "_".join(map(str, ranks))
    _state.local[among] = _state.local.get(among, 0) + 1
    name = f"{among}:{_state.local[among]}"
    assert whole.store is not None
    store = PrefixStore(f"new_group/{name}", whole.store)
    store.set(str(whole.rank()), "here")
    store.wait([str(rank) for rank in ranks], limit)
    return name


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the listed ranks. All ranks of the world call this.

    Args:
        ranks_per_subgroup_list: lists of ranks of the world, such as [[0, 2], [1, 3]].
        timeout: of their collectives. Default: the world's.
        backend, pg_options, group_desc: as in `new_group`.

    Returns:
        this rank's group (None if it is in none of them), and all of them.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mine, groups = dist.new_subgroups_by_enumeration([[0]])
    >>> mine is groups[0]
    True
    >>> dist.destroy_process_group()
    """
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ArgumentValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                first = next(other for other in ranks_per_subgroup_list if rank in other)
                raise ArgumentValueError(
                    f"Rank {rank} has appeared in both subgroup {first} and {ranks}"
                )
            seen.add(rank)
    made = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    return next((g for g in made if isinstance(g, ProcessGroup)), None), made


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighboring ranks each. All ranks of the world call this.

    Args:
        group_size: ranks of each group; the number of ranks must be a multiple of it.
        group: the group to divide. Default: all processes.
        timeout: of their collectives. Default: the world's.
        backend, pg_options, group_desc: as in `new_group`.

    Returns:
        this rank's group, and all of them.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mine, groups = dist.new_subgroups(1)
    >>> len(groups)
    1
    >>> dist.destroy_process_group()
    """
    size = default_group().size()
    if group_size is None:
        raise ArgumentValueError("group_size must be given: there are no GPUs to count")
    if group_size <= 0:
        raise ArgumentValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > size:
        raise ArgumentValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ArgumentValueError(
            f"The world size ({size}) must be divisible by 'group_size={group_size}'"
        )
    parts = [list(range(first, first + group_size)) for first in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def destroy_process_group(group: Any = None) -> None:
    """Destroy a process group; without an argument, all of them.

    Its ranks wait briefly for each other, so that messages in flight arrive.

    Args:
        group: the group to destroy. Default: all of them.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if group == GroupMember.NON_GROUP_MEMBER and not isinstance(group, ProcessGroup):
        return
    if group is None and _state.default is None:
        raise ContractError("Process group cannot be None")
    chosen = default_group() if group is None else group_of(group)
    if chosen is not _state.default:
        _drop(chosen)
        return
    entered = world.current()
    assert entered is not None
    line = source.describe(source.capture(2))
    where = f" at {os.path.basename(line.file)}:{line.line}" if line is not None else ""
    entered.leave(f"destroy_process_group was called{where}", 5.0)
    for each in list(_state.groups.values()):
        _drop(each)
    _state.default = None


def _drop(chosen: ProcessGroup) -> None:
    _state.groups.pop(chosen.group_name, None)
    engine = chosen.channel.engine
    with engine.lock:
        if chosen.channel in engine.channels:
            engine.channels.remove(chosen.channel)
    if (
        isinstance(chosen.store, PrefixStore)
        and isinstance(chosen.store.underlying_store, FileStore)
        and chosen is _state.default
    ):
        chosen.store.underlying_store.close()


# ---- questions -----------------------------------------------------------------------------------
def get_rank(group: Any = None) -> int:
    """This process's rank in a group; -1 if it is not in the group.

    Args:
        group: the process group. Default: all processes.

    Raises:
        ValueError: `init_process_group` was not called.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    whole = default_group()
    if not is_member(group):
        return -1
    return whole.rank() if group is None else group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """The number of ranks of a group; -1 if this process is not in the group.

    Args:
        group: the process group. Default: all processes.

    Raises:
        ValueError: `init_process_group` was not called.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    whole = default_group()
    if not is_member(group):
        return -1
    return whole.size() if group is None else group_of(group).size()


def get_backend(group: Any = None) -> Backend:
    """The backend's name, as it was requested.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    if not is_member(group):
        raise ArgumentValueError("Invalid process group specified")
    return group_of(group).backend_name


def get_backend_config(group: Any = None) -> str:
    """Which backend serves which type of device.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_backend_config()
    'cpu:gloo,cuda:gloo'
    >>> dist.destroy_process_group()
    """
    name = get_backend(group)
    return str(name) if ":" in name else f"cpu:{name},cuda:{name}"


def get_default_backend_for_device(device: Any) -> str:
    """The backend that a type of device has by default.

    Raises:
        ValueError: there is none.

    >>> get_default_backend_for_device("cpu")
    'gloo'
    """
    kind = device.type if hasattr(device, "type") else str(device).partition(":")[0]
    if kind not in Backend.default_device_backend_map:
        raise ArgumentValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks in the world of a group's members.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    >>> dist.destroy_process_group()
    """
    return list(group_of(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in a group of a rank of the world.

    Args:
        group: the process group.
        global_rank: a rank of the world.

    Raises:
        ValueError: it is not in the group.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    return global_rank if group is _state.default else place_in(group, global_rank)


def place_in(group: Any, global_rank: int) -> int:
    """The rank in a group of a rank of the world, of which there has to be one in the world, too."""
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        raise ArgumentValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the world of a rank of a group.

    Args:
        group: the process group.
        group_rank: a rank of the group.

    Raises:
        ValueError: the group has no such rank.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ArgumentValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_pg_count() -> int:
    """The number of process groups.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_pg_count()
    1
    >>> dist.destroy_process_group()
    """
    return len(_state.groups)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, from LOCAL_RANK.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise OperationError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, assuming you are "
        "not running in a multi-device context and want the code to run locally instead."
    )


def is_torchelastic_launched() -> bool:
    """Whether a launcher such as torchrun started this process.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_gloo_available() -> bool:
    """Whether the backend "gloo" may be requested.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.is_gloo_available() == dist.is_available()
    True
    """
    return is_available()


is_mpi_available = is_ucc_available = is_gloo_available


def is_nccl_available() -> bool:
    """False: there is no CUDA.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.is_nccl_available()
    False
    """
    return False


is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether a backend may be requested.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.is_backend_available("nccl")
    False
    """
    return is_available() and backend.lower() in _ON_PROCESSORS[:3]
