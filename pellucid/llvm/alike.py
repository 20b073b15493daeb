"""Python entry points of native functions for small arrays of one dtype and shape, whose result is
a new array of that dtype and shape.

NumPy takes half a microsecond to parse the arguments of a call, and as long again for each Python
number among them. The entry points here only check that the arguments are what the function was
compiled for: arrays of one dtype, shape and memory order, and Python floats and integers. For
anything else they return None, and the caller computes the result another way.
"""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np

from .loader import pointer_of

__all__ = ["LARGEST", "OBJECTS", "entry", "is_alike", "new_like"]

# elements; the GIL is held during the call, so a call must take a few microseconds at most
LARGEST = 4096

# Python objects that native code compares arguments with, by their symbol names.
OBJECTS = {
    "pellucid_dtype_f": np.dtype(np.float32),
    "pellucid_dtype_d": np.dtype(np.float64),
    "pellucid_dtype_e": np.dtype(np.float16),
    "pellucid_dtype_E": np.dtype(ml_dtypes.bfloat16),
    "pellucid_dtype_b": np.dtype(np.bool_),
    "pellucid_float": float,
    "pellucid_int": int,
}

_WORD = ctypes.sizeof(ctypes.c_void_p)
# Offsets of the fields of NumPy's array struct (numpy/ndarraytypes.h), which follow the object
# header.
_TYPE, _DATA = _WORD, 2 * _WORD
_RANK, _SHAPE, _STEPS, _DTYPE, _FLAGS = (_DATA + k * _WORD for k in (1, 2, 3, 5, 6))
_IN_C_ORDER, _ALIGNED = 0x0001, 0x0100
_C, _KEEP = 0, 2  # NPY_ORDER values for the new array
_OPEN = {"l": "0xFFF0000000000000", "h": "0x7FF0000000000000"}  # the bounds that None stands for
# LLVM types in which numbers are passed
_REALS = {"f": "float", "d": "double", "e": "float", "E": "float"}


def is_alike(signature: str) -> bool:
    """Return whether `signature` is of the kind that `entry` handles.

    The letter before "=" is the dtype of arrays and result: f, d, e and E for float32, float64,
    float16 and bfloat16. After it follows one letter per argument: "a" is an array of that dtype,
    "b" an array of bools, "d" a number, "l" and "h" a lower and an upper bound, for which None
    means that there is none. For example, "f=abd" takes a float32 array, a bool array and a number.
    """
    return signature[1:2] == "="


def new_like() -> int:
    """Return the address of PyArray_NewLikeArray, entry 277 of NumPy's table of C API functions."""
    from numpy._core import _multiarray_umath as umath

    table = ctypes.cast(pointer_of(umath._ARRAY_API), ctypes.POINTER(ctypes.c_void_p))
    return table[277] or 0


def entry(fn: str, signature: str) -> str:
    """Return the IR of a METH_FASTCALL function that checks its arguments against `signature` and
    calls `fn` with their data pointers and numbers, the result's data pointer and the number of
    elements.
    """
    kind, arguments = signature[0], signature[2:]
    arrays = [k for k, letter in enumerate(arguments) if letter in "ab"]
    numbers = [k for k, letter in enumerate(arguments) if letter in "dlh"]
    out = [f'\ndefine ptr @"{fn}.python"(ptr %self, ptr %args, i64 %count) {{', "entry:"]
    out += [f"  %enough = icmp eq i64 %count, {len(arguments)}"]
    out += [f"  br i1 %enough, label %look{arrays[0]}, label %wrong"]

    def field(k: int, name: str, offset: int, ctype: str) -> list[str]:
        return [
            f"  %at.{name}{k} = getelementptr i8, ptr %object{k}, i64 {offset}",
            f"  %{name}{k} = load {ctype}, ptr %at.{name}{k}",
        ]

    def slot(k: int) -> list[str]:
        return [
            f"  %slot{k} = getelementptr ptr, ptr %args, i64 {k}",
            f"  %object{k} = load ptr, ptr %slot{k}",
            *field(k, "type", _TYPE, "ptr"),
        ]

    first = arrays[0]
    for k, following in zip(arrays, [*[f"look{k}" for k in arrays[1:]], "size"], strict=True):
        dtype = f"@pellucid_dtype_{'b' if arguments[k] == 'b' else kind}"
        out += [f"look{k}:", *slot(k), f"  %array{k} = icmp eq ptr %type{k}, @pellucid_ndarray"]
        out += [f"  br i1 %array{k}, label %array.{k}, label %aside", f"array.{k}:"]
        out += field(k, "dtype", _DTYPE, "ptr") + field(k, "flags", _FLAGS, "i32")
        out += field(k, "rank", _RANK, "i32") + field(k, "shape", _SHAPE, "ptr")
        out += field(k, "data", _DATA, "ptr") + field(k, "steps", _STEPS, "ptr")
        out += [
            f"  %own{k} = icmp eq ptr %dtype{k}, {dtype}",
            f"  %order{k} = and i32 %flags{k}, {_ALIGNED}",
            f"  %ordered{k} = icmp ne i32 %order{k}, 0",
            f"  %even{k} = icmp eq i32 %rank{k}, %rank{first}",
            f"  %fine{k} = and i1 %own{k}, %ordered{k}",
            f"  %fit{k} = and i1 %fine{k}, %even{k}",
            f"  br i1 %fit{k}, label %{following}, label %aside",
        ]
    flags = f"%flags{first}"
    out.append("size:")
    for k in arrays[1:]:
        out.append(f"  %together{k} = and i32 {flags}, %flags{k}")
        flags = f"%together{k}"
    out += [
        f"  %row = and i32 {flags}, {_IN_C_ORDER}",
        "  %plain = icmp ne i32 %row, 0",
        "  br label %axes",
        "axes:",
        "  %axis = phi i32 [0, %size], [%next, %length]",
        "  %n = phi i64 [1, %size], [%more, %length]",
        "  %beside = phi i1 [true, %size], [%lies, %length]",
        f"  %left = icmp slt i32 %axis, %rank{first}",
        "  br i1 %left, label %length, label %limit",
        "length:",
        "  %place = sext i32 %axis to i64",
    ]
    for k in arrays:
        out += [
            f"  %at{k} = getelementptr i64, ptr %shape{k}, i64 %place",
            f"  %long{k} = load i64, ptr %at{k}",
            f"  %by{k} = getelementptr i64, ptr %steps{k}, i64 %place",
            f"  %step{k} = load i64, ptr %by{k}",
        ]
    same, pace = "true", "%beside"
    for k in arrays[1:]:
        out += [
            f"  %alike{k} = icmp eq i64 %long{k}, %long{first}",
            f"  %all{k} = and i1 {same}, %alike{k}",
            f"  %pace{k} = icmp eq i64 %step{k}, %step{first}",
            f"  %paces{k} = and i1 {pace}, %pace{k}",
        ]
        same, pace = f"%all{k}", f"%paces{k}"
    out += [
        f"  %lies = select i1 true, i1 {pace}, i1 false",
        f"  %more = mul i64 %n, %long{first}",
        "  %next = add i32 %axis, 1",
        f"  br i1 {same}, label %axes, label %aside",
        "limit:",
        f"  %less = icmp sle i64 %n, {LARGEST}",
        "  %flat = or i1 %plain, %beside",
        "  %few = and i1 %less, %flat",
        f"  br i1 %few, label %{f'number{numbers[0]}' if numbers else 'make'}, label %aside",
    ]
    for k, following in zip(numbers, [*[f"number{k}" for k in numbers[1:]], "look"], strict=False):
        out += [
            f"number{k}:",
            *slot(k),
            f"  %float{k} = icmp eq ptr %type{k}, @pellucid_float",
            f"  %int{k} = icmp eq ptr %type{k}, @pellucid_int",
            f"  %known{k} = or i1 %float{k}, %int{k}",
            f"  br i1 %known{k}, label %read{k}, label %{'open' if arguments[k] in _OPEN else 'aside'}{k}",
        ]
        end = _OPEN.get(arguments[k])
        if end is None:
            out += [f"aside{k}:", "  br label %aside", f"read{k}:"]
            out.append(f"  %value{k} = call double @PyFloat_AsDouble(ptr %object{k})")
        else:  # a NaN bound goes to the fallback
            out += [
                f"open{k}:",
                f"  %none{k} = icmp eq ptr %object{k}, @_Py_NoneStruct",
                f"  br i1 %none{k}, label %bound{k}, label %aside",
                f"read{k}:",
                f"  %given{k} = call double @PyFloat_AsDouble(ptr %object{k})",
                f"  %nan{k} = fcmp uno double %given{k}, %given{k}",
                f"  br i1 %nan{k}, label %aside, label %bound{k}",
                f"bound{k}:",
                f"  %value{k} = phi double [{end}, %open{k}], [%given{k}, %read{k}]",
            ]
        # numbers that overflow float32 go to NumPy, which decides what to do
        if _REALS[kind] == "float":
            out.append(f"  %held{k} = fptrunc double %value{k} to float")
            for name, text in (("up", _OPEN["h"]), ("down", _OPEN["l"])):
                out += [
                    f"  %end.{name}{k} = fcmp oeq float %held{k}, {text}",
                    f"  %far.{name}{k} = fcmp une double %value{k}, {text}",
                    f"  %over.{name}{k} = and i1 %end.{name}{k}, %far.{name}{k}",
                ]
            out += [
                f"  %over{k} = or i1 %over.up{k}, %over.down{k}",
                f"  br i1 %over{k}, label %aside, label %{following}",
            ]
        else:
            out.append(f"  br label %{following}")
    if numbers:
        out += [
            "look:",
            "  %error = call ptr @PyErr_Occurred()",
            "  %none = icmp eq ptr %error, null",
            "  br i1 %none, label %make, label %forget",
            "forget:",
            "  call void @PyErr_Clear()",
            "  br label %aside",
        ]
    passed = "".join(
        f"ptr %data{k}, "
        if letter in "ab"
        else f"{_REALS[kind]} %{'held' if _REALS[kind] == 'float' else 'value'}{k}, "
        for k, letter in enumerate(arguments)
    )
    # the result is allocated like an "a" argument, not like a mask
    model = next(k for k in arrays if arguments[k] == "a")
    out += [
        "make:",
        f"  %order = select i1 %plain, i32 {_C}, i32 {_KEEP}",
        f"  %made = call ptr @pellucid_new_like(ptr %object{model}, i32 %order, ptr null, i32 0)",
        "  %there = icmp ne ptr %made, null",
        "  br i1 %there, label %lie, label %wrong",
        # A new array in C order has no gaps. One in the order of the model must have the model's
        # strides.
        "lie:",
        f"  %at.kept = getelementptr i8, ptr %made, i64 {_STEPS}",
        "  %kept = load ptr, ptr %at.kept",
        "  br i1 %plain, label %go, label %steps",
        "steps:",
        "  %turn = phi i32 [0, %lie], [%then, %step]",
        f"  %on = icmp slt i32 %turn, %rank{first}",
        "  br i1 %on, label %step, label %go",
        "step:",
        "  %where = sext i32 %turn to i64",
        "  %new = getelementptr i64, ptr %kept, i64 %where",
        f"  %old = getelementptr i64, ptr %steps{model}, i64 %where",
        "  %a = load i64, ptr %new",
        "  %b = load i64, ptr %old",
        "  %kin = icmp eq i64 %a, %b",
        "  %then = add i32 %turn, 1",
        "  br i1 %kin, label %steps, label %drop",
        "drop:",
        "  call void @Py_DecRef(ptr %made)",
        "  br label %aside",
        "go:",
        f"  %memory = getelementptr i8, ptr %made, i64 {_DATA}",
        "  %result = load ptr, ptr %memory",
        f"  call void @{fn}({passed}ptr %result, i64 %n)",
        "  ret ptr %made",
        "aside:",
        "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
        "  ret ptr @_Py_NoneStruct",
        "wrong:",
        "  ret ptr null",
        "}\n",
    ]
    return "\n".join(out)
