"""`mp.spawn`: a function in several processes, and the exceptions of those that fail."""

from __future__ import annotations

import multiprocessing as _multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import connection as _connection
from typing import Any

from ..errors import ending as _ending


class ProcessException(Exception):
    """A process of `spawn` failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = error_pid


class ProcessRaisedException(ProcessException):
    """The function raised an error in a process. The message contains the traceback from there.

    >>> from pellucid import multiprocessing as mp
    >>> error = mp.ProcessRaisedException("ValueError: no data", error_index=1, error_pid=4321)
    >>> str(error), error.error_index
    ('ValueError: no data', 1)
    """


class ProcessExitedException(ProcessException):
    """A process ended with the exit code `exit_code`, or was killed by the signal `signal_name`.

    >>> from pellucid import multiprocessing as mp
    >>> error = mp.ProcessExitedException("killed", 0, 4321, exit_code=-9, signal_name="SIGKILL")
    >>> error.exit_code, error.signal_name
    (-9, 'SIGKILL')
    """

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, too
    except Exception as error:
        for told in _ending:
            told(error)
        errors.send(traceback.format_exc())
        errors.close()
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes(join=False)` started.

    context = torch.multiprocessing.spawn(train, nprocs=4, join=False)
    while not context.join(timeout=1):
        print("still running:", context.pids())
    """

    def __init__(self, processes: Sequence[Any], errors: Sequence[Any]) -> None:
        self.processes = list(processes)
        self._errors = list(errors)

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for a process to end; True when all have. When one failed, the others are stopped
        and its error is raised.

        `timeout` and `grace_period` (for the others to end by themselves) are in seconds.
        """
        running = {
            process.sentinel: i for i, process in enumerate(self.processes) if process.is_alive()
        }
        if running:
            _connection.wait(list(running), timeout)
        failed = next(
            (i for i, p in enumerate(self.processes) if p.exitcode not in (None, 0)), None
        )
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        end = time.monotonic() + (grace_period or 0)
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()
        raise self._error(failed)

    def _error(self, index: int) -> ProcessException:
        process, receiver = self.processes[index], self._errors[index]
        code = process.exitcode
        try:
            text = receiver.recv() if receiver.poll() else None
        except EOFError:
            text = None
        if text is not None:
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}",
                index,
                process.pid,
            )
        if code < 0:
            import signal

            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, process.pid, code
        )


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; with `join`, wait for all of them, else return
    their context.

    Raises:
        ProcessRaisedException: the function raised in one of them.
        ProcessExitedException: one of them ended otherwise.
    """
    context = _multiprocessing.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, sender), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        sender.close()
        processes.append(process)
        errors.append(receiver)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` for i = 0, ..., nprocs - 1, each in a new process.

    `fn` must be defined at the top level of a module. Protect the call with `if __name__ == "__main__":`, because each process
    imports the script again:

        def work(rank, x):
            x[rank] = rank * 10

        if __name__ == "__main__":
            x = torch.zeros(3).share_memory_()
            torch.multiprocessing.spawn(work, (x,), nprocs=3)
            print(x)  # tensor([ 0., 10., 20.])

    Args:
        fn: the function.
        args: its arguments after the process number. They are pickled; tensors are passed in shared memory.
        nprocs: how many processes to start. Default: 1.
        join: wait for all of them and return None. Otherwise return a `ProcessContext` at once. Default: True.
        daemon: end the processes when this one ends. Default: False.
        start_method: "spawn", "fork" or "forkserver". Default: "spawn".

    Raises:
        ProcessRaisedException: the function raised in one of the processes; the message contains the traceback.
        ProcessExitedException: one of the processes ended in another way, such as by a signal.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
