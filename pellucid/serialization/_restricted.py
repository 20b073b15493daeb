"""weights_only=True: an unpickler that makes tensors and plain containers, and runs no code of the
file.

It knows few instructions, few names, and calls nothing but the functions in `_CALLS`, which check
what they are given.
"""

from __future__ import annotations

import pickle
import struct
from _codecs import encode
from _compat_pickle import NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from .. import devices, dtypes
from ..arrays.affine import SCHEMES, STORED
from ..core.tensor import Parameter, Tensor
from ..errors import warn
from ._names import DEFAULT_PROTOCOL, JAGGED, STORAGE_TYPES
from ._pickle import Unpickler
from ._rebuild import REBUILD, DimRange, get_layout, integers, rebuild_parameter, shown

SAFE: dict[str, Any] = {}  # allowed by the user, by full name

ALLOWED: dict[tuple[str, str], Any] = {
    **REBUILD,
    **STORAGE_TYPES,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("torch.nn.parameter", "Parameter"): Parameter,
    ("torch", "Size"): devices.Size,
    ("torch", "Tensor"): Tensor,
    ("torch", "device"): devices.device,
    (JAGGED.module, JAGGED.name): JAGGED,
    ("torch._dynamo.decorators", "_DimRange"): DimRange,
    ("torch.serialization", "_get_layout"): get_layout,
    ("_codecs", "encode"): encode,
    ("builtins", "bytearray"): bytearray,
    ("builtins", "set"): set,
    ("builtins", "complex"): complex,
    **{("torch", name): kind for name, kind in dtypes.BY_NAME.items()},
    **{("torch", name): dtypes.NAMED_ONLY[name] for name in STORED},
    **{("torch", name): kind for name, kind in SCHEMES.items()},
}
_BLOCKED = frozenset({"sys", "os", "posix", "nt"})
OLD_NAMES = {("__builtin__", name): ("builtins", name) for name in ("set", "bytearray", "complex")}


# ---- keys --------------------------------------------------------------------------------------
_KEY_PARTS = 1000  # entries of a tuple that is a key, and of the tuples in it


def key(value: Any) -> Any:
    """A value that is to be hashed, if that ends soon.

    Tuples within tuples are hashed by recursion in C, which overflows the stack, and each as often
    as it occurs. Integers beyond 60 bits, and complex numbers, can be chosen to have one hash,
    which makes a dict quadratic.
    """
    if type(value) is str:
        return value
    left, count = [value], 0
    while left:
        part = left.pop()
        count += 1
        if isinstance(part, tuple):
            count += len(part)
            if count > _KEY_PARTS:
                raise UnpicklingError(f"a key of more than {_KEY_PARTS} parts")
            left.extend(part)
        elif type(part) is int and not -(1 << 60) < part < 1 << 60:
            raise UnpicklingError("a key that is an integer of more than 60 bits")
        elif type(part) is complex:
            raise UnpicklingError("a key that is a complex number")
    return value


def _pairs(args: tuple[Any, ...], what: str) -> list[tuple[Any, Any]]:
    """What a dictionary is made from: nothing, a dictionary, or a list of pairs."""
    if not args:
        return []
    source = args[0]
    if len(args) > 1 or type(source) not in (dict, OrderedDict, Counter, list, tuple):
        raise TypeError(
            f"{what}() is made from a dict or a list of pairs, not {type(source).__name__}"
        )
    found = list(source.items()) if isinstance(source, dict) else source
    for pair in found:
        if type(pair) not in (tuple, list) or len(pair) != 2:
            raise TypeError(f"{what}() is made from pairs, but an entry is {shown(pair)}")
    return [(key(name), value) for name, value in found]


# ---- what a file may call --------------------------------------------------------------------
def _set(*args: Any) -> set[Any]:
    if len(args) > 1 or any(type(source) not in (list, tuple, set) for source in args):
        raise TypeError(
            f"set() is made from a list, not {', '.join(type(source).__name__ for source in args)}"
        )
    return {key(value) for source in args for value in source}


def _counter(*args: Any) -> Counter[Any]:
    result: Counter[Any] = Counter()
    if args and type(args[0]) in (list, tuple):
        for value in _plain(args, 1):
            result[key(value)] += 1
    else:
        result.update(dict(_pairs(args, "Counter")))
    return result


def _plain(args: tuple[Any, ...], count: int) -> Any:
    if len(args) != count:
        raise TypeError(f"expected {count} arguments, got {len(args)}")
    return args[0]


def _encoded(*args: Any) -> bytes:
    """`_codecs.encode`: how protocol 2 writes bytes. Other codecs take quadratic time or import
    modules.
    """
    if not 1 <= len(args) <= 2 or any(type(part) is not str for part in args):
        raise TypeError("encode() takes a text and the name of an encoding")
    codec = args[1] if len(args) == 2 else "utf-8"
    if codec.lower().replace("-", "").replace("_", "") not in ("latin1", "utf8", "ascii"):
        raise LookupError(f"unknown encoding: {shown(codec)} (latin-1, utf-8 and ascii are read)")
    return encode(args[0], codec)


def _bytearray(*args: Any) -> bytearray:
    if not args:
        return bytearray()
    if len(args) == 1 and type(args[0]) in (bytes, bytearray):
        return bytearray(args[0])
    # a number would be a size, which costs memory without any bytes in the file
    if type(args[0]) is not str:
        raise TypeError(
            f"bytearray() is made from bytes or text here, not {type(args[0]).__name__}"
        )
    return bytearray(_encoded(*args))


def _complex(*args: Any) -> complex:
    if len(args) > 2 or any(type(part) not in (float, int) for part in args):
        raise TypeError(
            f"complex() is made from numbers, not {', '.join(type(part).__name__ for part in args)}"
        )
    return complex(*args)


def _size(*args: Any) -> devices.Size:
    if args and type(args[0]) not in (tuple, list, devices.Size):
        raise TypeError(f"'{type(args[0]).__name__}' object is not iterable")
    if len(args) > 1:
        raise TypeError(f"Size expected at most 1 argument, got {len(args)}")
    return devices.Size(integers(args[0], "size") if args else ())


def _device(*args: Any) -> devices.device:
    if (
        not 1 <= len(args) <= 2
        or type(args[0]) not in (str, devices.device)
        or (len(args) == 2 and type(args[1]) is not int)
    ):
        raise TypeError(
            "device() received an invalid combination of arguments - got "
            f"({', '.join(type(part).__name__ for part in args)}): a type and an index are needed"
        )
    found = devices.device(*args)
    if found.index is not None and found.index > 127:  # devices are kept for ever
        raise RuntimeError(f"device index out of range: {shown(str(found))}")
    return found


def _parameter(data: Any = None, requires_grad: Any = True) -> Any:
    return Parameter() if data is None else rebuild_parameter(data, requires_grad, None)


_CALLS: dict[int, Callable[..., Any]] = {  # by identity: what stands on the stack may be anything
    **{id(function): function for function in REBUILD.values()},
    id(get_layout): get_layout,
    id(OrderedDict): lambda *args: OrderedDict(_pairs(args, "OrderedDict")),
    id(Counter): _counter,
    id(Parameter): _parameter,
    id(devices.Size): _size,
    id(DimRange): DimRange,
    id(devices.device): _device,
    id(encode): _encoded,
    id(bytearray): _bytearray,
    id(set): _set,
    id(complex): _complex,
}
_NEW = frozenset(map(id, (Parameter, OrderedDict, Counter, devices.Size, DimRange)))


def _allowed_by_user(value: Any) -> bool:
    return any(value is entry for entry in SAFE.values())


class _Instructions(dict[int, Any]):
    def __missing__(self, code: int) -> Any:
        raise UnpicklingError(f"\n\nUnsupported operand {code}")


_PYTHON_2 = {old: new for (home, old), (_, new) in NAME_MAPPING.items() if home == "__builtin__"}


# ---- the unpickler ---------------------------------------------------------------------------
class SafeUnpickler(Unpickler):
    """Builds tensors and plain containers only; a name that is not on the list, or a call of
    anything else, is refused.
    """

    loader: Any
    memo: Any
    read: Any

    def find_class(self, module: str, name: str) -> Any:
        module, name = OLD_NAMES.get((module, name), (module, name))
        path = f"{module}.{name}"
        if module in _BLOCKED:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {shown(path)} whose module {module} is blocked."
            )
        known = ALLOWED.get((module, name))
        if known is not None:
            return known
        if path in SAFE:
            return SAFE[path]
        if module in ("builtins", "__builtin__"):
            path = _PYTHON_2.get(name, name)
        path = shown(path)
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` context manager to "
            "allowlist this global if you trust this class/function."
        )

    def persistent_load(self, pid: Any) -> Any:
        if type(pid) not in (tuple, int):
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and pid and text(pid[0]) != "storage":
            raise UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {type(pid[0])}"
            )
        return self.loader(pid)

    def load_reduce(self) -> None:
        args, function = self._arguments(), self.stack[-1]
        call = _CALLS.get(id(function))
        if call is None:
            if not _allowed_by_user(function):
                raise UnpicklingError(
                    f"Trying to call reduce for unrecognized function {shown(function)}"
                )
            call = function
        self.stack[-1] = call(*args)

    def load_newobj(self) -> None:
        args, cls = self._arguments(), self.stack.pop()
        if id(cls) in _NEW:
            self.append(_CALLS[id(cls)](*args))
        elif isinstance(cls, type) and _allowed_by_user(cls):
            self.append(cls.__new__(cls, *args))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                + shown(cls)
            )

    def _arguments(self) -> Any:
        args = self.stack.pop()
        if type(args) is not tuple:
            raise UnpicklingError(f"the arguments of a call must be a tuple, but got {type(args)}")
        return args

    def load_build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) is OrderedDict:
            # `state_dict` keeps `_metadata` so. A name of the class would stand in for one of its
            # methods.
            if type(state) is not dict:
                raise UnpicklingError(
                    f"the attributes of an OrderedDict must be a dict, but got {type(state)}"
                )
            for name in state:
                if type(name) is not str or hasattr(OrderedDict, name) or name.startswith("__"):
                    raise UnpicklingError(f"an OrderedDict cannot have the attribute {shown(name)}")
            target.__dict__.update(state)
        elif type(target) is DimRange:
            target.__setstate__(state)
        elif isinstance(target, type):
            raise UnpicklingError(f"Can only build objects, but got the class {target}")
        elif any(type(target) is c for c in SAFE.values() if isinstance(c, type)):
            self.stack.append(state)
            super().load_build()
        else:
            raise UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {type(target)}"
            )

    def load_append(self) -> None:
        value = self.stack.pop()
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(self.stack[-1])}")
        self.stack[-1].append(value)

    def load_appends(self) -> None:
        items = self.pop_mark()
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(self.stack[-1])}")
        self.stack[-1].extend(items)

    def load_setitem(self) -> None:
        value, name = self.stack.pop(), self.stack.pop()
        self._dict("SETITEM")[key(name)] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        target = self._dict("SETITEMS")
        for k in range(0, len(items), 2):
            target[key(items[k])] = items[k + 1]

    def load_binget(self) -> None:
        self.append(self.memo[self.read(1)[0]])  # a KeyError is PyTorch's, too

    def load_long_binget(self) -> None:
        self.append(self.memo[struct.unpack("<I", self.read(4))[0]])

    def load_proto(self) -> None:
        number = self.read(1)[0]
        if number > pickle.HIGHEST_PROTOCOL:
            raise UnpicklingError(f"unsupported pickle protocol: {number}")
        if number != DEFAULT_PROTOCOL:
            warn(
                f"Detected pickle protocol {number} in the checkpoint, which was not the default pickle protocol used by `torch.load` "
                f"({DEFAULT_PROTOCOL}). The weights_only Unpickler might not support all instructions implemented by this protocol, please "
                "file an issue for adding support if you encounter this."
            )

    def _dict(self, word: str) -> Any:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {word} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        return target

    dispatch = _Instructions(
        {
            # values, tuples, lists and names, as pickle reads them; no others than PyTorch has
            code[0]: Unpickler.dispatch[code[0]]
            for code in (
                pickle.STOP,
                pickle.MARK,
                pickle.NONE,
                pickle.NEWTRUE,
                pickle.NEWFALSE,
                pickle.BININT,
                pickle.BININT1,
                pickle.BININT2,
                pickle.LONG1,
                pickle.BINFLOAT,
                pickle.SHORT_BINSTRING,
                pickle.BINUNICODE,
                pickle.EMPTY_TUPLE,
                pickle.TUPLE,
                pickle.TUPLE1,
                pickle.TUPLE2,
                pickle.TUPLE3,
                pickle.EMPTY_LIST,
                pickle.EMPTY_DICT,
                pickle.EMPTY_SET,
                pickle.BINPUT,
                pickle.LONG_BINPUT,
                pickle.GLOBAL,
                pickle.BINPERSID,
            )
        }
    )
    for _code, _handler in (
        (pickle.PROTO, load_proto),
        (pickle.REDUCE, load_reduce),
        (pickle.NEWOBJ, load_newobj),
        (pickle.BUILD, load_build),
        (pickle.APPEND, load_append),
        (pickle.APPENDS, load_appends),
        (pickle.SETITEM, load_setitem),
        (pickle.SETITEMS, load_setitems),
        (pickle.BINGET, load_binget),
        (pickle.LONG_BINGET, load_long_binget),
    ):
        dispatch[_code[0]] = _handler


def text(value: Any) -> Any:
    """Bytes of Python 2 as text."""
    return value.decode("ascii") if type(value) is bytes else value
