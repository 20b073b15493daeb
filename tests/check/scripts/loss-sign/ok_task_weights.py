import torch
import torch.nn as nn
import torch.nn.functional as F


class UncertaintyWeighting(nn.Module):
    """Homoscedastic task weighting with one log-variance per task."""

    def __init__(self, n_tasks):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        weight = torch.exp(-self.log_var)
        return (weight * losses + self.log_var).sum()


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 48), nn.Tanh())
        self.depth = nn.Linear(48, 1)
        self.normal = nn.Linear(48, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(1), self.normal(h)


def scene(n):
    x = torch.randn(n, 6)
    depth = 5 * torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 1.0 * torch.randn(n)
    normal = torch.tanh(x[:, 3:6] + x[:, :3]) + 0.1 * torch.randn(n, 3)
    return x, depth, normal


torch.manual_seed(107)
x, depth, normal = scene(1200)
xv, depth_v, normal_v = scene(400)
net, weighting = Shared(), UncertaintyWeighting(2)
opt = torch.optim.SGD([*net.parameters(), *weighting.parameters()], lr=0.02, momentum=0.9)
for epoch in range(40):
    for idx in torch.randperm(len(x)).split(60):
        d, m = net(x[idx])
        loss = weighting([F.mse_loss(d, depth[idx]), F.mse_loss(m, normal[idx])])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
    if epoch % 10 == 9:
        with torch.no_grad():
            d, m = net(xv)
            print(f"epoch {epoch + 1} objective {loss.item():.3f} val depth {F.mse_loss(d, depth_v).item():.4f} "
                  f"normal {F.mse_loss(m, normal_v).item():.4f} "
                  f"log_var {[round(v, 2) for v in weighting.log_var.tolist()]}")
