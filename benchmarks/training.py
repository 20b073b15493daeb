"""Training steps of the kinds of models that people write, each compiled as a whole: what in it
still is a call of Python, and its time beside Pellucid's eager one and PyTorch's.

    python benchmarks/training.py                   # all models, one core
    python benchmarks/training.py dqn vae --rounds 9
    python benchmarks/training.py --calls           # which operations are called from Python, with the reason, and nothing timed
    python benchmarks/training.py --lines           # steps with lines that stay Python's (prints, clocks, iterators), compiled around them
    python benchmarks/training.py --markdown        # as a Markdown table

Each round times the three back to back; the table has medians in microseconds, the median of the
ratios compiled / eager and compiled / PyTorch, and of the schedule's items those that are native
and those that are not. Without PyTorch its columns are left out.
"""

from __future__ import annotations

import argparse
import os
import sys

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="names of models (all when left out)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="time of one side of a round")
    parser.add_argument("--lines", action="store_true", help="steps with lines that stay Python's")
    parser.add_argument(
        "--calls", action="store_true", help="list calls of Python, with the reason"
    )
    parser.add_argument("--markdown", action="store_true")
    OPTIONS = parser.parse_args()
    for _name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "PELLUCID_NUM_THREADS",
    ):
        os.environ[_name] = str(OPTIONS.threads)

import gc
import statistics
import warnings
from collections import Counter
from time import perf_counter

import talking_models
import training_models

import pellucid


def timed(work, seconds):
    """Seconds a call, over about `seconds`."""
    count, start = 0, perf_counter()
    while True:
        work()
        count += 1
        spent = perf_counter() - start
        if count >= 3 and spent >= seconds:
            return spent / count


def called(function):
    """Of a compiled function's last version: how many items are native, and (operation, reason) of
    those that are calls of Python.
    """
    parts = [function] if function.graph_breaks is None else function.graph_breaks.parts
    versions = [part.versions[-1] for part in parts if part.versions]
    if not versions:
        return 0, [("everything", "; ".join(function.history))]
    items = [item for version in versions for run in version.code.executables for item in run.items]
    calls = [
        (i.op, item.reason) for item in items if item.kind == "eager" for i in item.instructions
    ]
    return sum(item.kind != "eager" for item in items), calls


def works_of(make, torch):
    """(compiled function, {name: a call of the step})."""
    pellucid.manual_seed(0)
    step, inputs = make(pellucid)
    compiled = pellucid.compile(step)
    works = {"compiled": lambda: compiled(*inputs)}
    pellucid.manual_seed(0)
    eager, given = make(pellucid)
    works["eager"] = lambda: eager(*given)
    if torch is not None:
        torch.manual_seed(0)
        theirs, handed = make(torch)
        works["PyTorch"] = lambda: theirs(*handed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pellucid.compiler.CompileWarning)
        for work in works.values():
            for _ in range(8 if OPTIONS.lines else 3):
                work()
    return compiled, works


def row(name, make, torch):
    """A model's line: medians, ratios, items."""
    compiled, works = works_of(make, torch)
    times = {key: [] for key in works}
    for index in range(OPTIONS.rounds):
        gc.collect()
        for key in list(works)[:: 1 if index % 2 else -1]:
            times[key].append(timed(works[key], OPTIONS.seconds))
    native, calls = called(compiled)
    cells = [f"{statistics.median(t) * 1e6:,.0f}" for t in times.values()]
    for other in list(times)[1:]:
        cells.append(
            f"{statistics.median(a / b for a, b in zip(times['compiled'], times[other], strict=True)):.2f}"
        )
    counted = Counter(op for op, _ in calls)
    return [
        name,
        *cells,
        str(native),
        str(len(calls)),
        ", ".join(f"{n} {op}" if n > 1 else op for op, n in counted.items()),
    ]


def main():
    models = talking_models.MODELS if OPTIONS.lines else training_models.MODELS
    unknown = [key for key in OPTIONS.models if key not in models]
    if unknown:
        sys.exit(f"no model {unknown[0]!r}; there are {', '.join(models)}")
    try:
        import torch

        torch.set_num_threads(OPTIONS.threads)
    except ImportError:
        torch = None
    pellucid.set_num_threads(OPTIONS.threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-OPTIONS.threads :]))
    names = OPTIONS.models or models
    if OPTIONS.calls:
        for name in names:
            native, calls = called(works_of(models[name], None)[0])
            print(f"{name}: {native} items native, {len(calls)} calls of Python", flush=True)
            for (op, reason), n in Counter(calls).items():
                print(f"    {n} x {op}: {reason}")
        return
    heads = [
        "model",
        "compiled",
        "eager",
        *["PyTorch"] * (torch is not None),
        "/ eager",
        *["/ PyTorch"] * (torch is not None),
    ]
    heads += ["native", "Python", "called from Python"]
    if OPTIONS.markdown:
        print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    else:
        print(f"{heads[0]:20}" + "".join(f"{h:>11}" for h in heads[1:-1]) + "  " + heads[-1])
    for name in names:
        cells = row(name, models[name], torch)
        if OPTIONS.markdown:
            print("| " + " | ".join(cells) + " |", flush=True)
        else:
            print(
                f"{cells[0]:20}" + "".join(f"{c:>11}" for c in cells[1:-1]) + "  " + cells[-1],
                flush=True,
            )


if __name__ == "__main__":
    main()
