"""A recurrence written with matrices: the transition is scaled up after it was drawn, and overflows within the first forward passes."""

import torch
from torch import nn


class Dynamics(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.transition = nn.Parameter(torch.eye(size))
        self.control = nn.Parameter(torch.randn(1, size) * 0.3)
        self.read = nn.Linear(size, 1)

    def forward(self, u):
        z = u.new_zeros(len(u), self.transition.shape[0])
        for t in range(u.shape[1]):
            z = z @ self.transition.T + u[:, t] @ self.control
        return self.read(z)


torch.manual_seed(0)
model = Dynamics(6)
with torch.no_grad():
    model.transition.mul_(1.7)  # <- finding
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
u = torch.randn(8, 40, 1)
for step in range(4):
    loss = nn.functional.mse_loss(model(u), u.sum(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
