"""Only the inputs are mixed, a little, as noise; the labels are those of the larger part, in a batch that is shuffled as a whole."""

import torch
from torch import nn

torch.manual_seed(0)
centres = torch.randn(4, 6)
y = torch.randint(0, 4, (192,))
x = centres[y] + 0.5 * torch.randn(192, 6)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    order = torch.randperm(192)
    xs, ys = x[order], y[order]
    xs = xs + 0.1 * xs[torch.randperm(192)]
    loss = nn.functional.cross_entropy(model(xs), ys)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
