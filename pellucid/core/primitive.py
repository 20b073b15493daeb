"""Seam 2: the operation record. Everything the library knows about a primitive stands in one
`defop` call.

A record's rules are plain functions whose *parameter names* say what they use. A gradient rule may
name

- `g`: the gradient of the output (`g` is a tuple for an operation with several outputs),
- `F`: the namespace of operations to compute with (raw arrays in an ordinary backward, Tensors
  under `create_graph=True`),
- an argument of the operation (`input`, `other`, ...): its value; it is then kept for backward,
- `out` (or `out0`, `out1`, ...): the result's value; it is then kept for backward,
- `input_shape`, `other_dtype`, ...: shape or dtype of an argument, which keeps no value alive,
- a parameter of the operation (`dim`, `keepdim`, ...), or `params`, all of them in a dict, or
- `needs`: which arguments want a gradient (only in a joint rule), or
- `input_for_weight`: the value of `input` where `weight` wants a gradient, otherwise None, which
  keeps nothing (only in a joint rule).

So what is saved follows from what the rules mention, argument by argument: `x * w` keeps `x` only
when `w` needs a gradient.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterable
from typing import Any

from ..arrays import numpy_cpu
from ..arrays.formulas import Formula, entered
from ..arrays.halves import gradient_in_float32
from .display.kernels import aside

Rule = Callable[..., Any]

PRIMITIVES: dict[str, Primitive] = {}


# parameters of a gradient rule for which nothing is saved -> the expressions that provide them
_GIVEN = {"g": "g", "F": "F", "params": "p", "needs": "NEEDS"}
_DESCRIPTIONS = frozenset({"shape", "dtype", "shapes", "out_shape", "out_dtype"})


class BackwardPlan:
    """How one operation is differentiated for one pattern of arguments that need a gradient."""

    __slots__ = ("backward", "borrowed", "entries", "needs", "saves_nothing", "versioned")

    def __init__(
        self,
        entries: list[tuple[str, int]],
        backward: Callable[..., tuple[Any, ...]],
        needs: tuple[bool | None, ...] = (),
        kept: int | None = None,  # the argument that backward does not free
        borrows: Container[int] = (),  # arguments that are copied before a write to them
    ) -> None:
        # per argument: whether it needs a gradient, None if it is not a tensor
        self.needs = needs
        self.entries = tuple(entries)
        self.backward = backward
        # Shapes and dtypes are not freed: backward can visit such a node again.
        self.saves_nothing = all(kind in _DESCRIPTIONS or k == kept for kind, k in entries)
        # Indices of the saved values that can be overwritten; the others are shapes and dtypes.
        self.versioned = tuple(
            k for k, (kind, _) in enumerate(entries) if kind in ("in", "out", "ins")
        )
        self.borrowed = tuple(
            k for k, (kind, i) in enumerate(entries) if kind == "in" and i in borrows
        )


class Primitive:
    """One operation; see `defop` for the fields. The defaults are those of a custom Function, which
    has no record.
    """

    # whether the gradient rule accepts None as the gradient of a result
    keep_none_grads = False

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
        self._plans: dict[tuple[bool | None, ...], BackwardPlan] = {}
        self.recorder: Any = None  # of a view operation; made by core.bind when first needed

    name: str
    args: tuple[str, ...] = ()
    variadic: bool = False
    forward: Rule | str
    numpy_forward: Rule
    formula: Formula | None = None
    inplace: Rule | None = None
    aval: Rule | None = None
    vjp: dict[str, Rule] | Rule | None = None
    jvp: Any = None
    view: bool = False
    promote: str | None = None
    elementwise: bool = False
    outputs: int = 1
    grad_name: str
    batch: Any = None
    onnx: Rule | str | None = None
    samples: Rule | None = None
    aten: Callable[..., Any] | None = None
    overload: str = ""
    autocast: str | None = None
    expand: Rule | None = None
    reduces: str = ""
    check: Rule | None = None
    numbers: str = ""
    kept: str | None = None
    aux: bool = False
    host: bool = False
    title: str = ""
    aside: str = ""
    traits: frozenset[str] = frozenset()
    advice: str = ""
    work: Callable[..., int] | None = None
    variant: Callable[[Any], str | tuple[str, tuple[int, ...]]] | None = None
    nodes: Callable[[Any], Any] | None = None
    order: tuple[str, ...] = ()
    linked: tuple[tuple[str, bool], ...] = ()
    borrows: tuple[str, ...] = ()
    packs: str | tuple[Rule, Rule] = ""
    shows: dict[str, str | Rule] = {}
    lies: tuple[int, ...] | None = None
    # of a Function: the error message if backward is restricted to some leaves
    partial_backward: str | None = None
    call: Callable[..., Any]
    # the generated caller, before `call=` of `defop` wraps it
    plain: Callable[..., Any]

    def __repr__(self) -> str:
        return f"<primitive {self.name}({', '.join(self.args)})>"

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.call(*args, **params)

    def plan(self, needs: tuple[bool | None, ...]) -> BackwardPlan:
        """The plan for one pattern of arguments, cached per pattern. `needs` says of each argument
        whether it needs a gradient, or None if it is not a tensor.
        """
        plan = self._plans.get(needs)
        if plan is None:
            plan = self._plans[needs] = self._make_plan(needs)
        return plan

    def run_forward(self, xp: Any, arrays: Iterable[Any], params: dict[str, Any]) -> Any:
        """The forward rule over the array namespace `xp`."""
        if self.host and xp is not numpy_cpu:
            params = {name: xp.to_host(value) for name, value in params.items()}
            return xp.from_host(self.run_forward(numpy_cpu, map(xp.to_host, arrays), params))
        if isinstance(self.forward, str):
            return getattr(xp, self.forward)(*arrays, **params)
        return self.forward(xp, *arrays, **params)

    @property
    def widens(self) -> bool:
        """Whether gradients of two-byte floats are computed in float32. The receiver of such a
        gradient rounds it.

        Products that the processor computes in two-byte floats are an exception
        (`arrays.halves.native_products`).
        """
        return (
            self.outputs == 1
            and not self.view
            and "passes" not in self.traits
            and not getattr(self.vjp, "rounds", False)
        )

    def _make_plan(self, needs: tuple[bool | None, ...]) -> BackwardPlan:
        entries: list[tuple[str, int]] = []
        scope: dict[str, Any] = {"NEEDS": needs, "RAW": RAW}

        def source(word: str) -> str:
            """The expression that provides a rule's parameter, noting what must be saved for it."""
            if word in _GIVEN:
                return _GIVEN[word]
            word, _, user = word.partition("_for_")
            if user and not needs[self.args.index(user)]:
                return "None"
            entry = self._entry(word)
            if entry is None:
                return f"p[{word!r}]"
            if entry not in entries:
                entries.append(entry)
            return f"s[{entries.index(entry)}]"

        def call(name: str, k: Any, rule: Rule) -> str:
            words = parameters(rule)
            half = name == "half"
            scope[f"{name}{k}"] = (
                gradient_in_float32(self, f"{self.name}_{k}", rule, words) if half else rule
            )
            return f"{name}{k}({', '.join(source(w) for w in words)})"

        def calls(name: str) -> str:
            if callable(self.vjp):
                return call(name, "", self.vjp)
            rules = self.vjp or {}
            chosen = [rules.get(self.args[i]) if need else None for i, need in enumerate(needs)]
            return f"({''.join('None, ' if rule is None else call(name, i, rule) + ', ' for i, rule in enumerate(chosen))})"

        body = calls("rule")
        if self.widens:
            body = f"{calls('half')} if F is RAW and g.dtype.itemsize == 2 else {body}"
        # Generate one line per pattern, with the saved values in place: no dictionaries on the hot
        # path. It is compiled under this file's name, so that it is not taken for a line of the
        # user's.
        exec(compile(f"def backward(F, g, s, p): return {body}", __file__, "exec"), scope)
        kept = None if self.kept is None else self.args.index(self.kept)
        borrows = [self.args.index(name) for name in self.borrows]
        return BackwardPlan(entries, scope["backward"], needs, kept, borrows)

    def _entry(self, word: str) -> tuple[str, int] | None:
        if word == "out":
            return ("outs", 0) if self.outputs != 1 else ("out", 0)
        if word.startswith("out") and word[3:].isdigit():
            return ("out", int(word[3:]))
        if word in ("out_shape", "out_dtype") or (word == "aux" and self.aux):
            return (word, 0)
        if self.variadic and word in (self.args[-1], f"{self.args[-1]}_shapes"):
            return ("ins" if word == self.args[-1] else "shapes", len(self.args) - 1)
        if word in self.args:
            return ("in", self.args.index(word))
        for suffix in ("shape", "dtype"):
            stem = word.removesuffix("_" + suffix)
            if stem != word and stem in self.args:
                return (suffix, self.args.index(stem))
        return None


def parameters(rule: Rule) -> tuple[str, ...]:
    code = getattr(rule, "__code__", None)
    count = code and code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[:count] if code else tuple(inspect.signature(rule).parameters)


def defop(
    name: str,
    args: str,
    *,
    forward: Rule | str | None = None,
    formula: Formula | None = None,
    vjp: dict[str, Rule] | Rule | None = None,
    jvp: Any = None,
    aval: Rule | None = None,
    inplace: Rule | None = None,
    view: bool = False,
    promote: str | None = None,
    elementwise: bool = False,
    outputs: int = 1,
    grad_name: str | None = None,
    batch: Any = None,
    onnx: Rule | str | None = None,
    samples: Rule | None = None,
    autocast: str | None = None,
    expand: Rule | None = None,
    reduces: str = "",
    check: Rule | None = None,
    numbers: str = "",
    kept: str | None = None,
    aux: bool = False,
    host: bool = False,
    title: str = "",
    traits: str = "",
    advice: str = "",
    work: Callable[..., int] | None = None,
    variant: Callable[[Any], str | tuple[str, tuple[int, ...]]] | None = None,
    nodes: Callable[[Any], Any] | None = None,
    order: str = "",
    linked: str = "",
    borrows: str = "",
    packs: str | tuple[Rule, Rule] = "",
    shows: dict[str, str | Rule] | None = None,
    lies: str | None = None,
    aten: Callable[..., Any] | None = None,
    overload: str = "",
    call: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
) -> Primitive:
    """Record an operation.

    Args:
        name: unique name; rules of other operations call it as `F.name(...)`.
        args: names of the tensor arguments, in order; `name?` may be None; the last may be `*name`,
            which takes any number.
        forward: `forward(xp, *arrays, **params)` over an array namespace, or the name of an array
            function with that meaning. None: it follows from the formula.
        formula: what an element-wise operation computes (`ir.formula`), for loops and kernels; the
            word of the language that `forward` names need not be repeated.
        vjp: gradient rules: one per argument in a dict (arguments left out are not differentiable),
            or one joint rule that returns a gradient (or None) for each argument. None: the result
            never requires grad.
        jvp: forward-mode rule: "linear" (the operation applied to the tangent), "elementwise" (the
            vjp rule applied to the tangent; real, diagonal Jacobians), a function
            `rule(F, tangents, ...)` with names as in vjp, or None: derived from vjp.
        aval: `aval(*(shape, dtype), **params) -> (shape, dtype)` or a list of them: the result
            without data.
        inplace: `inplace(xp, out, *arrays, **params)` writes the result into `out`, the first
            argument's own array.
        view: the result shares memory with the first argument.
        promote: None (arguments are taken as they are), "common" (PyTorch's type promotion),
            "float" (integers become the default float type as well), "compare" (promotion of the
            arguments; the result is bool).
        elementwise: the result's shape is the broadcast shape of the arguments; the engine undoes
            broadcasting of gradients.
        outputs: number of results; -1 when it depends on the arguments.
        grad_name: name of the node in the graph (`MulBackward0` for "Mul"; "SumBackward1",
            "CopyBackwards" and "CopySlices" are one already).
        variant: `variant(node)` is the node's whole name where that depends on its arguments, or
            the name and the positions of the arguments that it shows as `next_functions`, where
            those are not the ones with a gradient rule.
        batch: how `vmap` runs it on many samples at once: "elementwise" (which `elementwise=True`
            implies), "dims" (parameters that name dimensions move by one), "leading" (it takes any
            number of dimensions in front), a function `rule(b)` of a
            `core.transforms.batching.Batch`, or None: sample by sample.
        onnx: how it is exported: the ONNX operator that takes the same arguments and does the same,
            a function `rule(c)` of an `onnx.writer.graph.Context` that emits nodes and returns the
            result's name (or names), or None: it is refused.
        samples: generator of sample and error inputs for the table-driven tests.
        autocast: "lower" (runs in the lower precision under autocast), "float32" or "promote".
        expand: `expand(e, x)` writes the operation as others into a compiled program, whose loops
            fuse them: `e` is the `Expansion` of `compiler.passes.expand`, `x` the first argument. It
            returns False where the operation is to stay as it is.
        reduces: the word for what it does in a loop: "sum", "mean", "prod", "max", "min", "all" or
            "any" over dimensions.
        check: `check(*arguments, **params)` raises PyTorch's error for arguments that the forward
            rule would accept or garble: the arrays and numbers as given, before promotion. It runs
            on the general path (where bool and complex tensors of such an operation always go) and
            when the forward rule failed.
        aux: the forward rule returns (result, aux): something that only the gradient rules see,
            under the name `aux` (a mask, the positions of maxima, row statistics). It is kept as it
            is, in arrays, also where the rules run on Tensors.
        host: the forward rule computes with NumPy itself (LAPACK, sorting tables, SciPy's
            functions). Over another array namespace its arrays go to the host by `xp.to_host`, and
            its results come back by `xp.from_host`.
        title: what the operation is called outside of the engine, where that is not its name.
        traits: what those who explain a program ask of an operation, in words: "saturates" (its
            gradient dies away where inputs are large), "steps" (it is flat everywhere), "masks" (it
            lets a part of its input through), "recentres" (the same amount added to all elements
            changes nothing), "passes" (it hands its input's values on, moved or summed up),
            "overwrites" (the result has nothing of its input), "diagonal" (each element of the
            result depends on the element in its place), "multiplies" (it and its gradients are
            products of matrices, which some processors compute in bfloat16), "copies" (the result
            has its input's values, in another place or dtype), "chooses" (each element of the result
            is one of its operands'), "steps_of_cells" (PyTorch has nodes for each step of it, which
            keep matrices transposed).
        advice: what to do where the result is not finite though the arguments are, in words.
        work: `work(size, *shapes)`, the multiply-adds of an operation that contracts its arguments:
            from the number of elements of the (first) result and the arguments' shapes.
        nodes: `nodes(node)` makes it the nodes that PyTorch has, where those are several, and
            returns those of them that keep what is saved.
        order: all arguments in the order in which PyTorch's nodes come to them, where it is another.
        linked: the arguments (and "out", the result) that recorded gradients stay connected to,
            though their values may not depend on them: a second derivative by them is zeros, or
            None for `name?`.
        borrows: the saved arguments of which PyTorch keeps something computed in their place, so that
            they may be written to before backward: the node takes a copy before the write.
        packs: what PyTorch's node keeps, where that is not what the gradient rules name: consulted
            while saved-tensor hooks are on. Either the words of it in PyTorch's order ("input aux"), or
            two rules: one returns the arrays that PyTorch has, from words and parameters as in vjp;
            the other gets these, in a list, and parameters, and returns by words what the gradient
            rules name.
        shows: for PyTorch's words of what its node keeps (`_saved_<word>`), where they do not follow: the
            record's own word, or a rule of words as in vjp that makes the value.
        lies: the arguments that decide in which order the dimensions of an element-wise result lie in
            memory, the first that tells two apart first: all of them where this is left out, none ("")
            where it is always contiguous.
        aten: `aten(A, *arguments, **params)`, the operators of aten that stand for it, called in
            the namespace `A` (`torch.ops.aten`). None: the one of its own name, with the parameters
            by their names.
        overload: the operator that PyTorch looks for first, and names where a kind of tensor does not
            have it ("eq.Tensor"); the title when left out.
        numbers: "wide": two-byte floats and a Python number are computed in float32: the number is
            not rounded to two bytes first. "given": the rule receives a number that comes last as
            it is, and tells it from a tensor.
        kept: the argument that backward does not free: a number.
        call: `call(plain)` is the caller in place of `plain`, the one made from the other fields:
            for arguments that it does not take.
    """
    forward = entered(name, forward, formula, numbers == "wide")
    fields = locals()
    if name in PRIMITIVES:
        raise ValueError(f"the operation {name!r} is defined twice")
    words, node = args.split(), grad_name or "".join(part.capitalize() for part in name.split("_"))
    fields |= {
        "args": tuple(w.strip("*?") for w in words),
        "variadic": any(w.startswith("*") for w in words),
        "grad_name": node
        if node.endswith(("Backward1", "Backward2", "Backwards", "Slices"))
        else node + "Backward0",
        "title": title or name,
        "aside": aside(name, promote, check is not None),
        "traits": frozenset(traits.split()),
        "linked": tuple((w.rstrip("?"), not w.endswith("?")) for w in linked.split()),
        "order": tuple(order.split()),
        "shows": shows or {},
        "borrows": tuple(borrows.split()),
        "lies": tuple([words.index(word) for word in (args if lies is None else lies).split()])
        if lies is not None or elementwise and len(words) > 1
        else None,
        "batch": batch or ("elementwise" if elementwise else None),
    }
    op = Primitive(**fields)
    op.numpy_forward = _numpy_forward(forward)
    for make in _call_makers:
        op.plain = make(op)
    op.call = op.plain if call is None else call(op.plain)
    PRIMITIVES[name] = op
    return op


def _numpy_forward(forward: Rule | str) -> Rule:
    if isinstance(forward, str):
        return getattr(numpy_cpu, forward)
    rule = forward
    if takes_only_arrays(rule):
        # Saves one Python call for the most frequent kinds of rules.
        if rule.__code__.co_argcount == 2:
            return lambda x: rule(numpy_cpu, x)
        if rule.__code__.co_argcount == 3:
            return lambda x, y: rule(numpy_cpu, x, y)

    def on_numpy(*arrays: Any, **params: Any) -> Any:
        return rule(numpy_cpu, *arrays, **params)

    return on_numpy


def takes_only_arrays(rule: Rule | str) -> bool:
    """True for the name of an array function, and for a forward rule without parameters."""
    code = getattr(rule, "__code__", None)
    # CO_VARARGS and CO_VARKEYWORDS
    return isinstance(rule, str) or (
        code is not None
        and code.co_kwonlyargcount == 0
        and not code.co_flags & 0x0C
        and not rule.__defaults__
    )


# `core.bind` registers the function that makes `Primitive.call`, before any record is made.
_call_makers: list[Callable[[Primitive], Callable[..., Any]]] = []


class RawNamespace:
    """The namespace `F` for gradient rules that run on arrays: an operation's name gives its
    forward rule over one array namespace.
    """

    raw = True

    def __init__(self, xp: Any) -> None:
        self.xp, self.constant = xp, xp.from_host

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = PRIMITIVES.get(name)
        if op is None:
            raise AttributeError(f"a rule names the operation {name!r}, which does not exist")
        function = numpy_cpu.by_rows(op.numpy_forward)
        if self.xp is not numpy_cpu or op.aux:

            def function(*arrays: Any, **params: Any) -> Any:
                made = op.run_forward(self.xp, arrays, params)
                return made[0] if op.aux else made

        setattr(self, name, function)
        return function


class TensorNamespace:
    """`F` for rules that run on Tensors and are recorded themselves."""

    raw = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = PRIMITIVES.get(name)
        if op is None:
            raise AttributeError(f"a rule names the operation {name!r}, which does not exist")
        setattr(self, name, op.call)
        return op.call


RAW = RawNamespace(numpy_cpu)
raw_of = functools.cache(lambda xp: RAW if xp is numpy_cpu else RawNamespace(xp))
TENSORS = TensorNamespace()
