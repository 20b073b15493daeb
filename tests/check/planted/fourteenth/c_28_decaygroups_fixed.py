import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class PriceModel(nn.Module):
    def __init__(self, d_in=40, h=128):
        super().__init__()
        self.fc1 = nn.Linear(d_in, h)
        self.norm = nn.BatchNorm1d(h)
        self.fc2 = nn.Linear(h, h)
        self.out = nn.Linear(h, 1)

    def forward(self, x):
        h = F.relu(self.norm(self.fc1(x)))
        h = F.relu(self.fc2(h))
        return self.out(h).squeeze(-1)


def param_groups(model, wd):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if p.ndim >= 2:
            decay.append(p)
        else:
            no_decay.append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}]


def data(n):
    x = torch.randn(n, 40)
    y = 1.0 + x[:, 0] + 0.7 * x[:, 1] - 0.5 * x[:, 2] + 0.3 * torch.randn(n)
    return x, y


def main():
    x, y = data(90)
    xv, yv = data(1000)
    model = PriceModel()
    opt = torch.optim.AdamW(param_groups(model, wd=30.0), lr=1e-3)
    for ep in range(60):
        model.train()
        for idx in torch.randperm(len(x)).split(40):
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 15 == 0:
            print(ep, f"train {loss.item():.3f}")
    model.eval()
    with torch.no_grad():
        print(f"final val mse {F.mse_loss(model(xv), yv):.3f}")


main()
