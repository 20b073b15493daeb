"""Exchange what a function does, and leave the function the same object.

Programs hold public functions under names of their own, and tables of handlers have them as keys.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from ..errors import forwarding

forwarding.add(__file__)

exchanged: list[FunctionType] = []  # in their order


def twin(function: FunctionType) -> FunctionType:
    """Another function that does the same."""
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    made.__dict__.update(function.__dict__)
    made.__module__, made.__qualname__, made.__doc__ = (
        function.__module__,
        function.__qualname__,
        function.__doc__,
    )
    return made


@functools.cache
def _template(free: tuple[str, ...], body: tuple[str, ...]) -> CodeType:
    lines = [
        "def outer():",
        *(f"    {name} = None" for name in free),
        "    def exchanged(*args__, **kwargs__):",
        f"        if 0: ({', '.join(free)},)" if free else "        pass",
        *(f"        {line}" for line in body),
        "    return exchanged",
    ]
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    made: CodeType = scope["outer"]().__code__
    return made


def code_for(
    function: FunctionType, body: tuple[str, ...], constants: dict[str, Any], name: str
) -> CodeType:
    """Code that may stand in the place of a function's: it has the same variables of outer functions.

    Args:
        body: lines of it, over `args__` and `kwargs__`; they have the keys of `constants` as texts.
        constants: what stands for those texts.
    """
    template = _template(function.__code__.co_freevars, body)
    put = tuple(constants.get(v, v) if isinstance(v, str) else v for v in template.co_consts)
    return template.replace(co_consts=put, co_name=name)


_HAND_ON = ("run__ = 'what it does now'", "return run__(*args__, **kwargs__)")


def exchange(function: FunctionType, make: Callable[[FunctionType], Callable[..., Any]]) -> None:
    """Have a function do what `make` makes of a function that does what it did."""
    before = twin(function)
    made = make(before)
    function.__dict__.setdefault("__wrapped__", before)  # `inspect.signature` finds the parameters
    function.__dict__["__exchanged__"] = made
    constants = {"what it does now": made}
    function.__code__ = code_for(function, _HAND_ON, constants, function.__name__)
    exchanged.append(function)


def done_by(function: Any) -> Any:
    """The function that does what an exchanged function does now; of others the function itself."""
    return getattr(function, "__exchanged__", function)
