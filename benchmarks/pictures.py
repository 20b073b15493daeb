"""What looking costs: watching a training step, making pages of 10,000 nodes, and a frame of such a
page in Chromium.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import harness

import pellucid as torch
from pellucid import debug, nn, optim

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "debug"))
import browser

# Frames while the graph is dragged about; reading a pixel back makes the browser finish each one.
FRAMES = """
new Promise((done) => {
  const view = graphView, times = [];
  const frame = () => {
    const k = times.length, began = performance.now();
    view.tx += k % 40 < 20 ? 9 : -9;
    view.ty += k % 40 < 20 ? 13 : -13;
    view.draw();
    view.ctx.getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
    if (times.length < 60) requestAnimationFrame(frame);
    else { times.sort((a, b) => a - b); done([times[30], times[59]]); }
  };
  frame();
})
"""


def median(work: Callable[[], Any], rounds: int) -> float:
    """Median seconds of a call."""
    times = []
    for _ in range(rounds):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return statistics.median(times)


def watching(rounds: int) -> dict[str, float]:
    """Seconds of a training step of a small MLP: as it is, with plots, and of its forward and
    backward recorded.
    """
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(32, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    opt = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(32, 32), torch.randint(0, 10, (32,))

    def step() -> None:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

    def recorded() -> None:
        with debug.Recording():
            nn.functional.cross_entropy(net(x), y).backward()

    median(step, 50)
    found = {"a training step": median(step, rounds)}
    with debug.TrainingPlots(net, opt):
        found["with TrainingPlots"] = median(step, rounds)
    with debug.TrainingPlots(net, opt, every=10**9):
        step()
        found["with TrainingPlots, between recorded steps"] = median(step, rounds)
    found["forward and backward with a Recording"] = median(recorded, max(10, rounds // 10))
    return found


class Block(nn.Module):
    """Eight nodes of a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return x + torch.relu(self.linear(self.norm(x)))


def modules() -> Any:
    """A run of 125 times 10 nested modules."""
    return debug.draw(
        nn.Sequential(*[nn.Sequential(*[Block() for _ in range(10)]) for _ in range(125)]),
        torch.ones(2, 8),
    )


def recurrence() -> Any:
    """One weight used in 3,333 steps."""
    w, b = torch.eye(8).requires_grad_(), torch.zeros(8, requires_grad=True)
    h = torch.ones(2, 8)
    for _ in range(3333):
        h = torch.tanh(h @ w + b)
    return debug.draw(h.sum(), names={"w": w, "b": b})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", metavar="FILE")
    args, _ = parser.parse_known_args()
    harness.pin()
    times = watching(args.rounds)
    for name, value in times.items():
        print(f"{name:45} {1e6 * value:8.0f} us")
    pages: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        found = browser.find()
        window = browser.Browser() if found else None
        for make in (modules, recurrence):
            began = perf_counter()
            drawing = make()
            drawn = perf_counter() - began
            began = perf_counter()
            path = drawing.save(Path(folder) / "page.html")
            row = pages[make.__name__] = {
                "nodes": len(list(drawing.graph.nodes())),
                "draw_s": drawn,
                "save_s": perf_counter() - began,
            }
            if window is not None:
                began = perf_counter()
                window.open(path)
                row["open_s"] = perf_counter() - began
                for name, before in (
                    ("", ""),
                    ("all_", "graphView.setOpen(graphView.data.groups.map((_, g) => g))"),
                    ("far_", "graphView.fit()"),
                ):
                    if before:
                        window.run(before)
                    row[name + "layout_ms"] = window.run("graphView.layoutTime")
                    row[name + "frame_ms"], row[name + "worst_frame_ms"] = window.run(FRAMES)
            print(make.__name__, ", ".join(f"{k} {v:.4g}" for k, v in row.items()))
        if window is not None:
            window.close()
        else:
            print("no Chromium is installed: pages are not opened")
    if args.json:
        report = {
            "title": "pictures",
            "machine": harness.machine(),
            "seconds": times,
            "pages": pages,
        }
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
