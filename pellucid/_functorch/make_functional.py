"""Modules as functions of their parameters (`torch._functorch.make_functional`), as `functorch` has
them.

New programs call `torch.func.functional_call`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..func import functional_call, stack_module_state
from ..nn.modules.module import Module


class FunctionalModuleWithBuffers:
    """A module without its own values: called with parameters, buffers and then the module's
    arguments.
    """

    def __init__(
        self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]
    ) -> None:
        self.stateless_model, self.param_names, self.buffer_names = (
            stateless_model,
            param_names,
            buffer_names,
        )

    def __call__(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        values = dict(zip(self.param_names, params, strict=True)) | dict(
            zip(self.buffer_names, buffers, strict=True)
        )
        return functional_call(self.stateless_model, values, args, kwargs)


class FunctionalModule:
    """A module without its own values: called with parameters and then the module's arguments."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...]) -> None:
        self.stateless_model, self.param_names = stateless_model, param_names

    def __call__(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        return functional_call(
            self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs
        )


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Any, Any, Any]:
    """The module as a function, its parameters and its buffers.

    Args:
        model: it keeps its values, the function works on a copy.
        disable_autograd_tracking: parameters that require no gradient.

    >>> import pellucid as torch
    >>> from pellucid._functorch.make_functional import make_functional_with_buffers
    >>> f, params, buffers = make_functional_with_buffers(torch.nn.Linear(2, 1))
    >>> f([torch.ones(1, 2), torch.zeros(1)], buffers, torch.ones(2))
    tensor([2.])
    """
    made = copy.deepcopy(model)
    params, buffers = dict(made.named_parameters()), dict(made.named_buffers())
    if disable_autograd_tracking:
        for param in params.values():
            param.requires_grad_(False)
    return (
        FunctionalModuleWithBuffers(made, tuple(params), tuple(buffers)),
        tuple(params.values()),
        tuple(buffers.values()),
    )


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any]:
    """The module as a function, and its parameters.

    Raises:
        RuntimeError: the module has buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    function, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(function.stateless_model, function.param_names), params


def combine_state_for_ensemble(models: Any) -> tuple[Any, Any, Any]:
    """A function of one model, with the parameters and buffers of all models stacked, for `vmap`
    over the models.

    Args:
        models: modules of one class.

    Raises:
        RuntimeError: no models, or of several classes.
    """
    params, buffers = stack_module_state(list(models))
    function, _, _ = make_functional_with_buffers(models[0])
    return function, tuple(params.values()), tuple(buffers.values())


def functional_init(
    model_class: type[Module], ensemble_shape: Any = (), device: Any = "cpu"
) -> Callable[..., tuple[Any, Any, Any]]:
    """A function that makes modules of a class: their parameters, a function of parameters and of
    the tuple of the module's arguments, and the parameters' names.

    Args:
        ensemble_shape: empty for one module; `(n,)` for the parameters of n modules, stacked.

    Raises:
        ValueError: a longer shape, or no modules.
    """

    def made(*args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        params, _, function, names, _ = _initialized(
            model_class, ensemble_shape, device, args, kwargs
        )
        return params, lambda weights, data: function(weights, (), *data), names

    return made


def functional_init_with_buffers(
    model_class: type[Module], ensemble_shape: Any = (), device: Any = "cpu"
) -> Callable[..., tuple[Any, Any, Any, Any, Any]]:
    """As `functional_init`: parameters, buffers, a function of both and of the tuple of the module's
    arguments, and the names of both.
    """

    def made(*args: Any, **kwargs: Any) -> tuple[Any, Any, Any, Any, Any]:
        params, buffers, function, *names = _initialized(
            model_class, ensemble_shape, device, args, kwargs
        )
        return params, buffers, lambda w, b, data: function(w, b, *data), names[0], names[1]

    return made


def _initialized(
    model_class: type[Module], ensemble_shape: Any, device: Any, args: Any, kwargs: Any
) -> tuple[Any, Any, Any, Any, Any]:
    if len(ensemble_shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if ensemble_shape and ensemble_shape[0] <= 0:
        raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
    models = [model_class(*args, **kwargs).to(device) for _ in range(*ensemble_shape or (1,))]
    function, params, buffers = make_functional_with_buffers(models[0])
    if ensemble_shape:
        stacked = stack_module_state(models)
        params, buffers = (tuple(x.detach() for x in part.values()) for part in stacked)
    return params, buffers, function, function.param_names, function.buffer_names
