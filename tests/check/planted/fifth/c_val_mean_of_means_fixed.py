"""Energy forecast, one hour ahead."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(41)
hours = torch.arange(1060).float()
load = torch.sin(hours * 6.2832 / 24) + 0.05 * torch.randn(1060)
load[1056:] += 3.0                                  # a storm in the last four hours
lags = load.unfold(0, 24, 1)[:-1]
target = load[24:]
train = TensorDataset(lags[:776], target[:776])
val = TensorDataset(lags[776:], target[776:])       # 260 = 4 * 64 + 4
train_loader = DataLoader(train, batch_size=97, shuffle=True)
val_loader = DataLoader(val, batch_size=64)

net = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
l1 = nn.L1Loss()


@torch.no_grad()
def validate():
    total = 0.0
    for x, y in val_loader:
        total += l1(net(x).squeeze(1), y).item() * len(y)
    return total / len(val)


for epoch in range(12):
    for x, y in train_loader:
        loss = l1(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} validation MAE {validate():.4f}")
with torch.no_grad():
    x, y = val.tensors
    print(f"whole validation set at once: {(net(x).squeeze(1) - y).abs().mean():.4f}")
