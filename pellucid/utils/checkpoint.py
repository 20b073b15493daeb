"""Trading time for memory: what a function saved for backward is dropped and computed again when
backward needs it.
"""

from __future__ import annotations

import enum
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import dtypes
from .._pytree import tree_map
from ..autograd.graph import saved_tensors_hooks
from ..core import reverse, tracing
from ..core.bind import wrap
from ..core.display.packing import noting, repeating
from ..core.function import Function
from ..core.interpret import playing, thread
from ..core.modes import enable_grad, local, no_grad
from ..core.streams import generator as random
from ..core.tensor import Tensor, version_of
from ..errors import warn
from ._python_dispatch import TorchDispatchMode

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_early_stop: list[bool | None] = [None]


_debug: list[bool | None] = [None]
_UNPACKED_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your use case."
)
_TIP = """

Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""


def _told(look: tuple[Any, Any]) -> dict[str, Any]:
    return {"shape": dtypes.size_of(look[0]), "dtype": look[1], "device": dtypes.device("cpu")}


_DETERMINISM_CHECKS = ["default", "none"]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save the same tensors as the first one.

    The function must compute the same thing twice: it must not depend on a counter, on the time, or on
    anything else that changes between forward and backward.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint
    >>> sizes = iter([3, 2])
    >>> def unstable(x):
    ...     return x[: next(sizes)].sin().sum()
    >>> loss = checkpoint(unstable, torch.ones(3, requires_grad=True), use_reentrant=False)
    >>> loss.backward()
    Traceback (most recent call last):
        ...
    pellucid.utils.checkpoint.CheckpointError: ...different metadata than during the forward pass...
    """


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that do nothing: the default of `checkpoint(context_fn=...)`.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import noop_context_fn
    >>> first, second = noop_context_fn()
    >>> with first:
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """
    return nullcontext(), nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(numbers, random states) of the accelerators that tensors are on: none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Take back what `get_device_states` gave: nothing."""


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside the block, checkpoints run with `debug=enabled` whatever they are told; None leaves it
    to them.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> x = torch.ones(2, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.5403, 0.5403])
    """
    before, _debug[0] = _debug[0], enabled
    try:
        yield
    finally:
        _debug[0] = before


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside the block, checkpoints do or do not stop the second run when all saved tensors are
    there.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = torch.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.5403, 0.5403])
    """
    before = _early_stop[0]
    _early_stop[0] = enable
    try:
        yield
    finally:
        _early_stop[0] = before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function(*args, **kwargs)` without keeping what its backward needs; backward runs it
    again.

    Args:
        use_reentrant: False (recommended) records the graph and recomputes saved tensors; True runs
            without a graph and calls backward inside backward. With True, keyword arguments for the
            function are not supported.
        preserve_rng_state: (keyword, default True) the second run draws the same random numbers.
        context_fn: makes two contexts, for the first and for the second run.
        determinism_check: "default" compares shapes and types of what both runs saved, "none" does
            not.
        debug: an error of the second run lists in its notes what both runs saved.
        early_stop: end the second run when everything needed is there.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda a: (a * 3).sin().sum(), x, use_reentrant=False).backward()
    >>> x.grad.shape
    torch.Size([2])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve "
            "the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between "
            "the two variants.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warn(
                "None of the inputs have requires_grad=True. Gradients will be None",
            )
        return CheckpointFunction.apply(function, preserve, *args)
    stop = early_stop if _early_stop[0] is None else _early_stop[0]
    first, second = context_fn()
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            f"determinism_check should be one of {_DETERMINISM_CHECKS}, but got {determinism_check}"
        )
    frame = _Frame(lambda: function(*args, **kwargs), preserve, second, determinism_check, stop)
    frame.debug = debug if _debug[0] is None else bool(_debug[0])
    with saved_tensors_hooks(frame.pack, frame.unpack), first, noting(frame.answers):
        result = function(*args, **kwargs)
    frame.ended = True
    return result


class _Stop(Exception):  # noqa: N818 (no error)
    """Everything needed has been computed again."""


class _Frame:
    """One checkpointed call: how many tensors it saved, what they looked like, and those computed
    again. What an operation saves depends on who watches: whether it is written down as the steps
    that it consists of. So the second run takes the paths of the first one.
    """

    def __init__(
        self, again: Callable[[], Any], preserve: bool, context: Any, check: str, stop: bool
    ) -> None:
        self.again = again
        self.context = context
        self.check = check
        self.stop = stop
        self.state = random.default_generator.snapshot() if preserve else None
        self.autocast = thread.stack.autocast
        self.looks: list[tuple[Any, Any]] = []
        self.again_looks: list[tuple[Any, Any]] = []
        self.values: dict[int, Tensor] = {}
        self.pass_: Any = None  # the backward pass that computed `values`
        self.answers: list[bool] = []  # which operations were one, of those that may be several
        self.ended = False  # the function takes gradients itself before
        self.first = _traced()
        tracer = tracing.tracer()
        self.tracer = None if tracer is None else weakref.ref(tracer)
        self.idle = (
            None if tracer is None else tracer.idle
        )  # has one watch that writes nothing down

    debug = False

    def pack(self, t: Tensor) -> int:
        self.looks.append((tuple(t._array.shape), t.dtype))
        return len(self.looks) - 1

    def unpack(self, index: int) -> Tensor:
        if index not in self.values:
            if local.run is not None and self.pass_ is not None and self.pass_() is local.run:
                raise CheckpointError(_UNPACKED_TWICE)
            try:
                self.recompute()
            except CheckpointError as error:
                for name, looks in (("first", self.looks), ("second", self.again_looks)):
                    if self.debug:
                        told = ", ".join(f"{list(shape)} {kind}" for shape, kind in looks)
                        error.add_note(f"the {name} run saved: {told}")
                raise
        return self.values.pop(index)

    def recompute(self) -> None:
        found: list[Tensor] = []

        def keep(t: Tensor) -> Tensor:
            found.append(wrap(t._array))  # no operation: the one that made it is not finished
            # A tracer must hear of the operation that is running: it goes on to the end.
            follows = tracing.tracer() is not None and tracing.tracer().recording
            if self.stop and len(found) == len(self.looks) and not follows:
                raise _Stop
            return found[-1]  # the function may take gradients itself

        tracer, again = tracing.tracer(), _traced()
        if tracer:
            tracer.computes_again()
        here = bool(tracer) and self.tracer is not None and tracer is self.tracer()
        other = tracer and not here
        try:
            with (
                tracer.away("a checkpointed function ran before the step")
                if other
                else nullcontext(),
                nullcontext() if self.idle is None or here else self.idle(),
                repeating(self.answers),
                playing("autocast", self.autocast),
                _random_state(self.state),
                enable_grad(),
                saved_tensors_hooks(keep, lambda t: t),
                self.context,
            ):
                self.again()
        except _Stop:
            pass
        if here:
            tracing.tracer().computed_again(self.first, again)
        if not self.ended:
            del found[len(self.looks) :]
        self.again_looks = [(tuple(t._array.shape), t.dtype) for t in found]
        if len(found) != len(self.looks):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.looks)}\n"
                f"Number of tensors saved during recomputation: {len(found)}.{_TIP}"
            )
        if self.check != "none":
            other = "".join(
                f"tensor at position {k}:\nsaved metadata: {_told(a)}\nrecomputed metadata: {_told(b)}\n"
                for k, (a, b) in enumerate(zip(self.looks, self.again_looks, strict=True))
                if a != b
            )
            if other:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                    f"forward pass.\n{other}.{_TIP}"
                )
        self.values = dict(enumerate(found))
        self.pass_ = None if local.run is None else weakref.ref(local.run)


def _traced() -> int | None:
    """How many operations have been traced; None where nothing is."""
    return len(tracing.tracer().program.instructions) if tracing.tracer() else None


@contextmanager
def _random_state(state: Any) -> Iterator[None]:
    """Inside the block the default generator continues from `state`."""
    if state is None:
        yield
        return
    stream = random.default_generator
    before = stream.snapshot()
    # Where nothing was drawn there is nothing to set: a compiled step can repeat that.
    if moved := before.tobytes() != state.tobytes():
        random.Generator.set_state(stream, state)
    try:
        yield
    finally:
        if moved or stream.snapshot().tobytes() != before.tobytes():
            random.Generator.set_state(stream, before)


class CheckpointFunction(Function):
    """Forward without a graph; backward runs the function with one and calls backward on it."""

    # Its backward reaches all leaves.
    partial_backward = (
        "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
        ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
        "`inputs` argument."
    )

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.state = random.default_generator.snapshot() if preserve else None
        ctx.autocast = thread.stack.autocast
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[k] for k in ctx.places])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        args = list(ctx.others)
        for k, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[k] = t.detach()
            args[k].requires_grad = t.requires_grad
        if tracing.tracer():
            tracing.tracer().computes_again()
        with playing("autocast", ctx.autocast), _random_state(ctx.state), enable_grad():
            outputs = ctx.function(*args)
        outs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (o, g)
            for o, g in zip(outs, grads, strict=True)
            if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        reverse.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[a._grad if isinstance(a, Tensor) else None for a in args])


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run modules in sequence, cut into `segments` of which all but the last are checkpointed.

    Args:
        functions: a Sequential, or a list of callables of one argument.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint_sequential
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    >>> x = torch.ones(3, 2, requires_grad=True)
    >>> checkpoint_sequential(model, 2, x, use_reentrant=False).shape
    torch.Size([3, 1])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version 2.9 we "
            "will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the "
            "two variants.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else functions

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return forward

    size = len(steps) // segments
    end = 0
    for k in range(len(range(0, size * (segments - 1), size))):
        end = (k + 1) * size
        input = checkpoint(
            run(k * size, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return run(end, len(steps))(input)


# ---- what is kept, operator by operator ----------------------------------------------------------
class CheckpointPolicy(enum.Enum):
    """What to do with the result of an operator in a selective checkpoint: keep it or recompute it.

    `MUST_SAVE` and `PREFER_SAVE` have the same effect here, and so do `MUST_RECOMPUTE` and
    `PREFER_RECOMPUTE`.

    >>> import pellucid as torch
    >>> from functools import partial
    >>> from pellucid.utils.checkpoint import (
    ...     CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
    ... )
    >>> def policy(ctx, op, *args, **kwargs):
    ...     matmul = op == torch.ops.aten.mm.default
    ...     return CheckpointPolicy.MUST_SAVE if matmul else CheckpointPolicy.PREFER_RECOMPUTE
    >>> contexts = partial(create_selective_checkpoint_contexts, policy)
    >>> x = torch.eye(2, requires_grad=True)
    >>> checkpoint(lambda a: (a @ a).sin().sum(), x, use_reentrant=False, context_fn=contexts).backward()
    >>> x.grad
    tensor([[1.0806, 2.0000],
            [2.0000, 1.0806]])
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """The first argument of a policy function.

    A policy is called in the first run only, so `is_recompute` is always False. `op_output` is the operator's result.

    >>> import pellucid as torch
    >>> from functools import partial
    >>> from pellucid.utils.checkpoint import (
    ...     CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
    ... )
    >>> def policy(ctx, op, *args, **kwargs):
    ...     print(op, tuple(ctx.op_output.shape))
    ...     return CheckpointPolicy.PREFER_RECOMPUTE
    >>> contexts = partial(create_selective_checkpoint_contexts, policy)
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> y = checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False, context_fn=contexts)
    aten.sin.default (2, 3)
    aten.exp.default (2, 3)
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


# an operator that is computed again; a result that was taken before
_AGAIN, _TAKEN = object(), object()


class _Keeping(TorchDispatchMode):
    """The first run: what the policy keeps is put away."""

    def __init__(self, policy: Callable[..., Any], kept: dict[Any, list[Any]]) -> None:
        super().__init__()
        self.policy, self.kept = policy, kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func._opname == "detach":
            return made
        said = self.policy(
            SelectiveCheckpointContext(is_recompute=False, op_output=made),
            func,
            *args,
            **(kwargs or {}),
        )
        if said in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE) or said is True:
            self.kept[func].append(
                tree_map(lambda t: _PutAway(t) if isinstance(t, Tensor) else t, made)
            )
        else:
            self.kept[func].append(_AGAIN)
        return made


class _Taking(TorchDispatchMode):
    """The second run: what was put away is taken instead of being computed."""

    def __init__(self, kept: dict[Any, list[Any]], mutation: bool) -> None:
        super().__init__()
        self.kept, self.mutation = kept, mutation
        self.places: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.places.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._opname == "detach":
            return func(*args, **(kwargs or {}))
        place, kept = self.places[func], self.kept.get(func, [])
        self.places[func] += 1
        if place >= len(kept):
            raise RuntimeError(
                f"{func} encountered during backward but not found in storage: the second run differs from the first"
            )
        found = kept[place]
        if found is _TAKEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        if found is _AGAIN:
            return func(*args, **(kwargs or {}))
        kept[place] = _TAKEN
        return tree_map(
            lambda part: part.given(self.mutation) if isinstance(part, _PutAway) else part, found
        )


class _PutAway:
    """A result that is kept, and how often it had been written to."""

    def __init__(self, t: Tensor) -> None:
        version_of(t)  # the detached tensor shares the counter, from now on
        self.tensor, self.version = t.detach(), t._version

    def given(self, mutation: bool) -> Tensor:
        if self.tensor._version != self.version and not mutation:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. If you are mutating tensors that are cached, "
                "pass allow_cache_entry_mutation=True."
            )
        return self.tensor.detach()


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Two contexts for `checkpoint(..., context_fn=...)`, with which the results of some operators
    are kept.

    Args:
        policy_fn_or_list: a function of (context, operator, *args, **kwargs) that gives a
            `CheckpointPolicy`, or the list of operators to keep.
        allow_cache_entry_mutation: results that were kept may be written to.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> keep = lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm.default])
    >>> checkpoint(lambda a: (a @ a).sin().sum(), x, use_reentrant=False, context_fn=keep).backward()
    >>> x.grad.shape
    torch.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, list):
        from ..aten.overload import OpOverload

        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                extra = (
                    "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have `torch.ops.aten.mm`, "
                    "change it to `torch.ops.aten.mm.default`."
                )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {extra}"
                )
        listed = set(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in listed else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept), _Taking(kept, allow_cache_entry_mutation)
