"""Starts a program as several ranks, and collects what they said."""

import importlib.metadata
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# `make distributed`: 2,3,4
RANKS = [int(n) for n in os.environ.get("PELLUCID_TEST_RANKS", "2").split(",")]
THOROUGH = len(RANKS) > 1

needs_mpi = pytest.mark.skipif(
    not {"mpi4py", "mpich"} <= {d.name for d in importlib.metadata.distributions()},
    reason="mpi4py or mpich is not installed",
)
thorough = pytest.mark.skipif(not THOROUGH, reason="runs in `make distributed`")


class Ended(NamedTuple):
    """A rank that has ended: exit status, both outputs together, seconds since the start."""

    code: int
    text: str
    seconds: float


def free_port():
    """A port that nobody uses, below those that the system gives to connections: one of these could
    be taken between two starts of a test that keeps its port.
    """
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(10_000, 32_000))) as server:
                return server.getsockname()[1]
        except OSError:
            continue


def environment(rank, size, port, **more):
    """Of a rank, as launchers make it."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "LOCAL_RANK": str(rank),
        "OMP_NUM_THREADS": "1",
        "PELLUCID_NUM_THREADS": "1",
        **more,
    }


def start(
    program, size, *arguments, folder=None, ranks=None, port=None, python=(sys.executable,), **more
):
    """Processes of the ranks, under way, and the files of what they say."""
    port = port or free_port()
    path = program if os.path.isabs(program) else str(HERE / "programs" / program)
    started = []
    for rank in range(size) if ranks is None else ranks:
        file = open(Path(folder) / f"rank{rank}.txt", "w+", encoding="utf-8")
        command = [*python, path, *map(str, arguments)]
        process = subprocess.Popen(
            command,
            env=environment(rank, size, port, **more),
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        started.append((process, file))
    return started


def collect(started, timeout=300.0):
    """What became of them; whoever has not ended in time is killed and has the code None."""
    begin, ended = time.monotonic(), {}
    while len(ended) < len(started) and time.monotonic() - begin < timeout:
        for i, (process, _) in enumerate(started):
            if i not in ended and process.poll() is not None:
                ended[i] = time.monotonic() - begin
        time.sleep(0.01)
    results = []
    for i, (process, file) in enumerate(started):
        late = i not in ended
        if late:
            process.kill()
        process.wait()
        file.seek(0)
        results.append(
            Ended(None if late else process.returncode, file.read(), ended.get(i, timeout))
        )
        file.close()
    return results


def launch(program, size, *arguments, folder, timeout=300.0, **more):
    """Start, wait, and see that all ranks ended well; returns their texts."""
    results = collect(start(program, size, *arguments, folder=folder, **more), timeout)
    for rank, result in enumerate(results):
        assert result.code == 0, f"rank {rank} of {size} ended with {result.code}:\n{result.text}"
    return [result.text for result in results]
