"""`torch.distributed.launcher`: a program starts a function or a command as several ranks. Accelerate's
`notebook_launcher` does so.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentValueError, UnsupportedError
from ..errors import ending as _ending
from .failures import ChildFailedError, record
from .run import LocalRanks, Rank, end_with_parent, get_args_parser

_WITHOUT = (
    "logs_specs",
    "log_line_prefix_template",
    "duplicate_stdout_filters",
    "duplicate_stderr_filters",
    "virtual_local_rank",
)  # settings that are refused unless they have their default


@dataclass
class LaunchConfig:
    """How `elastic_launch` starts ranks.

    Args:
        min_nodes, max_nodes: how many machines; both have to be the same number.
        nproc_per_node: processes on this machine.
        run_id: the name of the job, the same on all machines.
        rdzv_endpoint: host:port of rank 0 ("static"), or where the launchers meet ("c10d").
        rdzv_backend: "static" or "c10d". Default: "etcd", which works on one machine only.
        rdzv_configs: "rank" is the number of this machine ("static"), "join_timeout" the seconds to
            wait for the others ("c10d").
        max_restarts: how often to start all ranks again after one fails. Default: 3.
        monitor_interval: seconds between checks of the processes. Default: 0.1.
        start_method: "spawn", "fork" or "forkserver", for functions. Default: "spawn".

    >>> from pellucid.distributed.launcher import LaunchConfig
    >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2).max_restarts
    3
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        self.rdzv_configs.setdefault("timeout", 900)
        if self.shutdown_timeout is None:
            self.shutdown_timeout = int(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))
        elif self.shutdown_timeout < 0:
            raise ArgumentValueError(
                f"shutdown_timeout must be non-negative, got {self.shutdown_timeout}"
            )

    def options(self, script: str, arguments: Sequence[Any]) -> argparse.Namespace:
        """The command line of `torchrun` that says the same.

        Raises:
            NotImplementedError: a setting that only PyTorch has.
        """
        for name in _WITHOUT:
            if getattr(self, name):
                raise UnsupportedError(
                    f"torch.distributed: LaunchConfig({name}=...) is not supported"
                )
        one = self.min_nodes == self.max_nodes == 1
        options = get_args_parser().parse_args([script or "-"])
        options.training_script, options.training_script_args = script, [*map(str, arguments)]
        options.no_python = True
        options.nnodes = f"{self.min_nodes}:{self.max_nodes}"
        options.nproc_per_node = self.nproc_per_node
        options.rdzv_id = self.run_id or None
        options.rdzv_endpoint = self.rdzv_endpoint
        options.rdzv_backend = (
            "static" if one and self.rdzv_backend == "etcd" else self.rdzv_backend
        )
        options.rdzv_conf = f"join_timeout={self.rdzv_configs.get('join_timeout', 600)}"
        options.node_rank = int(self.rdzv_configs.get("rank", options.node_rank))
        options.max_restarts, options.role = self.max_restarts, self.role
        options.monitor_interval, options.local_addr = self.monitor_interval, self.local_addr
        return options


class elastic_launch:  # noqa: N801 (PyTorch's name)
    """Starts a function or a command as several ranks when it is called.

    Args:
        config: how.
        entrypoint: a function, or the name of a program.

    >>> import pellucid as torch
    >>> from pellucid.distributed.launcher import LaunchConfig, elastic_launch
    >>> config = LaunchConfig(1, 1, 2, rdzv_backend="static", start_method="fork", max_restarts=0)
    >>> elastic_launch(config, abs)(-3)
    {0: 3, 1: 3}
    """

    def __init__(
        self,
        config: LaunchConfig,
        entrypoint: Callable[..., Any] | str | None,
        health_check_server: Any = None,
    ) -> None:
        self._config, self._entrypoint = config, entrypoint
        self._health = health_check_server

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args), self._health)


def launch_agent(
    config: LaunchConfig,
    entrypoint: Callable[..., Any] | str | None,
    args: list[Any],
    health_check_server: Any = None,
) -> dict[int, Any]:
    """Start the ranks of this machine and wait for them; what a function returned, by rank.

    Raises:
        ChildFailedError: a rank failed.
    """
    if health_check_server is not None:
        raise UnsupportedError("torch.distributed: health_check_server is not supported")
    job: LocalRanks
    if callable(entrypoint):
        name = getattr(entrypoint, "__name__", "")
        job = _Functions(config.options(name, ()), entrypoint, tuple(args), config.start_method)
    else:
        name = str(entrypoint or "")
        if name == sys.executable:
            name = next((str(arg) for arg in args if not str(arg).startswith("-")), "")
        job = LocalRanks(config.options(str(entrypoint), args))
    code = job.run()
    if job.failures:
        raise ChildFailedError(name, job.failures)
    if code > 128:
        raise KeyboardInterrupt
    if code:
        raise SystemExit(code)
    return (
        job.returned if isinstance(job, _Functions) else {rank.number: None for rank in job.ranks}
    )


class _Functions(LocalRanks):
    """Ranks that call a function."""

    def __init__(
        self,
        options: argparse.Namespace,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        start_method: str,
    ) -> None:
        super().__init__(options)
        self.function, self.args = function, args
        self.context = multiprocessing.get_context(start_method)
        self.returned: dict[int, Any] = {}

    def start_rank(
        self, number: int, local: int, environment: dict[str, str], error_file: str
    ) -> Rank:
        """Start the function; a thread takes what it returns."""
        receiver, sender = self.context.Pipe(duplex=False)
        before = dict(os.environ)
        os.environ.update(environment)  # a spawned process reads some of it as it starts
        try:
            process = self.context.Process(  # type: ignore[attr-defined]
                target=_work, args=(self.function, self.args, sender)
            )
            process.start()
        finally:
            os.environ.clear()
            os.environ.update(before)
        sender.close()

        def take() -> None:
            try:
                self.returned[number] = receiver.recv()
            except EOFError:  # it failed
                pass
            receiver.close()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        return Rank(number, local, _Process(process), [], [thread], error_file)

    def _report(self, failed: Rank) -> None:
        """Nothing: the error that is raised says it."""


class _Process:
    """A process that calls a function, with the methods of `subprocess.Popen` that a job needs."""

    stdout = stderr = None

    def __init__(self, process: Any) -> None:
        self._process, self.pid = process, process.pid

    @property
    def returncode(self) -> Any:
        """As `multiprocessing` counts, which is as `subprocess` does."""
        return self._process.exitcode

    def poll(self) -> Any:
        """The exit status; None while it runs."""
        return self._process.exitcode

    def wait(self) -> Any:
        """Wait for its end."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


def _work(function: Callable[..., Any], args: tuple[Any, ...], sender: Any) -> None:
    """In the child."""
    if sys.platform == "linux":
        end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a forked process has the launcher's
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sender.send(record(function)(*args))
    except Exception as error:
        for told in _ending:
            told(error)
        traceback.print_exc()
        sys.exit(1)
    finally:
        sender.close()
