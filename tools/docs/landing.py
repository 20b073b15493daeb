"""The landing page: what Pellucid is, a live picture, how to install it, and a tour whose output is
that of commands run by the build.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import gallery  # beside this file

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

def step():
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss

for _ in range(100):
    loss = step()
print(f"loss {loss.item():.3f}")
"""

TOUR = (
    (
        "Run",
        "This is an ordinary PyTorch script. It trains, but the loss stays high.",
        ["run", "train.py"],
        "Inside the script, `import torch` resolves to Pellucid: same names, same random numbers, same results.",
    ),
    (
        "Check",
        "`check` runs the script and reports its bugs.",
        ["check", "train.py"],
        "You get the line, the shapes, the cause and the fix. `--engine torch` checks the same script on PyTorch itself.",
    ),
    (
        "Explain",
        "Ask about any value in the script.",
        ["explain", "--quiet", "train.py", "--expr", "loss.grad"],
        "It tells you why a gradient is missing, zero or NaN, what an exception means, what a value depends on, and where memory goes.",
    ),
)

COMPILE = """\
step = torch.compile(step)      # forward, backward and optimizer as one native function
step()
step.explain().save("step.html")  # every kernel with its source line, time and code
"""


def _run(arguments: list[str], folder: Path) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "pellucid", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=gallery.environment(), capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return (done.stdout + done.stderr).replace(f"{folder}/", "").strip()


def page(run: bool = True) -> str:
    """The page as Markdown; without `run` the commands stand without what they print, and the
    picture is omitted.
    """
    lines = ["---", "hide-toc: true", "---", "", "# Pellucid", ""]
    lines += [
        (
            '<p class="lead">Run your PyTorch scripts on an engine you can read, step through and question. Pellucid tells you what is '
            "wrong with a training script, why a gradient is missing, and what the compiler did with your step.</p>"
        ),
        "",
        (
            '<p class="actions"><a class="action first" href="tutorials/01_tensors_and_shapes.html">Start learning</a>'
            '<a class="action" href="gallery.html">Gallery</a><a class="action" href="reference/index.html">Reference</a>'
            '<a class="action" href="about.html">About Pellucid</a></p>'
        ),
        "",
    ]
    if run:
        lines += [
            (
                '<iframe class="live" src="gallery/chain-rule.html" title="sin(xy) + x², step by step: play it, and drag x and y" loading="lazy">'
                "</iframe>"
            ),
            "",
            (
                '<p class="soft">This is live: press Play, then drag x and y. '
                '<a href="gallery/chain-rule.html">Open it in its own page</a>, and press p there for a projector.</p>'
            ),
            "",
        ]
    lines += [
        "## Install",
        "",
        "You need Python 3.11 or newer. In a clone of the repository:",
        "",
        "```text",
        "python3 -m venv .venv",
        "source .venv/bin/activate",
        "pip install .",
        "```",
        "",
        (
            "On Windows: `py -m venv .venv`, `.venv\\Scripts\\Activate.ps1`, `pip install .`. The environment takes about 450 MB, most of it "
            "NumPy, SciPy and LLVM. All of them are wheels, so you do not need a compiler."
        ),
        "",
        "## The 60-second tour",
        "",
        "Save this as `train.py`:",
        "",
        "```python",
        SCRIPT.rstrip(),
        "```",
        "",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
        for title, before, arguments, after in TOUR:
            command = "$ pellucid " + " ".join(arguments)
            shown = f"{command}\n{_run(arguments, folder)}" if run else command
            lines += [f"### {title}", "", before, "", "```text", shown, "```", "", after, ""]
    lines += [
        "### Compile",
        "",
        "Compile the whole training step, and look inside:",
        "",
        "```python",
        COMPILE.rstrip(),
        "```",
        "",
    ]
    if run:
        lines += ["## Gallery", "", gallery.cards(), ""]
    return "\n".join(lines)
