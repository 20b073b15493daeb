"""Find the line where the graph is cut, what happens there, and how to go on without a cut."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import ModuleCall, Op, Read, Site, Value, ancestors
from ...rule import cause_site
from ..source.places import Place, function_around, member_place, tree, walk
from .overwritten import SAME_MEMORY
from .terms import is_hot, off_at

THROUGH = SAME_MEMORY | {
    "data",
    "cpu",
    "to",
    "float",
    "double",
    "half",
    "clone",
    "numpy",
    "requires_grad",
    "type",
}
MADE = frozenset(
    """tensor as_tensor from_numpy asarray Tensor FloatTensor DoubleTensor new_tensor full full_like scalar_tensor new_full Variable
    fill copy setitem Parameter""".split()
)
DRAWN = frozenset("sample normal bernoulli multinomial poisson".split())


def where_cut(op: Op) -> tuple[Any, str]:
    """(place, what happens) of an operation that takes values with a graph and gives one without."""
    call = op.module
    if op.name in ("detach", "data"):
        return cause_site(op), f"is cut off by `{'.data' if op.name == 'data' else 'detach()'}`"
    if op.name in DRAWN:
        return cause_site(op), f"is only used to sample with `{op.name}`, which has no derivative,"
    if not op.grad_enabled:
        outer = call
        while outer is not None and outer.parent is not None and not outer.parent.grad_enabled:
            outer = outer.parent
        site = outer.site if outer is not None and not outer.grad_enabled else op.site
        for at in (op.site, *_outwards(call)):
            place = off_at(at.file, at.line, at.code.co_name) if at is not None else None
            if place is not None:
                return place, "is computed without a graph (`no_grad`)"
        return site, "is computed without a graph (`no_grad`)"
    if op.name in MADE:
        return cause_site(op), "is copied into a new tensor without a graph"
    return cause_site(op), f"is turned into integers or booleans by `{op.name}`"


def _outwards(call: ModuleCall | None) -> Iterator[Site | None]:
    while call is not None and not call.grad_enabled:
        yield call.site
        call = call.parent


def way_around(flat: Op, value: Value, graph: list[Op]) -> Op | None:
    """The detach that cuts what was to carry the gradient past an operation without one: in
    `q + (x - x.detach()).detach()`, and in `q + (x - q).detach()`, where x and q have changed
    places."""
    results = {flat.number}
    for op in reversed(graph):  # from the oldest on
        if any(v.producer is not None and v.producer.number in results for v in op.inputs):
            if op.name in THROUGH and op.name != "detach":
                results.add(op.number)
            elif op.name in ("add", "sub"):
                for other in op.inputs:
                    made = other.producer
                    if (
                        made is not None
                        and made.name == "detach"
                        and made.inputs
                        and is_hot(made.inputs[0])
                    ):
                        before = ancestors([made.inputs[0]], limit=20)
                        if any(v.number == value.number for o in before for v in o.inputs):
                            return made
    return None


def trained_in(part: Any) -> list[Any]:
    """The parameters of a module that was handed over, or of that whose method it is."""
    held = part.value if type(part).__name__ == "Foreign" else None
    owner = getattr(held, "__self__", held)
    return list(owner.parameters()) if hasattr(owner, "parameters") else []


def hook_line(code: Any) -> Any:
    """The line of a hook that says what becomes of the gradient: its only `return`."""
    function = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
    returns = (
        [n for n in ast.walk(function) if isinstance(n, ast.Return)] if function is not None else []
    )
    return Place(code.co_filename, returns[0].lineno) if len(returns) == 1 else None


def first_name(leaves: dict[int, Value]) -> str | None:
    first = min(leaves.values(), key=lambda v: v.id)
    return first.name


def registered_at(recorder: Any, leaves: dict[int, Value]) -> list[Any]:
    """Where the parameters are registered: what other rules say of them there is a symptom."""
    found = []
    for value in leaves.values():
        path = value.parameter
        for root in recorder.names.roots() if path is not None else ():
            inner = next((n for n, p in root.named_parameters() if p is value.tensor), None)
            if inner is not None:
                found += [member_place(recorder, root, inner), recorder.names.site_of(root)]
    return found


def in_eval_mode(op: Op, value: Value) -> bool:
    """Whether what is cut off was computed by a part of the model in eval mode: not to be trained."""
    made = op if not op.grad_enabled else value.producer
    return made is not None and made.module is not None and not made.module.training


def enters(op: Op, read: Read, nothing_else: bool) -> bool:
    """Whether an operation may take in what was read: it makes a tensor of an array or a number, or
    has the very number as an argument.

    Where nothing else leads from parameters to the loss, any number will do: what was read may have
    been computed with meanwhile.
    """
    if nothing_else and op.name in MADE and not any(v.requires_grad for v in op.inputs[1:]):
        return True
    if read.how in ("numpy", "array", "tolist"):
        return op.name in MADE and not any(
            isinstance(v, Value) for k, v in op.args.items() if k != "input" or op.name != "setitem"
        )
    if op.name in MADE and any(_has(a, read.result) for a in op.args.values()):
        return True
    return read.result is not None and any(
        isinstance(a, float) and a == read.result for a in op.args.values()
    )


def feeds(read: Read, op: Op) -> bool:
    """Whether the number that was read is computed with before an operation has it: in the same
    statement, or through a variable of the same function.
    """
    if read.site is None or op.site is None or read.site.file != op.site.file:
        return False
    if read.how in ("repr", "format", "bool", "int"):
        return False
    if op.name not in MADE and not _computed_number(op):
        return False
    if function_around(*read.site.key) is not function_around(*op.site.key):
        return False
    first = _statement(read.site.file, read.site.line)
    second = _statement(op.site.file, op.site.line)
    if first is None or second is None:
        return False
    if first is second:
        return True
    made: set[str] = set()
    if isinstance(first, ast.Assign) and first.lineno <= second.lineno:
        made = {n.id for t in first.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    elif isinstance(first, ast.Expr) and isinstance(first.value, ast.Call):
        call = first.value.func  # `logs.append(math.log(p.item()))`
        if isinstance(call, ast.Attribute) and call.attr in ("append", "extend", "insert", "add"):
            made = {n.id for n in ast.walk(call.value) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Name) and n.id in made for n in ast.walk(second))


def _computed_number(op: Op) -> bool:
    """Whether an operation has a number as an operand that does not stand in the source."""
    number = next(
        (a for k in ("other", "input") if type(a := op.args.get(k)) is float and a == a), None
    )
    if number is None or op.site is None:
        return False
    statement = _statement(op.site.file, op.site.line)
    return statement is not None and not any(
        isinstance(n, ast.Constant)
        and isinstance(n.value, (int, float))
        and abs(n.value) == abs(number)
        for n in ast.walk(statement)
    )


def _statement(file: str, line: int) -> ast.stmt | None:
    """The innermost statement over a line."""
    root = tree(file)
    best: ast.stmt | None = None
    for node in walk(root) if root is not None else ():
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                best = node if best is None or node.lineno >= best.lineno else best
    return best


def is_copy(value: Value, read: Read) -> bool:
    """Whether a tensor of unknown origin, as `torch.Tensor(numbers)` makes one, has the numbers
    that were read before.
    """
    if (
        read.how not in ("numpy", "array", "tolist")
        or value.shape != read.value.shape
        or value.number < read.number
    ):
        return False
    now, then = value.numpy(), read.value.numpy()
    return now is None or then is None or bool(np.array_equal(now, then))


def _has(argument: Any, number: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(_has(a, number) for a in argument)
    return isinstance(argument, (int, float)) and argument == number


def way_on(how: str) -> str:
    if "detach" in how or ".data" in how:
        return "remove the cut, or give the optimizer only what should be trained"
    if "no_grad" in how:
        return "move the trained computation out of `torch.no_grad()`"
    if "used to sample" in how:
        return (
            "sample with `rsample()` or `mean + std * torch.randn_like(std)`; "
            "for discrete choices use F.gumbel_softmax, or weight the loss by log_prob"
        )
    if "derivative is zero" in how:
        return "use a smooth replacement, or a straight-through gradient: `x + (x.round() - x).detach()`"
    if "backward of" in how:
        return "return the gradient of this argument from `backward` instead of None or zeros"
    if "autograd.grad" in how:
        return "pass `create_graph=True` to `torch.autograd.grad`"
    if "NumPy" in how or "plain number" in how:
        return "use tensors throughout: torch has the same operations under almost the same names"
    if "new tensor" in how:
        return "use the tensor itself, or `torch.stack` of several"
    return "use a smooth replacement where gradients must flow (softmax or sigmoid instead of argmax and comparisons)"
