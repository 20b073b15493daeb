"""DLPack capsules of bfloat16 arrays. NumPy has no such type, so they are capsules of integers of
two bytes in which the type is replaced.

The layout of a capsule is that of DLPack's `DLManagedTensor` and `DLManagedTensorVersioned`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from ...errors import ArgumentTypeError, OperationError

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_UINT, _BFLOAT = 1, 4  # DLDataTypeCode
# where a capsule's DLDataType (code, bits, lanes) begins, by the capsule's name
_TYPE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}

_FLAGS_AT = 24  # in a capsule with a version
CONSUMED = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
    "already constructed a tensor from it once."
)

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.argtypes, _name_of.restype = [ctypes.py_object], ctypes.c_char_p
_address_of = ctypes.pythonapi.PyCapsule_GetPointer
_address_of.argtypes, _address_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def _type_in(capsule: Any) -> Any:
    """The code and the bits of a capsule's type, to be read and written; None for a capsule that
    was consumed or is something else.
    """
    name = _name_of(capsule)
    if name is None or name not in _TYPE_AT:
        return None
    return (ctypes.c_uint8 * 2).from_address(_address_of(capsule, name) + _TYPE_AT[name])


def export(array: np.ndarray, max_version: Any) -> Any:
    """A capsule of an array, of bfloat16 too; one with a version if the consumer asks for it."""
    keywords = {} if max_version is None else {"max_version": max_version}
    if array.dtype != BFLOAT16:
        return array.__dlpack__(**keywords)
    capsule = array.view(np.uint16).__dlpack__(**keywords)
    _type_in(capsule)[0] = _BFLOAT
    return capsule


def check_stream(stream: Any) -> None:
    """Refuse a stream of a device: arrays here are in the memory of the CPU."""
    if stream is not None:
        if type(stream) is not int:
            raise ArgumentTypeError("stream must be ``int`` or ``none``")
        assert stream == -1, "stream should be None on cpu."


def shared(given: Any) -> np.ndarray:
    """The array in the memory of a capsule, or of an object with `__dlpack__`. It may be written
    to; of memory that its owner marks as read-only it is a copy.
    """
    if type(given).__name__ == "PyCapsule":
        return _Capsule(given).array()
    try:
        array = np.from_dlpack(given)
        if array.flags.writeable:
            return array
    except (BufferError, RuntimeError):  # a type that NumPy does not have
        capsule = _Capsule(_new_capsule(given))
        if capsule.dtype is None:
            raise
        return capsule.array()
    # NumPy marks all memory read-only that comes by the older protocol
    return _Capsule(_new_capsule(given)).array()


def _new_capsule(given: Any) -> Any:
    try:
        return given.__dlpack__(max_version=(1, 0))
    except TypeError:  # of before there were versions
        return given.__dlpack__()


class _Capsule:
    """A capsule as the object that NumPy wants; `dtype` is what the array has to be viewed as."""

    def __init__(self, capsule: Any) -> None:
        self.capsule, self.dtype = capsule, None
        kind = _type_in(capsule)
        if kind is None:
            raise OperationError(CONSUMED)
        name = _name_of(capsule)
        self.read_only = name == b"dltensor_versioned" and bool(
            ctypes.c_uint64.from_address(_address_of(capsule, name) + _FLAGS_AT).value & 1
        )
        if tuple(kind) == (_BFLOAT, 16):
            kind[0], self.dtype = _UINT, BFLOAT16

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU

    def array(self) -> np.ndarray:
        """The array in the capsule's memory. The capsule is consumed."""
        array = np.from_dlpack(self)
        if self.read_only:
            array = array.copy()
        elif not array.flags.writeable:
            array = np.asarray(_Writable(array))
        return array if self.dtype is None else array.view(self.dtype)


class _Writable:
    """The memory of a read-only array, which it keeps alive, as one that may be written."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}
