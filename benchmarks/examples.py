"""The examples' training steps under PyTorch and under Pellucid: the same files, losses and times
side by side, as a Markdown table.

python benchmarks/examples.py [--cores N] [--only NAME] [--steps N] [--rounds N] [--json FILE]

Each example runs at its full size, in a process of its own for each library and round, and is
stopped after some steps. Times are taken from one call of `backward` to the next, so a step holds
all that the script does: data, forward, backward, optimizer. On one core it is the process's own
time on the processor, which others on the machine disturb less; on several it is the time that
passes.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
CALLS = {"dcgan": 3}  # calls of backward in a step, where it is not one
WARM_UP = 5  # steps that are not timed: caches and generated kernels


class _Enough(BaseException):
    """The script has run long enough."""


def measure(library: str, script: str, calls: int) -> dict[str, Any]:
    """Run a script and return when `backward` was called, and on which losses."""
    if library == "pellucid":
        sys.path.insert(0, str(ROOT))
        from pellucid import interop

        interop.as_torch()
    import torch

    threads = int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    times: list[float] = []
    losses: list[float] = []
    original = torch.Tensor.backward

    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        times.append(clock())
        losses.append(self.item())
        if len(times) == calls:
            raise _Enough
        return original(self, *args, **kwargs)

    torch.Tensor.backward = backward
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except _Enough:
        pass
    return {"times": times, "losses": losses}


def run(library: str, name: str, steps: int, cores: int) -> tuple[float, float]:
    """(seconds per step, loss of the last one) of an example in a process of its own."""
    allowed = sorted(os.sched_getaffinity(0))[-cores:] if hasattr(os, "sched_getaffinity") else None
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(cores)),
    }
    for variable in ("PELLUCID_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # both follow OMP_NUM_THREADS
        environment.pop(variable, None)
    calls = CALLS.get(name, 1) * (steps + WARM_UP) + 1
    command = [
        sys.executable,
        __file__,
        "--measure",
        library,
        str(EXAMPLES / f"{name}.py"),
        str(calls),
    ]

    def pin() -> None:
        if allowed is not None:
            os.sched_setaffinity(0, allowed)

    done = subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=pin)
    if done.returncode:
        raise RuntimeError(f"{name} under {library} failed:\n{done.stderr}")
    made = json.loads(done.stdout.splitlines()[-1])
    per_step = CALLS.get(name, 1)
    times = made["times"][::per_step][WARM_UP:]
    return (times[-1] - times[0]) / (len(times) - 1), made["losses"][
        len(made["losses"]) // per_step * per_step - 1
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the examples and print the table; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=1, help="cores and threads (default 1)")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="examples whose name contains TEXT"
    )
    parser.add_argument("--steps", type=int, default=30, help="steps that are timed (default 30)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each library (default 5)")
    parser.add_argument("--json", metavar="FILE", help="also write the results there")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    args, _ = parser.parse_known_args(argv)
    if args.measure:
        library, script, calls = args.measure
        made = measure(library, script, int(calls))
        print("\n" + json.dumps(made))
        return 0
    rows = []
    print(
        "| example | loss, PyTorch | loss, Pellucid | step, PyTorch | step, Pellucid | ratio | rounds from - to |"
    )
    print("|---|---|---|---|---|---|---|")
    for path in sorted(EXAMPLES.glob("*.py")):
        name = path.stem
        if args.only not in name:
            continue
        ours, theirs, ratios = [], [], []
        for turn in range(args.rounds):
            sides = ["pellucid", "torch"] if turn % 2 else ["torch", "pellucid"]
            got = {library: run(library, name, args.steps, args.cores) for library in sides}
            ours.append(got["pellucid"][0])
            theirs.append(got["torch"][0])
            ratios.append(ours[-1] / theirs[-1])
        losses = got["torch"][1], got["pellucid"][1]
        times = statistics.median(theirs) * 1e3, statistics.median(ours) * 1e3
        ratio = statistics.median(ratios)
        rows.append(
            {
                "name": name,
                "losses": losses,
                "milliseconds": times,
                "ratio": ratio,
                "ratios": ratios,
            }
        )
        cells = [
            name,
            *(f"{loss:.5f}" for loss in losses),
            *(f"{t:.2f} ms" for t in times),
            f"{ratio:.2f}",
        ]
        print(f"| {' | '.join(cells)} | {min(ratios):.2f} - {max(ratios):.2f} |", flush=True)
    if args.json:
        Path(args.json).write_text(
            json.dumps({"cores": args.cores, "steps": args.steps, "results": rows}, indent=2) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
