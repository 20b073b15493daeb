"""Where and how a tensor's elements lie: device, layout, memory format, Size.

Devices, layouts and memory formats are singletons, so they are compared with `is`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from operator import index as as_index
from typing import Any, ClassVar, Final, Self, SupportsIndex, final

from ._pytree import SequenceKey, register_pytree_node
from .errors import ArgumentTypeError, DeviceError, MissingAttributeError


class Named:
    """A value that prints as one of PyTorch's names; made here only, and pickled by that name."""

    __slots__ = ("name",)
    # Pickle finds the singletons under their public names.
    __module__ = "pellucid"
    name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        raise ArgumentTypeError(f"cannot create 'torch.{cls.__name__}' instances")

    def __setattr__(self, name: str, value: Any) -> None:
        raise MissingAttributeError(
            f"'torch.{type(self).__name__}' object has no attribute '{name}'"
        )

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'torch.{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


# Layouts and memory formats
# -----------------------------------------------------------------------------------------


@final
class layout(Named):
    """How a tensor's elements are stored: `torch.strided` for dense tensors, `torch.sparse_coo`, `torch.sparse_csr` and others for
    sparse ones.

    >>> import pellucid as torch
    >>> torch.ones(2).layout, torch.eye(2).to_sparse_csr().layout
    (torch.strided, torch.sparse_csr)
    """

    __slots__ = ()
    __module__ = "pellucid"


@final
class memory_format(Named):
    """The order of a dense tensor's dimensions in memory: `torch.contiguous_format`, `torch.channels_last`, `torch.channels_last_3d`
    or `torch.preserve_format`.

    >>> import pellucid as torch
    >>> torch.zeros(1, 3, 2, 2).to(memory_format=torch.channels_last).stride()
    (12, 1, 6, 3)
    """

    __slots__ = ()
    __module__ = "pellucid"


def _named(cls: type[Any], name: str) -> Any:
    made = object.__new__(cls)
    object.__setattr__(made, "name", name)
    return made


strided: layout = _named(layout, "strided")
sparse_coo: layout = _named(layout, "sparse_coo")
sparse_csr: layout = _named(layout, "sparse_csr")
sparse_csc: layout = _named(layout, "sparse_csc")
sparse_bsr: layout = _named(layout, "sparse_bsr")
sparse_bsc: layout = _named(layout, "sparse_bsc")
jagged: layout = _named(layout, "jagged")

contiguous_format: memory_format = _named(memory_format, "contiguous_format")
channels_last: memory_format = _named(memory_format, "channels_last")
channels_last_3d: memory_format = _named(memory_format, "channels_last_3d")
preserve_format: memory_format = _named(memory_format, "preserve_format")


# Devices
# ------------------------------------------------------------------------------------------------------------

DEVICE_TYPES: Final = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga",
    "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
_DEVICES: dict[tuple[str, int | None], device] = {}
_NAMED: dict[str, device] = {}  # by what `str` gives
_find_accelerator: Callable[[], str | None] = lambda: None


def set_accelerator_finder(find: Callable[[], str | None]) -> None:
    """Tell how to find the type of the machine's accelerator (`"cuda"`, or None), which a bare
    number stands for.
    """
    global _find_accelerator
    _find_accelerator = find


@final
class device:
    """Where a tensor's elements live: a type (`"cpu"`, `"cuda"`, `"meta"`) and, where there are
    several, an index.

    Naming a device does not ask whether the machine has one. Equal devices are one object.

    Args:
        type: a device type, `"type:index"`, or a device. A bare number is an index of the machine's
            accelerator.
        index: the index, when `type` has none.

    Raises:
        RuntimeError: unknown type, malformed text, negative index, or an index given twice.
        TypeError: arguments of another type.

    Example:
        >>> device("cuda:1"), device("cuda", 1) is device("cuda:1"), str(device("cpu"))
        (device(type='cuda', index=1), True, 'cpu')
    """

    __slots__ = ("index", "type")
    __module__ = "pellucid"
    type: str
    index: int | None
    __enter__: ClassVar[Callable[..., Any]]  # defined with the factories, which know modes
    __exit__: ClassVar[Callable[..., None]]

    def __new__(cls, *args: Any, **kwargs: Any) -> device:
        if len(args) == 1 and not kwargs and type(args[0]) is str and args[0] in _NAMED:
            return _NAMED[args[0]]
        kind, index = _device_arguments(args, kwargs)
        if isinstance(kind, device):
            return kind
        found = _DEVICES.get((kind, index))
        if found is None:
            found = object.__new__(cls)
            object.__setattr__(found, "type", kind)
            object.__setattr__(found, "index", index)
            _DEVICES[kind, index] = found
            _NAMED[str(found)] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("type", "index"):
            raise MissingAttributeError(
                f"attribute '{name}' of 'torch.device' objects is not writable"
            )
        raise MissingAttributeError(f"'torch.device' object has no attribute '{name}'")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'torch.device' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')"
            if self.index is None
            else f"device(type='{self.type}', index={self.index})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return device, ((self.type,) if self.index is None else (self.type, self.index))


def _device_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int | None]:
    """The (type, index) that a call of `device` means; a device given as type comes back as it is."""
    if not args and list(kwargs) == ["device"]:
        if not isinstance(kwargs["device"], (str, int, device)):
            raise ArgumentTypeError(_device_mismatch(args, kwargs))
        args, kwargs = (kwargs["device"],), {}
    names = ("type", "index")
    if (
        len(args) > 2
        or not set(kwargs) <= set(names[len(args) :])
        or not (args or isinstance(kwargs.get("type"), str))
    ):
        if len(args) == 1 and len(kwargs) == 1:
            raise ArgumentTypeError(
                f"device() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        raise ArgumentTypeError(_device_mismatch(args, kwargs))
    given = dict(zip(names, args, strict=False)) | kwargs
    kind, index = given["type"], given.get("index")
    if "index" not in given:
        if isinstance(kind, device):
            return kind, None
        if isinstance(kind, int) and not isinstance(kind, bool):
            _checked_index(kind)
            accelerator = _find_accelerator()
            if accelerator is None:
                raise DeviceError(
                    "Cannot access accelerator device when none is available.",
                    found=f"device index {kind}",
                )
            return accelerator, kind
        if not isinstance(kind, str):
            raise ArgumentTypeError(_device_mismatch(args, kwargs))
        return _parse_device(kind)
    if not isinstance(kind, str):
        raise ArgumentTypeError(
            f"device(): argument 'type' (position 1) must be str, not {_type_name(kind)}"
        )
    number = None
    if index is None:
        pass
    elif not isinstance(index, SupportsIndex) or isinstance(index, bool):
        place = "" if "index" in kwargs else " (position 2)"
        raise ArgumentTypeError(
            f"device(): argument 'index'{place} must be int, not {_type_name(index)}"
        )
    else:
        number = _checked_index(as_index(index))
    name, inner = _parse_device(kind)
    if inner is not None:
        raise DeviceError(
            f"type (string) must not include an index because index was passed explicitly: {kind}"
        )
    return name, number


def _type_name(value: object) -> str:
    return "torch.device" if isinstance(value, device) else type(value).__name__


def _device_mismatch(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """PyTorch's words for a call of `device` that is neither of the two known."""
    named = "".join(f"{name}={_type_name(value)}, " for name, value in kwargs.items())
    given = ", ".join(map(_type_name, args)) + named
    reason = ""
    if len(args) + len(kwargs) == 1:
        wrong = [
            f"list of [{', '.join(map(_type_name, value))}]"
            if isinstance(value, list)
            else _type_name(value)
            for value in args
        ]
        types = "".join(f"!{t}!" for t in wrong)
        if kwargs:
            types = f"!device={_type_name(kwargs.get('device'))}!, "
        reason = "\n      didn't match because some of the "
        if kwargs and "device" not in kwargs:
            reason += f"keywords were incorrect: {next(iter(kwargs))}"
        else:
            reason += f"arguments have invalid types: ({types})"
    return (
        f"device() received an invalid combination of arguments - got ({given}), but expected one of:\n"
        f" * (torch.device device){reason}\n * (str type, int index = -1)\n"
    )


def _checked_index(index: int) -> int:
    if index < 0:
        raise DeviceError("Device index must not be negative", found=index)
    return index


def _parse_device(text: str) -> tuple[str, int | None]:
    if not text:
        raise DeviceError("Device string must not be empty")
    name, colon, digits = text.partition(":")
    if colon and not (
        name and digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")
    ):
        raise DeviceError(
            f"Invalid device string: '{text}'",
            hint="write a type, or a type and an index: 'cpu', 'cuda:0'",
        )
    if re.fullmatch("[A-Za-z_]+", name) is None:
        raise DeviceError(
            f"Invalid device string: '{text}'",
            hint="write a type, or a type and an index: 'cpu', 'cuda:0'",
        )
    if name not in DEVICE_TYPES:
        raise DeviceError(
            f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {name}",
            hint="write 'cuda' for a GPU, 'cpu' for the processor"
            if name.lower() in ("gpu", "cpus", "gpus")
            else None,
        )
    return name, int(digits) if colon else None


cpu = device("cpu")
meta = device("meta")


# Sizes
# --------------------------------------------------------------------------------------------------------------


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints whose slices, sums and products are Sizes too.

    Raises:
        TypeError: not an iterable of whole numbers.

    Example:
        >>> shape = Size([2, 3, 4])
        >>> shape[1:], shape.numel(), shape + (5,)
        (torch.Size([3, 4]), 24, torch.Size([2, 3, 4, 5]))
    """

    __slots__ = ()
    __module__ = "pellucid"

    def __new__(cls, sizes: Iterable[Any] = (), /) -> Size:
        numbers: list[Any] = []
        for position, size in enumerate(sizes):
            if getattr(size, "_symbolic_size", False):
                numbers.append(size)
                continue
            try:
                numbers.append(int(as_index(size)))
            except TypeError:
                raise ArgumentTypeError(
                    f"torch.Size() takes an iterable of 'int' (item {position} is '{type(size).__name__}')"
                ) from None
        return tuple.__new__(cls, numbers)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'torch.Size' object has no attribute '{name}'")

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return size_of(found) if found.__class__ is tuple else found

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise ArgumentTypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return size_of(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return size_of(tuple.__add__(other, tuple(self)))

    def __mul__(self, times: SupportsIndex) -> Size:
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


register_pytree_node(
    Size,
    lambda size: (list(size), None),
    lambda values, _: tuple(values),
    flatten_with_keys_fn=lambda size: ([(SequenceKey(k), n) for k, n in enumerate(size)], None),
)


def size_of(sizes: Iterable[int]) -> Size:
    """A Size of numbers that are known to be ints: the fast way, without checks."""
    return tuple.__new__(Size, sizes)
