"""Arrays that end, or begin, at a page that nobody may touch.

Inside `memory()` every array that NumPy makes in this thread lies so: arguments, results and what
kernels work in. A read or write beyond the array kills the process, and the driver counts a crash.
On the other side of the array, and where alignment leaves bytes between the array and the page, lie
bytes that are looked at when the array is freed: `damaged()` counts the arrays around which
somebody wrote. Fresh memory holds a pattern that is NaN as a float and no position of anything as
an integer, so that results that were never written are seen, too.

The allocator is machine code that LLVM makes of the text below, because NumPy frees arrays at
moments when no Python code may run. It is installed with NumPy's own PyDataMem_SetHandler. Where
there is no LLVM, or no mmap, arrays lie where they always do.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PAGE = 4096
END, FRONT = 0, 1

# A block: a page with its sizes, a page without rights, the data's pages, a page without rights.
# `state` points to the side, the pattern and three counters: damaged, alive, made.
_IR = """
declare ptr @pellucid_test_mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @pellucid_test_munmap(ptr, i64)
declare i32 @pellucid_test_mprotect(ptr, i64, i32)

define internal void @fill(ptr %from, ptr %to, i8 %byte) {
entry:
  br label %head
head:
  %p = phi ptr [ %from, %entry ], [ %next, %body ]
  %more = icmp ult ptr %p, %to
  br i1 %more, label %body, label %done
body:
  store i8 %byte, ptr %p
  %next = getelementptr i8, ptr %p, i64 1
  br label %head
done:
  ret void
}

define internal i64 @differs(ptr %from, ptr %to, i8 %byte) {
entry:
  br label %head
head:
  %p = phi ptr [ %from, %entry ], [ %next, %same ]
  %more = icmp ult ptr %p, %to
  br i1 %more, label %body, label %fine
body:
  %v = load i8, ptr %p
  %equal = icmp eq i8 %v, %byte
  br i1 %equal, label %same, label %bad
same:
  %next = getelementptr i8, ptr %p, i64 1
  br label %head
fine:
  ret i64 0
bad:
  ret i64 1
}

define internal ptr @make(ptr %state, i64 %wanted, i8 %content) {
entry:
  %nothing = icmp eq i64 %wanted, 0
  %size = select i1 %nothing, i64 1, i64 %wanted
  %a = add i64 %size, 4095
  %room = and i64 %a, -4096
  %total = add i64 %room, 12288
  %block = call ptr @pellucid_test_mmap(ptr null, i64 %total, i32 3, i32 34, i32 -1, i64 0)
  %number = ptrtoint ptr %block to i64
  %failed = icmp eq i64 %number, -1
  br i1 %failed, label %refuse, label %go
refuse:
  ret ptr null
go:
  %before = getelementptr i8, ptr %block, i64 4096
  %first = getelementptr i8, ptr %block, i64 8192
  %after = getelementptr i8, ptr %first, i64 %room
  call i32 @pellucid_test_mprotect(ptr %before, i64 4096, i32 0)
  call i32 @pellucid_test_mprotect(ptr %after, i64 4096, i32 0)
  %side = load i64, ptr %state
  %pattern.at = getelementptr i64, ptr %state, i64 1
  %pattern = load i8, ptr %pattern.at
  ; the largest power of two that divides the size, at most 64, is how the end may be aligned without a gap
  %negative = sub i64 0, %size
  %low = and i64 %size, %negative
  %large = icmp ugt i64 %low, 64
  %align = select i1 %large, i64 64, i64 %low
  %free = sub i64 %room, %size
  %mask = sub i64 0, %align
  %shift.end = and i64 %free, %mask
  %front = icmp eq i64 %side, 1
  %shift = select i1 %front, i64 0, i64 %shift.end
  %place = getelementptr i8, ptr %first, i64 %shift
  %stop = getelementptr i8, ptr %place, i64 %size
  store i64 %size, ptr %block
  %h1 = getelementptr i64, ptr %block, i64 1
  store i64 %total, ptr %h1
  %h2 = getelementptr i64, ptr %block, i64 2
  store i8 %pattern, ptr %h2
  call void @fill(ptr %first, ptr %place, i8 %pattern)
  call void @fill(ptr %stop, ptr %after, i8 %pattern)
  %zero = icmp eq i8 %content, 0
  br i1 %zero, label %done, label %mark
mark:
  call void @fill(ptr %place, ptr %stop, i8 %pattern)
  br label %done
done:
  %alive.at = getelementptr i64, ptr %state, i64 3
  %alive = load i64, ptr %alive.at
  %alive.more = add i64 %alive, 1
  store i64 %alive.more, ptr %alive.at
  %made.at = getelementptr i64, ptr %state, i64 4
  %made = load i64, ptr %made.at
  %made.more = add i64 %made, 1
  store i64 %made.more, ptr %made.at
  ret ptr %place
}

define ptr @guarded_malloc(ptr %state, i64 %size) {
  %p = call ptr @make(ptr %state, i64 %size, i8 1)
  ret ptr %p
}

define ptr @guarded_calloc(ptr %state, i64 %count, i64 %each) {
  %size = mul i64 %count, %each
  %p = call ptr @make(ptr %state, i64 %size, i8 0)
  ret ptr %p
}

define void @guarded_free(ptr %state, ptr %place, i64 %said) {
entry:
  %null = icmp eq ptr %place, null
  br i1 %null, label %nothing, label %go
nothing:
  ret void
go:
  %number = ptrtoint ptr %place to i64
  %page = and i64 %number, -4096
  %block.number = sub i64 %page, 8192
  %block = inttoptr i64 %block.number to ptr
  %first = inttoptr i64 %page to ptr
  %size = load i64, ptr %block
  %h1 = getelementptr i64, ptr %block, i64 1
  %total = load i64, ptr %h1
  %h2 = getelementptr i64, ptr %block, i64 2
  %pattern = load i8, ptr %h2
  %stop = getelementptr i8, ptr %place, i64 %size
  %room = sub i64 %total, 12288
  %after = getelementptr i8, ptr %first, i64 %room
  %bad1 = call i64 @differs(ptr %first, ptr %place, i8 %pattern)
  %bad2 = call i64 @differs(ptr %stop, ptr %after, i8 %pattern)
  %bad = or i64 %bad1, %bad2
  %damaged.at = getelementptr i64, ptr %state, i64 2
  %damaged = load i64, ptr %damaged.at
  %damaged.more = add i64 %damaged, %bad
  store i64 %damaged.more, ptr %damaged.at
  %alive.at = getelementptr i64, ptr %state, i64 3
  %alive = load i64, ptr %alive.at
  %alive.less = sub i64 %alive, 1
  store i64 %alive.less, ptr %alive.at
  call i32 @pellucid_test_munmap(ptr %block, i64 %total)
  ret void
}

define ptr @guarded_realloc(ptr %state, ptr %old, i64 %size) {
entry:
  %p = call ptr @make(ptr %state, i64 %size, i8 1)
  %null = icmp eq ptr %old, null
  %failed = icmp eq ptr %p, null
  %nothing = or i1 %null, %failed
  br i1 %nothing, label %done, label %copy
copy:
  %number = ptrtoint ptr %old to i64
  %page = and i64 %number, -4096
  %block.number = sub i64 %page, 8192
  %block = inttoptr i64 %block.number to ptr
  %had = load i64, ptr %block
  %less = icmp ult i64 %had, %size
  %n = select i1 %less, i64 %had, i64 %size
  br label %head
head:
  %i = phi i64 [ 0, %copy ], [ %next, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %release
body:
  %from = getelementptr i8, ptr %old, i64 %i
  %to = getelementptr i8, ptr %p, i64 %i
  %v = load i8, ptr %from
  store i8 %v, ptr %to
  %next = add i64 %i, 1
  br label %head
release:
  call void @guarded_free(ptr %state, ptr %old, i64 %had)
  br label %done
done:
  ret ptr %p
}
"""
_NAMES = ("guarded_malloc", "guarded_calloc", "guarded_realloc", "guarded_free")


class _Allocator(ctypes.Structure):
    _fields_ = [("ctx", ctypes.c_void_p)] + [
        (name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")
    ]


class _Handler(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("allocator", _Allocator),
    ]


_state = (ctypes.c_int64 * 5)(END, 0xFF, 0, 0, 0)


def _entry(index: int, result: Any, *arguments: Any) -> Any:
    """A function of NumPy's C interface, by its place in the table."""
    import numpy

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(numpy._core._multiarray_umath._ARRAY_API, None)
    return ctypes.PYFUNCTYPE(result, *arguments)(
        ctypes.c_void_p.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value
    )


@functools.cache
def _handler() -> Any:
    """The capsule that NumPy takes for an allocator, or None where it cannot be made."""
    if not sys.platform.startswith("linux"):
        return None
    from pellucid.llvm import jit

    libc = ctypes.CDLL(None)
    for name in ("mmap", "munmap", "mprotect"):
        jit.define(
            f"pellucid_test_{name}", ctypes.cast(getattr(libc, name), ctypes.c_void_p).value or 0
        )
    made = jit.compile_ir(_IR, dict.fromkeys(_NAMES), "guarded memory")
    if made is None:
        return None
    allocator = _Allocator(ctypes.addressof(_state), *(made[name] for name in _NAMES))
    handler = _Handler(b"guarded", 1, allocator)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    for kept in (handler, _state):  # arrays are freed after this module is gone
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return new(ctypes.addressof(handler), b"mem_handler", None)


@contextmanager
def memory(side: int = END, pattern: int = 0xFF) -> Iterator[bool]:
    """Inside the block new arrays lie at a page that nobody may touch; gives whether that is so."""
    handler = _handler()
    if handler is None:
        yield False
        return
    set_handler = _entry(304, ctypes.py_object, ctypes.py_object)
    _state[0], _state[1] = side, pattern
    before = set_handler(handler)
    try:
        yield True
    finally:
        set_handler(before)


def damaged() -> int:
    """Around how many arrays somebody wrote, of those freed since this was asked last."""
    count = _state[2]
    _state[2] = 0
    return count


def alive() -> int:
    """How many guarded arrays there are."""
    return _state[3]
