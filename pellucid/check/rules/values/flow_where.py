"""Find the line where gradients grow or shrink, and how much of one arrives through a recurrence."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np

from ...events import VIEWS, Op, lineage, made_by
from ...recording.values import size
from ...rule import cause_site
from ..source.origins import called_at
from ..source.places import Place, birthplace, ended_at, function_around, given
from .units import LAYERS

_KEEPS = frozenset(
    "clone contiguous to float double view reshape squeeze unsqueeze flatten".split()
)
LARGEST = 1 << 16  # elements of a state that is followed element by element


class Share:
    """What one line adds to a growth: `total` is the sum of the decimal logarithms of its factors."""

    __slots__ = ("default", "factor", "kind", "number", "place", "total")

    def __init__(self, kind: str, place: Any, number: int, default: bool) -> None:
        self.kind = kind  # "weights", "activation", "factor", "sum" or "gradient"
        self.place = place
        self.number = number
        self.default = default  # weights as the library draws them
        self.total = 0.0
        self.factor = 1.0


def shares(flow: Any, made: list[Op], chain: list[Any]) -> list[Share]:
    """The lines that the layers between the first and the last, their activations, factors and sums
    owe their values to.
    """
    found: dict[Any, Share] = {}

    def add(kind: str, place: Any, number: int, factor: float, default: bool = False) -> None:
        if place is None or not factor > 0 or not np.isfinite(factor):
            return
        share = found.setdefault((kind, place.key), Share(kind, place, number, default))
        share.total += float(np.log10(factor))
        share.number, share.factor = max(share.number, number), factor

    for layer in chain[1:]:
        written = given(flow.recorder, layer.weight)
        add(
            "weights",
            written or birthplace(flow.recorder, layer.weight),
            layer.number,
            layer.gain,
            written is None,
        )
    first, last = chain[0].number, chain[-1].number
    numbers = {op.number for op in made if first < op.number < last}
    for kind, table in (("activation", flow.acts), ("factor", flow.scales), ("sum", flow.sums)):
        for number, (op, factor) in table.items():
            if number in numbers:
                site = cause_site(op)
                add(
                    kind,
                    (called_at(site) or site)
                    if kind == "activation" and site is not None
                    else site,
                    number,
                    factor,
                )
    recorder = flow.recorder
    for op in made:  # what the program itself does to gradients, in a function's backward or a hook
        factor = recorder.passed.get(op.name) if op.name in recorder.custom else None
        hook = recorder.hooked.get(op.number)
        if first < op.number < last:
            if factor is not None:
                kind = recorder.custom[op.name]
                code = getattr(
                    inspect.unwrap(vars(kind).get("backward", kind.backward)), "__code__", None
                )
                wrong = None if op.name in recorder.unchanging else ended_at(recorder, code)
                add("gradient", wrong or op.site, op.number, factor)
            if hook is not None and hook.factor is not None:
                add("gradient", hook.site, op.number, hook.factor)
    return list(found.values())


def most(found: list[Share], way: int) -> Share | None:
    """The line with the greatest part in a growth (`way` 1) or a shrinking (-1). Weights that are
    as the library draws them give way to a line that does half as much."""
    parts = sorted((s for s in found if s.total * way > 0), key=lambda s: -s.total * way)
    if not parts:
        return None
    best = parts[0]
    if best.default:
        best = next(
            (s for s in parts if not s.default and s.total * way > 0.5 * best.total * way), best
        )
    return best


def followed(flow: Any, between: dict[int, Op], first: int, last: int) -> float | None:
    """How much of a gradient of random numbers at the last use of a matrix arrives at the first,
    through the derivatives of this very forward pass; None where an operation is on the way whose
    derivative is not kept."""
    flowing: dict[int, Any] = {}
    stream = np.random.default_rng(0)
    for v in between[last].inputs:
        made = v.producer
        if made is not None and made.number in between and made.number != last and v.requires_grad:
            if v.numel > LARGEST:
                return None
            flowing[made.number] = stream.standard_normal(v.shape)
    with np.errstate(all="ignore"):
        for number in sorted(between, reverse=True):
            g = flowing.pop(number, None)
            if g is None:
                continue
            if number == first:
                return size(g)
            sent = _sent(flow, between[number], g)
            if sent is None:
                return None
            for v, part in sent:
                made = v.producer
                if (
                    made is not None
                    and made.number in between
                    and v.requires_grad
                    and made.number != number
                ):
                    if part.shape != v.shape:
                        return None
                    held = flowing.get(made.number)
                    flowing[made.number] = part if held is None else held + part
    return None


def _sent(flow: Any, op: Op, g: Any) -> list[tuple[Any, Any]] | None:
    """What an operation hands back to its inputs."""
    number, name = op.number, op.name
    slope, matrix = flow.slopes.get(number), flow.matrices.get(number)
    if matrix is not None:
        if slope is not None:
            g = g * slope
        kind, state, array = matrix
        if g.shape[-1 if kind == "right" else 0] != array.shape[0] and kind == "right":
            return None
        return [(state, g @ array if kind == "right" else array.T @ g)]
    if slope is not None:
        return [(op.inputs[0], g * slope)]
    if name in ("add", "sub"):
        return [(v, g) for v in op.inputs if v.shape == g.shape and v.requires_grad]
    if name in _KEEPS and op.inputs:
        return [(op.inputs[0], g.reshape(op.inputs[0].shape))]
    if (
        name in ("mul", "div") and len(op.inputs) == 1 or number in flow.acts
    ) and number in flow.gains:
        return [(op.inputs[0], g * flow.gains[number])]
    return None


def forgotten(recorder: Any, layer: Any) -> tuple[float | None, int, Any]:
    """Of gates whose biases the program wrote itself: how much of the state is left at the end by
    these biases, after how many steps, and where they were written."""
    op, params = layer.op, layer.op.args.get("params") or []
    module = op.module.module if op.module is not None else None
    shape = op.inputs[0].shape if op.inputs else ()
    if op.name in ("lstm", "gru"):
        times = (
            shape[1 if op.args.get("batch_first") else 0]
            if len(shape) == 3
            else shape[0]
            if shape
            else 0
        )
    else:
        times = layer.count
    if module is None or len(params) < 4 or times < 2:
        return None, times, None
    biases = [v for v in params[:4] if v.ndim == 1]
    place = next((p for v in reversed(biases) if (p := given(recorder, v)) is not None), None)
    arrays = [v.numpy() for v in biases]
    if place is None or any(a is None for a in arrays):
        return None, times, None
    width = int(module.hidden_size)
    # the gate that keeps the state is the second
    opened = np.sum([a[width : 2 * width] for a in arrays], axis=0, dtype=np.float64)
    return (
        float((1 / (1 + np.exp(-np.mean(opened)))) ** (times - 1))
        if np.mean(opened) < -1
        else None,
        times,
        place,
    )


def converted_at(recorder: Any, kind: type) -> Place | None:
    """The line of a data set's own `__getitem__` that makes the numbers of a sample floats, else the
    one that gives the sample back."""
    code = getattr(getattr(kind, "__getitem__", None), "__code__", None)
    if code is None or recorder.is_library(code.co_filename):
        return None
    function = function_around(code.co_filename, code.co_firstlineno + 1, code.co_firstlineno)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            text = ast.unparse(node)
            if node.func.attr == "float" or node.func.attr in _TAKES_DTYPE and "float" in text:
                return Place(code.co_filename, node.lineno)
    return ended_at(recorder, code)


_TAKES_DTYPE = ("to", "type", "astype", "tensor", "as_tensor", "asarray", "array")


def saturated(
    flow: Any, op: Op, batch: tuple[set[int], type] | None = None
) -> tuple[float | None, Any]:
    """Of the activation of a trained layer: the share of its results at which its derivative is
    zero, and the line to change: the one that drew the matrix, or the call that hands in numbers
    that are not scaled."""
    layer = next((o for o in lineage(op.args.get("input"), VIEWS, 6) if o.name in LAYERS), None)
    held = flow.made.get(layer.number) if layer is not None else None
    out, y = op.output, op.output.numpy() if op.output is not None else None
    if held is None or layer is None or out is None or y is None or y.size < 64:
        return None, None
    centred = y if op.name != "sigmoid" and op.name != "hardsigmoid" else 2 * y - 1
    share = float(np.mean(np.abs(centred) > 0.9995))
    written = given(flow.recorder, held.weight)
    if written is not None and held.gain > 3:
        return share, written
    x = next((v for v in layer.inputs if v.is_floating_point and v is not held.weight), None)
    if held.size < 8 or x is None or x.requires_grad:
        return None, None
    if batch is not None:  # ids of the tensors that a loader gave, the class of its data set
        given_ids = {v.id for o in lineage(x, VIEWS, 20) for v in o.inputs} | {x.id}
        place = converted_at(flow.recorder, batch[1]) if given_ids & batch[0] else None
        if place is not None:
            return share, place
    call = op.module
    while call is not None and call.parent is not None and call.parent.made is not None:
        call = call.parent  # out of containers of the library, to where the program calls them
    return (
        share,
        call.site if call is not None and call.made is not None and not op.direct else layer.site,
    )


def hard_attention(op: Op) -> tuple[float | None, Any, bool]:
    """Of the softmax of attention, whose scores are products of two trained results: the share of
    rows in which one element has everything, and the line to change: the factor that makes the
    scores large (then True), or else the product."""
    x, y = op.args.get("input"), op.output.numpy() if op.output is not None else None
    if x is None or not x.requires_grad or y is None or y.ndim < 2 or y.size < 64:
        return None, None, False
    between = []
    for made in lineage(x, VIEWS | {"mul", "div", "masked_fill", "add", "where"}, 12):
        if made.name in ("matmul", "bmm", "mm", "einsum"):
            if len(made.inputs) < 2 or any(
                not v.requires_grad or v.is_leaf for v in made.inputs[:2]
            ):
                return None, None, False
            break
        between.append(made)
    else:
        return None, None, False
    axis = op.args.get("dim")
    axis = axis if isinstance(axis, int) else -1
    if y.shape[axis] < 4:
        return None, None, False
    share = float(np.mean(y.max(axis=axis) > 0.9995))
    for o in between:
        factor = o.args.get("other")
        if (
            isinstance(factor, (int, float))
            and factor
            and (factor > 1 if o.name == "mul" else o.name == "div" and factor < 1)
        ):
            return share, cause_site(o), True
    return share, cause_site(made), False


def one_step(op: Op) -> bool:
    """Whether an operation takes a single time step: `states[:, -1]`."""
    index = op.args.get("index")
    return op.name in ("getitem", "select") and (
        op.name == "select"
        or isinstance(index, int)
        or isinstance(index, tuple)
        and any(isinstance(i, int) for i in index)
    )


def late(made: list[Op], layer: Any, flow: Any) -> bool:
    """Whether a loss sees the first half of a recurrence through its last state only, and no gates
    carry it through.
    """
    first, middle, last = layer.uses[0], layer.uses[len(layer.uses) // 2], layer.uses[-1]
    states: set[int] = {first}  # what depends on the first use
    for op in made:
        if op.number <= first:
            continue
        held = [v for v in op.inputs if v.producer is not None and v.producer.number in states]
        if not held:
            continue
        if op.number <= last:
            if op.name in ("mul", "addcmul", "lerp") and op.number not in flow.gains:
                return False
            states.add(op.number)
    behind: set[int] = set()  # what the last use is made of
    by_number = {op.number: op for op in made}
    waiting = [by_number[last]] if last in by_number else []
    while waiting:
        op = waiting.pop()
        if op.number in behind or op.number < first:
            continue
        behind.add(op.number)
        waiting.extend(v.producer for v in op.inputs if v.producer is not None)
    for op in made:
        if op.number in behind or op.number <= first:
            continue
        if any(
            v.producer is not None
            and v.producer.number in states
            and v.producer.number <= middle
            and v.requires_grad
            for v in op.inputs
        ):
            return False
    return True


def gated(flow: Any, made: list[Op]) -> tuple[float, int, Op] | None:
    """A state that is multiplied step by step with another result: by how much a gradient grows
    through these products when that is more than ten thousand times (and the state grows with it),
    in how many, and the operation that makes the other factor."""
    places: dict[Any, list[Op]] = {}
    for op in made:
        if op.number in flow.crossed and op.site is not None:
            places.setdefault(op.site, []).append(op)
    for ops in places.values():
        if len(ops) < 8:
            continue
        grown, times, sizes = 1.0, 1, []
        gate: Any = None
        for before, op in zip(ops, ops[1:], strict=False):
            state = next((v for v in op.inputs if _made_of(v, before)), None)
            gate = next((v for v in op.inputs if v is not state), None)
            if state is None or gate is None:
                break
            grown, times = grown * flow.crossed[op.number][state.number], times + 1
            sizes.append(flow.crossed[op.number][gate.number])
        if times == len(ops) and grown > 1e4 and sizes[-1] > 1e3 * sizes[0] and gate is not None:
            origin = made_by(gate)
            if origin is not None:
                return grown, times, origin
    return None


def _made_of(value: Any, op: Op) -> bool:
    """Whether a value is made of an operation's result, by a few operations."""
    waiting, left = [value.producer], 24
    while waiting and left:
        left -= 1
        made = waiting.pop()
        if made is op:
            return True
        if made is not None and made.number > op.number:
            waiting.extend(v.producer for v in made.inputs)
    return False
