"""Parameters that are computed from others each time they are read."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside the block, a parametrized tensor is computed once and then remembered.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> with parametrize.cached():
    ...     print(layer.weight is layer.weight)
    True
    >>> layer.weight is layer.weight
    False
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors from which they compute it (`original`,
    or `original0`, ...).
    """

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ArgumentValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad(), contextlib.suppress(NotImplementedError):  # then the tensor stays as it is
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is not None:
                    new = inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ArgumentValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ArgumentValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {new.dtype}"
                )
            with no_grad():
                original.data = new.data if new is not original else original.data
            self._add("original", original, original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ArgumentValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(part).__name__}."
                    )
                kept = (
                    Parameter(part.detach(), original.requires_grad)
                    if isinstance(original, Parameter)
                    else part
                )
                self._add(f"original{i}", kept, original)
        if not unsafe:
            _check_result(self(), shape, dtype)

    def _add(self, name: str, tensor: Any, like: Any) -> None:
        if isinstance(like, Parameter):
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as far as it can."""
        with no_grad():
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is None:
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ArgumentValueError(
                        f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                    )
                if value.dtype != self.original.dtype:
                    raise ArgumentValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}"
                    )
                self.original.data = value.data
            else:
                if len(value) != self.ntensors:
                    raise ArgumentValueError(
                        f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}."
                    )
                for i, part in enumerate(value):
                    getattr(self, f"original{i}").data = part.data

    def forward(self) -> Tensor:
        parts = (
            [self.original]
            if self.is_tensor
            else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        )
        first, *rest = self
        value = first(*parts)
        for module in rest:
            value = module(value)
        return value


def _check_result(value: Any, shape: Any, dtype: Any) -> None:
    if not isinstance(value, Tensor):
        raise ArgumentValueError(
            f"A parametrization must return a tensor. Got {type(value).__name__}."
        )
    if value.dtype != dtype:
        raise ArgumentValueError(
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized dtype: {dtype}\nparametrized dtype: {value.dtype}"
        )
    if value.shape != shape:
        raise ArgumentValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized shape: {shape}\nparametrized shape: {value.shape}"
        )


def _check_inverse(value: Any, wanted: Tensor, name: str) -> None:
    start = "The tensor returned by parametrization.right_inverse must have the same"
    if not isinstance(value, Tensor):
        raise ArgumentValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(value).__name__}"
        )
    for part, own, got in (
        ("dtype", wanted.dtype, value.dtype),
        ("shape", wanted.shape, value.shape),
    ):
        if own != got:
            raise ArgumentValueError(
                f"{start} {part} as {name}, unless the `unsafe` flag is enabled.\n{name}.{part}: {own}\nreturned {part}: {got}"
            )


def _getter(name: str) -> property:
    def get(self: Any) -> Any:
        part = self.parametrizations[name]
        if not _cache_enabled:
            return part()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = part()
        return _cache[key]

    def set_(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set_)


def _make_class(module: Module) -> None:
    """Give the module a class of its own, on which properties can be put."""
    base = module.__class__

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        known = memo.get(id(self))
        if known is not None:
            return known
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    body: dict[str, Any] = {"__getstate__": getstate, "parametrized_base": base}
    body["__module__"] = ParametrizationList.__module__
    if not hasattr(base, "__deepcopy__"):
        body["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), body)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute `module.tensor_name` by `parametrization(original)` whenever it is read.

    Args:
        parametrization: a module; with a method `right_inverse`, the tensor can be assigned.
        unsafe: allow a change of dtype or shape.

    Example:
        >>> import pellucid as torch
        >>> class Symmetric(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x + x.T
        >>> linear = register_parametrization(torch.nn.Linear(2, 2), "weight", Symmetric())
        >>> bool((linear.weight == linear.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        table: Any = module.parametrizations
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _check_result(after, before.shape, before.dtype)
            if hasattr(parametrization, "right_inverse"):
                _check_inverse(
                    parametrization.right_inverse(after), before, f"module.{tensor_name}"
                )
        table[tensor_name].append(parametrization)
        table[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _make_class(module)
            module.parametrizations = ModuleDict()
        setattr(module.__class__, tensor_name, _getter(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ArgumentValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or one of its tensors, is parametrized.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> parametrize.is_parametrized(layer, "weight"), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    table = getattr(module, "parametrizations", None)
    if table is None or not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the tensor an ordinary one again, with its parametrized value or, without
    `leave_parametrized`, its original.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer = parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentValueError(
            f"Module {module} does not have a parametrization on {tensor_name}"
        )
    table: Any = module.parametrizations
    entry = table[tensor_name]
    if entry.is_tensor:
        original = entry.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
                original.data = value.data
    else:
        if not leave_parametrized:
            raise ArgumentValueError(
                "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
            )
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    delattr(module.__class__, tensor_name)
    del table[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.parametrized_base
    return module


def type_before_parametrizations(module: Module) -> type:
    """The module's class without its parametrizations.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return module.parametrized_base if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Put the parametrizations of one module, and their originals, on another."""
    if not is_parametrized(from_module):
        return to_module
    if not isinstance(to_module, Module):
        raise ArgumentTypeError("to_module is not a Module")
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        source: Any = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(source.original.detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target: Any = to_module.parametrizations[name]
        for attribute in (
            ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        ):
            setattr(target, attribute, getattr(source, attribute))
    return to_module
