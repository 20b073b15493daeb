import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Wrapped(nn.Module):
    """Pre-training wrapper: encoder plus projection head."""

    def __init__(self, encoder, h, proj):
        super().__init__()
        self.encoder = encoder
        self.proj = nn.Linear(h, proj)

    def forward(self, x):
        return self.proj(self.encoder(x))


def make_encoder(d=60, h=24):
    return nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, h), nn.ReLU())


def load_pretrained(encoder, ckpt):
    state = ckpt["state_dict"]
    state = {k.removeprefix("encoder."): v for k, v in state.items() if not k.startswith("proj.")}
    encoder.load_state_dict(state)
    for p in encoder.parameters():
        p.requires_grad_(False)
    return encoder


M = torch.randn(5, 60)


def world(n, seed):
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, 5, generator=g)
    return z @ M + 2.0 * torch.randn(n, 60, generator=g), z


def pretrain():
    x, z = world(3000, 1)
    net = Wrapped(make_encoder(), 24, 5)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(6):
        for idx in torch.randperm(len(x)).split(64):
            loss = F.mse_loss(net(x[idx]), z[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("pretrain loss", round(loss.item(), 3))
    return {"state_dict": net.state_dict(), "epoch": 6}


ckpt = pretrain()
encoder = load_pretrained(make_encoder(), ckpt)
clf = nn.Sequential(encoder, nn.Linear(24, 2))
x, z = world(80, 2)
y = (z[:, 0] > z[:, 1]).long()
opt = torch.optim.Adam([p for p in clf.parameters() if p.requires_grad], lr=1e-2)
for _ in range(80):
    loss = F.cross_entropy(clf(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
xt, zt = world(1000, 3)
with torch.no_grad():
    acc = (clf(xt).argmax(1) == (zt[:, 0] > zt[:, 1]).long()).float().mean()
print(f"final probe acc {acc:.3f}")
