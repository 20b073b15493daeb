"""Cold starts: seconds from the first call of a compiled step until its second has returned, in
processes of their own.

    python benchmarks/compile_time.py                    # all cases, Pellucid beside JAX and torch.compile
    python benchmarks/compile_time.py mlp128 gpt --peers jax --rounds 5

"fresh" has an empty cache of compiled code, "second" is a process after that one, with what it left
on disk (JAX: its persistent compilation cache, with no lower bounds; torch.compile: Inductor's).
Importing the library and building the model do not count; two runs of the step do, and stand in the
column "2 steps", warm, so that what compiling costs can be told from what the step costs. Medians
of `--rounds` rounds, in which the peers take turns. The steps are those of `compile.py`; a peer
that is missing is left out.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

HERE = Path(__file__).resolve().parent
PEERS = ("pellucid", "jax", "torch.compile")
CASES = ("mlp16", "mlp128", "mlp512", "cnn", "gpt", "resnet", "lstm", "chain")


def child(case: str, peer: str) -> None:
    """In a process of its own: run the step twice, then a few times more; print the seconds as
    JSON.
    """
    sys.path.insert(0, str(HERE))
    import compile as steps

    if peer == "jax":
        work = steps.jax_steps()[case]()
    elif peer == "pellucid":
        steps.pellucid.manual_seed(0)
        work = steps.ours_of(steps.CASES[case][1](steps.pellucid))
    else:
        import torch

        torch.set_num_threads(1)
        work = steps.step_of(torch, steps.CASES[case][1](torch), torch.compile)
    start = perf_counter()
    work()
    work()
    both = perf_counter() - start
    warm = []
    for _ in range(5):
        start = perf_counter()
        work()
        warm.append(perf_counter() - start)
    print(json.dumps({"calls": both, "steps": 2 * statistics.median(warm)}))


def measure(case: str, peer: str, cache: str) -> dict[str, float] | None:
    """The seconds of one process that keeps compiled code in `cache`; None where the peer cannot be
    run.
    """
    environment = os.environ | {
        "PELLUCID_CACHE_DIR": cache,
        "PELLUCID_NUM_THREADS": "1",
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
        ),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--child", peer, case],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        print(f"  {peer}: {lines[-1][:120]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cases", nargs="*", help="names of cases (all when left out): " + ", ".join(CASES)
    )
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind (default 3)")
    parser.add_argument(
        "--peers", default=",".join(PEERS[1:]), help="which peers to time (default: all)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the medians there")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.cases[0], options.child)
        return
    # as installing a package does; the peers' is there
    compileall.compile_dir(HERE.parent / "pellucid", quiet=2)
    peers = [PEERS[0], *filter(None, options.peers.split(","))]
    print("seconds until the second call has returned, one core; medians of", options.rounds)
    print(f"{'case':8}" + "".join(f"{p + ' fresh':>22}{'second':>8}{'2 steps':>9}" for p in peers))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for case in options.cases or CASES:
        seconds: dict[str, dict[str, list[float]]] = {
            p: {"fresh": [], "second": [], "steps": []} for p in peers
        }
        missing = set()
        for _ in range(options.rounds):
            for peer in peers:
                if peer in missing:
                    continue
                cache = tempfile.mkdtemp(prefix="compile-time-")
                try:
                    for kind in ("fresh", "second"):
                        got = measure(case, peer, cache)
                        if got is None:
                            missing.add(peer)
                            break
                        seconds[peer][kind].append(got["calls"])
                        seconds[peer]["steps"].append(got["steps"])
                finally:
                    shutil.rmtree(cache, ignore_errors=True)
        found[case] = {
            p: {k: statistics.median(v) for k, v in s.items() if v}
            for p, s in seconds.items()
            if p not in missing
        }
        cells = ""
        for peer in peers:
            m = found[case].get(peer)
            cells += (
                f"{m['fresh']:22.2f}{m['second']:8.2f}{m['steps']:9.3f}"
                if m
                else f"{'-':>22}{'-':>8}{'-':>9}"
            )
        print(f"{case:8}{cells}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
