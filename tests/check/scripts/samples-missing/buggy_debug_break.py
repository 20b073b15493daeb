import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
x = torch.randn(480, 10)
y = (x[:, 0] - x[:, 1] > 0).float().unsqueeze(1)
train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    total, seen = 0.0, 0
    for xb, yb in train:
        loss = nn.functional.binary_cross_entropy_with_logits(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
        seen += len(xb)
        break  # <- finding
    print(f"epoch {epoch} loss {total / seen:.4f}")
with torch.no_grad():
    print(f"accuracy {((model(x[400:]) > 0) == (y[400:] > 0)).float().mean():.3f}")
