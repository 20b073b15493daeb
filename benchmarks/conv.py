"""Convolution and pooling kernels against PyTorch's, on the layers of three small networks.

``python benchmarks/conv.py`` compares on one core; ``--no-pin`` with ``OMP_NUM_THREADS=2`` on two.
Each convolution is timed forward, as gradient in the input and as gradient in the weight; the table
of GFLOP/s follows the ratios. GFLOP/s count the multiplications of the definition, also where
Winograd's method makes a quarter of them; for these the floor is stated: the multiply-adds that the
method makes (whole tiles, whole vectors) at the measured peak rate, and the transforms' operations
too.
"""

from __future__ import annotations

import harness  # first: it fixes the thread counts before NumPy and PyTorch are loaded
import numpy as np

flops: dict[str, float] = {}

# name: x, w, stride, padding, groups
LAYERS = {
    "mnist 1>32 28x28": ((64, 1, 28, 28), (32, 1, 3, 3), 1, 0, 1),
    "mnist 32>64 26x26": ((64, 32, 26, 26), (64, 32, 3, 3), 1, 0, 1),
    "residual 3>32 32x32": ((32, 3, 32, 32), (32, 3, 3, 3), 1, 1, 1),
    "residual 32>32 32x32": ((32, 32, 32, 32), (32, 32, 3, 3), 1, 1, 1),
    "residual 32>64 /2": ((32, 32, 32, 32), (64, 32, 3, 3), 2, 1, 1),
    "residual 32>64 1x1 /2": ((32, 32, 32, 32), (64, 32, 1, 1), 2, 0, 1),
    "residual 64>64 16x16": ((32, 64, 16, 16), (64, 64, 3, 3), 1, 1, 1),
    "residual 64>128 /2": ((32, 64, 16, 16), (128, 64, 3, 3), 2, 1, 1),
    "residual 64>128 1x1 /2": ((32, 64, 16, 16), (128, 64, 1, 1), 2, 0, 1),
    "residual 128>128 8x8": ((32, 128, 8, 8), (128, 128, 3, 3), 1, 1, 1),
    "lenet 1>6 5x5": ((64, 1, 28, 28), (6, 1, 5, 5), 1, 2, 1),
    "lenet 6>16 5x5": ((64, 6, 14, 14), (16, 6, 5, 5), 1, 0, 1),
    "depthwise 32 32x32": ((16, 32, 32, 32), (32, 1, 3, 3), 1, 1, 32),
    "1x1 64>256 14x14": ((16, 64, 14, 14), (256, 64, 1, 1), 1, 0, 1),
    "one image 64>64 56x56": ((1, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
}
POOLS = {
    "mnist 24x24": ((64, 64, 24, 24), 2, 2, 0),
    "lenet 28x28": ((64, 6, 28, 28), 2, 2, 0),
    "resnet 112x112": ((4, 64, 112, 112), 3, 2, 1),
}


def normal(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def add_layer(layer: str) -> None:
    x_shape, w_shape, stride, padding, groups = LAYERS[layer]
    args = (stride, padding, 1, groups)

    def ours(which: int):
        def make(_lib):
            from pellucid.kernels.convolution import call as conv

            x, w = normal(x_shape), normal(w_shape)
            g = normal(conv.conv(x, w, *args).shape)
            return (
                lambda: conv.conv(x, w, *args),
                lambda: conv.conv_input_grad(g, w, x_shape, *args),
                lambda: conv.conv_weight_grad(g, x, w_shape, *args),
            )[which]

        return make

    def theirs(which: int):
        def make(torch):
            x, w = torch.from_numpy(normal(x_shape)), torch.from_numpy(normal(w_shape))
            forward = torch.nn.functional.conv2d
            g = torch.from_numpy(normal(tuple(forward(x, w, None, *args).shape)))
            pair = ((stride, stride), (padding, padding), (1, 1), False, (0, 0), groups)
            backward = torch.ops.aten.convolution_backward
            return (
                lambda: forward(x, w, None, *args),
                lambda: backward(g, x, w, None, *pair, [True, False, False]),
                lambda: backward(g, x, w, None, *pair, [False, True, False]),
            )[which]

        return make

    from pellucid.kernels.convolution.geometry import conv_geometry

    for which, part in enumerate(("forward", "input grad", "weight grad")):
        name = f"{layer} {part}"
        flops[name] = 2 * conv_geometry(x_shape, w_shape, *args).multiply_adds
        suite.case(name, target=1.0, theirs=theirs(which))(ours(which))


def add_pool(pool: str) -> None:
    shape, kernel, stride, padding = POOLS[pool]

    def ours(which: int):
        def make(_lib):
            from pellucid.kernels.pooling import call as kernels

            x = normal(shape)
            values, index = kernels.max_pool(x, kernel, stride, padding)
            return (
                lambda: kernels.max_pool(x, kernel, stride, padding),
                lambda: kernels.max_pool_grad(values, index, shape),
                lambda: kernels.avg_pool(x, kernel, stride, padding),
                lambda: kernels.avg_pool_grad(values, shape, kernel, stride, padding),
            )[which]

        return make

    def theirs(which: int):
        def make(torch):
            x = torch.from_numpy(normal(shape))
            F, aten = torch.nn.functional, torch.ops.aten
            values, index = F.max_pool2d(x, kernel, stride, padding, return_indices=True)
            pair = ((kernel, kernel), (stride, stride), (padding, padding))
            return (
                lambda: F.max_pool2d(x, kernel, stride, padding, return_indices=True),
                lambda: aten.max_pool2d_with_indices_backward(
                    values, x, *pair, (1, 1), False, index
                ),
                lambda: F.avg_pool2d(x, kernel, stride, padding),
                lambda: aten.avg_pool2d_backward(values, x, *pair, False, True, None),
            )[which]

        return make

    for which, part in enumerate(("max", "max grad", "mean", "mean grad")):
        suite.case(f"pool {pool} {part}", target=1.0, theirs=theirs(which))(ours(which))


def peak(rounds: int = 5) -> float:
    """Float operations a second of one core: chains of multiply-adds in registers, nothing else."""
    from time import perf_counter

    from pellucid.llvm import jit, target
    from pellucid.llvm.emit import Module, vector

    module, lanes, chains, count = Module(), target.host().lanes("float"), 12, 1_000_000
    f, kind = module.function("go", x="ptr", n="i64"), vector("float", lanes)
    sums, factor = [f.var(kind, 0.0) for _ in range(chains)], f.load(kind, f.x)
    with f.loop(0, f.n):
        for total in sums:
            total.set(f.fma(factor, factor, total.get()))
    result = sums[0].get()
    for total in sums[1:]:
        result = result + total.get()
    f.store(result, f.x)
    f.ret()
    go, x, best = (
        jit.compile_ir(module.text(), {"go": "ai"}, "peak rate")["go"],
        np.zeros(lanes, np.float32),
        np.inf,
    )
    for _ in range(rounds + 1):
        start = perf_counter()
        go(x, count)
        best = min(best, perf_counter() - start)
    return 2 * lanes * chains * count / best


def winograd_floor(name: str) -> tuple[float, float] | None:
    """Operations of the products and of the transforms where a case goes by Winograd's method, else
    None.
    """
    from pellucid.kernels.convolution import winograd as conv_winograd
    from pellucid.kernels.convolution import winograd_weight as conv_winograd_weight
    from pellucid.kernels.convolution.geometry import conv_geometry
    from pellucid.kernels.convolution.winograd_parts import POINTS, TILE

    layer = next(known for known in LAYERS if name.startswith(known + " "))
    part = name[len(layer) + 1 :]
    x_shape, w_shape, *args = LAYERS[layer]
    geo = conv_geometry(x_shape, w_shape, args[0], args[1], 1, args[2])
    plans = {
        "forward": conv_winograd.forward_plan, "input grad": conv_winograd.input_grad_plan,
        "weight grad": conv_winograd_weight.weight_grad_plan,
    }  # fmt: skip
    if plans[part](geo) is None:
        return None
    plane = geo.x if part == "input grad" else geo.out
    tiles = geo.n * (-(-plane[0] // TILE)) * (-(-plane[1] // TILE))
    # A line of the source takes 24 operations, one of results 16, one of a gradient's 4 values 19;
    # a tile has 12 and 10 of them.
    source, other = (geo.o, geo.c) if part == "input grad" else (geo.c, geo.o)
    each = 12 * 24 * source + 10 * (19 if part == "weight grad" else 16) * other
    return 2.0 * POINTS * tiles * geo.c * geo.o, 1.0 * tiles * each


def rates(results: list[harness.Result]) -> str:
    """GFLOP/s of both sides, one line per convolution; with Winograd's method its floor, and the
    times over it.
    """
    fastest = peak()
    lines = [
        "",
        f"peak of multiply-adds: {fastest / 1e9:.0f} GFLOP/s",
        f"{'GFLOP/s':40}  pellucid  torch  Winograd's floor  times that",
    ]
    for r in results:
        if r.name in flops:
            theirs = f"{flops[r.name] / r.theirs / 1e9:5.0f}" if r.theirs else "    -"
            line = f"{r.name:40}  {flops[r.name] / r.ours / 1e9:8.0f}  {theirs}"
            made = winograd_floor(r.name)
            if made is not None:
                floor = sum(made) / fastest
                line += f"  {floor * 1e3:13.2f} ms  {r.ours / floor:10.2f}"
            lines.append(line)
    return "\n".join(lines)


class Main(harness.Suite):
    """Adds the rates to what the suite prints."""

    def run(self, **options):
        results = super().run(**options)
        print(rates(results))
        return results


suite = Main("convolution and pooling")
harness.libraries()  # makes the package importable from a checkout
for name in LAYERS:
    add_layer(name)
for name in POOLS:
    add_pool(name)

if __name__ == "__main__":
    raise SystemExit(suite.main())
