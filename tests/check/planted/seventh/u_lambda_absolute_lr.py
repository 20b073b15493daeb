import math
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

BASE, TOTAL, WARM = 2e-3, 300, 30


def schedule(step):
    if step < WARM:
        return BASE * (step + 1) / WARM  # BUG lr-absurd
    return BASE * 0.5 * (1 + math.cos(math.pi * (step - WARM) / (TOTAL - WARM)))  # BUG lr-absurd


torch.manual_seed(9)
x = torch.randn(1000, 10)
y = torch.tanh(x[:, :2].sum(1, keepdim=True)) + 1.0
net = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=BASE)
sched = LambdaLR(opt, schedule)
peak = 0.0
for step in range(TOTAL):
    b = torch.randint(0, 1000, (64,))
    loss = nn.functional.mse_loss(net(x[b]), y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
    peak = max(peak, opt.param_groups[0]["lr"])
    sched.step()
    if step % 60 == 59:
        print(f"step {step + 1} loss {loss.item():.4f}")
print("largest learning rate used", peak)
