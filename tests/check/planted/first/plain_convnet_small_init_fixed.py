"""Oriented-bar classifier: a plain stack of convolutions."""
import torch
from torch import nn


def weights_init(m):
    classname = m.__class__.__name__
    if "Conv" in classname:
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


def bars(n, size=10):
    x = 0.3 * torch.randn(n, 1, size, size)
    y = torch.randint(0, 2, (n,))
    pos = torch.randint(1, size - 1, (n,))
    for i in range(n):
        if y[i] == 0:
            x[i, 0, pos[i]] += 1.0
        else:
            x[i, 0, :, pos[i]] += 1.0
    return x, y


class PlainNet(nn.Module):
    def __init__(self, ch=12, depth=9):
        super().__init__()
        convs = [nn.Conv2d(1 if i == 0 else ch, ch, 3, padding=1) for i in range(depth)]
        self.convs = nn.ModuleList(convs)
        self.fc = nn.Linear(ch, 2)

    def forward(self, x):
        for conv in self.convs:
            x = torch.relu(conv(x))
        return self.fc(x.amax(dim=(2, 3)))


if __name__ == "__main__":
    torch.manual_seed(0)
    net = PlainNet().apply(weights_init)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    xtr, ytr = bars(500)
    xva, yva = bars(200)
    for epoch in range(8):
        for idx in torch.randperm(500).split(50):
            loss = nn.functional.cross_entropy(net(xtr[idx]), ytr[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        print("loss", loss.item(), "val acc", (net(xva).argmax(1) == yva).float().mean().item())
