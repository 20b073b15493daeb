"""Weight normalization by hooks, the older form (see parametrizations.weight_norm)."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentValueError, OperationError, warn
from .._functions import T
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that computes the weight before each call."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """g v / |v|."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return T._weight_norm(v, g, self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into a magnitude `name_g` and a direction `name_v`, which are trained instead of it.

    Before each call the weight is computed as g v / ||v||, where the norm runs over all dimensions except `dim`.
    `torch.nn.utils.parametrizations.weight_norm` is the newer form.

    Args:
        module: the module that has the weight. It is changed and returned.
        name: the name of the weight. Default: "weight".
        dim: the dimension along which each slice has its own magnitude, or None for a single magnitude. Default: 0.

    Raises:
        RuntimeError: the weight is normalized already.

    Source: Salimans and Kingma, "Weight normalization: a simple reparameterization to accelerate
    training of deep neural networks", 2016.

    >>> import pellucid as torch
    >>> import warnings
    >>> layer = torch.nn.Linear(2, 3)
    >>> with warnings.catch_warnings(action="ignore"):  # deprecated
    ...     _ = torch.nn.utils.weight_norm(layer)
    >>> {name: tuple(p.shape) for name, p in layer.named_parameters()}
    {'bias': (3,), 'weight_g': (3, 1), 'weight_v': (3, 2)}
    """
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise OperationError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ArgumentValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
            "weight normalization"
        )
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(T.norm_except_dim(weight, 2, hook.dim).data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`: make the weight an ordinary parameter again, with its present value.

    Raises:
        ValueError: the module has no normalized weight of this name.

    >>> import pellucid as torch
    >>> import warnings
    >>> layer = torch.nn.Linear(2, 3)
    >>> with warnings.catch_warnings(action="ignore"):  # deprecated
    ...     layer = torch.nn.utils.weight_norm(layer)
    >>> layer = torch.nn.utils.remove_weight_norm(layer)
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            delattr(module, name)
            del module._parameters[name + "_g"]
            del module._parameters[name + "_v"]
            setattr(module, name, Parameter(weight.data))
            del module._forward_pre_hooks[key]
            return module
    raise ArgumentValueError(f"weight_norm of '{name}' not found in {module}")
