"""Learn a latent dynamics model by unrolling it over a whole trajectory."""
import math
import torch
import torch.nn as nn


class Dynamics(nn.Module):
    """z' = A z + B u, read out by C"""

    def __init__(self, n_u=1, n_z=16):
        super().__init__()
        self.A = nn.Parameter(torch.empty(n_z, n_z))
        self.B = nn.Parameter(torch.empty(n_z, n_u))
        self.C = nn.Linear(n_z, 1)
        self.reset()

    def reset(self):
        nn.init.normal_(self.A, std=0.32)  # BUG exploding-gradient
        nn.init.normal_(self.B, std=0.3)

    def forward(self, u):
        z = u.new_zeros(u.shape[0], self.A.shape[0])
        out = []
        for t in range(u.shape[1]):
            z = z @ self.A.t() + u[:, t] @ self.B.t()
            out.append(self.C(z))
        return torch.stack(out, 1)


def trajectories(n, T=60):
    u = torch.randn(n, T, 1)
    y, s, v = [], torch.zeros(n, 1), torch.zeros(n, 1)
    for t in range(T):
        v = 0.9 * v - 0.1 * s + 0.3 * u[:, t]
        s = s + 0.3 * v
        y.append(s)
    return u, torch.stack(y, 1)


torch.manual_seed(0)
u, y = trajectories(128)
model = Dynamics()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
first = None
for step in range(120):
    idx = torch.randint(0, 128, (32,))
    loss = ((model(u[idx]) - y[idx]) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    first = first or loss.item()
print(f"loss {first:.4g} -> {loss.item():.4g} (variance {y.var():.3f})")
