"""A fast search for the innermost frame of the user's own code.

CPython creates a frame object each time `f_back` is read, and three of them take as long as an
operation. Native code follows CPython's internal list of frames instead. Its layout differs between
versions, so it is compared with what `sys._getframe` returns before the code is used.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from . import jit
from .objects import module, works

__all__ = ["finder", "searcher", "walker"]

# By Python version: the offsets that lead from the thread state to the current frame; the offsets
# in a frame of its code and of the previous frame; and the file names of CPython's internal frames,
# which `sys._getframe` skips.
_LAYOUTS: dict[tuple[int, ...], tuple[tuple[int, ...], int, int, tuple[str, ...]]] = {
    (3, 11): ((56, 8), 32, 48, ()),
    (3, 12): ((56, 0), 0, 8, ("<shim>", "__init__")),
    (3, 13): ((72,), 0, 8, ("__init__",)),
}
_IN_OBJECT = 24  # offset in a frame object of the address of its frame
_INSTRUCTION = 56  # offset in a frame of the address of the current instruction

Walk = Callable[..., FrameType | None]


MANY = 512  # number of searches after which the native one is compiled, if native code is in use


def walker(
    known: dict[str, bool], asked: Callable[[str], bool], put: Callable[[Walk], Any]
) -> Walk:
    """Return a function that takes a number of frames to go up from its caller's frame, which is 1,
    and returns the first frame from there on whose file is not to be skipped; None if there is
    none.

    Args:
        known: maps file names to True if they are skipped, else to False.
        asked: decides about a file that is not in `known`, and adds it.
        put: receives the function to call from now on, once it is replaced by a native one.
    """

    def walked(depth: int = 1) -> FrameType | None:
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None:
            name = frame.f_code.co_filename
            passed = known.get(name)
            # `known` is read once, since another thread may add the name meanwhile
            if not (asked(name) if passed is None else passed):
                break
            frame = frame.f_back
        return frame

    def first(depth: int = 1) -> FrameType | None:
        if next(calls) >= MANY and jit.statistics["loaded"] + jit.statistics["compiled"] > 0:
            put(finder(walked, known) or walked)
        return walked(depth + 1)

    calls = itertools.count()
    return first


def finder(walk: Walk, known: dict[str, Any]) -> Walk | None:
    """Return a native version of the function `walk` of `walker`, or None if native code is not
    available. It calls `walk` when it meets a file that is not in `known`.
    """
    search = searcher(known)
    if search is None:
        return None
    objects = {**search.objects, "walk": walk, "getframe": sys._getframe}
    text = module("frames", _TEXT + search.text, objects)
    made = jit.compile_ir(text, {"user_frame": None}, "frames")
    if made is None:
        return None
    found = jit.method("user_frame", made["user_frame"])
    return found if found(1) is walk(1) else None


class Search(NamedTuple):
    """The function `@search` in LLVM IR, and the objects that it refers to.

    It takes the number of frames to skip, and the addresses to which it writes the code and the
    instruction offset of the frame that it finds. It returns how many frames that one is up from
    the innermost, or -1 if it finds none.
    """

    text: str
    objects: dict[str, Any]


def searcher(known: dict[str, Any]) -> Search | None:
    """Return the search for the first frame whose file `known` maps to False. It gives up at a file
    that is missing in `known`.

    Returns None if native code is not available, or if frames do not have the expected memory
    layout.
    """
    layout = _LAYOUTS.get(sys.version_info[:2])
    if layout is None or not works() or not _is_laid_out(*layout[:3]):
        return None
    places = [k for k in range(16, CodeType.__basicsize__, 8) if _names_file(k)]
    if len(places) != 1:
        return None
    known |= dict.fromkeys(layout[3])
    objects = {"known": known, "code": CodeType, "True": True, "False": False, "None": None}
    return Search(_search_text(*layout[:3], places[0]), objects)


def _word(address: int) -> int | None:
    return ctypes.c_void_p.from_address(address).value


def _is_laid_out(start: tuple[int, ...], code: int, before: int) -> bool:
    """Check that frames have the expected memory layout, by comparing the current frame with its
    frame object.
    """
    if ctypes.sizeof(ctypes.c_void_p) != 8 or hasattr(sys, "gettotalrefcount"):
        return False
    state = ctypes.pythonapi.PyThreadState_Get
    state.restype = ctypes.c_void_p
    place = state()
    for step in start:
        # not null here, since a running call has a frame
        place = ctypes.c_void_p.from_address(place + step).value
    frame = sys._getframe()
    outer = frame.f_back
    begun = (_word(place + _INSTRUCTION) or 0) - id(frame.f_code) - CodeType.__basicsize__
    return (
        outer is not None
        and 0 <= begun < len(frame.f_code.co_code)
        and place == _word(id(frame) + _IN_OBJECT)
        and _word(place + code) == id(frame.f_code)
        and _word(place + before) == _word(id(outer) + _IN_OBJECT)
    )


def _names_file(place: int) -> bool:
    """Return whether code objects hold their file name at this offset."""
    codes = finder.__code__, jit.method.__code__, ctypes.cast.__code__
    return all(_word(id(code) + place) == id(code.co_filename) for code in codes)


def _search_text(start: tuple[int, ...], code: int, before: int, file: int) -> str:
    steps, last = [], "%state"
    for k, step in enumerate(start):
        steps += [
            f"  %at{k} = getelementptr i8, ptr {last}, i64 {step}",
            f"  %step{k} = load ptr, ptr %at{k}",
        ]
        last = f"%step{k}"
    listed = "\n".join(steps)
    return f"""
define internal i64 @search(i64 %least, ptr %code.to, ptr %instruction.to) {{
begin:
  %state = call ptr @PyThreadState_Get()
{listed}
  br label %look
look:
  %frame = phi ptr [{last}, %begin], [%next, %passed]
  %depth = phi i64 [0, %begin], [%deeper, %passed]
  %none = icmp eq ptr %frame, null
  br i1 %none, label %lost, label %there
there:
  %before.at = getelementptr i8, ptr %frame, i64 {before}
  %next = load ptr, ptr %before.at
  %code.at = getelementptr i8, ptr %frame, i64 {code}
  %code = load ptr, ptr %code.at
  %kind.at = getelementptr i8, ptr %code, i64 8
  %kind = load ptr, ptr %kind.at
  %is.code = icmp eq ptr %kind, @object.code
  br i1 %is.code, label %ask, label %passed
ask:
  %file.at = getelementptr i8, ptr %code, i64 {file}
  %file = load ptr, ptr %file.at
  %known = call ptr @PyDict_GetItem(ptr @object.known, ptr %file)
  %own = icmp eq ptr %known, @object.None
  br i1 %own, label %passed, label %count
count:
  %more = add i64 %depth, 1
  %early = icmp slt i64 %depth, %least
  %passes = icmp eq ptr %known, @object.True
  %over = or i1 %early, %passes
  br i1 %over, label %passed, label %decide
passed:
  %deeper = phi i64 [%depth, %there], [%depth, %ask], [%more, %count]
  br label %look
decide:
  %users = icmp eq ptr %known, @object.False
  br i1 %users, label %found, label %lost
found:
  %instruction.at = getelementptr i8, ptr %frame, i64 {_INSTRUCTION}
  %instruction = load i64, ptr %instruction.at
  %begun = ptrtoint ptr %code to i64
  %head = add i64 %begun, {CodeType.__basicsize__}
  %place = sub i64 %instruction, %head
  store ptr %code, ptr %code.to
  store i64 %place, ptr %instruction.to
  ret i64 %depth
lost:
  ret i64 -1
}}
"""


# called with the METH_FASTCALL convention
_TEXT = """
define ptr @user_frame(ptr %self, ptr %args, i64 %count) {
entry:
  %number = alloca ptr
  %code = alloca ptr
  %instruction = alloca i64
  %one = icmp eq i64 %count, 1
  br i1 %one, label %read, label %begin
read:
  %given = load ptr, ptr %args
  %from = call i64 @PyLong_AsLongLong(ptr %given)
  %sound = icmp sgt i64 %from, 0
  br i1 %sound, label %begin, label %python
begin:
  %first = phi i64 [1, %entry], [%from, %read]
  %least = sub i64 %first, 1
  %depth = call i64 @search(i64 %least, ptr %code, ptr %instruction)
  %there = icmp sge i64 %depth, 0
  br i1 %there, label %found, label %python
found:
  %boxed = call ptr @PyLong_FromLongLong(i64 %depth)
  store ptr %boxed, ptr %number
  %made = call ptr @PyObject_Vectorcall(ptr @object.getframe, ptr %number, i64 1, ptr null)
  call void @Py_DecRef(ptr %boxed)
  ret ptr %made
python:
  %walked = call ptr @PyObject_Vectorcall(ptr @object.walk, ptr %args, i64 %count, ptr null)
  ret ptr %walked
}
"""
