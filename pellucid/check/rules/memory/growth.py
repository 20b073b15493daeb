"""Memory that grows: tensors without graphs that are kept from every step."""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections import Counter, deque
from typing import Any

from ...events import Op, Read, Step, Value
from ...numbers import number_of
from ...recording.names import locals_of
from ...rule import Rule
from ..source.places import Place, function_around, scopes, tree, walk

_LIMITS = re.compile(
    r"_?(capacity|max_?size|max_?len(gth)?|(buffer|memory|queue|bank|cache)_?size|max_(capacity|items|entries|memory)|limit)$"
)
_JOINS = ("cat", "stack", "vstack", "hstack", "concatenate", "append")
_CONTAINERS = ("list", "dict", "deque", "set", "defaultdict", "OrderedDict")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")


class MemoryGrowth(Rule):
    """What is kept from every step: tensors without graphs, hooks, a buffer beyond its own limit."""

    slug = "memory-growth"
    id = "PL702"
    severity = "warning"
    summary = "memory grows with every step"

    STEPS = 10
    ELEMENTS = 64
    LARGE = 2048  # elements of each step: so many are too much even for what is used in the end

    def __init__(self) -> None:
        # tensors that a later step has used, and the last such step
        self._later: dict[int, int] = {}
        self._found: dict[Any, tuple[Any, dict[str, Any], set[int]]] = {}
        # by place: id, size and step of the last result, how often it grew
        self._joined: dict[Any, tuple[int, int, int, int]] = {}
        # by file, name and how many of that name come before: the length of a container with a limit
        self._lengths: dict[Any, int] = {}
        self._hooks: dict[Any, int] = {}  # by number of a module (and kind): hooks at the last look
        # by the same of any container: step and length at the last look
        self._sizes: dict[Any, tuple[int, int]] = {}
        self._filled: dict[
            str, tuple[Any, dict[str, Any]]
        ] = {}  # by name of a container that grows: the line that fills it, evidence

    def on_op(self, op: Op) -> None:
        """A value of an earlier step is used."""
        for value in op.inputs:
            if value.step < op.step and not value.is_leaf | (value.producer is None):
                self._later[value.id] = op.step
            elif value.step < op.step and not value.requires_grad:
                self._later[value.id] = op.step
        if op.name in _JOINS and op.site is not None:
            self._joins(op)

    def _joins(self, op: Op) -> None:
        """`bank = torch.cat([bank, new])`, once per step."""
        made = op.output
        if made is None or made.requires_grad or made.producer is not op:
            return
        last, size, step, count = self._joined.get(op.site, (0, 0, -1, 0))
        if any(v.id == last for v in op.inputs) and made.numel > size and op.step > step:
            count += 1
        elif op.step == step and count:
            count = -(1 << 30)  # several times in a step: something is generated
        elif last:
            count = 0
        self._joined[op.site] = made.id, made.numel, op.step, count
        if count >= 30 and count >= 0.8 * op.step:
            self.report(
                op.site,
                f"{op.name} makes this tensor longer in every step: {list(made.shape)} after {count} steps, and it never gets shorter.",
                evidence={
                    "shape": list(made.shape),
                    "bytes": made.numel * made.itemsize,
                    "steps": count,
                },
                fix="keep only the last rows: `bank = torch.cat([bank, new])[-size:]`",
            )

    def on_read(self, event: Read) -> None:
        """A value of an earlier step is read."""
        if event.value.step < event.step:
            self._later[event.value.id] = event.step

    def on_step(self, event: Step) -> None:
        """Values of many steps that are all still there."""
        n = event.number
        if n + 1 < self.STEPS or n % 5 and n & (n - 1):
            return
        if n <= 50 or n & (n - 1) == 0 or n % 50 == 0:
            self._piles(n)
        if n & (n - 1) == 0 or n % 50 == 0:
            self._limits()
            self._containers(n)
        parameters = {v.id for v in event.optimizer.params()}
        for site, values in grown(self.session.recorder, False).items():
            if site in self._found:
                continue
            values = [v for v in values if v.id not in parameters]
            fresh = [v for v in values if v.id not in self._later]
            values = fresh if len(fresh) > 0.5 * len(values) else []
            steps = {v.step for v in values}
            if len(steps) < max(self.STEPS - 1, 0.8 * n) or sum(
                v.numel for v in values
            ) < self.ELEMENTS * len(steps):
                continue
            found = kept_in(values[0], self.session.recorder)
            if found is None:
                continue
            place, name = found
            size = sum(v.numel * v.itemsize for v in values)
            evidence = {
                "container": name,
                "tensors": len(values),
                "bytes": size,
                "bytes_per_step": size // len(steps),
                "made_at": site,
                "step": n,
            }
            self._found[site] = place or values[0].producer.site, evidence, {v.id for v in values}

    def _limits(self) -> None:
        """`self.capacity = 500`, and a list that is longer and grows."""
        recorder = self.session.recorder
        seen: Counter[Any] = Counter()
        for scope, file in scopes(recorder, self.session.script):
            limits = {
                k: v
                for k, v in scope.items()
                if isinstance(v, int) and not isinstance(v, bool) and v > 1 and _LIMITS.match(k)
            }
            if not limits or "__name__" in scope:
                continue
            name, limit = max(limits.items(), key=lambda item: item[1])
            for key, held in scope.items():
                if (
                    type(held) not in (list, dict, deque)
                    or len(held) <= limit
                    or getattr(held, "maxlen", None) is not None
                ):
                    continue
                which = file, key, seen[file, key]
                seen[file, key] += 1
                before = self._lengths.get(which)
                self._lengths[which] = len(held)
                if before is not None and len(held) > before:
                    place = puts(key, [file])
                    self.report(
                        place or Place(file, 1),
                        f"{key} has {len(held)} entries and grows, while its {name} is {limit}: nothing removes old entries.",
                        evidence={
                            "container": key,
                            "entries": len(held),
                            "limit": limit,
                            "limit_called": name,
                        },
                        fix=f"`collections.deque(maxlen={name})`, or overwrite the oldest entry",
                    )

    def _containers(self, n: int) -> None:
        """Lists and dictionaries that get one more large thing in every step, whatever it is: an
        array, a copy of a model's state.
        """
        if n < 15:
            return
        seen: Counter[Any] = Counter()
        for key, held, file in containers(self.session.recorder, self.session.script):
            if len(held) < 8 or getattr(held, "maxlen", None) is not None:
                continue
            which = file, key, seen[file, key]
            seen[file, key] += 1
            last = self._sizes.get(which)
            self._sizes[which] = n, len(held)
            if last is None or len(held) < last[1]:
                self._filled.pop(key, None)
                continue
            if len(held) - last[1] < 0.8 * (n - last[0]) or len(held) < 0.6 * n or n == last[0]:
                continue
            items = list(held.values()) if isinstance(held, dict) else list(held)
            size = min(_bytes(items[k], self.session.recorder) for k in (-1, len(items) // 2))
            looked = [
                t
                for item in items[:: max(1, len(items) // 16)]
                for t in _tensors(item, self.session.recorder)
            ]
            # those of steps that were not recorded are not known
            known = [
                v
                for t in looked
                if (v := self.session.recorder.values.get(id(t))) is not None and v.tensor is t
            ]
            used = sum(v.id in self._later for v in known)
            if size < 4 * self.LARGE or used > 0.3 * (len(known) or len(looked)):
                self._filled.pop(key, None)
                continue
            place = puts(key, [file, *self.session.recorder.files(self.session.script)])
            if place is not None:
                evidence = {
                    "container": key,
                    "entries": len(held),
                    "bytes_per_step": size,
                    "step": n,
                }
                self._filled[key] = place, evidence

    def _again(self, module: Any, kind: str) -> int:
        """How many hooks of one kind and one function a module has."""
        counts: dict[Any, int] = {}
        for hook in (getattr(module, kind, None) or {}).values():
            what = getattr(
                hook, "__code__", getattr(getattr(hook, "__func__", None), "__code__", type(hook))
            )
            counts[what] = counts.get(what, 0) + 1
        return max(counts.values(), default=0)

    def _piles(self, steps: int) -> None:
        """A hook that is registered anew in every step, or in every epoch."""
        for module in self.session.recorder.names.alive():
            for kind in _HOOKS:
                count = self._again(module, kind)
                before = self._hooks.get((number_of(module), kind), 0)
                if count >= 3:
                    self._hooks[number_of(module), kind] = count
                if count > before >= 3 and count < 0.8 * steps:
                    place = self._registered()
                    if place is not None:
                        self.report(
                            place,
                            f"the same hook is registered on one module again and again, {count} times after {steps} steps: all of them run, "
                            "and what they refer to stays in memory.",
                            evidence={
                                "module": type(module).__name__,
                                "hooks": count,
                                "step": steps,
                            },
                            fix="register the hook once, before the loop, or `handle.remove()` it",
                        )
        for module in self.session.recorder.names.alive():
            for kind in _HOOKS:
                count = len(getattr(module, kind, None) or ())
                if count < self.STEPS:
                    continue
                before = self._hooks.get(number_of(module), 0)
                self._hooks[number_of(module)] = count
                if before and count > before and count >= 0.8 * steps:
                    place = self._registered()
                    if place is not None:
                        self.report(
                            place,
                            f"{count} hooks are registered on one module after {steps} steps: each call adds one, and all of them run.",
                            evidence={
                                "module": type(module).__name__,
                                "hooks": count,
                                "step": steps,
                            },
                            fix="register the hook once, before the loop, or `handle.remove()` it",
                        )

    def _registered(self) -> Any:
        """The line that registers hooks; if it stands in a function, its only call inside of a loop."""
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    if node.func.attr.startswith("register_") and node.func.attr.endswith("_hook"):
                        return called_in_loop(file, node.lineno) or Place(file, node.lineno)
        return None

    def finish(self) -> None:
        """What nobody has looked at again, or only when all was over."""
        told = {evidence["container"] for _, evidence, _ in self._found.values()}
        for key, (place, evidence) in self._filled.items():
            if key not in told and self.step >= 64:
                self.report(
                    place,
                    f"{key} gets one more entry of {evidence['bytes_per_step']} bytes with every step and is never emptied: "
                    f"{evidence['entries']} after "
                    f"{evidence['step'] + 1} steps.",
                    evidence=evidence,
                    fix="keep only what you need: the last few, `collections.deque(maxlen=...)`, or a running sum",
                )
        for site, evidence, ids in self._found.values():
            used = [self._later[i] for i in ids if i in self._later]
            large = evidence["bytes_per_step"] >= 4 * self.LARGE and self.step >= 64
            if used and (not large or min(used) < self.step):
                continue
            name = evidence["container"] or "a container"
            self.report(
                site,
                f"{name} grows with every step: {evidence['tensors']} tensors of {evidence['bytes']} bytes after {evidence['step'] + 1} steps, "
                f"and nothing uses them{' before the end' if used else ''}.",
                evidence=evidence,
                fix="keep only what you need: a number per step, a `collections.deque(maxlen=...)`, or clear it after each epoch",
            )


def containers(recorder: Any, script: str) -> list[tuple[str, Any, str]]:
    """(name, container, file) of the lists, dictionaries and sets that the user's variables and
    objects hold, and of those in them.
    """
    # no function of its own here: one that calls itself would keep all of it alive
    found: list[tuple[str, Any, str]] = []
    seen: set[int] = set()
    waiting: list[tuple[str, Any, str, int]] = []
    for scope, file in scopes(recorder, script):
        for name, held in list(scope.items()):
            if not isinstance(name, str) or name in (
                "_modules",
                "_parameters",
                "_buffers",
                "__builtins__",
            ):
                continue
            waiting.append((name, held, file, 1))
            kind = held if isinstance(held, type) else type(held)
            code = getattr(vars(kind).get("__init__"), "__code__", None)
            if (
                kind.__module__ == "__main__"
                or code is not None
                and not recorder.is_library(code.co_filename)
            ):
                waiting += [(inner, value, file, 1) for inner, value in list(vars(kind).items())]
    while waiting:
        name, held, file, depth = waiting.pop()
        if type(held).__name__ not in _CONTAINERS or id(held) in seen or name.startswith("__"):
            continue
        seen.add(id(held))
        found.append((name, held, file))
        if depth and isinstance(held, dict) and len(held) <= 32:
            waiting += [(name, inner, file, 0) for inner in list(held.values())]
    return found


def _tensors(item: Any, recorder: Any) -> list[Any]:
    if isinstance(item, recorder.engine.Tensor):
        return [item]
    if isinstance(item, dict):
        item = list(item.values())
    return (
        [t for t in item[:64] if isinstance(t, recorder.engine.Tensor)]
        if isinstance(item, (list, tuple))
        else []
    )


def _bytes(item: Any, recorder: Any) -> int:
    """The bytes of the numbers in something that a container holds."""
    if type(item).__name__ == "ndarray":
        return int(item.nbytes)
    if isinstance(item, (list, tuple, dict)):
        inner = list(item.values()) if isinstance(item, dict) else item
        if len(inner) > 64 and isinstance(inner[0], (int, float)):
            return 8 * len(inner)
        return sum(_bytes(part, recorder) for part in inner[:64])
    return sum(int(t.numel()) * int(t.element_size()) for t in _tensors(item, recorder))


def grown(recorder: Any, with_graph: bool) -> dict[str, list[Value]]:
    """Living tensors of steps before the last, by the place where they were made."""
    found: dict[str, list[Value]] = {}
    for value in list(recorder.values.values()):
        op = value.producer
        if (
            op is None
            or value.step >= recorder.step
            or value.requires_grad is not with_graph
            or value.is_leaf
            and with_graph
        ):
            continue
        if (
            op.site is None
            or value.tensor is None
            or op.name == "grad"
            or op.name in ("empty", "zeros")
            and op.module is not None
        ):
            continue
        found.setdefault(str(op.site), []).append(value)
    return {site: values for site, values in found.items() if len(values) >= 3}


def kept_in(value: Value, recorder: Any) -> tuple[Any, str | None] | None:
    """(the line that puts a value there, the container's name) of the list, dict or deque of the
    user's that holds it; None: there is none.
    """
    tensor = value.tensor
    holders = [
        h
        for h in gc.get_referrers(tensor)
        if type(h).__name__ in ("list", "dict", "deque", "tuple", "set") and not _is_scope(h)
    ]
    del tensor
    for holder in holders:
        kind = type(holder).__name__
        inner = holder
        if kind in ("tuple", "dict") and len(holder) < 8:  # a record in a list
            outer = [
                h
                for h in gc.get_referrers(holder)
                if type(h).__name__ in ("list", "deque") and len(h) >= 3 and h is not holders
            ]
            if outer:
                inner = outer[0]
            elif kind == "tuple":
                continue
        if len(inner) < 3:
            continue
        bound = getattr(inner, "maxlen", None)
        if bound is not None and bound <= 64:
            continue
        cache = next(
            (h for h in gc.get_referrers(inner) if type(h).__name__ == "_lru_cache_wrapper"), None
        )
        if cache is not None:
            return _decorated(cache.__wrapped__), f"the cache of {cache.__wrapped__.__name__}"
        name = _name_of(inner, recorder)
        if name is None:
            continue
        made = value.producer.site if value.producer is not None else None
        files = [made.file] if made is not None else []
        if recorder.last_site is not None and recorder.last_site.file not in files:
            files.append(recorder.last_site.file)
        return puts(name, files), name
    return None


def kept_by_an_exception(value: Value, recorder: Any, script: str) -> tuple[Any, str] | None:
    """The same of a container with exceptions: each keeps the frames that it came through, and
    these keep their variables.
    """
    tensor = value.tensor
    for name, held, file in containers(recorder, script) if tensor is not None else ():
        if len(held) < 3:
            continue
        for entry in held.values() if isinstance(held, dict) else held:
            inner = entry if isinstance(entry, (tuple, list)) else (entry,)
            for part in inner:
                trace = part.__traceback__ if isinstance(part, BaseException) else None
                while trace is not None:
                    if not recorder.is_library(trace.tb_frame.f_code.co_filename):
                        if any(v is tensor for v in locals_of(trace.tb_frame).values()):
                            return puts(name, [file]), name
                    trace = trace.tb_next
    return None


def called_in_loop(file: str, line: int) -> Place | None:
    """Where a loop calls the function that a line stands in, if there is one such call."""
    function, root = function_around(file, line), tree(file)
    if function is None or root is None or function.name in ("__init__", "forward"):
        return None
    found = {
        n.lineno
        for loop in walk(root)
        if isinstance(loop, (ast.For, ast.While))
        for n in ast.walk(loop)
        if isinstance(n, ast.Call)
        and getattr(n.func, "attr", getattr(n.func, "id", None)) == function.name
    }
    return Place(file, found.pop()) if len(found) == 1 else None


def _decorated(function: Any) -> Any:
    """The line of the decorator that caches a function's results."""
    code = function.__code__
    root = tree(code.co_filename)
    for node in walk(root) if root is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            for decorator in node.decorator_list:
                if "cache" in ast.unparse(decorator):
                    return Place(code.co_filename, decorator.lineno)
    return Place(code.co_filename, code.co_firstlineno)


def _is_scope(thing: Any) -> bool:
    return isinstance(thing, dict) and ("__name__" in thing or "__builtins__" in thing)


def _of_object(scope: Any) -> bool:
    """Whether a dictionary is the namespace of an object, or of a running function."""
    return any(
        getattr(owner, "__dict__", None) is scope or type(owner).__name__ == "frame"
        for owner in gc.get_referrers(scope)
    )


def _name_of(container: Any, recorder: Any, depth: int = 1) -> str | None:
    """The variable, attribute or key that a container is held by."""
    for scope in gc.get_referrers(container):
        inside = scope if isinstance(scope, dict) else getattr(scope, "__dict__", None)
        if isinstance(inside, dict):
            for key, held in list(inside.items()):
                if held is container and isinstance(key, str) and not key.startswith("_"):
                    data = (
                        scope is inside and depth and not _is_scope(scope) and not _of_object(scope)
                    )
                    return (_name_of(scope, recorder, depth - 1) or key) if data else key
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not recorder.is_library(frame.f_code.co_filename):
            for key, held in locals_of(frame).items():
                if held is container:
                    return key
        frame = frame.f_back
    return None


def puts(name: str, files: list[str]) -> Any:
    """The line with `<name>.append(...)`, `<name>[...] = ...` or `<name> += [...]`."""
    for file in files:
        root = tree(file)
        for node in walk(root) if root is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in (
                    "append",
                    "appendleft",
                    "extend",
                    "add",
                    "insert",
                    "setdefault",
                    "update",
                ) and _ends(node.func.value, name):
                    return Place(file, node.lineno)
            elif isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Subscript) and _ends(t.value, name) for t in node.targets
            ):
                return Place(file, node.lineno)
            elif isinstance(node, ast.AugAssign) and _ends(node.target, name):
                return Place(file, node.lineno)
    return None


def _ends(node: ast.expr, name: str) -> bool:
    if isinstance(node, ast.Subscript):
        return _ends(node.value, name) or getattr(node.slice, "value", None) == name
    return (
        isinstance(node, ast.Name)
        and node.id == name
        or isinstance(node, ast.Attribute)
        and node.attr == name
    )
