"""Training steps under `torch.autocast("cpu", dtype=torch.bfloat16)` and in float32, eager and
compiled.

    python benchmarks/autocast.py --processor-time
    python benchmarks/autocast.py --only GPT --rounds 5

Compiled: Pellucid's whole step; of PyTorch the model, which is how its users compile. Where the
processor has no instructions for bfloat16 (AVX512-BF16), products are made in float32.
"""

from __future__ import annotations

import harness
from models import transformer

suite = harness.Suite("steps in bfloat16")


def gpt(lib):
    """6 layers, width 384, 8 x 128 tokens."""
    model = transformer(lib, 65, 384, 6, 6, 128)
    return model, lib.randint(0, 65, (8, 128)), lib.randint(0, 65, (8 * 128,))


def mlp(lib):
    """Three layers of 1024, 256 rows."""
    nn = lib.nn
    layers = (
        nn.Linear(784, 1024),
        nn.GELU(),
        nn.LayerNorm(1024),
        nn.Linear(1024, 1024),
        nn.GELU(),
        nn.Linear(1024, 10),
    )
    return nn.Sequential(*layers), lib.randn(256, 784), lib.randint(0, 10, (256,))


def cnn(lib):
    """Three blocks of convolution, batch norm and ReLU, 32 x 3 x 32 x 32."""
    nn, layers = lib.nn, []
    for a, b in ((3, 32), (32, 64), (64, 128)):
        layers += [
            nn.Conv2d(a, b, 3, padding=1, bias=False),
            nn.BatchNorm2d(b),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return (
        nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 10)),
        lib.randn(32, 3, 32, 32),
        lib.randint(0, 10, (32,)),
    )


def step(lib, make, low, compiled):
    lib.manual_seed(0)
    model, x, y = make(lib)
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    forward = lib.compile(model) if compiled and lib.__name__ == "torch" else model

    def work(x, y):
        with lib.autocast("cpu", dtype=lib.bfloat16, enabled=low):
            loss = lib.nn.functional.cross_entropy(forward(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = lib.compile(work) if compiled and lib.__name__ != "torch" else work
    return lambda: run(x, y)


def case(name, make, low, compiled, target):
    kind = "bfloat16" if low else "float32"

    @suite.case(f"{name}, {kind}, {'compiled' if compiled else 'eager'}", target=target)
    def made(lib):
        return step(lib, make, low, compiled)


for title, model in (("GPT", gpt), ("MLP", mlp), ("CNN", cnn)):
    for compiled in (False, True):
        for low in (False, True):
            case(title, model, low, compiled, 0.7 if compiled else 0.8)

if __name__ == "__main__":
    suite.main()
