"""Implementations of the operators of aten: the library's public function of the same name, or a
function here.

A function here has the operator's name, with the overload's after two underscores where overloads
differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..api import overriding
from ..api.attach import LENT
from ..core.inplace import into
from ..core.public import FUNCTIONS, METHODS
from ..core.tensor import Tensor
from ..errors import UnsupportedError
from . import composed, computed, images
from .parts import derived, kinds, layers, matrices, tensors

# prefixes of operators whose functions have a namespace of their own
_SPACES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}
# arguments without effect, as there is one kind of memory and no cuDNN
_IDLE = {"layout", "pin_memory", "non_blocking", "cudnn_enable", "cudnn_enabled"}


def of(overload: Any, find: derived.Find) -> Callable[..., Any] | None:
    """Return the function that computes an overload, or None. `find` looks up the packet of an
    operator.
    """
    name, own = overload._opname, overload._overloadname
    schema = overload._schema
    outs = [a.name for a in schema.arguments if a.is_out]
    for known in (f"{name}__{own}", name):
        for home in (computed, composed, images, tensors, matrices, layers, kinds):
            function = getattr(home, known, None)
            if function is None or getattr(function, "__module__", "") != home.__name__:
                continue
            if not outs or known != name or outs[0] in inspect.signature(function).parameters:
                return derived.shown(overload, function)
            return derived.of(overload, find)
    function = public(name, bool(schema.arguments) and schema.arguments[0].name == "self")
    if function is not None:
        return _adapted(function, schema)
    made = derived.of(overload, find)
    return None if made is None else derived.shown(overload, made)


def public(name: str, method: bool) -> Any:
    """Return the public function of a name, or None."""
    for prefix, space in _SPACES.items():
        if name.startswith(prefix) and name.removeprefix(prefix) in FUNCTIONS.get(space, {}):
            return FUNCTIONS[space][name.removeprefix(prefix)]
    if name.startswith("_foreach_"):
        return LENT["foreach"](name)
    found = FUNCTIONS["torch"].get(name)
    if found is None and method:
        found = METHODS.get(name)
    if found is None:
        found = FUNCTIONS["nn.functional"].get(name)
    return LENT["recurrent"](name) if found is None else found


def _adapted(function: Callable[..., Any], schema: Any) -> Callable[..., Any]:
    """Return a function that takes the operator's arguments: it writes results to `out`, and omits
    arguments without effect that the public function does not take.
    """
    outs = [a.name for a in schema.arguments if a.is_out]
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = {}
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    idle = {word for word in _IDLE if word not in parameters and not anything}
    names = [a.name for a in schema.arguments]
    most = next((k for k, name in enumerate(names) if name in idle), len(names))
    # only the last argument may be omitted if given by position
    most = len(names) if most < len(names) - 1 else most
    place = names.index("reduction") if "reduction" in names and "reduction" in parameters else -1

    def kernel(*args: Any, **kwargs: Any) -> Any:
        args = args[:most]
        if place >= 0:  # public functions have other defaults, or names instead of numbers
            kwargs = dict(zip(names[place:], args[place:], strict=False)) | kwargs
            args = args[:place]
            number = kwargs.get("reduction", 1)
            kwargs["reduction"] = (
                computed.REDUCTIONS[number]
                if isinstance(parameters["reduction"].default, str)
                else number
            )
        written = [kwargs.pop(name) for name in outs]
        given = (
            {name: value for name, value in kwargs.items() if name not in idle} if idle else kwargs
        )
        if not written:
            return overriding.own(function)(*args, **given)
        if "out" in parameters:
            return overriding.own(function)(
                *args, **given, out=written[0] if len(written) == 1 else tuple(written)
            )
        made = overriding.own(function)(*args, **given)
        parts = [
            into(o, r, function.__name__)
            for o, r in zip(written, (made,) if isinstance(made, Tensor) else made, strict=True)
        ]
        return parts[0] if len(parts) == 1 else tuple(parts)

    return kernel


def refusing(overload: Any) -> Callable[..., Any]:
    """Return the function of an operator without an implementation: it raises an error."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f"Could not run '{overload.name()}' with arguments from the 'CPU' backend. This could be because the operator doesn't exist "
            "for this backend, or was omitted during the selective/custom build process (if using custom build).",
            hint=f"Pellucid knows the signature of {overload} and does not compute it",
        )

    return kernel
