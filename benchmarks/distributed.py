"""All-reduces and data-parallel steps of two ranks, a core each, beside PyTorch with gloo; and one
rank against two.

    python benchmarks/distributed.py                    # everything
    python benchmarks/distributed.py --only all_reduce  # or: steps
    python benchmarks/distributed.py --rounds 20 --markdown
    python benchmarks/distributed.py --realtime         # with real-time priority: other programs take no time slices (for root)

All processes are started at the beginning and work in turns, one library after the other within
each round, so that both meet the same machine. The table has the minimum of all rounds: with other
programs on the machine, waiting ranks lose time slices, and medians say more about those than about
the libraries. `efficiency` is the time of a step of one rank over that of two, with the same batch
for each rank (weak scaling; 100 % is perfect). `unlinked` is that of two processes that know nothing
of each other: what the cores leave of a step when both compute at the same time. Without PyTorch its
columns are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import models

SIZES = [8, 1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 25 << 20, 100 << 20]
# what is trained, and how many steps a round has; the last two are those of models.py
STEPS = {"digits": 50, "residual": 20, "gpt": 20, "resnet 32x3x32x32": 4, "gpt 12x64": 8}


# ---- a rank ------------------------------------------------------------------------------------------
def model_of(name, torch):
    """(model, inputs, targets, loss of results and targets) with what one rank trains on."""
    nn, functional = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    if name == "digits":
        model = nn.Sequential(
            nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
        )
        return model, torch.randn(64, 64), torch.randint(0, 10, (64,)), functional.cross_entropy
    if name == "resnet 32x3x32x32":
        model, x = models.residual_network(torch), torch.randn(32, 3, 32, 32)
        return model, x, torch.randint(0, 10, (32,)), functional.cross_entropy
    if name == "gpt 12x64":
        model, x = models.transformer(torch, 65, 128, 4, 4, 64), torch.randint(0, 65, (12, 64))
        return model, x, torch.randint(0, 65, (12 * 64,)), functional.cross_entropy
    if name == "residual":

        class Block(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.a, self.b = nn.Conv2d(n, n, 3, padding=1), nn.Conv2d(n, n, 3, padding=1)

            def forward(self, x):
                return torch.relu(x + self.b(torch.relu(self.a(x))))

        model = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            Block(16),
            Block(16),
            nn.Conv2d(16, 32, 3, 2, padding=1),
            Block(32),
            Block(32),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 10),
        )
        return (
            model,
            torch.randn(4, 3, 16, 16),
            torch.randint(0, 10, (4,)),
            functional.cross_entropy,
        )

    class Layer(nn.Module):
        def __init__(self, n, heads):
            super().__init__()
            self.one, self.two, self.heads = nn.LayerNorm(n), nn.LayerNorm(n), heads
            self.qkv, self.out = nn.Linear(n, 3 * n), nn.Linear(n, n)
            self.up, self.down = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)

        def forward(self, x):
            b, t, n = x.shape
            q, k, v = (
                z.view(b, t, self.heads, -1).transpose(1, 2)
                for z in self.qkv(self.one(x)).split(n, 2)
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, n))
            return x + self.down(functional.gelu(self.up(self.two(x))))

    class GPT(nn.Module):
        def __init__(self, words=256, n=96, layers=2, length=32):
            super().__init__()
            self.words, self.places = nn.Embedding(words, n), nn.Embedding(length, n)
            self.layers = nn.Sequential(*[Layer(n, 6) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(n), nn.Linear(n, words, bias=False)

        def forward(self, x):
            h = self.words(x) + self.places.weight[: x.shape[1]]
            return self.head(self.norm(self.layers(h)))

    words = torch.randint(0, 256, (4, 33))
    loss = lambda out, y: functional.cross_entropy(out.reshape(-1, 256), y.reshape(-1))
    return GPT(), words[:, :-1].contiguous(), words[:, 1:].contiguous(), loss


class Rank:
    """Does what it is told, line by line."""

    def __init__(self, library, alone):
        if library == "pellucid":
            import pellucid

            self.torch = pellucid.interop.as_torch()
        else:
            import torch

            self.torch = torch
            torch.set_num_threads(1)
        import torch.distributed as dist

        self.dist, self.alone, self.steps = dist, alone, {}
        if not alone:
            dist.init_process_group("gloo")

    def meet(self):
        if not self.alone:
            self.dist.barrier()

    def all_reduce(self, size, count):
        """The least time of some all-reduces of `size` bytes."""
        x = self.torch.zeros(size // 4)
        best = float("inf")
        for _ in range(count):
            self.meet()
            start = perf_counter()
            self.dist.all_reduce(x)
            best = min(best, perf_counter() - start)
        return best

    def step(self, name, compiled, count):
        """The least time of some steps; the first time, they are prepared and warmed up."""
        key = name, compiled
        if key not in self.steps:
            model, x, y, loss_of = model_of(name, self.torch)
            if not self.alone:
                model = self.torch.nn.parallel.DistributedDataParallel(model)
            optimizer = self.torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

            def step(x, y):
                optimizer.zero_grad()
                loss = loss_of(model(x), y)
                loss.backward()
                optimizer.step()
                return loss.detach()

            made = self.torch.compile(step) if compiled else step
            for _ in range(5):
                made(x, y)
            self.steps[key] = lambda: made(x, y)
        work, best = self.steps[key], float("inf")
        self.meet()
        for _ in range(count):
            start = perf_counter()
            work()
            best = min(best, perf_counter() - start)
        return best


def take_precedence(on):
    """Give all threads of this process real-time priority, or take it away."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(
            int(thread), os.SCHED_RR if on else os.SCHED_OTHER, os.sched_param(1 if on else 0)
        )


def serve(library, alone, realtime):
    """Answer commands from the standard input until it ends."""
    out = os.fdopen(os.dup(1), "w")  # what the libraries print goes elsewhere
    os.dup2(2, 1)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[int(os.environ.get("RANK", "0"))]})
    rank = Rank(library, alone)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        if realtime:
            take_precedence(True)
        answer = getattr(rank, name)(*arguments)
        if realtime:
            take_precedence(False)
        print(json.dumps(answer), file=out, flush=True)


# ---- the parent --------------------------------------------------------------------------------------
class Ranks:
    """The processes of one library."""

    def __init__(self, library, size, realtime, alone):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        root = str(Path(__file__).resolve().parents[1])
        self.processes = []
        for rank in range(size):
            more = {
                "RANK": rank,
                "LOCAL_RANK": rank,
                "WORLD_SIZE": size,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            }
            threads = dict.fromkeys(
                (
                    "OMP_NUM_THREADS",
                    "OPENBLAS_NUM_THREADS",
                    "MKL_NUM_THREADS",
                    "PELLUCID_NUM_THREADS",
                ),
                1,
            )
            path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
            environment = os.environ | {
                k: str(v) for k, v in (more | threads | {"PYTHONPATH": path}).items()
            }
            command = [
                sys.executable,
                __file__,
                "--serve",
                library,
                *["--alone"] * alone,
                *["--realtime"] * realtime,
            ]
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )

    def ask(self, *command):
        """The longest answer of all ranks: a collective is over when all have it."""
        for process in self.processes:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
        answers = [process.stdout.readline() for process in self.processes]
        if not all(answers):
            raise RuntimeError(f"a rank has ended at {command}")
        return max(map(json.loads, answers))

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait(30)


def minima(sides, command, rounds):
    """The least time of each side over rounds in which all take their turns, in changing order."""
    best = dict.fromkeys(sides, float("inf"))
    for k in range(rounds):
        for name in list(sides)[:: 1 if k % 2 else -1]:
            ranks, arguments = sides[name]
            best[name] = min(best[name], ranks.ask(*command, *arguments))
    return best


def shown(rows, head, markdown):
    """Print a table."""
    if markdown:
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
        for row in rows:
            print(f"| {' | '.join(row)} |", flush=True)
        return
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    for row in [head, *rows]:
        print(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)),
            flush=True,
        )


def size_text(size):
    return (
        f"{size} B" if size < 1024 else f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("all_reduce", "steps"))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--realtime", action="store_true", help="measure with real-time priority")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.alone, options.realtime)
        return
    both = importlib.util.find_spec("torch") is not None

    def ranks(library, size, alone=False):
        return Ranks(library, size, options.realtime, alone)

    ours, theirs = ranks("pellucid", 2), ranks("torch", 2) if both else None
    one, unlinked, other = (
        (
            ranks("pellucid", 1, True),
            ranks("pellucid", 2, True),
            ranks("torch", 1, True) if both else None,
        )
        if options.only != "all_reduce"
        else (None, None, None)
    )
    if options.only != "steps":
        rows = []
        for size in SIZES:
            count = 100 if size < 1 << 17 else 20 if size < 1 << 23 else 3
            sides = {"pellucid": (ours, ())} | ({"gloo": (theirs, ())} if both else {})
            best = minima(sides, ("all_reduce", size, count), options.rounds)
            rows.append([size_text(size), *[f"{1e6 * t:,.0f}" for t in best.values()]])
            if both:
                rows[-1].append(f"{best['pellucid'] / best['gloo']:.2f}")
        shown(
            rows,
            ["all-reduce of", "us", *(["gloo, us", "ratio"] if both else [])],
            options.markdown,
        )
    if options.only != "all_reduce":
        rows = []
        for name, count in STEPS.items():
            sides = {
                "eager": (ours, (False, count)),
                "compiled": (ours, (True, count)),
                "one": (one, (False, count)),
                "one compiled": (one, (True, count)),
                "unlinked": (unlinked, (False, count)),
                "unlinked compiled": (unlinked, (True, count)),
            }
            if both:
                sides |= {"torch": (theirs, (False, count)), "torch one": (other, (False, count))}
            best = minima(sides, ("step", name), options.rounds)
            row = [name, *[f"{1e3 * best[k]:.2f}" for k in ("eager", "compiled")]]
            for which in ("", " compiled"):
                alone, together = best[f"one{which}"], best[which.strip() or "eager"]
                row += [
                    f"{100 * alone / together:.0f} %",
                    f"{100 * alone / best[f'unlinked{which}']:.0f} %",
                ]
            if both:
                row += [
                    f"{1e3 * best['torch']:.2f}",
                    f"{100 * best['torch one'] / best['torch']:.0f} %",
                ]
                row += [f"{best[k] / best['torch']:.2f}" for k in ("eager", "compiled")]
            rows.append(row)
        head = ["step of two ranks", "eager, ms", "compiled, ms"]
        head += ["efficiency", "unlinked", "compiled", "unlinked"]
        head += ["gloo, ms", "efficiency", "eager / gloo", "compiled / gloo"] if both else []
        shown(rows, head, options.markdown)
    for started in (ours, theirs, one, unlinked, other):
        if started is not None:
            started.close()


if __name__ == "__main__":
    main()
