"""Whole training steps compiled: Pellucid's `compile` beside PyTorch (eager and torch.compile) and
JAX (jit, with optax).

    python benchmarks/compile.py                 # all cases, one core
    python benchmarks/compile.py gpt --threads 2
    python benchmarks/compile.py --peers torch   # without torch.compile and JAX
    python benchmarks/compile.py --large         # larger models, such as ResNet-50
    python benchmarks/compile.py --styles        # parts of programs: the model, the optimizer's step, decode loops, second-order steps

Each round times every peer back to back; the table has medians in microseconds and the ratio to the
fastest peer. Needs PyTorch; JAX (`pip install jax optax`) and torch.compile (a C++ compiler) are
left out where they are missing.
"""

from __future__ import annotations

import argparse
import os
import sys


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help="names of cases (all when left out)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--styles", action="store_true", help="the cases of compile_styles.py, in processor time"
    )
    parser.add_argument(
        "--large", action="store_true", help="the cases of large_models.py, in processor time"
    )
    parser.add_argument("--peers", default="torch,torch.compile,jax", help="which peers to time")
    parser.add_argument("--seconds", type=float, default=0.15, help="time of one peer in one round")
    return parser.parse_args()


OPTIONS = _arguments() if __name__ == "__main__" else argparse.Namespace(threads=1)
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PELLUCID_NUM_THREADS"):
    os.environ[_name] = str(OPTIONS.threads)
os.environ.setdefault(
    "XLA_FLAGS",
    f"--xla_cpu_multi_thread_eigen={'true' if OPTIONS.threads > 1 else 'false'} intra_op_parallelism_threads={OPTIONS.threads}",
)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-OPTIONS.threads :]))

import gc  # noqa: E402
import importlib  # noqa: E402
import statistics  # noqa: E402
from time import perf_counter, process_time  # noqa: E402

import numpy as np  # noqa: E402

import pellucid  # noqa: E402

rng = np.random.default_rng(0)


# ---- steps as PyTorch users write them -------------------------------------------------------------
def mlp(sizes, batch):
    def make(lib):
        nn = lib.nn
        model = nn.Sequential(
            nn.Linear(sizes[0], sizes[1]), nn.ReLU(), nn.Linear(sizes[1], sizes[2])
        )
        x, y = rng.standard_normal((batch, sizes[0]), np.float32), rng.integers(0, sizes[2], batch)
        return (
            model,
            lib.optim.Adam(model.parameters()),
            lib.nn.functional.cross_entropy,
            lib.from_numpy(x),
            lib.from_numpy(y),
        )

    return make


def cnn(lib):
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    )
    x, y = rng.standard_normal((64, 1, 28, 28), np.float32), rng.integers(0, 10, 64)
    return (
        model,
        lib.optim.Adam(model.parameters()),
        nn.functional.cross_entropy,
        lib.from_numpy(x),
        lib.from_numpy(y),
    )


def gpt(lib):
    from models import transformer

    model = transformer(lib, 65, 128, 4, 4, 64)
    x, y = rng.integers(0, 65, (12, 64)), rng.integers(0, 65, 12 * 64)
    return (
        model,
        lib.optim.Adam(model.parameters()),
        lib.nn.functional.cross_entropy,
        lib.from_numpy(x),
        lib.from_numpy(y),
    )


def resnet(lib):
    from models import residual_network

    model = residual_network(lib)
    x, y = rng.standard_normal((32, 3, 32, 32), np.float32), rng.integers(0, 10, 32)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return model, optimizer, lib.nn.functional.cross_entropy, lib.from_numpy(x), lib.from_numpy(y)


def lstm(lib):
    from models import language_model

    model = language_model(lib)
    x, y = rng.integers(0, 200, (35, 20)), rng.integers(0, 200, 700)
    return (
        model,
        lib.optim.Adam(model.parameters()),
        lib.nn.functional.cross_entropy,
        lib.from_numpy(x),
        lib.from_numpy(y),
    )


def chain(lib):
    x = lib.linspace(-3, 3, 2_000_000).requires_grad_()
    return None, None, None, x, None


def chain_of(lib, x):
    return (lib.tanh(x) * lib.sigmoid(x) + x * 0.5).mean()


def step_of(lib, parts, compiled=None):
    """The step; with `compiled`, torch.compile of what users give it: the model."""
    model, optimizer, loss_of, x, y = parts
    if model is None:
        f = compiled(lambda v: chain_of(lib, v)) if compiled else (lambda v: chain_of(lib, v))

        def step():
            x.grad = None
            loss = f(x)
            loss.backward()
            return loss

        return step
    run = compiled(model) if compiled else model

    def step():
        optimizer.zero_grad()
        loss = loss_of(run(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def ours_of(parts):
    """Pellucid's: the whole step is compiled."""
    model, optimizer, loss_of, x, y = parts
    if model is None:

        @pellucid.compile
        def chained():
            x.grad = None
            loss = chain_of(pellucid, x)
            loss.backward()
            return loss

        return chained

    @pellucid.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: step(x, y)


# ---- the same steps in JAX -------------------------------------------------------------------------
def jax_steps():
    import jax
    import jax.numpy as jnp
    import optax

    key = iter(jax.random.split(jax.random.PRNGKey(0), 200))

    def dense(i, o):
        return {"w": jax.random.normal(next(key), (i, o)) * i**-0.5, "b": jnp.zeros(o)}

    def linear(p, x):
        return x @ p["w"] + p["b"]

    def loss_of(logits, y):
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def trainer(params, forward, optimizer, x, y, keyed=False):
        state = optimizer.init(params)
        x, y = jnp.asarray(x), jnp.asarray(y)

        def step(params, state, k, x, y):
            def objective(p):
                return loss_of(forward(p, x, k) if keyed else forward(p, x), y)

            loss, grads = jax.value_and_grad(objective)(params)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, jax.random.split(k)[0], loss

        run = jax.jit(step, donate_argnums=(0, 1, 2))
        held = [params, state, jax.random.PRNGKey(1)]

        def call():
            *held[:], loss = run(*held, x, y)
            return loss.block_until_ready()

        return call

    def mlp_of(sizes, batch):
        params = [dense(sizes[0], sizes[1]), dense(sizes[1], sizes[2])]
        x, y = rng.standard_normal((batch, sizes[0]), np.float32), rng.integers(0, sizes[2], batch)
        return trainer(
            params, lambda p, x: linear(p[1], jax.nn.relu(linear(p[0], x))), optax.adam(1e-3), x, y
        )

    def conv(x, w, stride=1, padding="VALID"):
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def filters(i, o, k=3):
        return jax.random.normal(next(key), (k, k, i, o)) * (i * k * k) ** -0.5

    def dropout(k, x, p):
        return jnp.where(jax.random.bernoulli(k, 1 - p, x.shape), x / (1 - p), 0)

    def cnn_of():
        params = {
            "c1": filters(1, 32),
            "b1": jnp.zeros(32),
            "c2": filters(32, 64),
            "b2": jnp.zeros(64),
            "f1": dense(9216, 128),
            "f2": dense(128, 10),
        }

        def forward(p, x, k):
            k1, k2 = jax.random.split(k)
            x = jax.nn.relu(conv(x, p["c1"]) + p["b1"])
            x = jax.nn.relu(conv(x, p["c2"]) + p["b2"])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            x = dropout(k1, x, 0.25).reshape(x.shape[0], -1)
            return linear(p["f2"], dropout(k2, jax.nn.relu(linear(p["f1"], x)), 0.5))

        x, y = rng.standard_normal((64, 28, 28, 1), np.float32), rng.integers(0, 10, 64)
        return trainer(params, forward, optax.adam(1e-3), x, y, keyed=True)

    def norm(p, x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * p[
            "g"
        ] + p["b"]

    def gpt_of(vocabulary=65, width=128, heads=4, layers=4, length=64):
        def affine():
            return {"g": jnp.ones(width), "b": jnp.zeros(width)}

        params = {
            "tokens": jax.random.normal(next(key), (vocabulary, width)),
            "places": jax.random.normal(next(key), (length, width)),
            "blocks": [
                {
                    "n1": affine(),
                    "n2": affine(),
                    "qkv": dense(width, 3 * width),
                    "out": dense(width, width),
                    "f1": dense(width, 4 * width),
                    "f2": dense(4 * width, width),
                }
                for _ in range(layers)
            ],
            "norm": affine(),
            "head": jax.random.normal(next(key), (width, vocabulary)) * width**-0.5,
        }
        mask = jnp.tril(jnp.ones((length, length), bool))

        def forward(p, ids):
            x = p["tokens"][ids] + p["places"]
            b, t, d = x.shape
            for q in p["blocks"]:
                qkv = linear(q["qkv"], norm(q["n1"], x)).reshape(b, t, 3, heads, d // heads)
                queries, keys, values = (qkv[:, :, k].transpose(0, 2, 1, 3) for k in range(3))
                scores = jnp.where(
                    mask, queries @ keys.transpose(0, 1, 3, 2) * (d // heads) ** -0.5, -jnp.inf
                )
                x = x + linear(
                    q["out"],
                    (jax.nn.softmax(scores) @ values).transpose(0, 2, 1, 3).reshape(b, t, d),
                )
                x = x + linear(
                    q["f2"], jax.nn.gelu(linear(q["f1"], norm(q["n2"], x)), approximate=False)
                )
            return (norm(p["norm"], x) @ p["head"]).reshape(-1, vocabulary)

        return trainer(
            params,
            forward,
            optax.adam(1e-3),
            rng.integers(0, 65, (12, 64)),
            rng.integers(0, 65, 768),
        )

    def batch_norm(p, x):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["g"] + p["b"]

    def resnet_of():
        def affine(n):
            return {"g": jnp.ones(n), "b": jnp.zeros(n)}

        def block(i, o, stride):
            p = {"c1": filters(i, o), "n1": affine(o), "c2": filters(o, o), "n2": affine(o)}
            return p | ({"cs": filters(i, o, 1), "ns": affine(o)} if stride != 1 or i != o else {})

        shapes = [(32, 32, 1), (32, 64, 2), (64, 128, 2)]
        params = {
            "c": filters(3, 32),
            "n": affine(32),
            "blocks": [block(*s) for s in shapes],
            "f": dense(128, 10),
        }

        def forward(p, x):
            x = jax.nn.relu(batch_norm(p["n"], conv(x, p["c"], 1, "SAME")))
            for q, (_, _, stride) in zip(p["blocks"], shapes, strict=True):
                pads = ((1, 1), (1, 1))
                out = jax.nn.relu(batch_norm(q["n1"], conv(x, q["c1"], stride, pads)))
                out = batch_norm(q["n2"], conv(out, q["c2"], 1, pads))
                x = jax.nn.relu(
                    out + (batch_norm(q["ns"], conv(x, q["cs"], stride)) if "cs" in q else x)
                )
            return linear(p["f"], x.mean((1, 2)))

        x, y = rng.standard_normal((32, 32, 32, 3), np.float32), rng.integers(0, 10, 32)
        return trainer(params, forward, optax.sgd(0.01, momentum=0.9), x, y)

    def lstm_of():
        params = {
            "tokens": jax.random.normal(next(key), (200, 128)),
            "layers": [{"x": dense(128, 512), "h": dense(128, 512)} for _ in "12"],
            "head": dense(128, 200),
        }

        def forward(p, ids):
            x = p["tokens"][ids]
            for q in p["layers"]:
                inputs = linear(q["x"], x)

                def cell(state, row, q=q):
                    h, c = state
                    i, f, g, o = jnp.split(row + linear(q["h"], h), 4, -1)
                    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                    h = jax.nn.sigmoid(o) * jnp.tanh(c)
                    return (h, c), h

                zero = jnp.zeros((ids.shape[1], 128))
                _, x = jax.lax.scan(cell, (zero, zero), inputs)
            return linear(p["head"], x).reshape(-1, 200)

        return trainer(
            params,
            forward,
            optax.adam(1e-3),
            rng.integers(0, 200, (35, 20)),
            rng.integers(0, 200, 700),
        )

    def chain_step():
        x = jnp.linspace(-3, 3, 2_000_000)
        run = jax.jit(
            jax.value_and_grad(lambda v: (jnp.tanh(v) * jax.nn.sigmoid(v) + v * 0.5).mean())
        )
        return lambda: run(x)[1].block_until_ready()

    return {
        "mlp16": lambda: mlp_of((20, 32, 4), 16),
        "mlp128": lambda: mlp_of((784, 128, 10), 128),
        "mlp512": lambda: mlp_of((784, 1024, 10), 512),
        "cnn": cnn_of,
        "gpt": gpt_of,
        "resnet": resnet_of,
        "lstm": lstm_of,
        "chain": chain_step,
    }


CASES = {
    "mlp16": ("MLP 16x20-32-4, Adam", mlp((20, 32, 4), 16), 0.15),
    "mlp128": ("MLP 128x784-128-10, Adam", mlp((784, 128, 10), 128), 0.8),
    "mlp512": ("MLP 512x784-1024-10, Adam", mlp((784, 1024, 10), 512), 0.9),
    "cnn": ("MNIST CNN batch 64, Adam", cnn, 0.5),
    "gpt": ("GPT 4 layers, width 128, 12x64 tokens, Adam", gpt, 0.5),
    "resnet": ("residual CNN 32x3x32x32, SGD momentum", resnet, 0.7),
    "lstm": ("LSTM 2x128, 20x35 tokens, Adam", lstm, 0.75),
    "chain": ("element-wise chain of 2 million values", chain, 0.9),
}


def timed(work, seconds, least=3, clock=perf_counter):
    """Seconds a call, over about `seconds`."""
    count, start = 0, clock()
    while True:
        work()
        count += 1
        spent = clock() - start
        if count >= least and spent >= seconds:
            return spent / count


def compile_time(work):
    """Seconds until the second call has returned: tracing and compiling."""
    start = perf_counter()
    work()
    work()
    return perf_counter() - start


def whole_steps(key, torch, peers, jax_cases):
    """What is timed of a training step, by whose it is."""
    _, make, _ = CASES[key]
    works = {
        "compiled": lambda: ours_of(make(pellucid)),
        "eager": lambda: step_of(pellucid, make(pellucid)),
    }
    if "torch" in peers:
        works["torch"] = lambda: step_of(torch, make(torch))
    if "torch.compile" in peers:
        works["torch.compile"] = lambda: step_of(torch, make(torch), torch.compile)
    if "jax" in peers:
        works["jax"] = jax_cases[key]
    return works


def styles(make, torch, peers):
    """The same of a case of `compile_styles` or `large_models`."""
    works = {
        "compiled": lambda: make(pellucid, pellucid.compile),
        "eager": lambda: make(pellucid, None),
    }
    if "torch" in peers:
        works["torch"] = lambda: make(torch, None)
    if "torch.compile" in peers:
        works["torch.compile"] = lambda: make(torch, torch.compile)
    return works


def main() -> None:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    cases, clock = CASES, perf_counter
    others = "compile_styles" if OPTIONS.styles else "large_models" if OPTIONS.large else None
    if others is not None:
        cases, clock = importlib.import_module(others).cases(), process_time
    unknown = [key for key in OPTIONS.cases if key not in cases]
    if unknown:
        sys.exit(f"no case {unknown[0]!r}; there are {', '.join(cases)}")
    peers = [p for p in OPTIONS.peers.split(",") if others is None or p != "jax"]
    try:
        import torch

        torch.set_num_threads(OPTIONS.threads)
    except ImportError:
        torch, peers = None, [p for p in peers if not p.startswith("torch")]
    jax_cases = {}
    if "jax" in peers:
        try:
            jax_cases = jax_steps()
        except ImportError:
            peers.remove("jax")
    pellucid.set_num_threads(OPTIONS.threads)
    print(
        f"threads: {OPTIONS.threads}; microseconds a step, median of {OPTIONS.rounds} rounds; ratio to the fastest peer"
    )
    heads = ["compiled", "eager", *peers]
    print(
        f"{'case':46}"
        + "".join(f"{h:>15}" for h in heads)
        + f"{'ratio':>8}{'goal':>6}  compile seconds"
    )
    for key in OPTIONS.cases or cases:
        title, make, goal = cases[key]
        pellucid.manual_seed(0)
        made = (
            styles(make, torch, peers)
            if others is not None
            else whole_steps(key, torch, peers, jax_cases)
        )
        compiling = {}
        works = {}
        for name in made:
            try:
                works[name] = made[name]()
                compiling[name] = compile_time(works[name])
                for _ in range(3):
                    works[name]()
            except Exception as error:  # a peer without its compiler, say
                print(f"  {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
                works.pop(name, None)
        times: dict[str, list[float]] = {name: [] for name in works}
        for index in range(OPTIONS.rounds):
            gc.collect()
            order = list(works) if index % 2 == 0 else list(works)[::-1]
            for name in order:
                times[name].append(timed(works[name], OPTIONS.seconds, clock=clock))
        middle = {name: statistics.median(t) * 1e6 for name, t in times.items()}
        rivals = [name for name in middle if name not in ("compiled", "eager")]
        ratio = ""
        if rivals:
            ratio = f"{statistics.median(a / min(b) for a, *b in zip(times['compiled'], *(times[n] for n in rivals), strict=True)):.2f}"
        cells = "".join(f"{middle[h]:15,.1f}" if h in middle else f"{'-':>15}" for h in heads)
        seconds = ", ".join(
            f"{n} {s:.2f}"
            for n, s in compiling.items()
            if n in ("compiled", "torch.compile", "jax")
        )
        print(f"{title:46}{cells}{ratio:>8}{goal:6.2f}  {seconds}", flush=True)


if __name__ == "__main__":
    main()
