"""Arguments held against PyTorch's signatures: where they first fail to fit, in PyTorch's words.

Source: the behavior of PyTorch 2.13's argument parser, held to it by
`tests/oracle/test_overloads.py`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..._names import NUMPY_NAMES
from ...core.public import FUNCTIONS, METHODS
from ...core.streams.generator import Generator
from ...core.tensor import Tensor
from ...devices import device, layout, memory_format
from ...dtypes import dtype
from ...errors import type_name
from ...ops._overloads import Overloads, overloads, plain
from .first import ATTRIBUTES
from .first import refused as first_refused


class Slot(NamedTuple):
    """A parameter of a signature.

    Attributes:
        kind: what PyTorch calls its type: "Tensor", "tuple of ints", "torch.dtype".
        name: its name.
        optional: has it a default?
        keyword: can it be given by keyword only?
        nullable: is None taken?
        size: how many items a list has for which one number stands; 0: none.
        own: what a function in Python that hands the argument on calls it.
    """

    kind: str
    name: str
    optional: bool
    keyword: bool
    nullable: bool
    size: int
    own: str = ""


_PART = re.compile(r"([\w. ]+?)(?:\[(\d+)\])?(\?)? (\w+)(?:<(\w+))?(?: = (.*))?")
OF_NUMBERS = set(
    "copy to add sub mul div divide multiply subtract true_divide floor_divide".split()
)


def _parts(signature: str) -> list[str]:
    return re.split(r", (?![^\[]*\])", signature[1:-1])


@cache
def slots(signature: str) -> tuple[Slot, ...]:
    """The parameters of a signature.

    Example:
        >>> slots("(Tensor input, *, tuple of ints[1]? dim = 0)")[1]
        Slot(kind='tuple of ints', name='dim', optional=True, keyword=True, nullable=True, size=1, own='dim')
    """
    found, keyword = [], False
    for part in _parts(signature):
        if part == "*":
            keyword = True
        elif match := _PART.fullmatch(part):
            kind, size, nullable, name, own, default = match.groups()
            none = nullable is not None or default in ("None", "[]")
            optional = default is not None
            found.append(Slot(kind, name, optional, keyword, none, int(size or 0), own or name))
    return tuple(found)


def refused(overloads: Overloads, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """What PyTorch says when it does not take the arguments; None where it does."""
    shown, signatures, every, bare, inner, _ = overloads
    if inner is not None:
        return _told(overloads, args, kwargs)
    if bare:
        if kwargs:
            return f"{bare}.{shown}() takes no keyword arguments"
        return f"{bare}.{shown}() takes no arguments ({len(args)} given)" if args else None
    for signature in every:
        found = failure(shown, signature, args, kwargs)
        if found is None:
            return unpacking(shown, signature, args, kwargs)
        if isinstance(found, Thrown) or len(every) == 1:
            return found
    given = len(args) + len(kwargs)
    plausible = [
        s for s in signatures if sum(not p.optional for p in slots(s)) <= given <= len(slots(s))
    ]
    if len(plausible) == 1:
        return failure(shown, plausible[0], args, kwargs)
    return refusal(shown, [plain(s) for s in signatures], args, kwargs)


def handed(
    path: str, signature: str, args: list[Any], kwargs: dict[str, Any]
) -> dict[Slot, Any] | Exception | None:
    """What a function in Python hands on for the parameters of a signature; its error where the first
    argument fails before, and None where it does not take the arguments itself.
    """
    space = path.rpartition(".")[0]
    args = [None, *args] if space == "Tensor" else args
    try:
        bound = _signature(path).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    first, value = next(iter(bound.arguments.items()))
    if space != "Tensor" and not isinstance(value, Tensor) and path in ATTRIBUTES:
        error = first_refused(path, first, value, type_name(value))
        if error is not None:
            return error
    return {slot: bound.arguments[slot.own] for slot in slots(signature)}


def _signature(path: str) -> inspect.Signature:
    space, _, name = path.rpartition(".")
    return inspect.signature(METHODS[name] if space == "Tensor" else FUNCTIONS[space][name])


def in_python(
    name: str, parameters: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
) -> str:
    """What Python calls the function that does a call: PyTorch has one for each kind of result.

    Example:
        >>> in_python("unique", ["input", "return_inverse", "return_counts"], [], {"return_counts": True})
        '_return_counts'
    """
    flags = {n: asks(n, parameters, args, kwargs or {}) for n in parameters}
    if "return_inverse" in parameters:
        asked = [n[7:] for n in ("return_inverse", "return_counts") if flags[n]] or ["output"]
        return f"{'_consecutive' * name.endswith('_consecutive')}_return_{'_and_'.join(asked)}"
    if "get_infos" in parameters:
        return f"_lu_{'with' if flags['get_infos'] else 'no'}_infos"
    if "return_indices" in parameters and not name.endswith("_indices"):
        return f"{name}_with_indices" if flags["return_indices"] else f"_{name}"
    return name


def asks(name: str, parameters: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a call sets a flag."""
    place = list(parameters).index(name)
    value = kwargs.get(name, args[place] if place < len(args) else False)
    return isinstance(value, (bool, int)) and bool(value)


def chosen(path: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """The path of what does a call: the function, or the one that gives indices, too."""
    if not path.startswith("nn.functional.max_pool") or path.endswith("_indices"):
        return path
    asked = asks("return_indices", _signature(path).parameters, args, kwargs)
    return f"{path}_with_indices" if asked else path


def _told(known: Overloads, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """What a call of a function in Python fails with; None where its arguments fit."""
    assert known.inner is not None
    values = handed(known.inner, known.every[0], args, kwargs)
    if isinstance(values, Exception):
        return str(values)
    if values is None:
        # names of NumPy's, which a function in Python does not know
        own = _signature(known.inner).parameters
        wrong = next((n for n in kwargs if n in NUMPY_NAMES and n not in own), None)
        if wrong is None:
            return None
        method = known.inner.startswith("Tensor.")
        shown = f"Tensor.{known.written}" if method else in_python(known.written, own, args, kwargs)
        return f"{shown}() got an unexpected keyword argument '{wrong}'"
    places = [value for slot, value in values.items() if not slot.keyword]
    named = {slot.name: value for slot, value in values.items() if slot.keyword}
    return failure(known.shown, known.every[0], places, named)


def matched(known: Overloads, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """The first signature that takes the arguments."""
    if known.inner is not None:
        return known.every[0] if _told(known, args, kwargs) is None else None
    for signature in known.every:
        found = failure(known.shown, signature, args, kwargs)
        if found is None or isinstance(found, Thrown):
            return signature if found is None else None
    return None


def unpacking(shown: str, signature: str, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    r"""What PyTorch says of a list of integers with something else behind the first item, where the
    arguments fit the signature; None where they are integers.

    Example:
        >>> unpacking("f", "(tuple of ints[1] dim)", [(0, "a")], {})
        'f(): argument \'dim\' failed to unpack the object at pos 2 with error "type must be tuple of ints,but got str"'
    """
    parameters = slots(signature)
    for place, parameter in enumerate(parameters):
        if parameter.kind != "tuple of ints":
            continue
        value = args[place] if place < len(args) else kwargs.get(parameter.name)
        if not isinstance(value, (tuple, list)):
            value = args if len(args) > sum(not p.keyword for p in parameters) else ()
        for k, item in enumerate(value):
            if k and not hasattr(item, "__index__"):
                return (
                    f"{shown}(): argument '{parameter.name}' failed to unpack the object at pos {k + 1} with error "
                    f'"type must be tuple of ints,but got {type_name(item)}"'
                )
    return None


class Thrown(str):
    """What PyTorch says at once, before it looks at further signatures."""


def failure(shown: str, signature: str, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """Where the arguments first fail to fit a signature, in PyTorch's words; None where they fit.

    Example:
        >>> failure("f", "(Tensor input, int dim, *, bool keepdim = False)", [1, 2], {})
        "f(): argument 'input' (position 1) must be Tensor, not int"
        >>> failure("f", "(int n, int dim)", [1], {})
        'f() missing 1 required positional arguments: "dim"'
    """
    parameters = slots(signature)
    places = sum(not p.keyword for p in parameters)
    spread = places == 1 and parameters[0].kind == "tuple of ints"
    if len(args) > places and not spread:
        return _too_many(shown, parameters, places, len(args))
    used, at = 0, 0
    for place, parameter in enumerate(parameters):
        positional = at < len(args)
        if positional and parameter.keyword:
            return _too_many(shown, parameters, places, len(args))
        name = (
            None
            if positional
            else next(
                (n for n in (parameter.name, *_ALIASES.get(parameter.name, ())) if n in kwargs),
                None,
            )
        )
        there = positional or name is not None
        value = args[at] if positional else kwargs[name] if name is not None else None
        if not there and not parameter.optional:
            lacking = [p.name for p in parameters[place:] if not p.optional]
            listing = ", ".join(f'"{n}"' for n in lacking)
            return f"{shown}() missing {len(lacking)} required positional argument{'s' * (len(lacking) == 1)}: {listing}"
        if there and not (value is None and parameter.nullable):
            if parameter.kind == "tuple of Tensors" and isinstance(value, (tuple, list)):
                for k, item in enumerate(value):
                    if not isinstance(item, Tensor) and not (
                        item is None and parameter.name == "indices"
                    ):
                        return Thrown(
                            f"expected Tensor as element {k} in argument {place}, but got {type_name(item)}"
                        )
            elif not fits(value, parameter, shown.rstrip("_") in OF_NUMBERS):
                if spread and positional and at == 0 and _is_int(value):
                    at = len(args)
                    continue
                where = "" if not positional else f" (position {at + 1})"
                found = f"not {type_name(value)}"
                if (
                    positional
                    and parameter.kind in ("tuple of ints", "tuple of floats")
                    and isinstance(value, (tuple, list))
                ):
                    found = f"but found element of type {type_name(value[0])} at pos 0"
                return f"{shown}(): argument '{parameter.name}'{where} must be {parameter.kind}, {found}"
        if positional:
            at += 1
        elif there:
            used += 1
    if at < len(args):
        return _too_many(shown, parameters, places, len(args))
    if used < len(kwargs):
        names = [p.name for p in parameters]
        for name in kwargs:
            if name not in names:
                return f"{shown}() got an unexpected keyword argument '{name}'"
            if names.index(name) < len(args):
                return f"{shown}() got multiple values for argument '{name}'"
        return "invalid keyword arguments"
    return None


def _too_many(shown: str, parameters: tuple[Slot, ...], places: int, given: int) -> str:
    least = sum(not p.optional for p in parameters)
    if least != places:
        return (
            f"{shown}() takes from {least} to {places} positional arguments but {given} were given"
        )
    wanted = f"{places} positional argument{'' if places == 1 else 's'}"
    return f"{shown}() takes {wanted} but {given} {'was' if given == 1 else 'were'} given"


# Further keywords for a parameter: NumPy's names, and what a method is called on.
_ALIASES = {
    new: [old for old, known in NUMPY_NAMES.items() if known == new] for new in NUMPY_NAMES.values()
}


def _is_int(value: Any) -> bool:
    return (
        hasattr(value, "__index__")
        and not isinstance(value, (bool, np.bool_))
        and not (isinstance(value, np.ndarray) and (value.ndim or value.dtype.kind not in "iu"))
        and not isinstance(value, Tensor)
        or (
            isinstance(value, Tensor)
            and not value.ndim
            and not (value.is_floating_point() or value.is_complex())
            and value.dtype.name != "bool"
            and not value.requires_grad
        )
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_))


def _is_float(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer, np.bool_))


def fits(value: Any, parameter: Slot, numbers: bool = False) -> bool:
    """Does PyTorch take a value for a parameter? Of lists of numbers it looks at the first item.
    `numbers`: they stand for tensors.
    """
    kind = parameter.kind
    single = isinstance(value, Tensor) and not value.ndim and not value.requires_grad
    if kind in _ANYTHING:
        return True
    if kind == "Tensor":
        return isinstance(value, Tensor) or numbers and _is_number(value)
    if kind in ("Number", "Scalar"):
        return _is_number(value) or single
    if kind == "complex":
        return _is_float(value) or isinstance(value, complex) or single
    if kind == "float":
        return _is_float(value) or single
    if kind == "int":
        return _is_int(value)
    if kind == "bool":
        return isinstance(value, (bool, np.bool_))
    if kind == "tuple of ints":
        if isinstance(value, (tuple, list)):
            return not value or _is_int(value[0])
        return parameter.size > 0 and _is_int(value)
    if kind == "tuple of floats":
        return isinstance(value, (tuple, list)) and (
            not value or _is_float(value[0]) or isinstance(value[0], complex)
        )
    if kind == "tuple of Tensors":
        return isinstance(value, (tuple, list))
    if kind.startswith("tuple of "):
        item = Slot(kind.removeprefix("tuple of ").removesuffix("s"), "", False, False, False, 0)
        return isinstance(value, (tuple, list)) and all(fits(v, item) for v in value)
    if kind == "torch.device":
        return isinstance(value, (str, device)) or _is_int(value)
    if kind == "torch.dtype":
        return isinstance(value, dtype) or any(value is k for k in (bool, int, float, complex))
    if kind in _CLASSES:
        return isinstance(value, _CLASSES[kind])
    return type_name(value) == kind


_CLASSES: dict[str, type] = {
    "torch.layout": layout,
    "torch.memory_format": memory_format,
    "torch.Generator": Generator,
    "str": str,
}


def refusal(shown: str, signatures: list[str], args: list[Any], kwargs: dict[str, Any]) -> str:
    """The message of a call that fits none of the signatures.

    Example:
        >>> print(refusal("f", ["(Tensor input)", "(Tensor input, int dim)"], ["a"], {}), end="")
        f() received an invalid combination of arguments - got (str), but expected one of:
         * (Tensor input)
              didn't match because some of the arguments have invalid types: (!str!)
         * (Tensor input, int dim)
    """
    kwargs = {name: kwargs[name] for name in hash_order(kwargs)}
    named = [f"{name}={type_name(value)}" for name, value in kwargs.items()]
    got = f"({', '.join([*map(type_name, args), *named])}{', ' if named and not args else ''})"
    start = f"{shown}() received an invalid combination of arguments - "
    if len(signatures) == 1:
        wrong = _unknown(signatures[0], kwargs)
        if wrong:
            return f"{start}got unrecognized keyword arguments: {', '.join(wrong)}"
        if len(_options(signatures[0])) == len(args) + len(kwargs):
            got = _described(signatures[0], args, kwargs)
        return f"{start}got {got}, but expected {signatures[0]}"
    lines = []
    for signature in signatures:
        lines.append(f" * {signature}\n")
        if len(_options(signature)) == len(args) + len(kwargs):
            wrong = _unknown(signature, kwargs)
            why = (
                f"keywords were incorrect: {', '.join(wrong)}"
                if wrong
                else f"arguments have invalid types: {_described(signature, args, kwargs)}"
            )
            lines.append(f"      didn't match because some of the {why}\n")
    return f"{start}got {got}, but expected one of:\n{''.join(lines)}"


# When PyTorch lists signatures, it reads its own text: each part is a type and, behind the last
# space, a name. The star counts as one, and of a parameter with a default the "name" is the
# default's value.
@cache
def _options(signature: str) -> list[tuple[str, str]]:
    return [
        (part.rpartition(" ")[0] or part, part.rpartition(" ")[2]) for part in _parts(signature)
    ]


def _unknown(signature: str, kwargs: dict[str, Any]) -> list[str]:
    options = _options(signature)
    names = [name for _, name in options[max(len(options) - len(kwargs), 0) :]]
    return [name for name in kwargs if name not in names]


def _described(signature: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    found = []
    for place, (kind, name) in enumerate(_options(signature)):
        value = args[place] if place < len(args) else kwargs[name]
        own = type_name(value)
        fits = own in {"float": ("float", "int"), "int": ("int",)}.get(kind, (kind,))
        if not fits and type(value) in (list, tuple):
            inner = ", ".join(map(type_name, value))
            own += (
                f" of [{inner}]"
                if type(value) is list
                else f" of ({inner}{',' * (len(value) == 1)})"
            )
        text = own if place < len(args) else f"{name}={own}"
        found.append(text if fits else f"!{text}!")
    return f"({', '.join(found)}{', ' if kwargs and not args else ''})"


def hash_order(names: Iterable[str]) -> list[str]:
    """Names in the order in which the hash table of PyTorch's library (libstdc++) lists them: the
    last first, but those of a bucket together.

    Example:
        >>> hash_order(["dim", "self"])
        ['self', 'dim']
    """
    order: list[str] = []
    for name in names:
        bucket = _hash(name.encode()) % 13
        place = next(
            (k for k, other in enumerate(order) if _hash(other.encode()) % 13 == bucket), 0
        )
        order.insert(place, name)
    return order


@cache
def _hash(text: bytes) -> int:
    """MurmurHash2 of 64 bits, with libstdc++'s seed. Source: A. Appleby, MurmurHash2 (public
    domain).
    """
    mask, factor = (1 << 64) - 1, 0xC6A4A7935BD1E995

    def mixed(value: int) -> int:
        return value ^ value >> 47

    found = 0xC70F6907 ^ len(text) * factor & mask
    whole = len(text) & ~7
    for k in range(0, whole, 8):
        word = int.from_bytes(text[k : k + 8], "little") * factor & mask
        found = (found ^ mixed(word) * factor & mask) * factor & mask
    if len(text) & 7:
        found = (found ^ int.from_bytes(text[whole:], "little")) * factor & mask
    return mixed(mixed(found) * factor & mask)


# ---- arguments as PyTorch reads them ------------------------------------------------------------
def fitted(
    path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call as one of PyTorch's signatures reads them, under the function's own
    names, numbers as Python's; None where they are so already, or no signature takes them.

    Example:
        >>> import pellucid as torch
        >>> fitted("torch.chunk", (torch.ones(2),), {"chunks": 2, "axis": 0})
        ((tensor([1., 1.]), 2, 0), {})
    """
    known = overloads(path)
    first = int(path.startswith("Tensor."))
    if known is None or known.inner is not None:
        return None
    signature = matched(known, list(args[first:]), kwargs)
    if signature is None:
        return None
    values: list[Any] = list(args)
    named = {}
    changed = False
    for place, slot in enumerate(slots(signature), first):
        if place < len(args) and not slot.keyword:
            values[place] = _read(args[place], slot)
            changed |= values[place] is not args[place]
            continue
        name = next((n for n in (slot.name, *_ALIASES.get(slot.name, ())) if n in kwargs), None)
        if name is None:
            continue
        value = _read(kwargs[name], slot)
        if not slot.keyword and place == len(values):
            values.append(value)
        else:
            named[slot.name] = value
            changed |= value is not kwargs[name] or name != slot.name
    return (tuple(values), named) if changed or len(values) > len(args) else None


def _read(value: Any, slot: Slot) -> Any:
    """A number of NumPy's, or a tensor that stands for a number, as Python's number."""
    if slot.kind in ("int", "float", "Number", "Scalar", "complex"):
        if isinstance(value, (Tensor, np.generic)):
            return value.item()
    elif slot.kind == "tuple of ints":
        if isinstance(value, (Tensor, np.generic)):
            return (value.item(),)
        if isinstance(value, (list, tuple)) and any(
            isinstance(v, (Tensor, np.generic)) for v in value
        ):
            return type(value)(
                v.item() if isinstance(v, (Tensor, np.generic)) else v for v in value
            )
    elif slot.kind == "Tensor" and isinstance(value, np.generic):
        return value.item()
    return value


def refused_call(
    path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str | None, bool]:
    """What PyTorch says of a call of the function at a path; None where it takes the arguments.
    And whether it would say the same of all arguments of these classes.
    """
    known = overloads(chosen(path, args, kwargs))
    if known is None:
        return None, True
    own = list(args[path.startswith("Tensor.") :])
    signature = matched(known, own, kwargs)
    if signature is None:
        return refused(known, own, kwargs), False
    values = (*own, *kwargs.values())
    text = None if known.inner is not None else unpacking(known.shown, signature, own, kwargs)
    if text is not None:
        return text, False
    wanted = {s.own: s.kind for s in slots(signature)}
    if known.inner is not None:
        passed = handed(known.inner, signature, own, kwargs)
        passed = passed if isinstance(passed, dict) else {}
        given = [*zip(passed.values(), wanted.values(), strict=False)]
    else:
        named: list[Any] = [wanted.get(n, wanted.get(NUMPY_NAMES.get(n, n))) for n in kwargs]
        given = [*zip(values, [*list(wanted.values())[: len(own)], *named], strict=False)]
    free = {id(v) for v, kind in given if kind in _ANYTHING}
    if any(isinstance(v, (type, np.ndarray)) and id(v) not in free for v in values):
        return None, False
    return None, not any(
        isinstance(v, Tensor) and kind != "Tensor" and kind not in _ANYTHING for v, kind in given
    )


_ANYTHING = ("Any", "object")  # kinds of parameters that take every value


def leading(path: str) -> int:
    """How many arguments by place are tensors, in all signatures of a function that can do without
    the others; very many where nothing else comes after them, -2 where each call needs a look.
    """
    known = overloads(path)
    if known is None:
        return 1 << 30
    counts = []
    every = [[s for s in slots(signature) if not s.keyword] for signature in known.every]
    most = max(map(len, every), default=0)
    for places in every:
        other = next((k for k, s in enumerate(places) if s.kind != "Tensor"), len(places))
        if known.inner is not None or not all(s.optional for s in places[other:]):
            return -2
        alone = other == len(places) == most
        counts.append(1 << 30 if alone else other + path.startswith("Tensor."))
    return min(counts, default=1 << 30)
