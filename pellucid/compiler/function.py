"""The object that `compile` returns. It keeps traced versions of a function, and runs eagerly if
there can be none.
"""

from __future__ import annotations

import copy
import functools
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from numpy import ndarray

from ..arrays.memory import give_back
from ..core import observe, source, tracing
from ..core.display.outdated import Outdated
from ..core.interpret import thread
from ..core.modes import local, state
from ..core.tensor import Tensor
from ..errors import warn_at
from ..llvm.lengths import Lengths
from ..nn.modules.module import Module
from .capture.graph_breaks import GraphBreaks
from .capture.guards import Guard
from .capture.objects import (
    CallWithObjects,
    TooMuch,
    call_now,
    leaves_copies,
    objects_in,
    opens,
    with_contents,
)
from .capture.side_effects import Growing, Replaced
from .capture.structure import flatten, masked, numbers_in
from .report import logs
from .run.admission import OTHER_TENSORS, signature, told
from .run.call import TraceOutcome
from .run.memory import Arena
from .run.tracing import trace_call
from .run.version import DECISION, OTHER_CALL, Declined, Version
from .trace.refusal import Refusal

LIMIT = 8  # the largest number of traced versions of a function
# the largest number of further versions that differ only in the sizes of their arguments
SIZES = 64
# if more versions than this many times `limit` were dropped, tracing costs more than it gains
DROPPED = 2
# calls that may change their own inputs (such as new optimizer state) before that is a refusal
ATTEMPTS = 3


AGAIN = 8  # a part that computed nothing is looked at again after so many calls
AROUND = "around a line that stays in Python"
OTHERS_USE_GRAPHS = (
    "runs eagerly, as a graph begins in it with which others do more than to call backward()"
)


# the limit if `compile` gets none
DEFAULTS = {"limit": LIMIT}
STANCE = ["default"]  # the stance set by `compiler.set_stance`


class CompileWarning(UserWarning):
    """Warns that a function given to `compile`, or a line of it, runs eagerly. The message names the line and the reason.

    >>> import pellucid as torch
    >>> issubclass(torch.compiler.CompileWarning, UserWarning)
    True
    """


class CompileError(RuntimeError):
    """Raised when a function given to `compile(fullgraph=True)` cannot be compiled as a single graph. The message names the line and the
    reason, such as "the step reads a tensor's value to decide something (train.py:12 if loss > 3:)".

    >>> import pellucid as torch
    >>> issubclass(torch.compiler.CompileError, RuntimeError)
    True
    """


class CompiledFunction:
    """The function that `compile` returns. It traces the first call with each kind of arguments, and runs the compiled program afterwards.

    >>> import pellucid as torch
    >>> @torch.compile
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(3))
    tensor([2., 2., 2.])
    """

    living: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()

    def __init__(
        self,
        function: Callable[..., Any],
        fullgraph: bool = False,
        limit: int = LIMIT,
        dynamic: bool | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self._torchdynamo_orig_callable = function
        self.function = function
        self.fullgraph = fullgraph
        self.limit = limit
        self.dynamic = dynamic  # whether calls of several sizes are expected (None: maybe)
        self._lengths = Lengths()
        self.versions: list[Version] = []
        self._of_classes: dict[Any, Any] = {}  # compiled methods of classes
        self.refused: dict[Any, str] = {}
        self.history: list[str] = []  # log of traces and their reasons
        self._attempts: dict[Any, int] = {}
        self._refusals: Counter[Any] = Counter()  # per kind of call
        # how often a value led to a decision that no version has
        self._decisions: dict[Any, int] = {}
        # positions of the numbers among the arguments that have changed
        self.changing: dict[Any, frozenset[int]] = {}
        self.drifting: dict[int, Tensor] = {}  # tensors whose memory has changed
        self.watched: dict[Any, Guard] = {}  # other places whose numbers have changed
        # kinds of calls that cannot be compiled with their numbers as inputs
        self._steady: set[Any] = set()
        self._earlier: Refusal | None = None  # the refusal with numbers as inputs
        self._warned = False
        self.silent = False  # do not warn
        self._dropped = 0  # number of versions dropped for others
        self._full = False  # no further call is traced
        self._met: set[Any] = set()  # kinds of calls with a new size that occurred once
        self._arena = Arena(Arena())  # shared by the versions for further sizes
        # lines at which graphs are used for more than calling `backward`; None: unknown lines
        self.graph_lines: set[int] | None = set()
        # the compiled parts, if the whole function was refused
        self.graph_breaks: GraphBreaks | None = None
        # the function for calls with objects that contain tensors
        self.opened: OpenedFunction | None = None
        self._opens = True  # whether it may be used
        self._kinds: set[type] = set()  # classes of such objects
        CompiledFunction.living.add(self)

    def forget(self) -> None:
        """Drop all traced versions and what was learned from calls."""
        self.versions.clear()
        self.refused.clear()
        self.history.clear()
        self._attempts.clear()
        self._decisions.clear()
        self._earlier = None
        self._refusals.clear()
        self.changing.clear()
        self._steady.clear()
        self.watched.clear()
        self.drifting.clear()
        self._warned = False
        self._dropped = 0
        self._full = False
        self._met.clear()
        self.graph_breaks = None
        self.opened, self._opens = None, True

    @property
    def name(self) -> str:
        """The name of a compiled function, or of the class of a compiled module."""
        bound = getattr(self.function, "__self__", None)
        if isinstance(bound, Module) and self.function.__name__ == "__call__":
            return type(bound).__qualname__
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"

    def __reduce__(self) -> Any:
        bound = getattr(self.function, "__self__", None)
        name = getattr(self, "__name__", "")
        if (
            bound is not None
            and getattr(bound, "__dict__", {}).get(f"_compiled_{self.function.__qualname__}")
            is self
        ):
            return getattr, (bound, name)  # a decorated method
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in getattr(self, "__qualname__", "?").split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__  # a decorated function
        return CompiledFunction, (self.function, self.fullgraph, self.limit, self.dynamic)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        """A deep copy compiles anew; traced versions stay with the original."""
        function = copy.deepcopy(self.function, memo)
        return CompiledFunction(function, self.fullgraph, self.limit, self.dynamic)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a decorator of a method: compiled per instance."""
        if instance is None or not hasattr(self.function, "__get__"):
            return self
        held: Any
        key: Any
        if isinstance(instance, type):
            held, key = self._of_classes, instance  # a classmethod
        else:
            held, key = (
                getattr(instance, "__dict__", None),
                f"_compiled_{self.function.__qualname__}",
            )
        if type(held) is not dict:
            # the object has no dictionary to store it in, so it is passed as an argument
            return types.MethodType(self, instance)
        made = held.get(key)
        # A copied object still refers to the original's compiled method.
        if (
            made is None
            or made.function.__self__ is not instance
            or made.function.__func__ is not self.function
        ):
            made = held[key] = CompiledFunction(
                self.function.__get__(instance, owner), self.fullgraph, self.limit, self.dynamic
            )
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Compiled code also serves calls under autocast, but not in inference mode, whose results
        # are a different kind of tensor.
        followed = local.blocks + (thread.stack.autocast is not None) if state.slow else 0
        quiet = state.slow <= followed and not local.inference and not observe.observers
        if quiet and STANCE[0] == "default" and self.versions:
            version = self.versions[0]
            given: Any = (args, kwargs) if kwargs else args
            if version.named if kwargs else version.fast:
                result = version.quick(given)
                if result is not OTHER_CALL:
                    return result
            elif not kwargs and not version.code.decides and version.admission.admits(args):
                result = version(list(args), version.admission.structure)
                if type(result) is not Declined:
                    return result
            following = version.following
            # for steps that alternate, or arguments that grow
            if following is not None and (following.named if kwargs else following.fast):
                result = following.quick(given)
                if result is not OTHER_CALL:
                    self._to_front(following)
                    return result
        if (
            observe.observers
            or local.function_modes
            or local.transforms
            or state.slow > followed
            or STANCE[0] == "force_eager"
        ):
            # Observers, transforms and an outer trace must see the individual operations.
            return self.function(*args, **kwargs)
        if (
            not self.versions
            and (self._full or self.graph_breaks is not None)
            and not self.fullgraph
        ):
            return self._python(*args, **kwargs)
        tensors: list[Tensor] = []
        structure = flatten((args, kwargs), tensors)
        if any(
            type(t)._interpreter is not None
            or type(t._array) is not ndarray
            or type(t._node) is Outdated
            for t in tensors
        ):
            # nested tensors and tensors without data have no ordinary array; using an outdated view
            # raises in the operation
            return self.function(*args, **kwargs)
        if (
            self._opens
            and (call := self._with_objects(structure, args, kwargs)) is not None
            and self.opened is not None
        ):
            return self.opened.serve(call)
        reason = diverged = None
        given = signature(tensors)
        for version in self._likely():
            if given != version.admission.signature[: version.admission.count]:
                reason = OTHER_TENSORS
                continue
            reason = version.admission.why_not(structure, tensors)
            if reason is None:
                result = version(tensors, structure)
                if type(result) is Declined:
                    if result.eager:
                        return self.function(*args, **kwargs)
                    if result.reason.startswith(DECISION):
                        diverged = result.reason
                    else:
                        reason = result.reason
                    continue
                self._to_front(version)
                return result
        reason = diverged or reason
        if self.versions and STANCE[0] == "eager_on_recompile":
            return self.function(*args, **kwargs)
        if self.versions and STANCE[0] == "fail_on_recompile":
            raise RuntimeError(
                f"Detected recompile when torch.compile stance is 'fail_on_recompile': {reason}"
            )
        return self._trace(args, kwargs, structure, tensors, reason)

    def _with_objects(self, structure: Any, args: Any, kwargs: Any) -> CallWithObjects | None:
        """The call as a call on the contents of its objects; None if it has no such objects."""
        found = {type(v) for v in objects_in(structure) if opens(v)}
        if not found:
            return None
        try:
            call = CallWithObjects(args, kwargs)
        except (TooMuch, RecursionError):
            return None
        if not call.tensors and self._kinds.isdisjoint(found):
            return None
        self._kinds |= found
        self.opened = self.opened or OpenedFunction(self)
        return None if self.opened.knows(call) else call

    def _likely(self) -> list[Version]:
        """The versions, beginning with those that will most likely serve the call."""
        following = self.versions[0].following if self.versions else None
        return (
            [*self.versions]
            if following is None
            else [self.versions[0], following, *self.versions[1:]]
        )

    def _to_front(self, version: Version) -> None:
        """Note that a version served a call, and after which version."""
        last = self.versions[0]
        if version is not last:
            last.following = version
            self.versions.remove(version)
            self.versions.insert(0, version)

    def _waits(self, kind: Any) -> bool:
        """Whether a call should run eagerly because only its sizes are new. When there are many
        sizes, a trace is worthwhile only for a size that occurs a second time.
        """
        skeleton, shapes = kind
        known = {v.admission.shapes for v in self.versions if v.admission.kind == skeleton}
        if shapes in known or len(known) < self.limit or len(known) < SIZES and kind in self._met:
            return False
        if len(self._met) < 16 * SIZES:
            self._met.add(kind)
        return True

    @property
    def _python(self) -> Callable[..., Any]:
        """What runs if no program serves: the function, or what is left around its compiled parts."""
        return self.function if self.graph_breaks is None else self.graph_breaks

    def _trace(
        self, args: Any, kwargs: Any, structure: Any, tensors: list[Tensor], reason: str | None
    ) -> Any:
        if reason is not None:
            others = [version.admission for version in self.versions]
            reason = told(reason, structure, tensors, others, self.function)
        skeleton = masked(structure, None)
        # a watched number would have another type
        if any(version.admission.asks_types for version in self.versions):
            self._steady.add(skeleton)
        steady = skeleton in self._steady
        self._find_changing(structure, skeleton)
        lift = self.changing.get(skeleton, frozenset())
        for admission in [version.admission for version in self.versions]:
            place = admission.culprit
            if not steady and place is not None and (place.of_a_number or place.of_tensors):
                self.watched[id(place.holder), place.key] = place
            if not steady:
                admission.culprit = None
            self.drifting.update((id(t), t) for t in admission.drifted)
            admission.drifted = []
        watched = (
            () if steady else tuple(g.renewed() for g in self.watched.values() if _variable(g))
        )
        shapes = tuple([(t._array.shape, t._array.dtype) for t in tensors])
        key, kind = (masked(structure, lift), shapes), (skeleton, shapes)
        if self._full or key in self.refused or kind in self.refused:
            if self.fullgraph and not self._full:
                raise CompileError(
                    f"{self.name} cannot be compiled: {self.refused.get(key) or self.refused[kind]}"
                )
            return self._python(*args, **kwargs)
        if self._waits(kind) or any(
            type(t) is not Tensor and not hasattr(type(t), "_is_plain") and not _plain(t)
            for t in tensors
        ):
            return self.function(*args, **kwargs)
        arena = self._arena if len(self.versions) >= self.limit else None
        lengths = self._lengths if self.dynamic is not False else None
        if lengths is not None:
            lengths.whole = all(v.admission.kind != skeleton for v in self.versions)
        traced = trace_call(
            self.function,
            args,
            kwargs,
            self.fullgraph,
            lift,
            watched,
            not steady,
            self.drifting,
            arena,
            lengths,
        )
        self._saw_graphs(traced.uses_graphs)
        undecided = False
        if traced.refusal is None and reason is not None and reason.startswith(DECISION):
            self._decisions[key] = self._decisions.get(key, 0) + 1
            undecided = self._decisions[key] > self.limit
            if undecided:
                traced.refusal = Refusal(
                    f"a value decides what the step does, in more than {self.limit} ways; the last: {reason}"
                )
                # none of them would serve many calls
                self.versions = [v for v in self.versions if v.admission.kind != skeleton]
        if traced.refusal is None and traced.version is not None:
            self._keep(traced.version, key, reason)
        elif not traced.quiet:
            self._refused(traced, key, kind, bool(lift or watched), undecided)
        return traced.result

    def _keep(self, version: Version, key: Any, reason: str | None) -> None:
        """Keep a version for calls like the traced one (`key`). If there are too many, drop the one
        used longest ago.
        """
        give_back()  # the traced call used eager memory; the compiled step has an arena
        self.history.append(f"traced, because {reason or 'it was the first call'}")
        logs.tell("recompiles", f"{self.name} was {self.history[-1]}")
        if self.versions:
            self.versions[0].following = version
        self.versions.insert(0, version)
        kinds = {(v.admission.kind, v.admission.shapes) for v in self.versions}
        if len(self.versions) - len(kinds) + len({kind for kind, _ in kinds}) > self.limit:
            gone = self.versions.pop()
            for other in self.versions:
                if other.following is gone:
                    other.following = None
            self.history.append(f"dropped the version used longest ago: more than {self.limit}")
            self._dropped += 1
            self._full = self._dropped >= DROPPED * self.limit
            if self._full:
                self._give_up(
                    key,
                    Refusal(
                        f"it was traced {self._dropped + self.limit} times, most recently because {reason}; "
                        f"calls unlike the last {self.limit} are not traced any more"
                    ),
                )

    def _refused(
        self, traced: TraceOutcome, key: Any, kind: Any, varied: bool, undecided: bool
    ) -> None:
        """After a refusal, try the next call another way, or give up. `kind` identifies the call
        without its numbers, `key` without those that were inputs. `varied` tells whether there were
        such inputs, `undecided` whether values decide in too many ways.
        """
        refusal = traced.refusal
        assert refusal is not None
        new = {(id(p.holder), p.key): p for p in traced.found}
        if (
            any(not (k in self.watched and _variable(self.watched[k])) for k in new)
            and len(self.history) < 8 * self.limit
        ):
            self.watched.update(new)
            self.history.append(
                f"traced again at the next call, with what it changes as inputs: {refusal}"
            )
            return
        if traced.transient:
            key = kind  # for all values of its numbers
            self._attempts[key] = self._attempts.get(key, 0) + 1
            if self._attempts[key] < ATTEMPTS:
                self.history.append(f"traced again at the next call: {refusal}")
                return
        if (
            varied
            and not traced.transient
            and not traced.sets_inputs
            and (self.fullgraph or not undecided)
        ):
            # It may work with fixed numbers.
            skeleton = kind[0]
            self.changing[skeleton] = frozenset()
            self._steady.add(skeleton)
            self._earlier = refusal
            self.history.append(
                f"traced again at the next call, with its numbers as they are: {refusal}"
            )
            return
        # Refuse it for all values of its numbers if these do not matter, and finally for all
        # shapes.
        self._refusals[kind] += 1
        self._full |= self._refusals.total() > DROPPED * self.limit
        self._give_up(
            kind if traced.sets_inputs or self._refusals[kind] >= ATTEMPTS else key, refusal, kind
        )

    def _find_changing(self, structure: Any, skeleton: Any) -> None:
        """Note the numbers that differ from a traced call's; they become inputs of the next
        version.
        """
        now = numbers_in(structure)
        for version in self.versions if skeleton not in self._steady else ():
            if version.admission.kind == skeleton:
                differ = {
                    k
                    for k, (a, b) in enumerate(zip(now, version.admission.numbers, strict=True))
                    if a != b
                }
                if all(isinstance(now[k], float) or abs(now[k]) < 1 << 62 for k in differ):
                    self.changing[skeleton] = self.changing.get(skeleton, frozenset()) | differ
                return

    def _give_up(self, key: Any, refusal: Refusal, kind: Any = None) -> None:
        self.refused[key] = str(refusal)
        if self.fullgraph:
            self.history.append(f"cannot be compiled: {refusal}")
            raise CompileError(f"{self.name} cannot be compiled: {refusal}")
        parted = self._part(refusal)
        if not parted and self._earlier is not None and self._part(self._earlier):
            parted, refusal = True, self._earlier
        if parted and kind is not None:
            self.refused[kind] = str(refusal)
        how = f"is compiled {AROUND}" if parted else "runs eagerly"
        self.history.append(f"{how}: {refusal}")
        self._tell(f"{self.name} {how}: {refusal}")

    def _saw_graphs(self, lines: set[int] | None) -> None:
        """Note the lines at which code uses graphs for more than calling `backward` (None: unknown
        lines). A compiled part's results belong to a single node, so no graph may begin in a part
        that does not contain those lines.
        """
        if lines is None:
            self.graph_lines = None
        elif self.graph_lines is not None:
            if lines <= self.graph_lines:
                return
            self.graph_lines |= lines
        for part in self.graph_breaks.parts if self.graph_breaks is not None else []:
            if isinstance(part, (PartOfFunction, CalledFunction)):
                part.begin_no_graph()

    def _part(self, refusal: Refusal) -> bool:
        """Let the refused statements run in Python, and compile the statements around them. Returns
        False if that is impossible.
        """
        if refusal.reason.endswith(tracing.UNKEPT):
            return False
        parts = self.graph_breaks or GraphBreaks(
            self.function,
            functools.partial(PartOfFunction, weakref.ref(self)),
            functools.partial(CalledFunction, weakref.ref(self)),
        )
        try:
            lines = parts.lines_of(refusal)
            if not lines or not parts.cut(lines, refusal.callees):
                return False
        except Exception as error:  # a bug in this module: the function runs eagerly, as before
            self.history.append(
                f"its text could not be parted ({type(error).__name__}: {error}), which is a fault: please report it"
            )
            return False
        self.graph_breaks = parts
        parts.sites.append(refusal.site)
        return True

    def _tell(self, text: str) -> None:
        """Warn once that the function, or a line of it, runs eagerly."""
        logs.tell("graph_breaks", text)
        if not self._warned and not self.silent:
            self._warned = True
            warn_user(text)

    def explain(self, measure: bool = True, passes: bool = False) -> Any:
        """How the versions traced so far were compiled, as an object with `.text` and `.html`. With
        `measure`, each kernel runs briefly on copies of what it changes. With `passes`, the program
        is shown after each pass of the compiler.
        """
        from .report.explanation import explain

        return explain(self, measure, passes)


class OpenedFunction(CompiledFunction):
    """Serves a function's calls with objects that contain tensors, as a function of their contents."""

    def __init__(self, whole: CompiledFunction) -> None:
        made = with_contents(whole.function)
        functools.update_wrapper(made, whole.function, updated=())
        super().__init__(made, limit=whole.limit, dynamic=whole.dynamic)
        self.whole = weakref.ref(whole)
        self.silent = True
        self._call: CallWithObjects | None = None
        self._others: set[int] = set()  # ids of objects that the code also reaches another way

    @property
    def name(self) -> str:
        """The name of the original function."""
        whole = self.whole()
        return super().name if whole is None else whole.name

    def knows(self, call: CallWithObjects) -> bool:
        """Whether the code also reaches an object of the call another way."""
        return not self._others.isdisjoint(call.index)

    def serve(self, call: CallWithObjects) -> Any:
        """The result of a call; its objects are updated."""
        before, self._call = self._call, call
        try:
            return call_now(call, self)
        finally:
            self._call = before

    def _keep(self, version: Version, key: Any, reason: str | None) -> None:
        call, admission = self._call, version.admission
        guards = [*admission.guards, *admission.watched, *admission.places]
        held = {id(o) for g in guards for o in (g.holder, g.expected)} | {
            id(o) for o in admission.kept
        }
        if call is None or call.escaped or not held.isdisjoint(call.index):
            self._stop(
                "an object among the arguments is kept by the step, or known to it otherwise"
            )
        elif any(leaves_copies(e.form) for e in version.effects.effects):
            self._stop("the step stores new objects, and has objects among its arguments")
        else:
            self._others |= held
            super()._keep(version, key, reason)

    def _stop(self, why: str) -> None:
        self.versions.clear()
        whole = self.whole()
        if whole is not None:
            whole._opens = False
            whole.history.append(f"objects among its arguments are looked at as they are: {why}")

    def _give_up(self, key: Any, refusal: Refusal, kind: Any = None) -> None:
        super()._give_up(key, refusal, kind)
        if not self.versions:
            self._stop(str(refusal))

    def _part(self, refusal: Refusal) -> bool:
        return False


class PartOfFunction(CompiledFunction):
    """A run of statements of a function that cannot be a single program."""

    def __init__(
        self,
        whole: weakref.ref[CompiledFunction],
        function: Callable[..., Any],
        first: int,
        last: int,
    ) -> None:
        settings = whole()
        super().__init__(
            function,
            limit=getattr(settings, "limit", LIMIT),
            dynamic=getattr(settings, "dynamic", None),
        )
        self.whole = whole
        self.lines = first, last
        self.silent = True
        self._skipped = 0
        # whether its program is empty: not all statements use tensors
        self.nothing = False

    @property
    def name(self) -> str:
        """The name of the function, and the lines."""
        first, last = self.lines
        return f"{super().name}, line{f's {first} to' if first != last else ''} {last}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.nothing:
            self._skipped += 1
            if self._skipped % AGAIN:
                return self.function(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _saw_graphs(self, lines: set[int] | None) -> None:
        whole = self.whole()
        if whole is not None:
            whole._saw_graphs(lines)

    def begin_no_graph(self) -> bool:
        """Drop versions in which a graph begins, if other code uses graphs for more than calling
        `backward`. Returns whether there were any.
        """
        whole = self.whole()
        lines = None if whole is None else whole.graph_lines
        if lines is not None and all(self.lines[0] <= line <= self.lines[1] for line in lines):
            return False
        if not any(v.code.halves for v in self.versions):
            return False
        self.versions.clear()
        self._full = True  # permanently: another trace would give the same result
        self.history.append(OTHERS_USE_GRAPHS)
        return True

    def _trace(self, *args: Any) -> Any:
        result = super()._trace(*args)
        if self.begin_no_graph():
            return result
        self.nothing = bool(self.versions) and not any(
            v.code.program.instructions for v in self.versions
        )
        return result

    def _part(self, refusal: Refusal) -> bool:
        """Split the whole function once more, after which this run serves no more calls. If the
        line is unknown, the run is executed eagerly.
        """
        whole = self.whole()
        if whole is None or whole.graph_breaks is None:
            return False
        parted = whole._part(refusal)
        whole.history.append(
            f"is compiled {AROUND}, too: {refusal}"
            if parted
            else f"{self.name} runs eagerly: {refusal}"
        )
        logs.tell("graph_breaks", f"{whole.name} {whole.history[-1]}")
        if not parted and all(
            run is self or run.refused and not run.versions for run in whole.graph_breaks.parts
        ):
            whole.graph_breaks = None
            whole.history.append("runs eagerly, as no part of it can be compiled")
        return parted


class CalledFunction(CompiledFunction):
    """A function or module that is called by a statement running in Python."""

    def __init__(self, whole: weakref.ref[CompiledFunction], function: Callable[..., Any]) -> None:
        settings = whole()
        super().__init__(
            function,
            limit=getattr(settings, "limit", LIMIT),
            dynamic=getattr(settings, "dynamic", None),
        )
        self.whole = whole
        self.silent = True

    def _saw_graphs(self, lines: set[int] | None) -> None:
        super()._saw_graphs(lines)
        whole = self.whole()
        if whole is not None and (lines is None or lines):
            whole._saw_graphs(None)

    def begin_no_graph(self) -> bool:
        """Drop versions in which a graph begins, if other code uses graphs for more than calling
        `backward`. Returns whether there were any.
        """
        whole = self.whole()
        if whole is None or whole.graph_lines is not None and not whole.graph_lines:
            return False
        if self.graph_lines is not None:
            super()._saw_graphs(None)
        if not any(v.code.halves for v in self.versions):
            return False
        self.versions.clear()
        self._full = True
        self.history.append(OTHERS_USE_GRAPHS)
        return True

    def _trace(self, *args: Any) -> Any:
        result = super()._trace(*args)
        self.begin_no_graph()
        return result


def warn_user(text: str) -> None:
    """Issue a `CompileWarning` at the user's own line, skipping installed packages."""
    warn_at(source.user_frame() or sys._getframe(), text, CompileWarning)


def _variable(place: Guard) -> bool:
    """Whether the value in a place may become an input."""
    return (
        isinstance(place, (Growing, Replaced))
        or place.of_a_number
        or place.of_tensors
        or place.now() is None
    )


def _plain(t: Tensor) -> bool:
    from ..core.tensor import Parameter

    return type(t) in (Tensor, Parameter)
