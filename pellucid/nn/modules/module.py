"""The Module: parameters, buffers and submodules as attributes, calls with hooks, and walks over
the tree of modules.
"""

from __future__ import annotations

import difflib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from ...api.attach import LENT, missing
from ...api.gradients import clear_gradients
from ...api.notebook import module_html
from ...core import observe
from ...core.modes import state
from ...core.tensor import Tensor
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingAttributeError,
    MissingKeyError,
    hinted,
)
from ..parameter import Buffer, Parameter
from . import _hooks
from ._convert import ConvertMixin
from ._hooks import HooksMixin
from ._hooks import register_module_backward_hook as register_module_backward_hook
from ._hooks import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from ._hooks import register_module_forward_hook as register_module_forward_hook
from ._hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from ._hooks import register_module_full_backward_hook as register_module_full_backward_hook
from ._hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from ._hooks import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from ._hooks import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from ._naming import add_indent, typename
from ._state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from ._state import StateMixin
from ._state import _IncompatibleKeys as _IncompatibleKeys
from ._tables import HOOKS, Hooks, adopt

_addindent = add_indent
_set = object.__setattr__


def is_parameter(value: Any) -> bool:
    """True for a Parameter, also one made of a custom tensor type."""
    return isinstance(value, Parameter) or (
        isinstance(value, Tensor) and getattr(value, "_is_param", False)
    )


_NO_INIT = "call super().__init__() first, as the first line of your module's __init__"


def _without_forward(cls: type) -> Exception:
    """PyTorch's error for a module without `forward`, and the method that may have been meant."""
    error = NotImplementedError(
        f'Module [{cls.__name__}] is missing the required "forward" function'
    )
    own = [name for kind in cls.__mro__[: cls.__mro__.index(Module)] for name in vars(kind)]
    close = difflib.get_close_matches("forward", own, n=1)
    if close:
        return hinted(
            error, f"{cls.__name__} has a method named {close[0]!r}; did you mean forward?"
        )
    if not own:
        return error
    if cls.__module__.startswith(__name__.partition(".")[0] + "."):
        return hinted(
            error, f"{cls.__name__} only holds modules; call its items, or use nn.Sequential"
        )
    return hinted(
        error,
        f"define forward(self, x) in {cls.__name__}; is it indented to stand inside the class, and not inside __init__?",
    )


class Module(HooksMixin, StateMixin, ConvertMixin):
    """Base class of all neural network modules.

    A subclass calls `super().__init__()`, assigns parameters (`nn.Parameter`) and submodules as attributes, registers
    buffers with `register_buffer`, and defines `forward`. Call the module, not `forward`, so that hooks run.

    `parameters()`, `state_dict()`, `to()`, `train()` and `eval()` cover all submodules. Layers in a plain list or dict are
    not found; use `nn.ModuleList` or `nn.ModuleDict`.

    Attributes:
        training: True in training mode, False in evaluation mode. Dropout and batch normalization depend on it.

    Example:
        >>> import pellucid as torch
        >>> class Affine(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = torch.nn.Parameter(torch.ones(2))
        ...     def forward(self, x):
        ...         return x * self.scale
        >>> [name for name, _ in Affine().named_parameters()]
        ['scale']
    """

    dump_patches: bool = False
    call_super_init: bool = False
    _version: int = 1
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _compiled_call_impl: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise ArgumentTypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise ArgumentTypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for name in HOOKS:
            own[name] = Hooks()
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        adopt(self.__dict__)

    if TYPE_CHECKING:
        forward: Callable[..., Any]  # with whatever parameters a subclass gives it
        __call__: Callable[..., Any]  # a subclass may assign that of another base class
    else:

        def forward(self, *input: Any) -> Any:
            """Compute the result; defined by the subclass."""
            raise _without_forward(type(self))

        forward.__qualname__ = "_forward_unimplemented"  # Python's complaints of arguments say it

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if (
                self._forward_pre_hooks
                or self._forward_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _hooks.global_hooks.present
                or state.slow
                or self._compiled_call_impl is not None
            ):
                compiled = self._compiled_call_impl
                return (
                    self._watched_call(args, kwargs)
                    if compiled is None
                    else compiled(*args, **kwargs)
                )
            return self.forward(*args, **kwargs)

    # ---- the call ------------------------------------------------------------------------------
    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._watched_call(args, kwargs)

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return Module.__call__(self, *args, **kwargs)

    def _watched_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not observe.observers:
            return self._call_with_hooks(args, kwargs)
        path = _enter(self)
        observe.notify("module_enter", self, path, args, kwargs)
        result = None
        try:
            result = self._call_with_hooks(args, kwargs)
            return result
        finally:
            _running.stack.pop()
            observe.notify("module_exit", self, path, result)

    # ---- attributes ----------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        """A parameter, a submodule or a buffer by its name."""
        # Reached only when ordinary lookup failed, so the tables are searched in the order of
        # frequency.
        own = self.__dict__
        for table in ("_parameters", "_modules", "_buffers"):
            held = own.get(table)
            if held is not None and name in held:
                return held[name]
        # Plain, since libraries ask `hasattr` for each call, and the traceback has the line.
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state.structure += 1
        own = self.__dict__
        params = own.get("_parameters")
        if is_parameter(value):
            if params is None:
                raise MissingAttributeError(
                    "cannot assign parameters before Module.__init__() call", hint=_NO_INIT
                )
            self._forget_attribute(name, "_parameters")
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise ArgumentTypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)",
                    hint=f"assign nn.Parameter(...), or write into it: `with torch.no_grad(): module.{name}.copy_(...)`",
                )
            self.register_parameter(name, None)
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise MissingAttributeError(
                    "cannot assign module before Module.__init__() call", hint=_NO_INIT
                )
            self._forget_attribute(name, "_modules")
            modules[name] = _hooks.on_registration("module", self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise ArgumentTypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = _hooks.on_registration("module", self, name, None)
            return
        buffers = own.get("_buffers")
        if isinstance(value, Tensor) or (buffers is not None and name in buffers):
            if buffers is not None and (isinstance(value, Buffer) or name in buffers):
                self._assign_buffer_attribute(name, value, buffers)
                return
        _set(self, name, value)

    def _assign_buffer_attribute(self, name: str, value: Any, buffers: dict[str, Any]) -> None:
        if not isinstance(value, Buffer):
            if value is not None and not isinstance(value, Tensor):
                raise ArgumentTypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            buffers[name] = _hooks.on_registration("buffer", self, name, value)
            return
        self._forget_attribute(name, "_buffers")
        self.register_buffer(name, value, bool(value.persistent))

    def _forget_attribute(self, name: str, keep: str) -> None:
        own = self.__dict__
        own.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep and table in own:
                own[table].pop(name, None)
        if "_non_persistent_buffers_set" in own:
            own["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        state.structure += 1
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        own = self.__dict__
        keys = [*dir(type(self)), *own, *self._parameters, *self._modules, *self._buffers]
        return sorted(key for key in dict.fromkeys(keys) if not key[:1].isdigit())

    def _check_registered_name(self, kind: str, name: Any, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{kind} name should be a string. Got {typename(name)}")
        if kind != "module":
            _check_dots(kind, name)
        if hasattr(self, name) and name not in table:
            raise MissingKeyError(f"attribute '{name}' already exists")
        if kind == "module":
            _check_dots(kind, name)

    def register_buffer(
        self, name: str, tensor: Tensor | Buffer | None, persistent: bool = True
    ) -> None:
        """Add a buffer: a tensor that belongs to the module's state but is not a parameter, such as
        running statistics. It moves with the module.

        Args:
            name: the attribute under which you reach it, without dots.
            tensor: its value; a buffer of None is not saved.
            persistent: whether `state_dict` contains it. Default: True.

        >>> import pellucid as torch
        >>> layer = torch.nn.Module()
        >>> layer.register_buffer("mean", torch.zeros(2))
        >>> layer.mean, list(layer.state_dict())
        (tensor([0., 0.]), ['mean'])
        """
        if "_buffers" not in self.__dict__:
            raise MissingAttributeError(
                "cannot assign buffer before Module.__init__() call", hint=_NO_INIT
            )
        self._check_registered_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _hooks.on_registration("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that is switched off."""
        if "_parameters" not in self.__dict__:
            raise MissingAttributeError(
                "cannot assign parameter before Module.__init__() call", hint=_NO_INIT
            )
        self._check_registered_name("parameter", name, self._parameters)
        if param is not None:
            if not is_parameter(param):
                raise ArgumentTypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ArgumentValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
                    f"'{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            param = _hooks.on_registration("parameter", self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module."""
        if not isinstance(module, Module) and module is not None:
            raise ArgumentTypeError(
                f"{typename(module)} is not a Module subclass",
                hint="unpack the list: nn.Sequential(*layers)"
                if isinstance(module, (list, tuple)) and type(self).__name__ == "Sequential"
                else None,
            )
        self._check_registered_name("module", name, self._modules)
        self._modules[name] = _hooks.on_registration("module", self, name, module)

    register_module = add_module

    # ---- lookup by path --------------------------------------------------------------------------
    def get_submodule(self, target: str) -> Module:
        """The submodule at a dotted path; the module itself for ""."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise MissingAttributeError(f"{found._get_name()} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Module):
                raise MissingAttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path; with `strict`, only where one is already."""
        if target == "":
            raise ArgumentValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ArgumentValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, leaf = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, leaf):
            raise MissingAttributeError(f"{parent._get_name()} has no attribute `{leaf}`")
        if hasattr(parent, leaf) and not isinstance(getattr(parent, leaf), Module):
            raise MissingAttributeError(f"`{leaf}` is not an nn.Module")
        setattr(parent, leaf, module)

    def _get_by_path(self, target: str) -> tuple[Any, str]:
        path, _, leaf = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, leaf):
            raise MissingAttributeError(f"{owner._get_name()} has no attribute `{leaf}`")
        return getattr(owner, leaf), leaf

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        value, leaf = self._get_by_path(target)
        if not is_parameter(value):
            raise MissingAttributeError(f"`{leaf}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        value, leaf = self._get_by_path(target)
        path = target.rpartition(".")[0]
        if leaf not in self.get_submodule(path)._buffers:
            raise MissingAttributeError(f"`{leaf}` is not a buffer")
        return value

    # ---- walks -----------------------------------------------------------------------------------
    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        walk = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in walk:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters of the module and its submodules, each once.

        Args:
            recurse: include those of submodules. Default: True.

        >>> import pellucid as torch
        >>> [list(p.shape) for p in torch.nn.Linear(3, 2).parameters()]
        [[2, 3], [2]]
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over pairs (dotted name, parameter) of the module and its submodules.

        Args:
            prefix: put before each name.
            recurse: include those of submodules. Default: True.
            remove_duplicate: name a shared parameter only once. Default: True.

        >>> import pellucid as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2))
        >>> [name for name, _ in model.named_parameters()]
        ['0.weight', '0.bias']
        """
        yield from self._named_members(
            lambda m: m._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers of the module and its submodules, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over pairs (dotted name, buffer) of the module and its submodules."""
        yield from self._named_members(
            lambda m: m._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """Iterate over the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over pairs (name, module) of the direct submodules."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over the module and all its submodules, at any depth, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over pairs (dotted name, module) of the module itself ("") and all its submodules."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every submodule, then on the module itself, and return the module. Typically
        used to initialize parameters.
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- flags -----------------------------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Put the module and all submodules into training mode, in which dropout is active and batch
        norm uses and updates its statistics.

        Args:
            mode: False for evaluation mode. Default: True.

        >>> import pellucid as torch
        >>> model = torch.nn.Sequential(torch.nn.Dropout(0.5))
        >>> model.train().training, model.eval()[0].training
        (True, False)
        """
        if not isinstance(mode, bool):
            raise ArgumentValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put the module and all submodules into evaluation mode, in which dropout does nothing and
        batch norm uses its running statistics. `train()` goes back.
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters, and return the module. False freezes it."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters: set them to None, or with `set_to_none=False` to zeros."""
        clear_gradients(list(self.parameters()), set_to_none)

    def share_memory(self) -> Self:
        """The module itself, its tensors marked for sharing between processes."""
        return self._apply(lambda t: t.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module's calls in place: `torch.compile` with the same arguments, without a
        wrapper around the module.

        >>> import pellucid as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> layer.compile()
        >>> layer(torch.ones(3, 2)).shape
        torch.Size([3, 1])
        """
        self._compiled_call_impl = LENT["compile"](self._call_impl, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled, which belongs to this object alone."""
        state = self.__dict__
        return (
            {k: v for k, v in state.items() if k != "_compiled_call_impl"}
            if "_compiled_call_impl" in state
            else state
        )

    # ---- text ------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [
            f"({key}): {add_indent(repr(module), 2)}" for key, module in self._modules.items()
        ]
        lines = extra_lines + children
        if not lines:
            return f"{self._get_name()}()"
        if len(extra_lines) == 1 and not children:
            return f"{self._get_name()}({extra_lines[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        return module_html(self)

    def _replicate_for_data_parallel(self) -> Any:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        return replica


for _mixin in (HooksMixin, StateMixin, ConvertMixin):  # Python's errors name Module's functions
    for _name, _member in vars(_mixin).items():
        if inspect.isfunction(_member):
            _member.__qualname__, _member.__module__ = f"Module.{_name}", __name__


def _check_dots(kind: str, name: str) -> None:
    if "." in name:
        raise MissingKeyError(
            f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else "")
        )
    if name == "":
        raise MissingKeyError(f'{kind} name can\'t be empty string ""')


class _Running(threading.local):
    """The modules now being called, with their paths, for observers."""

    def __init__(self) -> None:
        self.stack: list[tuple[Module, str]] = []


_running = _Running()


def _enter(module: Module) -> str:
    """The path of a module that is being called, from the outermost one, which has its class's
    name.
    """
    path = ""
    if not _running.stack:
        path = type(module).__name__
    else:
        parent, above = _running.stack[-1]
        near = ((n, m) for n, m in parent._modules.items() if m is not None)
        name = next(
            (n for n, m in chain(near, parent.named_modules()) if m is module),
            type(module).__name__,
        )
        path = f"{above}.{name}" if name else above
    _running.stack.append((module, path))
    return path


_global_parameter_registration_hooks = _hooks._registration["parameter"]
_global_module_registration_hooks = _hooks._registration["module"]
_global_buffer_registration_hooks = _hooks._registration["buffer"]


def __getattr__(name: str) -> Any:
    table = _hooks.WithGlobalHooks.TABLES.get(name)
    if table is None:
        raise missing("torch.nn.modules.module", name, globals())
    return getattr(_hooks.global_hooks, table)


sys.modules[__name__].__class__ = _hooks.WithGlobalHooks
