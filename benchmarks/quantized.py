"""Layers of bytes against PyTorch's quantised engine, and against float32 layers.

``python benchmarks/quantized.py`` compares on one core; ``--no-pin`` with ``OMP_NUM_THREADS=2`` on
two. Lines with "float32" time the layer before it was quantised, on both sides.
"""

from __future__ import annotations

import warnings

import harness  # first: it fixes the thread counts before NumPy and PyTorch are loaded

LINEAR = [(1, 1024, 1024), (32, 1024, 1024), (256, 1024, 1024), (128, 768, 3072), (512, 256, 256)]
# images, channels, results, size, taps, stride, groups
CONVOLUTIONS = [
    (1, 64, 64, 56, 3, 1, 1),
    (1, 128, 128, 28, 3, 1, 1),
    (1, 3, 64, 224, 7, 2, 1),
    (1, 256, 64, 56, 1, 1, 1),
    (8, 64, 128, 28, 3, 2, 1),
    (1, 512, 512, 7, 3, 1, 1),
    (1, 96, 96, 56, 3, 1, 96),
]

suite = harness.Suite("quantised layers")


def without_gradients(torch, layer, x):
    def run():
        with torch.no_grad():
            return layer(x)

    return run


def quantized_weight(torch, weight):
    scale = weight.abs().flatten(1).amax(1).double() / 127
    return torch.quantize_per_channel(
        weight, scale, torch.zeros(len(weight), dtype=torch.int64), 0, torch.qint8
    )


def add_linear(rows: int, k: int, n: int) -> None:
    name = f"linear {rows}x{k} to {n}"

    def layer(torch):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return torch.nn.Linear(k, n).eval(), torch.randn(rows, k)

    @suite.case(f"{name} float32")
    def _float(torch):
        return without_gradients(torch, *layer(torch))

    @suite.case(f"{name} dynamic", target=1.2)
    def _dynamic(torch):
        made, x = layer(torch)
        small = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(made), {torch.nn.Linear})
        return lambda: small(x)

    @suite.case(f"{name} static", target=1.2)
    def _static(torch):
        made, x = layer(torch)
        packed = torch.ops.quantized.linear_prepack(
            quantized_weight(torch, made.weight.detach()), made.bias.detach()
        )
        q, run = torch.quantize_per_tensor(x, 0.05, 128, torch.quint8), torch.ops.quantized.linear
        return lambda: run(q, packed, 0.1, 100)


def add_convolution(
    n: int, channels: int, results: int, size: int, taps: int, stride: int, groups: int
) -> None:
    name = f"conv {n}x{channels} to {results}, {size}x{size}, {taps}x{taps} /{stride}" + (
        " depthwise" if groups > 1 else ""
    )

    def layer(torch):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        made = torch.nn.Conv2d(channels, results, taps, stride, taps // 2, groups=groups).eval()
        return made, torch.randn(n, channels, size, size)

    @suite.case(f"{name} float32")
    def _float(torch):
        return without_gradients(torch, *layer(torch))

    @suite.case(f"{name} static", target=1.2)
    def _static(torch):
        made, x = layer(torch)
        weight = quantized_weight(torch, made.weight.detach())
        how = ([stride] * 2, [taps // 2] * 2, [1, 1], groups)
        packed = torch.ops.quantized.conv2d_prepack(weight, made.bias.detach(), *how)
        q = torch.quantize_per_tensor(x, 0.05, 128, torch.quint8).contiguous(
            memory_format=torch.channels_last
        )
        run = torch.ops.quantized.conv2d
        return lambda: run(q, packed, 0.1, 100)


def add_lstm(steps: int, batch: int, size: int) -> None:
    name = f"LSTM {steps} steps of {batch}, {size} units"

    def layer(torch):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return torch.nn.LSTM(size, size).eval(), torch.randn(steps, batch, size)

    @suite.case(f"{name} float32")
    def _float(torch):
        return without_gradients(torch, *layer(torch))

    @suite.case(f"{name} dynamic", target=1.2)
    def _dynamic(torch):
        made, x = layer(torch)
        small = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(made), {torch.nn.LSTM})[
            0
        ]
        return lambda: small(x)


for _sizes in LINEAR:
    add_linear(*_sizes)
for _sizes in CONVOLUTIONS:
    add_convolution(*_sizes)

add_lstm(32, 16, 256)

if __name__ == "__main__":
    raise SystemExit(suite.main())
