"""The one server of a job: key-value store, MPI's process manager (PMI-1), and the monitor that
knows which ranks are alive.

It is a separate process that rank 0 starts (`python -I -S server.py`): it runs while rank 0
computes, and outlives it. It needs only Python's standard library. A connection begins with one
line of JSON that names the service; the store and the monitor continue with lines of JSON, PMI-1
with its own text lines (source: MPICH, `src/pmi/maint/pmi-1.1.txt`). Nothing that arrives is
unpickled.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import selectors
import socket
import sys
import threading
import time
from collections import defaultdict, deque
from typing import Any

_LONGEST_LINE = 1 << 28  # of a store's value; a hello line is far shorter
_LONGEST_HELLO = 4096


class Connection:
    """What is known of a client."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.buffer = b""
        self.service: str | None = None
        self.rank: int | None = None
        self.facts: dict[str, Any] = {}
        self.over = False  # it said goodbye

    def send(self, data: bytes) -> None:
        """Send all of it; a client that went away is noticed where it is read from."""
        try:
            self.socket.setblocking(True)
            self.socket.sendall(data)
        except OSError:
            pass

    def say(self, **message: Any) -> None:
        """Send a line of JSON."""
        self.send((json.dumps(message) + "\n").encode())


class Server:
    """Serves until everybody who came has gone.

    Args:
        listener: a listening socket.
        size: how many ranks there will be; 0: a store alone.
        token: what clients must say.
        patience: seconds to wait for the first client.
        linger: go on when everybody has gone, until `stop` (a store that another process may come
            back to).
    """

    def __init__(
        self,
        listener: socket.socket,
        size: int = 0,
        token: str = "",
        patience: float = 1800.0,
        linger: bool = False,
    ) -> None:
        self.listener, self.size, self.token, self.patience, self.linger = (
            listener,
            size,
            token,
            patience,
            linger,
        )
        self.keys: dict[str, bytes] = {}
        self.queues: dict[str, deque[bytes]] = defaultdict(deque)
        # requests of the store that wait for keys
        self.waiting: list[tuple[Connection, dict[str, Any], float]] = []
        self.pmi_keys: dict[str, str] = {}
        # MPICH names its shared memory after it: no two jobs may share one
        self.pmi_name = f"kvs_{os.getpid()}_{time.time_ns()}"
        self.in_barrier: list[Connection] = []
        self.gone = ""  # a rank that ended with an error, in words
        self.watchers: dict[int, Connection] = {}
        self.strangers = 0  # connections that speak another protocol
        self.records: dict[str, dict[int, Any]] = {}
        self.connections: set[Connection] = set()
        self.selector = selectors.DefaultSelector()
        self.stopped = False

    # ---- connections -------------------------------------------------------------------------
    def run(self) -> None:
        """Serve."""
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        begin, came, empty_since = time.monotonic(), False, 0.0
        while not self.stopped:
            for key, _ in self.selector.select(self._until_next()):
                if key.data is None:
                    self._accept()
                    came = True
                else:
                    self._read(key.data)
            self._expire()
            now = time.monotonic()
            if self.connections or self.linger:
                empty_since = 0.0
            elif not empty_since:
                empty_since = now
            if (
                not came
                and now - begin > self.patience
                or came
                and empty_since
                and now - empty_since > 0.5
            ):
                break
        for connection in list(self.connections):
            connection.socket.close()
        self.listener.close()

    def stop(self) -> None:
        """End `run` within a second."""
        self.stopped = True

    def _until_next(self) -> float:
        ends = [end for _, _, end in self.waiting]
        return max(0.0, min([0.25, *(end - time.monotonic() for end in ends)]))

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock)
        self.connections.add(connection)
        self.selector.register(sock, selectors.EVENT_READ, connection)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self._gone(connection)
        connection.buffer += data
        if connection.service is None and not connection.buffer.startswith(b"{"):
            self.strangers += 1
            return self._gone(connection)
        if len(connection.buffer) > (_LONGEST_LINE if connection.service else _LONGEST_HELLO):
            return self._gone(connection)
        while b"\n" in connection.buffer:
            line, connection.buffer = connection.buffer.split(b"\n", 1)
            try:
                if connection.service is None:
                    self._hello(connection, json.loads(line))
                elif connection.service == "pmi":
                    self._pmi(connection, line.decode())
                elif connection.service == "store":
                    self._store(connection, json.loads(line))
                else:
                    self._watch(connection, json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                connection.say(error=f"not understood: {type(error).__name__}: {error}")
                return self._gone(connection)
            if connection not in self.connections:
                return None
        return None

    def _hello(self, connection: Connection, said: dict[str, Any]) -> None:
        if not hmac.compare_digest(str(said.get("token", "")).encode(), self.token.encode()):
            connection.say(error="the token is another job's")
            return self._gone(connection)
        if said["service"] not in ("pmi", "store", "watch"):
            raise ValueError("no such service")
        rank = said.get("rank")
        if said["service"] != "store":
            if type(rank) is not int or not 0 <= rank < self.size or said.get("size") != self.size:
                connection.say(
                    error=f"rank {rank} of {said.get('size')} does not belong to this job of {self.size} ranks"
                )
                return self._gone(connection)
            if said["service"] == "watch" and rank in self.watchers:
                connection.say(
                    error=f"another process is rank {rank} already (pid {self.watchers[rank].facts.get('pid')})"
                )
                return self._gone(connection)
        connection.service, connection.rank, connection.facts = said["service"], rank, said
        connection.say(ok=True)
        if connection.service == "watch":
            self.watchers[int(connection.facts["rank"])] = connection
            if len(self.watchers) == self.size:
                for watcher in self.watchers.values():
                    watcher.say(all=[self.watchers[r].facts.get("pid") for r in range(self.size)])
        return None

    def _gone(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        self.selector.unregister(connection.socket)
        connection.socket.close()
        self.waiting = [entry for entry in self.waiting if entry[0] is not connection]
        if connection.service == "watch" and not connection.over:
            self._lost(
                connection, "the process ended without an error message (killed, or out of memory)"
            )

    def _lost(
        self, connection: Connection, why: str, ended: bool = False, final: bool = True
    ) -> None:
        """Tell everybody that a rank will take part no more."""
        connection.over = True
        for watcher in list(self.watchers.values()):
            if watcher is not connection:
                watcher.say(
                    lost=connection.rank,
                    pid=connection.facts.get("pid"),
                    why=why,
                    ended=ended,
                    final=final,
                )
        if not ended:
            # Ranks inside MPI_Init cannot be told otherwise: the library ends them when its
            # connection is closed.
            self.gone = (
                self.gone
                or f"rank {connection.rank} (pid {connection.facts.get('pid')}) is gone: {why}"
            )
            waiting, self.in_barrier = self.in_barrier, []
            for waiter in waiting:
                self._end_joining(waiter)

    def _end_joining(self, waiter: Connection) -> None:
        """End a rank that is inside MPI_Init and waits there for one that will not come; its own
        threads cannot run meanwhile.
        """
        print(
            f"torch.distributed: rank {waiter.rank} is ended while it joins the others: {self.gone}",
            file=sys.stderr,
            flush=True,
        )
        waiter.send(b"cmd=barrier_out rc=-1 msg=gone\n")

    # ---- the store ---------------------------------------------------------------------------
    def _store(self, connection: Connection, said: dict[str, Any]) -> None:
        do, key = said["do"], said.get("key", "")
        if do in ("get", "wait"):
            self.waiting.append((connection, said, time.monotonic() + float(said["timeout"])))
            self._wake()
        elif do == "set":
            self.keys[key] = base64.b64decode(said["value"])
            connection.say(ok=True)
            self._wake()
        elif do == "add":
            total = int(self.keys.get(key, b"0")) + int(said["amount"])
            self.keys[key] = str(total).encode()
            connection.say(value=total)
            self._wake()
        elif do == "append":
            self.keys[key] = self.keys.get(key, b"") + base64.b64decode(said["value"])
            connection.say(ok=True)
            self._wake()
        elif do == "compare_set":
            held, expected, desired = (
                self.keys.get(key),
                base64.b64decode(said["expected"]),
                base64.b64decode(said["desired"]),
            )
            if held is None and not expected or held == expected:
                self.keys[key] = held = desired
            connection.say(value=base64.b64encode(expected if held is None else held).decode())
            self._wake()
        elif do in ("push", "pop", "length"):
            value = base64.b64decode(said["value"]) if do == "push" else None
            found = queued(self.queues[key], do, value)
            is_bytes = isinstance(found, bytes)
            connection.say(value=base64.b64encode(found).decode() if is_bytes else found)
        elif do == "check":
            connection.say(value=all(k in self.keys for k in said["keys"]))
        elif do == "delete":
            connection.say(value=self.keys.pop(key, None) is not None)
        elif do == "count":
            connection.say(value=len(self.keys))
        elif do == "list":
            connection.say(value=sorted(self.keys))
        else:
            raise ValueError(f"the store does not know {do!r}")

    def _wake(self) -> None:
        """Answer the requests whose keys are there."""
        left = []
        for entry in self.waiting:
            connection, said, _ = entry
            if all(key in self.keys for key in said["keys"]):
                value = self.keys[said["keys"][0]] if said["do"] == "get" else b""
                connection.say(value=base64.b64encode(value).decode())
            else:
                left.append(entry)
        self.waiting = left

    def _expire(self) -> None:
        now = time.monotonic()
        for entry in self.waiting:
            if entry[2] <= now:
                entry[0].say(timeout=[key for key in entry[1]["keys"] if key not in self.keys])
        self.waiting = [entry for entry in self.waiting if entry[2] > now]

    # ---- the watch ---------------------------------------------------------------------------
    def _watch(self, connection: Connection, said: dict[str, Any]) -> None:
        do = said["do"]
        if do == "failed":
            self._lost(connection, str(said["why"]))
        elif do == "left":
            self._lost(connection, str(said["why"]), True, bool(said.get("final")))
        elif do == "back":  # a group was made again after `destroy_process_group`
            connection.over = False
            for watcher in list(self.watchers.values()):
                if watcher is not connection:
                    watcher.say(back=connection.rank)
        elif do == "missing":
            connection.say(
                missing=[rank for rank in range(self.size) if rank not in self.watchers],
                strangers=self.strangers,
            )
        elif do == "record":
            found = self.records.setdefault(said["key"], {})
            found[connection.rank or 0] = said["me"]
            if len(found) == len(said["ranks"]):
                for rank in said["ranks"]:
                    if rank in self.watchers:
                        self.watchers[rank].say(
                            records=said["key"], found=[[r, found[r]] for r in sorted(found)]
                        )
                del self.records[said["key"]]
        elif do == "where":
            for rank in said["ranks"]:
                if rank in self.watchers and rank != connection.rank:
                    self.watchers[rank].say(where=connection.rank)
        elif do == "at":
            if said["to"] in self.watchers:
                self.watchers[said["to"]].say(at=connection.rank, text=said["text"])
        else:
            raise ValueError(f"the watch does not know {do!r}")

    # ---- the process manager -----------------------------------------------------------------
    def _pmi(self, connection: Connection, line: str) -> None:
        facts = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if "value=" in line:
            facts["value"] = line.split("value=", 1)[1]  # values may hold blanks and equal signs
        command = facts.get("cmd", "")
        answers = {
            "init": "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
            "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=4096",
            "get_appnum": "cmd=appnum rc=0 appnum=0",
            "get_my_kvsname": f"cmd=my_kvsname rc=0 kvsname={self.pmi_name}",
            "get_universe_size": f"cmd=universe_size rc=0 size={self.size}",
            "finalize": "cmd=finalize_ack rc=0",
        }
        if command == "put":
            self.pmi_keys[facts["key"]] = facts["value"]
            answer = "cmd=put_result rc=0 msg=success"
        elif command == "get":
            value = self.pmi_keys.get(facts["key"])
            answer = "cmd=get_result rc=" + (
                "-1 msg=key_not_found value=unknown"
                if value is None
                else f"0 msg=success value={value}"
            )
        elif command == "barrier_in" and self.gone:
            return self._end_joining(connection)
        elif command == "barrier_in":
            self.in_barrier.append(connection)
            if len(self.in_barrier) == self.size:
                for waiter in self.in_barrier:
                    waiter.send(b"cmd=barrier_out rc=0\n")
                self.in_barrier = []
            return
        elif command == "abort":
            if connection.rank in self.watchers:
                self._lost(self.watchers[connection.rank], "MPI_Abort was called")
            return
        else:
            answer = answers.get(command, f"cmd={command}_result rc=-1 msg=unknown")
        connection.send((answer + "\n").encode())


def queued(queue: deque[bytes], do: str, value: bytes | None) -> Any:
    """A request on a queue of a store; None: there is nothing to pop."""
    if do == "push":
        queue.append(value or b"")
        return None
    if do == "pop":
        return queue.popleft() if queue else None
    return len(queue)


def in_thread(listener: socket.socket, **options: Any) -> Server:
    """A server in a thread of this process, for a store without ranks."""
    server = Server(listener, linger=True, **options)
    threading.Thread(target=server.run, name="store", daemon=True).start()
    return server


if __name__ == "__main__":
    descriptor, size, patience = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    os.setsid()  # Ctrl+C in a terminal ends the ranks; the server goes when they have gone
    # not on the command line, which every user of the machine can read
    token = sys.stdin.readline().rstrip("\n")
    Server(socket.socket(fileno=descriptor), size, token, patience).run()
