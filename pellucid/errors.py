"""The exceptions that Pellucid raises, and the one place where their text is made.

An exception has the class that PyTorch raises in the same situation, and `str(error)` is exactly
PyTorch's message, so scripts that catch, print or match it behave alike. Everything else is in a
note (PEP 678), which Python, pytest, IPython and Jupyter show below the message: what was expected
and found, where the tensors were created, and what to do.

Tools find the same facts on the exception (`error.facts.op`, `.operands`, `.source`, `.hint` ...).
"""

from __future__ import annotations

import functools
import math
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

WARNED: set[str] = set()  # texts of warnings that a process gives once
warn_always = False


# Called with the error that this process ends with, where that is not `sys.excepthook`'s business.
ending: list[Callable[[BaseException], None]] = []


_PACKAGE = os.path.dirname(__file__) + os.sep  # generated code has names in it, too


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program that led here."""
    warn_at(line_of_program(sys._getframe(1)), message, category)


def line_of_program(frame: FrameType) -> FrameType:
    """The first frame outside the library, from a frame outwards."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def warn_at(
    frame: FrameType, message: str | Warning, category: type[Warning], source: Any = None
) -> None:
    """Warn at the line that a frame runs."""
    space = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        space.get("__name__", "<string>"),
        space.setdefault("__warningregistry__", {}),
        None,
        source,
    )


def warn_once(text: str, category: type[Warning] = UserWarning, kind: str = "") -> None:
    """`warn`, once per process (for all texts of a `kind`), or each time after
    `set_warn_always(True)`.
    """
    if (kind or text) in WARNED and not warn_always:
        return
    WARNED.add(kind or text)
    warn(text, category)


def interruption(error: BaseException | None) -> BaseException | None:
    """What a handler of a signal raised, where that is what an error is or came from; None for all
    other errors.

    Such an error (of a time limit, say) says nothing about the code it came into.
    """
    # without the enumerations that `signal` makes of every number: this runs at each error that is
    # caught to try another way
    look = getattr(signal, "_signal", signal).getsignal
    codes = {_code_of(h) for n in _signals() if callable(h := look(n))} - {None}
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code in codes:
                return error
            trace = trace.tb_next
        error = error.__context__
    return None


@functools.cache
def _signals() -> tuple[int, ...]:
    return tuple(map(int, signal.valid_signals()))


def _code_of(handler: Any) -> CodeType | None:
    """The code of a handler: of a function, a method, or an object that can be called."""
    if isinstance(handler, functools.partial):
        handler = handler.func
    code = getattr(getattr(handler, "__func__", handler), "__code__", None)
    if code is None and callable(handler):
        code = getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def pass_on(error: BaseException) -> None:
    """Raise what a handler of a signal raised, before an error is taken for one of the code that it
    came into: to be tried again in another way, or to be explained.
    """
    found = interruption(error)
    if found is not None:
        raise found


def module_path() -> str | None:
    """The module whose forward is running, as 'net.3: Linear(in_features=...)', found from the
    frames; None outside of modules.
    """
    frame: FrameType | None = sys._getframe(1)
    chain: list[Any] = []
    while frame is not None:
        if frame.f_code.co_name == "forward":
            candidate = frame.f_locals.get("self")
            if isinstance(getattr(candidate, "_modules", None), dict) and (
                not chain or chain[-1] is not candidate
            ):
                chain.append(candidate)
        frame = frame.f_back
    if not chain:
        return None
    names = []
    for child, parent in zip(chain, chain[1:], strict=False):
        found = next((name for name, module in parent._modules.items() if module is child), None)
        names.append(found if found is not None else type(child).__name__)
    text = repr(chain[0]).splitlines()
    shown = text[0] if len(text) == 1 else text[0] + "...)"
    return f"{'.'.join(reversed(names))}: {shown}" if names else shown


def other_dtype(
    wanted: Any, given: Any, op: str, kind: str = "", part: str = "result"
) -> Exception:
    """The error for `out=` of a dtype that the result does not have; "found" is the kind of most
    functions of single elements. A text is that function's own; `part` is the result's name in it.
    """
    if " " in kind:
        text = kind.format(
            given=given.scalar_type_name,
            wanted=wanted.scalar_type_name,
            wants=wanted.c_name,
            got=given.c_name,
            wants_cpu=wanted.cpu_name,
            got_cpu=given.cpu_name,
            part=part,
            int32=wanted.c_name == "int",
        )
        own_class, _, rest = text.partition("TypeError: ")
        return DtypeError(text, op=op) if own_class or not rest else ArgumentTypeError(rest, op=op)
    if kind == "found":
        return DtypeError(
            f"Found dtype {given.scalar_type_name} but expected {wanted.scalar_type_name}", op=op
        )
    if kind == "like":
        return DtypeError(
            f"{op}: dtype of out: {given.scalar_type_name} should be same as input: "
            f"{wanted.scalar_type_name}",
            op=op,
        )
    if kind == "given":
        return DtypeError(
            f"the output given to {op} has dtype {given.scalar_type_name} but the operation's "
            f"result requires dtype {wanted.scalar_type_name}",
            op=op,
        )
    return DtypeError(
        f"Expected out tensor to have dtype {wanted.c_name}, but got {given.c_name} instead", op=op
    )


def returned_nothing(got: object) -> None:
    """Refuse what a hook gave back that is called after a gradient was added."""
    if got is not None:
        if hasattr(got, "grad_fn"):
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        raise TypeError(f"expected Variable, but hook returned '{type(got).__name__}'")


class Operand(NamedTuple):
    """One tensor that took part in a failed operation: its name in the call, and where it came
    from.
    """

    name: str
    shape: Sequence[int] | None = None
    dtype: object = None
    op: str | None = None
    source: object = None


class Noted(NamedTuple):
    """What is found out when an error is made, and used where whoever raised it says nothing: see
    `Facts.completed`.
    """

    op: str | None
    operands: list[Operand]
    dims: tuple[int, ...]
    notes: tuple[str, ...]
    hint: str | None
    # PyTorch's words, where the call tells more than the place where the mistake was noticed
    sentence: str | None = None
    cls: type = str  # the class of PyTorch's error, if it is another


# Finds the user's line when an error is made inside the library; `core.source` puts itself here.
locate: Callable[[], object] | None = None
# Finds the tensors of the call that failed and the likely repair; `api.messages.facts` puts itself
# here.
gather: Callable[[Any, str], Noted | None] | None = None


class Facts:
    """What is known about an error beside its sentence, as `error.facts`, for tools; `lines` is
    what people read.

    Attributes:
        kind: which of the kinds of this module the error is.
        op: name of the operation that failed.
        source: where it was called, usually `"file.py:12"`; anything with a readable `str`.
        operands: the tensors involved, shown with their shapes lined up from the right.
        dims: offending dimensions, counted from the right (-1 is the last); they are marked under
            the shapes.
        expected, found: what the operation wanted and what it got, in words.
        notes: further lines, shown as they are.
        hint: the likely fix.
        noted: what was found in the frames when the error was made.
    """

    op: str | None = None
    source: object = None
    operands: tuple[Operand, ...] = ()
    dims: tuple[int, ...] = ()
    expected: object = None
    found: object = None
    notes: tuple[str, ...] = ()
    hint: str | None = None
    noted: Noted | None = None

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def add(
        self,
        *,
        op: str | None = None,
        source: object = None,
        operands: Iterable[Operand] = (),
        dims: Iterable[int] = (),
        expected: object = None,
        found: object = None,
        notes: Iterable[str] = (),
        hint: str | None = None,
    ) -> None:
        """Fill in what is not known yet: a fact given earlier stays, notes are appended."""
        given = {"op": op, "source": source, "expected": expected, "found": found, "hint": hint}
        for name, value in (
            given | {"operands": tuple(operands) or None, "dims": tuple(dims) or None}
        ).items():
            if value is not None and name not in self.__dict__:
                setattr(self, name, value)
        notes = tuple(notes)
        if notes:
            self.notes = self.notes + notes

    def completed(self) -> Facts:
        """These facts, and what was noted when the error was made where nothing better was said
        since.
        """
        noted = self.noted
        if noted is None:
            return self
        whole = Facts(self.kind)
        whole.__dict__.update(self.__dict__, noted=None)
        placed = any(note.startswith("in module ") for note in self.notes)
        # The same tensors, with the names that the user's program has for them.
        if [o.shape for o in self.operands] == [o.shape for o in noted.operands] and self.operands:
            whole.operands = tuple(noted.operands)
        whole.add(
            op=noted.op,
            operands=noted.operands,
            dims=noted.dims,
            notes=() if placed else noted.notes,
        )
        whole.hint = noted.hint or self.hint
        return whole

    def lines(self) -> list[str]:
        """The lines that stand below the sentence."""
        facts = self.completed()
        lines = []
        where = " ".join(
            ([f"in {facts.op}"] if facts.op else [])
            + ([f"at {facts.source}"] if facts.source else [])
        )
        if where:
            lines.append(f"  {where}")
        if facts.expected is not None:
            lines.append(f"  expected  {facts.expected}")
        if facts.found is not None:
            lines.append(f"  found     {facts.found}")
        lines += aligned_operands(facts.operands, facts.dims)
        lines += [f"  {note}" for note in facts.notes]
        if facts.hint:
            lines.append(f"  hint: {facts.hint}")
        return lines

    def __getstate__(self) -> dict[str, Any]:
        # Sources may be code objects and dtypes may be anything: what travels to another process is
        # their text.
        state = dict(self.completed().__dict__)
        if "source" in state:
            state["source"] = str(state["source"])
        if "operands" in state:
            state["operands"] = tuple(_plain(operand) for operand in state["operands"])
        for name in ("expected", "found"):
            if name in state:
                state[name] = str(state[name])
        return state


def _plain(operand: Operand) -> Operand:
    dtype, source = operand.dtype, operand.source
    return operand._replace(
        shape=None if operand.shape is None else tuple(operand.shape),
        dtype=None if dtype is None else str(dtype),
        source=None if source is None else str(source),
    )


class Kind:
    """A kind of error. Called with PyTorch's sentence and facts, it makes an exception of the class
    that PyTorch raises.

    Args:
        name: the kind's own name, by which `explain` speaks of it.
        cls: the exception's class.
        shows_operands: are the tensors of the call that failed of interest?

    Example:
        >>> error = ShapeError(
        ...     "The size of tensor a (10) must match the size of tensor b (32) at non-singleton dimension 1",
        ...     op="sub", source="train.py:31", dims=(-1,),
        ...     operands=(Operand("a", (128, 10), op="linear", source="model.py:12"), Operand("b", (32,))),
        ...     hint="compare tensors of the same shape",
        ... )
        >>> type(error).__name__, str(error)
        ('RuntimeError', 'The size of tensor a (10) must match the size of tensor b (32) at non-singleton dimension 1')
        >>> print(error.__notes__[0])
          in sub at train.py:31
          a  [128, 10]  made by linear at model.py:12
          b       [32]
                   ^^
          hint: compare tensors of the same shape
    """

    def __init__(self, name: str, cls: type[Exception], shows_operands: bool = False) -> None:
        self.name, self.cls, self.shows_operands = name, cls, shows_operands

    def __call__(self, sentence: str = "", **facts: Any) -> Exception:
        known = Facts(self)
        known.add(**facts)
        if locate is not None and known.source is None:
            known.source = locate()
        if gather is not None and self.shows_operands:
            known.noted = gather(self, sentence)
        sentence = known.noted and known.noted.sentence or sentence
        cls = (
            known.noted.cls if known.noted and issubclass(known.noted.cls, Exception) else self.cls
        )
        error: Exception = cls(sentence) if sentence else cls()
        error.facts = known  # type: ignore[attr-defined]
        return _write(error, known)

    def __repr__(self) -> str:
        return f"<kind of error {self.name}: {self.cls.__name__}>"

    def __reduce__(self) -> str:
        return self.name


def _write(error: Exception, facts: Facts) -> Exception:
    """Have the error's first note say what its facts are."""
    lines = facts.lines()
    others = [note for note in getattr(error, "__notes__", ()) if not isinstance(note, _Note)]
    if lines or others:
        error.__notes__ = [_Note("\n".join(lines)), *others] if lines else others
    return error


class _Note(str):
    """The note made from an error's facts, which is written again when there are more."""

    __slots__ = ()


def add(error: Exception, **facts: Any) -> Exception:
    """Add facts to an error that `facts_of` knows: see `Facts.add`. Returns the error.

    The code that notices a mistake knows the fact; its caller knows the operation, the tensors and
    the line.
    """
    known = facts_of(error)
    assert known is not None
    known.add(**facts)
    return _write(error, known)


def hinted(error: Exception, hint: str) -> Exception:
    """An exception of a class of its own, with a hint below its message, as the kinds of this
    module show theirs.
    """
    error.add_note(f"  hint: {hint}")
    return error


CUDA_HINT = (
    "Pellucid computes on the CPU; write device = torch.device('cuda' if torch.cuda.is_available() else 'cpu') once, "
    "and .to(device) instead of .cuda()"
)


def no_cuda() -> Exception:
    """PyTorch's error of a build without CUDA, and what to write instead."""
    return hinted(AssertionError("Torch not compiled with CUDA enabled"), CUDA_HINT)


def no_pinned() -> Exception:
    """PyTorch's error of a build that has no accelerator to pin memory for."""
    return hinted(
        RuntimeError("Cannot access accelerator device when none is available."),
        "ordinary memory serves on the CPU: leave pin_memory() out, or pin only where an accelerator is there",
    )


def facts_of(error: BaseException) -> Facts | None:
    """The facts of an error that Pellucid raised; None for any other error."""
    known = getattr(error, "facts", None)
    return known if isinstance(known, Facts) else None


def explained(error: BaseException) -> bool:
    """True for an error of Pellucid's whose notes say what is wrong, so that nobody needs the frames
    inside the library.
    """
    notes = getattr(error, "__notes__", ())
    return facts_of(error) is not None or any(
        note.startswith(("  hint: ", "close names: ")) for note in notes
    )


def of_arguments(
    error: Exception, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception:
    """The error of a call of the public function at `path` in PyTorch's words, where PyTorch does not take the
    arguments; other errors as they are.

    An error of a user's object that the function called is its own.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(os.path.dirname(__file__)):
        return error
    plain = isinstance(error, TypeError) and facts_of(error) is None
    if not plain and (
        refuse is None
        or not isinstance(error, _NOT_OF_VALUES)
        or refuse(path, args, kwargs)[0] is None
    ):
        return error
    told = ArgumentTypeError(str(error))
    told.__suppress_context__ = True
    return told


def admit(calls: Any, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse a call of a public function whose arguments PyTorch does not take.

    Args:
        calls: the `Calls` of the function; a call that is taken is added.
        key: the call's, see `Calls`.

    Raises:
        TypeError: in PyTorch's words.
    """
    given = (*args, *kwargs.values())
    places = calls.known.get(key)
    if places and (key, *[type(given[k][0]) if given[k] else None for k in places]) in calls.known:
        return
    lists = tuple(k for k, value in enumerate(given) if type(value) in (list, tuple))
    firsts = [type(given[k][0]) if given[k] else None for k in lists]
    # a number of the tracer's, an object that handles functions itself
    plain = all(k.__module__ in _PLAIN_MODULES for k in (*map(type, given), *firsts) if k)
    by_class = True
    if plain and refuse is not None:
        text, by_class = refuse(calls.path, args, kwargs)
        if text is not None:
            raise ArgumentTypeError(text)
        if calls.first == -1 and leading is not None:
            calls.first = leading(calls.path)
    if by_class:
        # a list of tensors needs no look at what is in it: the function fails by itself
        calls.known[key] = tuple(
            k
            for k, first in zip(lists, firsts, strict=True)
            if first is None or first.__module__ != "pellucid.core.tensor"
        )
        calls.known[key, *firsts] = lists


_PLAIN_MODULES = (
    "builtins",
    "numpy",
    "numpy.dtypes",
    "pellucid",
    "torch",
    "pellucid.core.tensor",
    "pellucid.sparse._tensor",
)


# What functions raise for arguments of a wrong type, apart from what PyTorch would say.
_NOT_OF_VALUES = (TypeError, ValueError, AttributeError, NotImplementedError)
Given = tuple[tuple[Any, ...], dict[str, Any]]
# What PyTorch says of the arguments of a call of the function at a path, and whether their classes
# decide; `api.messages.facts` puts itself here, as below.
refuse: Callable[[str, tuple[Any, ...], dict[str, Any]], tuple[str | None, bool]] | None = None


class NeedsValuesError(TypeError, AttributeError):
    """Code that computes on values met an array that has none."""


# How many arguments by place of the function at a path are tensors, before any other.
leading: Callable[[str], int] | None = None
# Arguments as PyTorch's signatures read them.
fit: Callable[[str, tuple[Any, ...], dict[str, Any]], Given | None] | None = None
# Gives a function that is called often a short entry; `api.entries` puts itself here.
shorten: Callable[[Any, Any, Any], None] | None = None
# functions that do nothing before they pass their arguments on, and files of such
forwarding: set[CodeType | str] = set()


def forwards(function: Any) -> None:
    """Have errors pass a function that only hands its arguments on."""
    forwarding.add(function.__code__)


def out_of_memory(error: MemoryError) -> Exception:
    """PyTorch's error for memory that there is not, from NumPy's, which has the array's shape."""
    kind = getattr(error, "dtype", None)
    count = math.prod(getattr(error, "shape", ())) * (1 if kind is None else kind.itemsize)
    return OperationError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        f"{count} bytes. Error code 12 (Cannot allocate memory)"
    )


def retried(
    function: Callable[..., Any],
    calls: Any,
    error: Exception,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What a call gives that failed with `error`, made again with the arguments as PyTorch's
    signatures read them: under the function's own names, Python's numbers for NumPy's and for
    tensors. Where that is what was given, the error is raised in PyTorch's words.
    """
    again = None
    try:
        if isinstance(error, NeedsValuesError):
            raise error
        if isinstance(error, MemoryError):
            raise out_of_memory(error) from None
        if fit is not None and isinstance(error, _NOT_OF_VALUES):
            again = fit(calls.path, args, kwargs)
        if again is None:
            # in a call that is made often nobody looked at what comes before values
            admit(type(calls)(calls.path), (), args, kwargs)
            raise of_arguments(error, calls.path, args, kwargs)
    finally:
        del error  # its traceback has this frame: what the frames hold would live until collected
    return function(*again[0], **again[1])


def shortened(wrapper: Any, function: Any, calls: Any) -> int:
    """The function that `wrapper` is around is called often; returns after how many calls to say so
    again.
    """
    if shorten is not None:
        shorten(wrapper, function, calls)
    return 1 << 40


def full_text(error: BaseException) -> str:
    """The sentence and the notes below it."""
    return "\n".join([str(error), *map(str, getattr(error, "__notes__", ()))])


class _LinAlgError(RuntimeError):
    """A matrix has no factorization or inverse of the requested kind (`torch.linalg.LinAlgError`, a RuntimeError).

    >>> import pellucid as torch
    >>> try:
    ...     torch.linalg.inv(torch.ones(2, 2))
    ... except torch.linalg.LinAlgError:
    ...     print("no inverse, but the pseudo-inverse is", torch.linalg.pinv(torch.ones(2, 2)).tolist())
    no inverse, but the pseudo-inverse is [[0.2499999850988388, 0.2499999850988388], [0.2499999850988388, 0.2499999850988388]]
    """


LinAlgError = _LinAlgError  # its own name is PyTorch's


class UserError(RuntimeError):
    """What `torch.export` says of a program that it cannot record as asked."""

    __module__ = "torch._dynamo.exc"


class OutOfMemoryError(RuntimeError):
    """The memory of a device is exhausted. Nothing raises it here; it exists for `except` clauses.

    >>> import pellucid as torch
    >>> issubclass(torch.OutOfMemoryError, RuntimeError)
    True
    """


class AcceleratorError(RuntimeError):
    """A device failed. Nothing raises it here; it exists for `except` clauses.

    >>> import pellucid as torch
    >>> issubclass(torch.AcceleratorError, RuntimeError)
    True
    """


# Shapes do not fit the operation or each other.
ShapeError = Kind("ShapeError", RuntimeError, shows_operands=True)
# Shapes do not fit, where PyTorch raises ValueError: most losses, batch norm with one value per
# channel.
ShapeValueError = Kind("ShapeValueError", ValueError, shows_operands=True)
# The operation is not defined for these element types, or they may not be mixed.
DtypeError = Kind("DtypeError", RuntimeError, shows_operands=True)
# A device that does not exist, is not available, or is not where the other operands are.
DeviceError = Kind("DeviceError", RuntimeError)
# Backward is impossible: nothing requires a gradient, the graph is freed, a saved value was
# overwritten.
GraphError = Kind("GraphError", RuntimeError)
# An operation was refused for a reason other than shape, element type, device or graph.
OperationError = Kind("OperationError", RuntimeError, shows_operands=True)
# A dimension number is outside the tensor's dimensions.
DimensionError = Kind("DimensionError", IndexError, shows_operands=True)
# An index is outside its dimension, or there are more indices than dimensions.
IndexOutOfRangeError = Kind("IndexOutOfRangeError", IndexError, shows_operands=True)
# An argument has a type that the function does not take, or is missing.
ArgumentTypeError = Kind("ArgumentTypeError", TypeError, shows_operands=True)
# An argument has the right type and an impossible value.
ArgumentValueError = Kind("ArgumentValueError", ValueError, shows_operands=True)
# Something that PyTorch offers and Pellucid does not; the message names it.
UnsupportedError = Kind("UnsupportedError", NotImplementedError)
# An attribute does not exist, or may not be set.
MissingAttributeError = Kind("MissingAttributeError", AttributeError)
# A name is not in a mapping, such as a parameter that a checkpoint lacks.
MissingKeyError = Kind("MissingKeyError", KeyError)
# A shape or value is not what an assertion or a contract of `pellucid.debug` says.
ContractError = Kind("ContractError", AssertionError)
# A matrix has no factorization or inverse of the wanted kind.
SingularError = Kind("SingularError", LinAlgError, shows_operands=True)


def aligned_operands(operands: Sequence[Operand], dims: Iterable[int] = ()) -> list[str]:
    """One line for each operand with the shapes lined up from the right, then a line that marks
    `dims`.

    Example:
        >>> print("\\n".join(aligned_operands([Operand("input", (8, 3)), Operand("mask", (8,))], dims=[-1])))
          input  [8, 3]
          mask      [8]
                     ^
    """
    if not operands:
        return []
    cells = [None if o.shape is None else [str(size) for size in o.shape] for o in operands]
    depth = max((len(row) for row in cells if row is not None), default=0)
    # widths[k] is the width of column -(k+1): columns are counted from the right, as broadcasting
    # does.
    widths = [
        max(len(row[-1 - k]) for row in cells if row is not None and len(row) > k)
        for k in range(depth)
    ]
    total = sum(widths) + 2 * max(depth - 1, 0) + 2 if any(row is not None for row in cells) else 0
    name_width = max(len(o.name) for o in operands)
    dtype_width = max(len(_dtype_name(o.dtype)) for o in operands)

    lines = []
    for operand, row in zip(operands, cells, strict=True):
        shape = (
            ""
            if row is None
            else "[" + ", ".join(row[-k].rjust(widths[k - 1]) for k in range(len(row), 0, -1)) + "]"
        )
        parts = [operand.name.ljust(name_width)]
        if dtype_width:
            parts.append(_dtype_name(operand.dtype).ljust(dtype_width))
        parts.append(shape.rjust(total))
        if operand.op or operand.source:
            by = ([f"by {operand.op}"] if operand.op else []) + (
                [f"at {operand.source}"] if operand.source else []
            )
            parts.append(" ".join(["made", *by]))
        lines.append("  " + "  ".join(parts).rstrip())

    marked = {dim for dim in dims if -depth <= dim < 0}
    if marked:
        marks = "  ".join(
            ("^" if -k in marked else " ") * widths[k - 1] for k in range(depth, 0, -1)
        )
        left = 2 + name_width + 2 + (dtype_width + 2 if dtype_width else 0) + 1
        lines.append((" " * left + marks).rstrip())
    return lines


def _dtype_name(dtype: object) -> str:
    return "" if dtype is None else str(dtype).removeprefix("torch.")


# classes that PyTorch writes in C, where its errors say that they are
_IN_C = dict.fromkeys(("dtype", "device", "Size", "layout", "memory_format", "qscheme"), "torch.")
_IN_C |= {"finfo": "torch.", "iinfo": "torch.", "Generator": "torch._C."}
_IN_C |= {"TypedStorage": "torch.storage.", "UntypedStorage": "torch.storage."}
# classes of tensors that PyTorch has no class for
_AS_TENSORS = dict.fromkeys(("SparseTensor", "QuantizedTensor", "Batched"), "Tensor")
_IMMUTABLE = 1 << 8  # a flag of all classes that are written in C


def type_name(value: Any) -> str:
    """The name of a value's type as code in C shows it: a class written in C has its module first.

    Example:
        >>> import fractions
        >>> import numpy as np
        >>> type_name(np.float32(1)), type_name(fractions.Fraction(1)), type_name(1)
        ('numpy.float32', 'Fraction', 'int')
    """
    kind = type(value)
    name, module = kind.__name__, kind.__module__
    if kind.__flags__ & _IMMUTABLE:
        return name if module == "builtins" else f"{module}.{name}"
    if module.partition(".")[0] in _OWN:
        name = _AS_TENSORS.get(name, name)
        where = "torch.return_types." if "return_types" in module else _IN_C.get(name, "")
        return where + name
    return name


_OWN = (__name__.partition(".")[0], "torch")


def resized(had: Any, wanted: Any) -> str:
    """The warning of an output that gets another shape."""
    return (
        f"An output with one or more elements was resized since it had shape {list(had)}, which does not match the "
        f"required output shape {list(wanted)}. This behavior is deprecated, and in a future PyTorch release outputs will "
        "not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to "
        "zero elements with t.resize_(0)."
    )


def no_attribute(value: Any, name: str) -> Any:
    """The `__getattr__` of tensors of a kind that is a class here only: PyTorch's is Tensor."""
    raise AttributeError(f"'Tensor' object has no attribute '{name}'", name=name, obj=value)


def foreign(name: str, value: Any) -> Exception:
    """PyTorch's error for a method called on something else, `Tensor.item("text")`; to be raised."""
    return ArgumentTypeError(
        f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{type(value).__name__}' object"
    )
