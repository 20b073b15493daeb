"""A target network that is only a second name, and a best state that is the living one."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
target = model  # <- finding
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
best, lowest = None, float("inf")
for step in range(12):
    x = torch.randn(16, 4)
    with torch.no_grad():
        goal = x.sum(1, keepdim=True) + 0.1 * target(x)
    loss = nn.functional.mse_loss(model(x), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < lowest:
        lowest, best = loss.item(), None
        best = model.state_dict()  # <- finding: snapshot-aliased
    if step % 4 == 0:
        target.load_state_dict(model.state_dict())
model.load_state_dict(best)
