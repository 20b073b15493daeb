from contextlib import contextmanager
import torch
from torch import nn


@contextmanager
def evaluating(net):
    net.eval()
    with torch.no_grad():
        yield net  # BUG train-in-eval-mode


torch.manual_seed(7)
x = 50 + 20 * torch.randn(400, 10)
y = ((x[:, 0] - x[:, 1]) / 20).unsqueeze(1)
net = nn.Sequential(nn.BatchNorm1d(10), nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
with evaluating(net) as m:
    print("before training", nn.functional.mse_loss(m(x[300:]), y[300:]).item())
for epoch in range(20):
    for b in torch.randperm(300).split(30):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[b]), y[b])
        loss.backward()
        opt.step()
    with evaluating(net) as m:
        val = nn.functional.mse_loss(m(x[300:]), y[300:]).item()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "val mse", round(val, 4))
print("batches counted by the norm layer:", net[0].num_batches_tracked.item())
