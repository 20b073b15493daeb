"""Parameters that no operation uses."""

from __future__ import annotations

from typing import Any

from ...events import Backward, ModuleCall, Op, Site, Step, Update, Value, ancestors
from ...numbers import number_of
from ...rule import Rule
from ..source.places import dropped_at, loop_without, member_place, overridden, twin_place

_OPTIONAL = frozenset(
    "group_norm layer_norm rms_norm batch_norm instance_norm linear conv1d conv2d conv3d".split()
)
_NO_USE = frozenset(
    {
        "detach",
        "data",
        "clone",
        "requires_grad",
        "grad",
        "zeros_like",
        "ones_like",
        "randn_like",
        "empty_like",
        "rand_like",
    }
)


def _takes_first(op: Op, layers: int) -> bool:
    value = op.inputs[0]
    index = op.args.get("index")
    index = index[0] if isinstance(index, (tuple, list)) and len(index) else index
    return (
        op.name in ("getitem", "select")
        and value.ndim == 3
        and value.index > 0
        and value.shape[0] == layers
        and type(index) is int
        and index == 0
        and op.args.get("dim", 0) == 0
    )


class ParamUnused(Rule):
    """A parameter that no operation ever uses learns nothing, and is often a layer that was
    forgotten in `forward`.
    """

    slug = "param-unused"
    id = "PL501"
    severity = "warning"
    summary = "a registered parameter is not used in the loss"

    def __init__(self) -> None:
        self._used: set[int] = set()  # ids of leaves that some operation has read
        self._reached: set[int] = set()  # ids of leaves that got a gradient
        # by root module: which leaves its training calls used
        self._patterns: dict[int, set[frozenset[int]]] = {}
        self._now: set[int] | None = None
        self._steps = 0
        self._backwards = 0
        self._found: dict[
            int, tuple[list[tuple[Any, str, list[str], set[int]]], str]
        ] = {}  # by root: what was unused at the last look
        self._held: dict[int, Value] = {}  # parameters that optimizers have stepped on
        self._mates: dict[int, frozenset[int]] = {}  # by parameter: all that its optimizer has
        # by module: a call without the parameters that it may have, and their size
        self._bare: dict[int, tuple[Site, int]] = {}
        # by leaf: where its result ends, its name, the last operation
        self._dropped: dict[int, tuple[Any, str | None, Op]] = {}

    def on_op(self, op: Op) -> None:
        """Leaves among the operands, initialization left out."""
        first = 1 if op.inplace else 0
        if (
            op.direct
            and op.module is not None
            and op.name in _OPTIONAL
            and number_of(op.module.module) not in self._bare
        ):
            self._left_out(op)
        for value in op.inputs[first:]:
            if (
                value.is_leaf
                and value.requires_grad
                and op.name not in _NO_USE
                and (op.grad_enabled or op.module is not None)
            ):
                self._used.add(value.id)
                if self._now is not None:
                    self._now.add(value.id)

    def _left_out(self, op: Op) -> None:
        """`F.layer_norm(x, shape)` in a module of the user's: the scale and the shift that it may
        have are left out.
        """
        out = op.output
        free = [name for name in ("weight", "bias") if name in op.args and op.args[name] is None]
        if out is None or out.ndim < 2 or not free or op.site is None or op.module is None:
            return
        size = out.shape[-1] if op.name in ("layer_norm", "rms_norm", "linear") else out.shape[1]
        self._bare[number_of(op.module.module)] = op.site, size

    def on_module_enter(self, call: ModuleCall) -> None:
        """A model begins."""
        if call.parent is None and call.training:
            self._now = set()

    def on_module_exit(self, call: ModuleCall) -> None:
        """Which parameters this call of the model has used."""
        if call.parent is None and self._now is not None:
            patterns = self._patterns.setdefault(number_of(call.module), set())
            if len(patterns) < 4:
                patterns.add(frozenset(self._now))
            self._now = None

    def on_backward(self, event: Backward) -> None:
        """Leaves that take part in a loss; now and then, what the models have beside them."""
        self._reached.update(a.value.id for a in event.accumulated)
        self._backwards += 1
        n = self._backwards
        if n < 4 or n & (n - 1) == 0:  # models may be gone when the program ends
            for root in self.session.recorder.names.roots():
                self._look(root)
        if n == 6:
            self._ends(event)
            self._first_layer(event)

    def _first_layer(self, event: Backward) -> None:
        """`h[0]` of several layers is the state of the first: nothing reads those above it."""
        taken: dict[int, tuple[Op, list[Op]]] = {}  # by number of the layer
        for op in ancestors(event.roots, limit=4000):
            for v in op.inputs:
                made = v.producer
                if made is not None and made.name in ("lstm", "gru", "rnn"):
                    taken.setdefault(made.number, (made, []))[1].append(op)
        for layer, uses in taken.values():
            count = layer.args.get("num_layers", 1)
            if not isinstance(count, int) or count < 2 or layer.args.get("bidirectional"):
                continue
            if all(_takes_first(op, count) for op in uses):
                self.report(
                    uses[0].site,
                    f"`[0]` of the states of a {layer.name.upper()} with {count} layers is the state of its first layer, so the layers above it do "
                    "not learn.",
                    evidence={"layers": count, "layer_at": str(layer.site)},
                    fix="the last layer's state is `h[-1]`",
                )

    def _ends(self, event: Backward) -> None:
        """Where the results of parameters end that no backward has reached, although they are used
        in training.
        """
        waiting = {
            i: v
            for i, v in self._held.items()
            if i in self._used and i not in self._reached and v.requires_grad
        }
        if not waiting:
            return
        recorder = self.session.recorder
        # by number of an operation: the parameters that its result is made of
        made: dict[int, set[int]] = {}
        last: dict[int, Op] = {}
        in_loss = {op.number for op in ancestors(event.roots)}
        ops = recorder.ops_of_step()
        for op in ops:
            # it comes to the loss, cut from its graph: that is told where it is cut
            if op.number in in_loss:
                for v in op.inputs:
                    for i in {v.id} | (
                        made.get(v.producer.number, set()) if v.producer is not None else set()
                    ):
                        waiting.pop(i, None)
            if not op.grad_enabled or op.name in _NO_USE:
                continue
            own = {v.id for v in op.inputs if v.id in waiting and v.is_leaf}
            for v in op.inputs:
                if v.producer is not None and v.requires_grad:
                    own |= made.get(v.producer.number, set())
            if own:
                made[op.number] = own
                for i in own:
                    last[i] = op
        loss = next((v.producer for v in event.roots if v.producer is not None), None)
        for i in last.keys() & waiting.keys():
            op = last[i]
            place = dropped_at(op, loss)
            if place is op.site:
                place = _given_back(op, ops) or place
            self._dropped[i] = place, waiting[i].name, op

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._steps += 1
        if event.optimizer.steps == 1:
            values = event.optimizer.params()
            self._held.update((v.id, v) for v in values)
            self._mates.update(
                dict.fromkeys([v.id for v in values], frozenset(v.id for v in values))
            )

    def on_update(self, event: Update) -> None:
        """Something is trained."""
        self._steps += 1

    def finish(self) -> None:
        """Models of which some parameters were trained and others never used."""
        if not self._steps:
            return
        ends: dict[Any, list[int]] = {}
        for i, (place, _, _) in self._dropped.items():
            if (
                i not in self._reached
                and place is not None
                and self._mates.get(i, {i}) & self._reached
            ):
                ends.setdefault(place.key, []).append(i)
        for ids in ends.values():
            place, name, op = self._dropped[ids[0]]
            self.report(
                place,
                f"the result computed with {name or 'a parameter'}{f' and {len(ids) - 1} more' if len(ids) > 1 else ''} is discarded here: no loss "
                "uses it, and no backward ever reaches these parameters.",
                evidence={
                    "parameters": [n for i in ids if (n := self._dropped[i][1])][:8],
                    "last_operation": f"{op.name} at {op.site}",
                },
                fix="add it to the loss, or remove this part from the model",
            )
        for key, (unused, title) in self._found.items():
            # never called in training, or not always the same parts of it
            if len(self._patterns.get(key, ())) != 1:
                continue
            for site, path, members, own in unused:
                if own & (self._used | self._reached):
                    continue
                self.report(
                    site,
                    f"{title}.{path} is registered and never used: no operation of the whole run reads "
                    f"{'it' if members == [path] else 'its parameters'}.",
                    evidence={
                        "parameters": [f"{title}.{m}" for m in members][:8],
                        "steps": self.step,
                    },
                    fix="use it in `forward`, or remove it from the model",
                )

    def _look(self, root: Any) -> None:
        """The parameters of a model that nothing has used so far."""
        if number_of(root) not in self._patterns:
            return
        recorder = self.session.recorder
        named = [
            (path, recorder.value(p)) for path, p in root.named_parameters() if p.requires_grad
        ]
        ids = {
            path: v.id for path, v in named if v.id not in self._used and v.id not in self._reached
        }
        if not ids or not any(v.id in self._reached for _, v in named):
            self._found.pop(number_of(root), None)
            return
        paths = [path for path, _ in named]
        groups: dict[str, list[str]] = {}
        # of operations that take such a parameter and were not given it
        calls: dict[str, Site] = {}
        for path in ids:
            parts, best = path.split("."), path
            owner = root.get_submodule(".".join(parts[:-1]))
            bare = self._bare.get(number_of(owner))
            if bare is not None and owner._parameters[parts[-1]].numel() == bare[1]:
                calls[best] = bare[0]
                groups.setdefault(best, []).append(path)
                continue
            for k in range(len(parts) - 1, 0, -1):
                prefix = ".".join(parts[:k]) + "."
                if all(p in ids for p in paths if p.startswith(prefix)):
                    best = prefix[:-1]
            groups.setdefault(best, []).append(path)
        unused = [
            (site, path, members, {ids[m] for m in members})
            for path, members in groups.items()
            if (
                site := calls.get(path)
                or loop_without(recorder, root, path)
                or twin_place(recorder, root, path)
                or member_place(recorder, root, path)
            )
            is not None
            and not overridden(recorder, root, path)
        ]
        self._found[number_of(root)] = unused, recorder.names.root_name(root)


def _given_back(op: Op, ops: list[Op]) -> Site | None:
    """The call of a module that gives back what an operation has made, as nothing comes after it
    there: what is lost is lost where that was called. None for an operation that stands alone.
    """
    later: set[int] = set()
    for o in ops:
        call = o.module if o.number > op.number else None
        while call is not None:
            later.add(id(call))
            call = call.parent
    call, site = op.module, None
    while call is not None and call.parent is not None and id(call) not in later:
        call, site = call.parent, call.site
    return site
