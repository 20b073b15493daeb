"""One-cycle training where a generator hands out batches and moves the schedule on."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 6)
y = x[:, :3].prod(1, keepdim=True).tanh()
net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=1.0)
rates = [0.4, 0.2, 0.1, 0.02, 0.0]
PER = 60
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: rates[min(k // PER, len(rates) - 1)])
used = []


def batches(total):
    for _ in range(total):
        idx = torch.randint(0, 512, (64,))
        sched.step()  # BUG scheduler-before-optimizer
        yield x[idx], y[idx]


for i, (xb, yb) in enumerate(batches(4 * PER)):
    used.append(opt.param_groups[0]["lr"])
    loss = nn.functional.mse_loss(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()  # BUG scheduler-before-optimizer
    if i % PER == 0:
        print(i, f"lr {used[-1]:.2f} loss {loss.item():.4f}")
counts = {r: used.count(r) for r in rates}
print("steps at each rate", counts)
print("every rate used equally:", all(counts[r] == PER for r in rates[:-1]))
