"""Modules around modules: activations that are recomputed or kept elsewhere
(`torch.distributed.algorithms._checkpoint.checkpoint_wrapper`), data parallel training as hooks
(`torch.distributed._composable.replicate`), and which modules to wrap (`torch.distributed.fsdp.wrap`).

Source: PyTorch's modules of these names.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import nn
from ..autograd.graph import save_on_cpu
from ..errors import ContractError
from ..utils.checkpoint import checkpoint

_INNER = "_checkpoint_wrapped_module"
_PREFIX = f"{_INNER}."


class CheckpointImpl(enum.Enum):
    """The two ways of `torch.utils.checkpoint`."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


def _renamed(state: dict[str, Any], old: str, new: str) -> None:
    for key in [key for key in state if key.startswith(old)] if old != new else ():
        state[new + key[len(old) :]] = state.pop(key)


class ActivationWrapper(nn.Module):
    """Holds a module, and shows its attributes; state dictionaries have the module's own names."""

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._after_saving)
        self.register_load_state_dict_pre_hook(self._before_loading)

    @staticmethod
    def _after_saving(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
        _renamed(state, prefix + _PREFIX, prefix)

    @staticmethod
    def _before_loading(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
        _renamed(state, prefix, prefix + _PREFIX)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_INNER), name)

    def __getitem__(self, key: Any) -> Any:
        inner: Any = self._checkpoint_wrapped_module
        return inner[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """As the module's, whose names have no prefix."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), p


class OffloadWrapper(ActivationWrapper):
    """Keeps the tensors that backward needs in the machine's memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=False):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Computes a module's activations again in backward."""

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            checkpoint_fn_kwargs["use_reentrant"] = reentrant
        chosen = checkpoint if checkpoint_fn is None else checkpoint_fn
        self.checkpoint_fn = functools.partial(chosen, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        inner = self._checkpoint_wrapped_module
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:
            names = list(kwargs)  # whose gradients reentrant checkpoints do not see

            def call(*values: Any) -> Any:
                split = len(values) - len(names)
                return inner(*values[:split], **dict(zip(names, values[split:], strict=True)))

            return self.checkpoint_fn(call, *args, *kwargs.values())
        return self.checkpoint_fn(inner, *args, **kwargs)


def offload_wrapper(module: nn.Module) -> nn.Module:
    """The module in an `OffloadWrapper`."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: nn.Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> nn.Module:
    """The module in a `CheckpointWrapper`: backward computes its activations again.

    Args:
        module: a part of a model.
        checkpoint_impl: the way of `torch.utils.checkpoint`.
        checkpoint_fn: instead of `torch.utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: its options.

    >>> import pellucid as torch
    >>> from pellucid.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    >>> list(checkpoint_wrapper(torch.nn.Linear(2, 1)).state_dict())
    ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def _replaced(
    model: nn.Module, wanted: Callable[[nn.Module], bool], wrap: Callable[[nn.Module], nn.Module]
) -> None:
    """Wrap the modules inside a model that are wanted, inner ones first."""
    made: dict[int, nn.Module] = {}
    for parent in list(model.modules())[::-1]:
        for name, child in list(parent.named_children()):
            if wanted(child):
                if id(child) not in made:
                    made[id(child)] = wrap(child)
                setattr(parent, name, made[id(child)])


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[[nn.Module], nn.Module] = checkpoint_wrapper,
    check_fn: Callable[[nn.Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Replace modules inside a model by wrapped ones, in place.

    Args:
        checkpoint_wrapper_fn: what wraps.
        check_fn: which modules.
        auto_wrap_policy: instead, one of `torch.distributed.fsdp.wrap`.
    """
    if auto_wrap_policy is None:
        wanted = check_fn
    elif isinstance(auto_wrap_policy, _Policy):
        chosen = {id(m) for m in auto_wrap_policy.modules_of(model)}
        wanted = lambda m: id(m) in chosen
    else:
        wanted = lambda m: auto_wrap_policy(
            module=m, recurse=False, nonwrapped_numel=sum(p.numel() for p in m.parameters())
        )
    _replaced(model, wanted, checkpoint_wrapper_fn)


# ---- which modules -------------------------------------------------------------------------------
class _Policy:
    """Says which modules of a model are wrapped."""

    def modules_of(self, model: nn.Module) -> Iterable[nn.Module]:
        """They."""
        raise NotImplementedError(f"{type(self).__name__}.modules_of")

    def __call__(self, module: nn.Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return True if recurse else any(m is module for m in self.modules_of(module))


class ModuleWrapPolicy(_Policy):
    """Modules of some classes."""

    def __init__(self, module_classes: Iterable[type[nn.Module]]) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def modules_of(self, model: nn.Module) -> Iterable[nn.Module]:
        """The modules of these classes."""
        return [m for m in model.modules() if isinstance(m, tuple(self._module_classes))]

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Modules for which a function returns True, or options."""

    def __init__(self, lambda_fn: Callable[[nn.Module], Any]) -> None:
        self._lambda_fn = lambda_fn

    def modules_of(self, model: nn.Module) -> Iterable[nn.Module]:
        """The modules that the function wants."""
        return [m for m in model.modules() if self._lambda_fn(m)]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def lambda_auto_wrap_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[nn.Module], bool]
) -> bool:
    """Modules for which a function returns True."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[nn.Module]],
) -> bool:
    """Modules of some classes."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[nn.Module]] | None = None,
    exclude_wrap_modules: set[type[nn.Module]] | None = None,
) -> bool:
    """Modules with so many parameters that are not in a wrapped one yet."""
    leaves = tuple(force_leaf_modules or {nn.MultiheadAttention})
    excluded = tuple(exclude_wrap_modules or {nn.ModuleList, nn.ModuleDict})
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, leaves if recurse else excluded)


def _or_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, policies: list[Callable[..., bool]]
) -> bool:
    """What one of several policies wants."""
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


# ---- data parallel by hooks ----------------------------------------------------------------------
def replicate(module: nn.Module, ignored_modules: Any = None, **options: Any) -> nn.Module:
    """Average the module's gradients over the ranks, as `DistributedDataParallel` does, but leave
    the module itself in place: hooks do the work.

    Args:
        module: the model.
        ignored_modules: parts whose parameters are left alone.
        options: of `DistributedDataParallel`.

    Returns:
        the same module.

    Raises:
        AssertionError: it was called with this module before.
    """
    if hasattr(module, "_replicated"):
        raise ContractError(f"replicate: it was applied before to {type(module).__name__}")
    left = {id(p) for part in ignored_modules or () for p in part.parameters()}
    nn.parallel.DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
        module, [name for name, p in module.named_parameters() if id(p) in left]
    )
    parallel = nn.parallel.DistributedDataParallel(module, **options)
    object.__setattr__(module, "_replicated", parallel)
    module.register_forward_pre_hook(lambda *_: parallel._before())
    module.register_forward_hook(lambda m, args, output: parallel._after(output))
    kind = type(module)
    module.__class__ = type(f"DDP{kind.__name__}", (_Replicated, kind), {})
    return module


class _Replicated:
    """What `replicate` adds to a module."""

    _replicated: nn.parallel.DistributedDataParallel

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """False: the backwards to come add up gradients on this rank alone."""
        self._replicated.require_backward_grad_sync = requires_gradient_sync

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        """As `DistributedDataParallel.register_comm_hook`."""
        self._replicated.register_comm_hook(*args, **kwargs)
