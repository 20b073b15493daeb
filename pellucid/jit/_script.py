"""`torch.jit.script`: the function or module itself, with TorchScript's interface. It runs as
Python.
"""

from __future__ import annotations

import copy
import enum
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import UnsupportedError
from ..nn.modules.module import Module
from ._errors import Error as Error
from ._errors import translated
from ._files import write
from ._warnings import deprecated


def _source(fn: Any) -> str:
    """The text of a function, as far as Python knows it."""
    try:
        return textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        return ""


class ScriptFunction:
    """A function that was scripted: a call runs the function's Python.

    >>> import pellucid as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    >>> double.name
    'double'
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self._torchdynamo_inline = fn
        self.__original_fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__original_fn(*args, **kwargs)
        except RuntimeError:
            raise
        except Exception as error:
            raise translated(error, self.__original_fn, None, args, kwargs) from error

    @property
    def name(self) -> str:
        """The function's name."""
        return self.__original_fn.__name__

    @property
    def qualified_name(self) -> str:
        """The name with `__torch__.` before it."""
        return f"__torch__.{self.__original_fn.__qualname__}"

    @property
    def code(self) -> str:
        """The function's Python."""
        return _source(self.__original_fn)

    @property
    def graph(self) -> Any:
        """The operators of a traced function; a scripted one has no graph."""
        return _traced_graph(self, self.__original_fn, False)

    @property
    def inlined_graph(self) -> Any:
        """The operators of a traced function; a scripted one has no graph."""
        return _traced_graph(self, self.__original_fn, True)

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """The operators of a call."""
        return GRAPHS["graph"](self.__original_fn, args, kwargs, True)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write it to a file: see `torch.jit.save`."""
        write(self, f, _extra_files)

    def get_debug_state(self) -> NoReturn:
        """Not supported: there is no graph of TorchScript."""
        raise _no_graph()

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self  # a ScriptFunction in a class is no method, as in PyTorch

    def __reduce__(self) -> str:
        return self.__original_fn.__qualname__


def _get_overloads(obj: Any) -> list[Any] | None:
    """None: a scripted function is one function in Python, which takes what its overloads take."""
    return None


def _no_graph() -> Exception:
    return UnsupportedError(
        "TorchScript graphs are not supported: a scripted function runs as Python",
        hint="torch.jit.trace and `graph_for(*inputs)` give a graph of a run, torch.fx.symbolic_trace one of the program, "
        "torch.export.export one of its ATen operators",
    )


GRAPHS: dict[str, Callable[..., Any]] = {}  # what makes the graph of a run


def _traced_graph(made: Any, run: Any, inline: bool) -> Any:
    """The graph of a run on the inputs that something was traced with."""
    example = vars(made).get("_example")
    if example is None:
        raise _no_graph()
    return GRAPHS["graph"](run, *example, inline)


class ScriptModule(Module):
    """Base class of the modules that `torch.jit.script` and `torch.jit.trace` return. Its methods run as Python.

    >>> import pellucid as torch
    >>> model = torch.jit.script(torch.nn.Linear(2, 1))
    >>> model.original_name
    'Linear'
    """

    def _get_methods(self) -> list[str]:
        return [
            name
            for name in dir(type(self))
            if callable(getattr(type(self), name)) and not hasattr(Module, name)
        ]

    @property
    def original_name(self) -> str:
        """The name of the class that was scripted."""
        return type(self).__name__

    @property
    def code(self) -> str:
        """The Python of `forward`."""
        return _source(type(self).forward)

    @property
    def graph(self) -> Any:
        """The operators and calls of modules of a traced module; a scripted one has no graph."""
        return _traced_graph(self, self, False)

    @property
    def inlined_graph(self) -> Any:
        """The operators of a traced module; a scripted one has no graph."""
        return _traced_graph(self, self, True)

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """The operators of a call."""
        return GRAPHS["graph"](self, args, kwargs, True)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Write it to a file: see `torch.jit.save`."""
        write(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """The bytes that `save` writes."""
        import io

        file = io.BytesIO()
        self.save(file, _extra_files)
        return file.getvalue()


class RecursiveScriptModule(ScriptModule):
    """What `torch.jit.script(module)` gives: the module's code over the same parameters and
    buffers, and so for each module in it.
    """

    _original: type[Module]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except RuntimeError:
            raise
        except Exception as error:
            raise translated(error, self.forward, self, args, kwargs) from error

    @property
    def original_name(self) -> str:
        return self._original.__name__

    @property
    def code(self) -> str:
        return _source(self._original.forward)

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (self._original, type(self)._face, *super().__reduce_ex__(2)[2:3])

    _face: str = "script"


def _rebuild(original: type[Module], face: str, state: Any) -> Module:
    """A scripted module from the class that was scripted and what was in it."""
    made: Any = object.__new__(scripted_class(original, face))
    made.__setstate__(state)
    return made


FACES: dict[str, type[RecursiveScriptModule]] = {"script": RecursiveScriptModule}
_classes: dict[tuple[type, str], type] = {}


def scripted_class(original: type[Module], face: str = "script") -> type:
    """The class of a module's scripted (or traced) form: its methods come from the class, what it
    is called from TorchScript.
    """
    made = _classes.get((original, face))
    if made is None:
        base = FACES[face]
        bases = (base, original) if not issubclass(base, original) else (base,)
        made = _classes[original, face] = type(
            base.__name__, bases, {"__module__": base.__module__, "_original": original}
        )
    return made


def scripted(module: Module, face: str = "script", memo: dict[int, Module] | None = None) -> Module:
    """The scripted form of a module: modules of their own over the same parameters and buffers."""
    memo = {} if memo is None else memo
    if id(module) in memo:
        return memo[id(module)]
    if isinstance(module, ScriptModule):
        return module
    made: Any
    made = memo[id(module)] = object.__new__(scripted_class(type(module), face))
    state = dict(vars(module))
    for name, value in state.items():
        if name in ("_parameters", "_buffers") or (
            name.endswith("_hooks") and isinstance(value, dict)
        ):
            state[name] = copy.copy(value)
    state["_modules"] = {
        name: child if child is None else scripted(child, face, memo)
        for name, child in module._modules.items()
    }
    vars(made).update(state)
    return made


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """The scripted form of a function, module or class, which runs as Python and does what the
    original does.

    A module gives a `ScriptModule` with the same parameters, buffers and names of both. Classes,
    enums and interfaces are given back as they are. Nothing is compiled: `torch.compile` does that.

    >>> import pellucid as torch
    >>> model = torch.jit.script(torch.nn.Linear(2, 3))
    >>> isinstance(model, torch.jit.ScriptModule), list(model.state_dict())
    (True, ['weight', 'bias'])

    Raises:
        RuntimeError: for what is neither a function nor a module nor a class.
    """
    deprecated("script")
    if (
        isinstance(obj, (ScriptModule, ScriptFunction))
        or inspect.isclass(obj)
        or isinstance(obj, enum.EnumMeta)
    ):
        return obj
    if isinstance(obj, Module):
        if hasattr(obj, "__prepare_scriptable__"):
            obj = obj.__prepare_scriptable__()
        return scripted(obj)
    if isinstance(obj, dict | list):
        return obj
    if inspect.isfunction(obj):
        return ScriptFunction(obj)
    if callable(obj):
        return (
            obj
            if not hasattr(obj, "__prepare_scriptable__")
            else script(obj.__prepare_scriptable__())
        )
    raise RuntimeError(
        "Expected a function, method, or class to script; got an object of type "
        f"{type(obj).__name__}. TorchScript has no value of that kind at this level."
    )


def freeze(
    mod: Any,
    preserved_attrs: list[str] | None = None,
    optimize_numerics: bool = True,
    preserve_parameters: bool = False,
) -> Any:
    """Return a copy of a scripted module in evaluation mode whose parameters are constants: they need no gradient and are
    not in its `state_dict`.

    Args:
        mod: a `ScriptModule` in evaluation mode.
        preserved_attrs: names of attributes that the frozen module keeps.
        optimize_numerics, preserve_parameters: accepted, without effect.

    Raises:
        RuntimeError: `mod` is not a ScriptModule, or is in training mode.

    >>> import pellucid as torch
    >>> model = torch.jit.script(torch.nn.Linear(2, 1).eval())
    >>> list(model.state_dict()), list(torch.jit.freeze(model).state_dict())
    (['weight', 'bias'], [])
    """
    deprecated("freeze", "use `torch.compile` instead")
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    return FrozenModule(copy.deepcopy(mod), preserved_attrs or [])


class FrozenModule(ScriptModule):
    """What `torch.jit.freeze` gives: a module without parameters to train."""

    def __init__(self, module: Module, preserved: list[str]) -> None:
        super().__init__()
        for parameter in module.parameters():
            parameter.requires_grad_(False)
        object.__setattr__(self, "_frozen", module)  # not a submodule: its parameters are constants
        for name in preserved:
            object.__setattr__(self, name, getattr(module, name))
        self.training = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._frozen(*args, **kwargs)

    @property
    def original_name(self) -> str:
        return str(getattr(self._frozen, "original_name", type(self._frozen).__name__))

    @property
    def code(self) -> str:
        return str(getattr(self._frozen, "code", ""))


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Freeze a scripted module unless it is frozen already. There are no further optimizations: the eager kernels are native.

    >>> import pellucid as torch
    >>> model = torch.jit.script(torch.nn.Linear(2, 1).eval())
    >>> list(torch.jit.optimize_for_inference(model).state_dict())
    []
    """
    deprecated("optimize_for_inference", "use `torch.compile` instead")
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    return mod if isinstance(mod, FrozenModule) else freeze(mod.eval(), other_methods)


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Does nothing: a frozen module runs as it is.

    >>> import pellucid as torch
    >>> frozen = torch.jit.freeze(torch.jit.script(torch.nn.ReLU().eval()))
    >>> torch.jit.run_frozen_optimizations(frozen)
    >>> frozen(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a scripted or traced module to a file that `torch.jit.load` reads.

    The file names the module's class and holds its attributes and tensors, so the class must be
    importable where the file is loaded. PyTorch cannot read the file.

    Args:
        m: a scripted or traced module.
        f: a path, or an object with `write`.
        _extra_files: texts to store in the same file, by name.

    >>> import pellucid as torch
    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), file)
    >>> _ = file.seek(0)
    >>> torch.jit.load(file)(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """
    deprecated("save", "switch to `torch.export`")
    m.save(f, _extra_files=_extra_files)


class CompilationUnit:
    """Not supported with a text: there is no TorchScript compiler. An empty unit can be made.

    Raises:
        NotImplementedError: a text is given.

    >>> import pellucid as torch
    >>> torch.jit.CompilationUnit("def f(x): return x")
    Traceback (most recent call last):
        ...
    NotImplementedError: ...
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            self.define(lang)

    def define(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported."""
        raise UnsupportedError(
            "torch.jit.CompilationUnit is not supported: TorchScript source is not compiled here",
            hint="write the function in Python",
        )
