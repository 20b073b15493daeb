"""Large operations in bfloat16, float16 and float64: element-wise, activations, reductions,
normalization, losses, products, updates.

Cases are named "dtype: operation"; `--only bfloat16` takes one dtype. Backward is in the cases that
say so.
"""

from __future__ import annotations

import harness

suite = harness.Suite("operations by dtype")
ROWS, COLUMNS = 512, 512


def values(lib, kind, *shape, grad=False, shift=0):
    """Numbers between -2 and 2, the same on both sides."""
    count = 1
    for size in shape:
        count *= size
    x = (
        (((lib.arange(count, dtype=lib.float32) + shift) * 0.37) % 4.0 - 2.0)
        .reshape(shape)
        .to(getattr(lib, kind))
    )
    return x.requires_grad_() if grad else x


ONE = {
    "exp": lambda lib, x: x.exp(),
    "log": lambda lib, x: (x.abs() + 1).log(),
    "tanh": lambda lib, x: x.tanh(),
    "sigmoid": lambda lib, x: x.sigmoid(),
    "sqrt": lambda lib, x: x.abs().sqrt(),
    "neg": lambda lib, x: -x,
    "relu": lambda lib, x: x.relu(),
    "gelu": lambda lib, x: lib.nn.functional.gelu(x),
    "gelu tanh": lambda lib, x: lib.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda lib, x: lib.nn.functional.silu(x),
    "leaky_relu": lambda lib, x: lib.nn.functional.leaky_relu(x, 0.1),
    "clamp": lambda lib, x: x.clamp(-1, 1),
    "x * 2.5": lambda lib, x: x * 2.5,
    "x + 1": lambda lib, x: x + 1,
    "x > 0": lambda lib, x: x > 0,
    "pow 2": lambda lib, x: x**2,
    "sum": lambda lib, x: x.sum(),
    "sum rows": lambda lib, x: x.sum(1),
    "sum columns": lambda lib, x: x.sum(0),
    "mean rows": lambda lib, x: x.mean(1),
    "max": lambda lib, x: x.max(),
    "amax rows": lambda lib, x: x.amax(1),
    "max rows": lambda lib, x: x.max(1),
    "argmax rows": lambda lib, x: x.argmax(1),
    "var rows": lambda lib, x: x.var(1),
    "norm": lambda lib, x: x.norm(),
    "softmax": lambda lib, x: x.softmax(-1),
    "log_softmax": lambda lib, x: x.log_softmax(-1),
    "logsumexp": lambda lib, x: x.logsumexp(-1),
    "cumsum": lambda lib, x: x.cumsum(1),
    "sort": lambda lib, x: x.sort(1),
    "topk": lambda lib, x: x.topk(8, 1),
    "to float32": lambda lib, x: x.to(lib.float32),
    "to int64": lambda lib, x: x.to(lib.int64),
    "clone": lambda lib, x: x.clone(),
    "transpose copy": lambda lib, x: x.t().contiguous(),
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.1),
}
TWO = {
    "x * y": lambda lib, x, y: x * y,
    "x + y": lambda lib, x, y: x + y,
    "x / y": lambda lib, x, y: x / y,
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "x + row": lambda lib, x, y: x + y[0],
    "where": lambda lib, x, y: lib.where(x > y, x, y),
    "add_": lambda lib, x, y: x.add_(y),
    "addcmul": lambda lib, x, y: lib.addcmul(x, y, y, value=0.5),
    "lerp": lambda lib, x, y: lib.lerp(x, y, 0.3),
    "mse_loss": lambda lib, x, y: lib.nn.functional.mse_loss(x, y),
    "smooth_l1": lambda lib, x, y: lib.nn.functional.smooth_l1_loss(x, y),
    "cat": lambda lib, x, y: lib.cat([x, y]),
}


def each(kind):
    def one(name, function):
        @suite.case(f"{kind}: {name}", target=1.2)
        def make(lib):
            x = values(lib, kind, ROWS, COLUMNS)
            return lambda: function(lib, x)

    def two(name, function):
        @suite.case(f"{kind}: {name}", target=1.2)
        def make(lib):
            x, y = values(lib, kind, ROWS, COLUMNS), values(lib, kind, ROWS, COLUMNS, shift=5)
            return lambda: function(lib, x, y)

    for name, function in ONE.items():
        one(name, function)
    for name, function in TWO.items():
        two(name, function)

    def training(name, make_function):
        """Forward and backward."""

        @suite.case(f"{kind}: {name}, with backward", target=1.2)
        def make(lib):
            x = values(lib, kind, ROWS, COLUMNS, grad=True)
            function, seed = make_function(lib), None

            def run():
                nonlocal seed
                y = function(x)
                seed = values(lib, kind, *y.shape) if seed is None else seed
                x.grad = None
                y.backward(seed)

            return run

    training("gelu", lambda lib: lib.nn.functional.gelu)
    training("silu", lambda lib: lib.nn.functional.silu)
    training("tanh", lambda lib: lib.tanh)
    training("relu", lambda lib: lib.relu)
    training("softmax", lambda lib: lambda x: x.softmax(-1))
    training("layer_norm", lambda lib: lib.nn.LayerNorm(COLUMNS, dtype=getattr(lib, kind)))
    training("rms_norm", lambda lib: lib.nn.RMSNorm(COLUMNS, dtype=getattr(lib, kind)))
    training(
        "batch_norm",
        lambda lib: (lambda norm: lambda x: norm(x.view(32, 16, 16, 32)))(
            lib.nn.BatchNorm2d(16, dtype=getattr(lib, kind))
        ),
    )
    training(
        "group_norm",
        lambda lib: (lambda norm: lambda x: norm(x.view(32, 16, 16, 32)))(
            lib.nn.GroupNorm(4, 16, dtype=getattr(lib, kind))
        ),
    )
    training("x * x + x", lambda lib: lambda x: x * x + x)
    training(
        "max_pool2d", lambda lib: lambda x: lib.nn.functional.max_pool2d(x.view(32, 16, 16, 32), 2)
    )

    @suite.case(f"{kind}: cross_entropy, with backward", target=1.2)
    def cross_entropy(lib):
        x = values(lib, kind, ROWS, COLUMNS, grad=True)
        t = lib.arange(ROWS) * 7 % COLUMNS

        def run():
            x.grad = None
            lib.nn.functional.cross_entropy(x, t).backward()

        return run

    @suite.case(f"{kind}: embedding, with backward", target=1.2)
    def embedding(lib):
        w = values(lib, kind, 1000, 128, grad=True)
        i = (lib.arange(2048) * 37 % 1000).view(16, 128)
        g = values(lib, kind, 16, 128, 128)

        def run():
            w.grad = None
            lib.nn.functional.embedding(i, w).backward(g)

        return run

    @suite.case(f"{kind}: mm 256", target=1.2)
    def mm(lib):
        x, y = values(lib, kind, 256, 256), values(lib, kind, 256, 256, shift=3)
        return lambda: x @ y

    @suite.case(f"{kind}: linear 1024x384x1536", target=1.2)
    def linear(lib):
        x, w, b = (
            values(lib, kind, 1024, 384),
            values(lib, kind, 1536, 384, shift=3),
            values(lib, kind, 1536),
        )
        return lambda: lib.nn.functional.linear(x, w, b)

    @suite.case(f"{kind}: bmm 48x128x64", target=1.2)
    def bmm(lib):
        x, y = values(lib, kind, 48, 128, 64), values(lib, kind, 48, 64, 128, shift=3)
        return lambda: x @ y

    @suite.case(f"{kind}: attention 8x6x128x64", target=1.2)
    def attention(lib):
        q, k, v = (values(lib, kind, 8, 6, 128, 64, shift=s) for s in (0, 3, 7))
        return lambda: lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    @suite.case(f"{kind}: conv2d", target=1.2)
    def conv(lib):
        x, w = values(lib, kind, 8, 32, 32, 32), values(lib, kind, 32, 32, 3, 3, shift=3)
        return lambda: lib.nn.functional.conv2d(x, w, padding=1)

    for name in ("SGD", "AdamW"):

        @suite.case(f"{kind}: {name} step", target=1.2)
        def step(lib, name=name):
            parameters = [values(lib, kind, ROWS, COLUMNS, grad=True) for _ in range(4)]
            for p in parameters:
                p.grad = values(lib, kind, ROWS, COLUMNS, shift=3)
            return getattr(lib.optim, name)(parameters, lr=1e-3).step


for kind in ("bfloat16", "float16", "float64"):
    each(kind)

if __name__ == "__main__":
    suite.main()
