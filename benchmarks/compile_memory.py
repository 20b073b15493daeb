"""Memory of compiled training steps beside eager ones: resident megabytes above the state before
the first step.

    python benchmarks/compile_memory.py             # the cases of compile.py
    python benchmarks/compile_memory.py gpt lstm
    python benchmarks/compile_memory.py --torch     # PyTorch's eager steps too

Each run has a process of its own. "steps" is the highest resident size of the process (the kernel's
high-water mark, put back after the first calls) during five later steps: parameters' gradients, the
optimizer's state, what a step keeps, and what stays of tracing and compiling. "from the start"
counts the first calls too, with eager recording and the compiler at work. Needs Linux.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WARM_UP = 4
STEPS = 5


def resident(which: str) -> float:
    """Megabytes: `VmRSS` now, `VmHWM` at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(which + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no {which}")


def forget_peak() -> None:
    """The high-water mark becomes the present size (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def measure(kind: str, case: str) -> dict[str, float]:
    """Run a case here; megabytes above the state in which the model and the data are made."""
    sys.argv = [sys.argv[0]]
    import compile as cases

    from pellucid.arrays.memory import give_back

    lib: Any = cases.pellucid
    if kind == "torch":
        import torch as lib

        lib.set_num_threads(1)
    lib.manual_seed(0)
    parts = cases.CASES[case][1](lib)
    step = cases.ours_of(parts) if kind == "compiled" else cases.step_of(lib, parts)
    lib.ones(128, 128) @ lib.ones(128, 128)  # what every process loads at its first kernel
    gc.collect()
    # what making the model and the data has freed: neither kind of step may use it without being
    # charged for it
    give_back()
    forget_peak()
    before = resident("VmRSS")
    for _ in range(WARM_UP):
        step()
    first = resident("VmHWM") - before
    gc.collect()
    forget_peak()
    for _ in range(STEPS):
        step()
    return {"steps": resident("VmHWM") - before, "start": max(first, resident("VmHWM") - before)}


def main() -> int:
    """Print the table; returns 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help="names of cases (all when left out)")
    parser.add_argument("--torch", action="store_true", help="PyTorch's eager steps too")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return 0
    names = json.loads(_own(["-c", "import compile, json; print(json.dumps(list(compile.CASES)))"]))
    kinds = ["eager", "compiled", *(["torch"] if options.torch else [])]
    print(
        f"| case | {' | '.join(f'{k}: steps' for k in kinds)} | ratio | {' | '.join(f'{k}: from the start' for k in kinds)} |"
    )
    print("|---|" + "---|" * (2 * len(kinds) + 1))
    for name in names:
        if options.cases and not any(text in name for text in options.cases):
            continue
        made = {kind: json.loads(_own([__file__, "--measure", kind, name])) for kind in kinds}
        steps, start = (
            [f"{made[kind][when]:.1f}" for kind in kinds] for when in ("steps", "start")
        )
        ratio = made["compiled"]["steps"] / made["eager"]["steps"]
        print(f"| {name} | {' | '.join(steps)} | {ratio:.2f} | {' | '.join(start)} |", flush=True)
    return 0


def _own(arguments: list[str]) -> str:
    """The last line that a Python process of its own prints."""
    here = Path(__file__).resolve().parent
    path = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
