"""Names as defaults, by a function that makes the hook, and by partial."""

from functools import partial

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
kept = {}


def keep(name, module, args, out):
    kept[name] = out.detach()


def hook_for(name):
    return lambda module, args, out: kept.update({name + "!": out.detach()})


for name, layer in model.named_children():
    layer.register_forward_hook(lambda m, a, out, name=name: kept.update({name: out}))
    layer.register_forward_hook(partial(keep, name))
    layer.register_forward_hook(hook_for(name))
model(torch.randn(3, 4))
print(sorted(kept))
