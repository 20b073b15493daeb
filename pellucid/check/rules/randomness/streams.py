"""Random numbers that repeat: the same mask in every step, the same stream in every worker, seeds
that do not cover all streams.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import random
from collections.abc import Iterator
from types import CodeType
from typing import Any

import numpy as np

from ...events import (
    VIEWS,
    Backward,
    Batch,
    Called,
    LoaderInfo,
    Op,
    OptimizerInfo,
    Seeded,
    Site,
    Step,
    Update,
    Value,
    ancestors,
    lineage,
)
from ...recording.signatures import RANDOM
from ...rule import Rule
from ..source.places import Place, Repeated, assigned_before, assignments, function_around
from ..source.places import tree as parsed

DROPOUT = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
)
_DEVIATIONS = ("exp", "softplus", "sqrt")
SEEN = 32  # elements that a draw must have to be compared
_TABLES = ("getitem", "index_select", "matmul", "mm", "linear", "embedding")
FETCHING = ("__getitem__", "__iter__", "__getitems__")


def draws(op: Op) -> bool:
    """Whether the operation has drawn random numbers."""
    return op.name not in DROPOUT or bool(op.arg("training", True) and op.arg("p", 0.5))


def own_stream(op: Op) -> bool:
    """Whether numbers are drawn from a generator that the call was given."""
    return op.args.get("generator") is not None


class _Print:
    """What was drawn: a digest of the values, or of dropout which elements were kept, as far as
    that can be seen.
    """

    __slots__ = ("digest", "dropped", "known")

    def __init__(self, digest: bytes | None, dropped: Any = None, known: Any = None) -> None:
        self.digest = digest
        self.dropped = dropped
        self.known = known

    def same(self, other: _Print) -> bool:
        """Whether both are the same draw; an element that was zero before says nothing of the mask."""
        if self.digest is not None or other.digest is not None:
            return self.digest == other.digest
        if self.dropped.shape != other.dropped.shape:
            return False
        first = slice(0, 64)  # most draws differ at once
        if (
            (self.dropped[first] != other.dropped[first]) & self.known[first] & other.known[first]
        ).any():
            return False
        both = self.known & other.known
        return (
            int(both.sum()) >= SEEN
            and bool((self.dropped[both] == other.dropped[both]).all())
            and bool(self.dropped[both].any())
        )


def _print(op: Op) -> _Print | None:
    """The print of a draw; None when it was too little to tell."""
    out = op.output
    array = out.numpy() if out is not None else None
    if array is None or array.size < SEEN:
        return None
    array = array.reshape(-1)[:2048]
    if op.name not in DROPOUT:
        return (
            _Print(hashlib.blake2b(array.tobytes(), digest_size=12).digest())
            if array.min() != array.max()
            else None
        )
    x = op.args.get("input")
    before = x.numpy() if isinstance(x, Value) and not op.inplace else None
    if before is None:
        return None
    known = before.reshape(-1)[:2048] != 0
    return _Print(None, array == 0, known)


class _Drawn:
    """What one place drew in this step, and in steps of the same optimizer before."""

    __slots__ = ("before", "now", "op", "optimizer", "repeats", "step", "told")

    def __init__(self, op: Op) -> None:
        self.op = op
        self.step = op.step
        self.now: list[_Print] = []
        self.before: list[list[_Print]] = []
        self.optimizer: OptimizerInfo | None = None
        self.repeats = 0
        self.told = False


def _cached(mask: Value) -> Any:
    """The decorator that keeps the result of the function in which something was drawn."""
    for made in lineage(mask, VIEWS | {"gt", "lt", "ge", "le", "div", "mul", "bernoulli"}, 30):
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
    summary = "the same random mask or noise in every step"
    covered = ("nondeterminism",)
    ops = (*sorted(RANDOM), "mul", "div", "where", "add")

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

    def on_call(self, event: Called) -> None:
        """A stream is made: with the same seed again and again it gives the same numbers."""
        given = [*event.args, *event.kwargs.values()]
        if event.name != "hash" and given and all(isinstance(a, (int, str, tuple)) for a in given):
            self._begins(
                event.site, (event.name, *given), f"makes a stream with the same seed, {given[0]}"
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

    def on_seed(self, event: Seeded) -> None:
        """Where the stream begins anew."""
        if event.library in ("numpy", "random") and event.seed is not None:
            self._begins(
                event.site, (event.library, event.seed), f"seeds the stream with {event.seed}"
            )
        if event.library == "torch":
            self._seed = event.site
            self._seeds[event.site] = self._seeds.get(event.site, 0) + 1
            self._seed_calls.add(event.site, self.session.recorder.callers())

    def on_op(self, op: Op) -> None:
        """A draw while gradients are recorded."""
        if op.name in ("mul", "div", "where", "add"):
            if op.name == "mul":
                self._times(op)
            elif op.name == "div":
                self._rescaled(op)
            elif op.name == "add":
                self._noise(op)
            return
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
        shown = _print(op)
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
        digest = hashlib.blake2b(array.tobytes(), digest_size=12).digest()
        last, count = self._samples.get(op.site, (b"", 0))
        count = count + 1 if last == digest else 1
        self._samples[op.site] = digest, count
        if count == 8:
            self.report(
                op.site,
                f"what {op.name} draws is the same in {count} samples one after another: its generator restarts for each.",
                evidence={"shape": list(array.shape)},
                fix="seed with the number of the sample as well, or make the generator once",
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
            base, fresh = _drawn(noise), _drawn(x)
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
                        f"what {made.name} draws here is added to another batch in each of 4 steps: the noise is always the same.",
                        evidence={"shape": list(base.shape), "steps": steps, "added_at": op.site},
                        fix="draw it in every step, inside of the function",
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
            base = _drawn(noise) if noise.ndim > 1 else None
            if base is not None and base.step < self.step and self._varies(scale, base):
                self._again(noise, op, lambda _: True, (noise.number, "noise"))

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
            ):
                self._again(noise, op, self._is_noise)

    def _is_noise(self, noise: Value) -> bool:
        drawn = [o.name for o in lineage(noise, VIEWS | {"mul", "div"}, 30)]
        return bool(
            {"randn", "randn_like", "normal", "rand", "rand_like", "uniform"} & set(drawn)
        ) and not self._registered(noise)

    def _plain(self, mask: Value) -> bool:
        """A mask of zeros and ones that was drawn."""
        drawn = {
            o.name for o in lineage(mask, VIEWS | {"gt", "lt", "ge", "le", "bernoulli", "sub"}, 30)
        }
        if "bernoulli" not in drawn and not (
            {"rand", "rand_like"} & drawn and {"gt", "lt", "ge", "le"} & drawn
        ):
            return False
        array = mask.numpy()
        return array is not None and set(np.unique(array.reshape(-1)[:2048])) == {0.0, 1.0}

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
                f"this {what} is the same in each of 4 steps: it was drawn once, before.",
                evidence={"shape": list(mask.shape), "steps": steps, "mask": mask.name},
                fix="draw it in every forward" + ("" if noise else ", or use nn.Dropout"),
            )

    def _is_mask(self, mask: Value) -> bool:
        drawn = [
            o.name
            for o in lineage(
                mask, VIEWS | {"gt", "lt", "ge", "le", "div", "mul", "bernoulli", "sub"}, 30
            )
        ]
        if "bernoulli" not in drawn and not (
            {"rand", "rand_like"} & set(drawn) and {"gt", "lt", "ge", "le"} & set(drawn)
        ):
            return False
        array = mask.numpy()
        if array is None:
            return False
        values = np.unique(array.reshape(-1)[:2048])
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
                f"the stream is reseeded here again and again, so {what}{place} repeats: each of the last steps drew the same.",
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


def _drawn(value: Value) -> Value | None:
    """The random numbers that a value is, up to a factor and its shape; None when it is something
    else.
    """
    for _ in range(8):
        made = value.producer
        if made is None:
            return None
        if made.name in RANDOM and made.name not in DROPOUT:
            return value
        if made.name not in VIEWS and made.name not in ("mul", "div", "neg") or not made.inputs:
            return None
        value = made.inputs[0]
    return None


# ---- workers ---------------------------------------------------------------------------------------------------------
_STREAMS = (np.random.Generator, np.random.RandomState, random.Random)
SEEDING = frozenset(
    {
        "seed",
        "manual_seed",
        "default_rng",
        "seed_all",
        "seed_everything",
        "RandomState",
        "Random",
        "set_seed",
    }
)
_OWN = frozenset(
    "initial_seed get_worker_info getpid urandom time time_ns seed randint entropy SeedSequence".split()
)


def _is_stream(thing: Any) -> bool:
    return (
        isinstance(thing, _STREAMS)
        and not isinstance(thing, random.SystemRandom)
        or (type(thing).__name__ == "Generator" and hasattr(thing, "initial_seed"))
    )


def _reached(thing: Any, depth: int = 4, path: str = "") -> Iterator[tuple[str, Any]]:
    """Random streams held by an object, by attribute path."""
    if _is_stream(thing):
        yield path, thing
        return
    if (
        depth == 0
        or isinstance(thing, (str, bytes, int, float, np.ndarray))
        or type(thing).__name__ in ("Tensor", "Parameter")
    ):
        return
    if isinstance(thing, (list, tuple)):
        for k, item in enumerate(thing[:16]):
            yield from _reached(item, depth - 1, f"{path}[{k}]")
    elif not isinstance(thing, type) and hasattr(thing, "__dict__"):
        for name, item in list(vars(thing).items()):
            yield from _reached(item, depth - 1, f"{path}.{name}" if path else name)


def _codes(thing: Any, method: bool = True) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """Code that makes samples: `__getitem__` and what it calls on itself, transforms."""
    kinds = (
        [
            k
            for k in type(thing).__mro__
            if k.__module__.partition(".")[0] not in ("torch", "builtins", "pellucid")
        ]
        if method
        else []
    )
    for kind in kinds:
        for item in vars(kind).values():
            function = inspect.unwrap(item) if callable(item) else None
            if hasattr(function, "__code__") and function.__name__ != "__init__":
                yield function.__code__, function.__globals__
    if hasattr(thing, "__code__"):
        yield thing.__code__, thing.__globals__


class SameWorkerSeed(Rule):
    """Every worker of a DataLoader is a copy of the process, with a copy of its random streams."""

    slug = "same-worker-seed"
    id = "PL802"
    severity = "error"
    summary = "the same random stream in every data worker"

    def __init__(self) -> None:
        # by number of a loader: digests of the last batches of this pass
        self._given: dict[int, list[bytes]] = {}
        self._equal: dict[int, int] = {}
        self._kinds: dict[int, type] = {}  # classes of data sets, by number of a loader

    def on_batch(self, event: Batch) -> None:
        """The same batch from one worker after another."""
        loader = event.loader
        if (
            loader.workers < 2
            or event.position >= 64
            or not event.values
            or self._equal.get(loader.number, 0) > 1
        ):
            return
        arrays = [a for v in event.values if (a := v.numpy()) is not None and a.size]
        if not any(a.dtype.kind == "f" and a.size >= 4 and a.min() < a.max() for a in arrays):
            return
        digest = hashlib.blake2b(
            b"".join(np.ascontiguousarray(a).tobytes() for a in arrays), digest_size=12
        ).digest()
        known = self._given.setdefault(loader.number, [])
        if not event.position:
            known.clear()
        if digest in known[1 - loader.workers :]:
            self._equal[loader.number] = count = self._equal.get(loader.number, 0) + 1
            if count == 2:
                self.report(
                    _seeded_in(self._kinds.get(loader.number), self.session.recorder)
                    or loader.site,
                    f"the {loader.workers} workers of this loader return the same batches, one after another: each iterates over the same numbers.",
                    evidence={"workers": loader.workers, "loader_at": loader.site},
                    fix="let each worker take its share, and seed it with its number: `torch.utils.data.get_worker_info().id`",
                )
        known.append(digest)

    def on_pass(self, loader: LoaderInfo) -> None:
        """Workers are started."""
        self._kinds[loader.number] = type(loader.dataset)
        if loader.workers < 2 or loader.passes > 0:
            return
        initial = getattr(loader.loader, "worker_init_fn", None)
        if initial is not None:
            found = _constant_seed(initial)
            if found is not None:
                site, call = found
                self.report(
                    site,
                    f"every one of the {loader.workers} workers is seeded with the same number here: `{call}` does not depend on the worker.",
                    evidence={"loader_at": loader.site, "workers": loader.workers, "call": call},
                    fix="give each worker its own seed: `torch.initial_seed() % 2**32`, or add the worker's number",
                )
            return  # it may well seed what the data set holds
        for name, place in self._streams(loader.dataset):
            self.report(
                place or loader.site,
                f"each of the {loader.workers} workers gets a copy of {name}, in the same state: all draw the same random numbers.",
                evidence={"workers": loader.workers, "stream": name, "loader_at": loader.site},
                fix="create the generator in the worker: seed it from `torch.initial_seed()` in a `worker_init_fn` (or draw with torch, whose "
                "stream every worker has of its own)",
            )
            return

    def _streams(self, dataset: Any) -> Iterator[tuple[str, Any]]:
        while type(dataset).__name__ == "Subset":
            dataset = dataset.dataset
        things = (
            [dataset, *[t for t in vars(dataset).values() if callable(t)]]
            if hasattr(dataset, "__dict__")
            else [dataset]
        )
        used: set[str] = set()
        for thing in things:
            for code, scope in _codes(thing):
                names = set(code.co_names)
                if "get_worker_info" in names or "initial_seed" in names:
                    return
                used |= names
                for name in code.co_names:
                    if _is_stream(scope.get(name)):
                        yield (
                            f"`{name}`",
                            next(
                                (
                                    Place(code.co_filename, n.lineno)
                                    for n in assignments(code.co_filename, name)
                                ),
                                None,
                            ),
                        )
        for path, _ in _reached(dataset):
            parts = path.replace("[", ".").split(".")
            if set(parts) & used:
                yield f"`{type(dataset).__name__}.{path}`", _assigned(dataset, parts)


def _seeded_in(kind: Any, recorder: Any) -> Place | None:
    """The line in a data set's own code that makes a stream, or else the function that gives its
    samples.
    """
    for name in ("__iter__", "__getitem__"):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if code is None or recorder.is_library(code.co_filename):
            continue
        tree = parsed(code.co_filename)
        owner = _definition(tree, code) if tree is not None else None
        calls = (
            [n for n in ast.walk(owner) if isinstance(n, ast.Call) and called(n) in SEEDING]
            if owner is not None
            else []
        )
        return Place(code.co_filename, calls[0].lineno if calls else code.co_firstlineno)
    return None


def _assigned(owner: Any, parts: list[str]) -> Place | None:
    """Where the class of an object assigns the attribute at the end of a path from it."""
    for part in parts[:-1]:
        owner = owner[int(part[:-1])] if part.endswith("]") else getattr(owner, part, None)
    for kind in type(owner).__mro__:
        code = getattr(vars(kind).get("__init__"), "__code__", None)
        if code is not None:
            found = next(
                assignments(code.co_filename, f"self.{parts[-1]}", code.co_firstlineno), None
            )
            if found is not None:
                return Place(code.co_filename, found.lineno)
    return None


def _constant_seed(function: Any) -> tuple[Site, str] | None:
    """A seeding call in a `worker_init_fn` whose argument does not depend on the worker: (place,
    what is called).
    """
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    if code is None:
        return None
    tree = parsed(code.co_filename)
    owner = None if tree is None else _definition(tree, code)
    if owner is None:
        return None
    arguments = owner.args
    own = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]} - {
        "self"
    }
    statements = owner.body if isinstance(owner.body, list) else [owner.body]
    nodes = [n for statement in statements for n in ast.walk(statement)]
    for node in nodes:  # names made of what is the worker's own, in order
        if isinstance(node, ast.Assign) and _depends(node.value, own):
            own |= {
                t.id for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name)
            }
    seeds = [n for n in nodes if isinstance(n, ast.Call) and called(n) in SEEDING and n.args]
    if not seeds or any(_depends(a, own) for n in seeds for a in n.args):
        return None
    first = seeds[0]
    for index, position in enumerate(code.co_positions()):
        if position[0] == first.lineno:
            return Site(code, 2 * index), ast.unparse(first)
    return None


def _definition(tree: ast.AST, code: CodeType) -> Any:
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    for n in found:
        first = min([n.lineno, *[d.lineno for d in getattr(n, "decorator_list", [])]])
        if first == code.co_firstlineno and getattr(n, "name", "<lambda>") == code.co_name:
            return n
    return None


def called(call: ast.Call) -> str:
    """The name of what is called, without what stands before the last dot."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _depends(node: ast.AST, own: set[str]) -> bool:
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and n.id in own:
            return True
        if isinstance(n, ast.Call) and called(n) in _OWN:
            return True
    return False
