"""Compile LLVM IR text to Python callables, with a disk cache of object code."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import warn
from . import alike, cache, loader, target

__all__ = [
    "NativeLibrary",
    "address",
    "compile_ir",
    "compile_source",
    "define",
    "define_of_python",
    "fastcall_works",
    "method",
    "statistics",
    "unwatched",
]

_CTYPES = {
    "a": ctypes.c_void_p,
    "n": ctypes.c_void_p,
    "o": ctypes.c_void_p,
    "p": ctypes.c_void_p,
    "i": ctypes.c_int64,
    "d": ctypes.c_double,
}
_LLTYPES = {"a": "ptr", "n": "ptr", "o": "ptr", "p": "ptr", "i": "i64", "d": "double"}
_PYAPI = (
    "PyLong_AsLongLong PyLong_FromLongLong PyLong_AsVoidPtr PyFloat_AsDouble PyFloat_FromDouble PyErr_Occurred "
    "PyErr_Clear PyEval_SaveThread PyEval_RestoreThread Py_IncRef Py_DecRef"
).split()
# an object's header is its reference count, then its type
_TYPE_OFFSET = ctypes.sizeof(ctypes.c_void_p)
# `data` follows the object header in NumPy's array struct
_DATA_OFFSET = 2 * ctypes.sizeof(ctypes.c_void_p)

# Functions that unpack arguments and call others. Generating their code without optimization takes
# LLVM half the time.
_DRIVER = re.compile(r'^define [^@\n]*@"?([\w.]+)"?\([^\n]*"driver"', re.MULTILINE)

_lock = threading.Lock()
_machines: list = []
_alive: list = loader.forever([])  # engines and method tables live as long as the process
_loaded: dict[str, dict[str, Any] | None] = {}
_addresses: dict[int, int] = {}
statistics = {"compiled": 0, "loaded": 0, "seconds": 0.0}


def compile_ir(
    ir_text: str, exports: Mapping[str, str | None], name: str = ""
) -> dict[str, Any] | None:
    """Compile the LLVM IR in `ir_text` and return its functions by name. If it cannot be compiled,
    warn once and return None.

    `exports` maps each function to its signature, with one letter per argument:

    - `a`: a NumPy array, whose data pointer is passed (a null pointer for None);
    - `n`: an array that serves as model for a new one in C order. The new array's data pointer is
      passed, and the call returns the new array;
    - `o`: an object, whose address is passed;
    - `p`: an address, as an int;
    - `i`: a 64-bit integer;
    - `d`: a double.

    `>i` or `>d` at the end is the type of the result; without it, the function is void. Arrays are
    not checked: their dtype and layout are the caller's responsibility. The GIL is released while
    the function runs. A function that only native code calls has the signature `None`, and its
    entry in the result is its address. `name` is used in messages.

    >>> ir = "define i64 @twice(i64 %x) {\\n %y = add i64 %x, %x\\n ret i64 %y\\n}"
    >>> compile_ir(ir, {"twice": "i>i"})["twice"](21) if target.available() else 42
    42
    """
    if not target.available():
        return None
    name = name or "+".join(exports)
    text = _with_entries(ir_text, exports)
    return _compiled(_key(text + repr(exports)), lambda: text, exports, name)


def compile_source(
    build: Callable[[], str], exports: Mapping[str, str | None], name: str, *files: str
) -> dict[str, Any] | None:
    """Like `compile_ir` for the text that `build()` returns, but call `build` only if the disk
    cache has no code for it.

    The text must depend on nothing but `ir.formula`, the files of `llvm` and `kernels`, the
    processor, `name` and the further `files`.
    """
    if not target.available():
        return None
    sources = _sources(*files)
    if sources is None:
        return compile_ir(build(), exports, name)
    parts = (
        sources,
        name,
        repr(sorted(exports.items())),
        target.host().arch,
        str(target.host().vector_bits),
        str(fastcall_works()),
    )
    return _compiled(_key("\0".join(parts)), lambda: _with_entries(build(), exports), exports, name)


@functools.cache
def _sources(*more: str) -> str | None:
    """Return a digest of the source files that generate code, and of the files `more`; None if they
    cannot be read.
    """
    own = _sources() if more else sys.version
    package = Path(__file__).parents[1]
    files = [Path(file) for file in more] or sorted(
        [
            *package.glob("llvm/*.py"),
            *package.glob("kernels/**/*.py"),
            package / "ir" / "formula.py",
        ]
    )
    if own is None or not files:
        return None
    digest = hashlib.sha256(own.encode())
    try:
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()


def _key(text: str) -> str:
    return hashlib.sha256("\0".join((text, target.host().key)).encode()).hexdigest()


def _with_entries(text: str, exports: Mapping[str, str | None]) -> str:
    """Return the module's text with entry points added that Python can call."""
    entries = "".join(
        alike.entry(fn, sig) if alike.is_alike(sig) else _python_entry(fn, sig)
        for fn, sig in exports.items()
        if sig is not None
    )
    if not fastcall_works() or not entries:
        return text
    text += entries
    text += "".join(f"declare {line}\n" for line in _PYAPI_DECLARATIONS)
    return text + "".join(f"@{name} = external global i8\n" for name in _OBJECTS) + _NO_ARRAY


def _compiled(
    key: str, text: Callable[[], str], exports: Mapping[str, str | None], name: str
) -> dict[str, Any] | None:
    """Return the functions for a key: compiled or loaded earlier, read from disk, or compiled now."""
    known = _loaded.get(key)
    if known is not None:
        return known
    with _lock, unwatched():
        if key not in _loaded:
            started = time.perf_counter()
            try:
                _loaded[key] = _load(key, text, exports, fastcall_works())
            except Exception as error:
                # Whatever the error is, the program can go on with NumPy.
                _loaded[key] = None
                _warn(name, text(), error)
            statistics["seconds"] += time.perf_counter() - started
        return _loaded[key]


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Disable a Python function given to `sys.setprofile` inside the block.

    A profile function that watches a step being traced makes code generation four times slower, and
    its calls are not what it is meant to see.
    """
    watcher = sys.getprofile()
    # nothing to disable: there is none, or it belongs to a profiler, which is meant to see
    # everything
    if not callable(watcher) or hasattr(watcher, "enable"):
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watcher)


class NativeLibrary:
    """Native functions as attributes, each compiled on first use; the attribute is None if that
    fails.

    `build(name)` returns the IR of the function `name` and of what it calls. With `together`, all
    functions are compiled from `build()` when the first one is used.

    >>> doubled = lambda name: f"define i64 @{name}(i64 %x) {{\\n %y = add i64 %x, %x\\n ret i64 %y\\n}}"
    >>> library = NativeLibrary("doubling", doubled, {"twice": "i>i", "double": "i>i"})
    >>> library.twice(4) if library.twice else 8
    8
    """

    def __init__(
        self, name: str, build: Callable[..., str], exports: dict[str, str], together: bool = False
    ) -> None:
        self._parts = name, build, exports, together

    def __getattr__(self, attribute: str) -> Any:
        name, build, exports, together = self._parts
        if attribute not in exports:
            raise AttributeError(attribute)
        if together:
            natives = compile_source(build, exports, name)
        else:
            exports = {attribute: exports[attribute]}
            natives = compile_source(lambda: build(attribute), exports, f"{name}.{attribute}")
        self.__dict__.update(natives or dict.fromkeys(exports))
        return self.__dict__[attribute]


def _after_fork() -> None:
    # Another thread of the parent may have held the lock; no thread of the child would release it.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def address(function: Callable) -> int:
    """Return the native address of a function that `compile_ir` returned, to pass to other native
    code.
    """
    return _addresses[id(function)]


def _load(
    key: str, text: Callable[[], str], exports: Mapping[str, str | None], fast: bool
) -> dict[str, Any]:
    _name_python()
    wanted = [
        *exports,
        *(fn + ".python" for fn, signature in exports.items() if fast and signature is not None),
    ]
    code = cache.load(key)
    found = None
    if code is not None:
        try:
            found = _placed(code, wanted)
            statistics["loaded"] += 1
        except RuntimeError:
            found = None
    if found is None:
        code = _object_code(text())
        found = _placed(code, wanted)
        statistics["compiled"] += 1
        cache.store(key, code)
    functions: dict[str, Any] = {}
    for fn, signature in exports.items():
        if signature is None:
            functions[fn] = found[fn]
            continue
        if alike.is_alike(signature) and not fast:
            functions[fn] = None
            continue
        function = (
            method(fn, found[fn + ".python"]) if fast else _through_ctypes(found[fn], signature)
        )
        _alive.append(function)
        _addresses[id(function)] = found[fn]
        functions[fn] = function
    return functions


def _object_code(ir: str) -> bytes:
    llvm, machine = target.llvm_binding(), _machine()
    module = llvm.parse_assembly(ir)
    module.verify()
    scalar = '"scalar"' in ir
    _optimize(llvm, machine, module, scalar)
    for name in _DRIVER.findall(ir):
        function = module.get_function(name)
        function.add_function_attribute("noinline")
        function.add_function_attribute("optnone")
    options = {
        name: value for name, value in _OPTIONS.items() if not (scalar and name == "disable-lsr")
    }
    for option, (ours, _) in options.items():
        llvm.set_option("pellucid", f"-{option}={ours}")
    try:
        return machine.emit_object(module)
    finally:  # restore the defaults: others in this process may use LLVM, too
        for option, (_, default) in options.items():
            llvm.set_option("pellucid", f"-{option}={default}")


# Options of LLVM during code generation, as (our value, default). Kernels are emitted in the order
# in which they should run (the scheduler would hoist loads until registers run out), and with the
# addresses that their loops should step (searching for others takes a fifth of the compile time).
_OPTIONS = {"enable-misched": ("false", "true"), "disable-lsr": ("true", "false")}


def _optimize(llvm: Any, machine: Any, module: Any, scalar: bool) -> None:
    """Run the LLVM passes that pay off.

    Promoting variables to registers is always needed. Kernels are already unrolled and vectorized
    where that pays, and common subexpressions are eliminated while they are emitted; instruction
    selection does the rest. More passes would take time and make no vector kernel faster. Loops
    over single elements are the exception: they consist mostly of address arithmetic, which two
    more passes improve.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    if scalar:
        passes.add_instruction_combine_pass()
        passes.add_new_gvn_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def _machine():
    if not _machines:
        llvm = target.llvm_binding()
        host = target.host()
        triple = llvm.Target.from_default_triple()
        _machines.append(
            triple.create_target_machine(cpu=host.cpu, features=host.features, opt=3, jit=True)
        )
        if sys.platform == "win32":
            # LLVM calls this function where stack frames are large; Python's executable does not
            # export it.
            llvm.add_symbol(
                "__chkstk", ctypes.cast(ctypes.CDLL("ntdll").__chkstk, ctypes.c_void_p).value
            )
    return _machines[0]


@functools.cache
def _name_python() -> None:
    """Register the CPython functions and objects that entry points refer to."""
    if fastcall_works():
        for symbol in _PYAPI:
            define_of_python(symbol)
        for name, value in _OBJECTS.items():
            define(name, id(value))
        define("pellucid_new_like", alike.new_like())


def define(symbol: str, where: int) -> None:
    """Register an address under a symbol name, for code that is loaded from now on. The name must
    be one of this library's own.
    """
    loader.symbols[symbol] = where


def define_of_python(symbol: str) -> None:
    """Register a function of CPython's C API, for code that is loaded from now on."""
    define(symbol, ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p).value or 0)


def _placed(code: bytes, wanted: list[str]) -> dict[str, int]:
    """Load object code and return the addresses of its functions. This is done without LLVM where
    our own loader supports it.
    """
    found = loader.place(code)
    if found is None:
        llvm, machine = target.llvm_binding(), _machine()
        for symbol, where in loader.symbols.items():
            llvm.add_symbol(symbol, where)
        empty = llvm.parse_assembly("")
        engine = llvm.create_mcjit_compiler(empty, machine)
        # MCJIT would compile the empty module, and running all passes on it takes four times as
        # long as loading the object file
        engine.remove_module(empty)
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _alive.append(engine)
        found = {fn: engine.get_function_address(fn) for fn in wanted}
    for fn in wanted:
        if not found.get(fn):
            raise RuntimeError(f"the object code lacks {fn}")
    return found


def _warn(name: str, text: str, error: Exception) -> None:
    handle, path = tempfile.mkstemp(prefix="pellucid-", suffix=".ll")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    lines = str(error).strip().splitlines() or [""]
    warn(
        f"kernel {name} could not be compiled and NumPy is used instead ({type(error).__name__}: {lines[0]}); "
        f"its LLVM IR was kept in {path}",
        RuntimeWarning,
    )


# Calling a native function from Python. ctypes takes about 0.4 us per call and 0.7 us to find an
# array's address. A function with CPython's own calling convention, generated next to the kernel,
# takes 0.1 us in all.

_PYAPI_DECLARATIONS = (
    "i64 @PyLong_AsLongLong(ptr)",
    "ptr @PyLong_FromLongLong(i64)",
    "ptr @PyLong_AsVoidPtr(ptr)",
    "double @PyFloat_AsDouble(ptr)",
    "ptr @PyFloat_FromDouble(double)",
    "ptr @PyErr_Occurred()",
    "void @PyErr_Clear()",
    "ptr @pellucid_new_like(ptr, i32, ptr, i32)",
    "ptr @PyEval_SaveThread()",
    "void @PyEval_RestoreThread(ptr)",
    "void @Py_IncRef(ptr)",
    "void @Py_DecRef(ptr)",
    "void @PyErr_SetString(ptr, ptr)",
)


# Python objects that entry points compare with or raise.
_OBJECTS = {
    "_Py_NoneStruct": None,
    "pellucid_ndarray": np.ndarray,
    "pellucid_TypeError": TypeError,
    **alike.OBJECTS,
}
_TEXT = "a native function takes NumPy arrays and None, and was given something else"
_NO_ARRAY = (
    f'@pellucid_no_array = private unnamed_addr constant [{len(_TEXT) + 1} x i8] c"{_TEXT}\\00"\n'
)


def _split(signature: str) -> tuple[str, str]:
    arguments, _, result = signature.partition(">")
    return arguments, result


def _python_entry(fn: str, signature: str) -> str:
    """Return the IR of a METH_FASTCALL function that unpacks its arguments and calls `fn`."""
    arguments, result = _split(signature)
    out = [f'\ndefine ptr @"{fn}.python"(ptr %self, ptr %args, i64 %count) "driver" {{', "entry:"]
    out += [
        f"  %enough = icmp eq i64 %count, {len(arguments)}",
        "  br i1 %enough, label %unpack, label %refuse",
    ]
    out.append("unpack:")
    arrays = [i for i, letter in enumerate(arguments) if letter in "an"]
    new = arguments.find("n")
    converters = {
        "i": "i64 @PyLong_AsLongLong",
        "p": "ptr @PyLong_AsVoidPtr",
        "d": "double @PyFloat_AsDouble",
    }
    for i, letter in enumerate(arguments):
        out += [
            f"  %slot{i} = getelementptr ptr, ptr %args, i64 {i}",
            f"  %object{i} = load ptr, ptr %slot{i}",
        ]
        if letter in "an":
            # None is compared by address and its `data` is never read: that would be whatever
            # follows it in memory.
            out += [
                f"  %none{i} = icmp eq ptr %object{i}, @_Py_NoneStruct",
                # Other objects are refused, since their memory would be read as if they were
                # arrays.
                f"  %kind{i} = getelementptr i8, ptr %object{i}, i64 {_TYPE_OFFSET}",
                f"  %type{i} = load ptr, ptr %kind{i}",
                f"  %array{i} = icmp eq ptr %type{i}, @pellucid_ndarray",
                f"  %sound{i} = or i1 {f'%none{i}' if letter == 'a' else 'false'}, %array{i}",
                f"  %field{i} = getelementptr i8, ptr %object{i}, i64 {_DATA_OFFSET}",
                f"  %where{i} = select i1 %none{i}, ptr %null, ptr %field{i}",
                f"  %v{i} = load ptr, ptr %where{i}",
            ]
        elif letter == "o":
            out.append(f"  %v{i} = select i1 true, ptr %object{i}, ptr null")
        else:
            out.append(f"  %v{i} = call {converters[letter]}(ptr %object{i})")
    out.insert(2, "  %null = alloca ptr\n  store ptr null, ptr %null")
    sound = "true"
    for i in arrays:
        out.append(f"  %all{i} = and i1 {sound}, %sound{i}")
        sound = f"%all{i}"
    out += [f"  br i1 {sound}, label %look, label %foreign", "look:"] if arrays else []
    passed = ", ".join(
        f"{_LLTYPES[letter]} {'%fresh' if i == new else f'%v{i}'}"
        for i, letter in enumerate(arguments)
    )
    kind = _LLTYPES[result] if result else "void"
    out += [
        "  %error = call ptr @PyErr_Occurred()",
        "  %fine = icmp eq ptr %error, null",
        f"  br i1 %fine, label %{'go' if new < 0 else 'make'}, label %refuse",
    ]
    if new >= 0:
        out += [
            "make:",
            f"  %made = call ptr @pellucid_new_like(ptr %object{new}, i32 0, ptr null, i32 0)",
            "  %there = icmp ne ptr %made, null",
            "  br i1 %there, label %go, label %refuse",
        ]
    out.append("go:")
    if new >= 0:
        out += [
            f"  %memory = getelementptr i8, ptr %made, i64 {_DATA_OFFSET}",
            "  %fresh = load ptr, ptr %memory",
        ]
    out += [
        "  %state = call ptr @PyEval_SaveThread()",
        f"  {'%r = ' if result else ''}call {kind} @{fn}({passed})",
        "  call void @PyEval_RestoreThread(ptr %state)",
    ]
    if result:
        out += [
            f"  %boxed = call ptr @{'PyLong_FromLongLong(i64' if result == 'i' else 'PyFloat_FromDouble(double'} %r)"
        ]
        out += ["  ret ptr %boxed"]
    elif new >= 0:
        out += ["  ret ptr %made"]
    else:
        out += ["  call void @Py_IncRef(ptr @_Py_NoneStruct)", "  ret ptr @_Py_NoneStruct"]
    # Returning NULL without an exception makes CPython raise SystemError, which is appropriate for
    # a wrong number of arguments here.
    if arrays:
        out += [
            "foreign:",
            "  call void @PyErr_SetString(ptr @pellucid_TypeError, ptr @pellucid_no_array)",
            "  br label %refuse",
        ]
    out += ["refuse:", "  ret ptr null", "}\n"]
    return "\n".join(out)


class _PyMethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("meth", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def method(fn: str, entry: int) -> Callable:
    """Return a Python function whose native code, with the METH_FASTCALL convention, is at the
    address `entry`.
    """
    table = _PyMethodDef(fn.encode(), entry, 0x0080, None)  # METH_FASTCALL
    _alive.append(table)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return make(ctypes.addressof(table), None, None)


def _through_ctypes(native: int, signature: str) -> Callable:
    arguments, result = _split(signature)
    kind = ctypes.CFUNCTYPE(
        _CTYPES[result] if result else None, *(_CTYPES[letter] for letter in arguments)
    )
    function = kind(native)
    if not set(arguments) & {"a", "o", "n"}:
        return function
    new = arguments.find("n")

    def call(*values):
        made = None if new < 0 else np.empty(values[new].shape, values[new].dtype)
        values = values if new < 0 else (*values[:new], made, *values[new + 1 :])
        result = function(
            *(
                _address(v) if letter in "an" else id(v) if letter == "o" else v
                for letter, v in zip(arguments, values, strict=True)
            )
        )
        return result if new < 0 else made

    return call


def _address(array: Any) -> int | None:
    if array is not None and type(array) is not np.ndarray:
        raise TypeError(_TEXT)
    return None if array is None else array.ctypes.data


@functools.cache
def fastcall_works() -> bool:
    """Return whether arrays have the memory layout that `_python_entry` relies on. That is checked,
    and requires CPython with the GIL.
    """
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    probe = np.arange(3.0)
    for array in (probe, probe[1:], np.zeros(())):
        if ctypes.c_void_p.from_address(id(array) + _DATA_OFFSET).value != array.ctypes.data:
            return False
    return True
