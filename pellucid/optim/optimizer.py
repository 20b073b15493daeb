"""The Optimizer: parameter groups, state, hooks, saving, and the loop over parameters that
subclasses fill in.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Self, cast

from .. import dtypes
from .._foreach import (
    _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices,
)
from .._foreach import _get_fused_kernels_supported_devices, _group_tensors_by_device_and_dtype
from ..api.gradients import clear_gradients
from ..core import observe
from ..core.modes import enable_grad, set_grad_enabled
from ..core.tape import RemovableHandle, register
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, ArgumentValueError, OperationError, hinted, warn
from ..nn.parameter import Parameter
from ..ops.pointwise.complex import view_as_real

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_global_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_post_hooks: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of any optimizer."""
    return register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of any optimizer."""
    return register(_global_post_hooks, hook)


def to_number(x: Any) -> Any:
    """A hyper-parameter that may be a one-element tensor, as a number."""
    return x.item() if isinstance(x, Tensor) else x


def check(condition: Any, text: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ArgumentValueError(text)


def check_lr(lr: Any) -> None:
    """Refuse a learning rate that is negative or not one number."""
    if isinstance(lr, Tensor):
        check(lr._array.size == 1, "Tensor lr must be 1-element")
    check(0.0 <= to_number(lr), f"Invalid learning rate: {lr}")


HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


_OTHER_NAMES = {
    "learning_rate": "lr",
    "beta1": "betas",
    "beta2": "betas",
    "beta_1": "betas",
    "beta_2": "betas",
    "epsilon": "eps",
    "decay": "weight_decay",
}


_OF_MODEL = "an optimizer takes the model's parameters: pass model.parameters()"


def _check_keywords(init: Callable[..., Any], given: dict[str, Any]) -> None:
    """Python's error for a keyword that an optimizer does not take, with the name that it has here.

    Raises:
        TypeError: `init` takes neither this keyword nor all keywords.
    """
    taken = inspect.signature(init).parameters
    if any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        return
    for name in given:
        if name not in taken:
            close = [_OTHER_NAMES.get(name, ""), *difflib.get_close_matches(name, taken, n=1)]
            meant = next((known for known in close if known in taken), None)
            error = TypeError(f"{init.__qualname__}() got an unexpected keyword argument {name!r}")
            options = [k for k in taken if k not in ("self", "params")]
            raise hinted(
                error,
                f"the argument is called {meant}"
                if meant
                else f"the options are {', '.join(options)}",
            )


class Optimizer:
    """Base class of optimizers; a subclass defines `step`.

    Args:
        params: parameters, (name, parameter) pairs, or dictionaries with "params" and
            their own options.
        defaults: the options of groups that do not set them.

    Raises:
        TypeError: `params` is a tensor, a set, or holds something that is not a tensor. ValueError:
            nothing to optimize, a non-leaf, a parameter in two groups.

    Example:
        >>> import pellucid as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.item()
        0.800000011920929
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if kwargs:
            _check_keywords(cls.__init__, kwargs)
        return super().__new__(cls)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in HOOK_TABLES:
            setattr(self, name, OrderedDict())
        if isinstance(params, Tensor):
            raise ArgumentTypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {params.type()}",
                hint="put the tensor in a list: [w]",
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        try:
            groups = list(params)
        except TypeError as error:
            if hasattr(params, "parameters"):
                hinted(error, _OF_MODEL)
            raise
        if not groups:
            raise ArgumentValueError(
                "optimizer got an empty parameter list",
                hint="a model does not see layers in a plain list or dict: use nn.ModuleList or nn.ModuleDict; or model.parameters() was "
                "consumed before, since it is an iterator",
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- pickling and text -----------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOK_TABLES:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())
        # Options that are younger than the saved state.
        for group in getattr(self, "param_groups", ()):
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    def __repr__(self) -> str:
        text = self.__class__.__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    # ---- groups ----------------------------------------------------------------------------------
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dictionary with "params" and any options."""
        if not isinstance(param_group, dict):
            raise ArgumentTypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise ArgumentTypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
                "between runs. Please use a list instead."
            )
        param_group["params"] = [given] if isinstance(given, Tensor) else list(given)
        self._split_names(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise ArgumentTypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}",
                    hint=_OF_MODEL if hasattr(param, "parameters") else None,
                )
            if not self.defaults.get("differentiable") and not (
                param.is_leaf or param.retains_grad
            ):
                raise ArgumentValueError(
                    "can't optimize a non-leaf Tensor",
                    hint="pass the nn.Parameter itself, not something computed from it (such as .to(...) of it)",
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ArgumentValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        params = param_group["params"]
        if len(params) != len(set(params)):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
            )
        named = "param_names" in param_group
        if any(("param_names" in group) is not named for group in self.param_groups):
            raise ArgumentValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer"
            )
        if not {p for group in self.param_groups for p in group["params"]}.isdisjoint(params):
            raise ArgumentValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _split_names(group: dict[str, Any]) -> None:
        """(name, parameter) pairs become "params" and "param_names"."""
        pairs = [p for p in group["params"] if isinstance(p, tuple)]
        if not pairs:
            return
        if len(pairs) != len(group["params"]):
            raise ArgumentValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        group["param_names"] = [name for name, _ in pairs]
        group["params"] = [param for _, param in pairs]

    # ---- stepping --------------------------------------------------------------------------------
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss, and its value is returned."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or to zeros without `set_to_none`."""
        clear_gradients([p for group in self.param_groups for p in group["params"]], set_to_none)

    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

    @staticmethod
    def _loss(closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    # ---- saving ----------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """ "state" (per parameter, by position) and "param_groups" (options, and positions of
        parameters).
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        position: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                position.setdefault(id(p), len(position))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [position[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            (position[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over options and state from `state_dict`, parameter by parameter in order; tensors
        take the parameters' dtype.

        Raises:
            ValueError: another number of groups, or of parameters in a group.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ArgumentValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved)):
            raise ArgumentValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_position = {
            i: p for a, b in zip(groups, saved) for i, p in zip(b["params"], a["params"])
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_position:
                state[by_position[key]] = _adapted(by_position[key], value)
            else:
                state[key] = value
        for old, new in zip(groups, saved):
            new["params"] = old["params"]
            if "param_names" in old and "param_names" not in new:
                new["param_names"] = old["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # ---- hooks -----------------------------------------------------------------------------------
    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """`func`, a `step`, with the hooks before and after it."""
        return cast("Callable[..., Any]", _with_hooks(func))

    def _patch_step_function(self) -> None:
        """Make the class's `step` call hooks; for optimizers that never run `Optimizer.__init__`."""
        kind = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{kind.__name__}.zero_grad"
        kind.step = _with_hooks(kind.step)  # type: ignore[method-assign]

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new (args, kwargs)."""
        return register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _register(table: OrderedDict[int, Any], hook: Any, prepend: bool) -> RemovableHandle:
    handle = register(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _adapted(param: Tensor, value: Any, key: str | None = None) -> Any:
    """Saved state for a parameter: tensors in its dtype, but for the step count."""
    if isinstance(value, Tensor):
        if key == "step" or not param.dtype.is_floating_point:
            return value
        return value.to(dtype=param.dtype)
    if isinstance(value, dict):
        return {k: _adapted(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        kind: Any = type(value)
        return kind(_adapted(param, v) for v in value)
    return value


def _with_hooks(step: Any) -> Any:
    """`step` with the hooks before and after it, when it is the outermost one and there are any."""
    if getattr(step, "hooked", False):
        return step

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        outermost = type(self).step
        # called as super().step()
        if outermost is not wrapper and getattr(outermost, "__wrapped__", None) is not wrapper:
            return step(self, *args, **kwargs)
        # a wrapper of an optimizer that is none itself: it never called __init__
        if "_optimizer_step_pre_hooks" not in vars(self):
            return step(self, *args, **kwargs)
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if before or after or _global_pre_hooks or _global_post_hooks or observe.observers:
            args = (self, *args)  # as PyTorch's hooks see them, and give them back
            for hook in (*_global_pre_hooks.values(), *before.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise OperationError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
            result = step(*args, **kwargs)
            for hook in (*after.values(), *_global_post_hooks.values()):
                hook(self, args, kwargs)
            if observe.observers:
                observe.notify("optimizer_step", self)
            return result
        return step(self, *args, **kwargs)

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


ParamsT = Any


# ---- what optimizers of other libraries take from `torch.optim.optimizer` ---------------------
_foreach_supported_types = [Tensor, Parameter]
_maximize_doc = (
    "maximize (bool, optional): maximize the objective instead of minimizing it (default: False)"
)
_foreach_doc = (
    "foreach (bool, optional): whether the update runs on lists of tensors (default: None)"
)
_fused_doc = "fused (bool, optional): whether the fused implementation is used (default: None)"
_capturable_doc = "capturable (bool, optional): whether the update can be captured in a CUDA graph (default: False)"
_differentiable_doc = (
    "differentiable (bool, optional): whether autograd records the step (default: False)"
)
_params_doc = (
    "params (iterable): parameters, named parameters, or dictionaries that define groups of them"
)


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for `step`: gradients are recorded inside of it where the optimizer is
    differentiable.
    """

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(args[0].defaults["differentiable"])):
            return func(*args, **kwargs)

    return step


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach): what PyTorch would choose. On the CPU it never updates lists of tensors
    unless told to.
    """
    return bool(
        use_fused and not differentiable and all(p.is_floating_point() for p in params)
    ), False


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Any = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives the function back: nothing here is unsupported."""
    return lambda function: function


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Refuse parameters that the fused implementation does not take.

    Raises:
        RuntimeError: a parameter of integers.
    """
    if not p.is_floating_point():
        raise OperationError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"{_get_fused_kernels_supported_devices()} but {p.dtype} and {p.device.type}"
        )


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The type of a step counter."""
    return (
        dtypes.float64
        if dtypes.get_default_dtype() is dtypes.float64 and not is_fused
        else dtypes.float32
    )


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Put real views in the place of complex tensors, in all of the lists."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = view_as_real(p)
            for tensors in state_and_grads:
                tensors[i] = view_as_real(tensors[i])
