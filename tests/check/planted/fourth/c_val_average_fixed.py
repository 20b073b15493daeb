import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def glucose(n):
    x = torch.randn(n, 12)
    y = x[:, :4].sum(1) * 0.5 + torch.sin(2 * x[:, 5]) + 0.2 * torch.randn(n)
    return TensorDataset(x, y)


train_loader = DataLoader(glucose(600), batch_size=60, shuffle=True)
val_loader = DataLoader(glucose(150), batch_size=64, shuffle=False)

model = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()

for epoch in range(8):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    train_loss /= len(train_loader)

    model.eval()
    val_loss = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            val_loss += criterion(model(x).squeeze(1), y).item() * len(y)
    val_loss /= len(val_loader.dataset)
    print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f}")
