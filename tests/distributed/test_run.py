"""torchrun's launchers find each other: numbers of machines and ranks, and what goes wrong."""

import dataclasses
import os
import re
import socket
import subprocess
import sys
import threading

import pytest

from pellucid.distributed.failures import ChildFailedError
from pellucid.distributed.job.stores import DistNetworkError, DistStoreError
from pellucid.distributed.launcher import LaunchConfig, elastic_launch
from pellucid.distributed.run import LocalRanks, get_args_parser, main


def job(*options):
    return LocalRanks(get_args_parser().parse_args([*options, "train.py"]))


def free():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def meeting(*each, conf=""):
    """The machines of launchers that meet, or their errors; each launcher has so many processes."""
    port, made = free(), [None] * len(each)
    nodes = str(len(each))

    def come(k):
        options = ("--nnodes", nodes, "--nproc_per_node", str(each[k]), "--rdzv_backend", "c10d")
        endpoint = ("--rdzv_endpoint", f"127.0.0.1:{port}", "--rdzv_id", "a", "--rdzv_conf", conf)
        launcher = job(*options, *endpoint)
        found = []
        for _ in range(2):  # again, as for a restart
            found.append(launcher.join())
            launcher.restarts += 1
        launcher.leave()
        made[k] = found

    threads = [threading.Thread(target=come, args=(k,)) for k in range(len(each))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return made


def test_launchers_that_meet_number_the_machines():
    each = [1, 3, 2]
    made = meeting(*each)
    for attempt in range(2):
        machines = [found[attempt] for found in made]
        assert sorted(m.number for m in machines) == [0, 1, 2]
        assert {m.size for m in machines} == {6}
        assert len({(m.host, m.port) for m in machines}) == 1
        ranks = [m.first + k for m, count in zip(machines, each, strict=True) for k in range(count)]
        assert sorted(ranks) == list(range(6))


def test_static_launchers_are_numbered_by_hand():
    given = ("--nnodes", "2", "--nproc_per_node", "4", "--master_addr", "10.0.0.1")
    machine = job(*given, "--node_rank", "1").join()
    assert machine == (1, 4, 8, "10.0.0.1", 29500)


def test_a_machine_that_does_not_come_is_counted():
    given = ("--nnodes", "3", "--rdzv_backend", "c10d", "--rdzv_conf", "join_timeout=0.1")
    launcher = job(*given, "--rdzv_endpoint", f"127.0.0.1:{free()}")
    with pytest.raises(DistStoreError, match=r"1 of 3 machines came to 127.0.0.1:\d+ within 0.1 s"):
        launcher.join()
    launcher.leave()


def test_one_machine_too_many_is_refused():
    endpoint = f"127.0.0.1:{free()}"
    given = ("--nnodes", "1:1", "--rdzv_backend", "c10d", "--rdzv_endpoint", endpoint)
    given += ("--rdzv_id", "a")
    launcher = job(*given)
    launcher.meets = True  # a job of one machine does not meet anybody
    assert launcher.join().size == 1
    other = job(*given)
    other.meets = True
    with pytest.raises(DistStoreError, match="has its 1 machines already: is --nnodes right"):
        other.join()
    other.leave()
    stranger = job(*given, "--rdzv_id", "b")
    stranger.meets = True
    with pytest.raises(DistNetworkError, match="the token is another job's"):
        stranger.join()
    launcher.leave()


def test_an_unknown_way_to_meet_names_itself():
    with pytest.raises(NotImplementedError, match="--rdzv_backend=etcd is not supported"):
        job("--nnodes", "2", "--rdzv_backend", "etcd", "--rdzv_endpoint", "a:1")


def test_a_launcher_alone_ends_with_a_sentence():
    command = [sys.executable, "-m", "pellucid", "torchrun", "--nnodes", "2", "--rdzv_backend"]
    endpoint = ["c10d", "--rdzv_endpoint", f"127.0.0.1:{free()}", "--rdzv_conf", "join_timeout=0.1"]
    ended = subprocess.run([*command, *endpoint, "train.py"], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "torchrun: the machines could not meet: 1 of 2 machines came" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_program_that_starts_ranks_gets_their_failure(capfd):
    """Accelerate calls `run`, and took a failure for success."""
    started = ["--nproc_per_node", "2", "--no-python", "--standalone", "sh", "-c"]
    main([*started, "exit 0"])
    with pytest.raises(ChildFailedError) as failed:
        main([*started, "test $RANK = 0 || exit 3; exec sleep 60"])
    rank, failure = failed.value.get_first_failure()
    assert (rank, failure.exitcode, failure.error_file) == (1, 3, "<N/A>")
    assert failed.value.failures[0].signal_name() == "SIGTERM"
    lines = str(failed.value).splitlines()
    assert lines[1:4] == ["=" * 60, "sh FAILED", "-" * 60] and lines[-1] == "=" * 60
    assert f"  exitcode  : 3 (pid: {failure.pid}) " in lines
    assert "rank 1" in capfd.readouterr().err


def _in_a_rank(folder, how):
    """A function of ranks: what the launcher told it; fails as asked."""
    rank, again = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
    if how == "always" or how == "once" and again == "0" and rank == "1":
        raise ValueError(f"bad sample {rank}")
    return f"{rank} of {os.environ['WORLD_SIZE']}, {again}", [0] * 100_000


def test_a_function_is_started_as_ranks(tmp_path):
    """Accelerate's `notebook_launcher` asks for the fields and starts a function."""
    config = {"min_nodes": 1, "max_nodes": 1, "nproc_per_node": 2, "start_method": "fork"}
    config |= {"rdzv_backend": "static", "rdzv_endpoint": f"127.0.0.1:{free()}", "run_id": "none"}
    assert {"nproc_per_node", "rdzv_configs"} <= {f.name for f in dataclasses.fields(LaunchConfig)}
    once = elastic_launch(LaunchConfig(**config, max_restarts=1), _in_a_rank)(tmp_path, "once")
    assert {rank: said for rank, (said, _) in once.items()} == {0: "0 of 2, 1", 1: "1 of 2, 1"}
    assert len(once[0][1]) == 100_000 and "TORCHELASTIC_RUN_ID" not in os.environ
    with pytest.raises(ChildFailedError, match="_in_a_rank FAILED") as failed:
        elastic_launch(LaunchConfig(**config, max_restarts=0), _in_a_rank)(tmp_path, "always")
    rank, failure = failed.value.get_first_failure()
    assert re.search(f"ValueError: bad sample {rank}\n", failure.message) and failure.exitcode == 1
    command = elastic_launch(LaunchConfig(**config, max_restarts=0), "sh")
    assert command("-c", "exit 0") == {0: None, 1: None}
    with pytest.raises(NotImplementedError, match=r"LaunchConfig\(logs_specs=...\) is not supp"):
        elastic_launch(LaunchConfig(**config, logs_specs=1), abs)(1)
    with pytest.raises(ValueError, match="shutdown_timeout must be non-negative, got -1"):
        LaunchConfig(**config, shutdown_timeout=-1)
