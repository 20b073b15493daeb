"""Dropout that `eval()` does not switch off."""

from __future__ import annotations

import weakref
from typing import Any

from ...events import ORDERS, VIEWS, ModuleCall, Op, Read, Site, ancestors, lineage
from ...numbers import number_of
from ...rule import Rule
from ..source.places import called_from, function_around
from .modes import DROPOUT, alone


class _Masked:
    """A dropout that was on although the model is in eval mode."""

    __slots__ = ("inputs", "layer", "op", "root", "step")

    def __init__(self, op: Op, root: ModuleCall | None, layer: str) -> None:
        self.op = op
        self.root = root
        self.layer = layer
        self.step = op.step
        self.inputs = {v.number for v in (root.inputs if root is not None else op.inputs)}


class FunctionalDropoutAlwaysOn(Rule):
    """`F.dropout(x)` drops in eval mode too, since its `training` is True unless one says
    otherwise.
    """

    slug = "functional-dropout-always-on"
    id = "PL404"
    severity = "error"
    summary = "dropout that eval() does not switch off"
    ops = (*DROPOUT, "scaled_dot_product_attention", "multi_head_attention_forward", "mul")

    def __init__(self) -> None:
        self._held: dict[Site | None, list[_Masked]] = {}
        # by number of a layer that is not registered: itself, number of its first call
        self._layers: dict[int, tuple[Any, int]] = {}
        self._alone: dict[int, bool] = {}  # by number of a root call: `alone`

    def on_read(self, event: Read) -> None:
        """A number of one pass over many rows: an evaluation, however often it is repeated."""
        if self._held:
            alone(event, self._alone)

    def on_op(self, op: Op) -> None:
        """A dropout that is on."""
        if op.name == "mul":
            self._by_hand(op)
            return
        key = "p" if op.name in DROPOUT else "dropout_p"
        call = op.module
        if (
            call is None
            or not op.arg(key, 0.5 if key == "p" else 0.0)
            or not op.arg("training", True)
        ):
            return
        if op.direct:
            if call.training:
                return
            owner, site = call, _left_out(op, self.session.recorder) or op.site
        else:
            owner = call.parent
            if owner is None or owner.training or not call.training or call.made is None:
                return
            root = call.root.module
            if (
                root is None
                or self.session.recorder.names.inner_path(root, call.module) is not None
            ):
                # a registered layer: eval() reaches it, and somebody has switched it on again
                return
            layer = call.module
            kept = self._layers.setdefault(number_of(layer), (weakref.ref(layer), call.root.number))
            if kept[0]() is layer and kept[1] != call.root.number:
                self._held.pop(call.made, None)
                # a layer that is kept beside the model: it is in train mode, which is told as such
                return
            site = call.made
        held = self._held.setdefault(site, [])
        if len(held) < 50:
            held.append(_Masked(op, call.root, owner.path))

    def _by_hand(self, op: Op) -> None:
        """Activations times a mask of zeros that is drawn in eval mode."""
        call = op.module
        if (
            call is None
            or call.training
            or call.root.training
            or not op.direct
            or len(op.inputs) != 2
        ):
            return
        for x, mask in (op.inputs, op.inputs[::-1]):
            if (
                mask.producer is None
                or not x.is_floating_point
                or x.ndim < 2
                or mask.ndim != x.ndim
                or mask.shape[0] not in (1, x.shape[0])
            ):
                continue
            made = [
                o
                for o in lineage(mask, VIEWS | ORDERS | {"bernoulli", "div", "mul"}, 20)
                if o.step == op.step
            ]
            names = {o.name for o in made}
            if "bernoulli" in names or names & {"rand", "rand_like"} and names & ORDERS:
                if any(
                    o.name in ("linear", "conv1d", "conv2d", "embedding", "lstm", "gru", "matmul")
                    for o in ancestors([x], limit=60)
                ):
                    held = self._held.setdefault(op.site, [])
                    if len(held) < 50:
                        held.append(_Masked(op, call.root, call.path))
                return

    def finish(self) -> None:
        """All but Monte Carlo dropout, where the same input goes through several times on purpose."""
        for site, held in self._held.items():
            seen = [
                (m.step, m.root.site if m.root is not None else None, n)
                for m in held
                for n in m.inputs
            ]
            calls = {(m.root.number if m.root is not None else 0): m for m in held}
            passes = [
                (m.step, m.root.site if m.root is not None else None, n)
                for m in calls.values()
                for n in m.inputs
            ]
            evaluated = bool(calls) and all(self._alone.get(n, False) for n in calls)
            if not evaluated and len(set(passes)) < len(passes) or not seen:
                continue
            first = held[0]
            op = first.op
            written = op.written("training") if op.direct else None
            if written == "True" and first.root is not None and _repeated_rows(first.root):
                continue
            if op.name == "mul":
                what = f"a mask is drawn and multiplied with activations although {first.layer} is in eval mode"
                fix = "draw and use it only `if self.training`, or use nn.Dropout"
            elif not op.direct:
                what = f"eval() does not reach this dropout: it is not a registered layer of {first.root.path if first.root else 'the model'}"
                fix = "create the layer in `__init__` and keep it as an attribute or in an nn.ModuleList"
            elif op.name in DROPOUT:
                what = (
                    f"{op.name} is active although {first.layer} is in eval mode: its `training` is "
                    + ("True" if written is not None else "not given, and True by default")
                )
                fix = f"pass the mode: `F.{op.name}(x, p, training=self.training)`, or use nn.{_layer(op.name)}"
            else:
                what = f"{op.name} is active although {first.layer} is in eval mode: it has no mode of its own, and dropout_p is not zero"
                fix = "`dropout_p=p if self.training else 0.0`"
            self.report(
                site,
                what + ".",
                evidence={
                    "p": op.arg("p", 0.5) if op.name in DROPOUT else op.args.get("dropout_p"),
                    "module": first.layer,
                    "calls": len(held),
                    "evaluated_at": first.root.site if first.root is not None else None,
                    "step": first.step,
                },
                fix=fix,
            )


def _left_out(op: Op, recorder: Any) -> Site | None:
    """The call of a helper that hands its own `training`, True by default, to a dropout, when the
    call leaves it out.
    """
    name = op.written("training")
    function = (
        function_around(op.site.file, op.site.line)
        if op.site is not None and name is not None and name.isidentifier()
        else None
    )
    if function is None or op.site is None:
        return None
    asked = [a.arg for a in (*function.args.args, *function.args.kwonlyargs) if a.arg != "self"]
    if name not in asked:
        return None
    caller = called_from(op.site.code, recorder)
    call = caller.call if caller is not None else None
    if call is None or (call.function or "").rpartition(".")[2] != function.name:
        return None
    return caller if call.argument(name, asked, False) is None else None


def _repeated_rows(root: ModuleCall) -> bool:
    """Whether the input was repeated by hand: several draws in one batch."""
    repeats = {"repeat", "repeat_interleave", "expand", "tile", "expand_as", "broadcast_to"}
    return any(op.name in repeats for v in root.inputs for op in lineage(v))


def _layer(name: str) -> str:
    return {
        "dropout": "Dropout",
        "alpha_dropout": "AlphaDropout",
        "feature_alpha_dropout": "FeatureAlphaDropout",
    }.get(name, "Dropout" + name[-2:])
