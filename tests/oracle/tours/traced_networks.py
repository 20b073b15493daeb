"""torchlens: networks traced with every activation and gradient, selected, changed on the way, summarized, checked."""

import contextlib
import io
import warnings

import torch
import torchlens as tl
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")


class Network(nn.Module):
    """Convolutions with a shortcut, a recurrent layer by hand, attention."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.GELU())
        self.cell, self.head = nn.Linear(8, 8), nn.Linear(8, 5)
        self.into = nn.Linear(4, 8)

    def forward(self, x):
        x = self.stem(x)
        x = F.max_pool2d(x + self.block(x), 2)
        words = self.into(x.flatten(2).transpose(1, 2))
        words = words + F.scaled_dot_product_attention(words, words, words)
        state = torch.zeros_like(words[:, 0])
        for step in range(3):
            state = torch.tanh(self.cell(state) + words[:, step])
        return self.head(state)


def shown(name, value):
    print(name, tuple(value.shape), f"{value.float().abs().sum().item():.5f}")


torch.manual_seed(0)
model = Network().eval()
x = torch.randn(2, 3, 8, 8)

log = tl.trace(model, x)
for label in log.layer_labels:
    layer = log[label]
    print(label, getattr(layer, "func_name", None), tuple(layer.shape or ()))
rows = log.summary().split("Memory")[0].splitlines()  # without times and this process's memory
print(*[row for row in rows if "UNVERIFIED" not in row], sep="\n")
shown("relu", log["relu_1"].out)
shown("by module", log["block.2"].out)
shown("output", log[-1].out)

x.requires_grad_()
log = tl.trace(model, x, capture=tl.options.CaptureOptions(save_grads="all"))
log.log_backward(log[log.output_layers[0]].out.square().sum())
for label in log.layer_labels:
    for pass_of in log[label].ops:
        if isinstance(grad := pass_of.grad, torch.Tensor):
            shown(f"gradient of {label}", grad)

few = tl.trace(model, x, save=tl.func("relu") | tl.func("tanh"))
print(
    [
        op.layer_label
        for label in few.layer_labels
        for op in few[label].ops
        if op.has_saved_activation
    ]
)
shown("plucked", tl.pluck(model, x, "gelu_1"))

none = tl.trace(model, x, intervene=tl.when(tl.func("relu"), tl.zero_ablate()))
half = tl.trace(model, x, intervene=tl.when(tl.func("relu"), tl.scale(0.5)))
shown("without", none[none.output_layers[0]].out)
shown("with half", half[half.output_layers[0]].out)

with contextlib.redirect_stderr(io.StringIO()):
    layers = nn.Sequential(nn.Linear(8, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 3))
    print("validated", bool(tl.validate(layers, torch.randn(4, 8), scope="forward")))
