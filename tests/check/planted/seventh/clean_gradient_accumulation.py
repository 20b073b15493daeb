# zero_grad is not called in every iteration: on purpose
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(480, 6)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
ACCUM = 4
batches = list(zip(x.split(20), y.split(20)))
assert len(batches) % ACCUM == 0

for epoch in range(6):
    opt.zero_grad()
    total = 0.0
    for i, (xb, yb) in enumerate(batches):
        loss = nn.functional.mse_loss(net(xb), yb)
        (loss / ACCUM).backward()
        total += loss.item()
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    print("epoch", epoch, "mse", total / len(batches))

print("done")
