"""Attaches the registered methods and properties to Tensor, and functions to their namespaces.

The static view of the result is the generated `tensor.pyi`.
"""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .. import errors
from .. import ops as _ops
from ..core.primitive import PRIMITIVES, Primitive
from ..core.public import FUNCTIONS, METHODS, PROPERTIES
from ..core.tensor import Tensor
from ..ops._overloads import PREFIXED, WRAPPERS, checked, listed
from .exchange import exchange, twin

Handler = Callable[..., Any]
# Tensor's methods that PyTorch writes in Python: Python's errors call them `Tensor.stft()`
METHODS_IN_PYTHON = frozenset(
    "__array__ __array_wrap__ __contains__ __deepcopy__ __dlpack__ __dlpack_device__ __floordiv__ "
    "__format__ __ipow__ __len__ __pow__ __rdiv__ __repr__ __reversed__ __rfloordiv__ __rlshift__ "
    "__rmatmul__ __rmod__ __rpow__ __rrshift__ __rsub__ __rtruediv__ backward dim_order eig "
    "is_shared istft lstsq lu norm register_hook register_post_accumulate_grad_hook resize "
    "resize_as share_memory_ solve split stft storage storage_type symeig to_sparse_coo unflatten "
    "unique unique_consecutive".split()
)
# functions of nn.functional that are torch's own, the same objects
IN_TORCH = frozenset(
    {
        "adaptive_avg_pool1d",
        "avg_pool1d",
        "bilinear",
        "celu_",
        "channel_shuffle",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_similarity",
        "hardshrink",
        "native_channel_shuffle",
        "pairwise_distance",
        "pdist",
        "pixel_shuffle",
        "pixel_unshuffle",
        "prelu",
        "relu_",
        "rrelu_",
        "selu_",
        "threshold_",
    }
)


def attach() -> None:
    """Put every registered method and property on Tensor; a name that Tensor itself defines is left
    alone.
    """
    own = set(vars(Tensor)) - {"__eq__", "__hash__", "__repr__", "__str__", "__doc__"}
    for name, function in METHODS.items():
        if name not in own:
            setattr(Tensor, name, function)
    for name, getter in PROPERTIES.items():
        setattr(Tensor, name, property(getter, getattr(getter, "setter", None)))
    for name, one in list(vars(Tensor).items()):
        if isinstance(one, property) and name != "__cuda_array_interface__":  # written in Python
            refuse = _read_only(name)
            made = property(one.fget, one.fset or refuse, one.fdel or refuse, one.__doc__)
            setattr(Tensor, name, made)


def _read_only(name: str) -> Callable[..., None]:
    """What an assignment to an attribute that is described in C does, or a deletion of it."""

    def refuse(self: Tensor, value: Any = None) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return refuse


def check_arguments() -> None:
    """Have what fails held against PyTorch's signatures: names and words for arguments differ from
    Python's, and so may what is taken.

    What takes `out=` does so already.
    """
    errors.shorten = _shorten
    known = listed()
    for name in list(FUNCTIONS["torch"]):  # PyTorch has some of the in-place forms as methods only
        if name.endswith("_") and name[0] != "_" and f"torch.{name}" not in known:
            del FUNCTIONS["torch"][name]
    # with another name in errors
    shared = {id(function) for function in FUNCTIONS["torch"].values()}
    for name in METHODS_IN_PYTHON & METHODS.keys():
        if name[:2] != "__" and METHODS[name].__code__ not in WRAPPERS:
            METHODS[name] = own_method = twin(METHODS[name])
            own_method.__qualname__ = f"Tensor.{name}"
    for space in (*PREFIXED, "torch", "nn.functional", "Tensor"):
        table = METHODS if space == "Tensor" else FUNCTIONS[space]
        for name, function in table.items():
            if (space in PREFIXED or f"{space}.{name}" in known) and isinstance(
                function, FunctionType
            ):
                wrapped = function.__code__ in WRAPPERS
                if wrapped and space == "Tensor":  # the function's wrapper says its words
                    function, wrapped = function.__wrapped__, False  # type: ignore[attr-defined]
                if not wrapped or space in PREFIXED and id(function) in shared:
                    table[name] = checked(function, f"{space}.{name}")
                    if space not in PREFIXED and function.__name__ in table:
                        table[name].__name__ = name  # `greater`, which does what `gt` does
    for name in IN_TORCH:
        FUNCTIONS["nn.functional"][name] = FUNCTIONS["torch"][name]


def checks(name: str, function: Any) -> Any:
    """The function `torch.name` of a module that is read on first use: where PyTorch's signature is
    known, calls are held against it.
    """
    path = f"torch.{name}"
    known = isinstance(function, FunctionType) and path in listed()
    return checked(function, path) if known else function


def _shorten(wrapper: Any, function: Any, calls: Any) -> None:
    from .entries import shorten  # read when the first function is called often

    shorten(wrapper, own(wrapper), function, calls)


# special methods that go by another name in PyTorch
_SPECIAL = {
    "__abs__": "abs",
    "__neg__": "neg",
    "__pos__": "positive",
    "__pow__": "pow",
    "__ipow__": "pow_",
    "__rtruediv__": "__rdiv__",
}


def name_functions() -> None:
    """Let functions that are found under no name of their own module go by their public one, so
    that pickle finds them; and those of nn.functional always, since files name where PyTorch has
    them.
    """
    known: set[int] = set()
    homes = [
        ("pellucid" if space == "torch" else f"pellucid.{space}", "", table)
        for space, table in FUNCTIONS.items()
    ]
    table: dict[str, Any]
    for module, prefix, table in (*homes, ("pellucid", "Tensor.", METHODS)):
        for name, function in table.items():
            if id(function) in known or not isinstance(function, FunctionType):
                continue
            known.add(id(function))
            if table is METHODS and (function.__name__ not in METHODS or name[:2] == "__"):
                # what handlers of `__torch_function__` ask for: `__getitem__`
                function.__name__ = _SPECIAL.get(name, name)
            own, path, short = (
                sys.modules.get(function.__module__ or ""),
                function.__qualname__,
                function.__name__,
            )
            found = own is not None and vars(own).get(path) is function
            if (
                not found
                or path != name == short
                or (module[-13:] == "nn.functional" and path == name)
            ):
                function.__module__, function.__qualname__ = module, prefix + name


def publish(scope: dict[str, Any], namespace: str) -> None:
    """Put the functions of a namespace ("torch", "linalg", ...) into a module's globals."""
    SCOPES.append((scope, namespace))
    for name, function in FUNCTIONS.get(namespace, {}).items():
        scope[name] = function
    for hook in after_publish:
        hook(scope, namespace)


# Every (module globals, namespace) that functions were published into; `api.overriding` goes
# through them.
SCOPES: list[tuple[dict[str, Any], str]] = []
after_publish: list[Callable[[dict[str, Any], str], None]] = []


def own(function: Any) -> Any:
    """What a function does without asking other classes; `api.overriding` puts its own here."""
    return function


def replace(namespace: str, name: str, make: Callable[[Any], Any]) -> None:
    """Have a public function do what `make` makes of it; it stays the same object. A name that is
    not there is left out.
    """
    function = FUNCTIONS[namespace].get(name)
    if function is not None:
        exchange(own(function), make)


class Handlers:
    """What a tensor type of Pellucid's own does with operations of the engine, as methods, and with
    public functions.

    Args:
        kind: the type.
        choose: from the handler and the public function it stands before to the function that calls
            either.
    """

    def __init__(self, kind: type[Tensor], choose: Callable[[Handler, Any], Any]) -> None:
        self.kind, self.choose = kind, choose
        self.operations: dict[Primitive, Handler] = {}

    def operation(self, names: str) -> Callable[[Handler], Handler]:
        """Register what operations of the engine do: `handler(*args, **params)`, as their records
        have them.
        """

        def register(handler: Handler) -> Handler:
            for name in names.split():
                self.operations[PRIMITIVES[name]] = handler
            return handler

        return register

    def family(self, names: str) -> Callable[[Handler], Handler]:
        """Register what several operations do alike: `handler(op, *args, **params)`."""

        def register(handler: Handler) -> Handler:
            for name in names.split():
                self.operation(name)(functools.partial(handler, PRIMITIVES[name]))
            return handler

        return register

    def method(self, names: str = "") -> Callable[[Handler], Handler]:
        """Register a method of the type."""

        def register(handler: Handler) -> Handler:
            for name in names.split() or [handler.__name__]:
                setattr(self.kind, name, _held(handler, f"Tensor.{name}"))
            return handler

        return register

    def function(
        self, names: str = "", namespaces: str = "torch", methods: bool = True
    ) -> Callable[[Handler], Handler]:
        """Register what a public function does with tensors of the type; unless told otherwise, the
        method is the same.
        """

        def register(handler: Handler) -> Handler:
            for name in names.split() or [handler.__name__]:
                if methods:
                    setattr(self.kind, name, _held(handler, f"Tensor.{name}"))
                for namespace in namespaces.split():
                    held = _held(handler, f"{namespace}.{name}")
                    replace(namespace, name, functools.partial(self.choose, held))
            return handler

        return register


def _held(handler: Handler, path: str) -> Handler:
    """The handler, whose arguments are held against PyTorch's signatures as those of the function."""
    known = isinstance(handler, FunctionType) and path in listed()
    return checked(handler, path) if known else handler


# What the root lends to layers below the ones it is made in, by name: `compile`.
LENT: dict[str, Callable[..., Any]] = {}


def missing(module: str, name: str, scope: Any) -> AttributeError:
    """PyTorch's error for a name that is not in a module, with the close names that are in a note."""
    error = AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    if not name.startswith("_"):
        # `hasattr` comes here, and comparing a name with all others takes 10 ms.
        near = [
            n
            for n in scope
            if abs(len(n) - len(name)) <= 3
            and n[:1] != "_"
            and (n[:2] == name[:2] or n[-3:] == name[-3:])
        ]
        close = difflib.get_close_matches(name, near, n=3)
        if close:
            error.add_note(f"close names: {', '.join(f'{module}.{n}' for n in close)}")
    return error


def suggest_names(module: str) -> None:
    """Have a module, and those below it that are loaded, name what is close to a name that is not
    there.
    """
    for path, part in list(sys.modules.items()):
        if (
            (path == module or path.startswith(module + "."))
            and "._" not in path
            and part is not None
        ):
            vars(part).setdefault("__getattr__", _missing(part))


def _missing(module: Any) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        public = "torch" + module.__name__.removeprefix(__name__.partition(".")[0])
        raise missing(public, name, vars(module))

    return __getattr__


assert _ops
check_arguments()
attach()
name_functions()
