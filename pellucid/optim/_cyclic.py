"""Cyclic schedules: CyclicLR, OneCycleLR, cosine annealing with restarts."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..core import tracing
from ..errors import ArgumentValueError
from ._schedule import LRScheduler, check_optimizer, per_group, set_value


def _start_momentum(
    optimizer: Any, base: Any, most: Any, last_epoch: int
) -> tuple[bool, list[Any], list[Any]]:
    """Whether the momentum is beta1; base and largest momenta of the groups, which begin with the
    largest.
    """
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ArgumentValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    use_beta1 = "betas" in optimizer.defaults
    bases, mosts = (
        per_group("base_momentum", optimizer, base),
        per_group("max_momentum", optimizer, most),
    )
    if last_epoch == -1:
        for high, low, group in zip(mosts, bases, optimizer.param_groups):
            _set_momentum(group, high, use_beta1)
            group["max_momentum"] = high
            group["base_momentum"] = low
    return use_beta1, bases, mosts


def _set_momentum(group: dict[str, Any], momentum: Any, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """Cycles the learning rate between `base_lr` and `max_lr`, and the momentum inversely.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        base_lr, max_lr: the bounds, numbers or one for each group. The second may shrink from cycle
            to cycle.
        step_size_up, step_size_down: steps of the rising and the falling half. Default: 2000, and
            the same as the first.
        mode: "triangular", "triangular2" (half the height each cycle) or "exp_range" (height times
            gamma^iteration). Default: "triangular".
        gamma: the factor of "exp_range". Default: 1.
        scale_fn: your own function of the height, instead of `mode`. Default: None.
        scale_mode: what `scale_fn` is a function of: the "cycle" or the "iterations". Default:
            "cycle".
        cycle_momentum: whether the momentum (beta1 of Adam) is cycled, too. Default: True.
        base_momentum, max_momentum: its bounds. Default: 0.8 and 0.9.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: an unknown mode without `scale_fn`; `cycle_momentum` for an optimizer without
            momentum.

    Source: Smith, "Cyclical learning rates for training neural networks", 2017.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.3, 0.5, 0.3, 0.1]
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (float(step_size_down) if step_size_down is not None else up)
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = (
            scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        )
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, self.base_momentums, self.max_momentums = _start_momentum(
                optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, as a share of the first one's."""
        custom = self._scale_fn_custom
        return custom(x) if custom is not None else self._scale_fn_ref(x)

    @property
    def _scale_fn_ref(self) -> Callable[[float], float]:
        """The function of the height that belongs to `mode`."""
        gamma = self.gamma
        if self.mode == "triangular":
            return lambda x: 1.0
        if self.mode == "triangular2":
            return lambda x: 1 / (2.0 ** (x - 1))
        return lambda x: gamma**x

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [
            low + (high - low) * share * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                _set_momentum(group, high - (high - low) * share * scale, self.use_beta1)
        return rates

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None
        if custom is not None and not isinstance(custom, types.FunctionType):
            state["_scale_fn_custom"] = custom.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        custom = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if custom is not None:
            self._scale_fn_custom.__dict__.update(custom)


def _cosine(start: Any, end: Any, share: float) -> Any:
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _straight(start: Any, end: Any, share: float) -> Any:
    return (end - start) * share + start


_PHASE = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")


class OneCycleLR(LRScheduler):
    """The 1cycle policy: the learning rate rises to `max_lr`, then falls far below where it began;
    the momentum inversely.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        max_lr: the largest rate, a number or one for each group.
        total_steps: number of steps; or
        epochs, steps_per_epoch: two numbers whose product it is.
        pct_start: share of the steps that go up. Default: 0.3.
        anneal_strategy: "cos" or "linear". Default: "cos".
        cycle_momentum: whether the momentum (beta1 of Adam) is cycled, too. Default: True.
        base_momentum, max_momentum: its bounds. Default: 0.85 and 0.95.
        div_factor: the first rate is `max_lr / div_factor`. Default: 25.
        final_div_factor: the last rate is the first one divided by this. Default: 1e4.
        three_phase: come down to the first rate, then below it. Default: False.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: no number of steps, an option out of range, or more steps than there are.

    Source: Smith, Topin, "Super-convergence: very fast training of neural networks using large
    learning rates", 2018.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5, cycle_momentum=False)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.04, 0.9505, 0.6113, 0.1883]
    """

    def __init__(
        self,
        optimizer: Any,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ArgumentValueError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        top = float(pct_start * self.total_steps) - 1
        if three_phase:
            phases: list[tuple[Any, ...]] = [
                (top, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (
                    float(2 * pct_start * self.total_steps) - 2,
                    "max_lr",
                    "initial_lr",
                    "base_momentum",
                    "max_momentum",
                ),
                (self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            phases = [
                (top, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        # Dicts with PyTorch's keys, because they are part of the state_dict.
        self._schedule_phases = [dict(zip(_PHASE, phase, strict=True)) for phase in phases]
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for high, group in zip(per_group("max_lr", optimizer, max_lr), optimizer.param_groups):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, _, _ = _start_momentum(
                optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        at = self.last_epoch
        if at > self.total_steps:
            raise ArgumentValueError(
                f"Tried to step {at} times. The specified number of total steps is {self.total_steps}"
            )
        anneal = _cosine if self._anneal_func_type == "cos" else _straight
        start = 0.0
        for phase in self._schedule_phases:
            if at <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        end, lr_from, lr_to, momentum_from, momentum_to = (phase[key] for key in _PHASE)
        share = (at - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[lr_from], group[lr_to], share))
            if self.cycle_momentum:
                _set_momentum(
                    group, anneal(group[momentum_from], group[momentum_to], share), self.use_beta1
                )
        return rates


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ArgumentValueError(
                f"Expected positive integer total_steps, but got {total_steps}"
            )
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ArgumentValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch)"
        )
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ArgumentValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing with restarts: down to `eta_min` in T_0 steps, then from the top again.

    `lr = eta_min + (initial_lr - eta_min) * (1 + cos(pi * t / T)) /
    2`, t steps into a cycle of T; `step` takes fractions of epochs, too.

    Call `step()` after `optimizer.step()`, once per epoch or once per batch, depending on what
    the schedule counts.

    Args:
        optimizer: the optimizer whose learning rates it sets.
        T_0: number of steps of the first cycle.
        T_mult: how many times as long each cycle is as the one before. Default: 1.
        eta_min: the smallest rate. Default: 0.
        last_epoch: the last step, to continue after loading; -1 starts from scratch. Default: -1.

    Raises:
        ValueError: `T_0` or `T_mult` that are not positive integers.

    Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    Example:
        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ArgumentValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ArgumentValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * share for lr in self.base_lrs]

    @tracing.replayed
    def step(self, epoch: float | None = None) -> None:
        """Go on by one, or to any (fractional) epoch."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ArgumentValueError(f"Expected non-negative epoch, but got {epoch}")
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            rates = self.get_lr()
        self._set(rates)

    def _jump(self, epoch: float) -> None:
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
