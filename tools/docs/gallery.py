"""The gallery: pages that Pellucid makes, made here anew by every build, each by the program that
the gallery shows beside it.

    python tools/docs/gallery.py build/gallery

Each function below makes one page: its docstring says what it shows, its lines are what a reader
would write.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import pellucid as torch  # noqa: E402  (of this checkout)
from pellucid import debug, nn  # noqa: E402

F = nn.functional


def chain_rule(path: Path) -> Any:
    """The chain rule, step by step: sin(xy) + x²

    Play forward and backward, step by step. In backward, the arrows reverse and carry the
    gradients. Drag x and y: everything is recomputed in the page.
    """

    def f(x, y):
        product = x * y
        wave = torch.sin(product)
        return wave + x**2

    x = torch.tensor(1.5, requires_grad=True)
    y = torch.tensor(0.8, requires_grad=True)
    page = debug.step_through(lambda: f(x, y), names={"x": x, "y": y}, title="sin(xy) + x²")
    page.save(path)
    return page


def mlp(path: Path) -> Any:
    """A network of two layers, from the input to the gradients

    Four rows of data, two `nn.Linear`, one loss. Each step shows the source line, the gradient
    rule, and the gradients it passes on.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    page = debug.step_through(
        lambda: F.mse_loss(model(x), y), names=model, title="A network of two layers"
    )
    page.save(path)
    return page


def attention(path: Path) -> Any:
    """Attention in five lines

    softmax(q kᵀ / √d) v for three tokens: which token attends to which, and how the gradient flows
    back.
    """

    def attend(q, k, v):
        scores = q @ k.T / q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        return weights @ v

    torch.manual_seed(1)
    q, k, v = (torch.randn(3, 2, requires_grad=True) for _ in range(3))
    page = debug.step_through(
        lambda: attend(q, k, v).sum(), names={"q": q, "k": k, "v": v}, title="Attention"
    )
    page.save(path)
    return page


def batch_norm(path: Path) -> Any:
    """BatchNorm, step by step

    Mean, variance, and the two paths on which the gradient flows back through them: the reason why
    its backward looks so odd.
    """

    def normalize(x, weight, bias, eps=1e-5):
        mean = x.mean()
        centred = x - mean
        variance = (centred * centred).mean()
        return centred / torch.sqrt(variance + eps) * weight + bias

    x = torch.tensor([1.0, 2.0, 4.0, 5.0], requires_grad=True)
    weight, bias = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    target = torch.tensor([0.0, 0.0, 1.0, 1.0])
    page = debug.step_through(
        lambda: F.mse_loss(normalize(x, weight, bias), target),
        names={"x": x, "weight": weight, "bias": bias},
        title="BatchNorm",
    )
    page.save(path)
    return page


def vanishing_gradient(path: Path) -> Any:
    """A vanishing gradient

    Ten layers with sigmoids, trained for 40 steps. The gradient of the first layer is millions of
    times smaller than that of the last.
    """
    torch.manual_seed(0)
    layers = [part for _ in range(9) for part in (nn.Linear(16, 16), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 16)
    y = x[:, :1] * x[:, 1:2]
    with debug.TrainingPlots(model, optimizer) as plots:
        for _ in range(40):
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            plots.log(loss=loss)
    plots.save(path)
    return next(chart for chart in plots.charts if chart.title.startswith("Gradient flow"))


def transformer(path: Path) -> Any:
    """A Transformer as a graph

    Every operation of one call, folded by module. Open what you want to see, and search for names
    or shapes.
    """
    torch.manual_seed(0)
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, enable_nested_tensor=False
    )
    page = debug.draw(model, torch.randn(1, 5, 16), title="A Transformer encoder of two layers")
    page.save(path)
    return debug.draw(model.layers[0], torch.randn(1, 5, 16))


def compiled_step(path: Path) -> Any:
    """A training step, compiled

    `torch.compile` turns forward, backward and optimizer into native code. The page shows what it
    did, where the time goes, and the code.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(256, 64), torch.randint(10, (256,))

    @torch.compile
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(30):
        step(x, y)
    report = step.explain(passes=True)
    report.save(path)
    return "\n".join(str(step.explain(measure=False)).splitlines()[:12])


def check_report(path: Path) -> Any:
    """A check report

    A training script with four planted bugs, and the page that `pellucid check --report` writes
    about it.
    """
    script = path.with_name("planted.py")
    script.write_text(PLANTED, encoding="utf-8")
    command = [sys.executable, "-m", "pellucid", "check", "--report", path.name, script.name]
    done = subprocess.run(
        command, cwd=path.parent, env=environment(), capture_output=True, text=True
    )
    if done.returncode != 1:  # that is: findings
        raise RuntimeError(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stderr


PLANTED = """\
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 8)
y = x[:, 0] - 2 * x[:, 1]
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
history = []

for epoch in range(20):
    for rows in torch.randperm(100).split(25):
        loss = ((model(x[rows]) - y[rows]) ** 2).mean()
        loss.backward()
        optimizer.step()
        history.append(loss)
    with torch.no_grad():
        error = ((model(x[100:]).squeeze(1) - y[100:]) ** 2).mean()
print("validation error", error.item())
"""

MADE: tuple[Callable[[Path], Any], ...] = (
    chain_rule,
    mlp,
    attention,
    batch_norm,
    vanishing_gradient,
    transformer,
    compiled_step,
    check_report,
)
PAGES = {function.__name__.replace("_", "-"): function for function in MADE}


def environment() -> dict[str, str]:
    """For programs that are run as a user would run them: this checkout, no color, lines of one
    width.
    """
    import os

    return os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}


def title_of(name: str) -> tuple[str, str]:
    """The title of a page, and what it shows."""
    title, _, about = (inspect.getdoc(PAGES[name]) or "").partition("\n")
    return title, " ".join(about.split())


def program_of(name: str) -> str:
    """The lines that make a page, as a reader would write them."""
    if name == "check-report":
        return PLANTED
    source = textwrap.dedent(inspect.getsource(PAGES[name]))
    body = textwrap.dedent(source.split('"""')[2]).strip("\n")
    body = re.sub(r"\nreturn .*\Z", "", body, flags=re.DOTALL)
    head = "import pellucid as torch\nfrom pellucid import debug, nn\n"
    if "F." in body:
        head += "\nF = nn.functional\n"
    return head + "\n" + body.replace(".save(path)", f'.save("{name}.html")') + "\n"


def build(folder: Path) -> None:
    """All pages, and a picture of each for the list."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, function in PAGES.items():
        made = function(folder / f"{name}.html")
        picture = made.svg if hasattr(made, "svg") else terminal(_without_places(made, folder))
        (folder / f"{name}.svg").write_text(_without_places(picture, folder), encoding="utf-8")
        page = folder / f"{name}.html"
        page.write_text(_without_places(page.read_text(encoding="utf-8"), folder), encoding="utf-8")


def _without_places(text: str, folder: Path) -> str:
    """Paths of the machine that builds say nothing to a reader."""
    return text.replace(f"{folder}/", "").replace(f"{ROOT}/", "")


def terminal(text: str, lines: int = 16, columns: int = 100) -> str:
    """The first lines of a program's output as a picture."""
    from pellucid.debug.pictures import pages

    rows = [line[:columns] for line in text.splitlines() if line.strip()][:lines]
    height = 18 * len(rows) + 24
    body = "".join(
        f'<text x="14" y="{22 + 18 * k}" xml:space="preserve">{escape(row)}</text>'
        for k, row in enumerate(rows)
    )
    style = ".pt rect { fill: var(--panel); stroke: var(--faint); } .pt text { fill: var(--ink); font: 13px ui-monospace, monospace; }"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pt" viewBox="0 0 {8 * columns} {height}" width="{8 * columns}" height="{height}" '
        f'role="img"><style>{pages.palette(".pt")} {style}</style><rect width="100%" height="100%" rx="8"/>{body}</svg>'
    )


def cards(up: str = "") -> str:
    """The list of all pages as HTML: a picture, a title and a sentence each."""
    items = []
    for name in PAGES:
        title, about = title_of(name)
        items.append(
            f'<a class="card" href="{up}gallery/{name}.html"><span class="look"><img src="{up}gallery/{name}.svg" alt="" loading="lazy"></span>'
            f"<b>{escape(title)}</b><span>{escape(about).replace('`', '')}</span></a>"
        )
    return f'<div class="cards">{"".join(items)}</div>'


def page() -> str:
    """The gallery's page as Markdown."""
    lines = [
        "# Gallery",
        "",
        "Each page is a single HTML file that works offline. The program that made it is shown below it.",
        "",
    ]
    lines += [cards(), ""]
    for name in PAGES:
        title, about = title_of(name)
        lines += [
            f"## {title}",
            "",
            f'{about} <a href="gallery/{name}.html">Open the page</a>.',
            "",
        ]
        lines += ["```python", program_of(name).rstrip(), "```", ""]
        if name == "check-report":
            lines += ["```text", f"pellucid check --report {name}.html planted.py", "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
