"""Small programs on a busy machine: PyTorch and Pellucid, unpinned, beside processes that take the
cores, as a Markdown table.

    python benchmarks/busy.py [--busy N] [--rounds N] [--only NAME ...] [--json FILE]

Each program runs in a process of its own with the libraries' default numbers of threads, first by
one library, then by the other, while N other processes (4 by default) compute without a pause. The
seconds that pass count, imports not included; the median of the rounds is shown. Products of small
matrices suffer most: where a library spreads them over threads, each waits for the system to give
the second thread a core.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PELLUCID_NUM_THREADS")
LIMIT = 600  # seconds after which a program is given up


def demo() -> None:
    """The script of `make demo`: training on 8x8 images."""
    sys.argv = ["digits.py"]
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(ROOT / "examples" / "digits.py"), run_name="__main__")


def train(model: Any, x: Any, y: Any, steps: int) -> None:
    """Steps of Adam on a mean squared error."""
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def tiny_mlp() -> None:
    """500 steps of 64 x 64 x 64."""
    import torch
    from torch import nn

    train(
        nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)),
        torch.randn(64, 64),
        torch.randn(64, 64),
        500,
    )


def wide_mlp() -> None:
    """200 steps of 512 hidden units for a batch of 32."""
    import torch
    from torch import nn

    train(
        nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 10)),
        torch.randn(32, 64),
        torch.randn(32, 10),
        200,
    )


def tiny_transformer() -> None:
    """50 steps of one encoder layer, 4 heads of 16, 32 tokens."""
    import torch
    from torch import nn

    train(
        nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True),
        torch.randn(8, 32, 64),
        torch.randn(8, 32, 64),
        50,
    )


def double_products() -> None:
    """2,000 products of 96 x 96 float64 matrices."""
    import torch

    a, b = torch.randn(96, 96, dtype=torch.float64), torch.randn(96, 96, dtype=torch.float64)
    for _ in range(2000):
        a @ b


def linear_algebra() -> None:
    """Inverses, Cholesky factors and eigenvalues of stacks of matrices of 32 and 120 rows."""
    import torch

    for count, n in ((200, 32), (20, 120)):
        x = torch.randn(count, n, n)
        x = x @ x.mT + n * torch.eye(n)
        torch.linalg.inv(x), torch.linalg.cholesky(x), torch.linalg.eigh(x), torch.linalg.svdvals(x)


PROGRAMS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (demo, tiny_mlp, wide_mlp, tiny_transformer, double_products, linear_algebra)
}


def measure(library: str, name: str) -> float:
    """Seconds of one program in this process."""
    if library == "pellucid":
        sys.path.insert(0, str(ROOT))
        from pellucid import interop

        interop.as_torch()
    import torch

    torch.manual_seed(0)
    start = time.perf_counter()
    PROGRAMS[name]()
    return time.perf_counter() - start


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that compute without a pause."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def run(library: str, name: str) -> float:
    """Seconds of one program in a process of its own; infinite where it does not end in time."""
    environment = {key: value for key, value in os.environ.items() if key not in THREADS}
    command = [sys.executable, __file__, "--measure", library, name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return float("inf")
    if done.returncode:
        raise RuntimeError(f"{name} failed with {library}:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", nargs=2, metavar=("LIBRARY", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument(
        "--busy", type=int, default=4, help="processes that compute beside (default 4)"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of each program by each library (default 3)"
    )
    parser.add_argument(
        "--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="these programs alone"
    )
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    arguments = parser.parse_args()
    if arguments.measure:
        print(measure(*arguments.measure))
        return
    figures = {}
    print(
        f"| program | PyTorch, s | Pellucid, s | ratio |  ({arguments.busy} busy processes, {os.cpu_count()} cores)\n|---|---|---|---|"
    )
    for name in arguments.only:
        seconds: dict[str, list[float]] = {"torch": [], "pellucid": []}
        run("pellucid", name)  # compiles what is not on disk yet
        with busy(arguments.busy):
            for _ in range(arguments.rounds):
                for library, times in seconds.items():
                    times.append(run(library, name))
        theirs, ours = (statistics.median(seconds[library]) for library in ("torch", "pellucid"))
        figures[name] = {"pytorch": theirs, "pellucid": ours, "ratio": ours / theirs}
        print(f"| {name} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.2f} |", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
