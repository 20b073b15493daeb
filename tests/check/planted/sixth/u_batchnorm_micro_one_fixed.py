import torch
import torch.nn as nn

torch.manual_seed(0)


class LoudnessNet(nn.Module):
    """Classifies short recordings as quiet or loud."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, padding=2)
        self.bn = nn.BatchNorm1d(8)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x)))
        return self.fc(h.mean(2))


def recordings(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 50) * (0.5 + y.float())[:, None, None]
    return x, y


class Config:
    effective_batch = 16
    micro_batch = 16

    @property
    def accum(self):
        return self.effective_batch // self.micro_batch


cfg = Config()
x, y = recordings(320)
xt, yt = recordings(200)
net = LoudnessNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    net.train()
    tot = 0.0
    for k, idx in enumerate(torch.randperm(320).split(cfg.micro_batch)):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx]) / cfg.accum
        loss.backward()
        tot += loss.item()
        if (k + 1) % cfg.accum == 0:
            opt.step()
            opt.zero_grad()
    net.eval()
    with torch.no_grad():
        acc = (net(xt).argmax(1) == yt).float().mean().item()
    print(f"epoch {epoch} loss {tot / 20:.3f} acc {acc:.3f}")
