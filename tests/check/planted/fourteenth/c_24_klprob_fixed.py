import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


class LabelDistributionNet(nn.Module):
    """Predicts a distribution over age bins."""

    def __init__(self, d, bins):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU())
        self.logits = nn.Linear(64, bins)

    def forward(self, x):
        return self.logits(self.trunk(x))


def soft_labels(age, bins, sigma=1.0):
    grid = torch.arange(bins).float()
    d = torch.exp(-0.5 * ((grid - age[:, None]) / sigma) ** 2)
    return d / d.sum(1, keepdim=True)


def make(n, d, w, bins):
    x = torch.randn(n, d)
    age = (torch.sigmoid(x @ w) * (bins - 1)).clamp(0, bins - 1) + 0.3 * torch.randn(n)
    return x, age.clamp(0, bins - 1)


def expected(p):
    return (p * torch.arange(p.shape[1]).float()).sum(1)


def run(bins=15, d=10, epochs=30):
    w = torch.randn(d) * 0.7
    x, age = make(500, d, w, bins)
    xv, av = make(200, d, w, bins)
    target = soft_labels(age, bins)
    net = LabelDistributionNet(d, bins)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    criterion = nn.KLDivLoss(reduction="batchmean")
    for ep in range(epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(50):
            pred = F.log_softmax(net(x[idx]), dim=1)
            loss = criterion(pred, target[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 10 == 0:
            print(ep, round(loss.item(), 4))
    net.eval()
    with torch.no_grad():
        mae = (expected(F.softmax(net(xv), dim=1)) - av).abs().mean()
    print(f"final val mae {mae:.3f} bins")


run()
