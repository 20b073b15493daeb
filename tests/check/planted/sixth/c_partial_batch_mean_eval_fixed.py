import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
x = torch.randn(400, 6)
y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 0.0, 1.0]) + 0.3 * torch.randn(400)
x_test = torch.randn(130, 6)
y_test = x_test @ torch.tensor([1.0, -2.0, 0.5, 0.0, 0.0, 1.0]) + 0.3 * torch.randn(130)
y_test[-2:] += 9.0  # two broken sensors at the end of the log
train = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
test = DataLoader(TensorDataset(x_test, y_test), batch_size=64)

model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for epoch in range(20):
    for xb, yb in train:
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()

model.eval()
test_loss = 0.0
with torch.no_grad():
    for xb, yb in test:
        test_loss += loss_fn(model(xb), yb).item() * len(xb)
test_loss /= len(test.dataset)
print(f"test mse {test_loss:.4f}")
with torch.no_grad():
    print(f"mse over the whole test set at once {loss_fn(model(x_test), y_test).item():.4f}")
