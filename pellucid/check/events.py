"""The events that rules receive: tensors, operations, module calls, backward calls and optimizer
steps, the same on every engine.

Nothing here holds a tensor's data. A `Value` refers to its tensor weakly and reads it when a rule
asks.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ..core import source
from ..core.display.notebook import place
from .recording import expressions


class Site:
    """A place in the user's program: the code object and the instruction; file, line and text are
    looked up when asked for.
    """

    __slots__ = ("code", "lasti")

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    @property
    def file(self) -> str:
        """The file's path as the interpreter has it."""
        return self.code.co_filename

    @property
    def line(self) -> int:
        """The line, from 1: where the call begins, when it goes over several."""
        return expressions.position(self.code, self.lasti)[0]

    @property
    def function(self) -> str:
        """The qualified name of the function, `<module>` outside of any."""
        return self.code.co_qualname

    @property
    def text(self) -> str:
        """The line's text without indentation."""
        described = source.describe((self.code, self.lasti))
        return described.text if described is not None else ""

    @property
    def call(self) -> expressions.CallExpression | None:
        """The call as written, with its expressions; None where the source cannot be read."""
        return expressions.call_at(self.code, self.lasti)

    @property
    def key(self) -> tuple[str, int]:
        """(file, line)."""
        return self.file, self.line

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and self.code is other.code and self.lasti == other.lasti

    def __hash__(self) -> int:
        return hash((self.code.co_firstlineno, self.lasti))

    def __str__(self) -> str:
        return place(self.file, self.line)

    def __repr__(self) -> str:
        return f"Site({str(self)!r})"


class Value:
    """One tensor at one version: what was known of it when it was made, and the operation that made
    it.

    `shape` is a tuple of integers, `dtype` a name like "float32", `producer` the Op that made this
    version (None: unknown, or a leaf), `index` which of its results this is. `number` is this
    version's own, `id` is the same for all versions of a tensor.
    """

    __slots__ = (
        "__weakref__",
        "_engine",
        "_ref",
        "id",
        "index",
        "is_leaf",
        "kind",
        "number",
        "producer",
        "requires_grad",
        "shape",
        "step",
        "version",
    )

    def __init__(
        self,
        engine: Any,
        tensor: Any,
        number: int,
        id: int,
        producer: Op | None,
        index: int,
        step: int,
        ref: Any,
    ) -> None:
        self._engine = engine
        self._ref = ref
        self.number = number
        self.id = id
        self.producer = producer
        self.index = index
        self.step = step
        self.shape, self.kind, self.requires_grad, self.is_leaf, self.version = engine.facts(tensor)

    @property
    def dtype(self) -> str:
        """The name of the element type: "float32", "int64", "bool" ..."""
        return self._engine.dtype_name(self.kind)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """The number of elements."""
        n = 1
        for size in self.shape:
            n *= size
        return n

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.kind.itemsize)

    @property
    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers."""
        return "float" in self.dtype

    @property
    def tensor(self) -> Any:
        """The tensor itself while it lives, else None. A rule must not keep it."""
        return self._ref()

    @property
    def alive(self) -> bool:
        """Whether the tensor lives and nobody has overwritten it since."""
        tensor = self._ref()
        return tensor is not None and self._engine.version(tensor) == self.version

    def numpy(self) -> Any:
        """The elements now (low precision as float32), not to be written; None when it is gone."""
        tensor = self._ref()
        return None if tensor is None else self._engine.array(tensor)

    @property
    def gradient(self) -> Any:
        """The `.grad` of the tensor now, a tensor that a rule must not keep, or None."""
        tensor = self._ref()
        return None if tensor is None else self._engine.grad(tensor)

    def grad(self) -> Any:
        """The `.grad` of the tensor now as a NumPy array, or None."""
        gradient = self.gradient
        return None if gradient is None else self._engine.array(gradient)

    @property
    def name(self) -> str | None:
        """The parameter's path ("model.fc.weight") or the variable's name, if it is found now."""
        tensor = self._ref()
        return None if tensor is None else self._engine.recorder.names.of(tensor)

    @property
    def parameter(self) -> str | None:
        """The path of a module's parameter, None for every other tensor."""
        tensor = self._ref()
        return None if tensor is None else self._engine.recorder.names.parameter(tensor)

    def __repr__(self) -> str:
        made = f" from {self.producer.name}" if self.producer is not None else ""
        return f"Value({self.dtype}{list(self.shape)}{made})"


class Foreign:
    """An argument that is neither tensor nor number: a NumPy array, a function, ... Referred to
    weakly where that is possible.
    """

    __slots__ = ("_ref", "dtype", "shape", "type")

    def __init__(self, value: Any) -> None:
        self.type = type(value).__name__
        self.shape = tuple(value.shape) if self.type == "ndarray" else None
        self.dtype = str(value.dtype) if self.type == "ndarray" else None
        try:
            self._ref: Any = weakref.ref(value)
        except TypeError:
            self._ref = None

    @property
    def value(self) -> Any:
        """The object while it lives, else None."""
        return None if self._ref is None else self._ref()

    def __repr__(self) -> str:
        return f"Foreign({self.type}{'' if self.shape is None else list(self.shape)})"


class Op:
    """One call of PyTorch's interface that the user's program (or a module of the library on its
    behalf) made.

    `name` is PyTorch's function name without `torch.` and underscores: "softmax", "cross_entropy",
    "add", "getitem", ... whichever way it was called (function, method, operator); `inplace` says
    that the first argument was overwritten. `args` has the arguments by PyTorch's parameter names,
    defaults included, with Values for tensors.
    """

    __slots__ = (
        "__weakref__",
        "_outputs",
        "args",
        "direct",
        "grad_enabled",
        "inplace",
        "inputs",
        "method",
        "module",
        "name",
        "number",
        "result",
        "site",
        "spelling",
        "step",
    )

    def __init__(self, name: str, site: Site | None) -> None:
        self.name = name
        self.site = site
        self.spelling = name  # the name it was called by: "__setitem__", "add_", "softmax"
        self.args: dict[str, Any] = {}
        self.inputs: tuple[Value, ...] = ()
        self._outputs: tuple[weakref.ref[Value], ...] = ()
        self.result: Any = None  # a number or a tuple of numbers, where no tensor came back
        self.module: ModuleCall | None = None
        self.grad_enabled = True
        self.inplace = False
        self.method = False  # called as a method of a tensor
        # called on the user's own line, not by a module or function of the library
        self.direct = True
        self.number = 0
        self.step = 0

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The tensors that came back, those that nothing refers to any more left out."""
        return tuple([v for ref in self._outputs if (v := ref()) is not None])

    @outputs.setter
    def outputs(self, values: tuple[Value, ...]) -> None:
        # a Value refers to its producer: no circles
        self._outputs = tuple([weakref.ref(v) for v in values])

    @property
    def output(self) -> Value | None:
        """The first result."""
        return self._outputs[0]() if self._outputs else None

    def arg(self, name: str, default: Any = None) -> Any:
        """An argument by PyTorch's name for it."""
        value = self.args.get(name, default)
        return default if value is None else value

    def written(self, name: str) -> str | None:
        """The expression that the user wrote for an argument, or None (not on the user's own line,
        or not readable).
        """
        call = self.site.call if self.site is not None else None
        return (
            None
            if call is None
            else call.argument(name, list(self.args), self.method and self.direct)
        )

    def __repr__(self) -> str:
        return f"Op({self.name}, {', '.join(map(repr, self.inputs))}, at {self.site})"


class ModuleCall:
    """One call of a module; `parent` is the module call that it happened in."""

    __slots__ = (
        "__weakref__",
        "_module",
        "_outputs",
        "_root",
        "class_name",
        "grad_enabled",
        "inputs",
        "made",
        "number",
        "parent",
        "path",
        "site",
        "step",
        "tags",
        "training",
    )

    def __init__(
        self, module: Any, path: str, site: Site | None, parent: ModuleCall | None
    ) -> None:
        self._module = weakref.ref(module)
        self.class_name = type(module).__name__
        self.path = path
        self.site = site
        # where a module of the library was made; None for a class of the user's
        self.made: Site | None = None
        self.parent = parent
        self._root = None if parent is None else parent.root
        self.training: bool = bool(module.training)
        self.inputs: tuple[Value, ...] = ()
        self._outputs: tuple[weakref.ref[Value], ...] = ()
        self.grad_enabled = True
        self.number = 0
        self.step = 0
        self.tags: dict[str, Any] = {}  # for rules to note things in

    @property
    def module(self) -> Any:
        """The module while it lives."""
        return self._module()

    @property
    def root(self) -> ModuleCall:
        """The outermost module call that this one is part of, itself perhaps."""
        return self if self._root is None else self._root

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The tensors in its result, those that nothing refers to any more left out."""
        return tuple([v for ref in self._outputs if (v := ref()) is not None])

    @outputs.setter
    def outputs(self, values: tuple[Value, ...]) -> None:
        self._outputs = tuple([weakref.ref(v) for v in values])

    def __repr__(self) -> str:
        return f"ModuleCall({self.path}: {self.class_name})"


@dataclass(slots=True)
class Accumulation:
    """A gradient that one backward call added to a leaf."""

    value: Value
    onto: bool  # there was a gradient already, and this one was added to it


@dataclass(slots=True)
class Backward:
    """One backward call. `how`: "backward" or "grad" (which accumulates nothing)."""

    roots: tuple[Value, ...]
    site: Site | None
    how: str
    retain_graph: bool
    create_graph: bool
    number: int
    step: int
    accumulated: list[Accumulation] = field(default_factory=list)
    finished: bool = False


class OptimizerInfo:
    """An optimizer: its class, where it was made, how often it stepped."""

    __slots__ = (
        "__weakref__",
        "_engine",
        "_params",
        "_ref",
        "class_name",
        "loaded",
        "name",
        "number",
        "site",
        "steps",
    )

    def __init__(self, engine: Any, optimizer: Any, site: Site | None, number: int) -> None:
        self._engine = engine
        self._ref = weakref.ref(optimizer)
        self.class_name = type(optimizer).__name__
        self.site = site
        self.number = number
        self.name: str | None = None
        self._params: tuple[int, list[Value]] = 0, []  # of which telling, and what they were
        self.loaded: Site | None = None  # where `load_state_dict` gave it other learning rates
        self.steps = 0

    @property
    def optimizer(self) -> Any:
        """The optimizer while it lives."""
        return self._ref()

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Its param_groups now."""
        optimizer = self._ref()
        return [] if optimizer is None else optimizer.param_groups

    def params(self) -> list[Value]:
        """Its parameters now. While rules are told of one event they are the same for all."""
        recorder = self._engine.recorder
        if recorder.telling and self._params[0] == recorder.telling:
            return self._params[1]
        value = recorder.value
        found = [value(p) for group in self.groups for p in group["params"]]
        self._params = recorder.telling, found
        return found

    def lrs(self) -> list[float]:
        """The learning rates of its groups now."""
        return [float(group["lr"]) for group in self.groups if "lr" in group]


@dataclass(slots=True)
class Step:
    """One optimizer step. In `on_step_begin` the parameters are as they were, in `on_step` they are
    updated.
    """

    optimizer: OptimizerInfo
    site: Site | None
    number: int  # of all steps of all optimizers, from 0
    closure: bool
    code: CodeType | None = None  # of the closure
    # by `id` of the Value: the array before, where rules asked for it
    before: dict[int, Any] = field(default_factory=dict)
    zeroed: bool = False  # gradients were cleared within this step
    # gradients were cleared within this step, as a hook does it, before it moved anything
    cleared: Site | None = None

    def update(self, value: Value) -> Any:
        """What the step added to a parameter (a NumPy array); None where it was not kept, which is
        so for most steps.
        """
        before, now = self.before.get(value.id), value.numpy()
        return None if before is None or now is None else now - before


@dataclass(slots=True)
class Update:
    """A leaf was updated by hand, in place, with something made of a gradient: `w -= lr * w.grad`,
    also through `.data`.
    """

    value: Value
    op: Op
    site: Site | None
    step: int


@dataclass(slots=True)
class Cleared:
    """Gradients were cleared. `how`: "optimizer", "module" or "assigned" (`p.grad = None`)."""

    values: list[Value]
    site: Site | None
    how: str
    optimizer: OptimizerInfo | None
    step: int


@dataclass(slots=True)
class SchedulerStep:
    """A learning-rate scheduler was stepped (the step that its constructor makes is not told)."""

    scheduler: str
    optimizer: OptimizerInfo | None
    site: Site | None
    before: list[float]
    after: list[float]
    step: int
    made: Site | None = None  # where the scheduler was made
    ref: Any = None  # a weak reference to it
    given: float | None = None  # the number it was called with: a metric, an epoch


@dataclass(slots=True)
class Switched:
    """`model.train()` or `model.eval()` was called on a module (its submodules are not told one by
    one).
    """

    module: Any
    path: str
    training: bool
    site: Site | None
    step: int


@dataclass(slots=True)
class Read:
    """A value left the graph. `how`: item, numpy, tolist, float, int, bool, index, array, format,
    repr.
    """

    value: Value
    how: str
    result: Any  # the number, for those that give one
    site: Site | None
    grad_enabled: bool
    step: int
    number: int
    array: Any = None  # a weak reference to the NumPy array that was given


@dataclass(slots=True)
class Glimpse:
    """The loss of a step that is not recorded, before its backward."""

    tensor: Any  # that a rule must not keep
    loss: float
    site: Site | None  # of the backward call
    step: int


@dataclass(slots=True)
class Seeded:
    """A random stream was seeded. `library`: torch, numpy, random or generator."""

    library: str
    seed: Any
    site: Site | None
    step: int


class LoaderInfo:
    """A DataLoader: where it was made, its batch size and data set, how many passes were begun."""

    __slots__ = (
        "__weakref__",
        "_ref",
        "batch_size",
        "drop_last",
        "name",
        "number",
        "passes",
        "shuffle",
        "site",
        "workers",
    )

    def __init__(self, loader: Any, site: Site | None, number: int, shuffle: bool) -> None:
        self._ref = weakref.ref(loader)
        self.site = site
        self.number = number
        self.batch_size: int | None = loader.batch_size
        self.drop_last: bool = bool(loader.drop_last)
        self.workers: int = int(loader.num_workers)
        self.shuffle = shuffle
        self.passes = 0
        self.name: str | None = None

    @property
    def loader(self) -> Any:
        """The DataLoader while it lives."""
        return self._ref()

    @property
    def dataset(self) -> Any:
        """Its data set."""
        loader = self._ref()
        return None if loader is None else loader.dataset

    @property
    def whole_dataset(self) -> Any:
        """The data set that its own is a part of, if it is."""
        return whole_of(self.dataset)


def whole_of(dataset: Any) -> Any:
    """The data set behind its parts (`Subset`, from `random_split` and others)."""
    while type(dataset).__name__ == "Subset":
        dataset = dataset.dataset
    return dataset


@dataclass(slots=True)
class Batch:
    """A DataLoader gave a batch."""

    loader: LoaderInfo
    epoch: int  # passes before this one
    position: int  # within the pass, from 0
    values: tuple[Value, ...]  # the tensors in it, in order
    indices: Any  # of the samples, where they are known (a list), else None
    site: Site | None
    step: int


@dataclass(slots=True)
class Converted:
    """A NumPy array was made of other numbers with a type of its own: `labels.astype("uint8")`,
    `np.array(rows, dtype=int)`.
    """

    before: Any  # the array or the list
    after: Any  # the array
    site: Site | None
    step: int


@dataclass(slots=True)
class Written:
    """The program's own code is about to write into a NumPy array: `rows[i] = x`, `rows -= x`
    (`inplace`), `rows.sort()` (no value).
    """

    target: Any  # the array
    value: Any  # an array, a number, or None
    inplace: bool
    site: Site | None
    step: int
    number: int


@dataclass(slots=True)
class Computed:
    """The program's own code has added, subtracted or multiplied (`sign`) short whole numbers of
    NumPy's.
    """

    sign: str
    left: Any
    right: Any
    result: Any  # the array
    site: Site | None
    step: int


@dataclass(slots=True)
class Called:
    """A function outside of the library that the user's code called: `hash`, or one that makes a
    random stream.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    site: Site | None
    step: int
    owner: Any = None  # whose method it is; a rule must not keep it


@dataclass(slots=True)
class Saved:
    """`module.state_dict()` was called on a module (its submodules are not told one by one)."""

    module: Any
    site: Site | None
    step: int


@dataclass(slots=True)
class Loaded:
    """`module.load_state_dict(given)` has run. `missing` are keys of the module that were not given,
    `unexpected` keys that it does not have.
    """

    module: Any
    given: Any  # that a rule must not keep
    missing: list[str]
    unexpected: list[str]
    site: Site | None
    step: int


@dataclass(slots=True)
class Applied:
    """A `torch.autograd.Function` of the program's was applied; `args` are what it was given."""

    function: Any  # the class
    args: tuple[Any, ...]  # that a rule must not keep
    site: Site | None
    step: int


@dataclass(slots=True)
class HookAdded:
    """A hook was registered on a module or on a tensor."""

    owner: Any  # that a rule must not keep
    hook: Any
    handle: Any
    site: Site | None
    step: int

    def present(self) -> bool:
        """Whether the hook is still registered."""
        hooks = self.handle.hooks_dict_ref()
        return hooks is not None and self.handle.id in hooks


@dataclass(slots=True)
class Failure:
    """An operation raised; or, with `op` None, the script's own exception that ended it."""

    exception: BaseException
    op: Op | None
    site: Site | None
    step: int


# ---- provenance ------------------------------------------------------------------------------------------------------
VIEWS = frozenset(
    "view reshape flatten unflatten squeeze unsqueeze transpose permute t T mT H mH adjoint movedim swapaxes expand expand_as view_as "
    "reshape_as contiguous clone detach data getitem select narrow index_select take_along_dim gather chunk split unbind "
    "tensor_split alias to float double half bfloat16 type type_as cpu cuda requires_grad_ as_strided ravel flip roll diagonal "
    "masked_select take real broadcast_to unfold repeat tile requires_grad".split()
)
"""Operations whose result has (some of) the same numbers in another arrangement, dtype or device."""

ARITHMETIC = frozenset("add sub mul div".split())
ORDERS = frozenset("lt le gt ge".split())  # comparisons that make masks of numbers

JOINS = frozenset("cat stack hstack vstack dstack column_stack where".split())
"""Operations that put values together."""


def lineage(
    value: Value | None, through: frozenset[str] = VIEWS, limit: int = 1000
) -> Iterator[Op]:
    """The operations that a value comes from: its producer, and on through the inputs while
    operations are in `through`.

    `next((op for op in lineage(v, VIEWS | {"clamp", "log"}) if op.name == "softmax"),
    None)` asks whether `v` is a softmax, possibly viewed, sliced, clamped or logged. Of an in-place
    write the value before is gone through as well.
    """
    waiting, seen = [value], set()
    while waiting and limit > 0:
        current = waiting.pop()
        op = current.producer if current is not None else None
        if op is None or op.number in seen:
            continue
        seen.add(op.number)
        limit -= 1
        yield op
        if op.name in through:
            waiting.extend(reversed(op.inputs))


def made_by(value: Value | None, through: frozenset[str] = VIEWS) -> Op | None:
    """The operation behind a value: the first one that is not in `through`."""
    return next((op for op in lineage(value, through, 40) if op.name not in through), None)


def ancestors(values: Any, limit: int = 100_000) -> Iterator[Op]:
    """All operations that values come from, as far back as they are known."""
    waiting, seen = [v.producer for v in values], set()
    while waiting and limit > 0:
        op = waiting.pop()
        if op is None or op.number in seen:
            continue
        seen.add(op.number)
        limit -= 1
        yield op
        for v in op.inputs:
            if v.producer is not None and v.producer.number not in seen:
                waiting.append(v.producer)


def updated_leaf(op: Op) -> Value | None:
    """The leaf that wants a gradient and that an in-place operation writes, also through `.data` or
    `detach()`; else None.
    """
    if not op.inplace or not op.inputs:
        return None
    target = op.inputs[0]
    made = target.producer
    while made is not None and made.name in ("data", "detach", "sub", "add", "mul") and made.inputs:
        if made.name not in ("data", "detach") and not made.inplace:
            return None
        target = made.inputs[0]
        made = target.producer
    return target if target.is_leaf and target.requires_grad else None
