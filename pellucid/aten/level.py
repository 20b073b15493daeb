"""The operator level: an interpreter that turns records into operators, calls of functions that
become operators, and graph nodes of operators.

It is loaded together with the first mode or tensor type that intercepts operators.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..api import overriding
from ..core import interpret
from ..core.bind import record
from ..core.display.gone import overwritten_value
from ..core.inplace import check_view, take_place
from ..core.interpret import thread as interpreters
from ..core.modes import local
from ..core.primitive import TENSORS, BackwardPlan, Primitive
from ..core.public import FUNCTIONS, METHODS
from ..core.tape import Node
from ..core.tensor import (
    FAST_TYPES,
    OutputSlot,
    Tensor,
    VersionCounter,
    make_tensor,
    node_of,
    version_of,
)
from ..dtypes import BY_NUMPY
from ..errors import NeedsValuesError, UnsupportedError
from . import composite, dispatch, networks
from .composite import seed as seed
from .dispatch import (
    call,
    gives_views,
    handled,
    handlers,
    leaves,
    only,
    own_constants,
    passed_autograd,
    takes,
    takes_over,
    thread,
    with_values,
)
from .gradients import rules
from .gradients.rules import ATEN
from .overload import bound


class Level:
    """The interpreter that passes records on as operators."""

    on_tensors = True

    @staticmethod
    def run(
        below: Callable[..., Any], op: Primitive, args: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Run a record as operators if a mode or type intercepts it."""
        if not takes(args, params):
            return below(op, args, params)
        return of_record(below, op, args, params)

    @staticmethod
    def wrote(t: Tensor, result: Any) -> None:
        """Report a write that bypassed the operators, as a `copy_`."""
        if isinstance(result, Tensor) and thread.modes and not thread.below:
            with passed_autograd():
                handled(ATEN.copy_.default, (t, result), {})


class OfType(Level):
    """The interpreter of tensor types that intercept operators."""

    @staticmethod
    def write(overwrite: Any, t: Tensor, result: Tensor, name: str) -> Tensor:
        """Finish an in-place operation: copy the values of the result to the tensor."""
        if not takes((t, result), {}):
            return overwrite(t, result, name)
        node = None
        if result._rg and local.grad:
            check_view(t, name)
            if result._array.dtype != t._array.dtype:
                result = result.to(t.dtype)
            node = result._node
            _keep_old(node, t)
        with passed_autograd():
            handled(ATEN.copy_.default, (t, result), {})
        take_place(t, node)
        if local.grad and t._rg:
            _forget_bases(t, name)
        return t

    wrote = None  # type: ignore[assignment]


LEVEL, OF_TYPE = Level(), OfType()
_present = 0


def arrive() -> None:
    """Register a mode or an intercepting tensor, until `leave`. The first one activates the
    interpreter.
    """
    global _present
    _present += 1
    overriding.below = overriding.below or overriding.attach.LENT["operators"]()
    if _present == 1:
        interpret.push(LEVEL)


def leave() -> None:
    """Unregister what `arrive` registered. The last one deactivates the interpreter."""
    global _present
    _present -= 1
    if _present == 0 and LEVEL in interpret.thread.stack.all:
        interpret.pop(LEVEL)


def adopt(cls: Any) -> None:
    """Prepare a type that defines `__torch_dispatch__`."""
    if cls._interpreter is None and takes_over(cls):
        cls._interpreter = OF_TYPE
        cls._keeps_type = False
        if cls.data is Tensor.data:
            cls.data = property(data_of, Tensor.data.fset)


def data_of(t: Tensor) -> Tensor:
    """Return `x.data` for a type that intercepts operators: the same values without history, in a
    tensor with a write counter of its own.
    """
    if not takes((t,), {}):
        return Tensor.data.fget(t)  # type: ignore[attr-defined]
    with passed_autograd():
        made: Tensor = handled(ATEN.detach.default, (t,), {})
    made._ver = None
    return made


def live(t: Tensor) -> Any:
    """Return the tensor, which was just created. If its type intercepts operators, register it
    until it is freed.
    """
    if takes_over(type(t)):
        arrive()
        weakref.finalize(t, leave).atexit = False
    return t


def enter_mode(mode: Any) -> None:
    """Make a mode the innermost one of this thread."""
    thread.modes = (*thread.modes, mode)
    arrive()
    overriding.install()


def exit_mode() -> None:
    """Undo `enter_mode`."""
    thread.modes = thread.modes[:-1]
    overriding.uninstall()
    leave()


# ---- functions ---------------------------------------------------------------------------------
def enter(
    public: Any, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a public function that a program called, as operators if possible."""
    name = getattr(public, "__name__", "")
    shown = overriding.public_name(public)
    if (
        shown.startswith("__")
        or name not in METHODS
        and not any(name in table for table in FUNCTIONS.values())
    ):
        name = shown  # for example `__getitem__`, whatever the name of its implementation

    def function(*args: Any, **kwargs: Any) -> Any:
        made = composite.called(name, composite.namespace_of(public), args, kwargs)
        return run(*args, **kwargs) if made is NotImplemented else made

    with own_constants(args, kwargs):
        if name.endswith("_") and name != "__getitem__" or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        return with_values(function, args, kwargs)


def of_record(
    below: Callable[..., Any], op: Primitive, args: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """Run a record as operators. If no operator corresponds to it, compute it directly, which
    requires plain tensors.
    """
    call = composite.of_record(op, args, params)
    if call is None:
        if handlers(args, params):
            raise UnsupportedError(
                f"{op.title}: no operator of aten stands for it, so a tensor type cannot handle it",
                op=op.name,
            )
        return below(op, args, params)
    before, thread.record = thread.record, (op, args, params)
    try:
        made = call()
    finally:
        thread.record = before
    if made is NotImplemented:
        return below(op, args, params)  # the record raises its own error
    return tuple(made) if isinstance(made, list) else made


# ---- nodes -------------------------------------------------------------------------------------
def recorded(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator above autograd, some arguments of which want a gradient."""
    if func._opname in rules.SHAPES_ALONE:
        with passed_autograd():
            return handled(func, args, kwargs)
    for t in leaves(args, kwargs):
        if isinstance(t, Tensor) and t._x is not None and "written_by" in t._x:
            raise UnsupportedError(
                f"{func}: a view of this {type(t).__name__} was changed by {t._x['written_by']} while a graph was recorded, and types that "
                "handle operators do not follow that: use the out-of-place form"
            )
    rule = rules.of(func)
    if (
        rule is not None
        and (rule.words or rule.keeps)
        and any(isinstance(t, Tensor) and t._array.dtype.kind == "c" for t in leaves(args, kwargs))
    ):
        # these rules do not conjugate, so for complex numbers use the gradients of the records
        rule = None
    running = thread.record
    if rule is None and running is None:
        before, thread.whole = thread.whole, func
        try:
            # its records arrive one by one, each with its own rule
            return func._compute(*args, **kwargs)
        finally:
            thread.whole = before
    if rule is None and running[0].vjp is None:
        with passed_autograd():
            return handled(func, args, kwargs)
    context: Any = _OfRecord(*running) if rule is None else _OfOperator(func, rule, args, kwargs)
    given = context.tensors
    if interpreters.stack.save:
        context.keep()  # do this before the operator runs, as a checkpoint may end here
    with passed_autograd():
        made = handled(func, args, kwargs)
    context.results(list(made) if isinstance(made, (tuple, list)) else [made])
    return _know_base(func, args, context.joined(context.op, given, made))


dispatch.recorded = recorded
assert networks  # imported for registering its functions with `composite`


def _saved(t: Any) -> Any:
    """Return a result as its own node saves it: detached from the graph."""
    if not isinstance(t, Tensor):
        return t
    with passed_autograd():
        return call(ATEN.detach.default, (t,), {})


def _forget_bases(t: Tensor, name: str) -> None:
    """Mark the bases of a view after a write to the view. The write has changed their values, but
    not their place in the graph, so they must not be used in it again.
    """
    while t._x is not None and "operator_base" in t._x:
        t = t._x["operator_base"]
        t.extra()["written_by"] = name


def _know_base(func: Any, args: tuple[Any, ...], made: Any) -> Any:
    """Let results that are views of the first argument remember it. Returns the results."""
    if gives_views(func):
        for t in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(t, Tensor) and type(t) not in FAST_TYPES and t is not args[0]:
                t.extra()["operator_base"] = args[0]
    return made


def _keep_old(edge: Any, t: Tensor) -> None:
    """Before a write to `t`, replace it by a copy in what the nodes of this call have saved."""
    last = node_of(edge)
    old: Any = None
    waiting, seen = [last], set()
    while waiting:
        node = waiting.pop()
        context = getattr(getattr(node.plan, "backward", None), "__self__", None)
        if isinstance(context, _Context) and context.keeps(t):
            if old is None:
                with passed_autograd():
                    old = call(ATEN.clone.default, (t,), {})
                old._node, old._rg = t._node, t._rg
            context.replace(t, old)
        for each in node.inputs:
            below = node_of(each)
            if isinstance(below, Node) and id(below) not in seen and below.source == last.source:
                seen.add(id(below))
                waiting.append(below)


class _Put:
    """A tensor that was packed by the program's saved-tensor hooks, with its place in the graph."""

    __slots__ = ("leaf", "node", "packed")

    def __init__(self, t: Tensor, save: Callable[[Any], Any]) -> None:
        self.packed = save(t._array)
        self.node, self.leaf = t._node, t if t._node is None and t._rg else None

    def taken(self) -> Tensor:
        array = self.packed.array()
        if self.leaf is not None and local.grad:
            return TENSORS.unpacked(self.leaf, value=array)
        t = make_tensor(array)
        if self.node is not None and local.grad:
            t._node, t._rg = self.node, True
        return t


def _put(value: Any) -> Any:
    """Return what a node saves for a tensor or a list of tensors: packed if there are hooks."""
    saves = interpreters.stack.save
    if not saves or value is None:
        return value
    if isinstance(value, list):
        return [_put(v) for v in value]
    return _Put(value, saves[-1]) if type(value) in FAST_TYPES else value


def _taken(value: Any) -> Any:
    """Return the tensor, or list of tensors, that was saved."""
    if isinstance(value, list):
        return [_taken(v) for v in value]
    return value.taken() if type(value) is _Put else value


class _Context:
    """What the node of an operator saves: everything that its gradient rule may need."""

    params: dict[str, Any] = {}
    tensors: Any = ()

    def keeps(self, t: Tensor) -> bool:
        """Return whether a tensor is among the arguments."""
        return any(x is t for x in self.tensors)

    def replace(self, t: Tensor, old: Tensor) -> None:
        """Replace a saved tensor by another one."""
        self.tensors = type(self.tensors)([old if x is t else x for x in self.tensors])
        self.watched = [entry for entry in self.watched if entry[0] is not t]

    outs: list[Any]
    several = False  # whether the results are a list or a tuple
    # saved tensors: each with the argument or result that it is, its write counter, and the count
    # when it was saved
    watched: list[tuple[Tensor, tuple[str, int], VersionCounter, int]] = []
    views = True  # whether results may be views of arguments
    fills = True  # whether the rule takes zeros (not None) as gradients of unused results
    without_gradient: tuple[int, ...] = ()  # results without a gradient

    def check(self, t: Any) -> None:
        """Raise an error if a saved tensor has been written to since."""
        for kept, entry, version, count in self.watched:
            if kept is t and version.count != count:
                raise overwritten_value(self.node(), t._array, entry, version, count)

    def keep(self) -> None:
        """Pack what the rule will need with the program's saved-tensor hooks, and release
        everything else.
        """
        raise NotImplementedError

    def results(self, outs: list[Any]) -> None:
        """Save the results that the rule will need."""
        raise NotImplementedError

    def joined(self, op: Any, tensors: Any, made: Any) -> Any:
        """Connect the results to the graph and return them."""
        outs = [
            t
            for t in (made if isinstance(made, (tuple, list)) else (made,))
            if isinstance(t, Tensor)
        ]
        flat = [t if isinstance(t, Tensor) else None for t in tensors]
        needs = tuple([t is not None and t._rg for t in flat])
        self.several = several = isinstance(made, (tuple, list))
        owner = Primitive(
            name=op.name,
            args=op.args,
            grad_name=op.grad_name,
            title=op.title,
            outputs=len(outs) if several else 1,
            vjp=True,
            variadic=op.variadic,
            variant=op.variant,
            traits=op.traits,
        )
        owner.keep_none_grads = several
        owner._plans[needs] = BackwardPlan([], self.backward)
        fresh = [
            make_tensor(t._array)
            if type(t) in FAST_TYPES
            and (any(t is x for x in flat) or (t._view is not None and not self.views))
            else t
            for t in outs
        ]
        node = record(owner, flat, needs, self.params, fresh)
        for k, t in enumerate(fresh):
            if t._array.dtype.kind not in "biu" and k not in self.without_gradient:
                t._node = OutputSlot(node, k) if len(fresh) > 1 else node
                t._rg = True
                if t._view is not None and t._view.kind == "no_grad":
                    t._view.kind = "grad"
        self.node = weakref.ref(node)
        kept = [(t, ("in", k)) for k, t in enumerate(flat) if t is not None and self.keeps(t)]
        kept += [
            (t, ("out", k))
            for k, t in enumerate(self.outs)
            # tensors packed by hooks are not watched
            if isinstance(t, Tensor) and not (interpreters.stack.save and type(t) in FAST_TYPES)
        ]
        self.watched = [(t, entry, version_of(t), version_of(t).count) for t, entry in kept]
        self.outs = _put(self.outs)
        if not several:
            return fresh[0]
        rest = iter(fresh)
        return type(made)([next(rest) if isinstance(t, Tensor) else t for t in made])

    def result(self, kept: list[Any], k: int) -> Any:
        """Return a saved result, connected to the graph."""
        self.check(kept[k])
        t = _saved(_taken(kept[k]))
        if local.grad and t._array.dtype.kind not in "biu":
            node = self.node()
            t._node = node if node.op.outputs == 1 else OutputSlot(node, k)  # type: ignore[union-attr]
            t._rg = True
        return t

    def backward(self, F: Any, g: Any, s: Any, p: Any) -> Any:
        """Return the gradients of the arguments, as arrays if backward runs on arrays."""
        if self.several and not isinstance(g, tuple):
            g = (g,)  # the single element of a list of results (`x.split(len(x))`)
        if not F.raw:
            return self.rules(self.filled(g))
        wrapped = (
            self.filled(tuple([t if t is None else make_tensor(t) for t in g]))
            if isinstance(g, tuple)
            else make_tensor(g)
        )
        with only((), below=False):
            found = self.rules(wrapped)
        return tuple([None if x is None else x._array for x in found])

    def filled(self, g: Any) -> Any:
        """Replace missing gradients by zeros of the type of the others."""
        if not isinstance(g, tuple) or None not in g or not self.fills:
            return g
        known = next(t for t in g if t is not None)
        node = self.node()
        sizes = [t._array.shape for t in g if t is not None] if node is None else node.shape
        with only((), below=False):
            return tuple(
                [
                    ATEN.new_zeros(known, list(size), dtype=BY_NUMPY[dtype]) if t is None else t
                    for t, size, dtype in zip(g, sizes, node.dtype, strict=True)  # type: ignore[union-attr]
                ]
            )

    def rules(self, g: Any) -> Any:
        raise NotImplementedError


class _Checked:
    """The operators, for a rule with arguments that were written to since. The rule may read their
    shapes, but an operator that would read their values raises an error.
    """

    def __init__(self, inner: Any, check: Callable[[Any], None]) -> None:
        self.inner, self.check = inner, check

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        return found if name in rules.SHAPES_ALONE else _Checked(found, self.check)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for t in leaves(args, kwargs):
            self.check(t)
        return self.inner(*args, **kwargs)


class _OfRecord(_Context):
    """The context of an operator that corresponds to one record, with the rules of the record."""

    def __init__(self, op: Primitive, tensors: Any, params: dict[str, Any]) -> None:
        self.op, self.tensors, self.params = op, tuple(tensors), params
        self.plan = op.plan(tuple([isinstance(t, Tensor) and t._rg for t in tensors]))
        if any(kind == "aux" for kind, _ in self.plan.entries) and any(
            hasattr(t, "__with_values__") for t in tensors
        ):
            raise NeedsValuesError(f"{op.title} keeps values for its gradient")
        self.facts = {
            (kind, i): self.fact(kind, i)
            for kind, i in self.plan.entries
            if kind in ("shapes", "shape", "dtype")
        }

    def results(self, outs: list[Any]) -> None:
        used = {i for kind, i in self.plan.entries if kind == "out"}
        if any(kind == "outs" for kind, _ in self.plan.entries):
            used = set(range(len(outs)))
        self.outs = [_saved(t) if k in used else None for k, t in enumerate(outs)]
        self.described = [(t._array.shape, t._array.dtype) for t in outs]

    def used(self) -> set[int]:
        """Return the indices of the arguments that the rule will need."""
        used = {i for kind, i in self.plan.entries if kind == "in"}
        used.update(
            k for kind, i in self.plan.entries if kind == "ins" for k in range(i, len(self.tensors))
        )
        return used

    def keep(self) -> None:
        used = self.used()
        self.tensors = tuple([_put(t) if k in used else None for k, t in enumerate(self.tensors)])

    def fact(self, kind: str, i: int) -> Any:
        """Return the shape or the dtype of an argument, for a parameter of the rule."""
        if kind == "shapes":
            return [t._array.shape for t in self.tensors[i:]]
        t = self.tensors[i]
        return (
            getattr(t._array, kind) if isinstance(t, Tensor) else (() if kind == "shape" else None)
        )

    def rules(self, g: Any) -> Any:
        values = [self.value(kind, i) for kind, i in self.plan.entries]
        with own_constants((), {}):
            return with_values(self.plan.backward, (TENSORS, g, values, self.params), {})

    def value(self, kind: str, i: int) -> Any:
        """Return the value of a parameter of the rule."""
        if kind in ("in", "ins"):
            for t in self.tensors[i : i + 1 if kind == "in" else None]:
                self.check(t)
            return _taken(self.tensors[i] if kind == "in" else list(self.tensors[i:]))
        if kind == "out":
            return self.result(self.outs, i)
        if kind == "outs":
            return tuple([self.result(self.outs, k) for k in range(len(self.outs))])
        if (kind, i) in self.facts:
            return self.facts[kind, i]
        if kind == "aux":
            raise UnsupportedError(
                f"the gradient of {self.op.title} below autograd", op=self.op.name
            )
        return self.described[0][kind == "out_dtype"]


class _OfOperator(_Context):
    """The context of an operator with a rule of its own in `gradients`."""

    def __init__(self, func: Any, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func, self.rule, self.without_gradient = func, rule, rule.keeps_plain
        self.fills, self.views = rule.fills, gives_views(func)
        arguments = func._schema.arguments
        self.values = dict(
            zip([a.name for a in arguments], bound(func._schema, args, kwargs), strict=True)
        )
        self.names: list[tuple[str, int]] = []
        self.tensors: list[Any] = []
        for a in arguments:
            value = self.values[a.name]
            if isinstance(value, Tensor):
                self.names.append((a.name, -1))
                self.tensors.append(value)
            elif isinstance(value, list) and any(isinstance(v, Tensor) for v in value):
                self.names += [(a.name, k) for k in range(len(value))]
                self.tensors += value
        self.needed = {
            name
            for (name, _), t in zip(self.names, self.tensors, strict=True)
            if isinstance(t, Tensor) and t._rg
        }
        words = "".join(
            part[:1].upper() + part[1:]
            for part in func._opname.strip("_").removesuffix("_forward").split("_")
        )
        self.op = Primitive(
            name=func._opname,
            args=tuple([name for name, _ in self.names]),
            grad_name=f"{words}Backward{rule.number}",
            title=func._opname,
            variadic=False,
            variant=None,
        )

    def replace(self, t: Tensor, old: Tensor) -> None:
        """Replace a saved tensor by another one."""
        super().replace(t, old)
        for name, value in self.values.items():
            if isinstance(value, list):
                self.values[name] = [old if x is t else x for x in value]
            elif value is t:
                self.values[name] = old

    def results(self, outs: list[Any]) -> None:
        rule = self.rule
        self.outs = [
            _saved(t) if k in rule.keeps else t if k in rule.keeps_plain else None
            for k, t in enumerate(outs)
        ]

    def keep(self) -> None:
        of_tensors = {name for name, _ in self.names}
        self.values = {
            name: value
            if name not in of_tensors
            else _put(value)
            if name in self.rule.words
            else None
            for name, value in self.values.items()
        }
        self.tensors = [
            t for t in self.tensors if isinstance(t, Tensor) and type(t) not in FAST_TYPES
        ]

    def needs(self, name: str) -> bool:
        """Return whether an argument needs a gradient."""
        return name in self.needed

    def out(self, k: int = 0) -> Any:
        """Return a result that the rule has declared as saved."""
        self.check(self.outs[k])
        return _taken(self.outs[k]) if k in self.rule.keeps_plain else self.result(self.outs, k)

    def rules(self, g: Any) -> Any:
        about = {"c": self} if self.rule.asks else {}
        with own_constants((), {}):
            found = self.rule(
                A=_Checked(ATEN, self.check)
                if any(version.count != count for _, _, version, count in self.watched)
                else ATEN,
                g=g,
                **about,
                **{name: _taken(self.values[name]) for name in self.rule.words},
            )
            made = {name: rule() for name, rule in found.items() if name in self.needed}
        return tuple(
            [
                made[n] if n in made and k < 0 else made[n][k] if n in made else None
                for n, k in self.names
            ]
        )
