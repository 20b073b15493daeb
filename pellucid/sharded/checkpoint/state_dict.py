"""States of models and optimizers by the names that parameters have in the model alone, whatever
wraps it and however it is cut.

Source: PyTorch's `torch.distributed.checkpoint.state_dict`, whose functions these are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ... import nn
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed import groups, objects
from ...errors import ArgumentValueError, OperationError, UnsupportedError
from ..dtensor import DTensor, distribute_tensor

_PREFIXES = ("_orig_mod.", "_checkpoint_wrapped_module.")


@dataclasses.dataclass
class StateDictOptions:
    """What states are to be like.

    Attributes:
        full_state_dict: whole tensors in the place of distributed ones.
        cpu_offload: with `full_state_dict`, rank 0 alone gets the state.
        ignore_frozen_params: leave out parameters that do not require gradients.
        strict: of `load_state_dict`.
        broadcast_from_rank0: with `full_state_dict`, rank 0's state counts when one is set.
        flatten_optimizer_state_dict: one dictionary with names like "state.layer.weight.exp_avg".
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _options(options: StateDictOptions | None, submodules: Any) -> StateDictOptions:
    made = options or StateDictOptions()
    if submodules:
        raise UnsupportedError(
            "torch.distributed.checkpoint.state_dict: submodules= is not supported"
        )
    if made.broadcast_from_rank0 and not made.full_state_dict:
        raise ArgumentValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return made


def _names(model: nn.Module) -> dict[str, str]:
    """The model's keys, by the names without what wraps it."""
    found: dict[str, str] = {}
    wrapped = {
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.parallel.DistributedDataParallel)
    }
    for key in model.state_dict():
        name = key
        for path in sorted(wrapped, key=len, reverse=True):
            prefix = f"{path}." if path else ""
            if name.startswith(f"{prefix}module."):
                name = prefix + name[len(prefix) + len("module.") :]
        for prefix in _PREFIXES:
            name = name.replace(prefix, "")
        found[name] = key
    return found


def _given(value: Any, options: StateDictOptions) -> Any:
    """A value as the options want it."""
    if isinstance(value, DTensor) and options.full_state_dict:
        value = value.full_tensor()
    return value.detach() if isinstance(value, Tensor) else value


def _kept(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Nothing, on the ranks that are to have nothing."""
    if (
        options.full_state_dict
        and options.cpu_offload
        and groups.is_initialized()
        and groups.get_rank() != 0
    ):
        return {}
    return state


def get_model_state_dict(
    model: nn.Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's parameters and buffers, or those of some submodules. All ranks call it."""
    chosen = _options(options, None)
    keys, state = _names(model), model.state_dict()
    if submodules:
        inside = tuple(f"{n}." for n, m in model.named_modules() if n and m in submodules)
        keys = {name: key for name, key in keys.items() if name.startswith(inside)}
        if not chosen.keep_submodule_prefixes:
            prefix = {name: next(p for p in inside if name.startswith(p)) for name in keys}
            keys = {name.removeprefix(prefix[name]): key for name, key in keys.items()}
    frozen = (
        {k for k, p in model.named_parameters() if not p.requires_grad}
        if chosen.ignore_frozen_params
        else set()
    )
    return _kept(
        {name: _given(state[key], chosen) for name, key in keys.items() if key not in frozen},
        chosen,
    )


def _parameters(model: nn.Module) -> dict[int, str]:
    """Names of the parameters by identity."""
    by_key = {key: name for name, key in _names(model).items()}
    return {id(p): by_key.get(key, key) for key, p in model.named_parameters()}


def _optimizers(optimizers: Any) -> list[Any]:
    return [optimizers] if not isinstance(optimizers, Iterable) else list(optimizers)


def _init_optim_state(optim: Any) -> None:
    """Have the optimizer make its state, by a step that changes nothing."""
    if optim.state:
        return
    params = [p for group in optim.param_groups for p in group["params"]]
    if any(p.grad is not None for p in params):
        return
    rated = [group for group in optim.param_groups if "lr" in group]
    rates = [group["lr"] for group in rated]
    held = [p.detach().clone() for p in params]
    for p in params:
        if p.requires_grad:
            p.grad = p.detach().clone().zero_()
    for group in rated:
        group["lr"] = 0.0 if not isinstance(group["lr"], Tensor) else group["lr"] * 0
    optim.step()
    for group, rate in zip(rated, rates, strict=True):
        group["lr"] = rate
    with no_grad():
        for p, old in zip(params, held, strict=True):
            p.copy_(old)
    optim.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The optimizers' state, by the names of parameters. All ranks call it."""
    chosen = _options(options, submodules)
    names = _parameters(model)
    state: dict[str, Any] = {}
    param_groups: list[dict[str, Any]] = []
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            own = [
                (names[id(p)], p)
                for p in group["params"]
                if id(p) in names and not (chosen.ignore_frozen_params and not p.requires_grad)
            ]
            param_groups.append(
                {
                    **{k: v for k, v in group.items() if k != "params"},
                    "params": [name for name, _ in own],
                }
            )
            for name, p in own:
                if p in optimizer.state:
                    state[name] = {k: _given(v, chosen) for k, v in optimizer.state[p].items()}
    made: dict[str, Any] = {"state": state, "param_groups": param_groups}
    return _kept(_flat(made) if chosen.flatten_optimizer_state_dict else made, chosen)


def _flat(state: dict[str, Any]) -> dict[str, Any]:
    made = {
        f"state.{name}.{key}": value
        for name, held in state["state"].items()
        for key, value in held.items()
    }
    for group in state["param_groups"]:
        for name in group["params"]:
            made |= {
                f"param_groups.{name}.{key}": value
                for key, value in group.items()
                if key != "params"
            }
    return made


def _unflat(flat: dict[str, Any], optimizers: list[Any], names: dict[int, str]) -> dict[str, Any]:
    """The reverse of `_flat`."""
    state: dict[str, Any] = {}
    param_groups = []
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            own = [names[id(p)] for p in group["params"]]
            made: dict[str, Any] = {"params": own}
            for name in own:
                for key in group:
                    if f"param_groups.{name}.{key}" in flat:
                        made[key] = flat[f"param_groups.{name}.{key}"]
            for p, name in zip(group["params"], own, strict=True):
                held = {
                    key: flat[f"state.{name}.{key}"]
                    for key in optimizer.state[p]
                    if f"state.{name}.{key}" in flat
                }
                if held:
                    state[name] = held
            param_groups.append(made)
    return {"state": state, "param_groups": param_groups}


def get_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the model's state, the optimizers' state). All ranks call it."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


# ---- setting -------------------------------------------------------------------------------------
def _of_rank0(state: Any, options: StateDictOptions) -> Any:
    """Rank 0's state, where that is asked for."""
    if not options.broadcast_from_rank0 or not groups.is_initialized():
        return state
    held = [state if groups.get_rank() == 0 else None]
    objects.broadcast_object_list(held, 0)
    return held[0]


def _fitted(value: Any, like: Any) -> Any:
    """A value in the layout of the tensor whose place it takes."""
    if isinstance(like, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor):
        if tuple(value.shape) != tuple(like.shape):
            return value
        return distribute_tensor(
            value.detach(), like.device_mesh, like.placements, src_data_rank=None
        )
    return value


def set_model_state_dict(
    model: nn.Module, model_state_dict: Any, *, options: StateDictOptions | None = None
) -> Any:
    """Load the model's state; returns what `load_state_dict` does. All ranks call it.

    Whole tensors are cut as the parameters are.
    """
    chosen = _options(options, None)
    given = _of_rank0(model_state_dict, chosen)
    if not given and not chosen.broadcast_from_rank0:
        return (
            nn.modules.module._IncompatibleKeys({}, {})
            if hasattr(nn.modules.module, "_IncompatibleKeys")
            else None
        )
    keys, own = _names(model), model.state_dict()
    made = {
        keys.get(name, name): _fitted(value, own.get(keys.get(name, name)))
        for name, value in given.items()
    }
    # parameters without data take the tensors themselves
    assign = chosen.full_state_dict and any(
        isinstance(v, Tensor) and v.is_meta and v.dim() for v in own.values()
    )
    return model.load_state_dict(made, strict=chosen.strict, assign=assign)


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: Any,
    optim_state_dict: Any,
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load the optimizers' state, by the names of parameters. All ranks call it.

    Raises:
        RuntimeError: the state lacks a parameter, or a group of the optimizer.
    """
    chosen = _options(options, None)
    names, every = _parameters(model), _optimizers(optimizers)
    given = _of_rank0(optim_state_dict, chosen)
    if not given:
        return
    for optimizer in every:
        _init_optim_state(optimizer)
    if "param_groups" not in given:
        given = _unflat(given, every, names)
    by_name = {name: group for group in given["param_groups"] for name in group["params"]}
    for optimizer in every:
        state: dict[int, Any] = {}
        param_groups = []
        number = 0
        for group in optimizer.param_groups:
            numbers = []
            source: dict[str, Any] = {}
            for p in group["params"]:
                name = names[id(p)]
                if name in by_name:
                    source = by_name[name]
                elif chosen.strict and p.requires_grad:
                    raise OperationError(f"Missing optimizer state of the parameter {name}")
                if name in given["state"]:
                    held = optimizer.state.get(p, {})
                    state[number] = {
                        k: _fitted(v, held.get(k)) for k, v in given["state"][name].items()
                    }
                numbers.append(number)
                number += 1
            options_of_group = {k: source.get(k, v) for k, v in group.items() if k != "params"}
            param_groups.append({**options_of_group, "params": numbers})
        optimizer.load_state_dict({"state": state, "param_groups": param_groups})


def set_state_dict(
    model: nn.Module,
    optimizers: Any,
    *,
    model_state_dict: Any,
    optim_state_dict: Any,
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of model and optimizers; returns what `load_state_dict` of the model does."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    if _optimizers(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
