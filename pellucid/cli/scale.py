"""`pellucid scale`: measure a script's training step here, and predict it on many ranks."""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pellucid.core import observe
from pellucid.distributed.cost import NETWORKS, OVERLAP, MeasuredStep, Network, Prediction, predict
from pellucid.interop.children import as_torch_too

from . import run
from .command_line import Enough, Parser, add_common, flush, silencing, split, target

_EPILOG = """\
The script runs as one process for 20 steps of its optimizer (or --max-steps).
It measures the whole step, its backward pass and its update, the gradients in
the buckets of DistributedDataParallel, and the memory of the optimizer. The
prediction assumes the same batch on each rank (weak scaling). Compiled code
runs eagerly here. Compiled steps are faster, so communication takes a larger
share of them.

Options may come before or after SCRIPT. All other arguments after it, and
everything after --, belong to the script.

--check also starts the script as two ranks on this machine, and compares their
step with the prediction. It needs a script that torchrun can start, and a core
for each rank. If other programs use the cores, a rank waits for its turn, and
the other rank waits for it. The output says how long. With --realtime (as root,
or with CAP_SYS_NICE) the ranks run first.

examples:
  pellucid scale train.py --ranks 8,64,512 --network 10GbE
  pellucid scale train.py --ranks 8,64 --epochs 1     --epochs is the script's
  pellucid scale --network here --check train.py
  pellucid scale --latency 10e-6 --bandwidth 5e9 --format json -m package.train
"""
_WARM = 5  # steps that are watched and not timed
_STEPS = 20
_HERE = "here"


def main(argv: Sequence[str]) -> int:
    """Measure, predict, print; returns the exit status."""
    parser = _parser()
    own, rest = split(parser, argv, anywhere=True)
    options = parser.parse_args(own)
    what = target(options, parser)
    if options.max_steps is not None and options.max_steps <= _WARM + 1:
        parser.error(
            f"--max-steps must be above {_WARM + 1}: the first {_WARM} steps are not timed"
        )
    ranks = _ranks(options.ranks, parser)
    if options.realtime:
        _take_precedence(parser)
    alone = options.report is None
    if alone:  # as the only rank
        for name, value in {
            "RANK": 0,
            "LOCAL_RANK": 0,
            "WORLD_SIZE": 1,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": _port(),
        }.items():
            os.environ.setdefault(name, str(value))
    meter = Meter(options.max_steps or _STEPS, options.bucket_cap_mb)
    with silencing(options.quiet), as_torch_too():
        try:
            code, module = run.load(*what, rest)
        except run.NotFound as error:
            print(f"pellucid: {error}", file=sys.stderr)
            return error.status
        try:
            with meter:
                run._execute(code, module)
        except Enough:
            pass
        flush()
    step = meter.step()
    if step is None:
        print(
            f"pellucid scale: the script made {meter.count} steps of an optimizer; at least {_WARM + 2} are needed",
            file=sys.stderr,
        )
        return 1
    if not alone:
        Path(f"{options.report}.{os.environ['RANK']}").write_text(
            json.dumps(asdict(step)), encoding="utf-8"
        )
        return 0
    here = (
        measured_network()
        if _HERE in (options.network, *([_HERE] if options.check else ()))
        else None
    )
    network = here if options.network == _HERE else _network(options)
    assert network is not None
    found = {n: predict(step, network, n) for n in ranks}
    checked = None
    if options.check:
        assert here is not None
        checked = _checked(here, argv)
    if options.format == "json":
        print(json.dumps(_as_json(step, network, found, checked)))
    else:
        print(_text(step, network, found, meter.optimizers, checked))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid scale",
        usage="pellucid scale [options] (SCRIPT | -m MODULE | -c CODE) [options] [ARGS ...]",
        description="Measure a script's training step here, and predict it on many ranks.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_common(parser, "measure")
    parser.add_argument(
        "--ranks",
        metavar="N,N,...",
        default="2,8,64,512",
        help="how many ranks (default: 2,8,64,512)",
    )
    parser.add_argument(
        "--network",
        choices=(*NETWORKS, _HERE),
        default="10GbE",
        help="the network between them; `here` measures two ranks on this machine",
    )
    parser.add_argument(
        "--latency",
        metavar="SECONDS",
        type=float,
        help="the latency of a message, instead of the network's",
    )
    parser.add_argument(
        "--bandwidth",
        metavar="BYTES",
        type=float,
        help="bytes per second between two ranks, instead of the network's",
    )
    parser.add_argument(
        "--bucket_cap_mb",
        metavar="MB",
        type=float,
        help="size of the buckets of gradients (default: 25)",
    )
    parser.add_argument(
        "--check", action="store_true", help="also run the script as two ranks here, and compare"
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="measure with real-time priority: other programs take no time slices",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    parser.add_argument("--report", help=argparse.SUPPRESS)
    return parser


def _ranks(text: str, parser: argparse.ArgumentParser) -> list[int]:
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        parser.error(f"--ranks must be numbers like 8,64,512, not {text!r}")
    return found


def _take_precedence(parser: argparse.ArgumentParser) -> None:
    """Give this process, and the ranks that it starts, real-time priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (AttributeError, OSError) as error:
        parser.error(f"--realtime is not possible here: {error}")


def _network(options: Any) -> Network:
    chosen = NETWORKS[options.network]
    if options.latency is None and options.bandwidth is None:
        return chosen
    return replace(
        chosen,
        name="a network of your own",
        start=chosen.start if options.latency is None else options.latency,
        bandwidth=chosen.bandwidth if options.bandwidth is None else options.bandwidth,
    )


def _port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


# ---- measuring a step ------------------------------------------------------------------------------------
class Meter:
    """Watches a script's first steps, times the ones after them, and ends it."""

    def __init__(self, steps: int, cap: float | None) -> None:
        self.steps, self.cap = steps, cap
        self.count = 0
        self.parameters: dict[int, Any] = {}  # those with a gradient
        self.optimizers: list[Any] = []
        self.times: list[float] = []
        self.updates: list[float] = []
        self.delays: list[float] = []
        # seconds of a step that was watched, and of its backward
        self.watched: list[tuple[float, float]] = []
        self._backward = self._began = self._before_this = self._updating = 0.0
        self._watching = False
        self._handles: list[Any] = []

    def __enter__(self) -> Meter:
        from pellucid.optim import optimizer

        observe.add_observer(self)
        self._watching = True
        self._handles = [
            optimizer.register_optimizer_step_pre_hook(self._before),
            optimizer.register_optimizer_step_post_hook(self._after),
        ]
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop_watching()
        for handle in self._handles:
            handle.remove()

    def _stop_watching(self) -> None:
        if self._watching:
            self._watching = False
            observe.remove_observer(self)

    def backward_start(self, roots: Any) -> None:
        """A backward begins."""
        self._began = time.perf_counter()

    def backward_end(self, roots: Any) -> None:
        """It is over."""
        self._backward += time.perf_counter() - self._began

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._updating = time.perf_counter()

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        now = time.perf_counter()
        if all(optimizer is not o for o in self.optimizers):
            self.optimizers.append(optimizer)
        if self._watching:
            for group in optimizer.param_groups:
                self.parameters.update((id(p), p) for p in group["params"] if p.grad is not None)
        if optimizer is not self.optimizers[0]:
            return
        self.count += 1
        if 1 < self.count <= _WARM:
            self.watched.append((now - self._before_this, self._backward))
        self._before_this, self._backward = now, 0.0
        if self.count == _WARM:
            if not _compiles():  # they run as they are while somebody watches
                self._stop_watching()
        elif self.count > _WARM:
            self.times.append(now)
            self.delays.append(_delay())
            self.updates.append(now - self._updating)
        if self.count >= self.steps:
            raise Enough

    def step(self) -> MeasuredStep | None:
        """What was measured; None where there were too few steps."""
        if len(self.times) < 2 or not self.parameters:
            return None
        from pellucid.distributed.ddp.reducer import FIRST_BUCKET, dealt

        spans = sorted(
            (b - a, d - c)
            for a, b, c, d in zip(
                self.times, self.times[1:], self.delays, self.delays[1:], strict=False
            )
        )
        # one of the quickest: a busy machine makes the others longer
        seconds, delayed = spans[len(spans) // 20]
        parameters = [p for p in self.parameters.values() if p.requires_grad]
        cap = int((25 if self.cap is None else self.cap) * (1 << 20))
        buckets = dealt(parameters, cap, min(cap, FIRST_BUCKET) if self.cap is None else cap)
        states = [
            v
            for o in self.optimizers
            for state in o.state.values()
            if isinstance(state, dict)
            for v in state.values()
            if hasattr(v, "nbytes")
        ]
        part = min(0.9, min(b for _, b in self.watched) / min(s for s, _ in self.watched))
        return MeasuredStep(
            seconds=seconds,
            backward=part * seconds,
            buckets=[sum(parameters[k].nbytes for k in bucket) for bucket in buckets],
            parameters=sum(p.nbytes for p in parameters),
            states=sum(int(v.nbytes) for v in states),
            update=min(statistics.median(self.updates), 0.9 * seconds),
            delayed=delayed,
        )


def _delay() -> float:
    """Seconds that this thread could have run, but other programs had the processor; 0 where the
    system does not count them.
    """
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


def _compiles() -> bool:
    """Whether the script uses compiled functions, whose steps no hook sees."""
    function = sys.modules.get("pellucid.compiler.function")
    return function is not None and len(function.CompiledFunction.living) > 0


# ---- measuring this machine ------------------------------------------------------------------------------
_PROGRAM = """
import json, os, sys, time
import pellucid as torch
import pellucid.distributed as dist
dist.init_process_group("gloo")
found = {}
for size, count in ((8, 400), (1 << 20, 60), (4 << 20, 30), (25 << 20, 8)):
    x = torch.zeros(size // 4)
    best = float("inf")
    for _ in range(count):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(x)
        best = min(best, time.perf_counter() - start)
    found[size] = best
if dist.get_rank() == 0:
    open(sys.argv[1], "w").write(json.dumps(found))
"""


def measured_network() -> Network:
    """What two ranks on this machine measure: the least times of all-reduces, and a line through
    them.

    Raises:
        RuntimeError: the ranks could not be started.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        _start([sys.executable, "-c", _PROGRAM, str(file)], 2)
        found = {int(size): seconds for size, seconds in json.loads(file.read_text()).items()}
    sizes = [size for size in found if size >= 1 << 20]
    rate = statistics.median((found[size] - found[8]) / size for size in sizes)
    # Adding up is in these times: for two ranks an all-reduce moves n bytes once each way, and adds
    # up half of them.
    return Network("shared memory of this machine", found[8] / 2, 1 / max(rate, 1e-12), 1e15)


def _start(command: list[str], size: int) -> None:
    """Run a program as so many ranks, with a thread and, where there are enough, a core each."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    port = _port()
    own = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    base = {k: v for k, v in os.environ.items() if k not in own}
    started = []
    for rank in range(size):
        more = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": size,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PELLUCID_NUM_THREADS": "1"}
        environment = base | threads | {k: str(v) for k, v in more.items()}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if len(cores) >= size:
            os.sched_setaffinity(process.pid, {cores[rank]})
        started.append(process)
    texts = [process.communicate()[1] for process in started]
    for rank, (process, text) in enumerate(zip(started, texts, strict=True)):
        if process.returncode:
            raise RuntimeError(
                f"rank {rank} of {size} ended with {process.returncode}:\n{text[-2000:]}"
            )


def _checked(here: Network, argv: Sequence[str]) -> dict[str, Any]:
    """What one and two ranks with a thread each measure of the script's step, and the prediction
    for two.
    """
    found: dict[int, list[MeasuredStep]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (1, 2):
            report = Path(folder) / f"report{size}"
            command = [
                sys.executable,
                "-m",
                "pellucid",
                "scale",
                "--report",
                str(report),
                "--quiet",
            ]
            _start([*command, *[word for word in argv if word != "--check"]], size)
            found[size] = [
                MeasuredStep(**json.loads(Path(f"{report}.{rank}").read_text()))
                for rank in range(size)
            ]
    one, two = found[1][0], max(found[2], key=lambda step: step.seconds)
    seconds = two.seconds
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # without a core to spare, nothing travels while a rank computes
    overlap = OVERLAP if cores > 2 else 0.0
    said = predict(one, here, 2, overlap)[0]
    return {
        "one": one.seconds,
        "predicted": said.seconds,
        "measured": seconds,
        "efficiency": one.seconds / seconds,
        "predicted_efficiency": said.efficiency,
        "delayed": max(one.delayed / one.seconds, *(s.delayed / seconds for s in found[2])),
    }


# ---- telling ---------------------------------------------------------------------------------------------
def _bytes(n: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def _text(
    step: MeasuredStep,
    network: Network,
    found: dict[int, list[Prediction]],
    optimizers: list[Any],
    checked: dict[str, Any] | None,
) -> str:
    names = ", ".join(dict.fromkeys(type(o).__name__ for o in optimizers))
    lines = [
        f"one rank: a step of {_ms(step.seconds)}, of which backward {_ms(step.backward)}, update {_ms(step.update)} ({names})",
        f"gradients: {_bytes(step.gradients)} in {len(step.buckets)} buckets, the last {_bytes(step.buckets[-1])}",
        f"memory of parameters, gradients and optimizer state: {_bytes(step.parameters + step.gradients + step.states)}",
        f"network: {network.name}, {1e6 * network.start:.3g} us to start a message, {network.bandwidth / 1e9:.3g} GB/s",
        "",
        f"{'ranks':>6}  {'way':<7} {'step':>9} {'efficiency':>11} {'exposed':>9} {'memory':>9}  limited by",
    ]
    for n, ways in found.items():
        for p in ways:
            lines.append(
                f"{n:>6}  {p.way:<7} {_ms(p.seconds):>9} {p.efficiency:>10.1%} {_ms(p.exposed):>9} {_bytes(p.memory):>9}  {p.limit}"
            )
    lines += [
        "",
        "step: with the same batch for each rank; exposed: communication during which nothing is computed;",
        "memory: of a rank, without activations. All predicted, none measured.",
    ]
    if checked is not None:
        off = checked["predicted"] / checked["measured"] - 1
        found_here = f"one rank {_ms(checked['one'])}; two {_ms(checked['measured'])} measured, {_ms(checked['predicted'])} predicted"
        lines += ["", f"on this machine, with a thread each: {found_here} ({off:+.0%})"]
        if checked["delayed"] > 0.02:
            lines.append(
                f"Not a fair comparison: a rank waited {checked['delayed']:.0%} of its step for a core that other programs used, and the "
                "other rank waited for it. Repeat it on a quiet machine, or with --realtime."
            )
    return "\n".join(lines)


def _as_json(
    step: MeasuredStep,
    network: Network,
    found: dict[int, list[Prediction]],
    checked: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "step": asdict(step),
        "network": asdict(network),
        "check": checked,
        "predictions": [asdict(p) for ways in found.values() for p in ways],
    }
