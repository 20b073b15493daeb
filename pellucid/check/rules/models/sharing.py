"""One set of parameters used where several were intended."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from ...events import ModuleCall, Op, OptimizerInfo, Step, Value
from ...numbers import number_of
from ...recording.hooks import LIBRARY
from ...rule import Rule
from ..source.places import (
    Place,
    assignments,
    attribute_place,
    is_users,
    member_place,
    scopes,
    tree,
    walk,
)

_APART = frozenset(
    """target targets teacher ema momentum old frozen ref reference best backup initial snapshot previous prev average averaged avg copy
    swa slow stale saved""".split()
)
"""Words in a name that promise a thing of its own beside the one that is trained."""
_SNAPSHOTS = frozenset(
    "ema shadow best backup initial init snapshot previous prev average averaged avg swa saved old".split()
)
"""The same of a list or dictionary of tensors."""


class ParamShared(Rule):
    """The same parameters at several places of a model, or under a name that promises others, where
    copies were meant.
    """

    slug = "param-shared"
    id = "PL505"
    severity = "warning"
    summary = "one parameter where several were intended"
    ops = ("copy", "sub", "detach", "data", "stack", "add", "mul", "div")

    def __init__(self) -> None:
        self._looked: set[int] = set()
        self._compared: set[int] = set()
        self._steps = 0
        # by id of what a parameter was detached to: where, and in which step
        self._detached: dict[int, tuple[Any, int]] = {}
        # by id of such a tensor times a number: the memory of the parameter, where and when kept
        self._scaled: dict[int, tuple[Any, Any, int]] = {}
        # by id of a sum: the same of what was added last
        self._sums: dict[int, tuple[Any, Any, int]] = {}
        self._told: set[Any] = set()

    # ---- when to look ------------------------------------------------------------------------------------------------
    def on_module_enter(self, call: ModuleCall) -> None:
        """A model is called for the first time."""
        if call.parent is None and number_of(call.module) not in self._looked:
            self._looked.add(number_of(call.module))
            self._look(call.module)
        if call.parent is None and number_of(call.module) not in self._compared:
            self._compared.add(number_of(call.module))
            self._whole(call.module)

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Models of which no module call is seen."""
        for root in self.session.recorder.names.roots():
            if number_of(root) not in self._looked:
                self._looked.add(number_of(root))
                self._look(root)

    def on_step(self, event: Step) -> None:
        """Names that promise another model than the one that this step trains."""
        self._steps += 1
        n = self._steps
        if n == 2:
            self._same_memory()
        if n <= 2 or n & (n - 1) == 0:
            self._aliases({v.id for v in event.optimizer.params()})

    # ---- inside a model ----------------------------------------------------------------------------------------------
    def _look(self, root: Any) -> None:
        recorder = self.session.recorder
        title = recorder.names.root_name(root)
        holders: dict[tuple[type, str], dict[int, list[tuple[str, Any, Any]]]] = {}
        for path, module in root.named_modules():
            name = f"{title}{'.' + path if path else ''}"
            if type(module).__name__ in (
                "Sequential",
                "ModuleList",
                "ModuleDict",
                "ParameterList",
                "ParameterDict",
            ):
                self._container(module, name)
            elif is_users(recorder, module):
                self._default(module, name)
                self._attributes(module, name)
                for key, child in module._modules.items():
                    if child is not None:
                        holders.setdefault((type(module), key), {}).setdefault(
                            id(child), []
                        ).append((name, child, module))
        for (kind, key), children in holders.items():
            for places in children.values():
                self._handed(kind, key, places)
        self._memory(root, title)

    def _container(self, module: Any, name: str) -> None:
        places: dict[Any, list[str]] = {}
        held = {**module._modules, **module._parameters}
        for key, child in held.items():
            own = (
                []
                if child is None
                else [id(child)]
                if key in module._parameters
                else [id(p) for p in child.parameters()]
            )
            if own:
                # Copies that share all they have: of one parameter alone it may be a tie, as that
                # of an embedding and an output layer.
                places.setdefault((type(child), *own) if len(own) > 1 else id(child), []).append(
                    key
                )
        recorder = self.session.recorder
        for keys in places.values():
            if len(keys) < 2:
                continue
            child = held[keys[0]]
            made = recorder.names.site_of(module)
            site = repeated_at(recorder.names.site_of(child), recorder) or repeated_at(
                made, recorder
            )
            if site is None and held[keys[1]] is not child:
                site = copied_at(made.file if made is not None else "") or copied_at(
                    self.session.script
                )
            if site is None:
                site = (
                    appended_at(made, name.split(".")[-1])
                    or repeated_in(made.file if made is not None else "")
                    or made
                )
            if site is None or _says_shared(site):
                continue
            self._tell(
                site,
                child,
                f"{name} has the same {type(child).__name__} at {_listed(keys)}",
                [f"{name}.{k}" for k in keys],
            )

    def _default(self, module: Any, name: str) -> None:
        """`def __init__(self, layer=nn.Linear(8, 8))`: made once, when the class is."""
        for parameter in _parameters(module):
            for key, child in module._modules.items():
                if (
                    child is None
                    or parameter.default is not child
                    or not any(True for _ in child.parameters())
                ):
                    continue
                others = [
                    m
                    for m in self.session.recorder.names.alive()
                    if m is not module and child in m._modules.values()
                ]
                others = [m for m in others if type(m) is type(module)]
                if others:
                    code = type(module).__init__.__code__
                    self._tell(
                        Place(code.co_filename, code.co_firstlineno),
                        child,
                        f"the default of {parameter.name!r} is one module, created together with the class: all {type(module).__name__} share it",
                        [f"{name}.{key}"],
                    )

    def _attributes(self, module: Any, name: str) -> None:
        """`self.fc2 = self.fc1`, `self.target = self.online`: two names that speak of two modules."""
        items = [
            (k, m, [id(p) for p in m.parameters()])
            for k, m in module._modules.items()
            if m is not None
        ]
        items += [(k, p, [id(p)]) for k, p in module._parameters.items() if p is not None]
        items = [item for item in items if item[2]]
        for i, (first, a, mine) in enumerate(items):
            for second, b, others in items[i + 1 :]:
                alike = a is b and _two_meant(first, second)
                if alike or a is not b and type(a) is type(b) and mine == others and len(mine) > 1:
                    site = attribute_place(self.session.recorder, module, second)
                    if site is not None and not _says_shared(site):
                        self._tell(
                            site,
                            a,
                            f"{name}.{first} and {name}.{second} are the same {type(a).__name__}",
                            [first, second],
                        )

    def _handed(self, kind: type, key: str, places: list[tuple[str, Any, Any]]) -> None:
        """One layer that was given to several modules of a class, each of which keeps it as its
        own.
        """
        child = places[0][1]
        words = set(key.split("_"))
        if (
            len(places) < 2
            or type(child).__module__.partition(".")[0] not in LIBRARY
            or not any(True for _ in child.parameters())
        ):
            return
        if (
            words & {"shared", "tied", "rel", "emb", "embed", "embedding", "pos", "token", "bias"}
            or "Embedding" in type(child).__name__
        ):
            return
        if len({tuple(id(p) for p in holder.parameters()) for _, _, holder in places}) == 1:
            return  # shallow copies of one module, which is told where they are made
        if any(True for _ in child.children()) or any(
            p.default is child for p in _parameters_of(kind)
        ):
            return
        site = self.session.recorder.names.site_of(child)
        if site is not None and not _says_shared(site):
            names = [name for name, _, _ in places]
            self._tell(
                site,
                child,
                f"{len(places)} {kind.__name__} modules have the same {type(child).__name__} as their `{key}`",
                names,
            )

    def _memory(self, root: Any, title: str) -> None:
        """Two parameters in the same memory: `nn.Parameter(x)` twice of one tensor, which it does
        not copy.
        """
        held: dict[Any, tuple[str, Any]] = {}
        for path, p in root.named_parameters():
            at = _pointer(self.session.recorder.value(p)) if p.requires_grad else None
            if at is None:
                continue
            first, other = held.setdefault(at, (path, p))
            if other is not p and not _is_tie(first, path):
                site = member_place(self.session.recorder, root, path)
                if site is not None and not _says_shared(site):
                    self._report(
                        site,
                        f"{title}.{first} and {title}.{path} are two parameters in the same memory: an update of one changes the other.",
                        [first, path],
                        int(p.numel()),
                        "give each its own copy: `nn.Parameter(x.clone())`",
                    )

    # ---- beside a model ----------------------------------------------------------------------------------------------
    def _whole(self, module: Any) -> None:
        """Another model with all the same parameters: `copy.copy` copies none of them."""
        own = [id(p) for p in module.parameters()]
        if len(own) < 2:
            return
        names = self.session.recorder.names
        for other in names.roots():
            if (
                other is not module
                and type(other) is type(module)
                and [id(p) for p in other.parameters()] == own
            ):
                title = names.root_name(module)
                last = title.split(".")[-1]
                files = self.session.recorder.files(self.session.script)
                site = (
                    copied_at(self.session.script, last)
                    or loaded_at(files, last)
                    or copied_at(self.session.script)
                    or loaded_at(files)
                )
                if site is not None and not _says_shared(site):
                    self._tell(
                        site,
                        module,
                        f"{title} and {names.root_name(other)} have the same parameters",
                        [title],
                    )

    def _aliases(self, trained: set[int]) -> None:
        """`target = model`: a second name for the model that is trained."""
        value = self.session.recorder.value
        memory: set[Any] | None = None
        for scope, file in scopes(self.session.recorder, self.session.script):
            for name, thing in list(scope.items()):
                if (
                    isinstance(thing, (dict, list))
                    and 0 < len(thing) <= 1000
                    and _words(str(name)) & _SNAPSHOTS
                ):
                    memory = memory or {
                        _pointer(v)
                        for v in self.session.recorder.values.copy().values()
                        if v.id in trained
                    } - {None}
                    self._living(name, thing, file, memory)
            named: dict[int, list[str]] = {}
            for name, thing in list(scope.items()):
                if callable(getattr(type(thing), "named_parameters", None)):
                    named.setdefault(id(thing), []).append(name)
            for names in named.values():
                apart = [name for name in names if _words(name) & _APART]
                plain = [name for name in names if name not in apart]
                thing = scope[names[0]]
                if (
                    not apart
                    or not plain
                    or not any(value(p).id in trained for p in thing.parameters())
                ):
                    continue
                for name in apart:
                    found = _alias_line(file, name, plain)
                    if found is not None and not _says_shared(found):
                        self._tell(
                            found,
                            thing,
                            f"`{name}` is a second name for `{plain[0]}`, and trained with it",
                            [plain[0], name],
                        )

    def _living(self, name: str, thing: Any, file: str, memory: set[Any]) -> None:
        """`shadow = {k: p.data for ...}`: what is to be a copy of the parameters is the parameters."""
        Tensor = self.session.engine.Tensor
        tensors = [
            t
            for t in (thing.values() if isinstance(thing, dict) else thing)
            if isinstance(t, Tensor)
        ]
        if not tensors or len(tensors) < len(thing):
            return
        same = sum(
            _pointer(self.session.recorder.value(t)) in memory for t in tensors if t.numel() > 1
        )
        if not same or same < sum(t.numel() > 1 for t in tensors):
            return
        made = [n for target in (f"self.{name}", name) for n in assignments(file, target)]
        line = next(
            (
                n.lineno
                for n in made
                if re.search(r"state_dict|param|\.data|weight", ast.unparse(n.value))
            ),
            None,
        )
        place = Place(file, line) if line is not None else None
        if place is not None and place not in self._told and not _says_shared(place):
            self._told.add(place)
            self._report(
                place,
                f"`{name}` holds the model's own parameters instead of copies: they continue to be trained, and writes to it change the model.",
                [name],
                sum(int(t.numel()) for t in tensors),
                "keep copies: `p.detach().clone()`",
            )

    def _same_memory(self) -> None:
        """`target.data = source.data`: the numbers are not copied, so both models have the same
        ever after.
        """
        value = self.session.recorder.value
        held: dict[Any, list[tuple[Any, str, Value]]] = {}
        for root in self.session.recorder.names.roots():
            for path, p in root.named_parameters():
                v = value(p)
                at = _pointer(v)
                if at is not None:
                    held.setdefault(at, []).append((root, path, v))
        for places in held.values():
            for root, path, v in places:
                made = v.producer
                if (
                    made is None
                    or made.name != "data"
                    or made.site is None
                    or made.site in self._told
                    or _says_shared(made.site)
                ):
                    continue
                other = next((x for x in places if x[0] is not root and x[2].id != v.id), None)
                if other is not None:
                    self._told.add(made.site)
                    names = [
                        f"{self.session.recorder.names.root_name(r)}.{q}"
                        for r, q in ((other[0], other[1]), (root, path))
                    ]
                    self._report(
                        made.site,
                        f"{names[1]} shares the memory of {names[0]} here instead of copying it: an update of one changes the other.",
                        names,
                        v.numel,
                        "copy the values: `target.data.copy_(source.data)`, or `source.data.clone()`",
                    )

    def on_op(self, op: Op) -> None:
        """A saved state that is loaded and is the living one: `best = model.state_dict()` keeps no
        numbers, only the tensors.
        """
        if op.name == "sub":
            self._difference(op)
            return
        if op.name in ("stack", "add", "mul", "div"):
            if any(v.id in self._detached or v.id in self._scaled for v in op.inputs):
                self._averaged(op)
            return
        if op.name in ("detach", "data"):
            out = op.output
            if (
                op.inputs
                and op.inputs[0].is_leaf
                and op.inputs[0].requires_grad
                and out is not None
            ):
                if len(self._detached) < 4096:
                    self._detached[out.id] = op.site, op.step
            return
        source = op.args.get("src")
        if (
            not op.inplace
            or not isinstance(source, Value)
            or not op.inputs
            or op.inputs[0].shape != source.shape
        ):
            return
        target = op.inputs[0]
        if (
            not target.is_floating_point
            or target.numel < 2
            or target.dtype != source.dtype
            or op.site is None
            or op.site in self._told
        ):
            return
        at = _pointer(target)
        if at is not None and at == _pointer(source) and "load_state_dict" in op.site.text:
            self._told.add(op.site)
            place = state_taken(op.site)
            if place is None or self._steps < 2:
                return
            self._report(
                place,
                "this state dictionary holds the model's own parameters instead of copies: they continue to be trained, and loading it again "
                "changes nothing.",
                [target.name or "a parameter"],
                target.numel,
                "keep a copy: `copy.deepcopy(model.state_dict())`",
            )

    def _difference(self, op: Op) -> None:
        """`p - slow` where the second is the first under another name: it is always zero."""
        if op.grad_enabled or len(op.inputs) != 2 or op.site in self._told:
            return
        leaf, other = op.inputs
        if not (leaf.is_leaf and leaf.requires_grad):
            leaf, other = other, leaf
        made = self._detached.get(other.id)
        if (
            not leaf.requires_grad
            or leaf.shape != other.shape
            or made is None
            or made[1] == op.step
            or self._steps < 2
        ):
            return
        at = _pointer(leaf)
        if at is not None and at == _pointer(other):
            self._told.add(op.site)
            self._report(
                made[0],
                "this keeps a parameter itself instead of a copy: it changes with the parameter, and their difference is always zero.",
                [leaf.name or "a parameter"],
                leaf.numel,
                "keep a copy: `p.detach().clone()`",
            )

    def _averaged(self, op: Op) -> None:
        """`sum(state[k] for state in states) / n` where all states are one model's own parameters,
        kept at different times: their average is the last of them.
        """
        out = op.output
        if out is None or out.requires_grad:
            return
        terms = []
        for v in op.inputs:
            at = self._scaled.get(v.id)
            made = self._detached.get(v.id)
            if at is None and made is not None:
                at = _pointer(v), *made
            if at is not None and at[0] is not None:
                terms.append(at)
        if op.name in ("mul", "div"):
            if len(op.inputs) == 1 and terms and len(self._scaled) < 4096:
                self._scaled[out.id] = terms[0]
            return
        if op.name == "add":  # what was added when it was new is its value of that time
            old = [at for at in terms if at[2] < op.step]
            terms = [*(self._sums[v.id] for v in op.inputs if v.id in self._sums), *terms]
            if old and len(self._sums) < 4096:
                self._sums[out.id] = old[-1]
        memory, site, _ = terms[0] if terms else (None, None, 0)
        if len(terms) < 2 or site is None or site in self._told:
            return
        if all(at[0] == memory for at in terms) and len({at[2] for at in terms}) > 1:
            self._told.add(site)
            self._report(
                site,
                "what is kept here are the model's own parameters instead of copies: several of these states are averaged, "
                "and all of them are the last one.",
                [op.inputs[0].name or "a parameter"],
                out.numel,
                "keep copies, `copy.deepcopy(model.state_dict())`, or give each participant its own model",
            )

    # ---- telling -----------------------------------------------------------------------------------------------------
    def _tell(self, site: Any, child: Any, seen: str, paths: list[str]) -> None:
        self._report(
            site,
            f"{seen}: one set of parameters instead of {max(2, len(paths))}.",
            paths,
            _count(child),
            "create a new one for each place, or use `copy.deepcopy` (if sharing is intended, give it a variable with a "
            "telling name, or silence this line)",
        )

    def _report(self, site: Any, message: str, paths: list[str], count: int, fix: str) -> None:
        self.report(
            site, message, evidence={"places": paths[:8], "parameters_of_one": count}, fix=fix
        )


def _count(child: Any) -> int:
    """The numbers in a module's parameters, or in a parameter."""
    return int(
        sum(p.numel() for p in child.parameters())
        if hasattr(child, "parameters")
        else child.numel()
    )


def _parameters(module: Any) -> Any:
    return _parameters_of(type(module))


def _parameters_of(kind: type) -> Any:
    try:
        return inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    except (TypeError, ValueError):
        return ()


def _pointer(value: Value) -> Any:
    """Where the elements of a tensor lie, None for tensors of one element."""
    array = value.numpy() if value.numel > 1 and value.dtype in ("float32", "float64") else None
    return (
        None
        if array is None
        else (array.__array_interface__["data"][0], array.shape, array.strides)
    )


def _is_tie(first: str, second: str) -> bool:
    """Whether two paths speak of an embedding and an output layer."""
    return any(
        "emb" in path or "head" in path or "decoder" in path or "lm_" in path
        for path in (first, second)
    )


def _words(name: str) -> set[str]:
    return set(re.split(r"[_\d]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def _alias_line(file: str, name: str, plain: list[str]) -> Any:
    """The line `name = plain`, with a plain variable or attribute on the right."""
    root = tree(file)
    for node in walk(root) if root is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
            if ast.unparse(node.value).split(".")[-1] in plain and any(
                ast.unparse(t).split(".")[-1] == name for t in node.targets
            ):
                return Place(file, node.lineno)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            # online, target = net, net
            for t in node.targets:
                if isinstance(t, ast.Tuple) and any(
                    ast.unparse(x).split(".")[-1] == name for x in t.elts
                ):
                    return Place(file, node.lineno)
    return None


def copied_at(file: str, name: str = "") -> Any:
    """The line with `copy.copy(...)`, of the assignment to `name` if one is given."""
    root = tree(file) if file else None
    for node in walk(root) if root is not None else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("copy.copy", "copy"):
            place = Place(file, node.lineno)
            if not name or re.match(rf"(self\.)?{re.escape(name)}\b", place.text):
                return place
    return None


def loaded_at(files: list[str], name: str = "") -> Any:
    """The line with `load_state_dict(..., assign=True)`, of the model of that name if one is given."""
    for file in files:
        for node in walk(tree(file) or ast.Module([], [])):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "load_state_dict"
            ):
                if any(
                    k.arg == "assign" and getattr(k.value, "value", None) is True
                    for k in node.keywords
                ):
                    if not name or ast.unparse(node.func.value).split(".")[-1] == name:
                        return Place(file, node.lineno)
    return None


_KEEPS = re.compile(
    r"\.state_dict\(\)(\.copy\(\)|\.items\(\)\))?\)?$|^(copy\.)?copy\(.*\.state_dict\(\)"
    r"|^\{\w+: (\w+) for \w+, \3 in .*\.state_dict\(\)\.items\(\)\}$"
)
"""A state, or a shallow copy of one: `model.state_dict()`, `dict(model.state_dict())`."""


def state_taken(site: Any) -> Any:
    """The line `best = model.state_dict()`, where what is loaded at a place is a variable of that
    name.
    """
    root = tree(site.file)
    loaded = None
    for node in walk(root) if root is not None else ():
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("load_state_dict")
            and node.lineno == site.line
            and node.args
        ):
            loaded = ast.unparse(node.args[0]).split(".")[-1]
    for node in walk(root) if root is not None and loaded is not None else ():
        if isinstance(node, ast.Assign) and any(
            loaded in ast.unparse(t).split(".")[-1].split(", ") for t in node.targets
        ):
            text = ast.unparse(node.value)
            if "deepcopy" not in text and _KEEPS.search(text):
                return Place(site.file, node.lineno)
    return None


def _listed(keys: list[str]) -> str:
    return ", ".join(keys[:-1]) + " and " + keys[-1] if len(keys) <= 4 else f"{len(keys)} places"


def _two_meant(first: str, second: str) -> bool:
    """Whether two names tell of two things: fc1 and fc2, online and target."""
    plain = [name.rstrip("0123456789").rstrip("_") for name in (first, second)]
    if plain[0] == plain[1] and first != second:
        return True
    return bool((_words(first) | _words(second)) & _APART)


def _says_shared(site: Any) -> bool:
    """Whether the line's code says so; a comment may speak of something else."""
    text = site.text.lower().partition("#")[0]
    return any(word in text for word in ("shared", "tied", "tie_", "recurrent", "siamese", "same_"))


def repeated_at(site: Any, recorder: Any) -> Any:
    """The line of a `[module] * n` or `[module for ...]` that an expression at a place is part of,
    None when there is none.
    """
    root = tree(site.file) if site is not None else None
    for node in walk(root) if root is not None else ():
        if not isinstance(node, ast.expr) or not node.lineno <= site.line <= (node.end_lineno or 0):
            continue
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and isinstance(node.left, (ast.List, ast.Tuple))
        ):
            return Place(site.file, node.lineno)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(
            node.elt, (ast.Name, ast.Attribute)
        ):
            return Place(site.file, node.lineno)
    return None


def repeated_in(file: str) -> Any:
    """The only line of a file that repeats one object: `[layer] * n`,
    `dict.fromkeys(names, layer)`, `itertools.repeat(layer)`.
    """
    root = tree(file) if file else None
    found = []
    for node in walk(root) if root is not None else ():
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and isinstance(node.left, (ast.List, ast.Tuple))
        ):
            if all(isinstance(e, (ast.Name, ast.Attribute, ast.Call)) for e in node.left.elts):
                found.append(Place(file, node.lineno))
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).split(".")[-1] in ("fromkeys", "repeat")
            and len(node.args) == 2
        ):
            found.append(Place(file, node.lineno))
    return found[0] if len(found) == 1 else None


def appended_at(site: Any, name: str) -> Any:
    """The line of a `<name>.append(layer)` in the file of a place, where `layer` is a variable."""
    root = tree(site.file) if site is not None else None
    for node in walk(root) if root is not None else ():
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
