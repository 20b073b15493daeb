"""Parameters that are frozen for a while and never unfrozen, and new ones that are frozen by the line
that freezes what was loaded.
"""

from __future__ import annotations

import ast
import sys
import weakref
from typing import Any

from ...events import Loaded, OptimizerInfo, Step, Value
from ...recording.names import locals_of
from ...recording.signatures import RANDOM
from ..source.places import Place, function_around, tree, walk
from .frozen_names import test_around

# what else layers are made with; PyTorch tells of two of its initializers by their own names
_INITIAL = frozenset({"fill", "zero", "zeros", "ones", "empty", "constant", "kaiming_uniform"})
_MOST = 20_000  # parameters


class Waiting:
    """Parameters that are frozen for a while, and whose time never ends."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        # with parameters that were free when they were made
        self.optimizers: list[OptimizerInfo] = []
        self.idle: dict[
            int, tuple[Any, list[str]]
        ] = {}  # by optimizer that has never stepped: where its parameters were frozen, their names
        self.lines: set[tuple[str, int]] = set()  # that have led to an unfreezing
        self.tests: list[tuple[str, ast.If]] | None = None
        self.told = False
        self.groups: dict[
            int, tuple[Any, list[Value], int]
        ] = {}  # by optimizer: a group with a rate of its own that is frozen from the beginning

    def grouped(self, info: OptimizerInfo) -> None:
        """At the second step: a group that was given a rate, and of which all is frozen."""
        groups = info.groups
        value = self.rule.session.recorder.value
        for group in groups if len({g.get("lr") for g in groups}) > 1 else ():
            values = [value(p) for p in group["params"]]
            places = [self.rule.frozen_at(v) for v in values]
            if values and all(place is not None for place in places):
                self.groups[info.number] = places[0], values, info.number

    def made(self, info: OptimizerInfo) -> None:
        """An optimizer is made."""
        if any(v.requires_grad for v in info.params()):
            self.optimizers.append(info)

    def thawed(self) -> None:
        """A parameter is unfrozen."""
        if len(self.lines) < 200:
            self.lines.update(site.key for site in self.rule.session.recorder.callers())

    def step(self, event: Step) -> None:
        """Something is trained."""
        n = event.optimizer.steps
        if n < 8 or n & (n - 1):
            return
        for info in self.optimizers:
            if info is event.optimizer or info.steps:
                continue
            values = info.params()
            places = [self.rule.frozen_at(v) for v in values]
            if values and all(place is not None for place in places):
                self.idle[info.number] = places[0], [v.name or "a parameter" for v in values[:8]]
            else:
                self.idle.pop(info.number, None)
        if not self.told:
            self.missed()

    def missed(self) -> None:
        """`if epoch == START:` around an unfreezing, which the run has passed without being there."""
        recorder = self.rule.session.recorder
        if self.tests is None:
            self.tests = [
                (file, node)
                for file in recorder.files(self.rule.session.script)
                for node in walk(tree(file) or ast.Module([], []))
                if isinstance(node, ast.If)
                and isinstance(getattr(node.test, "ops", [None])[0], ast.Eq)
                and _unfreezes(node)
            ]
        frame: Any = sys._getframe(1) if self.tests else None
        while frame is not None:
            for file, node in self.tests:
                last = max(getattr(n, "end_lineno", 0) or 0 for n in node.body)
                code = frame.f_code
                if code.co_filename != file or not any(
                    p[0] == node.lineno for p in code.co_positions()
                ):
                    continue
                if any(f == file and node.lineno <= line <= last for f, line in self.lines):
                    continue
                test: Any = node.test
                space = {**frame.f_globals, **locals_of(frame)}
                now, then = _number(test.left, space), _number(test.comparators[0], space)
                if now is not None and then is not None and now > then:
                    self.told = True
                    held = [
                        v
                        for v, _ in self.rule._frozen.values()
                        if (t := v.tensor) is not None and not t.requires_grad
                    ]
                    frozen = [v.name or "a parameter" for v in held]
                    if frozen:
                        self.rule.report(
                            Place(file, node.lineno),
                            f"`{ast.unparse(test)}` was never true, and now it is {now} and past {then}: the parameters "
                            "that should be unfrozen here stay frozen.",
                            evidence={"frozen": len(frozen), "parameters": frozen[:8]},
                            fix=f"`{ast.unparse(test.left)} >= {ast.unparse(test.comparators[0])}`, so that a resumed run reaches it too",
                        )
                    return
            frame = frame.f_back

    def not_restored(self) -> None:
        """Frozen by a function that has a line to unfreeze them again, which never does, while
        their optimizer goes on.
        """
        held = [
            (v, site)
            for v, site in self.rule.frozen_sites()
            if (t := v.tensor) is not None and not t.requires_grad
        ]
        stepped = [info.params() for info in self.optimizers if info.steps > 1]
        going = [values for values in stepped if any(v.requires_grad for v in values)]
        given = {v.id for values in going for v in values}
        held = [(v, site) for v, site in held if v.id in given]
        for site in dict.fromkeys(site for _, site in held):
            function = function_around(site.file, site.line)
            if function is None or not _thaws(function):
                continue
            last = function.end_lineno or function.lineno
            if (
                any(f == site.file and function.lineno <= line <= last for f, line in self.lines)
                or site in self.rule._told
            ):
                continue
            self.rule._told.add(site)
            own = [v for v, s in held if s == site]
            self.rule.report(
                _loop_around(site) or site,
                f"{own[0].name or 'a parameter'} and {len(own) - 1} more are frozen here while their optimizer keeps stepping, and the lines of "
                f"`{function.name}` that should unfreeze them again never do.",
                evidence={"frozen": len(own), "parameters": [n for v in own[:8] if (n := v.name)]},
                fix="keep the parameters in a list: a generator can be iterated only once, and frozen parameters are no longer found by "
                "`if p.requires_grad`",
            )

    def later(self, info: OptimizerInfo) -> None:
        """An optimizer is given what an earlier one was not, and what is frozen all the same."""
        first = next((o for o in self.optimizers if o is not info and o.steps), None)
        if first is None or info.steps or not self.rule._frozen:
            return
        before = {v.id for v in first.params()}
        values = info.params()
        new = [v for v in values if v.id not in before]
        places = [self.rule.frozen_at(v) for v in new]
        if new and before <= {v.id for v in values} and all(place is not None for place in places):
            self.groups[-1 - info.number] = places[0], new, info.number

    def unreachable(self) -> None:
        """`if epoch == EPOCHS:` around an unfreezing, in a loop over range(EPOCHS)."""
        frozen = [
            v.name or "a parameter"
            for v, _ in self.rule.frozen_sites()
            if (t := v.tensor) is not None and not t.requires_grad
        ]
        for file in (
            self.rule.session.recorder.files(self.rule.session.script)
            if frozen and not self.told
            else ()
        ):
            root = tree(file)
            for loop in walk(root) if root is not None else ():
                if (
                    not isinstance(loop, ast.For)
                    or not isinstance(loop.iter, ast.Call)
                    or not loop.iter.args
                ):
                    continue
                end = ast.unparse(loop.iter.args[min(1, len(loop.iter.args) - 1)])
                if ast.unparse(loop.iter.func) != "range":
                    continue
                for node in ast.walk(loop):
                    test = node.test if isinstance(node, ast.If) else None
                    if (
                        not isinstance(test, ast.Compare)
                        or len(test.ops) != 1
                        or not isinstance(node, ast.If)
                        or not _unfreezes(node)
                    ):
                        continue
                    beyond = (
                        isinstance(test.ops[0], (ast.Eq, ast.GtE, ast.Gt))
                        and ast.unparse(test.comparators[0]) == end
                    )
                    if beyond and ast.unparse(test.left) == ast.unparse(loop.target):
                        self.rule.report(
                            Place(file, node.lineno),
                            f"`{ast.unparse(test)}` is never true in a loop over `{ast.unparse(loop.iter)}`: the parameters "
                            "that should be unfrozen here stay "
                            "frozen.",
                            evidence={"frozen": len(frozen), "parameters": frozen[:8]},
                            fix="compare with a value that the loop reaches",
                        )
                        return

    def finish(self) -> None:
        """Optimizers that never stepped, as their parameters were frozen to the end; groups with a
        rate for nothing.
        """
        self.not_restored()
        self.unreachable()
        for place, values, _ in self.groups.values():
            if place not in self.rule._told and all(
                (t := v.tensor) is None or not t.requires_grad for v in values
            ):
                self.rule._told.add(place)
                self.rule.report(
                    place,
                    f"{values[0].name or 'a parameter'}{f' and {len(values) - 1} more' if len(values) > 1 else ''} have their own learning rate "
                    "in the optimizer, and are frozen here from the first step to the last.",
                    evidence={"parameters": [n for v in values[:8] if (n := v.name)]},
                    fix="do not freeze them, or leave them out of the optimizer",
                    severity="warning",
                )
        for info in self.optimizers:
            held = self.idle.get(info.number)
            if held is not None and not info.steps and held[0] not in self.rule._told:
                self.rule._told.add(held[0])
                self.rule.report(
                    held[0],
                    f"the parameters of an optimizer ({info.class_name}) are frozen here, after it was created, and nothing ever unfreezes them: it "
                    "never trains anything.",
                    evidence={"parameters": held[1], "optimizer_at": info.site},
                    fix="unfreeze them again before they are trained: `requires_grad_(True)`",
                )


def _loop_around(site: Any) -> Place | None:
    """The head of the innermost loop around a place."""
    root = tree(site.file)
    loops = (
        [
            n.lineno
            for n in walk(root)
            if isinstance(n, ast.For) and n.lineno <= site.line <= (n.end_lineno or 0)
        ]
        if root
        else []
    )
    return Place(site.file, max(loops)) if loops else None


def _unfreezes(node: ast.If) -> bool:
    """Whether `if a == b:` unfreezes something."""
    if not isinstance(node.test, ast.Compare) or len(node.test.ops) != 1:
        return False
    return _thaws(node)


def _thaws(node: ast.If | ast.FunctionDef) -> bool:
    """Whether one of the statements in a block unfreezes something."""
    for n in ast.walk(ast.Module(node.body, [])):
        if isinstance(n, ast.Assign) and any(
            isinstance(t, ast.Attribute) and t.attr == "requires_grad" for t in n.targets
        ):
            if isinstance(n.value, ast.Constant) and n.value.value is True:
                return True
        if isinstance(n, ast.Call):
            name = getattr(n.func, "attr", getattr(n.func, "id", "")).lower()
            wanted = [
                a.value
                for a in (*n.args, *(k.value for k in n.keywords))
                if isinstance(a, ast.Constant)
            ]
            if (
                "unfreeze" in name
                or "thaw" in name
                or name in ("requires_grad_", "set_requires_grad")
                and False not in wanted
            ):
                return True
    return False


def _number(node: ast.expr, space: dict[str, Any]) -> int | None:
    """The whole number that a name, an attribute or a constant stands for."""
    value: Any = None
    if isinstance(node, ast.Constant):
        value = node.value
    elif isinstance(node, ast.Name):
        value = space.get(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        value = getattr(space.get(node.value.id), "__dict__", {}).get(node.attr)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Fresh:
    """Keeps which parameters have values that something gave them, for a rule. A parameter that has
    none, is frozen together with some that have, and is not the only new one: others are trained.
    """

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self._loaded: dict[int, weakref.ref[Any]] = {}  # by id: its tensor
        # by place: names of what is new there, and how many others are frozen with it
        self._found: dict[Any, tuple[list[Value], int, str]] = {}

    def loaded(self, event: Loaded) -> None:
        """A state was given to a module: all but its missing keys."""
        if len(self._loaded) > _MOST or not event.given:
            return
        missing = set(event.missing)
        taken = [p for path, p in event.module.named_parameters() if path not in missing]
        if len(event.given) == len(event.unexpected):
            return
        value = self.rule.session.recorder.value
        self._loaded.update({value(p).id: weakref.ref(p) for p in taken})

    def _known(self, value: Value) -> bool:
        held = self._loaded.get(value.id)
        return held is not None and held() is value.tensor

    def _new(self, value: Value, stepped: set[int]) -> bool:
        """Whether a parameter has the values that its layer was made with."""
        made = self.rule.session.recorder.filled.get(value.id)
        fresh = made is None or made.name in RANDOM or made.name in _INITIAL
        return fresh and value.id not in stepped and not self._known(value)

    def step(self, stepped: set[int]) -> None:
        """An optimizer goes on with what is not frozen."""
        if not self._loaded:
            return
        recorder = self.rule.session.recorder
        for root in recorder.names.roots():
            values = [recorder.value(p) for p in root.parameters()]
            if not any(v.requires_grad and self._new(v, set()) for v in values):
                continue
            at: dict[Any, tuple[list[Value], int]] = {}
            for v in values:
                place = self.rule.frozen_at(v)
                if place is not None:
                    new, others = at.get(place, ([], 0))
                    known = self._known(v)
                    if self._new(v, stepped):
                        new.append(v)
                    at[place] = new, others + known
            for place, (new, others) in at.items():
                if new and others > len(new):
                    self._found[place] = new, others, recorder.names.root_name(root)

    def finish(self) -> None:
        """None of them was unfrozen later."""
        for place, (new, others, title) in self._found.items():
            if place in self.rule._told or any(self.rule.frozen_at(v) is None for v in new):
                continue
            self.rule._told.add(place)
            names = [v.name or "a parameter" for v in new]
            test = test_around(place)
            more = f" and {len(new) - 1} more" if len(new) > 1 else ""
            self.rule.report(
                Place(place.file, test[0]) if test is not None else place,
                f"{names[0]}{more} of {title} were not loaded from any state, but are frozen here together with {others} parameters that were: they "
                "keep their initial values, and nothing trains them.",
                evidence={"parameters": names[:8], "frozen_with_them": others},
                fix="freeze only what was loaded: compare whole parts of the name, or `model.backbone.requires_grad_(False)`",
                severity="warning",
            )
