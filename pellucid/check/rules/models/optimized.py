"""Parameters and optimizers: used but not given to one, or replaced after one was made."""

from __future__ import annotations

import ast
import re
import weakref
from typing import Any, ClassVar

from ...events import Backward, Failure, ModuleCall, Op, OptimizerInfo, Step, Update, Value
from ...numbers import number_of
from ...rule import Rule
from ..source.attributes import computed, made_of_one, unregistered
from ..source.places import (
    Place,
    assignments,
    attribute_place,
    chooser,
    function_around,
    tree,
    walk,
)
from ..steps.gradients import is_clipping
from .twice import Anew, exhausted, given_twice, of_another, tell_of_another, tell_twice


class _Known:
    """A parameter as it was when an optimizer was made."""

    __slots__ = ("id", "optimizer", "path", "root", "shape", "title")

    def __init__(self, value: Value, root: Any, path: str, optimizer: OptimizerInfo) -> None:
        self.id = value.id
        self.root = weakref.ref(root)
        self.title = type(root).__name__
        self.path = path
        self.shape = value.shape
        self.optimizer = optimizer


class _Leaves(Rule):
    """Which leaves get gradients, and which of them an optimizer or a manual update changes."""

    ops: ClassVar[tuple[str, ...]] = ("grad", "copy", "matmul", "mm", "linear", "conv1d", "conv2d")

    def __init__(self) -> None:
        self.reached: dict[int, Value] = {}
        self.counts: dict[int, int] = {}
        # by leaf: others that its first backward calls reached
        self.mates: dict[int, set[int]] = {}
        self.changed: set[int] = set()  # stepped on or updated by hand
        self.read: set[int] = set()
        self.loaded: set[int] = set()
        self.inputs: set[int] = set()
        self.evaluated: set[int] = set()  # ids of root modules called in eval mode
        self.in_training: set[int] = set()  # and of those called in train mode
        self.known: list[_Known] = []
        self.of: dict[int, set[int]] = {}  # by optimizer: the parameters that it has stepped on
        self.optimizers: list[OptimizerInfo] = []
        # by optimizer: ids of the modules that were there when it was made
        self._there: dict[int, set[int]] = {}

    def on_op(self, op: Op) -> None:
        """Gradients that are looked at, values that are loaded."""
        if op.name == "grad" and not is_clipping(op):
            self.read.update(v.id for v in op.inputs)
        elif op.name == "copy" and op.inplace and op.inputs:
            target = op.inputs[0]
            while (
                target.producer is not None
                and target.producer.name in ("data", "detach", "copy")
                and target.producer.inputs
            ):
                target = target.producer.inputs[0]
            self.loaded.add(target.id)
        elif (
            op.name not in ("grad", "copy")
            and op.inputs
            and op.inputs[0].is_leaf
            and op.inputs[0].requires_grad
            and op.module is None
        ):
            self.inputs.add(op.inputs[0].id)  # data that want a gradient, for whatever reason

    def on_module_enter(self, call: ModuleCall) -> None:
        """What goes into models, and in which mode they are."""
        if call.parent is None:
            self.inputs.update(v.id for v in call.inputs if v.is_leaf and v.requires_grad)
            (self.in_training if call.training else self.evaluated).add(number_of(call.module))

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """What its parameters are called now."""
        self.optimizers.append(event)
        self._there[event.number] = {number_of(m) for m in self.session.recorder.names.alive()}
        own = {v.id: v for v in event.params()}
        value = self.session.recorder.value
        for root in self.session.recorder.names.roots():
            for path, p in root.named_parameters():
                v = value(p)
                if v.id in own:
                    self.known.append(_Known(v, root, path, event))

    def on_backward(self, event: Backward) -> None:
        """Leaves that a loss depends on."""
        ids = None
        for a in event.accumulated:
            key = a.value.id
            self.counts[key] = count = self.counts.get(key, 0) + 1
            if count <= 2:
                self.reached[key] = a.value
                ids = ids or {b.value.id for b in event.accumulated}
                self.mates.setdefault(key, set()).update(ids)

    def on_step(self, event: Step) -> None:
        """These are trained."""
        if event.optimizer.steps < 3 or event.optimizer.steps % 16 == 0:
            ids = {v.id for v in event.optimizer.params()}
            self.changed |= ids
            self.of[event.optimizer.number] = self.of.get(event.optimizer.number, set()) | ids

    def on_update(self, event: Update) -> None:
        """These are trained by hand."""
        self.changed.add(event.value.id)

    def held(self) -> set[int]:
        """Parameters of optimizers that live."""
        return {v.id for info in self.optimizers for v in info.params()}

    def owner(self, value: Value) -> tuple[Any, str] | None:
        """The root module and the path of a parameter."""
        tensor = value.tensor
        if tensor is None:
            return None
        for root in self.session.recorder.names.roots():
            for path, p in root.named_parameters():
                if p is tensor:
                    return root, path
        return None

    def gone(self, root: Any) -> list[_Known]:
        """Parameters that an optimizer got from a model and that are no longer in it."""
        value = self.session.recorder.value
        now = {value(p).id for p in root.parameters()}
        return [k for k in self.known if k.root() is root and k.id not in now]

    def replaced(self, value: Value, root: Any, path: str) -> tuple[_Known, bool] | None:
        """The parameter that an optimizer holds in the place of this one, and whether the whole
        model was made anew.
        """
        for k in self.gone(root):
            if path == k.path or path.split(".")[0] == k.path.split(".")[0]:
                return k, False
        for k in self.known:
            other = k.root()
            if (
                other is root
                or k.path != path
                or k.shape != value.shape
                or k.title != type(root).__name__
            ):
                continue
            if other is None or not any(
                j.id in self.reached for j in self.known if j.optimizer is k.optimizer
            ):
                return k, True
        return None


class ParamReplaced(_Leaves):
    """An optimizer keeps the parameters it was given; new ones in their place are not trained."""

    slug = "param-replaced"
    id = "PL504"
    severity = "error"
    summary = "a parameter was replaced after the optimizer was created"
    covered = ("step-without-backward", "param-not-in-optimizer")

    def __init__(self) -> None:
        super().__init__()
        self._looked: set[int] = set()
        self._told: set[Any] = set()

    def on_step_begin(self, event: Step) -> None:
        """Leaves that have a gradient and are in no optimizer."""
        held: set[int] | None = None
        for key, value in list(self.reached.items()):
            if key in self._looked:
                continue
            held = self.held() if held is None else held
            self._looked.add(key)
            owner = None if key in held else self.owner(value)
            found = None if owner is None else self.replaced(value, *owner)
            if owner is not None and found is not None:
                self._tell(value, owner[0], owner[1], found[0], found[1], event)

    def _tell(
        self, value: Value, root: Any, path: str, old: _Known, whole: bool, event: Step
    ) -> None:
        recorder = self.session.recorder
        title = recorder.names.root_name(root)
        if whole:
            name, made = title.split(".")[-1], recorder.names.asked_at(root)
            there = made is not None and re.match(
                rf"([\w.]+\.)?{re.escape(name)} *=[^=]", made.text
            )
            place = made if there else assigned_after(old.optimizer, self.session.script, name)
            what, key = title, (number_of(root), "")
        else:
            place, part = None, ""
            parts = path.split(".")
            for k in range(len(parts), 0, -1):
                part = ".".join(parts[:k])
                place = assigned_after(old.optimizer, self.session.script, parts[k - 1], True)
                if place is not None:
                    break
            place = place or put_in_place(recorder.files(self.session.script))
            what, key = f"{title}.{part}", (number_of(root), str(place))
        if key in self._told:
            return
        self._told.add(key)
        optimizer = event.optimizer.name or "optimizer"
        self.report(
            place or old.optimizer.site,
            f"{what} is replaced after the optimizer was created: {old.optimizer.class_name} still holds the old parameters, and the new ones "
            "are never trained.",
            evidence={
                "parameter": f"{title}.{path}",
                "shape": list(value.shape),
                "optimizer_made_at": str(old.optimizer.site),
            },
            fix=f"create the optimizer after this line (or pass the new parameters to `{optimizer}.add_param_group`)",
            covers=[old.optimizer.site, event.site],
        )


def _chosen(info: OptimizerInfo) -> bool:
    """Whether the call that made an optimizer, or the line that it has its parameters from, names a
    part of a model: `SGD(model.head.parameters())`. A choice by conditions may be a mistake."""
    call = info.site.call if info.site is not None else None
    place = gathered_at(info.site)
    text = f"{call.text if call is not None else ''} {place.text if place is not None else ''}"
    return " if " not in text and "parameters()" in text


def _decays_apart(info: OptimizerInfo, own: set[int]) -> bool:
    """Whether an optimizer has parameters of a model in two groups that differ in one thing only:
    one has weight decay, the other none.
    """
    groups = info.groups
    ids = {v.id for v in info.params()}
    if len(groups) != 2 or not own & ids or any(not group["params"] for group in groups):
        return False
    decays = [bool(group.get("weight_decay")) for group in groups]
    rates = [group.get("lr") for group in groups]
    return decays[0] != decays[1] and rates[0] == rates[1]


def _sorted_out(info: OptimizerInfo, own: set[int], parts: set[str]) -> Place | None:
    """The condition, without an `else`, that sorts parameters into groups with and without weight
    decay in the function that makes an optimizer: others go nowhere. One that names a part of the
    model has chosen it.
    """
    site = info.site if _decays_apart(info, own) else None
    scope = function_around(site.file, site.line) or tree(site.file) if site is not None else None
    if site is None:
        return None
    lines = [
        _last_branch(node).lineno
        for loop in (ast.walk(scope) if scope is not None else ())
        if isinstance(loop, ast.For)
        and loop.lineno < site.line
        and re.search(r"(parameters|modules|children)\(", ast.unparse(loop.iter))
        for node in loop.body
        if isinstance(node, ast.If)
        and not _last_branch(node).orelse
        and ".append(" in ast.unparse(node)
        and not any(part in ast.unparse(node.test) for part in parts)
    ]
    return Place(site.file, min(lines)) if lines else None


def _last_branch(node: ast.If) -> ast.If:
    """The last condition of `if ... elif ...`."""
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
    return node


def _chooses(node: ast.expr) -> bool:
    """Whether an expression takes some of a model's parameters: a comprehension with a condition."""
    return any(
        isinstance(n, ast.comprehension) and n.ifs and "parameters" in ast.unparse(n.iter)
        for n in ast.walk(node)
    )


def gathered_at(site: Any) -> Place | None:
    """Where the parameters that an optimizer gets are put together, when that is not the call
    itself: the assignment of a variable, what a function of the same file returns."""
    root = tree(site.file) if site is not None else None
    call = site.call if root is not None else None
    if root is None or call is None or not isinstance(call._node, ast.Call):
        return None
    given = (
        call._node.args[0]
        if call._node.args
        else next((k.value for k in call._node.keywords if k.arg == "params"), None)
    )
    while (
        isinstance(given, ast.Call)
        and getattr(given.func, "id", "") in ("list", "filter", "tuple")
        and given.args
    ):
        given = given.args[-1]
    for _ in range(4):
        if isinstance(given, ast.Call):
            name = getattr(given.func, "id", getattr(given.func, "attr", ""))
            for f in walk(root):
                if isinstance(f, ast.FunctionDef) and f.name == name:
                    returned = [n for n in ast.walk(f) if isinstance(n, (ast.Return, ast.Yield))]
                    chosen = [
                        n for n in ast.walk(f) if isinstance(n, ast.Assign) and _chooses(n.value)
                    ]
                    if chosen and not any(
                        _chooses(n.value) for n in returned if n.value is not None
                    ):
                        # the last takes what the ones before have left
                        return Place(site.file, max(n.lineno for n in chosen))
                    return Place(site.file, returned[-1].lineno) if returned else None
            return None
        if not isinstance(given, (ast.Name, ast.Attribute)):
            return None
        text = ast.unparse(given)
        function = function_around(site.file, site.line)
        before = [
            a
            for a in assignments(site.file, text, function.lineno if function is not None else 1)
            if a.lineno < site.line
        ]
        if not before:
            return None
        value = max(before, key=lambda a: a.lineno)
        inner = getattr(value, "value", None)
        if (
            isinstance(inner, ast.Call)
            and getattr(inner.func, "attr", "") != "parameters"
            and isinstance(inner.func, ast.Name)
        ):
            given = inner
            if not any(
                isinstance(f, ast.FunctionDef) and f.name == inner.func.id for f in walk(root)
            ):
                return Place(site.file, value.lineno)
            continue
        return Place(site.file, value.lineno)
    return None


def assigned_after(info: OptimizerInfo, script: str, name: str, inside: bool = False) -> Any:
    """The line that assigns something called `name` (a variable unless `inside`, an attribute, an
    element) after an optimizer was made.
    """
    site = info.site
    files = [site.file] if site is not None else []
    files += [script] if script and script not in files else []
    found: list[tuple[int, int, str]] = []
    for file in files:
        root = tree(file)
        if root is None:
            continue
        makers = [f for f in walk(root) if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
        for node in walk(root):
            if not isinstance(node, (ast.stmt, ast.expr)):
                continue
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            for t in [
                e
                for x in targets
                for e in (x.elts if isinstance(x, (ast.Tuple, ast.List)) else [x])
            ]:
                if not _called(t, name) or inside and isinstance(t, ast.Name):
                    continue
                in_init = any(f.lineno <= node.lineno <= (f.end_lineno or 0) for f in makers)
                here = (
                    any(f.lineno <= site.line <= (f.end_lineno or 0) for f in makers)
                    if site is not None
                    else False
                )
                if in_init and not here:
                    continue
                after = site is not None and file == site.file and node.lineno > site.line
                if in_init and not after:
                    continue
                found.append((0 if after else 1, node.lineno, file))
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
                "setattr",
                "add_module",
                "register_parameter",
            ):
                if any(getattr(a, "value", None) == name for a in node.args):
                    found.append((0, node.lineno, file))
    # What stands before the optimizer in the same function has run before it; what stands in
    # another function may have run later.
    same = [f for f in found if f[0] == 0]
    if not same and site is not None:
        same = [f for f in found if f[2] != site.file or not _same_function(site, f[1])]
    return _called_from(site, Place(min(same)[2], min(same)[1])) if same else None


def put_in_place(files: list[str]) -> Place | None:
    """The only call that puts loaded tensors in the place of parameters:
    `load_state_dict(..., assign=True)`.
    """
    found = [
        Place(file, node.lineno)
        for file in files
        if (root := tree(file)) is not None
        for node in walk(root)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "load_state_dict"
        and any(
            k.arg == "assign" and getattr(k.value, "value", None) is True for k in node.keywords
        )
    ]
    return found[0] if len(found) == 1 else None


def _called_from(site: Any, place: Place) -> Place:
    """Where a function or method is called that replaces parts of a model, if the optimizer is not the same
    object's: there it has to be made anew.
    """
    root = tree(place.file)
    function = function_around(place.file, place.line)
    if (
        root is None
        or function is None
        or site is None
        or site.file != place.file
        or function.name == "__init__"
    ):
        return place
    owner = next(
        (c for c in walk(root) if isinstance(c, ast.ClassDef) and function in c.body), None
    )
    first, last = (0, 0) if owner is None else (owner.lineno, owner.end_lineno or 0)
    if first <= site.line <= last or owner is None and _same_function(site, place.line):
        return place
    lines = sorted(
        n.lineno
        for n in walk(root)
        if isinstance(n, ast.Call)
        and getattr(n.func, "id" if owner is None else "attr", "") == function.name
    )
    lines = [line for line in lines if not first <= line <= last and _same_function(site, line)]
    return Place(place.file, lines[0]) if len(lines) == 1 else place


def _called(target: ast.expr, name: str) -> bool:
    if isinstance(target, ast.Name):
        return target.id == name
    if isinstance(target, ast.Attribute):
        return target.attr == name
    if isinstance(target, ast.Subscript):
        try:
            index = ast.literal_eval(target.slice)
        except (ValueError, TypeError):
            return False
        return str(index) == name or isinstance(index, int) and index < 0 and name.isdigit()
    return False


def _same_function(site: Any, line: int) -> bool:
    code = site.code
    if code.co_name == "<module>":
        return function_around(site.file, line) is None
    lines = [p[0] for p in code.co_positions() if p[0] is not None]
    return bool(lines) and min(lines) <= line <= max(lines)


def _left_out(recorder: Any, root: Any, tensor: Any) -> Place | None:
    """What a `parameters` of the model's own returns, if it does not give this parameter."""
    function = getattr(type(root), "parameters", None)
    code = getattr(function, "__code__", None)
    if (
        code is None
        or recorder.is_library(code.co_filename)
        or any(p is tensor for p in root.parameters())
    ):
        return None
    node = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
    lines = (
        [n.lineno for n in ast.walk(node) if isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom))]
        if node is not None
        else []
    )
    return Place(code.co_filename, lines[-1] if lines else code.co_firstlineno)


class ParamNotInOptimizer(_Leaves):
    """A parameter that gets gradients and is in no optimizer stays what it was."""

    slug = "param-not-in-optimizer"
    id = "PL503"
    severity = "warning"
    summary = "a parameter is used but missing from the optimizer"
    covered = ("step-without-backward",)

    ops: ClassVar[tuple[str, ...]] = (*_Leaves.ops, "requires_grad", "requires_grad_")

    def __init__(self) -> None:
        super().__init__()
        # by leaf: (group, place, how, name), taken while the leaf lives
        self._facts: dict[int, Any] = {}
        # by leaf: where its layer was made, inside of a forward
        self._made_anew: dict[int, Any] = {}
        self._anew: dict[Any, set[int]] = {}  # by that place: the leaves that got a gradient
        # by optimizer that steps: how many of its groups have no parameters
        self._empty: dict[int, int] = {}
        # by leaf: where it was unfrozen after an optimizer was made
        self._freed: dict[int, Any] = {}
        self._last: set[int] = set()  # the leaves that the last backward reached
        # by optimizer: where it stepped, and its backward had reached none of its parameters
        self._vain: dict[int, Any] = {}
        self._single = Anew(self)

    def on_op(self, op: Op) -> None:
        """Parameters that are unfrozen when the optimizer is there already."""
        if op.name in ("requires_grad", "requires_grad_"):
            if (
                op.args.get("value", op.args.get("requires_grad", True)) is True
                and op.inputs
                and self.optimizers
            ):
                if not op.inputs[0].requires_grad or op.inputs[0].id in self._facts:
                    self._freed[op.inputs[0].id] = chooser(self.session.recorder)
                    self._facts.pop(op.inputs[0].id, None)
            return
        super().on_op(op)

    def on_module_exit(self, call: ModuleCall) -> None:
        """A layer that is made in the forward that calls it: the next one makes another."""
        names = self.session.recorder.names
        if (
            names.within
            and number_of(call.module) in names.within
            and call.grad_enabled
            and call.module is not None
        ):
            site = names.site_of(call.module)
            for p in call.module._parameters.values() if site is not None else ():
                if p is not None and len(self._made_anew) < 4096:
                    self._made_anew[self.session.recorder.value(p).id] = site

    def on_backward(self, event: Backward) -> None:
        """Which of these get gradients."""
        super().on_backward(event)
        self._last = {a.value.id for a in event.accumulated}
        if event.step < 64:
            self._single.see(event, self.changed)
        for a in event.accumulated if self._made_anew else ():
            site = self._made_anew.get(a.value.id)
            if site is None or a.onto:
                continue
            leaves = self._anew.setdefault(site, set())
            if a.value.id not in leaves and len(leaves) < 8:
                leaves.add(a.value.id)
                if len(leaves) == 6 and not leaves & self.held():
                    self.report(
                        site,
                        "a layer is created here in every forward: its weights are new each time, no optimizer has them, and whatever they learn "
                        "is lost.",
                        evidence={"shape": list(a.value.shape), "step": event.step},
                        fix="create the layer once, in `__init__`",
                    )

    def on_step(self, event: Step) -> None:
        """Leaves that two backward calls have reached and no step has changed are looked at while
        they live.
        """
        super().on_step(event)
        if event.optimizer.steps < 3 and not self.of[event.optimizer.number] & self._last:
            self._vain.setdefault(event.optimizer.number, event.site)
            if event.optimizer.steps == 2:
                other = of_another(event.optimizer, self.reached, self.held(), self)
                if other is not None and self.replaced(*other) is None:
                    tell_of_another(self, other[1], event, gathered_at(event.optimizer.site))
        if event.optimizer.steps == 1:
            self._empty[event.optimizer.number] = sum(
                not group["params"] for group in event.optimizer.groups
            )
        if event.optimizer.steps < 4 or event.optimizer.steps % 16 == 0:
            for key, value in self.reached.items():
                if self.counts[key] >= 2 and key not in self.changed and key not in self._facts:
                    self._facts[key] = self._look(value)

    def on_error(self, failure: Failure) -> None:
        """A second backward through the graph that an attribute of a module was computed with."""
        if (
            failure.op is None
            or failure.op.name != "backward"
            or "second time" not in str(failure.exception)
        ):
            return
        found = computed(self.session.recorder)
        if found is not None:
            place, name = found
            self.report(
                place,
                f"{made_of_one(name)}; the second backward fails, because the graph of that computation is freed.",
                evidence={"backward": str(failure.site)},
                fix="compute the value first, and make the result a parameter: `nn.Parameter(torch.randn(n) * 0.02)`",
                severity="error",
            )

    def _look(self, value: Value) -> Any:
        if value.tensor is None or not value.tensor.requires_grad:
            return None
        owner = self.owner(value)
        if owner is None:
            found = unregistered(self.session.recorder, value, self.inputs)
        else:
            root, path = owner
            teacher = number_of(root) in self.evaluated and number_of(root) not in self.in_training
            if teacher or self.replaced(value, root, path) is not None:
                return None
            if value.id in self._freed:
                place = self._freed[value.id]
                return (
                    ("freed", str(place)),
                    place,
                    "it was unfrozen after the optimizer was created",
                    value.name or "a tensor",
                )
            hidden = _left_out(self.session.recorder, root, value.tensor)
            if hidden is not None:
                return (
                    ("hidden", str(hidden)),
                    hidden,
                    "the model's own `parameters` method leaves it out",
                    value.name or "a tensor",
                )
            if self._fine_tuned(root):
                return None
            container = self._container(root)
            made = self._late(value, root, path) if container is None else None
            if made is not None:
                return (
                    ("late", str(made)),
                    made,
                    "it was created after the optimizer",
                    value.name or "a tensor",
                )
            found = (
                ("root", number_of(root)) if container is None else ("list", str(container[0])),
                *(container or (None, "")),
            )
        return None if found is None else (*found, value.name or "a tensor")

    def finish(self) -> None:
        """Leaves that were reached again and again and that nothing ever changed."""
        for info in self.optimizers:
            if self._empty.get(info.number) and (place := exhausted(info.site)) is not None:
                self.report(
                    place,
                    f"{info.class_name} got a generator of parameters that was already exhausted: {self._empty[info.number]} of its groups "
                    "have no parameters, so nothing is trained.",
                    evidence={
                        "optimizer": str(info.site),
                        "empty_groups": self._empty[info.number],
                    },
                    fix="keep a list: `params = list(model.parameters())`",
                )
                return
        self._single.tell(self.held() | self.changed | self.read | self.loaded | self.inputs)
        groups: dict[Any, list[int]] = {}
        for key, facts in self._facts.items():
            if (
                facts is None
                or key in self.changed
                or key in self.read
                or key in self.loaded
                or key in self.held()
            ):
                continue
            if self.mates[key] & self.changed:
                groups.setdefault(facts[0], []).append(key)
        for keys in groups.values():
            _, site, how, _ = self._facts[keys[0]]
            self._tell(site, keys, how)
        if not groups:
            held = self.held() | self.changed | self.read | self.loaded
            left = [k for k, facts in self._facts.items() if facts is not None and k not in held]
            found = given_twice(self.optimizers, self.of, self._vain)
            if left and found is not None:
                tell_twice(self, *found, [self._facts[k][3] for k in left])

    def _container(self, root: Any) -> tuple[Any, str] | None:
        """The list or dict of a module's that hides a model from it."""
        for module in self.session.recorder.names.alive():
            for name, held in vars(module).items():
                if name.startswith("_") or not isinstance(held, (list, tuple, dict)):
                    continue
                if any(x is root for x in (held.values() if isinstance(held, dict) else held)):
                    place = attribute_place(self.session.recorder, module, name)
                    kind = "nn.ModuleDict" if isinstance(held, dict) else "nn.ModuleList"
                    return (
                        place,
                        f"`self.{name}` is a plain {type(held).__name__}, which a module does not search; {kind} registers them",
                    )
        return None

    def _late(self, value: Value, root: Any, path: str) -> Any:
        """Where a layer was made, if the optimizer that trains the rest of its model was there
        before it.
        """
        owner = root
        for part in path.split(".")[:-1]:
            owner = owner._modules.get(part)
            if owner is None:
                return None
        names = self.session.recorder.names
        own = {self.session.recorder.value(p).id for p in root.parameters()}
        trains = [info for info in self.optimizers if own & self.of.get(info.number, set())]
        if not trains or not all(self._before(info, owner) for info in trains):
            return None
        for part in reversed(path.split(".")[:-1]):
            place = assigned_after(trains[0], self.session.script, part, True)
            if place is not None:
                return place
        return names.site_of(owner) or attribute_place(
            self.session.recorder, root, path.split(".")[0]
        )

    def _before(self, info: OptimizerInfo, module: Any) -> bool:
        """Whether an optimizer was made before a module."""
        return number_of(module) not in self._there.get(info.number, {number_of(module)})

    def _fine_tuned(self, root: Any) -> bool:
        """Whether only the last parts of a model were given to the optimizer, and all before them
        stay as they are. Groups that differ in whether they decay are for all parameters.
        """
        value = self.session.recorder.value
        ids = {value(p).id for p in root.parameters()}
        parts = {name for name, _ in root.named_children()}
        if any(_sorted_out(info, ids, parts) is not None for info in self.optimizers):
            return False
        trained = [
            c
            for _, c in root.named_children()
            if any(value(p).id in self.changed for p in c.parameters())
        ]
        if len(trained) != 1 and not any(_chosen(info) for info in self.optimizers):
            return False
        states = []
        for _, child in root.named_children():
            params = [value(p).id in self.changed for p in child.parameters() if p.requires_grad]
            if params:
                states.append(all(params) if any(params) else False)
                if any(params) and not all(params):
                    return False
        own = [p for p in root._parameters.values() if p is not None and p.requires_grad]
        if any(value(p).id not in self.changed for p in own):
            return False
        return len(states) > 1 and True in states and states == sorted(states)

    def _tell(self, site: Any, keys: list[int], how: str) -> None:
        mates = {m for key in keys for m in self.mates[key]}
        best = max(
            self.optimizers, key=lambda o: len(self.of.get(o.number, set()) & mates), default=None
        )
        if best is None:
            return
        names = [self._facts[key][3] for key in keys]
        one = len(names) == 1
        sorted_out = _sorted_out(best, mates, set())
        self.report(
            site or sorted_out or gathered_at(best.site) or best.site,
            f"{names[0] if one else f'{names[0]} and {len(names) - 1} more'} got gradients in every step and "
            f"{'is' if one else 'are'} in no optimizer: nothing trains {'it' if one else 'them'}{'; ' + how if how else ''}.",
            evidence={
                "parameters": names[:8],
                "backward_calls": self.counts[keys[0]],
                "optimizer": f"{best.class_name} at {best.site}",
            },
            fix="remove the override, or make it return every parameter that should be trained"
            if "own `parameters`" in how
            else f"give it to the optimizer, too: `{best.name or 'optimizer'}.add_param_group(...)`, or create the optimizer later"
            if "optimizer" in how
            else "register it with the model, so that `model.parameters()` includes it"
            if how
            else f"give it to {best.class_name}, or freeze it with `requires_grad_(False)` if it should stay as it is",
        )
