"""A one-cycle schedule together with gradient accumulation."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, ACCUMULATE = 6, 4


def signals(n):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 32)
    x = torch.sin(2 * torch.pi * (y + 2).unsqueeze(1) * t + 6.28 * torch.rand(n, 1)) + 0.5 * torch.randn(n, 32)
    return TensorDataset(x.unsqueeze(1), y)


def main():
    torch.manual_seed(60)
    loader = DataLoader(signals(256), batch_size=8, shuffle=True)
    model = nn.Sequential(
        nn.Conv1d(1, 12, 7, padding=3), nn.ReLU(), nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(96, 3)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = OneCycleLR(optimizer, max_lr=0.02, epochs=EPOCHS, steps_per_epoch=len(loader))  # <- finding
    for epoch in range(EPOCHS):
        total = 0.0
        for k, (x, y) in enumerate(loader, 1):
            loss = F.cross_entropy(model(x), y)
            (loss / ACCUMULATE).backward()
            if k % ACCUMULATE == 0:
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            total += loss.item() * len(y)
        print(f"epoch {epoch} loss {total / 256:.4f} lr {scheduler.get_last_lr()[0]:.5f}")


main()
