"""Load object code without LLVM, whose library takes about 40 ms and 30 MB to load. Most processes
find all their code in the disk cache and never need it.

The loader supports only what LLVM generates for kernels on x86-64 Linux: relocatable ELF files of
the large code model, in which 64-bit addresses are the only relocations. For everything else
`place` returns None, and LLVM's own linker is used. See "System V Application Binary Interface,
AMD64 Architecture Processor Supplement", chapters 4 and 5.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
import sys
from typing import Any

__all__ = ["forever", "place", "symbols"]

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_RELOCATABLE, _X86_64 = 1, 62
_PROGRAM, _SYMBOLS, _ADDENDS = 1, 2, 4  # kinds of sections
_WRITE, _ALLOCATED = 1, 2  # flags of sections
_ABSOLUTE_64, _RELATIVE_64 = 1, 24  # kinds of relocations
_ABSOLUTE = 0xFFF1  # SHN_ABS: the symbol's value is its address

# registered addresses by name; they take precedence over symbols of the process
symbols: dict[str, int] = {}


def forever(held: Any) -> Any:
    """Return `held` after making it immortal, together with everything that it refers to. Native
    code may still be called by the last objects that Python frees at exit, when modules have been
    cleared.
    """
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    return held


def pointer_of(capsule: Any) -> int:
    """Return the pointer in an unnamed capsule, such as NumPy's table of C API functions."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    found: int = get(capsule, None)
    return found


_alive: list[mmap.mmap] = forever([])  # code is never unmapped


def place(code: bytes) -> dict[str, int] | None:
    """Load an object file into executable memory and return the addresses of the functions that it
    defines; None if LLVM has to load it.

    Nothing is left behind if the result is None. Unwinding information is not registered, since no
    exception passes through kernels.
    """
    if not _supported():
        return None
    try:
        return _placed(code)
    except (struct.error, IndexError, ValueError, OSError, StopIteration, _Unknown):
        return None


class _Unknown(Exception):
    """The file contains something that this loader does not support."""


@functools.cache
def _supported() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32


def _placed(code: bytes) -> dict[str, int]:
    magic, kind, machine, _, _, _, table, _, _, _, _, entry, count, _ = _HEADER.unpack_from(code)
    if (
        magic[:6] != b"\x7fELF\x02\x01"
        or kind != _RELOCATABLE
        or machine != _X86_64
        or entry != _SECTION.size
    ):
        raise _Unknown
    sections = [_SECTION.unpack_from(code, table + i * entry) for i in range(count)]
    names = next(
        code[s[4] : s[4] + s[5]] for s in (sections[s[6]] for s in sections if s[1] == _SYMBOLS)
    )

    # Assign an offset to each section that is needed at run time. The section with unwinding
    # information is recognized by its name, since it may have a type of its own.
    offsets, size = {}, 0
    for i, (name, kind, flags, _, _, length, _, _, alignment, _) in enumerate(sections):
        if not flags & _ALLOCATED or not length or _text(names, name) == ".eh_frame":
            continue
        # allowed flags: executable, mergeable constants, strings, large
        if kind != _PROGRAM or flags & ~(_ALLOCATED | 0x4 | 0x10 | 0x20 | 0x10000000):
            raise _Unknown
        offsets[i] = size = -(-size // max(alignment, 1)) * max(alignment, 1)
        size += length
    memory = mmap.mmap(
        -1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
    )
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for i, offset in offsets.items():
        start, length = sections[i][4:6]
        memory[offset : offset + length] = code[start : start + length]

    addresses, defined = [], {}
    (where, length) = next(s[4:6] for s in sections if s[1] == _SYMBOLS)
    for name, info, _, section, value, _ in _SYMBOL.iter_unpack(code[where : where + length]):
        if section in offsets:
            value += base + offsets[section]
            if info >> 4:  # global
                defined[_text(names, name)] = value
        elif section != _ABSOLUTE:
            # An undefined symbol is kept by name and resolved when it is needed. A symbol of a
            # skipped section gets an empty name, which resolves to nothing.
            value = _text(names, name) if section == 0 else ""
        addresses.append(value)

    for _, kind, _, _, start, length, _, of, _, _ in sections:
        if of not in offsets or kind != _ADDENDS:
            continue
        for place_, info, addend in _RELOCATION.iter_unpack(code[start : start + length]):
            value = addresses[info >> 32]
            if isinstance(value, str):
                value = addresses[info >> 32] = _address(value)
            if info & 0xFFFFFFFF == _RELATIVE_64:
                value -= base + offsets[of] + place_
            elif info & 0xFFFFFFFF != _ABSOLUTE_64:
                raise _Unknown
            struct.pack_into(
                "<Q", memory, offsets[of] + place_, (value + addend) & 0xFFFFFFFFFFFFFFFF
            )
    if _process().mprotect(
        ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC
    ):
        raise OSError("memory cannot be made executable")
    _alive.append(memory)
    return defined


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _address(name: str) -> int:
    known = symbols.get(name)
    if known is None:
        try:
            known = ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value
        except AttributeError:
            known = None
        if not known:
            raise _Unknown
        symbols[name] = known
    return known
