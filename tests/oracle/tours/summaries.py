"""torchinfo, torchsummary, torchview, torchviz: summaries and pictures of models."""

import contextlib
import io
import re
import warnings

import torch
from _parts import without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
import torchsummary  # noqa: E402
import torchview  # noqa: E402
import torchviz  # noqa: E402
from torch import nn  # noqa: E402
from torchinfo import summary  # noqa: E402

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a, self.b = nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
        )
        self.blocks = nn.ModuleList([Block(16), Block(16)])
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        x = self.conv(x).flatten(1)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


net = Net().eval()
print(
    summary(
        net,
        (2, 3, 8, 8),
        verbose=0,
        depth=3,
        col_names=(
            "input_size",
            "output_size",
            "num_params",
            "kernel_size",
            "mult_adds",
            "trainable",
        ),
    )
)
print(summary(nn.LSTM(4, 8, 2, batch_first=True), input_data=torch.randn(2, 5, 4), verbose=0))
print(summary(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (1, 4, 8), verbose=0))
print(
    summary(
        nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 2)),
        (2, 3),
        dtypes=[torch.long],
        verbose=0,
    ).total_params
)
told = io.StringIO()
with contextlib.redirect_stdout(told):
    torchsummary.summary(net, (3, 8, 8), device="cpu")
print(told.getvalue())
graph = torchview.draw_graph(net, input_size=(2, 3, 8, 8), expand_nested=True, depth=3)
print(re.sub(r"\d{6,}", "n", graph.visual_graph.source)[:400], len(graph.visual_graph.body))
x = torch.randn(2, 3, 8, 8)
dot = torchviz.make_dot(net(x).mean(), params=dict(net.named_parameters()))
print(
    dot.source.count("AccumulateGrad"),
    dot.source.count("AddmmBackward0"),
    dot.source.count("ReluBackward0"),
)
dot = torchviz.make_dot(
    net(x).mean(), params=dict(net.named_parameters()), show_attrs=True, show_saved=False
)
print(len(dot.body) > 20)
