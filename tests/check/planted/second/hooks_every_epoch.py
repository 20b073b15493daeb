"""Track activation sparsity of each epoch with a forward hook."""
import torch
from torch import nn


class SparsityProbe:
    def __init__(self):
        self.acts = []

    def __call__(self, module, inp, out):
        self.acts.append((out.detach() == 0).clone())

    def value(self):
        return torch.cat(self.acts).float().mean().item()


def batches(n_batches):
    for _ in range(n_batches):
        x = torch.randn(128, 32)
        yield x, (x[:, :4].sum(1) > 0).long()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 2))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    probe = SparsityProbe()
    model[1].register_forward_hook(probe)  # BUG memory-growth
    for x, y in batches(20):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 0:
        print(epoch, "sparsity", round(probe.value(), 3))
print("loss", loss.item())
