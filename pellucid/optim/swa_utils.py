"""Averages of models during training (`torch.optim.swa_utils`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import numpy as np

from .._foreach import (
    _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype,
)
from ..arrays import lists
from ..core import tracing
from ..core.inplace import bump
from ..core.modes import no_grad, state
from ..core.tensor import FAST_TYPES, Tensor, make_tensor
from ..errors import ArgumentValueError
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ._schedule import LRScheduler, per_group

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ArgumentValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _left(averages: Any, current: Any, weight: float) -> Any:
    """Move plain tensors towards the current ones, all in one native call where that is possible;
    the pairs that are left to do.
    """
    averages, current = list(averages), list(current)
    plain = not state.slow and all(type(t) in FAST_TYPES for t in (*averages, *current))
    if plain and lists.move([t._array for t in averages], [t._array for t in current], weight):
        for t in averages:
            bump(t, "lerp_")
        return ()
    return zip(averages, current)


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """The exponential moving average of one parameter: decay * average + (1 - decay) * current.

    >>> import pellucid as torch
    >>> update = torch.optim.swa_utils.get_ema_avg_fn(0.9)
    >>> update(torch.tensor(1.0), torch.tensor(2.0), 1)
    tensor(1.1000)
    """
    _check_decay(decay)

    @no_grad()
    def update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """The exponential moving average of lists of parameters, in place.

    >>> import pellucid as torch
    >>> average = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)(average, [torch.tensor(2.0)], 1)
    >>> average
    [tensor(1.1000)]
    """
    _check_decay(decay)

    @no_grad()
    def update(ema_params: Any, current_params: Any, _: Any) -> None:
        for average, current in _left(ema_params, current_params, 1 - decay):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """The plain mean of one parameter over time.

    >>> import pellucid as torch
    >>> update = torch.optim.swa_utils.get_swa_avg_fn()
    >>> update(torch.tensor(1.0), torch.tensor(4.0), torch.tensor(2))  # the third of three models
    tensor(2.)
    """

    @no_grad()
    def update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The plain mean of lists of parameters over time, in place.

    >>> import pellucid as torch
    >>> average = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.tensor(4.0)], torch.tensor(2))
    >>> average
    [tensor(2.)]
    """

    @no_grad()
    def update(averaged_params: Any, current_params: Any, num_averaged: Any) -> None:
        weight: Any = 1 / (num_averaged + 1)
        if not tracing.tracer():  # a tensor that counts stays one for a tracer
            weight = float(weight)
        for average, current in _left(averaged_params, current_params, weight):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(
                    current, weight.to(average.dtype) if isinstance(weight, Tensor) else weight
                )
            else:
                average.add_((current - average) / (num_averaged + 1))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's over time; calling it calls
    the copy.

    Call `update_parameters(model)` after each step or epoch that counts. Before evaluation,
    `update_bn` computes the statistics of batch normalizations for the averages.

    Args:
        model: the model.
        device: where the copy lives; None: where the model is.
        avg_fn: how to average one parameter, as `avg_fn(average, new, count)`; None: the plain
            mean.
        multi_avg_fn: the same for lists of parameters, in place, such as
            `get_ema_multi_avg_fn(0.999)`.
        use_buffers: average buffers too; otherwise they are copied. Default: False.

    Raises:
        AssertionError: both `avg_fn` and `multi_avg_fn`.

    Source: Izmailov et al., "Averaging weights leads to wider optima and better generalization",
    2018.

    Example:
        >>> import pellucid as torch
        >>> model = torch.nn.Linear(2, 1)
        >>> average = torch.optim.swa_utils.AveragedModel(model)
        >>> average.update_parameters(model)
        >>> average(torch.ones(3, 2)).shape
        torch.Size([3, 1])
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Any = None,
        multi_avg_fn: Any = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", make_tensor(np.zeros((), np.int64)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters into the average."""
        if self.use_buffers:
            own: Any = chain(self.module.parameters(), self.module.buffers())
            theirs: Any = chain(model.parameters(), model.buffers())
        else:
            own, theirs = self.parameters(), model.parameters()
        averages = [p.detach() for p in own]
        current = [p.detach() for p in theirs]
        if self.n_averaged == 0:
            for average, value in zip(averages, current):
                average.copy_(value)
        elif self.multi_avg_fn is None:
            one = self.avg_fn or get_swa_avg_fn()
            for average, value in zip(averages, current):
                average.copy_(one(average, value, self.n_averaged))
        else:
            kinds: dict[Any, tuple[list[Any], list[Any]]] = {}
            for average, value in zip(averages, current):
                group = kinds.setdefault(average.dtype, ([], []))
                group[0].append(average)
                group[1].append(value)
            for mine, new in kinds.values():
                self.multi_avg_fn(mine, new, self.n_averaged)
        if not self.use_buffers:
            for mine_, new_ in zip(self.module.buffers(), model.buffers()):
                mine_.copy_(new_)
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of all batch norms in one pass over the data.

    >>> import pellucid as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        input = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(input.to(device) if device is not None else input)
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate from the present one to `swa_lr`, then keeps it constant.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        swa_lr: the constant rate, a number or one for each group.
        anneal_epochs: number of steps until then. Default: 10.
        anneal_strategy: "cos" or "linear". Default: "cos".
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: an unknown strategy, or a negative number of steps.

    Source: Izmailov et al., "Averaging weights leads to wider optima and better generalization",
    2018.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.02, 4, "linear")
    >>> rates = []
    >>> for _ in range(5):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates.append(round(scheduler.get_last_lr()[0], 3))
    >>> rates
    [0.08, 0.06, 0.04, 0.02, 0.02]
    """

    def __init__(
        self,
        optimizer: Any,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The share of `swa_lr` after the share t of the steps."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        span = max(1, self.anneal_epochs)
        before, now = (self.anneal_func(max(0, min(1, k / span))) for k in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
