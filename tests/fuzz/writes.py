"""Writes to what an operation was given, or gave, between its forward and its backward.

A case is a call from PyTorch's samples and one tensor of it: an argument or a result, which is set to
zero after the call. Whether backward refuses that, and the gradients where it does not, must be
PyTorch's: an operation may keep only what PyTorch keeps, or must notice the write itself.

    python tests/fuzz/writes.py     # every operation, every argument, every result, in float64
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import arguments
import harness
import operations

import pellucid

NEEDS_TORCH = True
KNOWN: dict[str, str] = {
    "accepted with the right gradient": "less is kept than PyTorch keeps, or a copy was taken",
    "is a view and its base": "views of one function that returns several are replayed as others are",
    "refused, kron": "PyTorch keeps copies that it makes in other layouts",
    "refused, matmul": "PyTorch keeps copies that it makes in other layouts",
    "refused, Tensor.__rmatmul__": "PyTorch keeps copies that it makes in other layouts",
    "refused, nn.functional.conv": "PyTorch keeps a padded copy where the padding has two sides",
    "refused, nn.InstanceNorm": "PyTorch keeps a copy of a statistic that it repeats",
    "refused, nn.TransformerDecoderLayer": "PyTorch keeps copies that it makes in other layouts",
    "refused, nn.functional.scaled_dot_product_attention": "PyTorch scales queries and keys apart from one operation for four dimensions",
    "refused, nn.GRU": "the biases are kept for second derivatives",
    "refused, nn.LSTM": "the biases are kept for second derivatives",
    "refused, nn.RNN": "the biases are kept for second derivatives",
    "refused, ldexp": "PyTorch keeps the result",
    "refused, polar": "PyTorch keeps the result",
    "refused, erfinv": "PyTorch keeps the argument",
    "refused, linalg.lstsq": "a result that PyTorch does not differentiate",
    "no derivative, ": "what PyTorch refuses to differentiate is differentiated here",
    "refused, nn.functional.rms_norm": "PyTorch keeps a wider copy of two-byte numbers",
    "refused, nn.RMSNorm": "PyTorch keeps a wider copy of two-byte numbers",
    "refused, special.": "functions that PyTorch does not differentiate",
}
MODIFIED = "modified by an inplace operation"
EXAMPLES = 12  # samples of an operation in the sweep


def draw(random: Any) -> dict[str, Any]:
    while True:
        if random.random() < 0.15:
            found = operations.module_samples(random.randrange(len(operations.modules())))
        else:
            kind = random.choice(["float64", "float64", "float32", "complex128", "bfloat16"])
            found = operations.samples(random.randrange(len(operations.operators())), kind)
        if found:
            case = arguments.varied(random, random.choice(found), most=1)
            differentiable(case)
            return {**case, "place": random.randrange(8)}


def differentiable(case: dict[str, Any]) -> None:
    """Let every argument that can require a gradient."""
    for a in arguments.arrays(case):
        a.pop("read_only", None)
        if arguments.DTYPES[a["dtype"]].kind not in "iub":
            a["grad"] = True


class Side:
    """One library's answer: the places that could be written to, and what backward gives."""

    def __init__(self, library: Any, case: dict[str, Any]) -> None:
        self.library, self.leaves, self.given = library, [], []
        self.error: Exception | None = None
        self.grads: list[Any] = []
        (library.default_generator if library is not pellucid else library).manual_seed(0)
        try:
            self.outs = self.called(case)
        except Exception as error:
            self.error, self.outs = error, []
        self.places = [*self.given, *self.outs]

    def called(self, case: dict[str, Any]) -> list[Any]:
        function = None
        if case["form"] == "module":
            init = [arguments.built(a, self.plain, self.library) for a in case["init"]]
            named = {
                k: arguments.built(v, self.plain, self.library)
                for k, v in case["init_kwargs"].items()
            }
            function = arguments.resolve(self.library, case["call"])(*init, **named)
            self.leaves.extend(function.parameters())
            self.given.extend(function.parameters())
            self.given.extend(function.buffers())
        result = arguments.invoke(self.library, case, self.tensor, function)
        return arguments.tensors_in(result, self.library.Tensor)

    def plain(self, a: dict[str, Any]) -> Any:
        x = np.array(arguments.lay(a))
        if x.dtype == arguments.DTYPES["bfloat16"]:
            return self.library.from_numpy(x.astype(np.float32)).to(self.library.bfloat16)
        return self.library.from_numpy(x)

    def tensor(self, a: dict[str, Any]) -> Any:
        t = self.plain(a)
        if a.get("grad"):
            self.leaves.append(t.requires_grad_())
            t = t.clone()
        self.given.append(t)
        return t

    def finish(self, place: int) -> None:
        """Write to a place and differentiate."""
        try:
            heads = [
                self.library.from_numpy(arguments.weights(tuple(o.shape), np.dtype("float64"))).to(
                    o.dtype
                )
                for o in self.outs
            ]
            with self.library.no_grad():
                self.places[place].zero_()
            pairs = [(o, h) for o, h in zip(self.outs, heads, strict=True) if o.requires_grad]
            if pairs and self.leaves:
                self.grads = list(
                    self.library.autograd.grad(
                        [o for o, _ in pairs],
                        self.leaves,
                        [h for _, h in pairs],
                        allow_unused=True,
                    )
                )
        except Exception as error:
            self.error = error


def name_of(side: Side, place: int) -> str:
    n = len(side.given)
    return f"argument {place}" if place < n else f"result {place - n}"


def run(case: dict[str, Any]) -> str | None:
    import torch

    torch.set_num_threads(1)
    if operations.UNSAFE_THERE.search(case["call"]) or operations.endless_there(case):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with harness.reference():
            theirs = Side(torch, case)
        mine = Side(pellucid, case)
        if theirs.error or mine.error or len(theirs.places) != len(mine.places):
            return None  # the fuzzer of operations looks at these
        if not theirs.places:
            return None
        place = case["place"] % len(theirs.places)
        if any(
            x.requires_grad != y.requires_grad for x, y in zip(mine.outs, theirs.outs, strict=True)
        ):
            return None
        with harness.reference():
            theirs.finish(place)
        mine.finish(place)
    what = f"{case['call']}, {name_of(theirs, place)}"
    a, b = (MODIFIED in str(side.error) for side in (mine, theirs))
    if (not b and theirs.error) or (not a and mine.error):
        there = str(theirs.error)
        why = "is a view and its base, " * ("is a view and its base" in there)
        why += "no derivative, " * ("derivative for" in there)
        if type(mine.error) is type(theirs.error) or a or b:
            return None
        return f"other error, {why}{what}: {mine.error!r:.200} | {theirs.error!r:.200}"
    if a != b:
        text = f"{'refused' if a else 'accepted'}, {what}"
        if not a and unchanged(case, mine):
            text = f"accepted with the right gradient, {what}"
        return f"{text}: {mine.error!r:.300} | {theirs.error!r:.300}   {arguments.text(case):.300}"
    if a or operations.GAUGE.search(case["call"]):
        return None
    for k, (x, y) in enumerate(zip(mine.grads, theirs.grads, strict=True)):
        if x is None or y is None:
            continue
        p, q = operations.values_of(x), operations.values_of(y)
        fine = 1e-7 if q.dtype in (np.float64, np.complex128) else 0.05
        sound = np.isfinite(q)
        least = fine * max(1.0, float(np.max(np.abs(q[sound]), initial=0.0)))
        if p.shape != q.shape or not np.allclose(p[sound], q[sound], fine, least):
            return f"gradient, {what}: of {k}   {arguments.text(case):.300}"
    return None


def unchanged(case: dict[str, Any], mine: Side) -> bool:
    """Whether the gradients are those without the write."""
    again = Side(pellucid, case)
    wanted = [o for o in again.outs if o.requires_grad]
    heads = [
        pellucid.from_numpy(arguments.weights(tuple(o.shape), np.dtype("float64"))).to(o.dtype)
        for o in wanted
    ]
    grads = pellucid.autograd.grad(wanted, again.leaves, heads, allow_unused=True)
    return all(
        x is y is None or x is not None and y is not None and bool(x.allclose(y, equal_nan=True))
        for x, y in zip(grads, mine.grads, strict=True)
    )


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for new in arguments.smaller(case):
        if "form" in new and new["form"] == case["form"]:
            differentiable(new)
            yield new


def sweep() -> Iterator[dict[str, Any]]:
    """Every operation, with every place."""
    tables = [
        *(operations.samples(k, "float64") for k in range(len(operations.operators()))),
        *(operations.module_samples(k) for k in range(len(operations.modules()))),
    ]
    for found in tables:
        for sample in found[:: max(1, len(found) // EXAMPLES)][:EXAMPLES]:
            differentiable(sample)
            count = len(arguments.arrays(sample)) + 12 * (sample["form"] == "module") + 3
            for place in range(count):
                yield {**sample, "place": place}


def main() -> int:
    import time
    from collections import Counter

    harness.imported()
    groups: Counter[str] = Counter()
    examples: dict[str, str] = {}

    def found(_number: int, case: dict[str, Any], text: str) -> None:
        group = harness.failure_class(text)
        if harness.reason(sys.modules[__name__], text) is not None:
            return
        groups[group] += 1
        examples.setdefault(group, text)

    done = harness.isolated(
        sys.modules[__name__], iter(enumerate(sweep())), found, time.monotonic() + 1e9
    )
    for group, count in sorted(groups.items()):
        print(f"{count:5d}  {examples[group]}")
    print(f"{done} cases, {sum(groups.values())} differ in {len(groups)} groups")
    return int(bool(groups))


if __name__ == "__main__":
    raise SystemExit(main())
