"""Masks and noise that are the same in every step."""

from __future__ import annotations

import ast
from typing import Any

from ...events import (
    ORDERS,
    VIEWS,
    Backward,
    Batch,
    Called,
    LoaderInfo,
    ModuleCall,
    Op,
    OptimizerInfo,
    Seeded,
    Site,
    Step,
    Update,
    Value,
    ancestors,
    lineage,
    made_by,
)
from ...fingerprint import fingerprint
from ...numbers import number_of
from ...recording.signatures import RANDOM
from ...rule import Rule, distinct
from ..source.places import Place, Repeated, assigned_before, function_around
from .augmented import AugmentedOnce
from .draws import DROPOUT, SEEN, Print, drawn_numbers, draws, own_stream, print_of
from .kept import CachedDraws, RandomDefaults, changes_inputs
from .one_level import OneLevel
from .reseeded import SeededSamples

_DEVIATIONS = ("exp", "softplus", "sqrt")
_TABLES = ("getitem", "index_select", "matmul", "mm", "linear", "embedding")
FETCHING = ("__getitem__", "__iter__", "__getitems__")


class _Drawn:
    """What one place drew in this step, and in steps of the same optimizer before."""

    __slots__ = ("before", "now", "op", "optimizer", "repeats", "step", "told")

    def __init__(self, op: Op) -> None:
        self.op = op
        self.step = op.step
        self.now: list[Print] = []
        self.before: list[list[Print]] = []
        self.optimizer: OptimizerInfo | None = None
        self.repeats = 0
        self.told = False


def _cached(mask: Value) -> Any:
    """The decorator that keeps the result of the function in which something was drawn."""
    for made in lineage(mask, VIEWS | ORDERS | {"div", "mul", "bernoulli"}, 30):
        function = (
            function_around(made.site.file, made.site.line) if made.site is not None else None
        )
        for decorator in function.decorator_list if function is not None else ():
            if "cache" in ast.unparse(decorator):
                return Place(made.site.file, decorator.lineno)
    return None


class SameMask(Rule):
    """A mask or noise that is the same at every step, because the stream begins anew each time."""

    slug = "same-mask"
    id = "PL801"
    severity = "error"
    summary = "the same random mask, noise or order again and again"
    covered = ("nondeterminism",)
    ops = (*sorted(RANDOM), "mul", "div", "where", "add", "getitem")

    REPEATS = 2  # after the first
    KEPT = 48  # steps

    def __init__(self) -> None:
        self._places: dict[Any, _Drawn] = {}
        # by number of a draw, until a backward has gone through it
        self._fresh: dict[int, _Drawn] = {}
        # by number of the Value: steps in which it was used; [-1]: no mask
        self._masks: dict[Any, list[int]] = {}
        # by number of the Value: what data of a batch's shape it was multiplied with
        self._met: dict[int, set[bytes]] = {}
        self._trained: list[_Drawn] = []  # draws of this step that are trained with
        self._seed: Site | None = None  # where the stream was seeded last
        self._seeds: dict[Site | None, int] = {}
        self._seed_calls = Repeated()
        self._begun: dict[
            Any, tuple[Any, int, int]
        ] = {}  # by line: the seed that a stream began with, how often in a row, since which step
        # by line in a data set: what was drawn last, how often in a row
        self._samples: dict[Any, tuple[bytes, int]] = {}
        self._pass: Site | None = None  # where the last pass of a loader was begun
        # by number of a module: latents of an earlier step that it was called with, where
        self._latents: dict[int, tuple[Value, Site | None]] = {}
        self._judges: dict[int, int] = {}  # by number of a module: the step in which it got data
        self._augmented, self._reseeded = AugmentedOnce(self), SeededSamples(self)
        self._defaults, self._caches = RandomDefaults(self), CachedDraws(self)
        self._one_level = OneLevel(self)

    def on_batch(self, event: Batch) -> None:
        """Samples that were changed at random once."""
        if event.position == 0 and event.site is not None:
            self._pass = event.site
        self._augmented.on_batch(event)
        self._caches.on_batch(event)

    def finish(self) -> None:
        """The same."""
        self._augmented.finish(self._caches.told)

    def on_call(self, event: Called) -> None:
        """A stream is made: with the same seed again and again it gives the same numbers."""
        given = [*event.args, *event.kwargs.values()]
        if event.name == "manual_seed" and type(event.owner).__name__ == "Generator" and given:
            if not changes_inputs(event.site):
                return  # a table that is meant to be the same
            self._begins(event.site, ("generator", given[0]), f"seeds a generator with {given[0]}")
            return
        made = event.name in ("default_rng", "RandomState", "Random")
        if made and given and all(isinstance(a, (int, str, tuple)) for a in given):
            self._begins(
                event.site,
                (event.name, *given),
                f"creates a generator with the same seed, {given[0]}",
            )

    def _begins(self, site: Site | None, seed: Any, what: str) -> None:
        if site is None:
            return
        last, count, since = self._begun.get(site.key, (None, 0, self.step))
        count, since = (count + 1, since) if last == seed else (1, self.step)
        self._begun[site.key] = seed, count, since
        steps = self.step - since
        if (
            count == 400
            or count >= 8
            and steps >= 6
            and count >= 0.8 * steps
            and count & (count - 1) == 0
        ):
            if steps < 3 or any(
                word in site.function.lower()
                for word in ("eval", "valid", "test", "plot", "sample_grid")
            ):
                return
            self.report(
                site,
                f"this {what} in each of {count} calls: all draw the same numbers.",
                evidence={"calls": count, "steps": steps},
                fix="create and seed the generator once, outside the loop",
            )

    def on_pass(self, event: LoaderInfo) -> None:
        """A sampler whose order hangs on the epoch, which nobody tells it."""
        sampler = getattr(event.loader, "sampler", None)
        if event.passes != 3 or type(sampler).__name__ != "DistributedSampler":
            return
        if not sampler.shuffle or sampler.epoch or sampler.num_replicas > 1:  # then D007 tells it
            return
        self.report(
            event.site if self._pass is None else self._pass,
            "this DistributedSampler shuffles by its seed and its epoch, but the epoch stays 0: the order is the same in every pass.",
            evidence={"passes": event.passes, "loader": event.site},
            fix="call `sampler.set_epoch(epoch)` at the beginning of each epoch",
        )

    def on_module_enter(self, call: ModuleCall) -> None:
        """A generator is called with latents that were drawn once, or a discriminator with its results."""
        if call.parent is not None or not call.grad_enabled or not call.inputs or not self.step:
            return
        x = call.inputs[0]
        if not x.requires_grad:
            made = made_by(x)
            if made is None or made.module is None:
                self._judges[number_of(call.module)] = (
                    self.step
                )  # data, not what another model gave
            base = drawn_numbers(x) if x.numel >= SEEN and x.ndim > 1 else None
            if (
                base is not None
                and base.shape == x.shape
                and base.step < self.step
                and base.producer is not None
            ):
                self._latents[number_of(call.module)] = base, call.site
        elif x.requires_grad:
            made = made_by(x)
            root = made.module.root.module if made is not None and made.module is not None else None
            base, site = self._latents.pop(number_of(root), (None, None))
            judges = self.step - self._judges.get(number_of(call.module), -9) <= 2
            if base is None or root is call.module or base.producer is None or not judges:
                return
            steps = self._masks.setdefault((base.number, "latent"), [])
            if steps[-1:] != [self.step]:
                steps.append(self.step)
            if len(steps) == 5 and not self._registered(base):
                self.report(
                    base.producer.site,
                    f"the latents that {base.producer.name} draws here are the same in each step: the generator learns these "
                    f"{base.shape[0]} points and nothing between them.",
                    evidence={"shape": list(base.shape), "steps": steps, "given_at": site},
                    fix="draw them in every step, inside the loop",
                )

    def on_seed(self, event: Seeded) -> None:
        """Where the stream begins anew."""
        self._reseeded.on_seed(event)
        if event.library in ("numpy", "random") and event.seed is not None:
            self._begins(
                event.site, (event.library, event.seed), f"seeds the generator with {event.seed}"
            )
        if event.library == "torch":
            self._seed = event.site
            self._seeds[event.site] = self._seeds.get(event.site, 0) + 1
            self._seed_calls.add(event.site, self.session.recorder.callers())

    def on_op(self, op: Op) -> None:
        """A draw while gradients are recorded."""
        if op.name == "getitem":
            self._one_level.see(op)
            return
        self._defaults.see(op)
        if op.name in ("mul", "div", "where", "add"):
            if op.name == "mul":
                self._times(op)
            elif op.name == "div":
                self._rescaled(op)
            elif op.name == "add":
                self._noise(op)
            return
        self._augmented.see(op)
        self._caches.see(op)
        if not op.grad_enabled or op.site is None or op.output is None or not draws(op):
            return
        if op.inplace and op.inputs and op.inputs[0].is_leaf and op.inputs[0].requires_grad:
            return  # a parameter is made
        if op.site.function.rpartition(".")[2] in FETCHING:
            self._in_sample(op)
            return  # samples made from their own seeds
        key = (op.site, op.module.path if op.module is not None else None, op.name)
        held = self._places.get(key)
        if held is None:
            held = self._places[key] = _Drawn(op)
        if held.told:
            return
        shown = print_of(op)
        if shown is None:
            return
        if held.step != self.step:
            held.now, held.step, held.op = [], self.step, op
        if len(held.now) < 16:
            held.now.append(shown)
        self._fresh[op.number] = held

    def _in_sample(self, op: Op) -> None:
        """The same numbers for one sample after another."""
        array = op.output.numpy() if op.output is not None else None
        if array is None or array.size < 4 or array.min() == array.max():
            return
        digest = fingerprint(array)
        last, count = self._samples.get(op.site, (b"", 0))
        count = count + 1 if last == digest else 1
        self._samples[op.site] = digest, count
        if count == 8:
            self.report(
                op.site,
                f"{op.name} draws the same numbers for {count} samples in a row: its generator restarts for each.",
                evidence={"shape": list(array.shape)},
                fix="seed with the sample's index as well, or create the generator once",
            )

    def _fixed_noise(self, op: Op) -> None:
        """Noise of the shape of a batch that is new in each step, drawn once: as the default of an
        argument, before the loop.
        """
        for x, noise in (op.inputs, op.inputs[::-1]):
            if (
                x.requires_grad
                or noise.requires_grad
                or noise.shape != x.shape
                or x.ndim < 2
                or x.shape[0] < 2
                or noise.numel < SEEN
            ):
                continue
            if x.producer is None or x.step != self.step or not self.step:
                continue
            base, fresh = drawn_numbers(noise), drawn_numbers(x)
            made = base.producer if base is not None else None
            if (
                base is not None
                and made is not None
                and not made.inplace
                and base.step < self.step
                and fresh is None
                and self._varies(x, base)
            ):
                steps = self._masks.setdefault(base.number, [])
                if steps[-1:] != [self.step]:
                    steps.append(self.step)
                if len(steps) == 4 and not self._registered(base):
                    self.report(
                        made.site,
                        f"the noise that {made.name} draws here is added to a different batch in each of 4 steps: it is always the same.",
                        evidence={"shape": list(base.shape), "steps": steps, "added_at": op.site},
                        fix="draw it in every step, inside the function",
                    )
                return

    def _other(self, x: Value, mask: Value) -> bool:
        """Whether other data meet a mask than ever before."""
        array = x.numpy()
        seen = self._met.setdefault(mask.number, set())
        met = array.reshape(-1)[:16].tobytes() if array is not None and len(seen) < 64 else None
        if met is None or met in seen:
            return False
        seen.add(met)
        return True

    def _varies(self, x: Value, base: Value) -> bool:
        """Whether a value is made of rows that are others in each step, and not of the fixed
        numbers themselves.
        """
        varies = False
        for op in ancestors([x], limit=60):
            if any(v.id == base.id for v in op.inputs):
                return False
            new = op.step == self.step and (
                op.name in RANDOM or op.name in ("getitem", "index_select")
            )
            varies = (
                varies
                or new
                or any(
                    v.producer is None and not v.requires_grad and v.step == self.step
                    for v in op.inputs
                )
            )
        return varies

    def _times(self, op: Op) -> None:
        """Activations times a dropout mask (zeros and one number above 1) that was drawn in an
        earlier step.
        """
        if not op.grad_enabled or len(op.inputs) != 2:
            return
        if op.direct:
            self._sampled(op)
        for x, mask in (op.inputs, op.inputs[::-1]):
            # a dropout of the program's own
            switched = op.site is not None and "training" in op.site.code.co_names
            whole = x.shape == mask.shape and mask.numel >= SEEN or switched and mask.numel >= 8
            if (
                not x.requires_grad
                and x.ndim > 1
                and x.shape[0] > 1
                and whole
                and mask.is_floating_point
                and not mask.requires_grad
            ):
                if (
                    mask.step < self.step
                    and self._masks.get(mask.number) != [-1]
                    and self._other(x, mask)
                ):
                    self._again(mask, op, self._is_mask)
            if (
                not x.requires_grad
                or x.is_leaf
                or mask.requires_grad
                or not mask.is_floating_point
                or mask.numel < (8 if switched else SEEN)
            ):
                continue
            self._again(
                mask,
                op,
                lambda drawn, meant=not switched: (
                    self._is_mask(drawn) and not (meant and self._registered(drawn))
                ),
            )

    def _sampled(self, op: Op) -> None:
        """`mean + eps * logvar.exp()`: a deviation that a model gives for each row, times noise that
        was drawn in an earlier step.
        """
        for scale, noise in (op.inputs, op.inputs[::-1]):
            made = scale.producer
            if not scale.requires_grad or made is None or made.name not in _DEVIATIONS:
                continue
            if noise.requires_grad or noise.shape != scale.shape or noise.numel < SEEN:
                continue
            base = drawn_numbers(noise) if noise.ndim > 1 else None
            if base is not None and base.step < self.step and self._varies(scale, base):
                self._again(noise, op, lambda _: True, (base.number, "noise"))

    def _rescaled(self, op: Op) -> None:
        """`x * keep / (1 - p)`: the factor that makes up for what a mask of zeros and ones drops
        stands behind the product.
        """
        made, factor = op.inputs[0].producer if len(op.inputs) == 1 else None, op.args.get("other")
        if (
            made is None
            or made.name != "mul"
            or len(made.inputs) != 2
            or not isinstance(factor, float)
            or not 0 < factor < 1
        ):
            return
        for x, mask in (made.inputs, made.inputs[::-1]):
            if (
                x.requires_grad
                and not x.is_leaf
                and not mask.requires_grad
                and mask.is_floating_point
                and mask.numel >= 8
            ):
                self._again(mask, made, self._plain, ~mask.number)  # it was no mask to the product

    def _noise(self, op: Op) -> None:
        """Activations plus noise of their own shape that was drawn in an earlier step, in a model
        in train mode.
        """
        if op.grad_enabled and len(op.inputs) == 2 and op.direct:
            self._fixed_noise(op)
        if (
            not op.grad_enabled
            or len(op.inputs) != 2
            or op.module is None
            or not op.module.training
            or not op.direct
        ):
            return
        for x, noise in (op.inputs, op.inputs[::-1]):
            if (
                x.requires_grad
                and not x.is_leaf
                and not noise.requires_grad
                and noise.shape == x.shape
                and x.ndim > 1
                and noise.numel >= SEEN
                and self._masks.get(noise.number) != [-1]
                # `x + f(x)`: the input itself
                and all(v.id != noise.id for o in ancestors([x], limit=200) for v in o.inputs)
            ):
                self._again(noise, op, self._is_noise)

    def _is_noise(self, noise: Value) -> bool:
        drawn = [o.name for o in lineage(noise, VIEWS | {"mul", "div"}, 30)]
        return bool(
            {"randn", "randn_like", "normal", "rand", "rand_like", "uniform"} & set(drawn)
        ) and not self._registered(noise)

    def _plain(self, mask: Value) -> bool:
        """A mask of zeros and ones that was drawn."""
        drawn = {o.name for o in lineage(mask, VIEWS | ORDERS | {"bernoulli", "sub"}, 30)}
        if "bernoulli" not in drawn and not ({"rand", "rand_like"} & drawn and ORDERS & drawn):
            return False
        array = mask.numpy()
        return array is not None and set(distinct(array.reshape(-1)[:2048])) == {0.0, 1.0}

    def _registered(self, value: Value) -> bool:
        return any(
            b is value.tensor
            for m in self.session.recorder.names.alive()
            for b in m._buffers.values()
        )

    def _again(self, mask: Value, op: Op, kind: Any, key: Any = None) -> None:
        """Note a use of something that may have been drawn once; report it at the fourth step."""
        key = mask.number if key is None else key
        steps = self._masks.get(key)
        if steps is None:
            if len(self._masks) > 10_000:
                self._masks.clear()
            steps = self._masks[key] = [] if kind(mask) else [-1]
        if steps[:1] == [-1] or steps[-1:] == [self.step]:
            return
        steps.append(self.step)
        if len(steps) == 4:
            noise = op.name == "add" or isinstance(key, tuple)
            what = "noise" if noise else "dropout mask"
            self.report(
                _cached(mask) or op.site,
                f"this {what} is the same in each of 4 steps: it was drawn only once.",
                evidence={"shape": list(mask.shape), "steps": steps, "mask": mask.name},
                fix="draw it in every forward" + ("" if noise else ", or use nn.Dropout"),
            )

    def _is_mask(self, mask: Value) -> bool:
        drawn = [
            o.name for o in lineage(mask, VIEWS | ORDERS | {"div", "mul", "bernoulli", "sub"}, 30)
        ]
        if "bernoulli" not in drawn and not (
            {"rand", "rand_like"} & set(drawn) and ORDERS & set(drawn)
        ):
            return False
        array = mask.numpy()
        if array is None:
            return False
        values = distinct(array.reshape(-1)[:2048])
        return len(values) == 2 and values[0] == 0 and values[1] > 1

    def on_backward_begin(self, event: Backward) -> None:
        """Draws that are trained with."""
        if self._fresh:
            made = list(ancestors(event.roots))
            used: set[int] = set()
            waiting = [(v.producer, op) for op in made for v in op.inputs if v.producer is not None]
            # a table that rows are taken from, or that is multiplied with, is data and no noise
            for source, op in waiting:
                if op.name not in _TABLES and len(op.inputs) > 1:
                    used.add(source.number)
            # a value computed from a single draw counts as that draw
            for op in sorted(made, key=lambda op: -op.number):
                if op.number in used and len(op.inputs) == 1 and op.inputs[0].producer is not None:
                    used.add(op.inputs[0].producer.number)
            for op in made:
                held = self._fresh.get(op.number)
                if (
                    held is not None
                    and held not in self._trained
                    and (op.number in used or not own_stream(op))
                ):
                    self._trained.append(held)
            self._fresh.clear()

    def on_step(self, event: Step) -> None:
        """A step has ended: was what was drawn for it drawn before?"""
        self._judge(event.optimizer)

    def on_update(self, event: Update) -> None:
        """The same by hand."""
        self._judge(None)

    def _judge(self, optimizer: OptimizerInfo | None) -> None:
        for held in self._trained:
            if held.told or not held.now:
                continue
            # another run, or the other optimizer of two: compared among its own
            if held.optimizer is not optimizer:
                held.optimizer, held.before, held.repeats = optimizer, [], 0
            again = any(
                len(b) == len(held.now) and all(x.same(y) for x, y in zip(b, held.now))
                for b in held.before
            )
            held.repeats = held.repeats + 1 if again else 0
            held.before = [*held.before[1 - self.KEPT :], held.now] if not again else held.before
            held.now = []
            if held.repeats >= self.REPEATS:
                held.told = True
                self._tell(held.op)
        self._trained.clear()

    def _tell(self, op: Op) -> None:
        what = f"the mask of {op.name}" if op.name in DROPOUT else f"what {op.name} draws"
        place = f" ({op.module.path})" if op.module is not None and not op.direct else ""
        evidence = {
            "drawn_at": op.site,
            "shape": list(op.output.shape) if op.output else None,
            "step": self.step,
        }
        if self._seeds.get(self._seed, 0) > 1 and "Generator" not in str(op.args.get("generator")):
            self.report(
                self._seed_calls.place(self._seed),
                f"the generator is reseeded here repeatedly, so {what}{place} repeats: each of the last steps drew the same.",
                evidence=evidence,
                fix="seed once, at the beginning of the program",
                covers=[self._seed],
            )
        else:
            written = op.written("generator") if op.direct else None
            made = (
                assigned_before(op.site, written)
                if written is not None and op.site is not None and written.isidentifier()
                else None
            )
            self.report(
                made or op.site,
                f"{what}{place} repeats from step to step: its generator restarts each time.",
                evidence=evidence,
                fix="create and seed the generator once, outside the loop",
            )
