import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    def __init__(self, model, decay=0.9):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.parameters(), model.parameters()):  # BUG ema-buffers|ema|average-incomplete
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)


torch.manual_seed(0)
x = 5.0 + 3.0 * torch.randn(600, 10)
y = (x[:, 0] > x[:, 1]).long()
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
model = nn.Sequential(nn.BatchNorm1d(10), nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
ema = ModelEMA(model)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)


@torch.no_grad()
def accuracy(net):
    net.eval()
    return (net(x[400:]).argmax(1) == y[400:]).float().mean().item()


for epoch in range(8):
    model.train()
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
    print(f"epoch {epoch} loss {loss.item():.4f} acc {accuracy(model):.3f} ema acc {accuracy(ema.module):.3f}")
