"""`torchrun`: start a script as several ranks, monitor them, and restart them on request.

`pellucid torchrun`, `pellucid run --nproc_per_node N`, `python -m torch.distributed.run` and
`torch.distributed.launch` all run this.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from ..errors import ArgumentValueError, UnsupportedError
from .failures import ERROR_FILE, ChildFailedError, ProcessFailure
from .job.stores import DistError, DistNetworkError, DistStoreError, PrefixStore, TCPStore
from .rendezvous import token as token_of

_GRACE = 1.0  # seconds in which the other ranks may say what they know of a failure
_KILL_AFTER = 10.0  # seconds after SIGTERM
_LAST_PATIENCE = 60.0  # seconds for the launchers of other machines to end
_PR_SET_PDEATHSIG = 1


def get_args_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="torchrun",
        description="Start a script as several processes that find each other by torch.distributed.",
    )

    def add(*names: str, **options: Any) -> None:
        spelled = [
            n
            for name in names
            for n in dict.fromkeys((name, "--" + name.removeprefix("--").replace("-", "_")))
        ]
        parser.add_argument(*(spelled if names[-1].startswith("--") else names), **options)

    add("--nnodes", default="1", help="how many machines (a range of numbers is not supported)")
    add(
        "--nproc-per-node",
        default="1",
        help="processes on this machine: a number, or auto or cpu for one per core",
    )
    add(
        "--node-rank",
        type=int,
        default=int(os.environ.get("GROUP_RANK", 0)),
        help="the rank of this machine",
    )
    add("--master-addr", default=None, help="the address of the machine with rank 0")
    add(
        "--master-port",
        type=int,
        default=None,
        help="a free port there; default: on one machine any, else 29500",
    )
    add(
        "--rdzv-backend",
        default="static",
        help="static: --node-rank numbers the machines; c10d: the launchers meet at --rdzv-endpoint, "
        "and the machines are numbered as they come",
    )
    add(
        "--rdzv-endpoint",
        default="",
        help="host:port: static: as --master-addr and --master-port; c10d: where the launchers meet "
        "(default port 29400)",
    )
    add("--rdzv-id", default=None, help="the name of the job, the same on all machines")
    add(
        "--rdzv-conf",
        default="",
        help="c10d: join_timeout=SECONDS (600) to wait for the other machines",
    )
    add("--standalone", action="store_true", help="one machine, any free port")
    add(
        "--max-restarts",
        type=int,
        default=0,
        help="how often to restart all ranks after one fails",
    )
    add(
        "--monitor-interval",
        type=float,
        default=0.1,
        help="seconds between checks of the processes",
    )
    add("--start-method", default="spawn", help="accepted, without an effect")
    add("--role", default="default", help="accepted, without an effect")
    add("--log-dir", default=None, help="a folder for --redirects and --tee")
    parser.add_argument(
        "-r",
        "--redirects",
        default="0",
        help="write what the ranks print into files: 1 standard output, 2 standard error, 3 both, or "
        "0:1,1:2 for ranks of this machine",
    )
    parser.add_argument(
        "-t",
        "--tee",
        default="0",
        help="like --redirects, and also show it, with the rank before each line",
    )
    add("--local-ranks-filter", default="", help="show only what these ranks print, such as 0,1")
    add("--local-addr", default=None, help="c10d: the address of this machine for the others")
    parser.add_argument(
        "--use-env", "--use_env", action="store_true", help="accepted; LOCAL_RANK is always set"
    )
    add("--no-python", action="store_true", help="run the script directly, without Python")
    parser.add_argument(
        "-m", "--module", action="store_true", help="the script is the name of a module"
    )
    add(
        "--run-path",
        action="store_true",
        help="run the script with runpy, which is always done here",
    )
    parser.add_argument("training_script", help="the script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


class Machine(NamedTuple):
    """This machine's place in the job."""

    number: int
    first: int  # the rank of its first process
    size: int  # of the world
    host: str  # where rank 0 listens
    port: int


class Rank(NamedTuple):
    """A rank's process."""

    number: int
    local: int
    process: Any  # a `subprocess.Popen`, or what has its methods
    tail: Sequence[bytes]
    threads: list[threading.Thread]
    error_file: str


class LocalRanks:
    """The ranks of this machine.

    Args:
        options: the parsed command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        nodes = str(options.nnodes).split(":")
        if len(set(nodes)) > 1:
            raise UnsupportedError(
                f"torchrun: --nnodes={options.nnodes}: a job whose number of machines changes is not supported"
            )
        self.nodes = int(nodes[0])
        given = str(options.nproc_per_node)
        if given == "gpu":
            raise ArgumentValueError("Cuda is not available.")
        if given not in ("auto", "cpu") and not given.isdigit():
            raise ArgumentValueError(f"Unsupported nproc_per_node value: {given}")
        self.local = int(given) if given.isdigit() else len(os.sched_getaffinity(0))
        self.options, self.restarts = options, 0
        host, _, port = options.rdzv_endpoint.partition(":")
        alone = self.nodes == 1
        if options.rdzv_backend not in ("static", "c10d"):
            raise UnsupportedError(
                f"torchrun: --rdzv_backend={options.rdzv_backend} is not supported, only static and c10d"
            )
        self.meets = options.rdzv_backend == "c10d" and not alone and not options.standalone
        self.host = options.master_addr or host or ("127.0.0.1" if alone else None)
        if self.host is None:
            raise ValueError("torchrun: several machines need --master_addr or --rdzv_endpoint")
        usual = 29400 if self.meets else 29500
        self.port = (
            options.master_port or (int(port) if port else None) or (None if alone else usual)
        )
        if options.standalone:
            self.host, self.port = "127.0.0.1", None
        self.id = options.rdzv_id or (uuid.uuid4().hex if alone else "none")
        self.redirected = _streams(options.redirects, self.local)
        self.teed = _streams(options.tee, self.local)
        shown = str(options.local_ranks_filter)
        self.shown = {int(k) for k in shown.split(",")} if shown else set(range(self.local))
        self.folder = tempfile.mkdtemp(prefix="torchelastic_") if not options.log_dir else ""
        self.ranks: list[Rank] = []
        self.failures: dict[int, ProcessFailure] = {}  # by rank, the first one first
        self.store: TCPStore | None = None  # of the launchers that meet

    # ---- the other machines ------------------------------------------------------------------
    def join(self) -> Machine:
        """Find this machine's place: by its number, or (c10d) by meeting the other launchers.

        Raises:
            DistNetworkError, DistStoreError: the other launchers do not come in time.
        """
        if self.meets:
            return self._meet()
        port = self.port
        if port is None:
            port = _free_port(self.host or "")
        number = self.options.node_rank
        return Machine(number, number * self.local, self.local * self.nodes, self.host or "", port)

    def _meet(self) -> Machine:
        """The first launcher that can listen at the endpoint runs the store. Machines are numbered
        in the order of their coming, anew at each restart.
        """
        host, port = self.host or "", self.port or 0
        settings = dict(
            part.split("=", 1) for part in str(self.options.rdzv_conf).split(",") if "=" in part
        )
        patience = timedelta(seconds=float(settings.get("join_timeout", 600)))
        if self.store is None:
            token = token_of(self.id)
            try:
                self.store = TCPStore(host, port, is_master=True, timeout=patience, token=token)
            except DistNetworkError:  # another one listens there, or it is another machine's
                self.store = TCPStore(host, port, timeout=patience, token=token)
            self.store.add("came", 1)
        store = PrefixStore(f"attempt {self.restarts}", self.store)
        number = store.add("machines", 1) - 1
        if number >= self.nodes:
            raise DistStoreError(
                f"the job {self.id!r} has its {self.nodes} machines already: is --nnodes right?"
            )
        store.set(f"ranks of {number}", str(self.local))
        if number == 0:
            # The endpoint's own machine is known to all by the endpoint's name.
            mine = host if self.store.serves else self.store.address
            mine = self.options.local_addr or mine
            store.set("master", f"{mine} {_free_port('')}")
        keys = [f"ranks of {k}" for k in range(self.nodes)]
        try:
            store.wait(keys)
        except DistStoreError:
            came = store.add("machines", 0)
            raise DistStoreError(
                f"{came} of {self.nodes} machines came to {host}:{port} within "
                f"{patience.total_seconds():g} s"
            ) from None
        counts = [int(store.get(key)) for key in keys]
        master, _, free = store.get("master").decode().rpartition(" ")
        return Machine(number, sum(counts[:number]), sum(counts), master, int(free))

    def leave(self) -> None:
        """Tell the other launchers that this one is done. The one with the store waits for them:
        they may need it to start again.
        """
        if self.store is None:
            return
        try:
            self.store.add("left", 1)
            if self.store.serves:
                store = self.store
                _until(lambda: store.add("left", 0) >= store.add("came", 0), _LAST_PATIENCE)
        except (DistError, KeyboardInterrupt):  # the launcher that had the store is gone, or haste
            pass
        self.store.close()

    # ---- processes ---------------------------------------------------------------------------
    def command(self) -> list[str]:
        """What each rank runs."""
        chosen = self.options
        if chosen.no_python:
            return [chosen.training_script, *chosen.training_script_args]
        module = ["-m"] if chosen.module else []
        return [
            sys.executable,
            "-m",
            "pellucid",
            "run",
            *module,
            chosen.training_script,
            *chosen.training_script_args,
        ]

    def start(self) -> None:
        """Start the ranks."""
        machine = self.join()
        self.ranks = []
        for local in range(self.local):
            number = machine.first + local
            variables = {
                "RANK": number,
                "LOCAL_RANK": local,
                "GROUP_RANK": machine.number,
                "ROLE_RANK": number,
                "WORLD_SIZE": machine.size,
                "LOCAL_WORLD_SIZE": self.local,
                "GROUP_WORLD_SIZE": self.nodes,
                "ROLE_WORLD_SIZE": machine.size,
                "ROLE_NAME": self.options.role,
                "MASTER_ADDR": machine.host,
                "MASTER_PORT": machine.port,
                "TORCHELASTIC_RESTART_COUNT": self.restarts,
                "TORCHELASTIC_MAX_RESTARTS": self.options.max_restarts,
                "TORCHELASTIC_RUN_ID": self.id,
            }
            error_file = os.path.join(self._logs(local), "error.json")
            variables[ERROR_FILE] = error_file
            environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
            if self.local > 1:
                environment.setdefault("OMP_NUM_THREADS", "1")
            self.ranks.append(self.start_rank(number, local, environment, error_file))

    def start_rank(
        self, number: int, local: int, environment: dict[str, str], error_file: str
    ) -> Rank:
        """Start the process of one rank, and threads that pass on what it prints."""
        process = subprocess.Popen(
            self.command(),
            env=environment,
            stdout=subprocess.PIPE if self._copies() else None,
            stderr=subprocess.PIPE,
            preexec_fn=end_with_parent if sys.platform == "linux" else None,
        )
        tail: deque[bytes] = deque(maxlen=60)
        pipes = [(process.stderr, sys.stderr, 2, tail)]
        if process.stdout is not None:
            pipes.append((process.stdout, sys.stdout, 1, deque(maxlen=0)))
        threads = [
            threading.Thread(target=self._copy, args=(local, number, *pipe), daemon=True)
            for pipe in pipes
        ]
        for thread in threads:
            thread.start()
        return Rank(number, local, process, tail, threads, error_file)

    def _copies(self) -> bool:
        return any(self.teed) or any(self.redirected) or len(self.shown) < self.local

    def _logs(self, local: int) -> str:
        """The folder of a rank's files."""
        parts = self.id, f"attempt_{self.restarts}", str(local)
        folder = os.path.join(self.options.log_dir or self.folder, *parts)
        os.makedirs(folder, exist_ok=True)
        return folder

    def _copy(
        self, local: int, number: int, pipe: Any, stream: Any, which: int, tail: deque[bytes]
    ) -> None:
        """Pass on what a rank prints on standard output (1) or standard error (2)."""
        file = None
        teed = self.teed[local] & which
        if teed or self.redirected[local] & which:
            name = {1: "stdout.log", 2: "stderr.log"}[which]
            file = open(os.path.join(self._logs(local), name), "wb")
        shown = local in self.shown and (teed or file is None)
        for line in pipe:
            tail.append(line)
            if file is not None:
                file.write(line)
                file.flush()
            if shown:
                prefix = f"[{self.options.role}{number}]:".encode() if teed else b""
                target = getattr(stream, "buffer", None)
                if target is None:
                    stream.write((prefix + line).decode(errors="replace"))
                else:
                    target.write(prefix + line)
                stream.flush()
        if file is not None:
            file.close()

    # ---- watching ----------------------------------------------------------------------------
    def watch(self) -> Rank | None:
        """Wait until all ranks have ended well, or one has failed: the first one that did."""
        while True:
            for rank in self.ranks:
                if rank.process.poll() not in (None, 0):
                    return rank
            if all(rank.process.poll() == 0 for rank in self.ranks):
                return None
            time.sleep(min(self.options.monitor_interval, 0.1))

    def stop(self, number: int = signal.SIGTERM, grace: float = _GRACE) -> None:
        """End what is left: after a grace by a signal, and later without asking."""
        _until(lambda: all(rank.process.poll() is not None for rank in self.ranks), grace)
        for rank in self.ranks:
            if rank.process.poll() is None:
                rank.process.send_signal(number)
        _until(lambda: all(rank.process.poll() is not None for rank in self.ranks), _KILL_AFTER)
        for rank in self.ranks:
            if rank.process.poll() is None:
                rank.process.kill()
            rank.process.wait()
            for thread in rank.threads:
                thread.join(1.0)
            for pipe in (rank.process.stdout, rank.process.stderr):
                if pipe is not None and not any(thread.is_alive() for thread in rank.threads):
                    pipe.close()

    def run(self) -> int:
        """Run to the end; the exit status."""
        interrupted: list[int] = []

        def interrupt(number: int, frame: Any) -> None:
            interrupted.append(number)
            if len(interrupted) > 1:  # in a hurry
                for rank in self.ranks:
                    rank.process.kill()
            else:
                raise KeyboardInterrupt

        before = [
            (number, signal.signal(number, interrupt)) for number in (signal.SIGTERM, signal.SIGINT)
        ]
        try:
            while True:
                self.start()
                failed = self.watch()
                if failed is None:
                    self.stop()
                    return 0
                self.stop()
                if self.restarts >= self.options.max_restarts:
                    self.failures = {
                        rank.number: ProcessFailure(
                            rank.local, rank.process.pid, rank.process.returncode, rank.error_file
                        )
                        for rank in sorted(self.ranks, key=lambda rank: rank is not failed)
                        if rank.process.returncode
                    }
                    self._report(failed)
                    return (
                        failed.process.returncode
                        if failed.process.returncode > 0
                        else 128 - failed.process.returncode
                    )
                self.restarts += 1
                print(
                    f"torchrun: rank {failed.number} {_ending(failed)}; all ranks start again "
                    f"({self.restarts} of {self.options.max_restarts})",
                    file=sys.stderr,
                    flush=True,
                )
        except KeyboardInterrupt:
            self.stop(interrupted[0] if interrupted else signal.SIGINT, 0.0)
            return 128 + (interrupted[0] if interrupted else signal.SIGINT)
        except DistError as error:
            print(f"torchrun: the machines could not meet: {error}", file=sys.stderr, flush=True)
            return 1
        finally:
            self.leave()
            for number, handler in before:
                signal.signal(number, handler)
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def _report(self, failed: Rank) -> None:
        """All failures, the first one last, with the end of what it said."""
        line = "=" * 60
        print(f"{line}\n{self.options.training_script} FAILED", file=sys.stderr)
        for rank in self.ranks:
            if rank is not failed and rank.process.returncode:
                print(
                    f"rank {rank.number} (pid {rank.process.pid}) {_ending(rank)}, after the first failure",
                    file=sys.stderr,
                )
        print(
            f"Root Cause (first observed failure):\nrank {failed.number} (local_rank: {failed.local}, "
            f"pid {failed.process.pid}) {_ending(failed)}",
            file=sys.stderr,
        )
        sys.stderr.flush()
        said = self.failures[failed.number]
        if said.error_file_data is not None and not failed.tail:  # `record` has written it
            print(said.message, file=sys.stderr)
        tail = b"".join(failed.tail).decode(errors="replace")
        print(tail + line, file=sys.stderr, flush=True)


def _streams(given: str, ranks: int) -> list[int]:
    """Of each rank on this machine which streams are meant: 1 output, 2 errors, 3 both."""
    if given.isdigit():
        return [int(given)] * ranks
    found = [0] * ranks
    for part in given.split(","):
        rank, _, value = part.partition(":")
        if not (rank.isdigit() and value.isdigit() and int(rank) < ranks and int(value) < 4):
            raise ArgumentValueError(
                f"torchrun: --redirects and --tee are 0 to 3, or RANK:0 to RANK:3 for ranks below {ranks}, not {given!r}"
            )
        found[int(rank)] = int(value)
    return found


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        return int(probe.getsockname()[1])


def _ending(rank: Rank) -> str:
    code = rank.process.returncode
    return (
        f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exitcode {code}"
    )


def _until(condition: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


def end_with_parent() -> None:
    """In the child: it gets SIGTERM when the launcher is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """A command line, parsed; None means the process's own."""
    return get_args_parser().parse_args(args)


def run(args: argparse.Namespace) -> None:
    """Run a parsed command line.

    Raises:
        ChildFailedError: a rank failed.
    """
    job = LocalRanks(args)
    code = job.run()
    if job.failures:
        raise ChildFailedError(args.training_script, job.failures)
    if code:
        raise SystemExit(code)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line (default: the process's own).

    Raises:
        ChildFailedError: a rank failed.
    """
    run(parse_args(args))


def status(args: Sequence[str] | None = None) -> int:
    """Run a command line as a command does; the exit status."""
    return LocalRanks(parse_args(args)).run()


if __name__ == "__main__":
    sys.exit(status())
