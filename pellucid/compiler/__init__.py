"""`torch.compile` and `torch.compiler`: trace functions, modules and whole training steps once, then
run native code.

    >>> import pellucid as torch
    >>> @torch.compile
    ... def smooth(x):
    ...     return (x * torch.sigmoid(x)).sum()
    >>> float(smooth(torch.zeros(3))), float(smooth(torch.zeros(3)))
    (0.0, 0.0)

Each stage is a folder. The first call of each kind runs eagerly, while `capture/` records what
Python does and `trace/` records what is computed. `passes/` improves the program, `lower/` turns its
operations into native code, and `run/` binds it to memory. Later calls check that nothing that was
read has changed, and run the program. `report/` explains all of this. A line that cannot be compiled
keeps running in Python: the graph breaks there, and the code around it is compiled. If that is
impossible, the function runs eagerly. A warning gives the reason once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from typing import Any, TypeVar

from numpy import ndarray

from .._pytree import tree_map
from ..api.create.construct import from_numpy
from ..core import tracing
from ..core.tensor import Tensor
from ..errors import UnsupportedError
from ..nn.modules.module import Module
from .function import DEFAULTS, STANCE, CompiledFunction, CompileError, CompileWarning

__all__ = [
    "CompileError",
    "CompileWarning",
    "CompiledFunction",
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "load_cache_artifacts",
    "load_compiled_function",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

T = TypeVar("T")
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)
# attributes that are set on the compiled module itself, not on the original
_OWN = ("forward", "_compiled_call_impl")
_EAGER = ("eager", "aot_eager")  # backends that run eagerly
EAGER: dict[str, Any] = {}  # marks a module with such a backend; compared by identity
_state: dict[str, Any] = {"backend": "inductor"}


class InvalidBackend(RuntimeError):  # noqa: N818 (PyTorch's name)
    """No backend has the name that `compile` was given."""


class OptimizedModule(Module):
    """The module that `compile` returns for a module. It shares parameters and attributes with the original, which is `_orig_mod`.

    As in PyTorch, the names in its `state_dict()` begin with `_orig_mod.`; save `model._orig_mod.state_dict()` to load the file without
    compiling.

    >>> import pellucid as torch
    >>> model = torch.compile(torch.nn.Linear(2, 1))
    >>> list(model.state_dict()), list(model._orig_mod.state_dict())
    (['_orig_mod.weight', '_orig_mod.bias'], ['weight', 'bias'])
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        del self.__dict__["training"]  # the property `training` delegates to the original module
        self._modules["_orig_mod"] = mod

    def _compiled(self) -> CompiledFunction:
        made = self.__dict__.get("_compiled_call")
        if made is None:
            options = self.__dict__.get("_options", {})
            made = (
                self._orig_mod.__call__
                if options is EAGER
                else CompiledFunction(self._orig_mod.__call__, **options)
            )
            self.__dict__["_compiled_call"] = made
        return made

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module returns, computed by its compiled version."""
        return self._compiled()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name in _OWN:
            super().__setattr__(name, value)
        elif name == "_orig_mod":
            self._modules[name] = value
            self.__dict__.pop("_compiled_call", None)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ or name in _OWN:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __len__(self) -> int:
        return len(self._orig_mod)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Compile a function or module: it is traced at its first call and runs as native code
    afterwards.

    Pass a function of tensors, a module (its forward is compiled, and its backward becomes a single node
    of the graph), or a function that performs a whole training step: `zero_grad`, forward, loss,
    `backward`, `optimizer.step`. Results are those of running eagerly.

    Args:
        model: a function or module; without it a decorator is returned.
        fullgraph: raise CompileError, with file and line, if a line cannot be compiled or
            branches on a tensor's value. Otherwise the function is split there: lines that cannot be
            compiled (a print, a clock read) keep running in Python, and a CompileWarning names
            them.
        dynamic: with False, each size of the arguments gets its own native code. Otherwise, further sizes
            share code that differs in numbers only. Each size is traced once.
        backend: "inductor" (or None) compiles; "eager" and "aot_eager" run eagerly; a function
            `backend(gm, example_inputs)` gets the graph of each call as a `torch.fx.GraphModule`
            and returns a function that computes it.
        mode, options, name, isolate_recompiles, shapes_spec: accepted, without effect.
        disable: return the function as it is.
        recompile_limit: how many traced versions are kept (8).

    Raises:
        RuntimeError: for an unknown mode, or for mode and options together.
        TypeError: when `model` cannot be called.

    Example:
        >>> import pellucid as torch
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> @torch.compile
        ... def step(x, y):
        ...     optimizer.zero_grad()
        ...     loss = torch.nn.functional.mse_loss(model(x), y)
        ...     loss.backward()
        ...     optimizer.step()
        ...     return loss
        >>> x, y = torch.ones(4, 2), torch.ones(4, 1)
        >>> losses = [step(x, y).item() for _ in range(20)]
        >>> losses[-1] < losses[0]
        True
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return lambda later: compile(
            later,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
            recompile_limit=recompile_limit,
        )
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    chosen = _state["backend"] if backend is None else backend
    eager = isinstance(chosen, str) and chosen in _EAGER
    if (
        disable
        or getattr(model, "_torchdynamo_disable", False)
        or eager
        and not isinstance(model, Module)
    ):
        return model
    if chosen in _registered:
        chosen = _registered[chosen][0]
    if callable(chosen):
        return _by_custom_backend(model, chosen, fullgraph, options)
    if chosen not in list_backends(()):
        raise InvalidBackend(
            f"Invalid backend: {chosen!r}, see `torch._dynamo.list_backends()` for available backends."
        )
    settings = EAGER
    if not eager:
        limit = recompile_limit or DEFAULTS["limit"]
        settings = {"fullgraph": fullgraph, "limit": limit, "dynamic": dynamic}
    if isinstance(model, Module):
        wrapped = OptimizedModule(model)
        wrapped.__dict__["_options"] = settings
        return wrapped
    if isinstance(model, type):
        return model
    if isinstance(model, CompiledFunction):
        return model
    return CompiledFunction(model, **settings)


def _by_custom_backend(
    model: Any, backend: Callable[..., Any], fullgraph: bool, options: dict[str, Any] | None
) -> Any:
    """Compile a function or module with a backend given as a function, which receives the graphs."""
    from .custom import Captured

    named = {} if options is None else {"options": options}
    if not isinstance(model, Module):
        return Captured(model, backend, fullgraph, **named)
    wrapped = OptimizedModule(model)
    wrapped.__dict__["_compiled_call"] = Captured(model.__call__, backend, fullgraph, **named)
    return wrapped


def explain(compiled: Any, *, measure: bool = True, passes: bool = False) -> Any:
    """Explain how a compiled function was traced, guarded, fused and laid out in memory. Returns an
    object with `.text`, `.html` and `.save(path)`.

    Args:
        compiled: what `compile` returned, a function or a module.
        measure: run each kernel by itself, on copies of what it changes, and tell its time beside
            what this machine can do.
        passes: show the program after each pass of the compiler.

    >>> import pellucid as torch
    >>> step = torch.compile(lambda x: x * 2)
    >>> doubled = step(torch.ones(2))
    >>> print(str(torch.compiler.explain(step, measure=False)).splitlines()[0])
    <lambda>: 1 traced version
    """
    if isinstance(compiled, OptimizedModule):
        compiled = compiled._compiled()
    return compiled.explain(measure, passes)


# ---- marks on functions ------------------------------------------------------------------------
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function (or make a decorator that does) as one that always runs eagerly: a step that
    calls it is compiled around that.

    >>> import pellucid as torch
    >>> @torch.compiler.disable
    ... def log(x):
    ...     return float(x)
    >>> log(torch.tensor(2.0))
    2.0
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def eager(*args: Any, **kwargs: Any) -> Any:
        if (tracer := tracing.tracer()) is not None:
            tracer.refuse(
                f"the step calls {getattr(fn, '__name__', 'a function')}, which is marked with compiler.disable"
                + (f" ({reason})" if reason else "")
            )
        return fn(*args, **kwargs)

    eager._torchdynamo_disable = True  # type: ignore[attr-defined]
    return eager


def allow_in_graph(fn: T) -> T:
    """Return the function unchanged. PyTorch's compiler needs this for functions that it cannot look into.

    >>> import pellucid as torch
    >>> @torch.compiler.allow_in_graph
    ... def double(x):
    ...     return 2 * x
    >>> torch.compile(double)(torch.ones(2))
    tensor([2., 2.])
    """
    return fn


def assume_constant_result(fn: T) -> T:
    """Return the function unchanged; it runs each time it is called while a function is traced.

    >>> import pellucid as torch
    >>> @torch.compiler.assume_constant_result
    ... def factor():
    ...     return 3
    >>> torch.compile(lambda x: factor() * x)(torch.ones(2))
    tensor([3., 3.])
    """
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """Return the function unchanged: a compiled step is a single program.

    >>> import pellucid as torch
    >>> @torch.compiler.nested_compile_region
    ... def layer(x):
    ...     return x.sin() + 1
    >>> torch.compile(lambda x: layer(layer(x)))(torch.zeros(1))
    tensor([1.8415])
    """
    return (lambda later: later) if fn is None else fn


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Any:
    """Return a decorator that returns its function unchanged: a trace runs `original_fn` itself, which needs no substitute.

    >>> import operator
    >>> import pellucid as torch
    >>> @torch.compiler.substitute_in_graph(operator.index)
    ... def index(a, /):
    ...     return a.__index__()
    >>> index(3)
    3
    """
    return lambda fn: fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors, which runs eagerly.

    >>> import numpy as np
    >>> import pellucid as torch
    >>> torch.compiler.wrap_numpy(np.cumsum)(torch.ones(3))
    tensor([1., 2., 3.])
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given, named = tree_map(lambda x: x.numpy() if isinstance(x, Tensor) else x, (args, kwargs))
        return tree_map(
            lambda x: from_numpy(x) if isinstance(x, ndarray) else x, fn(*given, **named)
        )

    return wrapped


# ---- state -------------------------------------------------------------------------------------
def is_compiling() -> bool:
    """True while a function is being traced.

    >>> import pellucid as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return bool(tracing.tracer())


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: `torch.export` does not trace through this.

    >>> import pellucid as torch
    >>> torch.compiler.is_exporting()
    False
    """
    return False


def reset() -> None:
    """Forget everything that compiled functions have traced, and the settings of `set_stance` and `set_default_backend`.

    >>> import pellucid as torch
    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compiler.reset()
    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    STANCE[0] = "default"
    _state.clear()
    _state["backend"] = "inductor"
    for function in list(CompiledFunction.living):
        function.forget()


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `compile(backend=)` takes.

    >>> list_backends()
    ['eager', 'inductor']
    >>> list_backends(None)
    ['aot_eager', 'eager', 'inductor']
    """
    own = [name for name in _registered if not set(exclude_tags or ()) & set(_registered[name][1])]
    return sorted(["eager", "inductor", *([] if exclude_tags else ["aot_eager"]), *own])


# Backends that programs have registered: {name: (function, tags)}.
_registered: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}


def register_backend(
    compiler_fn: Callable[..., Any] | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
) -> Any:
    """Register a backend under a name, for `compile(backend=name)`. Without the function, this is a decorator.

    Args:
        compiler_fn: the backend: called as `compiler_fn(gm, example_inputs)`, it returns the function to run.
        name: the name. Default: the function's own.
        tags: accepted.

    Raises:
        AssertionError: the name is taken.

    >>> import pellucid as torch
    >>> @torch.compiler.register_backend
    ... def counts_nodes(gm, example_inputs):
    ...     print(len(gm.graph.nodes), "nodes")
    ...     return gm
    >>> torch.compile(lambda x: x.sin() + 1, backend="counts_nodes")(torch.zeros(1))
    4 nodes
    tensor([1.])
    """
    if compiler_fn is None:
        return lambda later: register_backend(later, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    word = name or compiler_fn.__name__
    if word in list_backends(()):
        raise AssertionError(f"duplicate name: {word}")
    _registered[word] = compiler_fn, tuple(tags)
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> Any:
    """Return the backend registered under a name. A function is returned as it is.

    Raises:
        RuntimeError: no backend has this name, or it is "inductor", which is not a function of graphs.

    >>> import pellucid as torch
    >>> @torch.compiler.register_backend(name="as_it_is")
    ... def backend(gm, example_inputs):
    ...     return gm
    >>> torch.compiler.lookup_backend("as_it_is").__name__
    'backend'
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in ("eager", "aot_eager"):
        return lambda gm, example_inputs: gm.forward
    if compiler_fn in _registered:
        return _registered[compiler_fn][0]
    raise InvalidBackend(
        f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available backends."
    )


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend of `compile` calls that name none: "inductor" (the default), "eager", or a registered one.

    >>> import pellucid as torch
    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compiler.get_default_backend()
    'eager'
    >>> torch.compiler.set_default_backend(None)
    """
    _state["backend"] = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """Return the backend that `compile` uses if none is named.

    >>> import pellucid as torch
    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _state["backend"]


def save_cache_artifacts() -> None:
    """Returns None: compiled code is kept on disk automatically (`pellucid doctor` shows where).

    >>> import pellucid as torch
    >>> torch.compiler.save_cache_artifacts() is None
    True
    """


def load_compiled_function(
    file: Any, *, f_globals: dict[str, object] | None = None, external_data: Any = None
) -> Any:
    """Not supported: always raises NotImplementedError. Functions are compiled when they are first called, and the code is kept on disk.

    >>> import pellucid as torch
    >>> torch.compiler.load_compiled_function(None)
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.compiler.load_compiled_function is not supported...
    """
    raise UnsupportedError(
        "torch.compiler.load_compiled_function is not supported: it reads PyTorch's machine code",
        hint="compile the function here; its code is kept on disk",
    )


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Does nothing: compiled code is found on disk automatically.

    >>> import pellucid as torch
    >>> torch.compiler.load_cache_artifacts(b"")
    """


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there are no CUDA graphs.

    >>> import pellucid as torch
    >>> torch.compiler.cudagraph_mark_step_begin()
    """


class set_stance(ContextDecorator):  # noqa: N801
    """Set what compiled functions do. Usable as a call, a `with` block or a decorator.

    Args:
        stance: "default"; "force_eager" to run everything eagerly; "fail_on_recompile" or "eager_on_recompile" for calls that would need a
            new trace.
        skip_guard_eval_unsafe, force_backend: accepted as in PyTorch.

    Raises:
        RuntimeError: an unknown stance; with "fail_on_recompile", a call that needs a new trace.

    To find out which batch makes a training step trace again:

        for x, y in loader:
            with torch.compiler.set_stance("fail_on_recompile"):
                step(x, y)

    >>> import pellucid as torch
    >>> @torch.compile
    ... def double(x):
    ...     return x * 2
    >>> with torch.compiler.set_stance("force_eager"):
    ...     double(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.before = STANCE[0]
        STANCE[0] = self.stance = stance

    def __enter__(self) -> set_stance:
        STANCE[0] = self.stance
        return self

    def __exit__(self, *error: object) -> None:
        STANCE[0] = self.before
