"""Graphs of past steps that stay alive, and memory that grows without them."""

from __future__ import annotations

import ast
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

from ...events import (
    VIEWS,
    Backward,
    Failure,
    ModuleCall,
    Op,
    OptimizerInfo,
    Read,
    Site,
    Step,
    Value,
    ancestors,
)
from ...recording.names import locals_of
from ...rule import Rule
from ..source.places import Place, assignments, called_from, function_around, tree, walk
from .growth import kept_by_an_exception, kept_in

ROUNDS = 4  # of steps over which something must be kept
EVALUATED = 8  # calls in one graph that no backward goes through
_TAKES = (
    "append",
    "add",
    "appendleft",
    "insert",
    "extend",
    "setdefault",
    "put",
    "push",
    "__setitem__",
    "update",
)
_PLAIN = (
    "item",
    "detach",
    "tolist",
    "numpy",
    "data",
    "float",
    "int",
    "str",
    "len",
    "print",
    "format",
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


# ---- where a value is put into something that stays ------------------------------------------------------------------
def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that a container literal or a value itself holds as they are."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield from _parts(element)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _parts(value)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("dict", "tuple", "list")
    ):
        for value in (*node.args, *(k.value for k in node.keywords)):
            yield from _parts(value)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("clone", "sum", "mean", "cpu", "squeeze")
    ):
        yield node
        yield from _parts(node.func.value)
    elif isinstance(node, ast.expr):
        yield node


def _sinks(scope: ast.AST) -> Iterator[tuple[ast.stmt | ast.expr, list[ast.expr]]]:
    """(statement or call, what it stores) for everything in a scope that puts a value into a
    container or an object.
    """
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _TAKES
        ):
            yield (
                node,
                [
                    part
                    for a in (*node.args, *(k.value for k in node.keywords))
                    for part in _parts(a)
                ],
            )
        elif isinstance(node, ast.Assign):
            if any(isinstance(t, (ast.Subscript, ast.Attribute)) for t in node.targets):
                yield node, list(_parts(node.value))
            elif (
                len(node.targets) == 1
                and isinstance(node.value, ast.BinOp)
                and isinstance(node.value.right, (ast.List, ast.Tuple))
            ):
                yield node, list(_parts(node.value.right))
        elif isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.Tuple)):
            yield node, list(_parts(node.value))


def _names_at(scope: ast.AST, line: int) -> set[str]:
    """The variables and attributes that the statement over a line assigns."""
    found: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.lineno <= line <= (
            node.end_lineno or node.lineno
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for t in targets:
                found.update(
                    ast.unparse(x)
                    for x in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])
                )
    return found


def _scope(root: ast.Module, line: int) -> ast.AST:
    """The innermost function around a line, else the module."""
    best: ast.AST = root
    for node in walk(root):
        if (
            isinstance(node, _FUNCTIONS)
            and node.lineno <= line <= (node.end_lineno or 0)
            and node.lineno > getattr(best, "lineno", 0)
        ):
            best = node
    return best


def _calls(node: ast.AST, function: str) -> bool:
    """Whether an expression is a call of a function or method of that name."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return getattr(called, "attr", getattr(called, "id", None)) == function


def _handed(root: ast.Module, scope: ast.AST, names: set[str]) -> int | None:
    """The line of a function of the same file that stores a parameter for which one of the
    variables is given: `meter.update(loss)`; the call, if the function takes whatever it gets.
    """
    for call in ast.walk(scope):
        if not isinstance(call, ast.Call):
            continue
        given = [k for k, a in enumerate(call.args) if ast.unparse(a) in names]
        by_name = {k.arg for k in call.keywords if ast.unparse(k.value) in names}
        for function in walk(root) if given or by_name else ():
            if isinstance(function, _FUNCTIONS) and _calls(call, function.name):
                parameters = [a.arg for a in function.args.args]
                parameters = parameters[parameters[:1] == ["self"] :]
                taken = {parameters[k] for k in given if k < len(parameters)}
                known = by_name & {*parameters, *(a.arg for a in function.args.kwonlyargs)}
                if function.args.kwarg is not None and by_name - known:
                    return call.lineno  # it stores whatever it is given
                for node, parts in _sinks(function):
                    if any(
                        ast.unparse(part.value if isinstance(part, ast.Subscript) else part)
                        in taken | known
                        for part in parts
                    ):
                        return node.lineno
    return None


def _takes_all(place: Any) -> bool:
    """Whether the function of a line takes whatever it gets: who calls it decides."""
    function = function_around(place.file, place.line)
    return function is not None and bool(function.args.kwarg or function.args.vararg)


def storing_line(file: str, line: int, depth: int = 4) -> Place | None:
    """The line that puts what a line made into a list, a dictionary or an object:
    `losses.append(loss)`. None when none is found.

    Followed are variables of the same function, what is handed to functions of the same file, and
    results to where these are called.
    """
    root = tree(file)
    if root is None:
        return None
    scope = _scope(root, line)
    names = _names_at(scope, line)
    handed = _handed(root, scope, names)
    own = {f.name for f in walk(root) if isinstance(f, _FUNCTIONS)}
    for sink, _ in _sinks(scope):
        first, last = sink.lineno, sink.end_lineno or sink.lineno
        if first <= line <= last and not isinstance(sink, ast.Assign):
            return Place(file, first)
    for sink, parts in _sinks(scope):
        if any(ast.unparse(part) in names for part in parts) and not (
            handed is not None and any(_calls(sink, f) for f in own)
        ):
            return Place(file, sink.lineno)
    if handed is not None:
        return Place(file, handed)
    for node in ast.walk(scope):  # total = loss + penalty: on with the result
        if (
            depth
            and isinstance(node, ast.Assign)
            and node.lineno > line
            and isinstance(node.value, (ast.BinOp, ast.Tuple, ast.Name))
        ):
            if any(
                ast.unparse(part) in names
                for part in ast.walk(node.value)
                if isinstance(part, (ast.Name, ast.Attribute))
            ):
                found = storing_line(file, node.lineno, depth - 1)
                if found is not None:
                    return found
    if isinstance(scope, _FUNCTIONS) and depth:
        returned = any(
            isinstance(node, ast.Return)
            and node.value is not None
            and (
                node.lineno <= line <= (node.end_lineno or 0)
                or any(ast.unparse(part) in names for part in _parts(node.value))
            )
            for node in ast.walk(scope)
        )
        if returned:
            for node in walk(root):
                if isinstance(node, ast.Call) and (
                    _calls(node, scope.name) or scope.name == "forward" and _calls(node, "model")
                ):
                    found = storing_line(file, node.lineno, depth - 1)
                    if found is not None:
                        return found
    for node in ast.walk(scope):
        if isinstance(node, ast.ListComp) and node.lineno <= line <= (
            node.end_lineno or node.lineno
        ):
            return Place(file, node.lineno)
    return None


def carried(backward: Op, step: int) -> tuple[Op | None, Value | None]:
    """The first operation of this step that takes a value of a step before with its graph, and the
    value, where the same lines ran in both steps, one upon the other: a state that is carried on.
    (None, None) when there is none."""
    found = list(ancestors(backward.inputs))
    sites = {(made.site, made.name) for made in found if made.step == step}
    if any(made.step < step and (made.site, made.name) in sites for made in found):
        for made in sorted(found, key=lambda o: o.number):
            for v in made.inputs if made.step == step else ():
                p = v.producer
                if p is not None and p.step < step and v.requires_grad and not v.is_leaf:
                    return made, v
    return None, None


class _Rounds(Rule):
    """Counts steps by rounds: one step of each optimizer."""

    def __init__(self) -> None:
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """One more in a round."""
        self._optimizers.add(event)

    def long(self, steps: int) -> bool:
        """Whether so many steps are several rounds."""
        return steps >= (ROUNDS - 1) * max(1, len(self._optimizers))

    def due(self, step: int) -> bool:
        """Whether to look at what is alive after this step: after each of the first, then at 2**k
        and 3 * 2**k.
        """
        odd = step
        while odd > 16 and odd % 2 == 0:
            odd //= 2
        return step <= 24 or odd in (16, 12, 3, 1)


def kept_at(op: Op, carried: Value) -> Any:
    """The only line outside of `__init__` that puts a state into the attribute of a module in which
    the next step finds it.
    """
    call = op.module
    states = [t for v in (carried, *op.outputs) if (t := v.tensor) is not None]
    while call is not None:
        module = call.module
        name = (
            next((k for k, held in vars(module).items() if any(held is t for t in states)), None)
            if module is not None
            else None
        )
        code = getattr(type(module).forward, "__code__", None) if name is not None else None
        if code is not None:
            root = tree(code.co_filename)
            owner = (
                next(
                    (
                        n
                        for n in walk(root)
                        if isinstance(n, ast.ClassDef) and n.name == type(module).__name__
                    ),
                    None,
                )
                if root
                else None
            )
            lines = (
                [
                    a.lineno
                    for a in assignments(
                        code.co_filename, f"self.{name}", owner.lineno, owner.end_lineno or 0
                    )
                    if not isinstance(a.value, ast.Constant)
                    and (around := function_around(code.co_filename, a.lineno)) is not None
                    and around.name != "__init__"
                ]
                if owner is not None
                else []
            )
            return Place(code.co_filename, lines[0]) if len(lines) == 1 else None
        call = call.parent
    return None


class GraphKept(_Rounds):
    """A result that still has its graph is kept over optimizer steps, so the graphs of all past
    steps stay in memory.
    """

    slug = "graph-kept"
    id = "PL701"
    severity = "warning"
    summary = "graphs of past steps are kept alive"
    covered = ("inplace-breaks-backward",)

    def __init__(self) -> None:
        super().__init__()
        # (first step, steps crossed)
        self._reach: weakref.WeakKeyDictionary[Op, tuple[int, int]] = weakref.WeakKeyDictionary()
        # calls of models since the last backward or step, by place
        self._row: dict[Site, list[int]] = {}
        self._trained: set[Site] = set()  # places of calls that a loss was made of
        # by place of the calls: what would be told
        self._evaluated: dict[Site, tuple[Any, int, set[int]]] = {}
        # the values that backward ran on last, by number
        self._losses: deque[int] = deque(maxlen=8)

    # ---- carried from step to step -----------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """How many steps back the graph of a result goes."""
        if not op.grad_enabled:
            return
        out = op.output
        if out is None or not out.requires_grad or out.is_leaf or out.producer is not op:
            return
        first, crossed, from_earlier = op.step, 0, None
        for v in op.inputs:
            made = v.producer
            if made is None or made is op or not v.requires_grad or v.is_leaf:
                continue
            if made.step == op.step and not self._reach:
                continue  # nearly always
            began, count = self._reach.get(made, (made.step, 0))
            if made.step < op.step:
                count += 1
                if count > crossed:
                    from_earlier = v
            first, crossed = min(first, began), max(crossed, count)
        if first < op.step:
            self._reach[op] = (first, crossed)
            if from_earlier is not None and crossed >= ROUNDS and self.long(op.step - first):
                self._tell(op, from_earlier, crossed)

    def _tell(
        self, op: Op, carried: Value, crossed: int, covers: tuple[Any, ...] = (), failed: str = ""
    ) -> None:
        site, name = op.site, None
        if op.module is not None and carried.id in {v.id for v in op.module.root.inputs}:
            root = op.module.root
            site = root.site  # the state is handed to the model: the loop has to cut it
            given = site.call.arguments if site is not None and site.call is not None else []
            name = next(
                (
                    text
                    for v, text in zip(root.inputs, given)
                    if v.id == carried.id and len(given) == len(root.inputs)
                ),
                None,
            )
        elif op.module is None or op.direct:
            name = next((op.written(k) for k, v in op.args.items() if v is carried), None)
        name = name or carried.name
        sums = op.name in ("add", "sub") and carried.numel == 1 and op.module is None
        if carried.numel == 1 and op.module is None and (given := self._given_loss(op)) is not None:
            site = given
        else:
            site = kept_at(op, carried) or site
        what = f"`{name}`" if name else "a value"
        state = name or "state"
        self.report(
            site,
            f"{what} from the previous step is used here with its graph, so the graph reaches back over all steps and keeps growing"
            + (f"; {failed}." if failed else "."),
            evidence={
                "operation": op.name,
                "shape": list(carried.shape),
                "steps_in_graph": crossed + 1,
                "made_at": str(carried.producer.site),
            }
            if carried.producer is not None
            else {"operation": op.name},
            fix="add numbers: call `.item()` or `.detach()` on the value that is added"
            if sums
            else f"cut it between steps: `{state} = tuple(s.detach() for s in {state})`"
            if op.name == "lstm"
            else f"cut it between steps: `{state}.detach()`",
            covers=covers,
        )

    def _given_loss(self, op: Op) -> Any:
        """Who called the function that an operation stands in, if it was handed a loss that
        backward has run on: there it has to be a number.
        """
        code, recorder = op.site.code if op.site is not None else None, self.session.recorder
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        if frame is None or code is None:
            return None
        held = locals_of(frame)
        given = [
            held.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        ]
        with recorder.quiet():
            handed = any(
                isinstance(t, recorder.engine.Tensor) and recorder.value(t).number in self._losses
                for t in given
            )
        return called_from(code, recorder) if handed else None

    def on_error(self, failure: Failure) -> None:
        """A backward through graphs of steps before, which are freed or whose parameters have
        changed.
        """
        op = failure.op
        text = str(failure.exception)
        if (
            op is None
            or op.name != "backward"
            or not ("second time" in text or "modified by an inplace" in text)
        ):
            return
        made, v = carried(op, self.step)
        if made is not None and v is not None:
            why = "backward fails, because that graph has been used and freed, or its parameters have been updated since"
            self._tell(made, v, 1, covers=(op.site,), failed=why)

    # ---- an evaluation that notes graphs ------------------------------------------------------------------------------
    def on_module_exit(self, call: ModuleCall) -> None:
        """Calls of one place in a row, without a backward or a step between them."""
        if call.parent is not None or call.site is None:
            return
        if not call.grad_enabled or not any(v.requires_grad for v in call.outputs):
            self._row.clear()
            return
        row = self._row.setdefault(call.site, [])
        row.append(call.number)

    def on_read(self, read: Read) -> None:
        """What is read after them is made of all."""
        if read.how == "repr":
            return
        for site, numbers in self._row.items():
            if (
                len(numbers) >= EVALUATED
                and site not in self._trained
                and site not in self._evaluated
            ):
                self._span(site, set(numbers), read.value)

    def _span(self, site: Site, numbers: set[int], value: Value) -> None:
        own: set[int] = set()
        sums: dict[Site, int] = {}
        carried = False
        for o in ancestors([value], limit=20_000):
            call = o.module.root if o.module is not None else None
            if call is not None and call.number in numbers:
                if call.number not in own:
                    own.add(call.number)
                    carried = carried or any(
                        v.requires_grad and v.producer is not None and v.producer.module is not None
                        and v.producer.module.root.number in numbers for v in call.inputs
                    )  # fmt: skip
            elif (
                o.name == "add"
                and o.site is not None
                and o.output is not None
                and o.output.requires_grad
            ):
                sums[o.site] = sums.get(o.site, 0) + 1
        if len(own) < EVALUATED:
            return
        added = next((at for at, count in sums.items() if count >= EVALUATED - 1), None)
        place: Any = site if carried else added or storing_line(site.file, site.line) or site
        self._evaluated[site] = place, len(own), own

    def on_backward_begin(self, event: Backward) -> None:
        """These calls are trained on."""
        self._losses.extend(v.number for v in event.roots)
        if self._evaluated or any(len(numbers) > 1 for numbers in self._row.values()):
            made = {
                o.module.root.number: o.module.root.site
                for o in ancestors(event.roots)
                if o.module is not None
            }
            for site in [
                site for site, (_, _, own) in self._evaluated.items() if own & made.keys()
            ]:
                del self._evaluated[site]
            self._trained.update(site for site in made.values() if site is not None)
        self._row.clear()

    def _evaluations(self) -> None:
        for place, count, _ in self._evaluated.values():
            self.report(
                place,
                f"{count} calls of the model are evaluated here in one graph that no backward ever uses: each keeps its whole "
                "forward pass alive.",
                evidence={"calls": count},
                fix="evaluate inside `with torch.no_grad():`",
            )
        self._evaluated.clear()

    def finish(self) -> None:
        """An evaluation at the end."""
        if self.step:
            self._evaluations()

    # ---- collected ---------------------------------------------------------------------------------------------------
    def on_step(self, event: Step) -> None:
        """Results of several steps that are alive with their graphs."""
        self._row.clear()
        self._evaluations()
        if not self.due(event.number + 1):
            return
        groups: dict[Any, dict[int, Value]] = {}
        for value in tuple(self.session.recorder.values.values()):
            made = value.producer
            if (
                made is not None
                and value.requires_grad
                and not value.is_leaf
                and made.site is not None
                and value.tensor is not None
            ):
                groups.setdefault(made.site, {})[made.step] = value
        kept = {s: g for s, g in groups.items() if len(g) >= ROUNDS and self.long(max(g) - min(g))}
        if not kept:
            return
        # operations that another kept value, or the carried one, is made of
        inner: set[int] = set()
        for site, group in groups.items():
            for value in group.values():
                if site in kept or value.producer in self._reach:
                    inner.update(o.number for v in value.producer.inputs for o in ancestors([v]))
        for site, group in kept.items():
            last = group[max(group)]
            stored = storing_line(site.file, site.line)
            if (
                last.producer.number in inner
                and stored is None
                or any(v.producer in self._reach for v in group.values())
            ):
                continue
            graph = list(ancestors([last]))
            if all(o.name in VIEWS for o in graph):
                continue  # a copy of a parameter
            first = group[min(group)]
            recorder = self.session.recorder
            held = kept_in(first, recorder)
            caught = None if held else kept_by_an_exception(first, recorder, self.session.script)
            held = held or caught
            line = held[0] if held is not None else None
            place = stored if line is not None and stored and _takes_all(line) else line or stored
            place = place or site
            self.report(
                place,
                f"{len(group)} results of {last.producer.name} from {len(group)} steps are kept here with their graphs: "
                "each keeps its whole forward pass alive, and memory grows with every step.",
                evidence={
                    "made_at": str(site),
                    "kept": len(group),
                    "operations_in_one_graph": len(graph),
                    "shape": list(last.shape),
                },
                fix="keep the text of the exception, `str(error)`: the exception itself keeps the variables of its functions"
                if caught
                else "keep the number: `.item()`"
                if last.numel == 1
                else "keep only the values: `.detach()`",
            )
