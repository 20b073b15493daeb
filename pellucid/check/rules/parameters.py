"""Parameters: never used, frozen, unknown to the optimizer, replaced behind its back, one in place of several."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from ..events import Backward, Failure, ModuleCall, Op, OptimizerInfo, Site, Step, Update, Value
from ..rule import Rule
from .places import Place, attribute_place, is_users, member_place, tree


class ParamUnused(Rule):
    """A parameter that no operation ever uses learns nothing, and is often a layer that was forgotten in `forward`."""

    slug = "param-unused"
    id = "PL501"
    severity = "warning"
    summary = "a registered parameter never takes part in the loss"

    def __init__(self) -> None:
        self._used: set[int] = set()  # ids of leaves that some operation has read
        self._reached: set[int] = set()  # ids of leaves that got a gradient
        self._patterns: dict[int, set[frozenset[int]]] = {}  # by root module: which leaves its training calls used
        self._now: set[int] | None = None
        self._steps = 0
        self._backwards = 0
        self._found: dict[
            int, tuple[list[tuple[Any, str, list[str], set[int]]], str]
        ] = {}  # by root: what was unused at the last look

    def on_op(self, op: Op) -> None:
        """Leaves among the operands, initialization left out."""
        first = 1 if op.inplace else 0
        for value in op.inputs[first:]:
            if value.is_leaf and value.requires_grad and op.name not in _NO_USE and (op.grad_enabled or op.module is not None):
                self._used.add(value.id)
                if self._now is not None:
                    self._now.add(value.id)

    def on_module_enter(self, call: ModuleCall) -> None:
        """A model begins."""
        if call.parent is None and call.training:
            self._now = set()

    def on_module_exit(self, call: ModuleCall) -> None:
        """Which parameters this call of the model has used."""
        if call.parent is None and self._now is not None:
            patterns = self._patterns.setdefault(id(call.module), set())
            if len(patterns) < 4:
                patterns.add(frozenset(self._now))
            self._now = None

    def on_backward(self, event: Backward) -> None:
        """Leaves that take part in a loss; now and then, what the models have beside them."""
        self._reached.update(a.value.id for a in event.accumulated)
        self._backwards += 1
        n = self._backwards
        if n < 4 or n & (n - 1) == 0:  # models may be gone when the program ends
            for root in self.session.recorder.names.roots():
                self._look(root)

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._steps += 1

    def on_update(self, event: Update) -> None:
        """Something is trained."""
        self._steps += 1

    def finish(self) -> None:
        """Models of which some parameters were trained and others never used."""
        if not self._steps:
            return
        for key, (unused, title) in self._found.items():
            if len(self._patterns.get(key, ())) != 1:  # never called in training, or not always the same parts of it
                continue
            for site, path, members, ids in unused:
                if ids & (self._used | self._reached):
                    continue
                self.report(
                    site,
                    f"{title}.{path} is registered and never used: no operation of the whole run reads "
                    f"{'it' if members == [path] else 'its parameters'}.",
                    evidence={"parameters": [f"{title}.{m}" for m in members][:8], "steps": self.step},
                    fix="use it in `forward`, or take it out of the model",
                )

    def _look(self, root: Any) -> None:
        """The parameters of a model that nothing has used so far."""
        if id(root) not in self._patterns:
            return
        recorder = self.session.recorder
        named = [(path, recorder.value(p)) for path, p in root.named_parameters() if p.requires_grad]
        ids = {path: v.id for path, v in named if v.id not in self._used and v.id not in self._reached}
        if not ids or not any(v.id in self._reached for _, v in named):
            self._found.pop(id(root), None)
            return
        paths = [path for path, _ in named]
        groups: dict[str, list[str]] = {}
        for path in ids:
            parts, best = path.split("."), path
            for k in range(len(parts) - 1, 0, -1):
                prefix = ".".join(parts[:k]) + "."
                if all(p in ids for p in paths if p.startswith(prefix)):
                    best = prefix[:-1]
            groups.setdefault(best, []).append(path)
        unused = [
            (site, path, members, {ids[m] for m in members})
            for path, members in groups.items()
            if (site := member_place(recorder, root, path)) is not None
        ]
        self._found[id(root)] = unused, recorder.names.root_name(root)


_NO_USE = frozenset(
    {"detach", "data", "clone", "requires_grad", "grad", "zeros_like", "ones_like", "randn_like", "empty_like", "rand_like"}
)


class ParamFrozen(Rule):
    """A parameter that is to be trained and does not require a gradient."""

    slug = "param-frozen"
    id = "PL502"
    severity = "error"
    summary = "a parameter is frozen by accident"
    covered = ("step-without-backward",)
    ops = ("requires_grad", "requires_grad_")

    def __init__(self) -> None:
        self._frozen: dict[int, Site | None] = {}  # by id: where requires_grad was last set to False
        self._idle: dict[int, tuple[dict[str, Any], int]] = {}  # by optimizer: what would be reported, steps
        self._looked = False

    def on_op(self, op: Op) -> None:
        """`p.requires_grad = False`, `p.requires_grad_(False)`."""
        wanted = op.args.get("value", op.args.get("requires_grad", True))
        for value in op.inputs[:1]:
            if wanted is False:
                self._frozen[value.id] = op.site
            else:
                self._frozen.pop(value.id, None)

    def on_module_exit(self, call: ModuleCall) -> None:
        """`module.requires_grad = True` only makes an attribute."""
        if call.parent is None and not self._looked and self.step < 3:
            self._typos(call)

    def _typos(self, call: ModuleCall) -> None:
        recorder = self.session.recorder
        module = call.module
        if module is None or not hasattr(module, "named_modules"):
            return
        for path, m in module.named_modules():
            wanted = vars(m).get("requires_grad")
            if isinstance(wanted, bool):
                params = list(m.parameters())
                wrong = [p for p in params if p.requires_grad is not wanted]
                if wrong:
                    self._attribute(call, path, ".requires_grad", wanted, len(wrong))
        for path, p in module.named_parameters():
            for name in _MISSPELLED:
                wanted = getattr(p, "__dict__", {}).get(name)
                if isinstance(wanted, bool) and p.requires_grad is not wanted:
                    self._attribute(call, path, "." + name, wanted, 1)
                    return
        del recorder

    def _attribute(self, call: ModuleCall, path: str, name: str, wanted: bool, count: int) -> None:
        site = self._assigned(call, name)
        self._looked = True
        what = f"{call.path}.{path}" if path else call.path
        kind = "a module has no such switch" if name == ".requires_grad" else "the attribute of a tensor is called `requires_grad`"
        self.report(
            site or call.site,
            f"setting `{name[1:]}` on {what} has no effect ({kind}): its parameters {'stay frozen' if wanted else 'are still trained'}.",
            evidence={"set_to": wanted, "parameters": count},
            fix=f"`module.requires_grad_({wanted})` for all parameters of a module, `p.requires_grad = {wanted}` for one",
        )

    def _assigned(self, call: ModuleCall, name: str) -> Any:
        """The line that assigns such an attribute, in the files of the script and of the model."""
        files = [self.session.script, call.site.file if call.site is not None else ""]
        for file in dict.fromkeys(f for f in files if f):
            root = tree(file)
            for node in ast.walk(root) if root is not None else ():
                if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) and t.attr == name[1:] for t in node.targets):
                    target = next(t for t in node.targets if isinstance(t, ast.Attribute))
                    text = ast.unparse(target.value)
                    loop = any(
                        isinstance(f, (ast.For, ast.comprehension))
                        and text in ast.unparse(f.target)
                        and "parameters" in ast.unparse(f.iter)
                        for f in ast.walk(root)
                    )
                    if name != ".requires_grad" or not loop:
                        return Place(file, node.lineno)
        return None

    def on_error(self, failure: Failure) -> None:
        """Backward has nothing to reach because every parameter of the loss is frozen."""
        op = failure.op
        if op is None or op.name != "backward" or not op.inputs or any(v.requires_grad for v in op.inputs):
            return
        frozen: list[Value] = []
        waiting, seen = list(op.inputs), set()
        while waiting:
            value = waiting.pop()
            if value.is_leaf and value.number not in seen and value.parameter is not None:
                frozen.append(value)
            elif value.producer is not None and value.number not in seen:
                made = value.producer
                if any(v.requires_grad for v in made.inputs):
                    return  # cut somewhere, not frozen
                waiting.extend(made.inputs)
            seen.add(value.number)
        if frozen:
            self._tell(frozen, failure.site, "backward finds nothing to differentiate: all parameters of the loss are frozen")

    def on_step(self, event: Step) -> None:
        """An optimizer all of whose parameters are frozen."""
        info = event.optimizer
        values = info.params()
        if values and not any(v.requires_grad for v in values):
            held = self._idle.get(info.number)
            if held is None:
                title = info.name or "optimizer"
                held = self._told(values, event.site, f"{title} steps and all its parameters are frozen"), 0
            self._idle[info.number] = held[0], held[1] + 1
        else:
            self._idle.pop(info.number, None)

    def finish(self) -> None:
        """Optimizers that had nothing to train to the end."""
        for what, count in self._idle.values():
            if count >= 2:
                self.report(**what)

    def _tell(self, frozen: list[Value], symptom: Site | None, seen: str) -> None:
        self.report(**self._told(frozen, symptom, seen))

    def _told(self, frozen: list[Value], symptom: Site | None, seen: str) -> dict[str, Any]:
        place: Any = next((self._frozen[v.id] for v in frozen if v.id in self._frozen), None)
        names = sorted(v.name or "a tensor" for v in frozen)
        return {
            "site": place or self._defined(frozen[0]) or symptom,
            "message": f"{seen}; {names[0]} was frozen here.",
            "evidence": {"parameters": names[:8], "frozen": len(frozen), "used_at": str(symptom)},
            "fix": "freeze only what is to stay as it is: exclude the part that is trained, or set `requires_grad_(True)` on it",
            "covers": [symptom],
        }

    def _defined(self, value: Value) -> Any:
        tensor, recorder = value.tensor, self.session.recorder
        for root in recorder.names.roots():
            for path, p in root.named_parameters():
                if p is tensor:
                    return member_place(recorder, root, path)
        return None


_MISSPELLED = ("require_grad", "required_grad", "requires_grads", "require_grads", "requiresgrad", "requires_gradient", "trainable")


class ParamShared(Rule):
    """The same module at several places of a model: its parameters are shared, where copies were meant."""

    slug = "param-shared"
    id = "PL505"
    severity = "warning"
    summary = "one parameter where several were meant"

    def __init__(self) -> None:
        self._looked: set[int] = set()

    def on_module_enter(self, call: ModuleCall) -> None:
        """A model is called for the first time."""
        if call.parent is None and id(call.module) not in self._looked:
            self._looked.add(id(call.module))
            self._look(call.module)

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Models of which no module call is seen."""
        for root in self.session.recorder.names.roots():
            if id(root) not in self._looked:
                self._looked.add(id(root))
                self._look(root)

    def _look(self, root: Any) -> None:
        recorder = self.session.recorder
        for path, module in root.named_modules():
            name = f"{recorder.names.root_name(root)}{'.' + path if path else ''}"
            if type(module).__name__ in ("Sequential", "ModuleList", "ModuleDict"):
                self._container(module, name)
            elif is_users(recorder, module):
                self._default(module, name)
                self._attributes(module, name)

    def _container(self, module: Any, name: str) -> None:
        places: dict[int, list[str]] = {}
        for key, child in module._modules.items():
            if child is not None and any(True for _ in child.parameters()):
                places.setdefault(id(child), []).append(key)
        for keys in places.values():
            if len(keys) < 2:
                continue
            child = module._modules[keys[0]]
            recorder = self.session.recorder
            site = repeated_at(recorder.names.site_of(child), recorder) or repeated_at(recorder.names.site_of(module), recorder)
            if site is None:
                site = appended_at(recorder.names.site_of(module), name.split(".")[-1]) or recorder.names.site_of(module)
            if site is None or _says_shared(site):
                continue
            self._tell(site, child, f"{name} has the same {type(child).__name__} at {_listed(keys)}", [f"{name}.{k}" for k in keys])

    def _default(self, module: Any, name: str) -> None:
        """`def __init__(self, layer=nn.Linear(8, 8))`: made once, when the class is."""
        try:
            parameters = inspect.signature(type(module).__init__).parameters.values()
        except (TypeError, ValueError):
            return
        for parameter in parameters:
            for key, child in module._modules.items():
                if child is None or parameter.default is not child or not any(True for _ in child.parameters()):
                    continue
                others = [m for m in self.session.recorder.names.alive() if m is not module and child in m._modules.values()]
                others = [m for m in others if type(m) is type(module)]
                if others:
                    code = type(module).__init__.__code__
                    self._tell(
                        Place(code.co_filename, code.co_firstlineno),
                        child,
                        f"the default of {parameter.name!r} is one module, made when the class was: all {type(module).__name__} share it",
                        [f"{name}.{key}"],
                    )

    def _attributes(self, module: Any, name: str) -> None:
        """`self.fc2 = self.fc1`, `self.target = self.online`: two names that speak of two modules."""
        items = [(k, m) for k, m in module._modules.items() if m is not None and any(True for _ in m.parameters())]
        for i, (first, a) in enumerate(items):
            for second, b in items[i + 1 :]:
                if a is b and _two_meant(first, second):
                    site = attribute_place(self.session.recorder, module, second)
                    if site is not None and not _says_shared(site):
                        self._tell(site, a, f"{name}.{first} and {name}.{second} are the same {type(a).__name__}", [first, second])

    def _tell(self, site: Any, child: Any, seen: str, paths: list[str]) -> None:
        count = sum(p.numel() for p in child.parameters())
        self.report(
            site,
            f"{seen}: one set of parameters instead of {max(2, len(paths))}.",
            evidence={"places": paths[:8], "parameters_of_one": int(count)},
            fix="make a new module for each place, or `copy.deepcopy` one (sharing on purpose: say so in a variable's name, or silence this line)",
        )


def _listed(keys: list[str]) -> str:
    return ", ".join(keys[:-1]) + " and " + keys[-1] if len(keys) <= 4 else f"{len(keys)} places"


def _two_meant(first: str, second: str) -> bool:
    """Whether two names tell of two things: fc1 and fc2, online and target."""
    plain = [name.rstrip("0123456789").rstrip("_") for name in (first, second)]
    if plain[0] == plain[1] and first != second:
        return True
    apart = ("target", "teacher", "ema", "momentum", "old", "frozen")
    return any(word in second.split("_") for word in apart) or any(word in first.split("_") for word in apart)


def _says_shared(site: Any) -> bool:
    text = site.text.lower()
    return any(word in text for word in ("shared", "tied", "tie_", "recurrent", "siamese", "same_"))


def repeated_at(site: Any, recorder: Any) -> Any:
    """The line of a `[module] * n` or `[module for ...]` that an expression at a place is part of, None when there is none."""
    root = tree(site.file) if site is not None else None
    for node in ast.walk(root) if root is not None else ():
        if not isinstance(node, ast.expr) or not node.lineno <= site.line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, (ast.List, ast.Tuple)):
            return Place(site.file, node.lineno)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, (ast.Name, ast.Attribute)):
            return Place(site.file, node.lineno)
    return None


def appended_at(site: Any, name: str) -> Any:
    """The line of a `<name>.append(layer)` in the file of a place, where `layer` is a variable."""
    root = tree(site.file) if site is not None else None
    for node in ast.walk(root) if root is not None else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "insert", "add_module")
        ):
            if (
                ast.unparse(node.func.value).split(".")[-1] == name
                and node.args
                and isinstance(node.args[-1], (ast.Name, ast.Attribute))
            ):
                return Place(site.file, node.lineno)
    return None
