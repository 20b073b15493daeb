"""What a process pays before and while it trains: import time and peak memory, each measured in
fresh processes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import harness

IMPORT = "import {name}"
EMPTY = "pass"
TRAIN = """
import {name} as torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
step = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(512, 784), torch.randint(0, 10, (512,))
for _ in range(5):
    step.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    step.step()
"""
ROOT = str(Path(__file__).resolve().parent.parent)
# Users import compiled modules from anywhere; so do these processes, whatever the shell says.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
ENVIRONMENT["PYTHONPATH"] = os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
# VmHWM and not getrusage's ru_maxrss: that one also remembers the process that started this one.
PEAK = """
from pathlib import Path
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def seconds(code: str) -> float:
    """Time of a Python process that runs the code."""
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT)
    return perf_counter() - start


def peak_bytes(code: str) -> int:
    """Largest resident memory of a Python process that runs the code (Linux)."""
    done = subprocess.run(
        [sys.executable, "-c", code + PEAK],
        check=True,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    return int(done.stdout) * 1024


def import_times(names: list[str], rounds: int) -> dict[str, float]:
    """Median seconds that importing each library adds to an empty process, in interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        seconds(IMPORT.format(name=name))  # compiles what is not compiled yet
    for _ in range(rounds):
        empty = seconds(EMPTY)
        for name in names:
            times[name].append(seconds(IMPORT.format(name=name)) - empty)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", metavar="FILE")
    args, _ = parser.parse_known_args()
    harness.pin()
    _, theirs = harness.libraries()
    names = ["pellucid"] + (["torch"] if theirs is not None else [])
    times = import_times(names, args.rounds)
    memory = {}
    if Path("/proc/self/status").exists():
        # The loaded library itself is taken off: what training needs remains.
        memory = {
            name: peak_bytes(TRAIN.format(name=name)) - peak_bytes(IMPORT.format(name=name))
            for name in names
        }
    other = times.get("torch")
    result = harness.Result(
        "import", times["pellucid"], other, other and times["pellucid"] / other, rounds=args.rounds
    )
    print(harness.table([result]))
    print(f"import pellucid: {times['pellucid']:.3f} s (budget 0.15 s)")
    for name, value in memory.items():
        print(
            f"memory added by five MLP steps (512, 784-1024-10, Adam), {name}: {value / 2**20:.1f} MiB"
        )
    if args.json:
        report = {
            "title": "startup",
            "machine": harness.machine(),
            "results": [asdict(result)],
            "memory_bytes": memory,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
