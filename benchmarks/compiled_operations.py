"""Single operations with their gradients, compiled, beside the same eagerly and in PyTorch: those
that take more than a loop.

    python benchmarks/compiled_operations.py                 # all, one core
    python benchmarks/compiled_operations.py cdist median    # those with a word in their names
    python benchmarks/compiled_operations.py --markdown      # as a Markdown table

Where the result has a gradient, that of the sum of squares is computed as well. Each round times
the three back to back; the table has medians, PyTorch's in microseconds and the others as ratios to
it.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from time import perf_counter

import harness  # noqa: F401  (first: it fixes the thread counts before NumPy and PyTorch are loaded)
import numpy as np
import torch

import pellucid

RNG = np.random.default_rng(0)


def floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def weights(*shape):
    return RNG.uniform(0, 1, shape).astype(np.float32)


def places(*shape):
    return RNG.uniform(-1.2, 1.2, shape).astype(np.float32)


def bags(count, rows, columns, size):
    return (
        RNG.integers(0, rows, count),
        floats(rows, columns),
        np.concatenate([[0], np.sort(RNG.integers(0, count, size - 1))]),
    )


def alignments(steps, batch, classes, most, dtype=np.float32):
    used, lengths = (
        RNG.integers(steps // 2 + most, steps + 1, batch),
        RNG.integers(most // 2, most + 1, batch),
    )
    return (
        floats(steps, batch, classes, dtype=dtype),
        RNG.integers(1, classes, (batch, most)),
        used,
        lengths,
    )


def functional(name, *options, **named):
    return lambda t, *args: getattr(t.nn.functional, name)(*args, *options, **named)


def unpooled(t, x):
    return t.nn.functional.max_unpool2d(*t.nn.functional.max_pool2d(x, 2, return_indices=True), 2)


def transformer(t, x, theta):
    f = t.nn.functional
    return f.grid_sample(x, f.affine_grid(theta, x.shape, align_corners=False), align_corners=False)


IMAGES = floats(4, 16, 32, 32), places(4, 32, 32, 2)
CASES = {
    "unfold 3x3, padding 1, of 8x16x32x32": (
        functional("unfold", 3, padding=1),
        floats(8, 16, 32, 32),
    ),
    "unfold 4x4, stride 4, of 16x3x32x32": (
        functional("unfold", 4, stride=4),
        floats(16, 3, 32, 32),
    ),
    "fold 3x3, padding 1, to 8x16x32x32": (
        functional("fold", (32, 32), 3, padding=1),
        floats(8, 144, 1024),
    ),
    "Tensor.unfold(1, 25, 10) of 32x400": (lambda t, x: x.unfold(1, 25, 10) * 2, floats(32, 400)),
    **{
        f"grid_sample {mode}, {padding}, of 4x16x32x32": (
            functional("grid_sample", mode, padding, False),
            *IMAGES,
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        if mode != "bicubic" or padding == "zeros"
    },
    "grid_sample of 2x4x8x16x16": (
        functional("grid_sample", align_corners=False),
        floats(2, 4, 8, 16, 16),
        places(2, 8, 16, 16, 3),
    ),
    "affine_grid to 16x32x32": (
        functional("affine_grid", (16, 3, 32, 32), align_corners=False),
        floats(16, 2, 3),
    ),
    "spatial transformer, 64x1x28x28": (transformer, floats(64, 1, 28, 28), floats(64, 2, 3)),
    "multinomial 1 of 50,000": (lambda t, p: t.multinomial(p, 1), weights(1, 50000)),
    "multinomial 1 of 65, 8 rows, behind softmax": (
        lambda t, p: t.multinomial(p.softmax(-1), 1),
        weights(8, 65),
    ),
    "multinomial 10 of 100, 16 rows": (lambda t, p: t.multinomial(p, 10), weights(16, 100)),
    "multinomial 100 of 100 with replacement, 16 rows": (
        lambda t, p: t.multinomial(p, 100, replacement=True),
        weights(16, 100),
    ),
    "randperm(1000)": (lambda t: t.randperm(1000),),
    "randperm(60000)": (lambda t: t.randperm(60000),),
    **{
        f"embedding_bag {mode}, 2,000 rows in 64 bags": (
            functional("embedding_bag", mode=mode),
            *bags(2000, 1000, 64, 64),
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag, weighted": (
        lambda t, i, w, o, s: t.nn.functional.embedding_bag(
            i, w, o, mode="sum", per_sample_weights=s
        ),
        *bags(2000, 1000, 64, 64),
        floats(2000),
    ),
    **{
        f"cdist p={p:g}, 4 times 20x16": (
            lambda t, x, y, p=p: t.cdist(x, y, p),
            floats(4, 20, 8),
            floats(4, 16, 8),
        )
        for p in (1, 2, 3, np.inf)
    },
    "cdist 128x128": (lambda t, x, y: t.cdist(x, y), floats(128, 32), floats(128, 32)),
    "cdist p=1, 128x128": (lambda t, x, y: t.cdist(x, y, 1), floats(128, 32), floats(128, 32)),
    "median of 64 rows of 101": (lambda t, x: t.median(x, 1)[0], floats(64, 101)),
    "nanmedian of 6,464": (lambda t, x: t.nanmedian(x), floats(64, 101)),
    "kthvalue of 64 rows of 101": (lambda t, x: t.kthvalue(x, 20, 1)[0], floats(64, 101)),
    "searchsorted, 1,000 among 100": (
        lambda t, s, x: t.searchsorted(s, x),
        np.sort(floats(100)),
        floats(1000),
    ),
    "cumsum of doubles, 64x100": (lambda t, x: x.cumsum(1), floats(64, 100, dtype=np.float64)),
    "linear of doubles, 64x128x256": (
        functional("linear"),
        *(floats(*s, dtype=np.float64) for s in ((64, 128), (256, 128), (256,))),
    ),
    "bmm of doubles, 16 times 8x20x8": (
        lambda t, x, y: x @ y,
        floats(16, 8, 20, dtype=np.float64),
        floats(16, 20, 8, dtype=np.float64),
    ),
    "ctc_loss, 16 of 100 steps": (
        lambda t, x, *args: t.nn.functional.ctc_loss(x.log_softmax(-1), *args),
        *alignments(100, 16, 29, 20),
    ),
    "ctc_loss, 8 of 200 steps": (
        lambda t, x, *args: t.nn.functional.ctc_loss(x.log_softmax(-1), *args),
        *alignments(200, 8, 80, 40),
    ),
    "ctc_loss of doubles": (
        lambda t, x, *args: t.nn.functional.ctc_loss(x.log_softmax(-1), *args),
        *alignments(100, 16, 29, 20, np.float64),
    ),
    "adaptive_max_pool2d to 4x4 of 4x8x16x16": (
        functional("adaptive_max_pool2d", 4),
        floats(4, 8, 16, 16),
    ),
    "max_unpool2d of max_pool2d, 4x8x16x16": (unpooled, floats(4, 8, 16, 16)),
    "diag_embed of 64x20": (lambda t, x: x.diag_embed() * 2, floats(64, 20)),
}


def step(library, function):
    """The function, and gradients where there are any."""

    def run(*args):
        out = function(library, *args)
        if not out.requires_grad:
            return out
        leaves = [a for a in args if a.requires_grad]
        return out, library.autograd.grad((out * out).sum(), leaves, allow_unused=True)

    return run


def tensors(library, arrays, differentiable):
    return [
        library.from_numpy(a.copy()).requires_grad_(differentiable and a.dtype.kind == "f")
        for a in arrays
    ]


def seconds(work, count):
    start = perf_counter()
    for _ in range(count):
        work()
    return (perf_counter() - start) / count


def measure(name, function, arrays, rounds):
    """Median seconds of PyTorch, eager and compiled, and how many calls of Python are left."""
    differentiable = not name.startswith(("multinomial", "searchsorted"))
    mine, theirs = (tensors(library, arrays, differentiable) for library in (pellucid, torch))
    eager, other = step(pellucid, function), step(torch, function)
    compiled = pellucid.compile(step(pellucid, function))
    works = [lambda: other(*theirs), lambda: eager(*mine), lambda: compiled(*mine)]
    for work in works:
        seconds(work, 3)
    count = max(1, int(0.02 / max(1e-7, min(seconds(work, 1) for work in works))))
    times = list(
        zip(*[[seconds(work, count) for work in works] for _ in range(rounds)], strict=True)
    )
    items = [item for v in compiled.versions for run in v.code.executables for item in run.items]
    return [statistics.median(t) for t in times], sum(item.kind == "eager" for item in items)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    form = "| {} | {} | {} | {} |" if options.markdown else "{:52s} {:>12s} {:>8s} {:>9s}"
    print(form.format("operation", "PyTorch, us", "eager", "compiled"))
    if options.markdown:
        print("|---|---|---|---|")
    for name, (function, *arrays) in CASES.items():
        if options.words and not any(word in name for word in options.words):
            continue
        (theirs, eager, compiled), calls = measure(name, function, arrays, options.rounds)
        left = f" ({calls} calls of Python)" if calls else ""
        print(
            form.format(
                name, f"{1e6 * theirs:,.0f}", f"{eager / theirs:.2f}", f"{compiled / theirs:.2f}"
            )
            + left,
            flush=True,
        )


if __name__ == "__main__":
    main()
