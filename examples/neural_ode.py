"""A neural ordinary differential equation (Chen et al., 2018) that learns a spiral, solved with
Runge-Kutta steps.

python neural_ode.py [--iterations N] [--quick]
"""

import argparse
import time

import torch
import torch.nn as nn


def rk4_step(f, t, dt, y):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt * k1 / 2)
    k3 = f(t + dt / 2, y + dt * k2 / 2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(f, y0, t):
    ys = [y0]
    for i in range(len(t) - 1):
        ys.append(rk4_step(f, t[i], t[i + 1] - t[i], ys[-1]))
    return torch.stack(ys)


class Lambda(nn.Module):
    def __init__(self, matrix):
        super().__init__()
        self.register_buffer("matrix", matrix)

    def forward(self, t, y):
        return torch.mm(y**3, self.matrix)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="20 iterations")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    t = torch.linspace(0.0, 12.5, 500)
    with torch.no_grad():
        true_y = odeint(
            Lambda(torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])), torch.tensor([[2.0, 0.0]]), t
        )
    func = ODEFunc()
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
    start = time.time()
    for itr in range(1, (20 if args.quick else args.iterations) + 1):
        optimizer.zero_grad()
        s = torch.randperm(490)[:20]
        batch_y0, batch_t = true_y[s], t[:10]
        batch_y = torch.stack([true_y[s + i] for i in range(10)], dim=0)
        pred_y = odeint(func, batch_y0, batch_t)
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        if args.quick or itr % 20 == 0:
            print(f"iter {itr:4d} loss {loss.item():.6f}")
    print(f"{itr} iterations in {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
