# "Linear scaling rule" for the learning rate, with the batch size taken from a config.
import torch
from torch import nn

cfg = {
    "batch_size": 128,
    "base_lr": 0.2,        # tuned for batches of 256
    "epochs": 15,
    "momentum": 0.9,
    "seed": 23,
}
torch.manual_seed(cfg["seed"])


def digits(n):
    glyphs = (torch.rand(10, 49, generator=torch.Generator().manual_seed(0)) > 0.5).float()
    y = torch.randint(0, 10, (n,))
    return glyphs[y] + 0.6 * torch.randn(n, 49), y


x, y = digits(1280)
xt, yt = digits(500)
net = nn.Sequential(nn.Linear(49, 64), nn.ReLU(), nn.Linear(64, 10))
lr = cfg["base_lr"] * cfg["batch_size"] / 256
opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=cfg["momentum"])

for epoch in range(cfg["epochs"]):
    for idx in torch.randperm(len(x)).split(cfg["batch_size"]):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} test {acc:.3f}")
