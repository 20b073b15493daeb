"""`PostLocalSGDOptimizer`: an optimizer after whose steps the ranks' models are averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import optim
from ..distributed.averaging import ModelAverager
from ..errors import warn


class PostLocalSGDOptimizer(optim.Optimizer):
    """Wraps an optimizer: each step is followed by `averager.average_parameters`.

    Args:
        optim: the optimizer.
        averager: such as `PeriodicModelAverager`; its step is saved in `state_dict` and loaded.
    """

    def __init__(self, optim: Any, averager: ModelAverager) -> None:
        self.optim = optim
        self.param_groups = self.optim.param_groups
        self.averager = averager

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's, with the averager's step in `step`."""
        made: dict[str, Any] = self.optim.state_dict()
        made["step"] = self.averager.step
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        self.optim.load_state_dict(state_dict)
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warn(
                "Loaded state dict does not contain a step counter for an averager. "
                "Setting step counter to 0."
            )
            self.averager.step = 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step of the optimizer, then the average."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        self.optim.add_param_group(param_group)
