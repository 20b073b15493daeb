"""What fails in one rank, and what the others say: rank, collective and line, soon, with nothing
left behind.
"""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from pellucid.distributed.job import server

from .harness import HERE, ROOT, collect, free_port, needs_mpi, start, thorough

pytestmark = [needs_mpi, pytest.mark.ranks]

HERE_AT = r"all_reduce number 11 of the default group at faulty\.py:\d+"
GONE = rf"DistBackendError: {HERE_AT}: rank 2 \(pid \d+\) is gone: "
LEFT = rf"DistBackendError: {HERE_AT}: rank 2 \(pid \d+\) has left: "
LATE = rf"Timed out waiting 4000ms for {HERE_AT}\. Meanwhile "
DIFFER = r"Detected mismatch between collectives on ranks: collective number 11 of the default group is\n"
ALL = r"    ranks 0, 1: all_reduce\(SUM, float32\[1000\]\) at faulty\.py:\d+\n"

# what the last of three ranks does: what the others say
FAULTS = {
    "killed": GONE + "the process ended without an error message",
    "killed inside": GONE + "the process ended without an error message",
    "killed in init": r"rank 2 \(pid \d+\) is gone: the process ended without an error message|PMI_Barrier returned -1",
    "raised": GONE + r"ValueError: bad sample at faulty\.py:\d+",
    "exited": LEFT + "the process has ended",
    "exited at once": GONE + "the process ended without an error message",
    "terminated": GONE + "the process ended without an error message",
    "interrupted": GONE + r"KeyboardInterrupt: +at faulty\.py:\d+",
    "returned": LEFT + "the process has ended",
    "destroyed": LEFT
    + r"(destroy_process_group was called at faulty\.py:\d+|the process has ended)",
    "forked": LEFT + "the process has ended",
    "stopped": LATE + r"(.*; )?rank 2 does not answer \(stopped",
    "late": LATE + r"(.*; )?rank 2 is at faulty\.py:\d+, its last one: all_reduce number 10",
    "group": rf"({LATE}|{GONE}).*(all_reduce number 1 of group 1 \(ranks 0, 1, 2 made at faulty\.py:\d+\)|is gone)",
    "shape": DIFFER + ALL + r"    rank 2: all_reduce\(SUM, float32\[10\]\) at faulty\.py:\d+",
    "asynchronous": DIFFER
    + ALL
    + r"    rank 2: all_reduce\(SUM, float32\[10\]\) at faulty\.py:\d+",
    "dtype": DIFFER + ALL + r"    rank 2: all_reduce\(SUM, float64\[1000\]\) at faulty\.py:\d+",
    "op": DIFFER + ALL + r"    rank 2: all_reduce\(MAX, float32\[1000\]\) at faulty\.py:\d+",
    "call": DIFFER + ALL + r"    rank 2: barrier\(\) at faulty\.py:\d+",
    "order": DIFFER + ALL + r"    rank 2: broadcast\(src=0, float32\[1000\]\) at faulty\.py:\d+",
    "root": DIFFER
    + r"    ranks 0, 1: broadcast\(src=0, float32\[1000\]\) at faulty\.py:\d+\n    rank 2: broadcast\(src=1, ",
    "list": DIFFER
    + r"    ranks 0, 1: all_gather\(float32, \[1000\], \[1000\], \[1000\]\) at faulty\.py:\d+\n"
    r"    rank 2: all_gather\(float32, \[1000\], \[1001\], \[1002\]\) at faulty\.py:\d+",
    "message": r"recv number 0 of the default group at faulty\.py:\d+|Timed out waiting 4000ms for recv|Detected mismatch|is gone",
}
ONE_SIDED = {name for name, said in FAULTS.items() if not said.startswith(DIFFER)}


def leftovers():
    """Servers that still run, and names of MPI's shared memory."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
    running = [line for line in listed.splitlines() if server.__file__ in line]
    return running + [name for name in os.listdir("/dev/shm") if name.startswith("mpich")]


@pytest.fixture(autouse=True)
def nothing_left():
    """A test leaves nothing behind; other jobs of the machine come and go meanwhile."""
    before = leftovers()
    yield
    left, end = set(leftovers()) - set(before), time.monotonic() + 30
    while left and time.monotonic() < end:
        time.sleep(0.1)
        left &= set(leftovers())
    assert not left


def fault_to_end(text, results):
    """Seconds from the fault to the end of the last survivor."""
    began = float(re.search(r"fault at ([\d.]+)", text)[1])
    return max(float(re.search(r"says so at ([\d.]+)", r.text)[1]) for r in results) - began


@pytest.mark.parametrize("how", ["shape", pytest.param("killed", marks=thorough)] + [
    pytest.param(how, marks=thorough) for how in FAULTS if how not in ("shape", "killed")
])  # fmt: skip
def test_a_rank_fails(how, tmp_path):
    started = start("faulty.py", 3, how, folder=tmp_path)
    try:
        survivors = collect(started[:2], 60)
        if how in ("stopped", "late", "terminated", "interrupted"):
            started[2][0].kill()
        (failed,) = collect(started[2:], 60)
    finally:
        for process, _ in started:
            process.kill()
    for result in survivors:
        assert result.code not in (0, None), result
        assert re.search(FAULTS[how], result.text), result.text[-2000:]
    if how not in ONE_SIDED:
        assert failed.code not in (0, None) and re.search(FAULTS[how], failed.text), failed.text
    if how == "forked":
        assert (
            "child: NotImplementedError: torch.distributed: this process was forked from a rank"
            in failed.text
        ), failed.text
    # inside MPI_Init no thread of the rank can speak: the server does, on the standard error of
    # rank 0
    if how == "killed in init":
        assert re.search(
            r"rank 1 is ended while it joins the others: rank 2 \(pid \d+\) is gone",
            survivors[0].text,
        ), survivors
    # ranks that are ended while they join say nothing themselves
    seconds = fault_to_end(failed.text, survivors) if how != "killed in init" else 0.0
    print(f"{how}: {seconds:.1f} s")
    assert seconds < 20


@thorough
def test_rank_0_is_killed(tmp_path):
    results = collect(start("faulty.py", 3, "rank 0 killed", folder=tmp_path), 60)
    assert results[0].code == -signal.SIGKILL
    for result in results[1:]:
        assert result.code not in (0, None) and re.search(
            r"rank 0 \(pid \d+\) is gone: the process ended", result.text
        ), result


@thorough
def test_the_server_is_killed(tmp_path):
    killed = tmp_path / "killed"
    started = start("faulty.py", 3, "server killed", killed, folder=tmp_path)
    end = time.monotonic() + 40
    while "fault at" not in (tmp_path / "rank2.txt").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    ranks = {str(process.pid) for process, _ in started}
    listed = subprocess.run(["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True).stdout
    servers = [line.split() for line in listed.splitlines() if server.__file__ in line]
    (pid,) = [pid for pid, parent, *_ in servers if parent in ranks]
    os.kill(int(pid), signal.SIGKILL)
    killed.touch()
    results = collect(started, 60)
    for result in results:
        assert (
            result.code == 0
            or result.code is not None
            and "the server of the job is gone" in result.text
        ), result


def test_a_rank_never_comes(tmp_path):
    results = collect(start("faulty.py", 3, "", folder=tmp_path, ranks=[0, 2]), 60)
    for result in results:
        assert result.code not in (0, None)
        assert re.search(
            r"DistStoreError: Timed out after 4 seconds waiting for clients\. 2/3 clients joined\. Missing: rank 1",
            result.text,
        )


@thorough
def test_shared_memory_is_full(tmp_path):
    """A machine whose /dev/shm has no room: the ranks work without a window, or say what is
    missing; nobody hangs.
    """
    little = [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"',
        "sh",
    ]
    if subprocess.run([*little, "true"], capture_output=True).returncode:
        pytest.skip("needs a mount of its own")
    results = collect(
        start("faulty.py", 3, "", folder=tmp_path, python=(*little, sys.executable)), 60
    )
    for result in results:
        assert result.code is not None and (
            result.code == 0 and "the end" in result.text or "rror" in result.text
        ), result


@thorough
def test_nobody_listens(tmp_path):
    (result,) = collect(start("faulty.py", 3, "", folder=tmp_path, ranks=[1]), 60)
    assert (
        result.code not in (0, None)
        and "The client socket has timed out after 4000ms while trying to connect" in result.text
    )


@thorough
def test_a_port_is_taken(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        (result,) = collect(
            start("faulty.py", 3, "", folder=tmp_path, ranks=[0], port=server.getsockname()[1]), 60
        )
    assert result.code not in (0, None) and "EADDRINUSE" in result.text


def torchrun(*arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pellucid", "torchrun", *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


LAUNCHED = str(HERE / "programs" / "launched.py")


def test_torchrun_starts_again_and_shows_the_first_failure_last(tmp_path):
    process = torchrun("--nproc_per_node=2", "--max-restarts=1", LAUNCHED, "fail", "--option")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert sorted(out.splitlines()) == [
        f"rank {r} of 2, restart {k}, ['fail', '--option']" for r in range(2) for k in range(2)
    ]
    process = torchrun(
        "--nproc_per_node",
        "2",
        "--standalone",
        "-m",
        "launched",
        "fail",
        "always",
        cwd=HERE / "programs",
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and err.rstrip().splitlines()[-2] == "ValueError: bad sample", (
        err
    )
    assert "Root Cause (first observed failure):\nrank 1 (local_rank: 1, pid " in err


@thorough
@pytest.mark.parametrize("how", ["raised", "killed"])
def test_a_restart_goes_on_from_the_last_checkpoint(how, tmp_path):
    """A rank fails in the fourth epoch: all start again from the end of the third, and end with the
    same bits as without a failure.
    """
    ended = {}
    for name in ("without", how):
        folder = tmp_path / name
        folder.mkdir()
        process = torchrun(
            "--nproc_per_node=2",
            "--max-restarts=2",
            str(HERE / "programs" / "resumed.py"),
            str(folder),
            name,
        )
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        said = [re.match(r"rank (\d) began at (\d): (.*)", line) for line in out.splitlines()]
        assert (
            sorted(found[1] for found in said) == ["0", "1"]
            and len({found[3] for found in said}) == 1
        ), out
        assert {found[2] for found in said} == {"0" if name == "without" else "3"}, out
        ended[name] = said[0][3]
        if name != "without":
            assert re.search(r"torchrun: rank \d .*; all ranks start again \(1 of 2\)", err), err
    assert ended["without"] == ended[how]


@thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_launcher_is_ended(number, tmp_path):
    process = torchrun("--nproc_per_node=2", LAUNCHED, "wait", str(tmp_path))
    end = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    pids = [int(path.name) for path in tmp_path.iterdir()]
    process.send_signal(number)
    process.communicate(timeout=40)
    assert process.returncode in (128 + number, -number)
    end = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(pids) == 2 and not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@thorough
def test_nothing_is_left_after_many_starts(tmp_path):
    """Fifty, all on one port, as a script with a fixed MASTER_PORT: what listened is gone, too."""
    port = free_port()
    for _ in range(50):
        for result in collect(
            start("launched.py", 2, folder=tmp_path, port=port, TORCHELASTIC_RESTART_COUNT="0"),
            60,
        ):
            assert result.code == 0, result
