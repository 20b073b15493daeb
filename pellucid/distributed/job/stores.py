"""Key-value stores through which processes find each other: on a server (TCP), in a file, in
this process's memory, and with a prefix.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from ...errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from . import server as _server

DEFAULT_TIMEOUT = timedelta(seconds=300)


class DistError(RuntimeError):
    """The base class of errors of communication between processes. It is a RuntimeError.

    >>> import pellucid.distributed as dist
    >>> issubclass(dist.DistNetworkError, dist.DistError), issubclass(dist.DistError, RuntimeError)
    (True, True)
    """


class DistBackendError(DistError):
    """A collective failed: a rank has ended, or the ranks' calls do not match.

    >>> import pellucid.distributed as dist
    >>> issubclass(dist.DistBackendError, dist.DistError)
    True
    """


class DistNetworkError(DistError):
    """A connection could not be made, or was lost.

    >>> import pellucid.distributed as dist
    >>> issubclass(dist.DistNetworkError, dist.DistError)
    True
    """


class DistStoreError(DistError):
    """A key did not appear in a store in time.

    >>> import pellucid as torch
    >>> from datetime import timedelta
    >>> import pellucid.distributed as dist
    >>> store = dist.HashStore()
    >>> try:
    ...     store.wait(["ready"], timedelta(milliseconds=1))
    ... except dist.DistStoreError as error:
    ...     print("nobody has set the key")
    nobody has set the key
    """


class QueueEmptyError(DistStoreError):
    """A store's queue is empty.

    >>> import pellucid.distributed as dist
    >>> issubclass(dist.QueueEmptyError, dist.DistStoreError)
    True
    """


for _class in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _class.__module__ = "pellucid.distributed"  # as tracebacks show them


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise ArgumentTypeError(f"a value of a store is a str or bytes, not {type(value).__name__}")


def _seconds(timeout: timedelta | None, otherwise: timedelta) -> float:
    return (timeout if timeout is not None else otherwise).total_seconds()


class Store:
    """A dictionary of bytes that several processes share; what the kinds of stores have in common.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> store = dist.HashStore()  # a subclass
    >>> store.set("answer", "42")
    >>> store.get("answer")
    b'42'
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    # What a kind of store defines.
    def _set(self, key: str, value: bytes) -> None:
        raise UnsupportedError(f"torch.distributed: {type(self).__name__}.set is not defined")

    def _get(self, key: str, seconds: float) -> bytes:
        raise UnsupportedError(f"torch.distributed: {type(self).__name__}.get is not defined")

    def _wait(self, keys: list[str], seconds: float) -> None:
        raise UnsupportedError(f"torch.distributed: {type(self).__name__}.wait is not defined")

    def _ask(self, do: str, **arguments: Any) -> Any:
        raise UnsupportedError(f"torch.distributed: {type(self).__name__}.{do} is not defined")

    # What is called.
    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value, in place of the one that there is."""
        self._set(key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, as soon as there is one.

        Raises:
            DistStoreError: there is none after `timeout`.
        """
        return self._get(key, self._timeout.total_seconds())

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Return when all keys are there.

        Raises:
            DistStoreError: one is not after the timeout.
        """
        self._wait(list(keys), _seconds(timeout, self._timeout))

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins with 0, and return the sum."""
        return int(self._ask("add", key=key, amount=int(amount)))

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        self._ask("append", key=key, value=_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return bool(self._ask("check", keys=list(keys)))

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Store the desired value if the held one is the expected one, or if there is none and none
        is expected; returns what is held.
        """
        return self._ask(
            "compare_set", key=key, expected=_bytes(expected_value), desired=_bytes(desired_value)
        )

    def delete_key(self, key: str) -> bool:
        """Remove a key; False where there was none."""
        return bool(self._ask("delete", key=key))

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._ask("count"))

    def list_keys(self) -> list[str]:
        """The keys, sorted."""
        return list(self._ask("list"))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Add a value to the end of a queue."""
        self._ask("push", key=key, value=_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Remove the first value of a queue and return it; wait until there is one, with `block`.

        Raises:
            QueueEmptyError: there is none. DistStoreError: with `block`, none came in `timeout`.
        """
        end, pause = time.monotonic() + self._timeout.total_seconds(), 0.001
        while (value := self._ask("pop", key=key)) is None:
            if not block:
                raise QueueEmptyError("queue is empty")
            if time.monotonic() > end:
                raise _missing([key], self._timeout.total_seconds(), f"a queue of {self!r}")
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return bytes(value)

    def queue_len(self, key: str) -> int:
        """How many values a queue holds."""
        return int(self._ask("length", key=key))

    def clone(self) -> Store:
        """A store with the same keys, for another thread."""
        return self

    def has_extended_api(self) -> bool:
        """True: `append`, `multi_get` and `multi_set` are there."""
        return True


def _missing(keys: Sequence[str], seconds: float, where: str, text: str = "") -> DistStoreError:
    error = DistStoreError(text or "Wait timeout")
    error.add_note(f"after {seconds:g} s; keys that are not there: {', '.join(keys)} ({where})")
    return error


def _apply(held: dict[str, bytes], do: str, arguments: dict[str, Any]) -> Any:
    """A request on a dictionary."""
    key = arguments.get("key", "")
    if do == "add":
        total = int(held.get(key, b"0")) + arguments["amount"]
        held[key] = str(total).encode()
        return total
    if do == "append":
        held[key] = held.get(key, b"") + arguments["value"]
        return None
    if do == "compare_set":
        now = held.get(key)
        if now is None and not arguments["expected"] or now == arguments["expected"]:
            held[key] = now = arguments["desired"]
        return arguments["expected"] if now is None else now
    if do == "check":
        return all(k in held for k in arguments["keys"])
    if do == "delete":
        return held.pop(key, None) is not None
    return len(held) if do == "count" else sorted(held)


class HashStore(Store):
    """A store in the memory of this process, for its threads.

    >>> from pellucid.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("first", "1")
    >>> store.add("second", 2), store.get("first"), store.num_keys()
    (2, b'1', 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = defaultdict(deque)
        self._changed = threading.Condition()

    def _set(self, key: str, value: bytes) -> None:
        with self._changed:
            self._held[key] = value
            self._changed.notify_all()

    def _wait(self, keys: list[str], seconds: float) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._held for key in keys), seconds):
                raise _missing([key for key in keys if key not in self._held], seconds, "HashStore")

    def _get(self, key: str, seconds: float) -> bytes:
        self._wait([key], seconds)
        return self._held[key]

    def _ask(self, do: str, **arguments: Any) -> Any:
        with self._changed:
            if do in ("push", "pop", "length"):
                return _server.queued(self._queues[arguments["key"]], do, arguments.get("value"))
            result = _apply(self._held, do, arguments)
            self._changed.notify_all()
            return result


class FileStore(Store):
    """A store in a file, which processes of machines with a common file system share.

    Every change is a record at the end of the file, written under a lock.

    Args:
        file_name: the file; it is made if it does not exist.
        world_size: how many processes use it; the last one that goes removes it. -1: it stays.

    >>> import pellucid as torch
    >>> import tempfile, os
    >>> import pellucid.distributed as dist
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = dist.FileStore(os.path.join(folder.name, "store"), 1)
    >>> store.set("answer", "42")
    >>> store.get("answer")
    b'42'
    >>> folder.cleanup()
    """

    _HEAD = struct.Struct("<iI")  # length of the value (-1: removed) and of the key

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path, self.world_size = os.fspath(file_name), world_size
        self._lock = threading.Lock()
        self._held: dict[str, bytes] = {}
        self._read_to = 0
        with self._open():
            pass
        if world_size > 0:
            self.add("#users", 1)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """The file, locked for this process and thread, with all that is new in it read."""
        import fcntl

        with self._lock, open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read_to)
            news = file.read()
            at = 0
            while at + self._HEAD.size <= len(news):
                size, length = self._HEAD.unpack_from(news, at)
                key = news[at + self._HEAD.size : at + self._HEAD.size + length].decode()
                at += self._HEAD.size + length + max(size, 0)
                if size < 0:
                    self._held.pop(key, None)
                else:
                    self._held[key] = news[at - size : at]
            self._read_to += at
            yield file

    def _write(self, file: Any, key: str, value: bytes | None) -> None:
        name = key.encode()
        record = (
            self._HEAD.pack(-1 if value is None else len(value), len(name)) + name + (value or b"")
        )
        file.seek(self._read_to)
        file.write(record)
        file.flush()
        self._read_to += len(record)

    def _set(self, key: str, value: bytes) -> None:
        with self._open() as file:
            self._held[key] = value
            self._write(file, key, value)

    def _ask(self, do: str, **arguments: Any) -> Any:
        if do in ("push", "pop", "length"):
            raise UnsupportedError("torch.distributed: FileStore: queue support is not implemented")
        with self._open() as file:
            before = dict(self._held)
            result = _apply(self._held, do, arguments)
            for key in self._held.keys() | before.keys():
                if self._held.get(key) != before.get(key):
                    self._write(file, key, self._held.get(key))
            if do == "count":
                return result - ("#users" in self._held)
            return [key for key in result if key != "#users"] if do == "list" else result

    def _wait(self, keys: list[str], seconds: float) -> None:
        end, pause = time.monotonic() + seconds, 0.001
        while True:
            with self._open():
                missing = [key for key in keys if key not in self._held]
            if not missing:
                return
            if time.monotonic() > end:
                raise _missing(missing, seconds, f"FileStore {self.path}")
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _get(self, key: str, seconds: float) -> bytes:
        self._wait([key], seconds)
        return self._held[key]

    def close(self) -> None:
        """This process needs the file no more; the last of `world_size` processes removes it."""
        if self.world_size > 0 and self.add("#users", -1) == 0:
            try:
                os.unlink(self.path)
            except OSError:
                pass


def connect(
    host: str, port: int, hello: dict[str, Any], seconds: float, keep_trying: bool = True
) -> tuple[socket.socket, Any]:
    """A connection to a server and its first answer, which it may have to be waited for.

    Raises:
        DistNetworkError: nobody answers, or we are not wanted.
    """
    end, pause, last = time.monotonic() + seconds, 0.005, "no answer"
    while True:
        try:
            sock = socket.create_connection(
                (host, port), timeout=max(0.05, min(5.0, end - time.monotonic()))
            )
            break
        except OSError as error:
            last = error.strerror or str(error)
        if not keep_trying or time.monotonic() > end:
            failed = DistNetworkError(
                f"The client socket has timed out after {round(seconds * 1000)}ms while trying to connect to ({host}, {port})."
            )
            failed.add_note(f"the last try: {last}")
            raise failed
        time.sleep(pause)
        pause = min(2 * pause, 0.2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(max(5.0, seconds))
    try:
        sock.sendall((json.dumps(hello) + "\n").encode())
        line = b""
        # byte by byte: what follows belongs to whoever gets the socket
        while not line.endswith(b"\n"):
            more = sock.recv(1)
            if not more:
                raise DistNetworkError(
                    f"{host}:{port} closed the connection: is another program listening there?"
                )
            line += more
        answer = json.loads(line)
    except (OSError, ValueError) as error:
        sock.close()
        raise DistNetworkError(
            f"{host}:{port} does not answer as a store of this library does: {error}"
        ) from None
    except DistNetworkError:
        sock.close()
        raise
    if "error" in answer:
        sock.close()
        raise DistNetworkError(f"{host}:{port} refused this process: {answer['error']}")
    sock.settimeout(None)
    return sock, answer


def listen(host: str, port: int) -> socket.socket:
    """A listening socket at the address asked for, and at no other.

    Raises:
        DistNetworkError: the address is used by somebody, or is not this machine's.
    """
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: false, code: -{error.errno}, name: {_name_of(error.errno)}, message: {(error.strerror or '').lower()}"
        ) from None


def _name_of(number: int | None) -> str:
    import errno

    return errno.errorcode.get(number or 0, "unknown")


class TCPStore(Store):
    """A store on a server that the process with `is_master` runs.

    Args:
        host_name, port: where the server listens, or is found; port 0: any free one (`store.port`).
        world_size: with `wait_for_workers`, how many processes come.
        is_master: run the server, in a thread of this process.
        timeout: how long to wait for the server, for keys, and for the workers.
        wait_for_workers: return when `world_size` processes have come.

    Raises:
        DistNetworkError: the port is taken, or nobody listens there.

    >>> from pellucid.distributed import TCPStore
    >>> store = TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("key", "value")
    >>> TCPStore("127.0.0.1", store.port).get("key")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
        *,
        token: str = "",
    ) -> None:
        super().__init__()
        self.host, self._timeout, self._lock = host_name, timeout, threading.Lock()
        self._server: _server.Server | None = None
        if is_master:
            listener = (
                socket.socket(fileno=master_listen_fd)
                if master_listen_fd is not None
                else listen(host_name, port)
            )
            port = listener.getsockname()[1]
            self._server = _server.in_thread(listener, token=token)
        self.port = port
        hello = {"service": "store", "token": token}
        self._socket, _ = connect(host_name, port, hello, timeout.total_seconds())
        self._buffer = b""
        if world_size and wait_for_workers and self._server is not None:
            self.add("#workers", 1)
            self._until_all(world_size)
        elif world_size and wait_for_workers:
            self.add("#workers", 1)

    def _until_all(self, size: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while (came := self.add("#workers", 0)) < size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {round(self._timeout.total_seconds()) + 1} seconds waiting for clients. {came}/{size} clients joined."
                )
            time.sleep(0.01)

    def _request(self, **message: Any) -> Any:
        try:
            with self._lock:
                self._socket.sendall((json.dumps(message) + "\n").encode())
                while b"\n" not in self._buffer:
                    more = self._socket.recv(1 << 20)
                    if not more:
                        raise OSError("got 0 bytes")
                    self._buffer += more
                line, self._buffer = self._buffer.split(b"\n", 1)
        except OSError as error:
            raise DistNetworkError(
                f"Failed to recv, {error}. Connection was likely closed. Did the remote server shutdown or crash?"
            ) from None
        answer = json.loads(line)
        if "error" in answer:
            raise DistNetworkError(
                f"the store at {self.host}:{self.port} refused: {answer['error']}"
            )
        return answer

    def _set(self, key: str, value: bytes) -> None:
        self._request(do="set", key=key, value=base64.b64encode(value).decode())

    def _wait(self, keys: list[str], seconds: float, do: str = "wait") -> bytes:  # type: ignore[override]
        answer = self._request(do=do, keys=keys, timeout=seconds)
        if "timeout" in answer:
            keys = answer["timeout"]
            shown = ", ".join(f"/{key}" for key in keys)
            text = f"wait timeout after {round(seconds * 1000)}ms, keys: {shown}"
            raise _missing(keys, seconds, f"TCPStore {self.host}:{self.port}", text)
        return base64.b64decode(answer["value"])

    def _get(self, key: str, seconds: float) -> bytes:
        return self._wait([key], seconds, "get")

    def _ask(self, do: str, **arguments: Any) -> Any:
        plain = {
            k: base64.b64encode(v).decode() if isinstance(v, bytes) else v
            for k, v in arguments.items()
        }
        value = self._request(do=do, **plain).get("value")
        if do == "compare_set" or do == "pop" and value is not None:
            return base64.b64decode(value)
        hidden = "#workers"
        if do == "count":
            return value - self.check([hidden])
        return [key for key in value if key != hidden] if do == "list" else value

    @property
    def libuvBackend(self) -> bool:  # noqa: N802 (PyTorch's name)
        """False: the server is Python's."""
        return False

    @property
    def serves(self) -> bool:
        """Whether this process runs the server."""
        return self._server is not None

    @property
    def address(self) -> str:
        """The address by which this process reaches the server's machine, and is reached from
        there.
        """
        return str(self._socket.getsockname()[0])

    def clone(self) -> TCPStore:
        """Another connection to the same server."""
        return TCPStore(self.host, self.port, timeout=self._timeout)

    def close(self) -> None:
        """End the connection, and the server if it is this process's."""
        self._socket.close()
        if self._server is not None:
            self._server.stop()

    def __del__(self) -> None:
        if "_socket" in self.__dict__:
            self.close()


class PrefixStore(Store):
    """Another store, whose keys all begin with a prefix.

    >>> from pellucid.distributed import HashStore, PrefixStore
    >>> whole = HashStore()
    >>> PrefixStore("part", whole).set("key", "1")
    >>> whole.get("part/key")
    b'1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        if not isinstance(store, Store):
            raise ArgumentValueError("PrefixStore needs a store")
        self.prefix, self.underlying_store, self._timeout = prefix, store, store.timeout

    def _name(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def _set(self, key: str, value: bytes) -> None:
        self.underlying_store._set(self._name(key), value)

    def _get(self, key: str, seconds: float) -> bytes:
        return self.underlying_store._get(self._name(key), seconds)

    def _wait(self, keys: list[str], seconds: float) -> None:
        self.underlying_store._wait([self._name(key) for key in keys], seconds)

    def _ask(self, do: str, **arguments: Any) -> Any:
        if "key" in arguments:
            arguments["key"] = self._name(arguments["key"])
        if "keys" in arguments:
            arguments["keys"] = [self._name(key) for key in arguments["keys"]]
        if do == "list":
            start = self._name("")
            return [
                key.removeprefix(start)
                for key in self.underlying_store._ask(do)
                if key.startswith(start)
            ]
        return self.underlying_store._ask(do, **arguments)


Request = Callable[..., Any]
