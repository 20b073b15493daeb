"""Per-batch and per-epoch schedules, a checkpoint saved and loaded half-way, gradient accumulation with a last short group."""

import io

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def build():
    model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return model, optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)


model, optimizer, scheduler = build()
x = torch.randn(70, 5)
y = x.sum(dim=1, keepdim=True).tanh()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, drop_last=True)
criterion, groups = nn.MSELoss(), 3
for epoch in range(6):
    if epoch == 3:
        buffer = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, buffer)
        buffer.seek(0)
        model, optimizer, scheduler = build()
        saved = torch.load(buffer)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
    model.train()
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        loss = criterion(model(inputs), targets) / groups
        loss.backward()
        if (i + 1) % groups == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        print(f"{epoch} {criterion(model(x), y).item():.4f} {scheduler.get_last_lr()[0]:.5f}")
