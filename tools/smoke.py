"""What must work right after `pip install`, run by the checks against the built wheel from a folder
without sources.

python smoke.py        # digits.py and data/ of the examples lie beside it
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pellucid as torch

HERE = Path(__file__).resolve().parent


def command(*arguments: str) -> str:
    """Run the installed command and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", *arguments], cwd=HERE, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(
            f"pellucid {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def fit_a_line() -> float:
    """Fit y = 3x - 1 by gradient descent and return the largest error of the two numbers found."""
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    x = torch.linspace(-1, 1, 50).reshape(-1, 1)
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((model(x) - (3 * x - 1)) ** 2).mean()
        loss.backward()
        optimizer.step()
    return max(abs(model.weight.item() - 3), abs(model.bias.item() + 1))


def main() -> None:
    """Check the installed package from the outside."""
    installed = Path(torch.__file__).resolve()
    assert "site-packages" in installed.parts, f"not the installed package: {installed}"
    assert installed.with_name("py.typed").is_file(), "py.typed is not in the wheel"

    error = fit_a_line()
    assert error < 1e-3, f"a fitted line is off by {error}"

    version = torch.__version__
    assert command("--version").split()[1] == version
    report = json.loads(command("doctor", "--format", "json"))
    assert report["pellucid"]["version"] == version
    last = command("run", "digits.py", "--epochs", "6").splitlines()[-1]
    accuracy = float(last.split()[2].rstrip("%"))
    assert accuracy > 95, last
    print(f"pellucid {version} in {installed.parent}: fits a line, runs a script ({last})")


if __name__ == "__main__":
    main()
