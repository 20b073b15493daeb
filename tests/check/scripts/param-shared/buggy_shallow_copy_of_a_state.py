"""`dict(...)` copies the names of a state, not its tensors."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
best, state = float("inf"), None
for step in range(6):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best = loss.item()
        state = dict(model.state_dict())  # <- finding
model.load_state_dict(state)
print(best)
