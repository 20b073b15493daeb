import os
import threading
import time

import numpy as np
import pytest

from pellucid import config
from pellucid.llvm import jit, threads
from pellucid.llvm.emit import Module


def count_kernel():
    """Adds 1 to x[i] for each i of its range, and 1 to used[thread]."""
    module = Module()
    f = threads.parallel_export(module, "count", {"x": "ptr", "used": "ptr"})
    with f.loop(f.begin, f.end) as i:
        f.store(f.load("i64", f.x, i) + 1, f.x, i)
    f.store(f.load("i64", f.used, f.thread) + 1, f.used, f.thread)
    f.ret()
    return jit.compile_ir(module.text(), {"count": "paaii"})["count"]


@pytest.fixture
def count():
    return count_kernel()


@pytest.fixture(params=["native", "condition"])
def waiting(request, monkeypatch):
    """Both ways to sleep: the system's, and the one for systems whose own is not used."""
    before = threads.get_num_threads()
    threads.set_num_threads(before + 1)  # ends the team of another test
    monkeypatch.setattr(threads, "_FUTEX", threads._FUTEX and request.param == "native")
    monkeypatch.setattr(threads, "_natives", None)
    yield
    threads.set_num_threads(before)
    threads._shutdown()


def run(count, n, grain):
    x, used = np.zeros(max(n, 1), np.int64), np.zeros(8, np.int64)
    count(threads.team(), x, used, n, grain)
    return x, used


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_each_iteration_runs_once(count, waiting, workers):
    threads.set_num_threads(workers)
    for n, grain in ((0, 1), (1, 1), (5, 10), (10, 10), (11, 10), (1000, 7)):
        for _ in range(20):
            x, used = run(count, n, grain)
            assert (x[:n] == 1).all()
            assert used[workers:].sum() == 0
            chunks = 1 if workers == 1 or n <= grain else -(-n // grain)
            assert used.sum() == (chunks if n else 0)


def test_sleeping_workers_wake_and_idle_ones_do_not_burn(count, waiting):
    threads.set_num_threads(2)
    run(count, 100, 10)
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1
    taken = 0
    for _ in range(200):
        x, used = run(count, 200_000, 1000)
        assert (x == 1).all()
        taken += used[1]
        if taken:
            break
    assert taken > 0


def test_loops_of_several_python_threads(count):
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    bad = []

    def work():
        for _ in range(200):
            x, _ = run(count, 500, 10)
            if not (x == 1).all():
                bad.append(x)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    threads.set_num_threads(before)
    assert not bad


def test_parallel_for_by_address():
    module = Module()
    f = module.function("fill", args="ptr", begin="i64", end="i64", thread="i64")
    with f.loop(f.begin, f.end) as i:
        f.store(i, f.args, i)
    f.ret()
    kernel = jit.compile_ir(module.text(), {"fill": "piii"})["fill"]
    x = np.zeros(100, np.int64)
    threads.parallel_for(jit.address(kernel), x.ctypes.data, 100, 9)
    assert (x == np.arange(100)).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Python 3.12 warns of forking with threads, which is what is tested
@pytest.mark.filterwarnings("ignore:This process")
def test_workers_return_after_fork(count):
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    run(count, 100, 10)
    child = os.fork()
    if child == 0:
        x, _ = run(count, 1000, 10)
        os._exit(0 if (x == 1).all() and threads._team is not None else 1)
    assert os.waitpid(child, 0)[1] == 0
    threads.set_num_threads(before)


def test_thread_count_is_checked():
    for bad in (0, -1):
        with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
            threads.set_num_threads(bad)
    with pytest.raises(TypeError, match="expects an int"):
        threads.set_num_threads(1.5)


def test_thread_count_from_environment(monkeypatch):
    monkeypatch.setattr(threads, "_threads", None)
    for variables, count in (
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "3", "PELLUCID_NUM_THREADS": "5"}, 5),
    ):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(
            config, "num_threads", config.read_environment(dict(os.environ))["num_threads"]
        )
        monkeypatch.setattr(threads, "_threads", None)
        assert threads.get_num_threads() == count
