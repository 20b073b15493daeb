"""Meta-style training with a warm-up phase that only collects statistics."""
import torch
import torch.nn as nn


class RunningNorm:
    def __init__(self, d):
        self.n, self.mean, self.sq = 0, torch.zeros(d), torch.ones(d)

    def update(self, x):
        self.n += 1
        self.mean += (x.mean(0) - self.mean) / self.n
        self.sq += (x.pow(2).mean(0) - self.sq) / self.n

    def __call__(self, x):
        return (x - self.mean) / (self.sq - self.mean ** 2).clamp(min=1e-4).sqrt()


WARMUP = 20
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
norm = RunningNorm(5)
log = []
steps_done = 0
for it in range(300):
    x = 5 + 3 * torch.randn(64, 5)
    y = (x[:, :1] - 5) / 3 * 2 + (x[:, 1:2] - 5).abs() / 3
    norm.update(x)
    loss = nn.functional.mse_loss(net(norm(x)), y)
    opt.zero_grad()
    loss.backward()  # BUG backward-without-step
    log.append(loss.item())
    if steps_done < WARMUP:  # BUG backward-without-step
        continue
    opt.step()  # BUG backward-without-step
    steps_done += 1
print("mse", sum(log[-20:]) / 20)
