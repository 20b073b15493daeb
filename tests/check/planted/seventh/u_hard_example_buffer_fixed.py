# Keeps the hardest losses of the run for a report
from dataclasses import dataclass, field
import torch
from torch import nn


@dataclass
class HardExamples:
    rows: list = field(default_factory=list)

    def add(self, step, idx, losses):
        worst = losses.argmax()
        self.rows.append((step, idx[worst].item(), losses[worst].item()))

    def report(self, k=3):
        return sorted(self.rows, key=lambda r: -float(r[2]))[:k]


torch.manual_seed(1)
x = torch.randn(1000, 15)
y = (x[:, 0] - x[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
hard = HardExamples()
step = 0
for epoch in range(6):
    for b in torch.randperm(1000).split(50):
        losses = nn.functional.cross_entropy(net(x[b]), y[b], reduction="none")
        opt.zero_grad()
        losses.mean().backward()
        opt.step()
        hard.add(step, b, losses)
        step += 1
    print("epoch", epoch, "loss", losses.mean().item())
for s, i, value in hard.report():
    print("step", s, "row", i, "loss", round(float(value), 3))
print("graphs alive:", sum(getattr(r[2], "grad_fn", None) is not None for r in hard.rows))
