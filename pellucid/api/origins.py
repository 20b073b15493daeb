"""Where PyTorch defines each public function, and which of them it writes in Python.

`torch.nn.functional.gelu` is `torch._C._nn.gelu` there, `torch.einsum` is
`torch.functional.einsum`: printed graphs and the code made from them say so. A handler of
`__torch_function__` sees the arguments of functions written in Python bound to their names: what
has no default by position, the rest by keyword.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.public import FUNCTIONS, METHODS
from ..core.tensor import Tensor
from ..ops._overloads import overloads
from . import attach

_HOME = __name__.partition(".")[0]

# Namespaces whose functions are all defined elsewhere, with what stands before the name there.
_PREFIXES = {
    "fft": "torch._C._fft.fft_",
    "linalg": "torch._C._linalg.linalg_",
    "special": "torch._C._special.special_",
    "signal.windows": "torch.signal.windows.windows.",
}
_IN_FUNCTIONAL = frozenset(
    {
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_shapes",
        "broadcast_tensors",
        "cartesian_prod",
        "cdist",
        "chain_matmul",
        "einsum",
        "lu",
        "meshgrid",
        "norm",
        "split",
        "stft",
        "tensordot",
        "unique",
        "unique_consecutive",
        "unravel_index",
    }
)
_IN_C_NN = frozenset(
    {
        "avg_pool2d",
        "avg_pool3d",
        "elu_",
        "gelu",
        "hardtanh_",
        "leaky_relu_",
        "linear",
        "one_hot",
        "scaled_dot_product_attention",
        "softplus",
        "softshrink",
    }
)
_ELSEWHERE = {
    "nn.functional.logsigmoid": "torch._C._nn.log_sigmoid",
    "nn.functional.threshold": "torch.nn.functional._threshold",
    "torch.eig": "torch._linalg_utils.eig",
    "torch.from_dlpack": "torch.utils.dlpack.from_dlpack",
    "torch.get_rng_state": "torch.random.get_rng_state",
    "torch.initial_seed": "torch.random.initial_seed",
    "torch.lobpcg": "torch._lobpcg.lobpcg",
    "torch.lstsq": "torch._linalg_utils.lstsq",
    "torch.manual_seed": "torch.random.manual_seed",
    "torch.matrix_rank": "torch._linalg_utils.matrix_rank",
    "torch.pca_lowrank": "torch._lowrank.pca_lowrank",
    "torch.seed": "torch.random.seed",
    "torch.set_rng_state": "torch.random.set_rng_state",
    "torch.solve": "torch._linalg_utils.solve",
    "torch.svd_lowrank": "torch._lowrank.svd_lowrank",
    "torch.symeig": "torch._linalg_utils._symeig",
}
PYTHON = ("torch.nn.functional.", "torch.functional.", "torch._lowrank.")
_METHOD = "torch.Tensor."
# Functions written in Python that call a method of their argument.
METHODS_INSTEAD = frozenset({"torch.nn.functional.tanh", "torch.nn.functional.sigmoid"})
# What handlers get for Python's operators, and for a few methods, where that is another method.
OPERATORS = {
    **{f"__{name}__": name for name in "add sub mul div matmul ne lt le gt ge".split()},
    **{f"__i{name}__": f"{name}_" for name in "add sub mul div".split()},
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__radd__": "add",
    "__rmul__": "mul",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__rtruediv__": "__rdiv__",
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__str__": "__repr__",
    "nelement": "numel",
    "ndimension": "dim",
}
_REFLECTED = {
    f"__r{name}__": f"__{name}__"
    for name in "add sub mul div truediv floordiv mod pow matmul and or xor lshift rshift".split()
}
# handed on by keyword although it has no default
_BY_KEYWORD = {"torch.functional.unravel_index": "shape"}
# unless it is given
_NOT_HANDED_ON = {"torch.nn.functional.l1_loss": "weight", "torch.functional.chain_matmul": "out"}


def origin(namespace: str, name: str) -> str:
    """Dotted name under which PyTorch defines a function of a namespace."""
    elsewhere = _ELSEWHERE.get(f"{namespace}.{name}")
    if elsewhere is not None:
        return elsewhere
    if namespace in _PREFIXES:
        return _PREFIXES[namespace] + name
    if namespace == "torch":
        return f"torch.functional.{name}" if name in _IN_FUNCTIONAL else f"torch.{name}"
    if namespace == "nn.functional":
        if name in _IN_C_NN:
            return f"torch._C._nn.{name}"
        return f"torch.{name}" if name in attach.IN_TORCH else f"torch.nn.functional.{name}"
    return f"torch.{namespace}.{name}"


def _registered() -> int:
    """How many public functions there are by now: parts of the library that are loaded later bring
    their own.
    """
    return sum(map(len, FUNCTIONS.values()))


@functools.lru_cache(maxsize=1)
def _names(registered: int) -> dict[Any, str]:
    """PyTorch's dotted name of every public function and method.

    One that is in several namespaces goes by its name in `nn.functional`, where it is called most;
    else by the first.
    """
    named: dict[Any, str] = {}
    for space in sorted(FUNCTIONS, key=lambda space: space != "nn.functional"):
        for name, function in FUNCTIONS[space].items():
            if callable(function) and not isinstance(function, type):
                named.setdefault(function, origin(space, name))
    for name, method in METHODS.items():
        named.setdefault(method, f"torch.Tensor.{name}")
    return named


def origin_of(function: Any) -> str | None:
    """PyTorch's dotted name of a public function or method of this library; None for another."""
    try:
        return _names(_registered()).get(getattr(function, "__wrapped_method__", function))
    except TypeError:  # cannot be hashed
        return None


def at_origin(name: str) -> Any:
    """The function that PyTorch defines under a dotted name ("torch._C._nn.gelu").

    Raises:
        KeyError: there is none.
    """
    return _by_origin(_registered())[name]


@functools.lru_cache(maxsize=1)
def _by_origin(registered: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for space, table in FUNCTIONS.items():
        for name, function in table.items():
            found.setdefault(origin(space, name), function)
    return found


def torch_name(thing: Any) -> str | None:
    """PyTorch's dotted name of a class or function of this library ("torch.Tensor",
    "torch.nn.modules.linear.Linear").
    """
    known = None if isinstance(thing, type) else origin_of(thing)
    if known is not None:
        return known
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__" if isinstance(thing, type) else "__name__", None)
    if (
        not isinstance(module, str)
        or not isinstance(name, str)
        or module.partition(".")[0] not in (_HOME, "torch")
    ):
        return None
    top, _, rest = module.partition(".")
    if top == _HOME and _shown_at_top(name, thing):
        return f"torch.{name}"
    return f"torch.{rest}.{name}" if rest else f"torch.{name}"


def _shown_at_top(name: str, thing: Any) -> bool:
    """Whether `torch.name` is the thing, and the module that it is defined in is no part of the
    API.
    """
    inner = thing.__module__.split(".")[1:2]
    scope = next((scope for scope, space in attach.SCOPES if space == "torch"), {})
    return (
        inner in ([], ["core"], ["devices"], ["dtypes"], ["ops"], ["shapes"])
        and scope.get(name) is thing
    )


class Handed(NamedTuple):
    """A call as PyTorch hands it to `__torch_function__`.

    Attributes:
        kwargs: None where none are handed on, not even an empty dict: by functions written in C.
        typed: the arguments whose types are shown even if they are plain tensors.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] | None
    typed: tuple[Any, ...] = ()


def handed(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], as_written: bool = False
) -> Handed:
    """The call of a public function, a method of Tensor or a property's getter for a handler.

    Args:
        as_written: leave methods as the program called them.
    """
    name = origin_of(function) or ""
    if name in METHODS_INSTEAD and not as_written and len(args) == 1:
        name = _METHOD + name.rpartition(".")[2]
        function = vars(Tensor)[name.removeprefix(_METHOD)]
    if as_written and name.startswith(_METHOD):
        return Handed(function, args, kwargs)
    if not name.startswith(_METHOD):
        if not name.startswith(PYTHON):
            return Handed(function, args, kwargs or None, args[:1] if name == "" else ())
        args, kwargs = bound(function, args, kwargs)
        return Handed(function, args, kwargs, (*args, *kwargs.values()))
    own = name.removeprefix(_METHOD)
    known = own
    if own in _REFLECTED and len(args) == 2 and isinstance(args[1], Tensor):
        own, args = _REFLECTED[own], args[::-1]
    own = OPERATORS.get(own, own)
    if own != known:
        function = vars(Tensor)[own]
    if own in attach.METHODS_IN_PYTHON:
        args, kwargs = bound(function, args, kwargs)
        return Handed(function, args, kwargs, (*args, *kwargs.values()))
    listed = overloads(f"Tensor.{own}")
    takes_none = len(args) == 1 if listed is None else listed.bare
    return Handed(function, args, kwargs or None, args if takes_none else ())


def bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of a function written in Python as PyTorch hands them on."""
    name = origin_of(function) or ""
    try:
        signature = _signature(function)
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return args, kwargs  # the function itself says what is wrong
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            last: Any
            *several, last = given.get(parameter.name, ()) or (None,)
            # `einsum(equation, [a, b])` is `einsum(equation, a, b)`.
            spread = (
                isinstance(last, (list, tuple))
                and parameter.name != "shapes"
                and all(isinstance(v, str) for v in several)
            )
            positional += [*several, *last] if spread else given.get(parameter.name, ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= given.get(parameter.name, {})
        elif parameter.default is parameter.empty and _BY_KEYWORD.get(name) != parameter.name:
            positional.append(given[parameter.name])
        elif _NOT_HANDED_ON.get(name) == parameter.name and parameter.name not in given:
            continue
        else:
            named[parameter.name] = given.get(parameter.name, parameter.default)
    if "out" in named and "dtype" in named:  # PyTorch's order in `norm`
        named["dtype"] = named.pop("dtype")
    return tuple(positional), named


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def defined_in(module: str) -> dict[str, Any]:
    """The functions that PyTorch defines in a module ("torch._C._nn"), by their names there."""
    start = module + "."
    return {
        name.removeprefix(start): function
        for name, function in _by_origin(_registered()).items()
        if name.startswith(start)
    }
