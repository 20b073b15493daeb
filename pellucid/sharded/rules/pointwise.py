"""Operators element by element: arguments are cut alike, and so is the result. Linear ones keep
terms of a sum as terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...aten.overload import OpOverload
from ...core.primitive import PRIMITIVES, Primitive
from ..placements import REPLICATE, Partial, Placement, Shard
from ..propagate import (
    RULES,
    Candidate,
    LayoutPlan,
    OperatorCall,
    Rule,
    chosen,
    gathered,
    plan,
    shards,
)

# Operators that no element-wise operation of the library is named after. Of the others the record knows.
POINTWISE = """
absolute celu clamp_max clamp_min clip clone contiguous detach alias float_power glu_jvp hardshrink lift_fresh
log_sigmoid_forward mvlgamma native_dropout_backward positive relu6 rrelu_with_noise rsub selu softshrink
special_expit threshold threshold_backward true_divide _to_copy real imag _conj
smooth_l1_loss_elementwise copy_ fill zero _prelu_kernel _prelu_kernel_backward
""".split()
# Operators that are linear, beside the operations whose record says so.
LINEAR = {"positive", "_to_copy", "_conj", "detach", "lift_fresh"}


def operation_of(func: OpOverload) -> Primitive | None:
    """The operation that an operator, its form in place or its gradient is named after."""
    return PRIMITIVES.get(
        func._opname.rstrip("_").removeprefix("special_").removesuffix("_backward")
    )


def broadcast(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape of the result."""
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
    return tuple([max(sizes) if 0 not in sizes else 0 for sizes in zip(*padded, strict=True)])


def on(shape: Sequence[int], whole: Sequence[int], dim: int) -> Placement:
    """How an argument lies where the result is cut along `dim`."""
    k = dim - (len(whole) - len(shape))
    return Shard(k) if k >= 0 and (shape[k] != 1 or whole[dim] == 1) else REPLICATE


def elementwise(call: OperatorCall) -> LayoutPlan:
    """Arguments are cut as the result is."""
    name = call.func._opname
    base = name.rstrip("_") if not name.startswith("__") else name.strip("_").removeprefix("i")
    writes = name.endswith("_") and not name.endswith("__")
    shapes = [tuple(s.shape) for s in call.specs]
    whole = shapes[0] if writes else broadcast(shapes)
    n = len(shapes)

    def candidates(i: int) -> list[Candidate]:
        made: list[Candidate] = []
        own = call.specs[0].placements[i]
        seen: list[int] = []
        for spec in call.specs:
            for dim in shards(spec, i):
                d = dim + len(whole) - spec.ndim
                # A cut of one element is no cut of a result that repeats it.
                if d not in seen and on(tuple(spec.shape), whole, d).is_shard():
                    seen.append(d)
                    p = spec.placements[i]
                    strided = p if not p.is_shard() else Shard(d)
                    made.append(Candidate((strided,), [_like(on(s, whole, d), p) for s in shapes]))
        terms = [p for s in call.specs if isinstance(p := s.placements[i], Partial)]
        if terms and type(terms[0]) is Partial:
            made += _linear(call, base, terms[0], i, n)
        made.append(Candidate((REPLICATE,), (REPLICATE,) * n))
        if writes:
            if isinstance(own, Partial) and base in ("copy", "zero", "fill"):
                fits = base != "fill" or call.values[1] == 0
                made += [Candidate((own,), (own,) * n)] if fits else []
            return [c for c in made if c.outs[0] == own and c.ins[0] == own]
        return made

    picked = chosen(call, candidates)
    if writes:
        spec = call.specs[0]
        return plan(call, picked, [spec.tensor_meta])
    return plan(call, picked)


def _like(p: Placement, model: Placement) -> Placement:
    """A cut as the model is: strided, if that is."""
    return (
        model
        if isinstance(p, Shard)
        and type(model) is not Shard
        and isinstance(model, Shard)
        and model.dim == p.dim
        else p
    )


def _linear(call: OperatorCall, base: str, term: Partial, i: int, n: int) -> list[Candidate]:
    """Candidates in which terms of a sum stay terms."""
    if term.reduce_op not in ("sum", "avg"):
        return []
    op = PRIMITIVES.get(base)
    linear = 0 if op is None or op.jvp != "linear" else len(op.args)
    if base in LINEAR or linear == 1:
        if (
            (to := call.get("dtype")) is not None
            and to.is_floating_point is False
            and not to.is_complex
        ):
            return []  # the sum of rounded terms is another one
        return [Candidate((term,), (term,) * n)]
    if (base == "rsub" or linear == 2) and n == 2:  # both may be terms
        return (
            [Candidate((term,), (term, term))]
            if term.reduce_op == "sum" or _all_partial(call, i)
            else []
        )
    # the first may be terms, or (of a product) the second
    if base in ("mul", "div", "true_divide") and call.get("rounding_mode") is None:
        if n == 1:
            tensor_first = call.place.get(0) == 0
            return [Candidate((term,), (term,))] if tensor_first or base == "mul" else []
        made = []
        if call.specs[0].placements[i] == term and call.specs[1].placements[i] != term:
            made.append(Candidate((term,), (term, REPLICATE)))
        if (
            base == "mul"
            and call.specs[1].placements[i] == term
            and call.specs[0].placements[i] != term
        ):
            made.append(Candidate((term,), (REPLICATE, term)))
        return made
    return []


def _all_partial(call: OperatorCall, i: int) -> bool:
    return all(isinstance(s.placements[i], Partial) for s in call.specs)


for _name in POINTWISE:
    RULES[_name] = elementwise
    RULES[f"{_name.rstrip('_')}_"] = elementwise
for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    RULES[f"__{_name}__"] = RULES[f"__i{_name}__"] = elementwise


RULES["prelu"] = gathered  # a weight for each channel


def found_rule(func: OpOverload) -> Rule:
    """The rule of an operator; of one without, `gathered`."""
    made = RULES.get(f"{func._opname}.{func._overloadname}") or RULES.get(func._opname)
    if made is None and (op := operation_of(func)) is not None and op.elementwise:
        return elementwise
    return made or gathered


def _loss(call: OperatorCall) -> LayoutPlan:
    """A loss element by element: with a mean or a sum the result consists of terms."""
    shapes = [tuple(s.shape) for s in call.specs]
    whole = broadcast(shapes)
    reduction = call["reduction"]
    if reduction == 0:
        return elementwise(call)

    def candidates(i: int) -> list[Candidate]:
        made = []
        for spec in call.specs:
            for d in shards(spec, i):
                if all(s == whole for s in shapes) and (reduction == 2 or call.even(whole, d, i)):
                    made.append(
                        Candidate(
                            (Partial("sum" if reduction == 2 else "avg"),), [Shard(d)] * len(shapes)
                        )
                    )
        return [*made, Candidate((REPLICATE,), (REPLICATE,) * len(shapes))]

    return plan(call, chosen(call, candidates))


def _loss_backward(call: OperatorCall) -> LayoutPlan:
    """The gradient in the input of such a loss; of a mean, each part divides by its own number of
    elements.
    """
    shapes = [tuple(s.shape) for s in call.specs]
    reduction, whole = call["reduction"], tuple(call.specs[1].shape)

    def candidates(i: int) -> list[Candidate]:
        made = []
        for spec in call.specs[1:]:
            for d in shards(spec, i):
                first = Shard(d) if shapes[0] == whole else REPLICATE
                made.append(Candidate((Shard(d),), [first, *[Shard(d)] * (len(shapes) - 1)]))
        return [*made, Candidate((REPLICATE,), (REPLICATE,) * len(shapes))]

    picked = chosen(call, candidates)
    if reduction != 1:
        return plan(call, picked)
    total = 1
    for size in whole:
        total *= size

    def kernel(c: OperatorCall, values: list[object]) -> object:
        from ..propagate import run

        changed = list(values)
        changed[c.names.index("reduction")] = 2
        return run(c.func, changed) / max(total, 1)

    return plan(call, picked, kernel=kernel)


for _name in (
    "mse_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "l1_loss",
    "binary_cross_entropy_with_logits",
):
    RULES[_name] = _loss
    RULES[f"{_name}_backward"] = _loss_backward
