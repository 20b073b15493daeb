"""Attach a check to a training run by PyTorch Lightning or the Hugging Face Trainer, and export its
measurements to TensorBoard and W&B.

    trainer = lightning.Trainer(callbacks=[callbacks.lightning(max_steps=200)])
    trainer = transformers.Trainer(model, args, callbacks=[callbacks.transformers(max_steps=200)])

The check ends with the training or after `max_steps` optimizer steps; after that, training runs at
full speed. The findings are then printed to stderr, and `callback.result` has them. The engine is
whichever library `torch` is in this process. In your own loop, use `watching`.
"""

from __future__ import annotations

import sys
from typing import Any

from .config import Settings, read_settings
from .output import as_text, wants_colour
from .result import CheckResult
from .session import Session


class Attached:
    """A check that is begun and ended by whoever runs the training.

    >>> import pellucid as torch
    >>> attached = Attached(quiet=True)
    >>> attached.begin()
    >>> loss = ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()
    >>> attached.end()
    >>> [finding.name for finding in attached.result.findings]
    ['mutual-broadcast']
    """

    result: CheckResult | None = None

    def __init__(
        self,
        max_steps: int | None = None,
        *,
        engine: str | None = None,
        settings: Settings | None = None,
        measures: bool = False,
        quiet: bool = False,
    ) -> None:
        self.max_steps, self.engine, self.settings, self.measures, self.quiet = (
            max_steps,
            engine,
            settings,
            measures,
            quiet,
        )
        self._session: Session | None = None

    def begin(self) -> None:
        """Start to record; nothing if it has begun."""
        if self._session is None:
            self.result = None
            self._session = Session(
                self.engine or engine_here(),
                self.settings or read_settings(),
                measures=self.measures,
            )
            self._session.start()

    def stepped(self) -> None:
        """A step of the training has ended: enough of them end the check."""
        if (
            self._session is not None
            and self.max_steps is not None
            and self._session.recorder.step >= self.max_steps
        ):
            self.end()

    def end(self, error: BaseException | None = None) -> None:
        """Stop, and print the findings; nothing if it has not begun."""
        session, self._session = self._session, None
        if session is None:
            return
        self.result = session.finish(error)
        if not self.quiet:
            print(as_text(self.result, wants_colour(sys.stderr)), file=sys.stderr)


def engine_here() -> str:
    """The engine that `torch` is in this process: "torch" for PyTorch itself, else "pellucid"."""
    torch = sys.modules.get("torch")
    return "torch" if torch is not None and not hasattr(torch, "explain") else "pellucid"


def lightning(max_steps: int | None = None, **options: Any) -> Any:
    """A callback for PyTorch Lightning's Trainer (`lightning` or `pytorch_lightning`); options as
    of `Attached`.

    Raises:
        ModuleNotFoundError: neither is installed.
    """
    try:
        from lightning.pytorch.callbacks import Callback
    except ModuleNotFoundError:
        from pytorch_lightning.callbacks import Callback

    class PellucidCheck(Attached, Callback):
        """Begins with `fit` and ends with it."""

        def on_fit_start(self, trainer: Any, module: Any) -> None:
            self.begin()

        def on_train_batch_end(self, trainer: Any, module: Any, *args: Any, **kwargs: Any) -> None:
            self.stepped()

        def on_fit_end(self, trainer: Any, module: Any) -> None:
            self.end()

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            self.end(exception)

    return PellucidCheck(max_steps, **options)


def transformers(max_steps: int | None = None, **options: Any) -> Any:
    """A callback for the Trainer of Hugging Face Transformers; options as of `Attached`.

    Raises:
        ModuleNotFoundError: transformers is not installed.
    """
    from transformers import TrainerCallback

    class PellucidCheck(Attached, TrainerCallback):
        """Begins and ends with `train()`."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.begin()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.stepped()

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.end()

    return PellucidCheck(max_steps, **options)


def export(result: CheckResult, writer: Any, prefix: str = "check/") -> int:
    """Write the series of a result with `measures=True` to TensorBoard or Weights & Biases; returns
    how many numbers were written.

    Args:
        result: of `watching(measures=True)`, `check_script(..., measures=True)` or a callback.
        writer: has `add_scalar(name, value, step)`, as a SummaryWriter, or
            `log({name: value}, step=step)`, as a run of W&B.
        prefix: stands before the names.

    Raises:
        ValueError: the result has no measures, or the writer has neither method.
    """
    gathered = result.measures
    if gathered is None:
        raise ValueError("the result has no measures: check with measures=True")
    points: list[tuple[int, str, float]] = [
        (step, "loss", value) for step, value in gathered.losses
    ]
    for kind in ("gradient_norms", "update_ratios"):
        points += [
            (step, f"{kind}/{name}", value)
            for name, series in getattr(gathered, kind).items()
            for step, value in series
        ]
    for name, series in gathered.learning_rates.items():
        points += [
            (step, f"learning_rate/{name}/{k}", rate)
            for step, rates in series
            for k, rate in enumerate(rates)
        ]
    points.sort(key=lambda point: point[0])  # W&B takes steps in their order
    if hasattr(writer, "add_scalar"):
        for step, name, value in points:
            writer.add_scalar(prefix + name, value, step)
    elif hasattr(writer, "log"):
        for step, name, value in points:
            writer.log({prefix + name: value}, step=step)
    else:
        raise ValueError(f"a {type(writer).__name__} has neither add_scalar nor log")
    return len(points)
