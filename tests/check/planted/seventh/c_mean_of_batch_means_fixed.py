# Validation error as the mean of the batch means; the last batch is tiny
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
x = torch.randn(1026, 5)
y = x.sum(1, keepdim=True) + 0.2 * torch.randn(1026, 1)
y[-2:] += 6.0                      # two badly measured rows at the end of the file
train = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=64, shuffle=True)
valid = DataLoader(TensorDataset(x[512:], y[512:]), batch_size=128)

model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.MSELoss()


@torch.no_grad()
def evaluate(loader):
    model.eval()
    total = 0.0
    count = 0
    for xb, yb in loader:
        total += criterion(model(xb), yb).item() * len(xb)
        count += len(xb)
    return total / count


for epoch in range(10):
    model.train()
    for xb, yb in train:
        opt.zero_grad()
        criterion(model(xb), yb).backward()
        opt.step()
    print(f"epoch {epoch}: valid mse {evaluate(valid):.4f}")
with torch.no_grad():
    print("mse over all rows at once", criterion(model(x[512:]), y[512:]).item())
