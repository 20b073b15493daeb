"""Activations are watched through a hook."""

import torch
from torch import nn


class Watch:
    def __init__(self):
        self.norms = []

    def attach(self, layer):
        def hook(module, inputs, output):
            self.norms.append(output.detach().norm(dim=1))  # <- finding

        return layer.register_forward_hook(hook)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
watch = Watch()
x = torch.randn(400, 6)
y = x.abs().sum(1, keepdim=True)
for step, idx in enumerate(torch.randperm(400).split(20)):
    watch.attach(model[0])  # <- finding: hooks-pile-up
    loss = nn.functional.mse_loss(model(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    mean = torch.cat(watch.norms[-1:]).mean().item()
print("norm", round(mean, 3), "hooks", len(model[0]._forward_hooks), "kept", len(watch.norms))
