"""When a version may serve a call: what it depends on, and two ways to compare that with a call.

`check` is one generated function that decides nearly all calls. `why_not` compares everything and
names the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from ...api.settings import SETTINGS
from ...arrays.numpy_cpu import address
from ...core.interpret import thread
from ...core.modes import local
from ...core.tensor import Tensor, version_of
from ...dtypes import get_default_dtype
from ..capture.guards import Guard, hooks_in
from ..capture.structure import fields_of, flatten, masked, numbers_in
from ..trace.arrays import memory_of, owner
from .sharing import Sharing

OTHER_ARGUMENTS = "an argument has another value or structure"
OTHER_TENSORS = "a tensor argument has another shape, dtype, layout or requires_grad"


def the_tensor(who: int | Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """The tensor that `who` denotes: an argument by its position, or a tensor of the state."""
    return tensors[who] if isinstance(who, int) else who


def gradient_of(who: int | Tensor, tensors: Sequence[Tensor]) -> Any:
    """The array of a tensor's gradient, which must exist (`Admission.grads` checks this)."""
    gradient = the_tensor(who, tensors)._grad
    assert gradient is not None
    return gradient._array


@dataclass(slots=True, eq=False)
class Admission:
    """Everything that a version depends on. Tensors are numbered with the arguments first, then
    those at `places`. A "who" is a position among the arguments, or a tensor.
    """

    # ---- the arguments
    kind: Any  # description of the arguments without any numbers
    numbers: list[Any]  # the numbers in it
    # description without the numbers at `lift`, which may differ at each call
    structure: Any
    lift: frozenset[int]
    signature: tuple[Any, ...]  # of the tensor arguments
    count: int  # number of tensors among the arguments
    marks: frozenset[str]  # attributes that no argument may have
    # arguments that are also reachable another way, so they must be these tensors
    pinned: list[tuple[int, Tensor]]
    # arguments that share memory with a tensor that is also reachable another way
    alike: list[tuple[int, Tensor, Any]]
    sharing: Sharing  # which arguments share memory
    overwritten: list[int]  # arguments that are written to
    # ---- besides the arguments
    flags: tuple[Any, ...]  # modes
    guards: list[Guard]
    seldom: list[Guard]  # those that only need checking after a change of a module, hook or setting
    always: list[Guard]  # the others
    asks_types: bool  # whether the code uses `type`
    watched: list[Guard]  # places of numbers that may differ at each call
    count_of_numbers: int  # number of numbers that the program takes, from arguments and places
    places: list[Guard]  # places of tensors that may differ at each call
    places_key: Any  # description of their contents
    state: list[tuple[Tensor, ndarray]]  # tensors that must have this memory
    # tensors whose memory may differ at each call, but has this form
    drift: list[tuple[Tensor, tuple[Any, ...]]]
    drift_overwritten: list[Tensor]  # those of them that are written to
    # tensors of which the step only uses dtype, shape and strides
    forms: list[tuple[Tensor, tuple[Any, ...]]]
    requires_grad: list[tuple[Tensor, bool]]
    # who -> the expected form of its gradient, or None if it must have none
    grads: list[tuple[Any, Tensor | None]]
    grads_overwritten: list[Any]  # those whose gradients are written to
    kept: list[Any]  # objects kept alive because guards compare their ids
    own_roots: set[int]  # ids of the state's memory, in which no argument may lie
    # ---- how that is compared
    # maps the tensors to their arrays; returns None for a call that is not served
    check: Callable[[tuple[Any, ...]], Any] | None = None
    # extracts tensors and numbers from the positional arguments, or from these and the named ones
    unpack: Callable[[tuple[Any, ...]], Any] | None = None
    named: bool = False  # whether there are named arguments
    bare: bool = False  # whether all arguments are tensors
    checked: bool = False  # whether `check` alone is sufficient
    culprit: Guard | None = None  # the guard that failed in the last call of `why_not`
    drifted: list[Tensor] = field(default_factory=list)  # tensors whose memory had changed then

    @property
    def shapes(self) -> Any:
        """Shapes and dtypes of the tensor arguments."""
        return tuple([(s[1], s[2]) for s in self.signature[: self.count]])

    def why_not(self, structure: Any, tensors: list[Tensor]) -> str | None:
        """What differs from the traced call, for arguments described by `flatten`; None if the
        version serves this call.
        """
        if (masked(structure, self.lift) if self.lift else structure) != self.structure:
            return OTHER_ARGUMENTS
        if self.checked and self.fits(tuple(tensors)):
            return None
        if self.places:
            tensors = [*tensors]
            if flatten([g.now() for g in self.places], tensors) != self.places_key:
                self.culprit = self.places[0]
                return f"{', '.join(g.path for g in self.places[:3])} changed"
        if signature(tensors) != self.signature:
            return OTHER_TENSORS
        if self.marks and any(
            t.__dict__ and not self.marks.isdisjoint(t.__dict__) for t in tensors
        ):
            return "an argument has attributes of its own"
        return (
            self._environment_differs()
            or self._tensors_differ(tensors)
            or self._memory_differs(tensors)
        )

    def _environment_differs(self) -> str | None:
        if flags() != self.flags:
            return "another grad mode, autocast, default dtype or setting of the library"
        for g in self.guards:
            if not g.holds():
                self.culprit = g
                return f"{g.path} changed"
        for g in self.watched:
            if type(g.now()) is not type(g.expected):
                return f"{g.path} changed"
        return None

    def _tensors_differ(self, tensors: list[Tensor]) -> str | None:
        for k, t, kind in self.alike:
            if not same_place(tensors[k], t) or (t._rg, t._node is None) != kind:
                return "an argument shares no memory any more with a tensor that the step also reaches otherwise"
        for k, t in self.pinned:
            if tensors[k] is not t:
                return "an argument is another tensor than one that the step also reaches otherwise"
        self.drifted = [t for t, a in self.state if t._array is not a]
        if self.drifted:
            return "a tensor has other memory"
        for t, form in (*self.drift, *self.forms):
            if form_of(t) != form:
                return "a tensor has memory of another form"
        for t, rg in self.requires_grad:
            if t._rg != rg:
                return "requires_grad of a tensor changed"
        for who, g in self.grads:
            t = the_tensor(who, tensors)
            if (t._grad is None) != (g is None):
                return "a gradient that was there is gone, or the reverse"
            if g is None or t._grad is None:
                continue
            if (t._grad._array.shape, t._grad._array.strides) != (g._array.shape, g._array.strides):
                return "a gradient is laid out otherwise"
        return None

    def _memory_differs(self, tensors: list[Tensor]) -> str | None:
        changing = [tensors[k]._array for k in self.overwritten]
        changing += [t._array for t in self.drift_overwritten]
        for t in self.grads_overwritten:
            changing.append(gradient_of(t, tensors))
        if any(not (a.flags.writeable or owner(a).flags.writeable) for a in changing):
            return "a tensor that the step writes to is in memory that is read-only"
        arrays, moved = [t._array for t in tensors], [t._array for t, _ in self.drift]
        if any(id(memory_of(a)) in self.own_roots for a in (*arrays, *moved)):
            return "an argument shares memory with a parameter"
        roots = {id(memory_of(a)) for a in moved}
        if self.drift_overwritten and len(roots) < len(moved):
            return "tensors that have been given other memory share it"
        if (
            moved
            and (self.overwritten or self.drift_overwritten)
            and not roots.isdisjoint(id(memory_of(a)) for a in arrays)
        ):
            return "an argument shares memory with a tensor that has been given other memory"
        if not self.sharing.fits(arrays) or self.overwritten and self.sharing.overlaps(arrays):
            return "arguments share memory in another way"
        return None

    def admits(self, args: tuple[Any, ...]) -> bool:
        """Whether the generated check accepts the call. False for kinds of calls that it does not
        handle.
        """
        return self.checked and self.bare and self.fits(args)

    def fits(self, args: tuple[Any, ...]) -> bool:
        """Whether the generated check accepts arguments that are tensors."""
        arrays = None if self.check is None else self.check(args)
        if arrays is None or any(id(memory_of(a)) in self.own_roots for a in arrays):
            return False
        return not (self.overwritten and len(arrays) > 1 and overlap(arrays))

    def given(self, tensors: list[Tensor]) -> list[Tensor]:
        """The tensors among the arguments, followed by those at `places`."""
        if self.places:
            tensors = [*tensors]
            flatten([g.now() for g in self.places], tensors)
        return tensors

    def numbers_of(self, structure: Any) -> list[Any]:
        """The numbers that the program takes; None for those that are unknown until it has run."""
        if not self.count_of_numbers:
            return []
        numbers = numbers_in(structure) if self.lift else []
        return self.padded([numbers[k] for k in sorted(self.lift)])

    def padded(self, given: list[Any]) -> list[Any]:
        """The numbers among the arguments, then those at watched places, then None for those known
        later.
        """
        found = [*given, *[g.now() for g in self.watched]]
        return found + [None] * (self.count_of_numbers - len(found))


def form_of(t: Tensor) -> Any:
    """Shape, dtype and strides of a tensor's array; None if it has no ordinary array."""
    a = t._array
    return (a.shape, a.dtype, a.strides) if type(a) is ndarray else None


def signature(tensors: list[Tensor]) -> tuple[Any, ...]:
    """The properties of the tensor arguments on which a program depends: class, shape, dtype,
    strides, requires_grad, whether it is a leaf, and rare attributes.
    """
    return tuple(
        [
            (
                type(t),
                t._array.shape,
                t._array.dtype,
                t._array.strides,
                t._rg,
                t._node is None,
                _rare(t._x),
            )
            for t in tensors
        ]
    )


def _rare(rare: dict[str, Any] | None) -> tuple[Any, ...]:
    """The rare attributes of a tensor on which a program depends: hooks, inference mode, and
    `retain_grad`.
    """
    made = (
        ()
        if rare is None
        else (*hooks_in(rare), bool(rare.get("inference")), bool(rare.get("retains")))
    )
    return made if any(made) else ()


def flags() -> tuple[Any, ...]:
    """The modes and settings on which a program depends."""
    kind, modes = get_default_dtype(), len(local.function_modes)
    own = (local.grad, local.inference, thread.stack.key, local.device, modes)
    return (*own, kind, *SETTINGS.values())


def same_place(t: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same view of the same memory and share a version counter."""
    a, b = t._array, other._array
    if a is not b and (
        type(b) is not ndarray
        or (a.shape, a.strides, a.dtype) != (b.shape, b.strides, b.dtype)
        or address(a) != address(b)
    ):
        return False
    return version_of(t) is version_of(other)


def told(reason: str, structure: Any, tensors: list[Tensor], others: Any, function: Any) -> str:
    """Extend a reason of `why_not` by the arguments that differ from those of a traced call: their
    names, what they are, and what they were.
    """
    found = ""
    if reason is OTHER_TENSORS:
        names = {leaf[1]: path for path, leaf in named(structure, function) if leaf[0] == "tensor"}
        found = differing(signature(tensors), others[0].signature, names)
    if not found and reason in (OTHER_TENSORS, OTHER_ARGUMENTS):
        pairs = ((masked(structure, other.lift), other.structure) for other in others)
        now, before = next((pair for pair in pairs if pair[0] != pair[1]), (structure, structure))
        one, two = dict(named(now, function)), dict(named(before, function))
        shown = [
            f"{path} is {_shown(one.get(path))}, was {_shown(two.get(path))}"
            for path in dict.fromkeys([*one, *two])
            if one.get(path) != two.get(path)
        ]
        found = ", ".join(shown[:3]) or "another kind of container"
    return f"{reason}: {found}" if found else reason


def named(structure: Any, function: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of the arguments, as `flatten` describes them, with their names."""
    owner = getattr(function, "__self__", function)
    if getattr(function, "__name__", "__call__") == "__call__":  # of a module
        function = getattr(owner, "forward", function)
    code = getattr(function, "__code__", None)
    names = [] if code is None else [*code.co_varnames[: code.co_argcount]]
    names = names[1:] if hasattr(function, "__self__") else names
    for k, part in enumerate(structure[1][1:]):
        yield from _leaves(names[k] if k < len(names) else f"argument {k}", part)
    for name, part in structure[2][1:]:
        yield from _leaves(name, part)


def _leaves(path: str, part: Any) -> Iterator[tuple[str, Any]]:
    kind, inner = part[0], part[1:]
    if kind == "list" or isinstance(kind, type) and issubclass(kind, tuple):
        for k, p in enumerate(inner):
            yield from _leaves(f"{path}[{k}]", p)
    elif isinstance(kind, type) and issubclass(kind, dict):
        for key, p in inner:
            yield from _leaves(f"{path}[{key!r}]", p)
    elif isinstance(kind, type) and fields_of(kind) is not None:
        for key, p in inner:
            yield from _leaves(f"{path}.{key}", p)
    else:
        yield path, part


def _shown(leaf: Any) -> str:
    if leaf is None:
        return "not there"
    kind, value = leaf[0], leaf[-1]
    if kind in ("tensor", "number", "again"):
        return "a tensor" if kind != "again" else "a tensor that is another argument, too"
    if isinstance(kind, type) and len(leaf) == 2:
        return f"{value if kind is float else repr(value):.40}"
    return f"another {kind.__name__ if isinstance(kind, type) else kind}"


def differing(now: tuple[Any, ...], before: tuple[Any, ...], names: dict[int, str]) -> str:
    """Which tensor arguments differ according to their signatures, in words."""
    told = []
    for k, (one, other) in enumerate(zip(now, before, strict=False)):
        name = names.get(k, f"tensor {k}")
        shown = [f"{s[2]} {list(s[1])}" for s in (one, other)]
        if shown[0] != shown[1]:
            told.append(f"{name} is {shown[0]}, was {shown[1]}")
        elif one != other:
            what = (
                "requires_grad"
                if one[4] != other[4]
                else "strides"
                if one[3] != other[3]
                else "kind"
            )
            told.append(f"{name} differs in {what}")
    return ", ".join(told[:3])


def overlap(arrays: list[ndarray]) -> bool:
    """Whether any two of the arrays may share memory."""
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
