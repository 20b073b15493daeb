"""The base class of learning-rate schedules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from weakref import ref

from ..core import tracing
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, ArgumentValueError, MissingKeyError, warn
from .optimizer import Optimizer, to_number

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` "
    "to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used instead of the new "
    "chainable form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)


def check_optimizer(optimizer: Any) -> None:
    """Refuse anything that is not an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise ArgumentTypeError(
            f"{type(optimizer).__name__} is not an Optimizer",
            hint="a scheduler changes the learning rate of an optimizer: pass the optimizer",
        )


def values(optimizer: Any, key: str) -> list[Any]:
    """One option of all groups; tensors are copied."""
    return [
        g[key].clone() if isinstance(g[key], Tensor) else g[key] for g in optimizer.param_groups
    ]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor keeps its identity."""
    if isinstance(group[key], Tensor):
        group[key].fill_(to_number(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """A value for each group, from one or from a list of them."""
    groups = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != groups:
            raise ArgumentValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {groups}."
            )
        return list(value)
    return [value] * groups


class LRScheduler:
    """Base class of schedules: sets each group's "lr" when it is created and at each `step`.

    A subclass defines `get_lr`, which computes the learning rates for `last_epoch`.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        last_epoch: where to continue; -1 starts from scratch, with the groups' learning rates.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)  # a subclass
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.05]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise MissingKeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates for `last_epoch`; defined by the subclass."""
        raise NotImplementedError

    @tracing.replayed
    def step(self, epoch: int | None = None) -> None:
        """Go on by one; call it after `optimizer.step()`."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to "
                    "call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                    UserWarning,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in "
                    "the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
                    "skipping the first value of the learning rate schedule. See more details at "
                    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                    UserWarning,
                )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                rates = closed() if closed is not None else self.get_lr()
        self._set(rates)

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values(self.optimizer, "lr")

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
            )

    def _now(self) -> list[Any]:
        return values(self.optimizer, "lr")

    def _times(self, factor: Any) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


def _note_steps(optimizer: Any) -> None:
    """Let the optimizer remember that `step` was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    owner = ref(optimizer)
    function = optimizer.step.__func__

    @wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        me = owner()
        me._opt_called = True  # type: ignore[union-attr]
        return function(me, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step
