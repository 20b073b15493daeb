"""Training steps through the libraries that people import beside PyTorch, ours and PyTorch's.

The libraries import `torch`, so one process cannot hold both. Two processes, one under
`pellucid run`, build the same model from the same seed and then take turns, a few steps at a time;
each counts its own processor time. The ratio is between the minima of the rounds. Both losses are
shown, so that a fast step that computes something else is seen.

    python benchmarks/libraries.py                        # every case, eager and compiled
    python benchmarks/libraries.py --only gpt2 --rounds 9
    python benchmarks/libraries.py --mode eager --only resnet18
    python benchmarks/libraries.py --imports              # `import transformers` and others
    python benchmarks/libraries.py --check                # the cost of `pellucid check`

The environment needs torch and, for its cases, transformers, timm, torchvision, torch_geometric,
stable_baselines3. The targets are 0.9 of PyTorch's eager steps, for eager steps, and 0.6 with
`torch.compile(model)`.
"""

import harness  # first: it fixes the thread counts before NumPy and PyTorch are loaded

# isort: split
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WARM_UP_SECONDS = 2.0
GOALS = {"eager": 0.9, "compiled": 0.6}
IMPORTS = (
    "transformers; from transformers import GPT2LMHeadModel, Trainer",
    "timm",
    "torchvision",
    "torch_geometric",
    "lightning",
)


def _language(torch, model, compiled, vocabulary):
    """A step of a transformers model that computes its own loss."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    called = torch.compile(model) if compiled else model
    words = torch.randint(0, vocabulary, (8, 32))

    def step():
        optimizer.zero_grad()
        loss = called(input_ids=words, labels=words).loss
        loss.backward()
        optimizer.step()
        return loss

    return step


def gpt2(torch, compiled):
    """Transformers: GPT2LMHeadModel, 2 layers of 64, 8 sequences of 32."""
    from transformers import GPT2Config, GPT2LMHeadModel

    drop = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(vocab_size=256, n_positions=64, n_embd=64, n_layer=2, n_head=4, **drop)
    return _language(torch, GPT2LMHeadModel(config), compiled, 256)


def bert(torch, compiled):
    """Transformers: BertForMaskedLM, 2 layers of 64, 8 sequences of 32."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=256,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return _language(torch, BertForMaskedLM(config), compiled, 256)


def _pictures(torch, model, compiled, size, rows):
    """A step of a classifier of pictures."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    called = torch.compile(model) if compiled else model
    x, y = torch.randn(rows, 3, size, size), torch.randint(0, 10, (rows,))

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def vit(torch, compiled):
    """Timm: VisionTransformer, 4 layers of 64, 8 pictures of 32x32."""
    from timm.models.vision_transformer import VisionTransformer

    model = VisionTransformer(
        img_size=32, patch_size=4, embed_dim=64, depth=4, num_heads=4, num_classes=10
    )
    return _pictures(torch, model, compiled, 32, 8)


def resnet18(torch, compiled):
    """Torchvision: ResNet-18, 8 pictures of 64x64."""
    from torchvision.models import resnet18

    return _pictures(torch, resnet18(num_classes=10), compiled, 64, 8)


def gcn(torch, compiled):
    """torch_geometric: two GCNConv, 500 nodes, 3,000 edges."""
    from torch_geometric.nn import GCN

    model = GCN(32, 32, num_layers=2, out_channels=7)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    called = torch.compile(model) if compiled else model
    x, edges = torch.randn(500, 32), torch.randint(0, 500, (2, 3000))
    y = torch.randint(0, 7, (500,))

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(called(x, edges), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def ppo(torch, compiled):
    """stable_baselines3: PPO on CartPole, 256 steps of play and 4 epochs of batches of 64."""
    from stable_baselines3 import PPO

    agent = PPO("MlpPolicy", "CartPole-v1", n_steps=256, batch_size=64, n_epochs=4, seed=0)
    if compiled:
        agent.policy = torch.compile(agent.policy)

    def step():
        agent.learn(256, reset_num_timesteps=False)
        return sum(p.detach().square().sum() for p in agent.policy.parameters())

    return step


CASES = {f.__name__: f for f in (gpt2, bert, vit, resnet18, gcn, ppo)}


def side(name, mode):
    """Make the case, and run as many steps as each line of the input says."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = CASES[name](torch, mode == "compiled")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print goes elsewhere
    print(f"{float(step()):.6f}", file=answers, flush=True)
    for line in sys.stdin:
        begin = time.process_time()
        for _ in range(int(line)):
            last = step()
        took = time.process_time() - begin
        print(took, float(last), file=answers, flush=True)


class Side:
    """A process that runs a case with one of the libraries."""

    def __init__(self, ours, name, mode):
        run = ["-m", "pellucid", "run"] if ours else []
        self.process = subprocess.Popen(
            [sys.executable, *run, __file__, "--side", name, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_environment(),
        )
        self.first = self._answer()[0]

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"ended early: {' '.join(self.process.args)}")
        return [float(word) for word in line.split()]

    def steps(self, count):
        """Run them; give the seconds of the processor and the last loss."""
        print(count, file=self.process.stdin, flush=True)
        return self._answer()

    def close(self):
        """Let the process end."""
        self.process.stdin.close()
        self.process.wait()


def _environment():
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}


def measure(name, mode, rounds, seconds):
    """Compare one case; PyTorch's side is eager in both modes."""
    ours, theirs = Side(True, name, mode), Side(False, name, "eager")
    try:
        times = {ours: [], theirs: []}
        counts = {}
        for one in (ours, theirs):
            begin = time.perf_counter()  # compiled steps settle within some dozens of calls
            while time.perf_counter() - begin < WARM_UP_SECONDS:
                one.steps(10)
            counts[one] = max(1, round(seconds / max(one.steps(2)[0] / 2, 1e-6)))
        for index in range(rounds):
            for one in (ours, theirs) if index % 2 else (theirs, ours):
                times[one].append(one.steps(counts[one])[0] / counts[one])
    finally:
        ours.close()
        theirs.close()
    pairs = sorted(a / b for a, b in zip(times[ours], times[theirs], strict=True))
    best = min(times[ours]), min(times[theirs])
    ratio = best[0] / best[1]
    verdict = "met" if ratio <= GOALS[mode] else "MISSED"
    print(
        f"{name:10} {mode:9} {harness.human_time(best[0]):>8} {harness.human_time(best[1]):>8}"
        f"  {ratio:5.2f}  median {statistics.median(pairs):5.2f}  goal {GOALS[mode]:.1f} {verdict:7}"
        f" first losses {ours.first:.5f} {theirs.first:.5f}",
        flush=True,
    )


def _cpu_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def _compare_commands(title, ours, theirs, rounds):
    """Print the ratio of the least processor times of two command lines."""
    best = [min(_cpu_of(command)[0] for _ in range(rounds)) for command in (ours, theirs)]
    print(f"{title:24} {best[0]:6.2f} s {best[1]:6.2f} s  {best[0] / best[1]:5.2f}", flush=True)


def imports(rounds):
    """Time the imports of libraries under `pellucid run`, and with PyTorch."""
    with tempfile.TemporaryDirectory() as folder:
        for text in IMPORTS:
            script = Path(folder, "imports.py")
            script.write_text(f"import {text}\n")
            ours = [sys.executable, "-m", "pellucid", "run", str(script)]
            _compare_commands(text.split(";")[0], ours, [sys.executable, str(script)], rounds)


def check(rounds):
    """Time `pellucid check` of scripts of a hundred steps, and `pellucid run` of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            script = Path(folder, f"{name}_script.py")
            script.write_text(
                f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
                f"import torch\nfrom libraries import CASES\n"
                f"step = CASES[{name!r}](torch, False)\nfor _ in range(100):\n    loss = step()\n"
            )
            watched = [sys.executable, "-m", "pellucid", "check", str(script)]
            plain = [sys.executable, "-m", "pellucid", "run", str(script)]
            _compare_commands(script.stem, watched, plain, rounds)


def main():
    """Read the command line and print a line for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    parser.add_argument("--mode", choices=GOALS, help="eager or compiled; both if left out")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default 5)")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a turn")
    parser.add_argument("--imports", action="store_true", help="time the imports of libraries")
    parser.add_argument("--check", action="store_true", help="time `pellucid check` of scripts")
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        return side(*args.side)
    harness.pin()
    if args.imports or args.check:
        if args.imports:
            imports(args.rounds)
        if args.check:
            check(args.rounds)
        return None
    for mode in [args.mode] if args.mode else GOALS:
        for name in CASES:
            if args.only in name:
                measure(name, mode, args.rounds, args.seconds)
    return None


if __name__ == "__main__":
    main()
