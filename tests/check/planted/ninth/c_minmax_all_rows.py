# Minmax scaling of the inputs, then a split
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(18)
raw = torch.rand(400, 6) * torch.tensor([1.0, 10.0, 100.0, 5.0, 2.0, 50.0])
price = (raw / raw.mean(0)).sum(1, keepdim=True) + 0.1 * torch.randn(400, 1)
low, high = raw.min(dim=0).values, raw.max(dim=0).values  # BUG data-leak
scaled = (raw - low) / (high - low)  # BUG data-leak
train, test = random_split(TensorDataset(scaled, price), [320, 80])
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for x, y in DataLoader(train, batch_size=40, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    errors = [nn.functional.l1_loss(model(x), y, reduction="sum").item() for x, y in DataLoader(test, batch_size=40)]
print(sum(errors) / len(test))
