"""Worker threads for native code: they wait inside native code and take chunks of a parallel loop.

A parallel loop is cut into chunks of `grain` iterations, whatever the number of threads, so results
depend neither on how many threads there are nor on which of them took a chunk. The caller takes
part, and never waits for a thread that has not started on a chunk. A loop inside another one, or
one that starts while another Python thread's loop runs, is run by its caller alone. Idle workers
spin for a fraction of a millisecond, then sleep (on a futex on Linux, on a Python condition
elsewhere).

Kernels have the signature `void kernel(ptr args, i64 begin, i64 end, i64 thread)`, where `thread`
counts from 0 and is below `get_num_threads()`. They are started by `parallel_for`, or from native
code through the pointer to the team, whose first field is the address of `void (ptr team, ptr
kernel, ptr args, i64 n, i64 grain)`.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable

from .. import config
from . import jit, target
from .emit import Function, Module, SSAValue

__all__ = [
    "cell_address",
    "expect",
    "get_num_threads",
    "parallel_export",
    "parallel_for",
    "set_num_threads",
    "team",
    "team_cell",
    "when_started",
]

LARGE = 1 << 18  # number of elements of a new array from which on the workers are started
SPIN = 5_000  # pauses before a worker sleeps, some tenths of a millisecond
# bytes of stack for a worker: kernels keep buffers there, and the default of some systems is small
STACK = 4 << 20
# Fields of the team as indices of 64-bit words; each group has cache lines of its own.
ENTRY, WAIT, WAKE, STOP, THREADS = 0, 1, 2, 3, 4
BUSY = 16  # 1 while a loop runs
OPEN = 32  # serial number of the running loop, or 0 if it takes no (more) workers
EPOCH = 48  # counts loops; sleeping workers wait for it to change
SLEEPERS = 64
KERNEL, ARGS, COUNT, GRAIN = 80, 81, 82, 83
NEXT = 96  # first iteration that no thread has taken yet
ACTIVE = 112  # workers that may be inside the running loop
WORDS = 128

_FUTEX = sys.platform.startswith("linux")
_threads: int | None = None
_team: _Team | None = None
_cell = ctypes.c_int64(0)  # the team's address, for native code that does not get it as an argument
_followed = False
_stopped: list[_Team] = []
_lock = threading.Lock()


def get_num_threads() -> int:
    """Return the number of threads that kernels use: `PELLUCID_NUM_THREADS`, else
    `OMP_NUM_THREADS`, else the number of usable processors.

    >>> get_num_threads() >= 1
    True
    """
    global _threads
    if _threads is None:
        _threads = config.num_threads
    return _threads


def set_num_threads(count: int) -> None:
    """Set the number of threads that kernels use, including the caller. Raises RuntimeError unless
    it is positive.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> team()
    0
    >>> set_num_threads(before)
    """
    global _threads
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if count != _threads:
        _shutdown()
        _threads = count
        if _followed:
            team()


def team() -> int:
    """Return the address that kernels take as their `team` argument, starting the workers if
    necessary; 0 (no team) if there is only one thread.
    """
    global _team
    if _team is None:
        if _threads == 1 or get_num_threads() == 1 or not target.available():
            return 0
        with _lock:
            if _team is None:
                _team = _Team(get_num_threads())
                _cell.value = _team.address
        for callback in _waiting:
            callback()
        _waiting.clear()
    return _team.address


def expect(elements: int) -> None:
    """Start the workers if a new array is large enough for them to share the work on it. NumPy
    loops, which do not get the team as an argument, can use it from then on.
    """
    if elements >= LARGE and _team is None and config.kernels:
        team()


_waiting: set[Callable[[], None]] = set()


def when_started(callback: Callable[[], None]) -> None:
    """Call `callback` once the workers have been started; at once if they have."""
    if _team is not None:
        callback()
    else:
        _waiting.add(callback)


def cell_address() -> int:
    """Return the address of a word that holds the team's current address, or 0, without starting
    the workers.
    """
    return ctypes.addressof(_cell)


def team_cell() -> int:
    """Start the workers, and return the address of a word that always holds the team's current
    address, or 0.
    """
    global _followed
    _followed = True
    team()
    return cell_address()


def parallel_for(kernel: int, args: int, n: int, grain: int) -> None:
    """Run the native `kernel(args, begin, end, thread)` over `0..n` in chunks of `grain`. `kernel`
    and `args` are addresses.

    With a single chunk, or a single thread, the kernel runs on the caller.
    """
    _functions()["start"](team(), kernel, args, n, grain)


def parallel_export(
    module: Module, name: str, params: dict[str, str], internal: bool = False
) -> Function:
    """Begin a kernel over a range and return the builder of its body, which has `begin`, `end` and
    `thread` besides `params`.

    The exported function `name(team, *params, n, grain)` packs its arguments; it runs the body on
    the caller if `team` is null or the range is a single chunk. Its signature letters are "p" +
    params + "ii". With `internal` it is visible in its module only.
    """
    own = {"team", "n", "grain", "args", "begin", "end", "thread"} & set(params)
    if own:
        raise ValueError(
            f"a kernel over a range has parameters of these names itself: {', '.join(sorted(own))}"
        )
    outer = module.function(
        name, internal=internal, **{"team": "ptr", **params, "n": "i64", "grain": "i64"}
    )
    block = outer.buffer("i64", max(1, len(params)), align=8)
    for i, param in enumerate(params):
        outer.store(getattr(outer, param), outer.at(block, i, "i64"))
    start_team(outer, outer.team, f"@{name}.range", block, outer.n, outer.grain)
    outer.ret()
    inner = module.function(
        f"{name}.range", internal=True, args="ptr", begin="i64", end="i64", thread="i64"
    )
    for i, (param, ctype) in enumerate(params.items()):
        setattr(inner, param, inner.load(ctype, inner.at(inner.args, i, "i64")))
    return inner


def start_team(
    f: Function, team_value: SSAValue, kernel: str, block: SSAValue, n: SSAValue, grain: SSAValue
) -> None:
    """Emit code that runs `kernel` (an IR operand) over 0..n: by the team if there is one and there
    is more than one chunk, else on the caller.
    """
    alone = f.emit(f"icmp eq ptr {team_value.name}, null", "i1") | n.compare("sle", grain)

    def here() -> None:
        with f.when(n.compare("sgt", 0)):
            f.line(f"call void {kernel}(ptr {block.name}, i64 0, i64 {n.name}, i64 0)")

    def together() -> None:
        entry = f.load("ptr", team_value)
        operands = (
            f"ptr {team_value.name}, ptr {kernel}, ptr {block.name}, i64 {n.name}, i64 {grain.name}"
        )
        f.line(f"call void {entry.name}({operands})")

    f.branch(alone, here, together)


# The native part. Memory order matters here: `OPEN` and `ACTIVE` are accessed in sequentially
# consistent order, so either the worker sees that the loop was closed, or the caller sees the
# worker and waits for it.


def _module_text() -> str:
    module = Module()
    _emit_run(module)
    _emit_worker(module)
    _emit_chunks(module)
    f = module.function("start", team="ptr", kernel="ptr", args="ptr", n="i64", grain="i64")
    start_team(f, f.team, "%kernel", f.args, f.n, f.grain)
    f.ret()
    module.function("nothing", args="ptr", begin="i64", end="i64", thread="i64").ret()
    if _FUTEX:
        number = {"x86": 202, "arm": 98}[target.host().arch]
        # FUTEX_WAIT_PRIVATE is 128 and returns at once if the word has changed; FUTEX_WAKE_PRIVATE
        # is 129.
        for name, operation, value in (("wait", 128, "%word"), ("wake", 129, "2147483647")):
            f = module.function(name, epoch="ptr", word="i32")
            call = f"i64 %epoch.i, i32 {operation}, i32 {value}, ptr null, ptr null, i32 0"
            f.line("%epoch.i = ptrtoint ptr %epoch to i64")
            f.line(f"call i64 (i64, ...) @syscall(i64 {number}, {call})")
            f.ret()
        module.declarations.add("declare i64 @syscall(i64, ...)")
    return module.text()


def _pause(f: Function) -> None:
    arch = target.host().arch
    if arch == "x86":
        f.module.declarations.add("declare void @llvm.x86.sse2.pause()")
        f.line("call void @llvm.x86.sse2.pause()")
    elif arch == "arm":
        f.module.declarations.add("declare void @llvm.aarch64.hint(i32)")
        f.line("call void @llvm.aarch64.hint(i32 1)")


def _word(f: Function, index: int) -> SSAValue:
    return f.at(f.team, index, "i64")


def _read(f: Function, index: int, order: str = "acquire") -> SSAValue:
    return f.emit(f"load atomic i64, ptr {_word(f, index).name} {order}, align 8", "i64")


def _write(f: Function, index: int, value: SSAValue | int, order: str = "release") -> None:
    value = f.as_value(value, "i64")
    f.line(f"store atomic i64 {value.name}, ptr {_word(f, index).name} {order}, align 8")


def _add(f: Function, index: int, value: SSAValue | int) -> SSAValue:
    value = f.as_value(value, "i64")
    return f.emit(f"atomicrmw add ptr {_word(f, index).name}, i64 {value.name} seq_cst", "i64")


def _emit_chunks(module: Module) -> None:
    """Emit the function that takes chunks of the running loop until none is left."""
    f = module.function("chunks", internal=True, team="ptr", thread="i64")
    kernel, args = f.load("ptr", _word(f, KERNEL)), f.load("ptr", _word(f, ARGS))
    n, grain = f.load("i64", _word(f, COUNT)), f.load("i64", _word(f, GRAIN))
    with f.loop_while() as go_on:
        begin = _add(f, NEXT, grain)
        go_on(begin.compare("slt", n))
        end = f.smaller(begin + grain, n)
        f.line(
            f"call void {kernel.name}(ptr {args.name}, i64 {begin.name}, i64 {end.name}, i64 {f.thread.name})"
        )
    f.ret()


def _emit_run(module: Module) -> None:
    """Emit the function that runs a loop with the team, or on the caller alone if the team is busy."""
    f = module.function("run", team="ptr", kernel="ptr", args="ptr", n="i64", grain="i64")
    pair = f.emit(
        f"cmpxchg ptr {_word(f, BUSY).name}, i64 0, i64 1 seq_cst monotonic", "{ i64, i1 }"
    )
    free = f.emit(f"extractvalue {pair.ctype} {pair.name}, 1", "i1")

    def together() -> None:
        for index, value in ((KERNEL, f.kernel), (ARGS, f.args), (COUNT, f.n), (GRAIN, f.grain)):
            f.store(value, _word(f, index))
        _write(f, NEXT, 0)
        serial = _add(f, EPOCH, 1) + 1
        _write(f, OPEN, serial, "seq_cst")
        with f.when(_read(f, SLEEPERS, "seq_cst").compare("sgt", 0)):
            wake = f.load("ptr", _word(f, WAKE))
            f.line(f"call void {wake.name}(ptr {_word(f, EPOCH).name}, i32 0)")
        f.call("chunks", f.team, f.const(0, "i64"))
        _write(f, OPEN, 0, "seq_cst")
        with f.loop_while() as go_on:
            go_on(_read(f, ACTIVE, "seq_cst").compare("sgt", 0))
            _pause(f)
        _write(f, BUSY, 0)

    def alone() -> None:
        f.line(f"call void {f.kernel.name}(ptr {f.args.name}, i64 0, i64 {f.n.name}, i64 0)")

    f.branch(free, together, alone)
    f.ret()


def _emit_worker(module: Module) -> None:
    """Emit the function that a worker thread runs until the team stops."""
    f = module.function("worker", team="ptr", thread="i64")
    last = f.var("i64", 0)
    idle = f.var("i64", 0)
    with f.loop_while() as go_on:
        go_on(_read(f, STOP).compare("eq", 0))
        # The epoch is read before `OPEN`. A loop that starts after the check below changes the
        # epoch, so the sleep returns at once.
        epoch = _read(f, EPOCH, "seq_cst")
        serial = _read(f, OPEN, "seq_cst")
        fresh = serial.compare("ne", 0) & serial.compare("ne", last.get())

        def work(serial=serial) -> None:
            _add(f, ACTIVE, 1)
            with f.when(_read(f, OPEN, "seq_cst").compare("eq", serial)):
                f.call("chunks", f.team, f.thread)
            _add(f, ACTIVE, -1)
            last.set(serial)
            idle.set(0)

        def rest(epoch=epoch) -> None:
            _pause(f)
            idle.set(idle.get() + 1)
            with f.when(idle.get().compare("sgt", SPIN)):
                _add(f, SLEEPERS, 1)
                wait = f.load("ptr", _word(f, WAIT))
                f.line(
                    f"call void {wait.name}(ptr {_word(f, EPOCH).name}, i32 {f.trunc(epoch, 'i32').name})"
                )
                _add(f, SLEEPERS, -1)
                idle.set(0)

        f.branch(fresh, work, rest)
    f.ret()


def _functions() -> dict:
    global _natives
    if _natives is None:
        exports = {"run": "pppii", "start": "pppii", "worker": "pi", "nothing": "piii"}
        if _FUTEX:
            exports.update(wait="pi", wake="pi")
        # The epoch is a 64-bit counter, and sleepers compare its low half (`target.host` refuses
        # big-endian machines).
        _natives = jit.compile_source(_module_text, exports, "threads")
        if _natives is None:
            raise RuntimeError("worker threads need a working compiler")
    return _natives


_natives: dict | None = None
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)


class _Team:
    """The worker threads of this process, and the memory that they share."""

    def __init__(self, count: int) -> None:
        natives = _functions()
        self._memory = (ctypes.c_int64 * (WORDS + 16))()
        # Groups of fields are 128 bytes apart, so that no two of them share a cache line or a
        # prefetched pair of lines.
        self.address = (ctypes.addressof(self._memory) + 127) & ~127
        self._words = (ctypes.c_int64 * WORDS).from_address(self.address)
        self._words[ENTRY] = jit.address(natives["run"])
        if "wait" in natives:
            self._words[WAIT], self._words[WAKE] = (
                jit.address(natives[name]) for name in ("wait", "wake")
            )
        else:
            self._condition = threading.Condition()
            self._callbacks = (_CALLBACK(self._sleep), _CALLBACK(self._awake))
            self._words[WAIT], self._words[WAKE] = (
                ctypes.cast(c, ctypes.c_void_p).value or 0 for c in self._callbacks
            )
        self._words[THREADS] = count
        self._workers = [
            threading.Thread(
                target=natives["worker"], args=(self.address, i), daemon=True, name=f"pellucid-{i}"
            )
            for i in range(1, count)
        ]
        before = threading.stack_size(STACK)
        for worker in self._workers:
            worker.start()
        threading.stack_size(before)

    def _sleep(self, _address: int, epoch: int) -> None:
        with self._condition:
            while ctypes.c_int32(self._words[EPOCH]).value == epoch:
                self._condition.wait()

    def _awake(self, _address: int, _unused: int) -> None:
        with self._condition:
            self._condition.notify_all()

    def stop(self) -> None:
        self._words[STOP] = 1
        # An empty loop changes the epoch, which wakes the sleepers.
        _functions()["run"](self.address, jit.address(_functions()["nothing"]), 0, 0, 1)
        for worker in self._workers:
            worker.join()


def _shutdown() -> None:
    global _team
    with _lock:
        if _team is not None:
            _cell.value = 0
            _team.stop()
            _stopped.append(_team)  # kept alive: native code may have read the address just before
            _team = None


def _after_fork() -> None:
    # The child has the team's memory but none of its threads. A new team is made when it is needed.
    global _team, _lock
    _team = None
    _cell.value = 0
    _lock = threading.Lock()


atexit.register(_shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
