"""What `pellucid check` costs: processor time of training steps under watch with all rules,
relative to the same steps without.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import harness

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def mlp(torch: Any) -> Callable[[], None]:
    """Two small layers, 64 rows: next to nothing is computed, so this is what the recording itself
    costs.
    """
    nn = torch.nn
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    return training(torch, model, torch.randn(64, 32), torch.randint(0, 10, (64,)))


def convolutions(torch: Any) -> Callable[[], None]:
    """A small convolutional network with batch norm and dropout on 64 images of 28 by 28."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 49, 10),
    )  # fmt: skip
    return training(torch, model, torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,)))


def transformer(torch: Any) -> Callable[[], None]:
    """Two encoder layers of width 128 on 16 sequences of 64."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.1, batch_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        nn.Linear(128, 64),
        nn.Flatten(0, 1),
    )
    return training(torch, model, torch.randn(16, 64, 128), torch.randint(0, 64, (16 * 64,)))


def training(torch: Any, model: Any, x: Any, y: Any) -> Callable[[], None]:
    """One training step as a function."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = torch.nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()

    return step


MODELS = {"small MLP": mlp, "convolutions": convolutions, "transformer": transformer}


def measure(
    engine: str, make: Callable[[Any], Callable[[], None]], rounds: int, budget: float
) -> tuple[float, float, float]:
    """(seconds of a step, of a watched step, median ratio of the rounds)."""
    from pellucid.check import Settings
    from pellucid.check.recording.engine import load_engine
    from pellucid.check.session import Session

    step = make(load_engine(engine).torch)
    for _ in range(5):
        step()
    start = process_time()
    step()
    count = max(3, int(budget / (process_time() - start)))

    def timed() -> float:
        gc.collect()
        start = process_time()
        for _ in range(count):
            step()
        return (process_time() - start) / count

    plain, watched, ratios = [], [], []
    for _ in range(rounds):
        plain.append(timed())
        session = Session(engine, Settings()).start()
        step()
        watched.append(timed())
        session.finish()
        ratios.append(watched[-1] / plain[-1])
    return statistics.median(plain), statistics.median(watched), statistics.median(ratios)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.2, help="of one side of one round")
    parser.add_argument("--engine", choices=("pellucid", "torch"), help="only one engine")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    harness.pin()
    rows = []
    for engine in ("pellucid", "torch") if args.engine is None else (args.engine,):
        for name, make in MODELS.items():
            try:
                plain, watched, ratio = measure(engine, make, args.rounds, args.seconds)
            except ImportError as error:
                print(f"{engine}: {error}")
                break
            rows.append(
                {
                    "engine": engine,
                    "model": name,
                    "plain": plain,
                    "watched": watched,
                    "percent": 100 * (ratio - 1),
                }
            )
            print(
                f"{engine:<9} {name:<13} {1e3 * plain:8.3f} ms a step, watched {1e3 * watched:8.3f} ms: {100 * (ratio - 1):+6.1f} %",
                flush=True,
            )
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
