import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
centers = 1.2 * torch.randn(4, 16)


def sample(n):
    y = torch.randint(4, (n,))
    return TensorDataset(centers[y] + torch.randn(n, 16), y)


train_loader = DataLoader(sample(640), batch_size=64, shuffle=True)
val_loader = DataLoader(sample(256), batch_size=64)

model = nn.Sequential(
    nn.Linear(16, 64, bias=False), nn.BatchNorm1d(64), nn.GELU(), nn.Dropout(0.4), nn.Linear(64, 4)
)
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)


@torch.no_grad()
def update_ema(decay=0.9):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.lerp_(p, 1 - decay)
    for e, b in zip(ema.buffers(), model.buffers()):
        e.copy_(b)


@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    hits = sum((net(x).argmax(-1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


for epoch in range(6):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_ema()
    print(epoch, "loss", round(loss.item(), 3), "ema acc", evaluate(ema, val_loader))
