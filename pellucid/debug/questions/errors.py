"""Explain an exception: which line to change, for errors of backward, in-place writes, shapes,
dtypes, and missing gradients.
"""

from __future__ import annotations

import ast
import re
from types import FrameType, TracebackType
from typing import Any

from ...api.messages.written import text_at
from ...core import reverse
from ...core.source import Line, describe, is_library
from ...core.tensor import Tensor
from ...errors import Facts, facts_of, full_text
from ..graph import shape_text
from ..watching import Watch
from .changes import carried_over, of_dtypes, to_change
from .missing import cut, no_gradient
from .places import alias_at, scope_at, statements
from .result import Explanation
from .steps import NotedStep
from .values import WATCH

_ERRORS = (
    ("Trying to backward through the graph a second time", "graph-freed"),
    ("modified by an inplace operation", "overwritten"),
    ("grad can be implicitly created only for scalar outputs", "nonscalar"),
    ("grad can be implicitly created only for real scalar outputs", "nonscalar"),
    ("a leaf Variable that requires grad ", "leaf-inplace"),
)
_FIXES = {
    "nonscalar": "reduce it to one number first (.mean() or .sum()), or pass backward(gradient=...) with the tensor's shape",
    "leaf-inplace": "write to it inside `with torch.no_grad():`, or create a new tensor instead",
    "graph-freed": "call backward once per forward pass: add the losses first, detach() state that is carried over, "
    "or pass retain_graph=True to the first call",
}
_PLACE = re.compile(r" overwrote it at (.+?):(\d+)(?:  (.*))?$")


def about_error(error: BaseException, notes: Watch | None) -> Explanation:
    """What is to be said of an exception."""
    known = facts_of(error)
    if known is not None:
        return _ours(error, known.completed(), notes)
    found = _none_gradient(error, notes)
    if found is not None:
        return found
    if isinstance(error, SyntaxError) and error.filename:
        where: Line | None = Line(error.filename, error.lineno or 0, "", (error.text or "").strip())
        return Explanation(
            "syntax-error",
            f"the file cannot be read as Python: {error.msg}",
            "correct the line",
            where,
        )
    where = raised_at(error)
    if isinstance(error, RuntimeError) and _from_library(error):
        return Explanation("runtime-error", full_text(error), "see the line shown", where)
    text = f"{type(error).__name__} was not raised by this library: {error}"
    return Explanation("unknown", text, "read its traceback", where)


def _ours(error: BaseException, known: Facts, notes: Watch | None) -> Explanation:
    sentence = str(error.args[0]) if error.args else ""
    where = known.source if isinstance(known.source, Line) else raised_at(error)
    facts = [
        f"{o.name}: {shape_text(o.shape)}"
        + (f" made by {o.op}" if o.op else "")
        + (f" at {o.source}" if o.source else "")
        for o in known.operands
        if o.shape is not None
    ]
    facts += list(known.notes)
    if "does not require grad and does not have a grad_fn" in sentence:
        return _no_graph(error, where, notes)
    for words, cause in _ERRORS:
        if words not in sentence:
            continue
        text = sentence.partition(". Hint:")[0]
        for note in known.notes if cause == "overwritten" else ():
            match = _PLACE.search(note)
            if match:
                where = Line(match[1], int(match[2]), "", match[3] or "")
                text = f"a value that backward needs was overwritten at {match[1]}:{match[2]}: {sentence.partition(':')[0]}"
        if cause == "overwritten" and where is not None and "step(" in where.text:
            found = _brought(error, raised_at(error), notes)
            if found is not None:
                where, name = found
                text += f"; it was computed before that update, and this line uses {name or 'a value'} from there again"
                fix = f"cut it from the earlier graph before it is used again: {_detached(name, error)}"
                return Explanation(cause, text, fix, where, facts)
        if cause == "graph-freed":
            facts += [
                part.strip()
                for part in (known.hint or "").split(";")
                if "recorded at" in part or "freed by" in part
            ]
            text = "backward was called a second time through a graph whose saved values the first call had freed"
            found = _brought(error, where, notes)
            if found is not None:
                facts.append(f"the backward call that failed: {where}")
                where, name = found
                text += f"; this line uses {name or 'a value'} from before that call again"
                fix = f"cut it from the earlier graph before it is used again: {_detached(name, error)}"
                if where.text.startswith("@"):
                    fix = "compute it again in every step: do not cache what depends on trained parameters"
                return Explanation(cause, text, fix, where, facts)
        if cause == "nonscalar":
            text = f"{sentence}: backward was called on {known.found or 'a tensor of more than one element'}"
        return Explanation(cause, text, _FIXES.get(cause) or known.hint or "", where, facts)
    if "of the differentiated Tensors does not require grad" in sentence:
        why = _undifferentiable(error, notes)
        if why is not None:
            return why
    better = to_change(error, known, _frames(error), notes)
    if better is not None and better != where:
        facts.append(f"it was raised at {where}")
        where = better
    return Explanation(
        "dtype-error" if of_dtypes(sentence) else _slug(known.kind.name, sentence),
        sentence,
        known.hint or _general_fix(known),
        where,
        facts,
    )


def _brought(
    error: BaseException, where: Line | None, notes: Watch | None
) -> tuple[Line, str] | None:
    root = _root_of(error)
    if root is None or notes is None:
        return None
    found = carried_over(root, where, _frames(error), notes)
    return None if found is None else (_cut_in_part(*found) or found[0], found[1])


def _cut_in_part(used: Line, name: str) -> Line | None:
    """Where a state is detached in part after it was used: `state = (state[0].detach(), state[1])`."""
    scope = scope_at(used.file, used.line) if name.isidentifier() else None
    for node in statements(scope) if scope is not None else ():
        if (
            isinstance(node, ast.Assign)
            and node.lineno > used.line
            and "detach" in ast.unparse(node)
        ):
            if [ast.unparse(t) for t in node.targets] == [name]:
                return Line(used.file, node.lineno, used.function, ast.unparse(node))
    return None


def _detached(name: str, error: BaseException) -> str:
    """What detaches the value of a name, also where that is the pair of states of an LSTM."""
    try:
        tree = ast.parse(name, mode="eval").body
    except SyntaxError:  # no name
        return "detach() it"
    for link in user_frames(error):
        value = look_up(tree, link.tb_frame)
        if isinstance(value, (tuple, list)):
            return f"{name} = tuple(s.detach() for s in {name})"
        if value is not None:
            break
    return f"{name}.detach()"


def _general_fix(known: Facts) -> str:
    if known.expected is not None:
        return f"make it {known.expected}"
    return "compare the arguments on this line with what the message asks for"


def _slug(name: str, sentence: str) -> str:
    """DimensionError as dimension-error; the kinds of errors that are about shapes are one."""
    if name == "OperationError" and re.search(r"\b(size|shape|dimension|[0-9]D)\b", sentence):
        return "shape-error"
    return (
        "shape-error"
        if name == "ShapeValueError"
        else re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
    )


def _no_graph(error: BaseException, where: Line | None, notes: Watch | None) -> Explanation:
    """backward() on something without a graph: the tensor itself is found in the traceback."""
    root = _root_of(error)
    number = notes.known(root) if notes is not None and root is not None else None
    if notes is not None and number is not None:
        step = notes.cut_before(number)
        if step is not None:
            return cut(
                step,
                "the loss",
                [step],
                "backward was called on a value without a graph: what it was computed from",
            )
        step = _left_before(error, notes)
        if step is not None:
            return cut(
                step,
                "the loss",
                [step],
                "backward was called on a value without a graph: what it was computed from",
            )
        text = "backward was called on a value that, as far as recorded, does not depend on any tensor that requires a gradient"
        if notes.started is not None:
            text += f" (since {describe(notes.started)})"
        off = notes.switched_off()
        if off is not None:
            text += f"; parameters were frozen at {off}"
            at = alias_at(off)
            if at is not None:
                text += f", through a second name of the same module, given at {at}"
                fix = "copy the module there: copy.deepcopy(...)"
                return Explanation("not-requires-grad", text, fix, at)
            return Explanation(
                "not-requires-grad", text, "freeze only what should not be trained", off
            )
        return Explanation(
            "not-requires-grad",
            text,
            "give the parameters requires_grad=True and use them in the loss",
            where,
        )
    if notes is not None and root is not None and notes.active:
        found = notes.re_made(root)
        if found is not None:
            return cut(
                found,
                "the loss",
                [found],
                "backward was called on a value without a graph: what it was computed from",
            )
    return Explanation(
        "unknown",
        "backward was called on a value without a graph; whether and where it was cut can no longer be determined",
        WATCH
        + "; do not set requires_grad on the loss: that hides the error, and nothing is trained",
        where,
    )


def _undifferentiable(error: BaseException, notes: Watch | None) -> Explanation | None:
    """autograd.grad() with respect to something that requires no gradient: why that does not."""
    for link in _frames(error):
        names = link.tb_frame.f_locals
        if link.tb_frame.f_globals.get("__name__") == reverse.__name__ and "inputs" in names:
            t = next((t for t in names["inputs"] if not t._rg), None)
            if t is not None:
                found = no_gradient(t, None, f"what {raised_at(error)} asks for", notes)
                found.fix = "call requires_grad_() on it before you use it"
                return found
    return None


def _left_before(error: BaseException, notes: Watch) -> NotedStep | None:
    """The newest place at which a value left the graph as a number or an array and went on, by the
    source, to the failing call.
    """
    frames = user_frames(error)
    goal = [(frames[0].tb_frame.f_code, frames[0].tb_lasti)] if frames else []
    return notes.left_toward(goal)


def _frames(error: BaseException) -> list[TracebackType]:
    found, link = [], error.__traceback__
    while link is not None:
        found.append(link)
        link = link.tb_next
    return found


def _root_of(error: BaseException) -> Tensor | None:
    root = None
    for link in _frames(error):
        names = link.tb_frame.f_locals
        if link.tb_frame.f_globals.get("__name__") == reverse.__name__:
            several = names.get("tensors")
            given = names.get("t", several[0] if isinstance(several, (list, tuple)) else None)
            root = given if isinstance(given, Tensor) else root
    return root


def _from_library(error: BaseException) -> bool:
    frames = _frames(error)
    return bool(frames) and is_library(frames[-1].tb_frame.f_code.co_filename)


def user_frames(error: BaseException) -> list[TracebackType]:
    """The user's frames of a traceback, innermost first: not the library's, Python's own or the
    loader's.
    """
    return [
        link
        for link in reversed(_frames(error))
        if not is_library(link.tb_frame.f_code.co_filename)
        and not link.tb_frame.f_code.co_filename.startswith("<frozen")
    ]


def raised_at(error: BaseException) -> Line | None:
    """The innermost frame of the traceback that is the user's."""
    frames = user_frames(error)
    return describe((frames[0].tb_frame.f_code, frames[0].tb_lasti)) if frames else None


# ---- a gradient that is None, used --------------------------------------------------------------
def _none_gradient(error: BaseException, notes: Watch | None) -> Explanation | None:
    """`'NoneType' object has no attribute ...` and the like, when it was a `.grad` that was None:
    why it was.
    """
    if not isinstance(error, (AttributeError, TypeError)) or "None" not in str(error):
        return None
    for link in user_frames(error)[:1]:
        frame = link.tb_frame
        for tree in _expressions(frame, link.tb_lasti):
            for n in ast.walk(tree):
                if isinstance(n, ast.Attribute) and n.attr == "grad":
                    t = look_up(n.value, frame)
                    if isinstance(t, Tensor) and t._grad is None:
                        found = no_gradient(t, None, ast.unparse(n.value), notes)
                        found.text = f"{ast.unparse(n)} is None: {found.text}"
                        found.evidence.append(f"it was used at {raised_at(error)}")
                        return found
    return None


def _expressions(frame: FrameType, instruction: int) -> list[ast.AST]:
    """The source of what a frame was computing, as trees: the failing part if Python knows it, then
    the whole line.
    """
    line = describe((frame.f_code, instruction))
    trees: list[ast.AST] = []
    for text in (text_at(frame.f_code, instruction), line and line.text):
        try:
            trees.append(ast.parse(text or ""))
        except SyntaxError:
            continue
    return trees


def look_up(tree: ast.AST, frame: FrameType) -> Any:
    """The value of names, attributes and constant subscripts in a frame, without calling anything
    of the user's; None if there is none.
    """
    if isinstance(tree, ast.Name):
        return frame.f_locals.get(tree.id, frame.f_globals.get(tree.id))
    if isinstance(tree, ast.Attribute):
        return getattr(look_up(tree.value, frame), tree.attr, None)
    if isinstance(tree, ast.Subscript):
        holder, key = look_up(tree.value, frame), tree.slice
        index = key.value if isinstance(key, ast.Constant) else look_up(key, frame)
        try:
            return holder[index]
        except Exception:
            return None
    return None
