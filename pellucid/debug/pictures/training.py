"""Plots of a training run by layer: gradients, activations, and the relative size of each update."""

from __future__ import annotations

import math
import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError
from . import pages
from .adapters import is_module
from .charts import Chart, Series, figure

SATURATED = 0.97  # of the way from the middle of an activation to its limit
_LIMITS = {
    "Tanh": (-1.0, 1.0),
    "Hardtanh": (-1.0, 1.0),
    "Softsign": (-1.0, 1.0),
    "Sigmoid": (0.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
}

Lines = dict[str, tuple[list[float], list[float]]]  # by name: steps, values


class TrainingPlots:
    """Records a model during training and plots gradients, updates and activations layer by layer:
    `save("run.html")`.

    Recorded at every `every`-th optimizer step: the norm of each layer's gradient, the norm of its
    update relative to that of its parameters, and mean and standard deviation of its output, and
    the share of it that is zero, or, behind tanh, sigmoid and their kind, saturated: 97 % of the
    way to a limit (in training mode, the last call before the step). A layer is a module with
    parameters of its own; for activations, any module without parts.

    A recorded step costs a copy of the parameters and one or two passes each over parameters,
    gradients, updates and activations, and for each layer some 25 us; the engine's fast path is not
    left. Steps in between have no hooks on the layers and cost nothing that can be measured.
    Nothing of the model is changed; `close()`, or the end of a `with` block, takes the hooks out.

    Args:
        model: the module.
        optimizer: its optimizer, at whose steps is recorded. Without one, call `step()` after
            backward; there are no updates then.
        every: record each so many steps.
        activations: also record the layers' outputs.

    Raises:
        TypeError: `model` is not a Module.
        ValueError: `every` is less than 1.

    >>> import pellucid as torch
    >>> from pellucid import debug, nn, optim
    >>> net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> opt = optim.SGD(net.parameters(), lr=0.1)
    >>> with debug.TrainingPlots(net, opt) as plots:
    ...     for _ in range(3):
    ...         loss = net(torch.ones(8, 2)).square().mean()
    ...         opt.zero_grad(); loss.backward(); opt.step()
    ...         plots.log(loss=loss.item())
    >>> sorted(plots.gradients), len(plots.charts)
    (['0', '2'], 7)
    """

    def __init__(
        self, model: Any, optimizer: Any = None, *, every: int = 1, activations: bool = True
    ) -> None:
        if not is_module(model):
            raise ArgumentTypeError(
                f"TrainingPlots(): argument 'model' must be a Module, not {type(model).__name__}"
            )
        if every < 1:
            raise ArgumentValueError(f"TrainingPlots(): every must be at least 1, not {every}")
        self.model, self.optimizer, self.every = model, optimizer, every
        self.steps = 0
        self.logged: Lines = {}
        self.gradients: Lines = {}
        self.updates: Lines = {}
        self.means: Lines = {}
        self.deviations: Lines = {}
        self.idle: Lines = {}  # shares that are zero or saturated
        self._before: list[Any] | None = None
        self._layers = [
            (path or type(model).__name__, [p for p in m._parameters.values() if p is not None])
            for path, m in model.named_modules()
            if any(p is not None for p in m._parameters.values())
        ]
        self._outputs: dict[str, tuple[float, float, float]] = {}
        self._handles: list[Any] = []
        self._seen = (
            [
                (path or type(model).__name__, m)
                for path, m in model.named_modules()
                if not m._modules
            ]
            if activations
            else []
        )
        self._listening: list[Any] = []
        self._listen()
        if optimizer is not None:
            self._handles.append(optimizer.register_step_pre_hook(self._about_to_step))
            self._handles.append(optimizer.register_step_post_hook(self._stepped))

    # ---- recording
    def _listen(self) -> None:
        """Have hooks on the layers while the next step is to be recorded, and none while it is not."""
        wanted = self.steps % self.every == 0
        if wanted and not self._listening:
            self._listening = [m.register_forward_hook(self._hook(name)) for name, m in self._seen]
        elif not wanted and self._listening:
            for handle in self._listening:
                handle.remove()
            self._listening = []

    def _hook(self, name: str) -> Any:
        def note(module: Any, inputs: Any, output: Any) -> None:
            if not module.training:
                return
            t = output[0] if isinstance(output, tuple) and output else output
            if not isinstance(t, Tensor) or t._array.dtype.kind not in "fV" or not t._array.size:
                return
            a = _plain(t._array)
            mean = float(a.mean())
            limits = _LIMITS.get(type(module).__name__)
            if limits is None:
                busy = np.count_nonzero(a)
            else:
                middle, reach = (limits[0] + limits[1]) / 2, (limits[1] - limits[0]) / 2
                busy = np.count_nonzero(abs(a - middle) < SATURATED * reach)
            self._outputs[name] = (mean, math.sqrt(_square(a - mean) / a.size), 1.0 - busy / a.size)

        return note

    def _about_to_step(self, *_: Any) -> None:
        if self.steps % self.every:
            return
        for name, parameters in self._layers:
            squares = [_square(p._grad._array) for p in parameters if p._grad is not None]
            if squares:
                _append(self.gradients, name, self.steps, math.sqrt(sum(squares)))
        for name, (mean, deviation, zero) in self._outputs.items():
            _append(self.means, name, self.steps, mean)
            _append(self.deviations, name, self.steps, deviation)
            _append(self.idle, name, self.steps, zero)
        self._outputs = {}
        if self.optimizer is not None:
            self._before = [[p._array.copy() for p in parameters] for _, parameters in self._layers]

    def _stepped(self, *_: Any) -> None:
        if self._before is not None:
            for (name, parameters), before in zip(self._layers, self._before, strict=True):
                size = math.sqrt(sum(map(_square, before)))
                moved = math.sqrt(
                    sum(_square(p._array - b) for p, b in zip(parameters, before, strict=True))
                )
                if size > 0:
                    _append(self.updates, name, self.steps, moved / size)
            self._before = None
        self.steps += 1
        self._listen()

    def step(self) -> None:
        """Record a step of a training loop without an optimizer object; call it when the gradients
        are there.

        Raises:
            ValueError: there is an optimizer, whose steps are recorded by themselves.
        """
        if self.optimizer is not None:
            raise ArgumentValueError("step(): the optimizer's steps are recorded by themselves")
        self._about_to_step()
        self._stepped()

    def log(self, **values: Any) -> None:
        """Add values of your own to the first chart, such as the loss: numbers or tensors of one
        element.
        """
        for name, value in values.items():
            _append(
                self.logged,
                name,
                max(0, self.steps - 1),
                float(value.detach() if isinstance(value, Tensor) else value),
            )

    def close(self) -> None:
        """Take the hooks out; what was recorded stays."""
        for handle in self._handles + self._listening:
            handle.remove()
        self._handles, self._seen, self._listening = [], [], []

    def __enter__(self) -> TrainingPlots:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- drawing
    @property
    def charts(self) -> list[Chart]:
        """One chart for each thing that was recorded."""
        found = []
        if self.logged:
            positive = all(y > 0 for _, ys in self.logged.values() for y in ys)
            title = (
                "Logged values" if len(self.logged) > 1 else f"Logged: {next(iter(self.logged))}"
            )
            found.append(
                Chart(
                    title,
                    [Series(name, *points) for name, points in self.logged.items()],
                    log=positive,
                )
            )
        if self.gradients:
            found.append(Chart("Gradient norm by layer", self._lines(self.gradients), log=True))
            found.append(self._flow())
        if self.updates:
            found.append(
                Chart(
                    "Update / parameter norm by layer (often near 0.001)",
                    self._lines(self.updates),
                    log=True,
                )
            )
        if self.deviations:
            found.append(
                Chart(
                    "Standard deviation of activations by layer",
                    self._lines(self.deviations),
                    log=True,
                )
            )
            found.append(Chart("Mean of activations by layer", self._lines(self.means)))
            found.append(
                Chart("Share of activations that are zero or saturated", self._lines(self.idle))
            )
        return found

    def _lines(self, lines: Lines) -> list[Series]:
        """Lines with the layers' classes in their names, in the order of the layers."""
        names = {
            path: f"{path} {type(m).__name__}" for path, m in self.model.named_modules() if path
        }
        own = type(self.model).__name__  # under this name stands what belongs to the model itself
        return [
            Series(name, *lines[path])
            for path, name in ({own: own} | names).items()
            if path in lines
        ]

    def _flow(self) -> Chart:
        """Gradient norms along the layers, at the first, the middle and the last step."""
        names = [name for name, _ in self._layers if name in self.gradients]
        steps = sorted({step for xs, _ in self.gradients.values() for step in xs})
        lines = []
        for step in dict.fromkeys((steps[0], steps[len(steps) // 2], steps[-1])):
            at = [dict(zip(*self.gradients[name], strict=True)).get(step) for name in names]
            points = [(k, y) for k, y in enumerate(at) if y is not None]
            lines.append(Series(f"step {step:g}", [k for k, _ in points], [y for _, y in points]))
        return Chart("Gradient flow: norm along the layers", lines, log=True, categories=names)

    @property
    def html(self) -> str:
        """A page of its own with all charts; nothing is loaded from anywhere."""
        charts = self.charts
        about = f"{type(self.model).__name__}, {self.steps} steps" + (
            f", every {self.every}th recorded" if self.every > 1 else ""
        )
        figures = (
            "".join(figure(chart, k) for k, chart in enumerate(charts))
            or "<p>No step was recorded.</p>"
        )
        body = f'<main><header><h1>Training</h1><p>{escape(about)}</p></header><div class="charts">{figures}</div></main>'
        data = {"charts": [chart.data for chart in charts]}
        return pages.page(
            "Training", body, data, ["charts.js", "report.js"], ["base.css", "report.css"]
        )

    def _repr_html_(self) -> str:
        return "".join(chart.svg for chart in self.charts) or "<p>No step was recorded.</p>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; returns the path."""
        return pages.write(path, self.html)


def _append(lines: Lines, name: str, x: float, y: float) -> None:
    xs, ys = lines.setdefault(name, ([], []))
    xs.append(x)
    ys.append(y)


def _plain(a: Any) -> Any:
    return a if a.dtype.kind == "f" and a.itemsize >= 4 else a.astype(np.float32)


def _square(a: Any) -> float:
    flat = _plain(a).reshape(-1)
    return float(np.vdot(flat, flat).real)
