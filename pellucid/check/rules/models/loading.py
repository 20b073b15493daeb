"""States that are loaded without effect, and values of a model that its state does not contain."""

from __future__ import annotations

import ast
import weakref
from typing import Any

import numpy as np

from ...events import Loaded, ModuleCall, Saved, Site
from ...fingerprint import fingerprint
from ...numbers import number_of
from ...recording.signatures import RANDOM
from ...rule import Rule
from ..randomness.draws import drawn_numbers
from ..source.places import (
    Place,
    attribute_place,
    function_around,
    is_users,
    member_place,
    tree,
    walk,
)

_CARRIED = frozenset("hidden state states h c hx cx cache memory last prev previous past".split())
"""Words in the name of an attribute that begins anew with each sequence."""
_RECURRENT = frozenset("lstm gru rnn lstm_cell gru_cell rnn_cell".split())
LARGEST = 1 << 20  # elements of an attribute that is compared


class KeysIgnored(Rule):
    """A state is loaded, and the keys of what was to be loaded do not match."""

    slug = "keys-ignored"
    id = "PL506"
    severity = "error"
    summary = "load_state_dict ignores the entries that should be loaded, or they are overwritten"

    def __init__(self) -> None:
        # by number of a module: what is to be said when it is used
        self._waiting: dict[int, tuple[Any, Any, str, dict[str, Any], str]] = {}
        # modules that were loaded and not used yet: where, and how many operations were before
        self._loaded: list[tuple[Any, Site | None, int]] = []

    def on_loaded(self, event: Loaded) -> None:
        """Which keys were taken."""
        if event.given and len(self._loaded) < 64:
            number = self.session.recorder.number()
            self._loaded.append((weakref.ref(event.module), event.site, number))
        module, given = event.module, event.given
        self._waiting.pop(number_of(module), None)
        own = module.state_dict()
        taken = len(given) - len(event.unexpected)
        if not own:
            return
        site: Any = event.site
        if event.unexpected:
            pairs = renamed(event.unexpected, event.missing, given, own)
            if taken and len(pairs) < 2:
                return
            first = event.unexpected[0]
            if pairs:
                first, second = pairs[0]
                what = (
                    f"the state has {first!r} where the model has {second!r}: {len(pairs)} of "
                    f"its {len(given)} entries are not loaded, because `strict=False` ignores "
                    "keys that do not match."
                )
                fix = f"rename the keys ({first!r} to {second!r}), and load with `strict=True`"
            elif event.missing:
                what = (
                    f"none of the {len(given)} keys of this state is a key of the model (the first is {first!r}, the model's "
                    f"{next(iter(own))!r}): nothing is loaded."
                )
                fix = "load it into the module that it was saved from, with `strict=True`"
            else:
                return
        elif not given or event.step == 0 and untouched(given, own):
            filtered = _filtered(event)
            if filtered is None:
                return
            site = filtered
            what = (
                "none of the keys exists in the model, so nothing is loaded and the model "
                "keeps its current weights."
            )
            fix = (
                "compare the keys of the file with those of `model.state_dict()`, and rename "
                "them where they differ"
            )
        else:
            return
        evidence = {
            "given": list(given)[:5],
            "model": list(own)[:5],
            "loaded_at": event.site,
        }
        self._waiting[number_of(module)] = weakref.ref(module), site, what, evidence, fix

    def on_module_enter(self, call: ModuleCall) -> None:
        """The model is used as it is."""
        if call.parent is None:
            if self._loaded:
                self._redrawn(call.module)
            if self._waiting:
                self.finish()

    def _redrawn(self, root: Any) -> None:
        """Whether what was loaded into a model has been drawn anew since."""
        recorder, waiting, self._loaded = self.session.recorder, self._loaded, []
        own = {number_of(m) for m in root.modules()} if root is not None else set()
        for ref, site, number in waiting:
            module = ref()
            if module is None or number_of(module) not in own:
                self._loaded += [(ref, site, number)] if module is not None else []
                continue
            weights = [recorder.value(p) for p in module.parameters() if p.ndim > 1]
            drawn = [
                op
                for v in weights
                if (op := recorder.filled.get(v.id)) is not None
                and op.number > number
                and op.name in RANDOM
            ]
            if not weights or len(drawn) < 0.75 * len(weights):
                continue
            self.report(
                _applied(drawn[-1].site) or drawn[-1].site,
                f"the weights that were loaded are drawn anew before they are used: {len(drawn)} of {len(weights)} matrices are random again.",
                evidence={"loaded_at": site, "drawn_at": drawn[-1].site},
                fix="initialize first and load afterwards, or initialize the new layers only: `self.head.apply(init_weights)`",
            )

    def finish(self) -> None:
        """It was not loaded again in another way."""
        waiting, self._waiting = self._waiting, {}
        for _, site, what, evidence, fix in waiting.values():
            self.report(site, what, evidence=evidence, fix=fix)


def _applied(site: Site | None) -> Place | None:
    """The only line that applies the function that an operation stands in to a model."""
    function = function_around(site.file, site.line) if site is not None else None
    root = tree(site.file) if site is not None and function is not None else None
    lines = (
        {
            n.lineno
            for n in (walk(root) if root is not None else ())
            if isinstance(n, ast.Call)
            and (
                getattr(n.func, "attr", "") == "apply"
                and any(ast.unparse(a).rpartition(".")[2] == function.name for a in n.args)
                or ast.unparse(n.func).rpartition(".")[2] == function.name
            )
        }
        if function is not None
        else set()
    )
    return Place(site.file, lines.pop()) if site is not None and len(lines) == 1 else None


def renamed(unexpected: list[str], missing: list[str], given: Any, own: Any) -> list[Any]:
    """Pairs of keys that name the same thing, one of them with a prefix."""
    found = []
    for other in unexpected:
        for key in missing:
            longer, shorter = (other, key) if len(other) > len(key) else (key, other)
            if longer.endswith("." + shorter) and getattr(given[other], "shape", None) == getattr(
                own[key], "shape", None
            ):
                found.append((other, key))
                break
    return found


def untouched(given: Any, own: Any) -> bool:
    """Whether a state consists of the tensors that the model has already."""
    return all(
        hasattr(v, "data_ptr") and hasattr(own.get(k), "data_ptr") and _same(v, own[k])
        for k, v in given.items()
    )


def _same(a: Any, b: Any) -> bool:
    return a is b or a.numel() == b.numel() and a.numel() > 0 and a.data_ptr() == b.data_ptr()


def _filtered(event: Loaded) -> Place | None:
    """The line that leaves out keys which the model does not have: `if k in own`."""
    site = event.site
    root: Any = None
    if site is not None:
        root = function_around(site.file, site.line) or tree(site.file)
    found = [
        node
        for node in (walk(root) if root is not None else ())
        if isinstance(node, ast.DictComp)
        and site is not None
        and node.lineno <= site.line
        and any(g.ifs for g in node.generators)
    ]
    return Place(site.file, max(n.lineno for n in found)) if site is not None and found else None


def digest(thing: Any, engine: Any) -> bytes | None:
    """What stands in a tensor or array, in short; None for anything else, and for large ones."""
    array = engine.array(thing) if isinstance(thing, engine.Tensor) else thing
    if type(array) is not np.ndarray or not 0 < array.size <= LARGEST or array.dtype.kind == "O":
        return None
    return fingerprint(array, of=f"{array.shape}{array.dtype}")


class StateNotSaved(Rule):
    """A tensor that a model computes with is no parameter and no buffer, so that a copy of the model
    which loads its state computes with another one.
    """

    slug = "state-not-saved"
    id = "PL507"
    severity = "error"
    summary = "a tensor that the model needs is missing from its state_dict"

    def __init__(self) -> None:
        # by class: the model that was saved, and what it held besides its state
        self._saved: dict[type, tuple[Any, dict[tuple[str, str], bytes]]] = {}
        # by number of a module that has loaded a state: what it holds that was another value there
        self._loaded: dict[int, tuple[Any, dict[tuple[str, str], bytes]]] = {}

    def on_saved(self, event: Saved) -> None:
        """What is left out."""
        held = self._held(event.module)
        if held:
            self._saved[type(event.module)] = weakref.ref(event.module), held

    def on_loaded(self, event: Loaded) -> None:
        """Another model gets the state."""
        module = event.module
        source, held = self._saved.get(type(module), (None, {}))
        self._loaded.pop(number_of(module), None)
        if source is None or source() is module or event.missing or event.unexpected:
            return
        self._loaded[number_of(module)] = weakref.ref(module), held

    def on_module_exit(self, call: ModuleCall) -> None:
        """The model has computed with what it has."""
        if (
            not self._loaded
            or call.parent is not None
            or number_of(call.module) not in self._loaded
        ):
            return
        ref, before = self._loaded.pop(number_of(call.module))
        module = call.module
        if ref() is not module or call.tags.get("error"):
            return
        recorder = self.session.recorder
        used = {
            v.id: op.name
            for op in recorder.ops_of_step()
            if op.number > call.number
            for v in op.inputs
        }
        now = self._held(module)
        modules = dict(module.named_modules())
        for (path, name), old in before.items():
            thing = vars(modules[path]).get(name) if path in modules else None
            if thing is None and path in modules:
                thing = modules[path]._buffers.get(name)
            if not isinstance(thing, self.session.engine.Tensor) or now.get((path, name)) == old:
                continue
            if used.get(recorder.value(thing).id, "lstm") in _RECURRENT:
                continue
            if set(name.strip("_").split("_")) & _CARRIED:
                continue
            site = attribute_place(recorder, modules[path], name) or member_place(
                recorder, module, f"{path}.{name}" if path else name
            )
            self.report(
                site or recorder.names.site_of(module),
                f"`{name}` is neither a parameter nor a buffer, so the saved state does not "
                "contain it: the model that loaded the state computes with another value.",
                evidence={"attribute": f"{path}.{name}" if path else name, "used_at": call.site},
                fix=(
                    f"`self.register_buffer({name!r}, ...)`, and update it in place where it "
                    "changes"
                ),
            )

    def _held(self, root: Any) -> dict[tuple[str, str], bytes]:
        engine, found = self.session.engine, {}
        for path, module in root.named_modules():
            if not is_users(self.session.recorder, module):
                continue
            left_out = getattr(module, "_non_persistent_buffers_set", ())
            items = [(k, v) for k, v in vars(module).items() if isinstance(v, engine.Tensor)]
            items += [
                (k, module._buffers[k]) for k in left_out if module._buffers.get(k) is not None
            ]
            for name, thing in items:
                drawn = drawn_numbers(self.session.recorder.value(thing))
                if drawn is not None and drawn.step:
                    continue  # noise that is drawn anew while the model is trained
                shown = digest(thing, engine)
                if shown is not None:
                    found[path, name] = shown
        return found
