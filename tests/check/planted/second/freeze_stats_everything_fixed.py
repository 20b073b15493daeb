"""Fine-tuning with small batches, batch-norm statistics fixed."""
import torch
import torch.nn as nn


def freeze_bn(net):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.eval()


def build():
    return nn.Sequential(nn.Linear(7, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))


def fit(net, x, y, epochs, bs, lr, frozen_stats):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(epochs):
        net.train()
        if frozen_stats:
            freeze_bn(net)
        for idx in torch.randperm(len(x)).split(bs):
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()


def draw(n, noise):
    x = torch.randn(n, 7)
    return x, x[:, :1] - x[:, 1:2] + noise * torch.randn(n, 1)


torch.manual_seed(0)
net = build()
fit(net, *draw(800, 0.1), epochs=10, bs=50, lr=5e-3, frozen_stats=False)
fit(net, *draw(40, 1.5), epochs=30, bs=4, lr=2e-3, frozen_stats=True)
net.eval()
with torch.no_grad():
    x, y = draw(500, 0.0)
    print("mse after fine-tuning on 40 noisy rows", nn.functional.mse_loss(net(x), y).item(), "variance", y.var().item())
