"""Generated kernels against PyTorch and NumPy at the sizes of small models, and against the
machine's floor.

``python benchmarks/kernels.py`` compares on one core; ``--no-pin`` with ``OMP_NUM_THREADS=2`` on
two. The first table is the usual one against PyTorch. The second one gives NumPy's time over ours
(above 1.0 the kernel is the faster one) and our time over the floor: the larger of a plain copy of
as many bytes and the multiplications at the processor's best rate, both measured on one core just
before.

Sizes: mnist, a CNN on batches of 64; resnet, 32 images of 32 x 32; gpt, 12 sequences of 64 tokens,
width 128, 4 heads; mlp, 512 rows through 784 x 1024.
"""

from __future__ import annotations

import harness  # first: it fixes the thread counts before NumPy and PyTorch are loaded
import numpy as np

cases: dict[str, tuple] = {}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def case(name: str):
    """Register a function of PyTorch (or None) that gives (ours, NumPy's or None, PyTorch's or
    None, bytes, flops).
    """

    def register(make):
        cases[name] = make
        return make

    return register


def both(torch, *arrays):
    return [None if torch is None else torch.from_numpy(a) for a in arrays]


def gradient(torch, out, inputs, g):
    return lambda: torch.autograd.grad(out, inputs, g, retain_graph=True)


def leaves(tensors):
    return [t.clone().requires_grad_() for t in tensors]


def add_matmul(
    model: str, m: int, k: int, n: int, layout: str, batch: tuple[int, ...] = ()
) -> None:
    @case(f"matmul {model} {layout} {'x'.join(map(str, (*batch, m, k, n)))}")
    def make(torch):
        from pellucid.kernels.matmul import call as matmul

        a = normal(*batch, m, k) if layout[0] == "n" else normal(*batch, k, m).swapaxes(-1, -2)
        b = normal(*batch, k, n) if layout[1] == "n" else normal(*batch, n, k).swapaxes(-1, -2)
        ta, tb = both(torch, a, b)
        count = int(np.prod(batch))
        size = 4 * count * (m * k + k * n + m * n)
        theirs = torch and (lambda: torch.matmul(ta, tb))
        return (
            lambda: matmul.multiply(a, b),
            lambda: np.matmul(a, b),
            theirs,
            size,
            2 * count * m * k * n,
        )


for sizes in (
    ("gpt", 768, 128, 512, "nt"),
    ("gpt", 768, 512, 128, "nt"),
    ("gpt", 128, 768, 512, "tn"),
    ("gpt", 768, 512, 128, "nn"),
):
    add_matmul(*sizes)
add_matmul("gpt", 64, 32, 64, "nt", (12, 4))
add_matmul("mlp", 512, 784, 1024, "nt")
add_matmul("mlp", 1024, 512, 784, "tn")
add_matmul("mnist", 64, 9216, 128, "nt")
add_matmul("mnist", 128, 64, 9216, "tn")
add_matmul("mnist", 64, 128, 10, "nt")
add_matmul("tiny", 4, 4, 4, "nn")


@case("linear+relu mlp 512x784x1024")
def linear_relu(torch):
    from pellucid.kernels.matmul import call as matmul

    x, w, b = normal(512, 784), normal(1024, 784), normal(1024)
    tx, tw, tb = both(torch, x, w, b)
    theirs = torch and (lambda: torch.relu(torch.nn.functional.linear(tx, tw, tb)))
    size = 4 * (x.size + w.size + 512 * 1024)
    return (
        lambda: matmul.linear(x, w, b, relu=True),
        lambda: np.maximum(x @ w.T + b, 0),
        theirs,
        size,
        2 * 512 * 784 * 1024,
    )


def add_elementwise(name: str, numpy, theirs, count: int) -> None:
    @case(f"{name} {count}")
    def make(torch):
        from pellucid.kernels.pointwise import activations

        x, g = normal(count), normal(count)
        tx, tg = both(torch, x, g)
        ufunc = getattr(activations, name)
        two = ufunc.nin == 2
        ours = (lambda: ufunc(g, x)) if two else (lambda: ufunc(x))
        plain = numpy and (lambda: numpy(x, g))
        return ours, plain, torch and (lambda: theirs(torch, tx, tg)), 4 * count * (2 + two), 0


for count in (1, 1000, 768 * 512, 32 * 64 * 32 * 32):
    add_elementwise("relu", lambda x, g: np.maximum(x, 0), lambda t, x, g: t.relu(x), count)
    add_elementwise(
        "relu_backward",
        lambda x, g: g * (x > 0),
        lambda t, x, g: t.ops.aten.threshold_backward(g, x, 0),
        count,
    )
    add_elementwise("gelu", None, lambda t, x, g: t.nn.functional.gelu(x), count)
    add_elementwise("gelu_backward", None, lambda t, x, g: t.ops.aten.gelu_backward(g, x), count)
    add_elementwise(
        "silu", lambda x, g: x / (1 + np.exp(-x)), lambda t, x, g: t.nn.functional.silu(x), count
    )
    add_elementwise("tanh", lambda x, g: np.tanh(x), lambda t, x, g: t.tanh(x), count)
    add_elementwise("exp", lambda x, g: np.exp(x), lambda t, x, g: t.exp(x), count)
    add_elementwise("add", lambda x, g: x + g, lambda t, x, g: x + g, count)


def add_rows(model: str, rows: int, columns: int) -> None:
    size = 4 * rows * columns

    @case(f"softmax {model} {rows}x{columns}")
    def softmax(torch):
        from pellucid.kernels.rows import softmax

        x = normal(rows, columns)
        (tx,) = both(torch, x)

        def numpy():
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        return (
            lambda: softmax.softmax(x),
            numpy,
            torch and (lambda: torch.softmax(tx, -1)),
            2 * size,
            0,
        )

    @case(f"cross_entropy {model} {rows}x{columns}")
    def cross_entropy(torch):
        from pellucid.kernels.rows import softmax

        x, target = normal(rows, columns), np.random.default_rng(1).integers(0, columns, rows)
        tx, tt = both(torch, x, target)

        def numpy():
            shifted = x - x.max(-1, keepdims=True)
            return (np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(rows), target]).mean()

        theirs = torch and (lambda: torch.nn.functional.cross_entropy(tx, tt))
        return lambda: softmax.cross_entropy(x, target), numpy, theirs, size, 0

    @case(f"cross_entropy backward {model} {rows}x{columns}")
    def cross_entropy_backward(torch):
        from pellucid.kernels.rows import softmax

        x, target = normal(rows, columns), np.random.default_rng(1).integers(0, columns, rows)
        tx, tt = both(torch, x, target)
        _, saved = softmax.cross_entropy(x, target)
        one = np.ones((), np.float32)
        theirs = None
        if torch:
            inputs = leaves([tx])
            theirs = gradient(torch, torch.nn.functional.cross_entropy(*inputs, tt), inputs, None)
        return (
            lambda: softmax.cross_entropy_backward(one, x, target, saved),
            None,
            theirs,
            2 * size,
            0,
        )


add_rows("mnist", 64, 10)
add_rows("gpt", 768, 65)
add_rows("vocabulary", 768, 8192)


@case("layer_norm gpt 768x128")
def layer_norm(torch):
    from pellucid.kernels.rows import norm

    x, w, b = normal(768, 128), normal(128), normal(128)
    tx, tw, tb = both(torch, x, w, b)

    def numpy():
        centered = x - x.mean(-1, keepdims=True)
        return centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5) * w + b

    theirs = torch and (lambda: torch.native_layer_norm(tx, (128,), tw, tb, 1e-5))
    return lambda: norm.layer_norm(x, (128,), w, b), numpy, theirs, 2 * x.nbytes, 0


@case("layer_norm backward gpt 768x128")
def layer_norm_backward(torch):
    from pellucid.kernels.rows import norm

    x, w, b, g = normal(768, 128), normal(128), normal(128), normal(768, 128)
    _, mean, rstd = norm.layer_norm(x, (128,), w, b)
    theirs = None
    if torch:
        tx, tw, tb, tg, tm, tr = both(torch, x, w, b, g, mean.reshape(-1, 1), rstd.reshape(-1, 1))
        theirs = lambda: torch.ops.aten.native_layer_norm_backward(
            tg, tx, (128,), tm, tr, tw, tb, [True] * 3
        )
    return lambda: norm.layer_norm_backward(g, x, mean, rstd, w), None, theirs, 3 * x.nbytes, 0


def add_batch_norm(*shape: int) -> None:
    label = "x".join(map(str, shape))

    def arrays():
        return normal(*shape), normal(*shape), *(np.abs(normal(shape[1])) for _ in range(4))

    @case(f"batch_norm resnet {label}")
    def forward(torch):
        from pellucid.kernels.rows import channel_norm

        x, _, w, b, mean, var = arrays()
        tensors = both(torch, x, w, b, mean.copy(), var.copy())
        theirs = torch and (lambda: torch.native_batch_norm(*tensors, True, 0.1, 1e-5))
        return lambda: channel_norm.batch_norm(x, w, b, mean, var), None, theirs, 2 * x.nbytes, 0

    @case(f"batch_norm backward resnet {label}")
    def backward(torch):
        from pellucid.kernels.rows import channel_norm

        x, g, w, b, *_ = arrays()
        _, mean, rstd = channel_norm.batch_norm(x, w, b)
        theirs = None
        if torch:
            tg, tx, tw, tm, tr = both(torch, g, x, w, mean, rstd)
            function = torch.ops.aten.native_batch_norm_backward
            theirs = lambda: function(tg, tx, tw, None, None, tm, tr, True, 1e-5, [True] * 3)
        return (
            lambda: channel_norm.batch_norm_backward(g, x, mean, rstd, w),
            None,
            theirs,
            3 * x.nbytes,
            0,
        )


for shape in ((32, 64, 32, 32), (32, 128, 16, 16), (32, 256, 4, 4), (512, 1024)):
    add_batch_norm(*shape)


def add_attention(causal: bool, batch: int, heads: int, length: int, width: int) -> None:
    label = f"{batch}x{heads}x{length}x{width}{' causal' * causal}"
    flops = 4 * batch * heads * length * length * width // (2 if causal else 1)

    @case(f"attention {label}")
    def forward(torch):
        from pellucid.kernels.rows import attention

        q, k, v = (normal(batch, heads, length, width) for _ in range(3))
        tensors = both(torch, q, k, v)
        hidden = np.where(np.tri(length, dtype=bool), np.float32(0), np.float32(-np.inf))

        def numpy():
            s = q @ k.swapaxes(-1, -2) * np.float32(width**-0.5)
            s = s + hidden if causal else s
            e = np.exp(s - s.max(-1, keepdims=True))
            return (e / e.sum(-1, keepdims=True)) @ v

        function = torch and torch.nn.functional.scaled_dot_product_attention
        theirs = torch and (lambda: function(*tensors, is_causal=causal))
        return (
            lambda: attention.attention(q, k, v, None, causal),
            numpy,
            theirs,
            4 * q.nbytes,
            flops,
        )

    @case(f"attention backward {label}")
    def backward(torch):
        from pellucid.kernels.rows import attention

        q, k, v, g = (normal(batch, heads, length, width) for _ in range(4))
        out, lse = attention.attention(q, k, v, None, causal)
        theirs = None
        if torch:
            inputs = leaves(both(torch, q, k, v))
            result = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
            theirs = gradient(torch, result, inputs, torch.from_numpy(g))
        ours = lambda: attention.attention_backward(g, q, k, v, lse, None, causal)
        return ours, None, theirs, 8 * q.nbytes, flops * 5 // 2


add_attention(True, 12, 4, 64, 32)
add_attention(False, 12, 4, 64, 32)
add_attention(True, 4, 8, 256, 64)


def add_reduction(name: str, axis, *shape: int) -> None:
    @case(f"{name} {'x'.join(map(str, shape))} axis {axis}")
    def make(torch):
        from pellucid.kernels.pointwise import reduce

        x = normal(*shape)
        (tx,) = both(torch, x)
        dims = tuple(range(x.ndim)) if axis is None else axis
        plain = {"sum": np.sum, "amax": np.max, "var": np.var}[name]
        theirs = torch and (lambda: getattr(torch, "var_mean" if name == "var" else name)(tx, dims))
        return (
            lambda: getattr(reduce, name)(x, axis),
            lambda: plain(x, axis),
            theirs,
            x.nbytes // 2,
            0,
        )


for name in ("sum", "amax", "var"):
    add_reduction(name, None, 1_000_000)
    add_reduction(name, 1, 768, 128)
    add_reduction(name, 0, 768, 128)
    add_reduction(name, 1, 64, 10)
    add_reduction(name, 0, 32, 64, 1024)


def gpt_parameters() -> list[np.ndarray]:
    layer = [(384, 128), (384,), (128, 128), (128,), (512, 128), (512,), (128, 512), *[(128,)] * 5]
    return [normal(*shape) for shape in [(65, 128), (64, 128), *layer * 4, (65, 128)]]


def add_optimizer(name: str, fused: bool) -> None:
    @case(f"{name} gpt, 51 parameters{', PyTorch fused' * fused}")
    def make(torch):
        from pellucid.kernels.updates import optim

        params, grads = gpt_parameters(), gpt_parameters()
        state = [[np.zeros_like(p) for p in params] for _ in range(2)]
        size = sum(p.nbytes for p in params)
        theirs = None
        if torch:
            tensors = [torch.from_numpy(p.copy()).requires_grad_() for p in params]
            for t, g in zip(tensors, grads, strict=True):
                t.grad = torch.from_numpy(g)
            options = {"fused": True} if fused else {}
            optimizer = torch.optim.AdamW if name == "adamw" else torch.optim.SGD
            theirs = optimizer(
                tensors, lr=1e-3, **({"momentum": 0.9} if name == "sgd" else {}), **options
            ).step
        if name == "adamw":
            ours = lambda: optim.adam(
                params, grads, *state, step=3, lr=1e-3, weight_decay=0.01, decoupled=True
            )
            return ours, None, theirs, 7 * size, 0
        return (
            lambda: optim.sgd(params, grads, state[0], lr=1e-3, momentum=0.9),
            None,
            theirs,
            5 * size,
            0,
        )


for fused in (False, True):
    add_optimizer("adamw", fused)
    add_optimizer("sgd", fused)


@case("embedding gpt")
def embedding(torch):
    from pellucid.kernels.indexing import embedding

    table, index = normal(65, 128), np.random.default_rng(0).integers(0, 65, (12, 64))
    t_table, t_index = both(torch, table, index)
    theirs = torch and (lambda: torch.nn.functional.embedding(t_index, t_table))
    return (
        lambda: embedding.gather_rows(table, index),
        lambda: table[index],
        theirs,
        768 * 128 * 8,
        0,
    )


@case("embedding backward gpt")
def embedding_backward(torch):
    from pellucid.kernels.indexing import embedding

    g, index = normal(12, 64, 128), np.random.default_rng(0).integers(0, 65, (12, 64))
    tg, t_index = both(torch, g, index)

    def numpy():
        out = np.zeros((65, 128), np.float32)
        np.add.at(out, index, g)
        return out

    theirs = torch and (lambda: torch.ops.aten.embedding_dense_backward(tg, t_index, 65, -1, False))
    return lambda: embedding.scatter_add_rows(g, index, 65), numpy, theirs, g.nbytes, 0


def best(work, seconds: float = 0.02) -> float:
    """The least time of a call, in seconds."""
    calls = max(1, int(seconds / max(1e-7, harness._seconds(work, 1))))
    return min(harness._seconds(work, calls) / calls for _ in range(7))


def peak_flops() -> float:
    """The best rate of a large product, ours or NumPy's, in operations a second."""
    from pellucid.kernels.matmul import call as matmul

    a, b = normal(768, 512), normal(512, 768)
    return 2 * 768 * 512 * 768 / min(best(lambda: a @ b), best(lambda: matmul.multiply(a, b)))


def floor(size: int, flops: float, rate: float) -> float:
    source = np.ones(max(1, size // 8), np.float32)
    out = np.empty_like(source)
    return max(best(lambda: np.copyto(out, source)), flops / rate)


def main() -> int:
    import argparse
    import json
    from dataclasses import asdict
    from pathlib import Path

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="run the cases whose name contains TEXT"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="interleaved rounds per case (default 5)"
    )
    parser.add_argument("--seconds", type=float, default=0.02, help="length of one side of a round")
    parser.add_argument("--core", type=int, help="core to stay on (default: the last one allowed)")
    parser.add_argument(
        "--no-pin", action="store_true", help="let the system move the process between cores"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="also write the results and the machine's description there"
    )
    args = parser.parse_args()
    if not args.no_pin:
        harness.pin(args.core)
    _, torch = harness.libraries()
    rate = peak_flops()
    results, lines = [], []
    for name, make in cases.items():
        if args.only not in name:
            continue
        ours, numpy, theirs, size, flops = make(torch)
        limits = {"rounds": args.rounds, "seconds": args.seconds}
        result = harness.compare(name, ours, theirs, target=1.0, **limits)
        lowest = floor(size, flops, rate)
        gain = harness.compare(name, numpy, ours, **limits).ratio if numpy else None
        result.notes.update(floor=lowest, numpy_over_ours=gain)
        results.append(result)
        gain_text = "-" if gain is None else f"{gain:.2f}"
        lines.append(
            f"{name:50} {gain_text:>12} {harness.human_time(lowest):>10} {result.ours / lowest:>12.2f}"
        )
    where = harness.machine()
    print(
        f"kernels: {where['processor']}, cores used {where['pinned_to']}, threads {where['threads']['OMP_NUM_THREADS']}"
    )
    print(harness.table(results))
    print(
        f"\n{'case':50} {'numpy/ours':>12} {'floor':>10} {'ours/floor':>12}   ({rate / 1e9:.0f} GFLOP/s at best)"
    )
    print("\n".join(lines))
    if args.json:
        report = {"title": "kernels", "machine": where, "results": [asdict(r) for r in results]}
        Path(args.json).write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
