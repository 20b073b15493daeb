"""Gradient scaling for float16: scale the loss up so that small gradients do not underflow, and
skip steps that overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ..arrays import lists
from ..core import tracing
from ..core.modes import no_grad
from ..core.tensor import Tensor, count_write, version_of
from ..dtypes import float32, int32
from ..errors import warn
from ..ops.pointwise.compare import isfinite
from ..ops.shape.join import stack

__all__ = ["GradScaler", "OptState"]


def _finite(a: Any) -> bool:
    """Whether all elements are finite, as their sum of squares says where it does not overflow."""
    flat = a.reshape(-1)
    return (
        a.dtype.kind == "f" and bool(np.isfinite(np.dot(flat, flat))) or bool(np.isfinite(a).all())
    )


def _unscaled(grads: list[Tensor], inverse: float) -> bool:
    """Multiply gradients by a factor; whether all of them are finite."""
    kinds: dict[Any, list[Any]] = {}
    for g in grads:
        count_write(version_of(g))
        kinds.setdefault(g._array.dtype, []).append(g._array)
    for arrays in kinds.values():
        lists.scale(arrays, inverse)
    return all(_finite(g._array) for g in grads)


@no_grad()
def _unscaled_in_operations(grads: list[Tensor], inverse: float) -> bool:
    """The same in operations, which a tracer can follow."""
    for g in grads:
        g.mul_(inverse)
    return not grads or bool(stack([isfinite(g).all() for g in grads]).all())


class OptState(Enum):
    """What has been done with an optimizer's gradients since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales a loss before backward and its gradients back before the optimizer's step.

    Args:
        device: "cpu"; "cuda" warns and switches the scaler off, as PyTorch without CUDA.
        init_scale: the first factor.
        growth_factor, growth_interval: the factor grows after so many steps without an overflow.
        backoff_factor: it shrinks after an overflow.
        enabled: False makes every method pass things through.

    Source: Micikevicius et al., "Mixed Precision Training", 2017.

    >>> import pellucid as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
    >>> scaler.scale((w * 2).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0.], requires_grad=True)
    """

    def __init__(
        self,
        device: str | None = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device not in ("cpu", None):
            warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.",
                UserWarning,
            )
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._growth_tracker = 0
        # optimizer -> whether its gradients overflowed, once unscaled in this step
        self._found: dict[int, bool] = {}
        self._stages: dict[int, OptState] = {}

    def scale(self, outputs: Any) -> Any:
        """The loss, or a nested list of losses, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = [self.scale(o) for o in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the factor, for instance before clipping them."""
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        if stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        grads = tracing.gradients([p for group in optimizer.param_groups for p in group["params"]])
        if any(g._array.dtype == np.float16 for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        self._found[id(optimizer)] = not (
            _unscaled_in_operations if tracing.tracer() else _unscaled
        )(grads, 1.0 / self._scale)
        self._stages[id(optimizer)] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage is OptState.READY:
            self.unscale_(optimizer)
        self._stages[id(optimizer)] = OptState.STEPPED
        if self._found[id(optimizer)]:
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the factor for the next step: given, shrunk after an overflow, or grown after many
        good steps.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if True in self._found.values():
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._found.clear()
        self._stages.clear()

    def get_scale(self) -> float:
        """The factor; 1.0 when disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """How much the factor grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set how much the factor grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """How much the factor shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set how much the factor shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the factor grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """False when the scaler passes everything through."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The factor and its settings; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor, self._backoff_factor = (
            state_dict["growth_factor"],
            state_dict["backoff_factor"],
        )
        self._growth_interval, self._growth_tracker = (
            state_dict["growth_interval"],
            state_dict["_growth_tracker"],
        )


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """The state of an optimizer at the start of a step, as PyTorch's scaler keeps it."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply gradients by `inv_scale`, and write 1 into `found_inf` where one is not finite.

    >>> import pellucid as torch
    >>> grads, found = [torch.tensor([2.0, float("inf")])], torch.zeros(())
    >>> torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(0.5))
    >>> grads[0], found
    (tensor([1., inf]), tensor(1.))
    """
    if inv_scale.numel() != 1:
        raise RuntimeError("inv_scale must be a 1-element tensor.")
    if found_inf.numel() != 1:
        raise RuntimeError("found_inf must be a 1-element tensor.")
    with no_grad():
        for grad in self:
            if not bool(isfinite(grad).all()):
                found_inf.fill_(1)
            grad.mul_(inv_scale)


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Write the next factor of a scaler, and how many steps there were without an overflow.

    >>> import pellucid as torch
    >>> scale, steps = torch.tensor(8.0), torch.zeros((), dtype=torch.int32)
    >>> torch._amp_update_scale_(scale, steps, torch.ones(()), 2.0, 0.5, 10)
    tensor(4.)
    """
    if growth_tracker.numel() != 1:
        raise RuntimeError("growth_tracker must be a 1-element tensor.")
    if growth_tracker.dtype is not int32:
        raise RuntimeError("growth_tracker must be an int tensor.")
    if self.numel() != 1:
        raise RuntimeError("current_scale must be a 1-element tensor.")
    if self.dtype is not float32:
        raise RuntimeError("current_scale must be a float tensor.")
    if found_inf.numel() != 1:
        raise RuntimeError("found_inf must be a 1-element tensor.")
    if found_inf.dtype is not float32:
        raise RuntimeError("found_inf must be a float tensor.")
    with no_grad():
        if found_inf.item():
            self.mul_(scale_backoff_factor)
            growth_tracker.fill_(0)
        elif int(growth_tracker.item()) + 1 == growth_interval:
            grown = self * scale_growth_factor
            if bool(isfinite(grown)):
                self.copy_(grown)
            growth_tracker.fill_(0)
        else:
            growth_tracker.add_(1)
    return self
