"""How processes find each other: environment variables, an address, a file, or a store."""

from __future__ import annotations

import hashlib
import numbers
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

from ..errors import ArgumentValueError, ContractError, OperationError
from .job.stores import FileStore, Store, TCPStore, listen

DEFAULT_TIMEOUT = timedelta(minutes=30)
_MANAGERS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")  # set by mpiexec and srun


class Meeting(NamedTuple):
    """Where the server of a job is, and who this process is in it."""

    host: str
    port: int
    rank: int
    size: int
    listener: Any = None  # of rank 0, where it listens already
    store: Store | None = None  # one of the caller's, which is used as the job's


def under_mpi() -> bool:
    """Whether MPI's own launcher started this process."""
    return any(name in os.environ for name in _MANAGERS) and "PMI_FD" in os.environ or any(
        name in os.environ for name in _MANAGERS[1:]
    )  # fmt: skip


def token(secret: str | None = None) -> str:
    """What the processes of a job say to its server: from a secret, by default that which their
    launcher put into the environment; "" without.
    """
    if secret is None:
        environ = os.environ
        secret = environ.get("PELLUCID_DISTRIBUTED_SECRET") or environ.get("TORCHELASTIC_RUN_ID")
    return hashlib.sha256(secret.encode()).hexdigest() if secret else ""


def _number(name: str, given: int, what: str) -> int:
    if given >= 0:
        return given
    text = os.environ.get(name)
    if text is None:
        raise ArgumentValueError(
            f"Error initializing torch.distributed using env:// rendezvous: {what}",
            hint="start the script as ranks: `pellucid torchrun --nproc_per_node 2 SCRIPT`; for a single "
            "rank, set RANK=0, WORLD_SIZE=1, MASTER_ADDR=localhost and MASTER_PORT",
        )
    try:
        return int(text)
    except ValueError:
        raise ArgumentValueError(
            f"the environment variable {name} is {text!r}, which is not a number"
        ) from None


def _expected(name: str) -> str:
    return f"environment variable {name} expected, but not set"


def meet(
    init_method: str | None, rank: int, size: int, store: Store | None, timeout: timedelta
) -> Meeting:
    """Where to meet, from the arguments of `init_process_group`.

    Raises:
        ValueError: something is missing, or is not a number.
    """
    if store is not None:
        if size <= 0:
            raise ContractError("world_size must be positive if using store")
        if rank < 0:
            raise ArgumentValueError("rank must be non-negative if using store")
        return _through(store, rank, size, timeout)
    method = init_method or "env://"
    scheme = urlsplit(method).scheme
    if scheme in _handlers:
        return _through(*next(rendezvous(method, rank, size, timeout=timeout)), timeout)
    place = _place(method, rank, size)
    if scheme == "file":
        return _through(FileStore(place.host, place.size), place.rank, place.size, timeout)
    return _checked(place)


def _place(method: str, rank: int, size: int) -> Meeting:
    """What an address says; of a file, its path is the host."""
    url = urlsplit(method)
    query = {key: values[-1] for key, values in parse_qs(url.query).items()}
    rank = int(query.get("rank", rank))
    size = int(query.get("world_size", size))
    if url.scheme == "env":
        rank = _number("RANK", rank, _expected("RANK"))
        size = _number("WORLD_SIZE", size, _expected("WORLD_SIZE"))
        host = os.environ.get("MASTER_ADDR")
        if not host:
            raise ArgumentValueError(
                f"Error initializing torch.distributed using env:// rendezvous: {_expected('MASTER_ADDR')}"
            )
        return Meeting(host, _number("MASTER_PORT", -1, _expected("MASTER_PORT")), rank, size)
    if url.scheme == "tcp":
        if url.port is None:
            raise ArgumentValueError(
                "Error initializing torch.distributed using tcp:// rendezvous: port number missing"
            )
        if rank < 0:
            raise ArgumentValueError(
                "Error initializing torch.distributed using tcp:// rendezvous: rank parameter missing"
            )
        if size < 0:
            raise ArgumentValueError(
                "Error initializing torch.distributed using tcp:// rendezvous: world size parameter missing"
            )
        return Meeting(url.hostname or "127.0.0.1", url.port, rank, size)
    if url.scheme == "file":
        path = (url.netloc + url.path) if url.netloc else url.path
        if not path:
            raise ArgumentValueError(
                "Error initializing torch.distributed using file:// rendezvous: path missing"
            )
        if rank < 0:
            raise ArgumentValueError(
                "Error initializing torch.distributed using file:// rendezvous: rank parameter missing"
            )
        if size < 0:
            raise ArgumentValueError(
                "Error initializing torch.distributed using file:// rendezvous: world size parameter missing"
            )
        return Meeting(path, 0, rank, size)
    raise OperationError(f"No rendezvous handler for {url.scheme}://")


def _checked(meeting: Meeting) -> Meeting:
    if meeting.size < 1 or not 0 <= meeting.rank < meeting.size:
        raise ArgumentValueError(f"rank {meeting.rank} is not below the world size {meeting.size}")
    return meeting


def _through(store: Store, rank: int, size: int, timeout: timedelta) -> Meeting:
    """Rank 0 listens at a free port of its own and says in the store where."""
    key = "pellucid/server"
    if rank == 0:
        host = os.environ.get("MASTER_ADDR", "127.0.0.1")
        listener = listen(host, 0)
        port = listener.getsockname()[1]
        store.set(key, f"{host} {port}")
        return _checked(Meeting(host, port, rank, size, listener, store))
    host, port = store._get(key, timeout.total_seconds()).decode().split()
    return _checked(Meeting(host, int(port), rank, size, None, store))


Handler = Callable[..., Iterator[tuple[Store, int, int]]]
_handlers: dict[str, Handler] = {}  # by the scheme of the address, what programs registered


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Have `init_process_group` find the other ranks by a function of the program's.

    Args:
        scheme: of the address, as "env" in "env://".
        handler: called with the address; yields (store, rank, world size).

    Raises:
        RuntimeError: there is a handler for such addresses already.

    >>> from pellucid.distributed import HashStore
    >>> def meet(url, **options):
    ...     yield HashStore(), 0, 1
    >>> register_rendezvous_handler("alone", meet)
    >>> next(rendezvous("alone://"))[1:]
    (0, 1)
    """
    if scheme in _handlers or scheme in ("env", "tcp", "file"):
        raise OperationError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """The store at an address, this process's rank and the number of ranks, as
    `init_process_group` finds them.

    Raises:
        RuntimeError: nothing is known about such addresses.
        ValueError: a number is missing.

    >>> store, rank, size = next(rendezvous("tcp://127.0.0.1:0", 0, 1))
    >>> rank, size
    (0, 1)
    """
    if not isinstance(url, (str, bytes)):
        raise OperationError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, numbers.Integral):
        raise OperationError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, numbers.Integral):
        raise OperationError(f"`world_size` must be an integer. {world_size}")
    method = url.decode() if isinstance(url, bytes) else url
    parts = urlsplit(method)
    if parts.scheme in _handlers:
        if rank != -1 or world_size != -1:
            given = {**dict(parse_qsl(parts.query)), "rank": rank, "world_size": world_size}
            query = urlencode({key: value for key, value in given.items() if value != -1})
            method = urlunsplit(parts._replace(query=query))
        return _handlers[parts.scheme](method, **kwargs)
    place = _place(method, int(rank), int(world_size))
    store: Store = (
        FileStore(place.host, place.size)
        if parts.scheme == "file"
        else TCPStore(
            place.host,
            place.port,
            place.size,
            place.rank == 0,
            kwargs.get("timeout", DEFAULT_TIMEOUT),
        )
    )
    return iter([(store, place.rank, place.size)])
