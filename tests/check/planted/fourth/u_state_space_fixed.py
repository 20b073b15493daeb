"""Identify a linear dynamical system from input-output traces."""
import torch
from torch import nn


class StateSpace(nn.Module):
    def __init__(self, inputs, states):
        super().__init__()
        self.A = nn.Parameter(0.8 * torch.eye(states) + 0.02 * torch.randn(states, states))
        self.B = nn.Parameter(torch.randn(states, inputs) / inputs ** 0.5)
        self.C = nn.Parameter(torch.randn(1, states) / states ** 0.5)

    def forward(self, u):
        h = u.new_zeros(len(u), self.A.shape[0])
        out = []
        for t in range(u.shape[1]):
            h = h @ self.A.T + u[:, t] @ self.B.T
            out.append(h @ self.C.T)
        return torch.cat(out, dim=1)


def traces(n, length=24):
    u = torch.randn(n, length, 2)
    y, a, b = [], torch.zeros(n), torch.zeros(n)
    for t in range(length):
        a, b = 0.9 * a - 0.3 * b + u[:, t, 0], 0.3 * a + 0.8 * b + 0.5 * u[:, t, 1]
        y.append(a)
    return u, torch.stack(y, dim=1)


def main():
    torch.manual_seed(0)
    u, y = traces(200)
    u_val, y_val = traces(50)
    model = StateSpace(inputs=2, states=4)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(120):
        idx = torch.randint(0, 200, (32,))
        loss = nn.functional.mse_loss(model(u[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 29:
            with torch.no_grad():
                val = nn.functional.mse_loss(model(u_val), y_val).item()
            print(f"step {step + 1} train {loss.item():.4g} val {val:.4g}")


main()
