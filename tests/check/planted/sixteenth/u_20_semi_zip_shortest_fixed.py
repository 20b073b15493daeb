import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def forever(loader):
    while True:
        yield from loader


def moons(n):
    t = 3.1416 * torch.rand(n)
    k = torch.randint(0, 2, (n,))
    sign = 1.0 - 2.0 * k
    pts = torch.stack([sign * t.cos() + k, sign * t.sin() + 0.4 * k], 1)
    return pts + 0.12 * torch.randn(n, 2), k


x_lab, y_lab = moons(20)
x_unl, _ = moons(800)
x_te, y_te = moons(300)
lab_dl = DataLoader(TensorDataset(x_lab, y_lab), batch_size=10, shuffle=True)
unl_dl = DataLoader(TensorDataset(x_unl), batch_size=40, shuffle=True)
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)


def consistency(xu):
    with torch.no_grad():
        target = torch.softmax(net(xu), 1)
    noisy = torch.log_softmax(net(xu + 0.15 * torch.randn_like(xu)), 1)
    return nn.functional.kl_div(noisy, target, reduction="batchmean")


for epoch in range(10):
    seen = 0
    for (xl, yl), (xu,) in zip(forever(lab_dl), unl_dl):
        loss = nn.functional.cross_entropy(net(xl), yl) + 0.5 * consistency(xu)
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen += len(xu)
    if epoch % 3 == 0:
        with torch.no_grad():
            acc = (net(x_te).argmax(1) == y_te).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} unlabelled used {seen} of 800 test acc {acc:.3f}")
