import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh())
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


class FreezeCallback:
    """Head only at first, the whole network from `unfreeze_at` on."""

    def __init__(self, model, unfreeze_at):
        self.model, self.unfreeze_at = model, unfreeze_at
        for p in model.backbone.parameters():
            p.requires_grad = False

    def on_epoch_start(self, epoch):
        if epoch == self.unfreeze_at:
            for p in self.model.backbone.parameters():
                p.requires_grad = True


class LogCallback:
    def on_epoch_start(self, epoch):
        print(f"-- epoch {epoch}")


def make(n):
    x = torch.randn(n, 10)
    return x, torch.stack([x[:, 0] * x[:, 1], x[:, 2], x[:, 3] * 0.8 - 0.3], dim=1).argmax(1)


x, y = make(1200)
x_val, y_val = make(300)
net = Net()
callbacks = [FreezeCallback(net, unfreeze_at=2), LogCallback()]
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(12):
    for callback in callbacks:
        callback.on_epoch_start(epoch)
    net.train()
    for idx in torch.randperm(1200).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        acc = (net(x_val).argmax(1) == y_val).float().mean().item()
    print(f"   loss {loss.item():.4f} val acc {acc:.3f}")
