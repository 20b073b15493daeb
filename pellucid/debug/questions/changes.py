"""Where an error is to be corrected, when that is not the line where it came up: the layer that does
not fit, where the data got their dtype or their values, what carried a graph into the next step.
"""

from __future__ import annotations

import ast
import functools
import gc
import re
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from ..._living import attributes
from ...api.messages.written import text_at
from ...api.messages.written import tree as source_of
from ...api.messages.written import walk as walk_source
from ...core.source import Line, describe, is_library
from ...core.tape import Node, walk
from ...core.tensor import Tensor, node_of
from ...errors import Facts
from ..watching import Watch
from .naming import holders
from .places import (
    assigned_in_class,
    defined_at,
    line_of,
    returned_by,
    scope_at,
    statements,
    stored_at,
    user_files,
)

# what a layer says of the sizes that it takes
_SIZES = ("in_features", "in_channels", "num_features", "input_size", "embed_dim", "num_channels")


def to_change(
    error: BaseException, known: Facts, frames: list[TracebackType], notes: Watch | None
) -> Line | None:
    """The line to change for an error of the library's, by what its frames and the notes hold; None
    where that is the line that raised it.
    """
    sentence = str(error.args[0]) if error.args else ""
    if "empty parameter list" in sentence:
        return _unseen_parameters(frames, notes)
    inner = _inside(frames)
    if "size mismatch for " in sentence and inner:
        return _other_sizes(sentence, frames, inner[0].tb_frame.f_locals.get("self"), notes)
    collating = [link for link in inner if "collate" in link.tb_frame.f_code.co_name]
    if collating:
        return _item_of(_dataset(inner), notes)
    kind = known.kind.name
    if (kind == "DtypeError" or of_dtypes(sentence)) and notes is not None:
        return _origin_of_dtype(inner, notes, frames)
    if kind == "IndexOutOfRangeError" and notes is not None:
        return _origin_of_index(inner, notes, frames)
    if "dimensions exchanged" in (known.hint or ""):
        return None  # the sizes are right, and the call is to change
    if kind in ("ShapeError", "ShapeValueError", "OperationError"):
        way_round = _way_round(frames) if _layer(inner) is None else None
        way_round = way_round or _short_buffer(inner, frames)
        return way_round or _unfitting_layer(inner, frames, notes, kind == "OperationError")
    return None


def of_dtypes(sentence: str) -> bool:
    """Whether the words of an error say that a dtype does not fit."""
    return "to have one of the following scalar types" in sentence


def _inside(frames: list[TracebackType]) -> list[TracebackType]:
    """The library's frames below the innermost of the user's."""
    own = [k for k, link in enumerate(frames) if not is_library(link.tb_frame.f_code.co_filename)]
    return frames[own[-1] + 1 :] if own else []


def _tensors(inner: list[TracebackType]) -> Iterator[Tensor]:
    """What library functions were given and had computed when one of them failed."""
    seen: set[int] = set()
    for link in inner:
        for value in link.tb_frame.f_locals.values():
            for t in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(t, Tensor) and id(t) not in seen:
                    seen.add(id(t))
                    yield t


# ---- layers --------------------------------------------------------------------------------------
def _layer(inner: list[TracebackType]) -> Any:
    """The innermost layer of the library's that has parameters or running averages and was running."""
    for link in reversed(inner):
        module = link.tb_frame.f_locals.get("self")
        if isinstance(getattr(module, "_parameters", None), dict) and _own(module):
            return module
    return None


def _own(module: Any) -> list[Tensor]:
    held = [*module._parameters.values(), *module._buffers.values()]
    return [t for t in held if t is not None]


def _way_round(frames: list[TracebackType]) -> Line | None:
    """Of a sum `x + self.skip(y)` whose way round does nothing: where it became such, or the condition
    that decided so.
    """
    own = [link for link in frames if not is_library(link.tb_frame.f_code.co_filename)]
    if not own:
        return None
    frame = own[-1].tb_frame
    module = frame.f_locals.get("self")
    line = describe((frame.f_code, own[-1].tb_lasti))
    for name in re.findall(r"\bself\.(\w+)\(", "" if line is None else line.text):
        part: Any = getattr(module, "_modules", {}).get(name)
        if type(part).__name__ not in ("Identity", "Sequential") or [*part.children()]:
            continue
        at = assigned_in_class(type(module), name)
        if at is None:
            continue
        for n in statements(scope_at(at.file, at.line)):
            if isinstance(n, ast.If) and any(
                ast.unparse(t) == f"self.{name}"
                for x in ast.walk(n)
                if isinstance(x, ast.Assign)
                for t in x.targets
            ):
                return line_of(at.file, n.lineno, at.function)
        return at
    return None


def _short_buffer(inner: list[TracebackType], frames: list[TracebackType]) -> Line | None:
    """Where a module got the buffer or parameter, of which a part does not fit what it is joined with."""
    modules: list[Any] = [
        m
        for link in frames
        if isinstance(getattr(m := link.tb_frame.f_locals.get("self"), "_buffers", None), dict)
        and not is_library(link.tb_frame.f_code.co_filename)
    ]
    for t in _tensors(inner):
        for module in modules:
            for name, own in {**module._buffers, **module._parameters}.items():
                arrays = [t._array, None if own is None else own._array]
                if all(type(a) is np.ndarray for a in arrays) and np.may_share_memory(*arrays):
                    return assigned_in_class(type(module), name)
    return None


def _made_at(module: Any, notes: Watch | None) -> Line | None:
    """Where a layer was made: as watched, or as its class tells."""
    for t in _own(module):
        site = notes.about(t).get("begun") if notes is not None else None
        line = describe(site) or defined_at(t)
        if line is not None:
            return line
    return None


def _unfitting_layer(
    inner: list[TracebackType], frames: list[TracebackType], notes: Watch | None, must_tell: bool
) -> Line | None:
    """The layer whose size is not that of what reaches it; None when the call is at fault: the
    size is there in another dimension, or spread over several, or a dimension is missing. With `must_tell`
    only a layer that says what size it takes.
    """
    module = _layer(inner)
    if module is None:
        return None
    wanted = next((getattr(module, name) for name in _SIZES if hasattr(module, name)), None)
    if must_tell and not isinstance(wanted, int):
        return None
    windows = [own.dim() for own in _own(module) if own.dim() > 2]
    for t in _tensors(inner):
        if any(t is own for own in _own(module)) or not isinstance(wanted, int):
            continue
        if windows and t.dim() < max(windows):
            return None
        computed = bool(windows) and t._node is not None  # its dimensions have their order
        size, rest = 1, list(t.shape[1:])
        while rest and not computed:
            size *= rest.pop()
            if size == wanted:
                return None
        if t.dim() < 2 or wanted in t.shape and not computed:
            return None
        break
    return _told_from_outside(_made_at(module, notes), frames)


def _other_sizes(
    sentence: str, frames: list[TracebackType], module: Any, notes: Watch | None
) -> Line | None:
    """Where a model got other sizes than a checkpoint has: where its layer was made, or the model, if
    it was told the sizes.
    """
    key = sentence.partition("size mismatch for ")[2].partition(":")[0]
    layer = module
    for name in key.split(".")[:-1]:
        layer = getattr(layer, "_modules", {}).get(name)
    line = _made_at(layer, notes) if layer is not None else None
    if line is None:
        return None
    return (_model_made(frames, module) if _is_told(line) else None) or line


def _is_told(line: Line) -> bool:
    """Whether a line of an `__init__` reads what that is told, or what is computed from it."""
    scope = scope_at(line.file, line.line)
    if not isinstance(scope, ast.FunctionDef) or scope.name != "__init__":
        return False
    told = {a.arg for a in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)}
    body = statements(scope)
    for n in body:  # what is computed from arguments is told, too
        if isinstance(n, ast.Assign) and told & _read_by(n):
            told |= {t.id for t in n.targets if isinstance(t, ast.Name)}
    here = [n for n in body if n.lineno <= line.line <= (n.end_lineno or 0)]
    read = {x.id for n in here for x in ast.walk(n) if isinstance(x, ast.Name)} - {"self"}
    return bool(told & read)


def _told_from_outside(line: Line | None, frames: list[TracebackType]) -> Line | None:
    """The call that told a block of the program the sizes of a layer made at `line`, when only one does."""
    if line is None or not _is_told(line):
        return line
    own: list[Any] = [f.tb_frame.f_locals.get("self") for f in frames]
    for module in reversed(own):
        code = getattr(getattr(type(module), "__init__", None), "__code__", None)
        if code is None or code.co_filename != line.file:
            continue
        root = scope_at(line.file, line.line)
        if getattr(root, "lineno", 0) != code.co_firstlineno:
            continue
        outer = [m for m in own if any(module is c for c in getattr(m, "_modules", {}).values())]
        names = [k for m in outer[-1:] for k, c in m._modules.items() if c is module]
        kind = type(module).__name__
        at = assigned_in_class(type(outer[-1]), names[0]) if outer else None
        if at is not None and re.search(rf"\b{kind}\([^)]", at.text):
            return at
        return line
    return line


def _model_made(frames: list[TracebackType], module: Any) -> Line | None:
    """The statement that makes the model which a call of the program names."""
    for link in reversed(frames):
        frame, file = link.tb_frame, link.tb_frame.f_code.co_filename
        if is_library(file):
            continue
        at = link.tb_lineno
        for n in reversed(statements(scope_at(file, at))):
            if not isinstance(n, ast.Assign) or n.lineno >= at or not isinstance(n.value, ast.Call):
                continue
            if any(_value(t, frame) is module for t in n.targets):
                return line_of(file, n.lineno, frame.f_code.co_qualname)
        kind = type(module).__name__
        made = [
            n.lineno
            for n in walk_source(source_of(file) or ast.Module([], []))
            if isinstance(n, ast.Call)
            and getattr(n.func, "attr", getattr(n.func, "id", "")) == kind
        ]
        if len(made) == 1:
            return line_of(file, made[0], "")
    return None


# ---- data ----------------------------------------------------------------------------------------
def _given(inner: list[TracebackType], notes: Watch) -> list[Tensor]:
    """The tensors among the arguments that come from nothing that is trained."""
    return [t for t in _tensors(inner) if not t._rg and not notes.comes_from_gradients(t)]


def _origin_of_dtype(
    inner: list[TracebackType], notes: Watch, frames: list[TracebackType]
) -> Line | None:
    """Where data got a dtype that does not fit."""
    default = {t.dtype for t in _tensors(inner) if t._rg}
    given = [*_given(inner, notes)]
    t = next((t for t in given if t.dtype not in default), None)
    if t is None:  # labels, as real numbers
        t = next((t for t in given if t._node is None and not t._rg), None)
    made = notes.history(t) if t is not None else None
    if made is None:
        return None
    while made.before is not None and made.before.dtype == made.dtype:
        made = made.before
    return _in_the_data(describe(made.site), frames, inner)


def _origin_of_index(
    inner: list[TracebackType], notes: Watch, frames: list[TracebackType]
) -> Line | None:
    """The indices or labels that no table of that size can have (negative ones, ones that start
    after zero), else the layer that is too small for them.
    """
    t = next((t for t in _given(inner, notes) if t._array.dtype.kind in "iu"), None)
    if t is None or not t._array.size:
        return None
    made = notes.history(t)
    while made is not None and made.before is not None:
        made = made.before
    whole = made.tensor() if made is not None else None
    values = (t if whole is None or not whole._array.size else whole)._array
    layer = _layer(inner)
    low = int(values.min())
    if made is not None and (low < 0 or layer is None and low > 0):
        return _in_the_data(describe(made.site), frames, inner)
    if layer is not None:
        return _made_at(layer, notes)
    scores = next((t for t in _tensors(inner) if t._node is not None), None)
    return _last_layer(scores, notes) if scores is not None else None


def _last_layer(scores: Tensor, notes: Watch) -> Line | None:
    """The layer whose parameters a value was computed from last."""
    for edge in scores.grad_fn.inputs:
        if isinstance(edge, Tensor) and edge._rg and "begun" in notes.about(edge):
            return describe(notes.about(edge)["begun"])
    return None


def _in_the_data(
    line: Line | None, frames: list[TracebackType], inner: list[TracebackType]
) -> Line | None:
    """A line, or the one that makes the items, when a loader put them together there."""
    if line is None or not re.match(r"(async )?for |next\(|.*=\s*next\(", line.text):
        return line
    for link in reversed(frames):
        found = _item_of(_loader_dataset(link.tb_frame, line))
        if found is not None:
            return found
    return line


def _loader_dataset(frame: FrameType, line: Line) -> Any:
    """The data set of the loader that a line goes through, or its class when both have no name."""
    if frame.f_code.co_filename != line.file:
        return None
    names = {**frame.f_globals, **frame.f_locals}
    words = re.findall(r"[A-Za-z_]\w*", line.text)
    found = next((d for w in words if (d := getattr(names.get(w), "dataset", None))), None)
    if found is not None:
        return found
    kinds = [names.get(w) for w in words if isinstance(names.get(w), type)]
    return next((kind for kind in kinds if _item_of(kind) is not None), None)


def _dataset(inner: list[TracebackType]) -> Any:
    for link in reversed(inner):
        for name in ("dataset", "self"):
            value = link.tb_frame.f_locals.get(name)
            if value is not None and name == "self":
                value = getattr(value, "dataset", None)
            if value is not None:
                return value
    return None


def _item_of(dataset: Any, notes: Watch | None = None) -> Line | None:
    """The line that returns an item of a data set of the user's, given itself or its class."""
    for _ in range(8):
        kind = dataset if isinstance(dataset, type) else type(dataset)
        for name in ("__getitem__", "__getitems__", "__iter__"):
            code = getattr(getattr(kind, name, None), "__code__", None)
            if code is not None and not is_library(code.co_filename):
                return returned_by(code, None if notes is None else notes.returns)
        dataset = getattr(dataset, "dataset", None)
    return None


# ---- optimizers ----------------------------------------------------------------------------------
def _unseen_parameters(frames: list[TracebackType], notes: Watch | None) -> Line | None:
    """Why an optimizer was given no parameters: layers in a list, tensors that are no parameters, an
    iterator that was consumed, parameters that are all frozen.
    """
    own = [link for link in frames if not is_library(link.tb_frame.f_code.co_filename)]
    if not own:
        return None
    frame, instruction = own[-1].tb_frame, own[-1].tb_lasti
    try:
        call: Any = ast.parse(text_at(frame.f_code, instruction) or "", mode="eval").body
    except SyntaxError:
        return None
    given = [*getattr(call, "args", [])[:1]] + [
        k.value for k in getattr(call, "keywords", ()) if k.arg == "params"
    ]
    for tree in given:
        if isinstance(tree, ast.Name):
            made = _last_assignment(frame, own[-1].tb_lineno, tree.id)
            if made is not None:
                return made
        for part in ast.walk(tree):
            if not isinstance(part, (ast.Name, ast.Attribute)):
                continue
            module = _value(part, frame)
            if isinstance(getattr(module, "_modules", None), dict):
                return _hidden(module) or _frozen(module, notes)
    return None


def _value(tree: Any, frame: FrameType) -> Any:
    if isinstance(tree, ast.Name):
        return frame.f_locals.get(tree.id, frame.f_globals.get(tree.id))
    holder = _value(tree.value, frame) if isinstance(tree, ast.Attribute) else None
    return (getattr(holder, "__dict__", None) or {}).get(getattr(tree, "attr", ""))


def _last_assignment(frame: FrameType, before: int, name: str) -> Line | None:
    file = frame.f_code.co_filename
    lines = [
        n.lineno
        for n in statements(scope_at(file, before))
        if isinstance(n, ast.Assign)
        and n.lineno < before
        and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
    ]
    return line_of(file, max(lines), frame.f_code.co_qualname) if lines else None


def hidden(module: Any) -> Iterator[tuple[Any, str, list[Tensor]]]:
    """The attributes in which a module and its parts keep layers or tensors that they do not register:
    (part, name, their tensors).
    """
    for part in module.modules():
        for name, value in vars(part).items():
            if name.startswith("_"):
                continue
            items = value.values() if isinstance(value, dict) else value
            held = [value] if isinstance(value, Tensor) else items
            if not isinstance(held, (list, tuple)) and not isinstance(value, dict):
                continue
            layers: list[Any] = [x for x in held if isinstance(getattr(x, "_modules", None), dict)]
            tensors = [x for x in held if isinstance(x, Tensor)]
            if layers or tensors:
                yield part, name, [*tensors, *(p for layer in layers for p in layer.parameters())]


def _hidden(module: Any) -> Line | None:
    """The attribute in which a module keeps layers or tensors that it does not register."""
    found = next(hidden(module), None)
    return None if found is None else assigned_in_class(type(found[0]), found[1])


def _frozen(module: Any, notes: Watch | None) -> Line | None:
    for p in module.parameters():
        if not p._rg and notes is not None:
            switched = notes.about(p).get("requires_grad")
            return describe(switched[1]) if switched is not None else None
    return None


# ---- graphs that were freed ----------------------------------------------------------------------
def carried_over(
    root: Tensor, failing: Line | None, frames: list[TracebackType], notes: Watch
) -> tuple[Line, str] | None:
    """What brought a graph that backward had freed into a new one, and by which name: a state from
    step to step, or a value that two losses share with an update between them. None when all was computed
    before: then one backward call is too many.
    """
    done = notes.last_done
    if done is None or root._node is None:
        return None
    nodes = [n for n in walk([root._node]) if isinstance(n, Node)]
    joints = [
        (n, node_of(e)) for n in nodes if n.seq > done.nodes for e in n.inputs if e is not None
    ]
    joints = [(n, e) for n, e in joints if isinstance(e, Node) and e.seq <= done.nodes]
    if not joints:
        return None
    reached = {id(n) for n in nodes}
    old = {id(e) for _, e in joints}
    memo = _memoised([e for _, e in joints])
    if memo is not None:
        return memo, "the result that is kept from an earlier call"
    own = [f.tb_frame for f in reversed(frames) if not is_library(f.tb_frame.f_code.co_filename)]
    for frame in own:
        found = _state(frame, reached, old)
        if found is not None:
            return found
    first = min(joints, key=lambda joint: joint[0].seq)[0].line
    before = describe(done.site)
    if before is None or failing is None or not own:
        return None if first is None else (first, "")
    if before.function != failing.function or before.line >= failing.line:  # from step to step
        kept = _kept_state(own[0], root, old, reached, first)
        if kept is not None:
            return kept
    if before.function != failing.function:
        return None if first is None else (first, "")
    if before.line < failing.line:  # two losses of one step
        body = statements(scope_at(failing.file, failing.line))
        between = [n for n in body if before.line <= n.lineno < failing.line]
        if not any(".step(" in ast.unparse(n) for n in between if isinstance(n, ast.Expr)):
            return None
        for name, value in own[0].f_locals.items():
            if isinstance(value, Tensor) and value._node is not None and id(value.grad_fn) in old:
                uses = [
                    n.lineno
                    for n in body
                    if n.lineno < before.line and name in _read_by(n) and isinstance(n, ast.Assign)
                ]
                if uses:
                    return line_of(failing.file, max(uses), failing.function), name
    return None if first is None else (first, "")


def _memoised(old: list[Node]) -> Line | None:
    """The decorator of a function that keeps its results, which a freed graph was computed in or whose
    results lead to it.
    """
    for node in old:
        line = node.line
        scope = scope_at(line.file, line.line) if line is not None else None
        for d in getattr(scope, "decorator_list", ()):
            if line is not None and re.search("cache|memo", ast.unparse(d), re.IGNORECASE):
                return line_of(line.file, d.lineno, getattr(scope, "name", ""))
    wanted = {id(node) for node in old}
    for x in gc.get_objects():
        kept: dict[Any, Any] = {}
        if issubclass(type(x), functools._lru_cache_wrapper):
            kept = {x: gc.get_referents(x)}
        elif (own := attributes(x)) and not issubclass(type(x), type):
            kinds = {k: v for kind in type(x).__mro__ for k, v in vars(kind).items() if k in own}
            kept = {
                v: [own[k]] for k, v in kinds.items() if isinstance(v, functools.cached_property)
            }
        for function, held in kept.items():
            code = getattr(
                getattr(function, "__wrapped__", None) or getattr(function, "func", None),
                "__code__",
                None,
            )
            if code is not None and not is_library(code.co_filename) and _leads(held, wanted):
                return line_of(code.co_filename, code.co_firstlineno, code.co_qualname)
    return None


def _leads(held: list[Any], wanted: set[int]) -> bool:
    """Whether what a cache holds has a tensor whose graph leads to one of some nodes."""
    waiting = [(x, 0) for x in held]
    seen: set[int] = set()
    while waiting and len(seen) < 10_000:
        x, depth = waiting.pop()
        if isinstance(x, Tensor):
            if x._node is not None and any(id(n) in wanted for n in walk([x._node])):
                return True
        elif id(x) not in seen and depth < 4:
            seen.add(id(x))
            if isinstance(x, (dict, list, tuple)) or "lru" in type(x).__name__:
                waiting += [(part, depth + 1) for part in gc.get_referents(x)]
    return False


def _kept_state(
    frame: FrameType, root: Tensor, old: set[int], reached: set[int], first: Line | None
) -> tuple[Line, str] | None:
    """The statement that keeps a state in an attribute or a container, from which the next step takes it:
    of values that the earlier graph is behind, the one that is read where the new graph begins.
    """

    def carries(t: Tensor) -> bool:
        return t is not root and t._node is not None and any(id(n) in old for n in walk([t._node]))

    files = user_files(*([] if first is None else [first.file]))
    read = [
        (n.attr, n.lineno)
        for file in files[:1]
        for n in walk_source(source_of(file) or ast.Module([], []))
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)
    ]
    found: list[tuple[bool, bool, str]] = []
    made: dict[str, Line | None] = {}
    for name, t in holders(frame, carries):
        word = re.split(r"[.\]]", re.sub(r"(\[[^\]]*\])+$", "", name.partition(" in ")[0]))[-1]
        at = [line for attribute, line in read if attribute == word]
        if at and "." in name:
            begins = first is not None and first.line in at
            made[name] = t.grad_fn.line
            found.append((not begins, id(t.grad_fn) not in reached, name))
    if not found:
        return None
    name = min(found)[2]
    line = stored_at(name, files, made[name])
    return None if line is None else (line, name)


def _read_by(statement: Any) -> set[str]:
    value = getattr(statement, "value", None)
    return (
        {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} if value is not None else set()
    )


def _state(frame: FrameType, reached: set[int], old: set[int]) -> tuple[Line, str] | None:
    """The statement of a running function that computes a value of the graph, or of one that goes
    on from the freed one, from itself; if that calls a function which detaches a part, the line there.
    """

    def carries(t: Tensor) -> bool:
        if t._node is None:
            return False
        return id(t.grad_fn) in reached or any(id(n) in old for n in walk([t._node]))

    file = frame.f_code.co_filename
    for n in statements(scope_at(file, frame.f_lineno)):
        if not isinstance(n, (ast.Assign, ast.AugAssign)):
            continue
        targets = n.targets if isinstance(n, ast.Assign) else [n.target]
        stored = {t.id for one in targets for t in ast.walk(one) if isinstance(t, ast.Name)}
        for name in stored & (_read_by(n) if isinstance(n, ast.Assign) else stored):
            value = frame.f_locals.get(name)
            parts = value if isinstance(value, (tuple, list)) else (value,)
            if any(isinstance(t, Tensor) and carries(t) for t in parts):
                line = _detaches_part(n.value, file)
                return line or line_of(file, n.lineno, frame.f_code.co_qualname), name
    return None


def _detaches_part(call: Any, file: str) -> Line | None:
    """The line of a function of the program, called by its name, that is there to detach what it is given."""
    called = getattr(call, "func", None)
    word = getattr(called, "attr", getattr(called, "id", None))
    for one in user_files(file) if isinstance(call, ast.Call) else ():
        for f in walk_source(source_of(one) or ast.Module([], [])):
            if isinstance(f, ast.FunctionDef) and f.name == word and word != "forward":
                lines = [
                    n.lineno
                    for n in ast.walk(f)
                    if isinstance(n, ast.Attribute) and n.attr in ("detach", "detach_", "data")
                ]
                if lines:
                    return line_of(one, max(lines), f.name)
    return None
