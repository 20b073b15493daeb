"""Parameters that are frozen by accident."""

from __future__ import annotations

import ast
import re
from typing import Any

from ...events import Failure, Loaded, ModuleCall, Op, OptimizerInfo, Site, Step, Value
from ...numbers import number_of
from ...rule import Rule
from ..source.places import (
    Place,
    attribute_place,
    chooser,
    function_around,
    is_users,
    member_place,
    tree,
    walk,
)
from .constants import Constants
from .frozen_names import (
    beyond,
    by_text,
    loop_over_parameters,
    numbered,
    test_around,
    texts_in,
    within,
)
from .thawing import Fresh, Waiting

_PRODUCTS = (
    "matmul",
    "mm",
    "linear",
    "bmm",
    "einsum",
    "conv1d",
    "conv2d",
    "embedding",
    "getitem",
    "index_select",
)
_DRAWN = frozenset(
    {
        "randn",
        "rand",
        "normal",
        "uniform",
        "rand_like",
        "randn_like",
        "xavier_uniform",
        "kaiming_uniform",
    }
)
_WEIGHT = re.compile(
    r"(w|weights?|kernel|emb|embeddings?|table|W)(_\w+|\d*)?$|\w+_(weights?|emb|embeddings?)$"
)


_ADDED = re.compile(
    r"(^|[._])(adapters?|lora|lora_[ab]|prompts?|soft_prompt)([._]|$)", re.IGNORECASE
)
_HEAD = re.compile(
    r"head|classif|cls|score|logit|output|(^|_)out($|_|put)|fc_?out|^fc$|(^|_)(last|final)($|_)|decoder"
)
_MISSPELLED = (
    "require_grad",
    "required_grad",
    "requires_grads",
    "require_grads",
    "requiresgrad",
    "requires_gradient",
    "trainable",
)


class ParamFrozen(Rule):
    """A parameter that is to be trained and does not require a gradient."""

    slug = "param-frozen"
    id = "PL502"
    severity = "error"
    summary = "a parameter is frozen by accident"
    covered = ("step-without-backward",)
    ops = ("requires_grad", "requires_grad_", *_PRODUCTS, *Constants.ops)

    def __init__(self) -> None:
        # by id: where requires_grad was last set to False
        self._frozen: dict[int, tuple[Value, Site | None]] = {}
        self._sites: dict[int, Site | None] = {}  # the same: the statement itself
        # by optimizer: what would be reported, steps
        self._idle: dict[int, tuple[dict[str, Any], int]] = {}
        self._look = True
        self._told: set[Any] = set()
        # by id of a tensor that stands where a weight should: the step at which it was last seen
        self._plain: dict[int, int] = {}
        self._waiting = Waiting(self)
        self._fresh = Fresh(self)
        self._constants = Constants(self)
        self._last: dict[int, Value] = {}  # by root module: the weight of the last product in it
        self._since = 0  # the step at which the last optimizer was made
        self._stepped: set[int] = set()  # leaves that some optimizer has changed
        # by id: what was frozen and then set free again
        self._freed: dict[int, Value] = {}

    def on_op(self, op: Op) -> None:
        """`p.requires_grad = False`, `p.requires_grad_(False)`; a product with something that is no
        parameter.
        """
        if op.name in Constants.ops:
            self._constants.see(op)
            return
        if op.name in _PRODUCTS:
            if op.grad_enabled and op.module is not None and not op.inplace:
                self._weight(op)
                weight = op.args.get("weight")
                if isinstance(weight, Value) and self.step < self._since + 4:
                    self._last[number_of(op.module.root.module)] = weight
            return
        wanted = op.args.get("value", op.args.get("requires_grad", True))
        for value in op.inputs[:1]:
            if wanted is False:
                self._frozen[value.id] = value, chooser(self.session.recorder)
                self._sites[value.id] = op.site
            else:
                if self._frozen.pop(value.id, None) is not None and len(self._freed) < 10_000:
                    self._freed[value.id] = value
                self._waiting.thawed()

    def on_loaded(self, event: Loaded) -> None:
        """What has values of its own now."""
        self._fresh.loaded(event)

    # ---- a tensor in the place of a parameter ------------------------------------------------------------------------
    def _weight(self, op: Op) -> None:
        """`self.weight = torch.randn(8, 8)` in a module: nothing makes it a parameter, so it keeps
        its random numbers.
        """
        if len(op.inputs) < 2 and op.name != "getitem":
            return
        for value in op.inputs:
            made = value.producer
            if (
                value.requires_grad
                or not value.is_floating_point
                or value.ndim < 2
                or value.step
                or value.id in self._plain
            ):
                continue
            while (
                made is not None
                and made.name in ("mul", "div", "add", "T", "t", "transpose")
                and made.inputs
            ):
                made = made.inputs[0].producer
            if made is None or made.name not in _DRAWN or made.module is not None:
                continue
            self._plain[value.id] = op.step
            call: ModuleCall | None = op.module
            while call is not None:
                module = call.module
                name = (
                    next((k for k, held in vars(module).items() if held is value.tensor), None)
                    if module is not None
                    else None
                )
                if name is not None and _WEIGHT.match(name):
                    recorder = self.session.recorder
                    self.report(
                        attribute_place(recorder, module, name) or made.site,
                        f"`self.{name}` is initialized randomly but is not an nn.Parameter: {op.name} uses it like a "
                        "weight, and nothing ever trains it.",
                        evidence={
                            "attribute": name,
                            "shape": list(value.shape),
                            "used_at": str(op.site),
                        },
                        fix=f"`self.{name} = nn.Parameter(...)`; if it should stay as it is, `self.register_buffer({name!r}, ...)`",
                    )
                    return
                call = call.parent

    # ---- switches that are none --------------------------------------------------------------------------------------
    def on_optimizer(self, event: OptimizerInfo) -> None:
        """A new phase of training: what was frozen may have been meant to be free."""
        self._look, self._since = True, self.step
        self._waiting.made(event)

    def on_module_exit(self, call: ModuleCall) -> None:
        """`module.requires_grad = True` only makes an attribute."""
        if call.parent is None and (
            self._look or self.step < 3 or self.step & (self.step - 1) == 0
        ):
            self._look = False
            if call.module is not None and hasattr(call.module, "named_modules"):
                self._typos(call.module, call.path, call.site)

    def _typos(self, root: Any, title: str, site: Any) -> None:
        for path, m in root.named_modules():
            for name in (
                "requires_grad",
                "requires_grad_",
                *(_MISSPELLED if not is_users(self.session.recorder, m) else ()),
            ):
                wanted = vars(m).get(name)
                if isinstance(wanted, bool):
                    wrong = [p for p in m.parameters() if p.requires_grad is not wanted]
                    if wrong:
                        self._attribute(
                            f"{title}.{path}" if path else title,
                            site,
                            name,
                            wanted,
                            len(wrong),
                            "modules have no such attribute",
                        )
        for path, p in root.named_parameters():
            for name in (*_MISSPELLED, "requires_grad_"):
                wanted = getattr(p, "__dict__", {}).get(name)
                if isinstance(wanted, bool) and p.requires_grad is not wanted:
                    what = "the attribute of a tensor is called `requires_grad`"
                    self._attribute(f"{title}.{path}", site, name, wanted, 1, what)
                    return

    def _attribute(
        self, what: str, site: Any, name: str, wanted: bool, count: int, kind: str
    ) -> None:
        if (name, wanted) in self._told:
            return
        self._told.add((name, wanted))
        self.report(
            self._assigned(site, name) or site,
            f"setting `{name}` on {what} has no effect ({kind}): its parameters {'stay frozen' if wanted else 'are still trained'}.",
            evidence={"set_to": wanted, "parameters": count},
            fix=f"`module.requires_grad_({wanted})` for all parameters of a module, `p.requires_grad = {wanted}` for one",
        )

    def _assigned(self, site: Any, name: str) -> Any:
        """The line that assigns such an attribute, in the files of the script and of the model."""
        for file in self.session.recorder.files(
            self.session.script, site.file if site is not None else ""
        ):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if isinstance(node, ast.Assign) and any(
                    isinstance(t, ast.Attribute) and t.attr == name for t in node.targets
                ):
                    target = next(t for t in node.targets if isinstance(t, ast.Attribute))
                    text = ast.unparse(target.value)
                    loop = any(
                        isinstance(f, (ast.For, ast.comprehension))
                        and text in ast.unparse(f.target)
                        and "parameters" in ast.unparse(f.iter)
                        for f in walk(root)
                    )
                    if name != "requires_grad" or not loop:
                        return Place(file, node.lineno)
        return None

    # ---- frozen more than was meant ----------------------------------------------------------------------------------
    def on_error(self, failure: Failure) -> None:
        """Backward has nothing to reach because every parameter of the loss is frozen."""
        op = failure.op
        if (
            op is None
            or op.name != "backward"
            or not op.inputs
            or any(v.requires_grad for v in op.inputs)
        ):
            return
        frozen: list[Value] = []
        waiting, seen = list(op.inputs), set()
        while waiting:
            value = waiting.pop()
            if value.is_leaf and value.number not in seen and value.parameter is not None:
                frozen.append(value)
            elif value.producer is not None and value.number not in seen:
                made = value.producer
                if any(v.requires_grad for v in made.inputs):
                    return  # cut somewhere, not frozen
                waiting.extend(made.inputs)
            seen.add(value.number)
        if frozen:
            self._tell(
                frozen,
                failure.site,
                "backward finds nothing to differentiate: all parameters of the loss are frozen",
            )

    def on_step(self, event: Step) -> None:
        """An optimizer all of whose parameters are frozen; or some that nobody has frozen
        knowingly.
        """
        info = event.optimizer
        values = info.params()
        if info.steps < 2:
            self._stepped.update(v.id for v in values if v.requires_grad)
        if self._frozen:
            self._waiting.later(info)
            self._waiting.step(event)
        if values and not any(v.requires_grad for v in values):
            held = self._idle.get(info.number)
            if held is None:
                title = info.name or "optimizer"
                held = (
                    self._told_all(
                        values, event.site, f"{title} steps and all its parameters are frozen"
                    ),
                    0,
                )
            self._idle[info.number] = held[0], held[1] + 1
        else:
            self._idle.pop(info.number, None)
            if info.steps == 1:
                self._by_default([v for v in values if not v.requires_grad])
                self._by_name()
                if self._frozen:
                    self._waiting.grouped(info)
                    self._half_layers()
                    self._new_head()
                    self._added()
                    self._fresh.step(self._stepped)

    def _by_default(self, frozen: list[Value]) -> None:
        """`nn.Embedding.from_pretrained(vectors)` freezes, unless it is told not to."""
        recorder = self.session.recorder
        for value in frozen:
            tensor = value.tensor
            module = next(
                (
                    m
                    for m in recorder.names.alive()
                    if tensor is not None and m._parameters.get("weight") is tensor
                ),
                None,
            )
            site = recorder.names.site_of(module) if module is not None else None
            call = site.call if site is not None else None
            if (
                call is None
                or value.id in self._frozen
                or not (call.function or "").endswith("from_pretrained")
            ):
                continue
            if "freeze" not in call.keywords and len(call.arguments) < 2:
                self.report(
                    site,
                    f"`from_pretrained` freezes the embedding unless it gets `freeze=False`: {value.name or 'its weight'} is given to the "
                    "optimizer and never changes.",
                    evidence={"parameter": value.name, "shape": list(value.shape)},
                    fix="`from_pretrained(vectors, freeze=False)` to train it; pass `freeze=True` if it should stay as it is",
                )

    def frozen_sites(self) -> list[tuple[Value, Any]]:
        """What was frozen, and by which statement."""
        return [
            (v, site)
            for key, (v, _) in self._frozen.items()
            if (site := self._sites.get(key)) is not None
        ]

    def frozen_at(self, value: Value) -> Any:
        """Where a parameter was frozen, if it was and still is; else None."""
        held = self._frozen.get(value.id)
        return held[1] if held is not None and not value.requires_grad else None

    def _half_layers(self) -> None:
        """A weight is frozen and its bias is not, although nothing in the line speaks of them: a
        slice that ends one too early.
        """
        recorder = self.session.recorder
        for module in recorder.names.alive():
            weight, bias = module._parameters.get("weight"), module._parameters.get("bias")
            if weight is None or bias is None or weight.requires_grad == bias.requires_grad:
                continue
            place = self.frozen_at(recorder.value(bias if weight.requires_grad else weight))
            kept_free = recorder.value(weight if weight.requires_grad else bias)
            if place is None or place in self._told or kept_free.id in self._freed:
                continue
            function = function_around(place.file, place.line)
            text = (
                ast.unparse(function)
                if function is not None
                else " ".join(s.text for s in _lines_around(place))
            )
            if re.search(r"bias|weight|ndim|dim\(|shape|named_|isinstance", text):
                continue
            self._told.add(place)
            kept, other = ("weight", "bias") if bias.requires_grad else ("bias", "weight")
            self.report(
                place,
                f"{recorder.names.parameter(weight if kept == 'weight' else bias)} is frozen here, but the {other} of the same layer is not.",
                evidence={"layer": type(module).__name__, "frozen": kept},
                fix="choose whole layers: iterate over `model.children()` or over names, not over a slice of `model.parameters()`",
            )

    def _new_head(self) -> None:
        """A filter on names, or a loop over all parameters, that freezes the last layer with the
        rest: nothing has trained it and no file has filled it. A loop over all of them is told of
        only if that layer was put there in the place of another one, or if whole layers before it
        were set free again, and nothing else is trained.
        """
        recorder = self.session.recorder
        for root in recorder.names.roots():
            weight = self._last.get(number_of(root))
            place = self.frozen_at(weight) if weight is not None else None
            if (
                weight is None
                or place is None
                or place in self._told
                or weight.id in self._stepped
                or weight.name is None
            ):
                continue
            path = weight.name.split(".")
            put_in, statement = _put_in(recorder, weight), self._sites.get(weight.id) or place
            test = test_around(statement if put_in else place)
            head = bool(_HEAD.search(path[-2] if len(path) > 1 else ""))
            if test is None:
                if not put_in and not (head and self._layers_freed(root)):
                    continue
                place = statement
            elif not head or not any(
                isinstance(n, ast.Compare) or by_text(n) for n in ast.walk(test[1])
            ):
                continue
            written = recorder.filled.get(weight.id)
            call = written.site.call if written is not None and written.site is not None else None
            if call is not None and "load" in (call.function or ""):
                continue
            if any(p.requires_grad for p in root.parameters()):
                self._told.add(place)
                self.report(
                    place,
                    f"{weight.name} is frozen with the rest: the last layer keeps its random initial values, and nothing trains it.",
                    evidence={"parameter": weight.name, "shape": list(weight.shape)},
                    fix="unfreeze the new last layer",
                    severity="warning",
                )

    def _layers_freed(self, root: Any) -> bool:
        """Whether all that is trained of a model are layers, weight and bias, that were frozen with
        the rest and set free again.
        """
        value = self.session.recorder.value
        free = {v.id: v for p in root.parameters() if p.requires_grad for v in (value(p),)}
        weights = any(v.ndim > 1 for v in free.values())
        return weights and free.keys() <= self._freed.keys()

    def _added(self) -> None:
        """Adapters are there to be trained: frozen by the line that freezes the model they were put
        into, and not freed again.
        """
        recorder = self.session.recorder
        for root in recorder.names.roots():
            named = [(path, recorder.value(p)) for path, p in root.named_parameters()]
            own = [v for path, v in named if _ADDED.search(path)]
            places = {place for v in own if (place := self.frozen_at(v)) is not None}
            if (
                not own
                or len(places) != 1
                or any(v.requires_grad for v in own)
                or not any(v.requires_grad for _, v in named)
            ):
                continue
            place = next(iter(places))
            others = [
                v for path, v in named if not _ADDED.search(path) and self.frozen_at(v) == place
            ]
            if not others or place in self._told:
                continue
            self._told.add(place)
            test = test_around(place)
            self.report(
                Place(place.file, test[0])
                if test is not None
                else loop_over_parameters(place) or place,
                f"{own[0].name or 'an adapter'} and {len(own) - 1} more are frozen here with the model they were added to, and stay frozen while "
                "another part is trained: they never adapt.",
                evidence={"parameters": [v.name for v in own[:8]], "frozen_with_them": len(others)},
                fix="unfreeze them as well: `model.adapter.requires_grad_(True)`",
                severity="warning",
            )

    def _by_name(self) -> None:
        """`"layers.1" in name` is true of layers.10 as well."""
        recorder = self.session.recorder
        for root in recorder.names.roots():
            at: dict[str, list[str]] = {}  # by place: names of the parameters frozen there
            sites: dict[str, Site] = {}
            names = []
            for path, p in root.named_parameters():
                names.append(path)
                held = self._frozen.get(recorder.value(p).id)
                if held is not None and held[1] is not None and not p.requires_grad:
                    at.setdefault(str(held[1]), []).append(path)
                    sites[str(held[1])] = held[1]
            for key, frozen in at.items():
                test = test_around(sites[key])
                texts = texts_in(test[1], sites[key]) if test is not None else []
                found = (
                    beyond(frozen, names, texts)
                    or within(frozen, names, texts)
                    or (numbered(frozen, names) if texts else None)
                )
                if found is not None and (key, found) not in self._told:
                    self._told.add((key, found))
                    text, meant, hit = found
                    title = recorder.names.root_name(root)
                    self.report(
                        Place(sites[key].file, test[0]) if test is not None else sites[key],
                        f"the name {text!r} is meant for {title}.{meant}, but it also matches {title}.{hit}, which is frozen too.",
                        evidence={
                            "frozen": len(frozen),
                            "of": len(names),
                            "meant": meant,
                            "also": hit,
                        },
                        fix=f"compare whole parts of the name: `name.split('.')`, or `name.startswith({text + '.'!r})`",
                    )

    def finish(self) -> None:
        """Optimizers that had nothing to train to the end; switches that the last lines of the
        program set; `==` for `=`.
        """
        self._constants.finish()
        self._fresh.finish()
        self._waiting.finish()
        for what, count in self._idle.values():
            if count >= 2:
                self.report(**what)
        if not self.step:
            return
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Compare)
                    and isinstance(node.value.ops[0], ast.Eq)
                ):
                    left = node.value.left
                    if isinstance(left, ast.Attribute) and left.attr == "requires_grad":
                        self.report(
                            Place(file, node.lineno),
                            f"`{ast.unparse(node.value)}` is a comparison and changes nothing.",
                            fix=f"`{ast.unparse(left)} = {ast.unparse(node.value.comparators[0])}`",
                        )

    def _tell(self, frozen: list[Value], symptom: Site | None, seen: str) -> None:
        self.report(**self._told_all(frozen, symptom, seen))

    def _told_all(self, frozen: list[Value], symptom: Site | None, seen: str) -> dict[str, Any]:
        place: Any = next((self._frozen[v.id][1] for v in frozen if v.id in self._frozen), None)
        names = sorted(v.name or "a tensor" for v in frozen)
        copied = self.session.recorder.copied(frozen[0].tensor) if place is None else None
        return {
            "site": place or copied or self._defined(frozen[0]) or symptom,
            "message": f"{seen}; {names[0]} was {'copied from a frozen one' if copied is not None else 'frozen'} here.",
            "evidence": {"parameters": names[:8], "frozen": len(frozen), "used_at": str(symptom)},
            "fix": "freeze only what should stay as it is: exclude the trained part, or call `requires_grad_(True)` on it",
            "covers": [symptom],
        }

    def _defined(self, value: Value) -> Any:
        tensor, recorder = value.tensor, self.session.recorder
        for root in recorder.names.roots():
            for path, p in root.named_parameters():
                if p is tensor:
                    return member_place(recorder, root, path)
        return None


def _put_in(recorder: Any, weight: Value) -> bool:
    """Whether the module of a weight was put into a model from outside: `model.fc = nn.Linear(8, 2)`."""
    tensor = weight.tensor
    module = next(
        (m for m in recorder.names.alive() if m._parameters.get("weight") is tensor), None
    )
    site = recorder.names.site_of(module) if module is not None and tensor is not None else None
    root = tree(site.file) if site is not None else None
    for node in walk(root) if root is not None and site is not None else ():
        if isinstance(node, ast.Assign) and node.lineno <= site.line <= (node.end_lineno or 0):
            for target in node.targets:
                while isinstance(target, (ast.Attribute, ast.Subscript)):
                    target = target.value
                    if isinstance(target, ast.Name) and target.id not in ("self", "cls"):
                        return True
    return False


def _lines_around(place: Any) -> list[Place]:
    return [Place(place.file, line) for line in range(max(1, place.line - 2), place.line + 1)]
